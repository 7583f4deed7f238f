"""Memory that blocks share: for each condition of what is refused, a program that has only it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import workbench as wb
from workbench import emulate, script
from workbench.check.finding import Finding
from workbench.check.kernels import Nest, nests
from workbench.check.memory import overwriting_errors, scratch_errors, turn_errors
from workbench.ir import PrimFunc

HEAD = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    G = T.alloc_buffer((64,))
    M = T.alloc_buffer((1,), "int32", scope="local")
    L = T.alloc_buffer((1,), scope="local")
    K = T.alloc_buffer((8,), scope="local")
"""


def program(body: str) -> PrimFunc:
    """A kernel; `x = T.blocks(8)` and `t = T.threads(8)` stand for loops that are bound."""
    for name, axis in (
        ("blocks", "blockIdx.x"),
        ("rows", "blockIdx.y"),
        ("threads", "threadIdx.x"),
    ):
        while f"T.{name}(" in body:
            before, after = body.split(f"T.{name}(", 1)
            size, after = after.split(")", 1)
            body = f'{before}T.thread_binding({size}, thread="{axis}"){after}'
    func = script.parse(HEAD + "\n".join(f"    {line}" for line in body.strip().splitlines()))
    assert isinstance(func, PrimFunc)
    return func


def found(errors: Callable[[Nest], Iterator[Finding]], body: str) -> list[str]:
    """The first lines of what is wrong with a kernel."""
    (nest,) = nests(program(body))
    return [one.headline for one in errors(nest)]


# --- two units that write one buffer --------------------------------------------------------------

PAIR = """
for one in T.rows(1):
    M[0] = 0
    for x in T.blocks(8):
        {first}
    M[0] = 1
    for y in T.blocks(8):
        {second}
"""
OUT_OF_STEP = ["`B` and `B` would write the same cells of B in different blocks"]


@pytest.mark.parametrize(
    "first, second",
    [
        ("B[x] = A[x]", "B[y] = A[y + 8]"),
        ("for i in range(4):\n            B[x * 4 + i] = A[i]", "B[y * 4] = A[y]"),
        ("B[x * 4] = A[x]", "for i in range(4):\n            B[y * 4 + i] = A[i]"),
        ("B[x] = A[x]", "B[15 - y] = A[y]"),  # elsewhere
    ],
)
def test_each_block_writes_over_its_own(first: str, second: str) -> None:
    assert found(overwriting_errors, PAIR.format(first=first, second=second)) == []


@pytest.mark.parametrize(
    "first, second",
    [
        ("B[x] = A[x]", "B[7 - y] = A[y]"),
        ("for i in range(8):\n            B[i] = A[i]", "B[y] = A[y + 8]"),  # all write all of it
        ("B[x + M[0]] = A[x]", "B[y + M[0]] = A[y]"),  # M[0] is another by then
    ],
)
def test_no_block_may_write_over_what_is_another_s(first: str, second: str) -> None:
    assert found(overwriting_errors, PAIR.format(first=first, second=second)) == OUT_OF_STEP


def test_two_blocks_are_enough() -> None:
    body = "for one in T.rows(1):\n    for x in T.blocks(2):\n        B[x] = A[x]\n    {second}"
    two = body.format(second="for y in T.blocks(2):\n        B[1 - y] = A[y]")
    assert found(overwriting_errors, two) == OUT_OF_STEP
    assert found(overwriting_errors, body.format(second="B[0] = A[1]")) == OUT_OF_STEP  # each does


def test_a_block_may_be_in_another_turn_of_what_is_around() -> None:
    body = """
for t in range(2):
    for x in T.blocks(8):
        B[x + t{far}] = A[x]
    for y in T.blocks(8):
        B[y + t{far}] = A[y + 8]
"""
    assert found(overwriting_errors, body.format(far="")) == OUT_OF_STEP
    assert found(overwriting_errors, body.format(far=" * 8")) == []


BEGINS = """
for one in T.thread_binding(1, thread="{other}"):
    for x in T.thread_binding(0, 8, thread="{axis}"):
        {first}
    for y in T.thread_binding(4, 12, thread="{axis}"):
        {second}
"""


@pytest.mark.parametrize(
    "axis, first, second, wrong",
    [
        ("blockIdx.x", "B[x + 4] = A[x]", "B[y] = A[y + 9]", ""),
        ("blockIdx.x", "B[x + 4] = A[x]", "B[y + 4] = A[y + 9]", OUT_OF_STEP[0]),
        ("threadIdx.x", "K[x] = A[x]", "B[y] = K[y - 4]", ""),
        (
            *("threadIdx.x", "K[x] = A[x]", "B[y] = K[y % 8]"),
            "`B` reads cells of K that other threads hold in registers",
        ),
    ],
)
def test_threads_count_from_0_wherever_a_loop_begins(
    axis: str, first: str, second: str, wrong: str
) -> None:
    other = "threadIdx.x" if axis == "blockIdx.x" else "blockIdx.x"
    func = program(BEGINS.format(axis=axis, other=other, first=first, second=second))
    if wrong:
        with pytest.raises(wb.ScheduleError, match=wrong):
            wb.build(wb.Schedule(func))
        return
    a, b, expected = np.arange(64, dtype="float32"), *np.zeros((2, 64), "float32")
    emulate.evaluate(func, [a, expected])
    wb.build(wb.Schedule(func)).emulate(a, b)
    np.testing.assert_array_equal(b, expected)


def test_a_turn_may_say_where_threads_begin() -> None:
    body = """
for one in T.blocks(1):
    for r in range(2):
        for x in T.thread_binding(r, 8 + r, thread="threadIdx.x"):
            if r < 1:
                K[x] = A[x]
        for y in T.thread_binding(r, 8 + r, thread="threadIdx.x"):
            if y < 8:
                B[r * 8 + y] = K[y]
"""
    with pytest.raises(wb.ScheduleError, match="that other threads hold in registers"):
        wb.build(wb.Schedule(program(body)))  # in the second turn `y` is the thread y - 1


# --- what all blocks write, again and again -------------------------------------------------------

ALL = """
for x in T.blocks(4):
    for t in range(2):
        {body}
"""


def again(buffer: str = "B") -> list[str]:
    """What is said of blocks in turns of `t`."""
    return [f"all 4 blocks would write the same cells of {buffer}, again as `t` goes on"]


@pytest.mark.parametrize(
    "body, wrong",
    [
        ("B[0] = A[t]", True),
        ("B[t] = A[t]", False),  # each turn has cells of its own
        ("B[0] = A[0]", False),  # each has the same value
        ("L[0] = A[t]\n        B[0] = L[0]", True),  # it has not
        ("B[0] = B[0] + A[t]", False),  # an error of its own
        ("L[0] = A[t]", False),  # each thread's own
        ("for y in T.rows(4):\n            B[x + y * 4] = A[t]", False),  # none does it again
    ],
)
def test_blocks_that_write_the_same_in_several_turns(body: str, wrong: bool) -> None:
    assert found(turn_errors, ALL.format(body=body)) == (again() if wrong else [])


THREADS = """
for x in T.blocks(4):
    for t in range(2):
        for y in T.threads(8):
            with T.block("B"):
                vt, vy = T.axis.remap("SS", [t, y])
                B[{cell}] = A[vy * 2 + vt]
"""


@pytest.mark.parametrize("cell, wrong", [("vy + vt", True), ("vy * 2 + vt", False)])
def test_another_thread_of_another_block_may_be_in_another_turn(cell: str, wrong: bool) -> None:
    """As the emulator says, which sees the cells that two threads write."""
    body = THREADS.format(cell=cell)
    assert found(turn_errors, body) == (again() if wrong else [])
    sch = wb.Schedule(program(body))
    if wrong:
        with pytest.raises(wb.ScheduleError, match="again as `t` goes on"):
            wb.build(sch)
        return
    kernel = wb.build(sch)
    a, b, expected = np.arange(64, dtype="float32"), *np.zeros((2, 64), "float32")
    emulate.evaluate(sch.func, [a, expected])
    kernel.emulate(a, b)
    np.testing.assert_array_equal(b, expected)


# --- what all blocks write and read ---------------------------------------------------------------

SCRATCH = ["several blocks would write the same cells of G while others read them"]


@pytest.mark.parametrize(
    "body, wrong",
    [
        ("for x in T.blocks(4):\n    G[0] = A[0]\n    B[x] = G[0]", True),
        ("for x in T.blocks(4):\n    G[x] = A[0]\n    B[x] = G[x]", False),
        ("for x in T.blocks(1):\n    G[0] = A[0]\n    B[x] = G[0]", False),
        (
            "for x in T.blocks(4):\n    G[x] = A[x]\n    for y in T.rows(2):\n"
            "        B[x * 2 + y] = G[x]",
            True,
        ),
        ("for t in range(2):\n    for x in T.blocks(4):\n        G[x + t] = A[x]\n"
         "        B[x] = G[x + t]", True),
        ("for t in range(2):\n    for x in T.blocks(4):\n        G[x + t * 4] = A[x]\n"
         "        B[x] = G[x + t * 4]", False),
    ],
)  # fmt: skip
def test_what_blocks_keep_between_them(body: str, wrong: bool) -> None:
    assert found(scratch_errors, body) == (SCRATCH if wrong else [])
