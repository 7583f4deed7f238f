"""An access that is surely outside of its buffer is refused: at the build, or with its sizes."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.support.gpu_programs import parsed
from workbench import te
from workbench.check.outside import outside_errors
from workbench.ir import PrimFunc, SizeVar
from workbench.runtime.errors import ArgumentError
from workbench.schedule import ScheduleError

HEAD = """
@T.prim_func
def main(a: T.handle, b: T.handle, A: T.Buffer((4, 16), "float32"), B: T.Buffer((16,), "float32"),
         N: T.Buffer((4,), "int32"), p: T.int32):
    n, m = T.int32(), T.int32()
    X = T.match_buffer(a, (n,), "float32")
    Y = T.match_buffer(b, (n, m), "float32")
"""


def read(body: str) -> PrimFunc:
    return parsed(HEAD + "    " + body.replace("\n", "\n    "))


OUTSIDE = {
    "B[16] = 0.0": "write B[16]",
    "B[-1] = 0.0": "write B[-1]",
    "B[0] = A[0, 16]": "read A[0, 16]",
    "for i in range(17):\n    B[i] = 0.0": "write B[16]",
    "for i in range(16):\n    B[i] = A[3, i - 1]": "read A[3, -1]",
    "for i, j in T.grid(4, 4):\n    B[i * 4 - j] = 0.0": "write B[-3]",
    "for i in range(4):\n    for j in range(i + 1, 5):\n        A[j, i] = 0.0": "write A[4, 3]",
    "for i in range(32):\n    if i >= 8:\n        B[i - 12] = 0.0": "write B[-4]",
    "for i in range(20):\n    if i < p or i == 0:\n        B[i + 16] = 0.0": "write B[16]",
    "for i in range(16):\n    B[i] = T.if_then_else(i < 9, B[i + 8], T.float32(0))": "read B[16]",
    "for i in range(n):\n    X[i + n] = 0.0": "write X[n]",
    "for i in range(n):\n    X[n - 1 - i] = X[i + 1]": "read X[n]",
    "X[n] = 0.0": "write X[n]",
}
PERHAPS_NOT = [
    "for i in range(16):\n    B[N[i % 4]] = 0.0",
    "B[p] = 0.0",
    "if p > 3:\n    B[16] = 0.0",
    "for i in range(p):\n    B[16] = 0.0",
    "if N[0] > 3:\n    B[16] = 0.0",
    "for i in range(20):\n    if i < 16:\n        B[i] = 0.0",
    "for i in range(16):\n    if i % 2 == 3:\n        B[i + 16] = 0.0",
    "for i in range(16):\n    B[i] = T.if_then_else(i > 0, A[0, i - 1], T.float32(0))",
    "for i in range(16):\n    B[i] = T.Select(i > 0, A[0, i - 1], T.float32(0))",
    "for i in range(16):\n    if i > 0 and A[0, i - 1] > 0.0:\n        B[i] = 0.0",
    "for i, j in T.grid(4, 5):\n    if i * 5 + j < 16:\n        B[i * 5 + j] = 0.0",
    "for t in T.thread_binding(4, thread='threadIdx.x'):\n"
    "    for u in T.thread_binding(4, thread='threadIdx.x'):\n"
    "        if t + u < 4 or t == u:\n            B[(t - u) * (t - u)] = B[t - u]",
    "X[0] = 0.0",
    "for i in range(n - 1):\n    X[i + 1] = X[i]",
    "for i, j in T.grid(n, m):\n    Y[i, j] = X[i]",
    "for i in range(n):\n    Y[i, 16 % m] = 0.0",
    "for i in range(m):\n    X[i] = 0.0",
]


@pytest.mark.parametrize("body", OUTSIDE)
def test_what_is_surely_outside_is_found(body: str):
    (found, *_) = outside_errors(read(body))
    assert found.headline.startswith(f"it would {OUTSIDE[body]}, outside of ")


@pytest.mark.parametrize("body", PERHAPS_NOT)
def test_what_may_be_right_is_not(body: str):
    assert not outside_errors(read(body))


@pytest.mark.parametrize(
    "body, sizes, told",
    [
        ("X[0] = 0.0", (0, 1), "write X[0], outside of X, whose shape is (0,)"),
        ("X[0] = 0.0", (1, 0), ""),
        ("for i in range(m):\n    X[i] = 0.0", (4, 5), "write X[4], outside of X"),
        ("for i in range(m):\n    X[i] = 0.0", (4, 4), ""),
        ("for i in range(m):\n    Y[0, i] = 0.0", (0, 3), "write Y[0, 0], outside of Y"),
        ("for i in range(m):\n    Y[0, i] = 0.0", (0, 0), ""),
        ("for i in range(n + 3):\n    if i >= 3:\n        X[i - 3] = 0.0", (0, 1), ""),
        ("for i in range(n):\n    if i < m and i // m < 1:\n        X[i + 9] = 0.0", (4, 0), ""),
    ],
)
def test_sizes_decide(body: str, sizes: tuple[int, int], told: str):
    func = read(body)
    values: dict[SizeVar, int] = dict(zip(func.sizes, sizes, strict=True))
    found = [one.headline for one in outside_errors(func, values)]
    assert [one.startswith(f"it would {told}") for one in found] == [True] * bool(told)


@pytest.mark.parametrize("target", ["c", "cuda", "metal"])
def test_a_build_says_the_statement_the_index_and_the_shape(target: str):
    func = parsed("""
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(8, i)
                B[v] = A[v + 8]
    """)
    with pytest.raises(ScheduleError) as refused:
        wb.build(func, target)
    assert str(refused.value) == (
        "Can't build this: it would read A[8], outside of A, whose shape is (8,).\n"
        f"asked: wb.build(main, target='{target}')\n"
        "where:\n"
        "   7 |             T.reads(A[v + 8])\n"
        "   8 |             T.writes(B[v])\n"
        "   9 |             B[v] = A[v + 8]\n"
        "     |                    ^^^^^^^^\n"
        "found: that is A[v + 8] in one of its turns\n"
        "do:    make the loops or a T.where keep the index inside the buffer"
    )


def test_a_scan_of_no_rows_is_refused_at_the_call():
    m, n = te.var("m"), te.var("n")
    x, state = te.placeholder((m, n), name="X"), te.placeholder((m, n))
    first = te.compute((1, n), lambda _, i: x[0, i])
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i])
    kernel = wb.build(te.create_prim_func([x, te.scan(first, update, state, inputs=[x])]), "c")
    with pytest.raises(ArgumentError) as refused:
        kernel(np.zeros((0, 4), "float32"), np.zeros((0, 4), "float32"))
    assert str(refused.value) == (
        "Can't call main: with m = 0, n = 4, it would read X[0, 0], outside of X, whose shape is "
        "(0, 4).\n"
        "asked: main(X: float32[m, n], scan: float32[m, n])\n"
        "found: that is X[0, v_i] in one of its turns\n"
        "do:    pass arrays with which each index is inside its buffer"
    )
    kernel(np.zeros((0, 0), "float32"), np.zeros((0, 0), "float32"))
    rows = np.ones((3, 2), "float32")
    kernel(rows, sums := np.zeros((3, 2), "float32"))
    assert sums.tolist() == [[1, 1], [2, 2], [3, 3]]
