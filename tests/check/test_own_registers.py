"""A buffer whose cells no thread index tells: each thread, or block, has its own of them."""

from __future__ import annotations

import random
from textwrap import indent

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from workbench import script
from workbench.emulate import EmulationError
from workbench.ir import PrimFunc

pytestmark = pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")

HEAD = """
@T.prim_func
def main(A: T.Buffer((2, 2, 4, 4), "float32"), B: T.Buffer((2, 2, 4, 4), "float32")):
    R = T.alloc_buffer((4,), scope="{scope}")
"""
BLOCKS = 'for b in T.thread_binding(2, thread="blockIdx.x"):'
THREADS = 'for t in T.thread_binding(4, thread="threadIdx.x"):'
FILL = "for i in range(4):\n    R[i] = A[b, s, t, i]"
USE = "for i in range(4):\n    B[b, s, t, i] = R[{cell}] * T.float32(2)"
SUM = """for k in range(4):
    with T.block("R"):
        vb, vs, vt, vk = T.axis.remap("SSSR", [b, s, t, k])
        with T.init():
            R[0] = T.float32(0)
        R[0] = R[0] + A[vb, vs, vt, vk]"""


def read(*parts: str, around: tuple[str, ...] = (), scope: str = "local") -> PrimFunc:
    """The `parts`, one after the other, in loops over blocks, turns and threads."""
    body = "\n".join(parts)
    for head in reversed(around or (BLOCKS, "for s in range(2):", THREADS)):
        body = f"{head}\n{indent(body, '    ')}"
    func = script.parse(HEAD.format(scope=scope) + indent(body, "    "))
    assert isinstance(func, PrimFunc)
    return func


def agree(func: PrimFunc, seed: int = 0) -> None:
    kernel = wb.build(func)
    a = np.random.default_rng(seed).random((2, 2, 4, 4)).astype("float32")
    out, wanted = np.zeros_like(a), np.zeros_like(a)
    wb.emulate.evaluate(func, [a, wanted])
    kernel.emulate(a, out)
    np.testing.assert_array_equal(out, wanted, func.script())


@pytest.mark.parametrize(
    "parts",
    [
        (FILL, USE.format(cell="i")),
        (FILL, USE.format(cell="3 - i")),
        (SUM, USE.format(cell="0")),
        ("for i in range(4):\n    R[0] = A[b, s, t, i]\n    B[b, s, t, i] = R[0]",),
        (FILL, USE.format(cell="i"), "for i in range(2):\n    R[i] = T.float32(1)"),
        (FILL, "for i in range(3):\n    R[i + 1] = R[i + 1] + R[i]", USE.format(cell="i")),
        ("for i in range(4):\n    if i < 3:\n        R[i] = A[b, s, t, i]\n"
         "for i in range(3):\n    B[b, s, t, i] = R[i]",),
    ],
)  # fmt: skip
def test_a_thread_that_makes_all_that_it_reads_has_its_own(parts: tuple[str, ...]):
    agree(read(*parts))


@pytest.mark.parametrize(
    "parts",
    [
        (USE.format(cell="i"), FILL),
        ("for i in range(3):\n    R[i] = A[b, s, t, i]", USE.format(cell="i")),
        ("if t > 0:\n    R[0] = A[b, s, t, 0]", "B[b, s, t, 0] = R[0]"),
        ("if A[b, s, t, 0] > T.float32(0):\n    R[0] = A[b, s, t, 0]", "B[b, s, t, 0] = R[0]"),
        ("for i in range(4):\n    B[b, s, t, i] = R[0]\n    R[0] = A[b, s, t, i]",),
    ],
)
def test_what_an_earlier_thread_left_is_not_its_own(parts: tuple[str, ...]):
    with pytest.raises(
        wb.ScheduleError,
        match=r"blocks b=0 and b=1 would both write R|two blocks may write the same cell of R",
    ):
        wb.build(read(*parts))


def test_another_nest_reads_what_the_last_thread_left():
    fill, use = (f"{THREADS}\n{indent(part, '    ')}" for part in (FILL, USE.format(cell="i")))
    func = read(fill, use, around=(BLOCKS, "for s in range(2):"))
    with pytest.raises(wb.ScheduleError, match="threads t=0 and t=1 would both write R"):
        wb.build(func)


def test_each_block_has_shared_memory_of_its_own():
    fill = f"{THREADS}\n    R[t] = A[b, s, t, 0]"
    use = f"{THREADS}\n    B[b, s, t, 0] = R[3 - t]"
    func = read(fill, use, around=(BLOCKS, "for s in range(2):"), scope="shared")
    agree(func)
    with pytest.raises(wb.ScheduleError, match="threads t=0 and t=1 would both write R"):
        wb.build(read(FILL, USE.format(cell="3 - i"), scope="shared"))


@pytest.mark.parametrize("axis", ["vthread.x", "vthread"])
def test_virtual_threads_still_need_an_index(axis: str):
    virtual = f'for s in T.thread_binding(2, thread="{axis}"):'
    func = read(FILL, USE.format(cell="i"), around=(BLOCKS, virtual, THREADS))
    with pytest.raises(wb.ScheduleError, match="virtual threads s=0 and s=1 would both write R"):
        wb.build(func)


def test_a_plain_loop_is_bound_as_it_is_built():
    plain = "for t in range(4):"
    sch = wb.Schedule(
        read(FILL, USE.format(cell="i"), around=(BLOCKS, "for s in range(2):", plain))
    )
    sch.bind("t", "threadIdx.x")
    agree(sch.func)
    apart = wb.Schedule(
        read(USE.format(cell="i"), FILL, around=(BLOCKS, "for s in range(2):", plain))
    )
    with pytest.raises(wb.ScheduleError, match="threads t=0 and t=1 would both write R"):
        apart.bind("t", "threadIdx.x")


CELLS = ("i", "3 - i", "(i + t) % 4", "(i + s) % 4", "0", "i // 2", "t")
WHERE = (*[""] * 5, "i < 3", "i + t < 4", "s == 0")


def drawn(seed: int) -> PrimFunc:
    """Some statements that fill, change and read a buffer, in loops of some order."""
    rng = random.Random(seed)

    def part() -> str:
        cell, other, where = rng.choice(CELLS), rng.choice(CELLS), rng.choice(WHERE)
        store = rng.choice(
            [f"R[{cell}] = A[b, s, t, i]"] * 2
            + [f"B[b, s, t, i] = R[{cell}]", f"R[{cell}] = R[{other}] + T.float32(1)"]
        )
        return f"if {where}:\n    {store}" if where else store

    parts = [f"R[{rng.choice(CELLS)}] = A[b, s, t, i]", *(part() for _ in range(rng.randint(0, 2)))]
    parts.append(f"B[b, s, t, i] = R[{rng.choice(CELLS)}]")
    if rng.random() < 0.7:
        nests = [f"for i in range(4):\n{indent(one, '    ')}" for one in parts]
    else:
        nests = ["for i in range(4):\n" + indent("\n".join(parts), "    ")]
    around = [BLOCKS, "for s in range(2):", THREADS]
    rng.shuffle(around)
    if rng.random() < 0.2:
        around[around.index(BLOCKS)] = "for b in range(2):"
    return read(*nests, around=tuple(around))


@pytest.mark.fuzz
def test_what_is_built_means_what_the_program_means():
    built = 0
    for seed in seeds(2):
        func = drawn(seed)
        try:
            wb.build(func)
        except wb.ScheduleError:
            continue
        try:
            agree(func, seed)
        except EmulationError as refused:  # in both, or the arrays would be compared
            assert "nothing has written it" in str(refused), func.script()
            continue
        built += 1
    assert built >= CASES // 2


COPIED = """
@T.prim_func
def main(A: T.Buffer((5, 6), "float32"), O: T.Buffer((6,), "float32")):
    L = T.alloc_buffer((6,), scope="local")
    M = T.alloc_buffer((6,), scope="local")
    for f in range(5):
        for j in range(6):
            with T.block("L"):
                {binding}
                L[vj] = A[{row}, vj]
            with T.block("M"):
                vj = T.axis.spatial(6, j)
                M[vj] = L[vj]
            with T.block("O"):
                vj = T.axis.spatial(6, j)
                O[vj] = {source}[vj]
"""
TOLD = 'vi, vj = T.axis.remap("SS", [f, j])'


@pytest.mark.parametrize("axis", ["blockIdx.x", "threadIdx.x"])
@pytest.mark.parametrize("source", ["L", "M"])
def test_what_differs_from_one_to_the_next_is_not_written_to_one_cell_by_all(
    axis: str, source: str
):
    """Serially the last turn stays; at once it is chance."""
    sch = wb.Schedule(script.parse(COPIED.format(binding=TOLD, row="vi", source=source)))
    with pytest.raises(wb.ScheduleError, match=r"f=0 and f=1 would both write O\[0\]"):
        sch.bind("f", axis)


@pytest.mark.parametrize("axis", ["blockIdx.x", "threadIdx.x"])
def test_what_is_the_same_for_all_is_written_by_all(axis: str):
    binding = "vj = T.axis.spatial(6, j)"
    sch = wb.Schedule(script.parse(COPIED.format(binding=binding, row="0", source="M")))
    sch.bind("f", axis)
    a, out = np.random.default_rng(0).random((5, 6), "float32"), np.zeros(6, "float32")
    wb.build(sch).emulate(a, out)
    np.testing.assert_array_equal(out, a[0])


def test_a_block_without_iterators_that_names_the_loop_differs_too():
    """Thread 31 decides what is left, or chance does."""
    func = script.parse("""
@T.prim_func
def main(A: T.Buffer((32,), "float32"), O: T.Buffer((1,), "float32")):
    L = T.alloc_buffer((1,), scope="local")
    for t in range(32):
        with T.block("L"):
            L[0] = A[t]
        with T.block("O"):
            O[0] = L[0]
""")
    with pytest.raises(wb.ScheduleError, match=r"threads t=0 and t=1 would both write O\[0\]"):
        wb.Schedule(func).bind("t", "threadIdx.x")
