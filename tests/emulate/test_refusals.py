"""Everything that the emulator refuses, its text read whole: see refusals.txt beside this file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workbench import emulate, script
from workbench.emulate import EmulationError
from workbench.ir import (
    Barrier,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    Kernel,
    PrimFunc,
    Ramp,
    Stmt,
    Var,
    as_expr,
    binary,
    const,
    seq,
)

TEXTS = Path(__file__).with_name("refusals.txt")

A = Buffer("A", (16,))
N = Buffer("N", (16,), "int32")
C = Buffer("C", (16,))
S = Buffer("S", (8,), scope="shared")
L = Buffer("L", (4,), scope="local")
bx, tx = Var("bx"), Var("tx")
i = Var("i")
here = bx * 4 + tx


def put(buffer: Buffer, index: Expr | int, value: Expr | float) -> BufferStore:
    return BufferStore(buffer, as_expr(value), (as_expr(index),))


def loop(var: Var, extent: int, body: Stmt) -> For:
    return For(var, const(0, "int32"), const(extent, "int32"), "serial", body)


def launch(*body: Stmt, blocks: int = 2, threads: int = 4) -> Callable[[], object]:
    """Run a kernel of this body."""
    axes = (("blockIdx.x", bx), ("threadIdx.x", tx))
    kernel = Kernel(
        "main_kernel", (A, N, C), (S, L), (), axes, (blocks, 1, 1), (threads, 1, 1), seq(*body)
    )
    return lambda: emulate.run([kernel], arrays())


def arrays() -> list[np.ndarray]:
    return [np.arange(16, dtype="float32"), np.zeros(16, "int32"), np.zeros(16, "float32")]


def program(text: str) -> PrimFunc:
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


COPY = """
@T.prim_func
def main(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, {index}]
"""

UNWRITTEN = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.where(i < 3)
            B[vi] = A[vi]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]
"""

DIVIDES = """
@T.prim_func
def main(N: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = 8 // N[vi]
"""


def evaluated(text: str, *args: np.ndarray) -> Callable[[], object]:
    return lambda: emulate.evaluate(program(text), args)


SQUARE = np.zeros((4, 4), "float32")
FETCH = put(S, tx, A[here])
USE = put(C, here, S[7 - tx])

CASES: dict[str, Callable[[], object]] = {
    "index past the end": launch(put(C, here + 12, A[here])),
    "negative index": launch(put(C, here, A[here - 1])),
    "misaligned vector": launch(
        BufferStore(C, BufferLoad(A, (Ramp(tx * 4, 1, 4),)), (Ramp(tx * 4 + bx, 1, 4),)), threads=3
    ),
    "unwritten shared": launch(FETCH, Barrier(), USE),
    "unwritten local": launch(loop(i, 4, put(L, i, L[i] + A[here]))),
    "write then read, no barrier": launch(put(S, tx, A[here]), put(C, here, S[3 - tx])),
    "read then write, no barrier": launch(
        put(S, tx, A[here]), Barrier(), loop(i, 2, seq(put(C, here, S[3 - tx]), put(S, tx, 0.0)))
    ),
    "two statements write": launch(put(S, tx, A[here]), put(S, 3 - tx, A[here])),
    "one statement writes different values": launch(put(S, 0, A[here])),
    "blocks write different values": launch(put(C, tx, A[here])),
    "a block reads what another writes": launch(put(C, here, A[here]), put(C, here, C[7 - here])),
    "part of a block at a barrier": launch(
        FETCH, IfThenElse(binary("<", tx, const(3, "int32")), Barrier())
    ),
    "division by zero": launch(put(N, here, binary("//", here, N[here]))),
    "evaluate, index": evaluated(COPY.format(index="vj + 1"), SQUARE, SQUARE.copy()),
    "evaluate, unwritten": evaluated(UNWRITTEN, np.zeros(4, "float32"), np.zeros(4, "float32")),
    "evaluate, division": evaluated(DIVIDES, np.array([1, 2, 0, 3], "int32"), np.zeros(4, "int32")),
    "too few arrays": evaluated(COPY.format(index="vj"), SQUARE),
    "not an array": evaluated(COPY.format(index="vj"), [0.0], SQUARE),  # type: ignore[arg-type]
    "wrong shape": evaluated(COPY.format(index="vj"), SQUARE, np.zeros((4, 5), "float32")),
    "wrong type": evaluated(COPY.format(index="vj"), SQUARE, np.zeros((4, 4))),
    "one memory twice": evaluated(COPY.format(index="vj"), SQUARE, SQUARE),
    "read-only result": evaluated(
        COPY.format(index="vj"), SQUARE, np.broadcast_to(SQUARE[:1], (4, 4))
    ),
}


def sampled(
    blocks: list[int] | None, kernels: int = 1, wrong: bool = False
) -> Callable[[], object]:
    axes = (("blockIdx.x", bx), ("threadIdx.x", tx))
    kernel = Kernel(
        "main_kernel", (A, C), (), (), axes, (4, 1, 1), (4, 1, 1), put(C, here, A[here] + 1.0)
    )
    given = [np.arange(16, dtype="float32"), np.zeros(16, "float32")]

    def reference(a: np.ndarray, c: np.ndarray) -> None:
        c[...] = a + 1
        if wrong:
            c[14] = 0

    if wrong:
        return lambda: emulate.sample(kernel, given, reference, blocks=blocks)
    return lambda: emulate.run([kernel] * kernels, given, blocks=blocks)


CASES |= {
    "block that is not there": sampled([4]),
    "no block": sampled([]),
    "sample of two kernels": sampled([0], kernels=2),
    "sample differs": sampled([0, 3], wrong=True),
}


def sections() -> dict[str, str]:
    parts = TEXTS.read_text().split("=== ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1].strip("\n") for part in parts}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str):
    with pytest.raises(EmulationError) as caught:
        CASES[name]()
    assert str(caught.value) == sections()[name]
    assert len(caught.value.headline) <= 120
    assert caught.value.hint


def test_every_text_is_of_a_case():
    assert list(sections()) == list(CASES)
