"""A cell that memory tells is another one once that memory was written."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.support.gpu_programs import parsed
from workbench.access import difference, random_data

AT_ONCE = [("bind", "threadIdx.x"), ("bind", "blockIdx.x"), ("parallel",), ("vectorize",)]


def of(body: str) -> wb.Schedule:
    """A schedule of `body`, with N and M for indices; nothing writes N."""
    lines = "".join(f"\n    {line}" for line in body.strip().splitlines())
    return wb.Schedule(
        parsed(f"""
@T.prim_func
def main(A: T.Buffer((96,), "float32"), N: T.Buffer((96,), "int32"), C: T.Buffer((96,), "float32")):
    X = T.alloc_buffer((96,))
    M = T.alloc_buffer((4,), "int32", scope="local")
    for z in range(96):
        X[z] = A[z]{lines}
""")
    )


TOGETHER = """
for x in range(16):
    with T.block("c"):
        vx = T.axis.spatial(16, x)
        L = T.alloc_buffer((1,), "int32", scope="local")
        L[0] = 31 - vx * 2
        C[vx * 2 + L[0]] = A[vx]
"""
BETWEEN = """
for x in range(32):
    with T.block("zero"):
        M[0] = 0
    with T.block("s"):
        vx = T.axis.spatial(32, x)
        X[vx + M[0]] = A[vx + 1]
    with T.block("one"):
        M[0] = 1
    with T.block("c"):
        vx = T.axis.spatial(32, x)
        C[vx] = X[vx + M[0]]
"""
AROUND = """
for k in range(2):
    M[0] = k
    for x in range(16):
        with T.block("c"):
            vx = T.axis.spatial(16, x)
            C[vx + M[0]] = A[vx]
"""


@pytest.mark.parametrize("verb", AT_ONCE)
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (TOGETHER, "may write the same cell of C"),
        (BETWEEN, "may write the same cell of X"),
    ],
)
def test_what_is_written_inside_tells_no_cells_apart(
    body: str, why: str, verb: tuple[str, str]
) -> None:
    sch = of(body)
    with pytest.raises(wb.ScheduleError, match=why):
        getattr(sch, verb[0])("x", *verb[1:])


def test_blocks_are_in_other_turns_of_what_changes_it() -> None:
    with pytest.raises(wb.ScheduleError, match="two blocks may write the same cell of C"):
        of(AROUND).bind("x", "blockIdx.x")


@pytest.mark.parametrize("verb", AT_ONCE[:3])
def test_what_nothing_writes_is_the_same_on_both_sides(verb: tuple[str, str]) -> None:
    read_only = BETWEEN.replace("M[0] =", "C[95] =").replace("M[0]", "N[0]")
    sch = of(read_only)
    before = sch.func
    getattr(sch, verb[0])("x", *verb[1:])
    assert difference(before, sch.func, random_data(before, 0)) == ""


@pytest.mark.parametrize("verb", AT_ONCE[:3])
def test_what_is_written_before_the_loop_is_the_same_in_it(verb: tuple[str, str]) -> None:
    sch = of("M[0] = 1\n" + BETWEEN.replace("M[0] =", "C[95] ="))
    before = sch.func
    getattr(sch, verb[0])("x", *verb[1:])
    assert difference(before, sch.func, random_data(before, 0)) == ""


NEST = """
for i in range(4):
    for j in range(4):
        with T.block("m"):
            M[0] = {value}
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi * 4 + vj + {memory}[0]] = A[vi * 4 + vj]
"""


def test_turns_that_memory_keeps_apart_stay_in_their_order() -> None:
    with pytest.raises(wb.ScheduleError, match="two iterations of `c` may write one cell"):
        of(NEST.format(value="30 - i * 3", memory="M")).reorder("j", "i")
    of(NEST.format(value="7", memory="N")).reorder("j", "i")
