"""Lesson 2: a window of five, fetched together into shared memory."""

from __future__ import annotations

from workbench import script
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import (
    at_least_blocks,
    at_most_barriers,
    at_most_loads,
    at_most_shared,
)
from workbench.schedule import Schedule

PROGRAM = """
@T.prim_func
def window(A: T.Buffer((1028,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("B"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2] + A[vi + 3] + A[vi + 4]
"""


def solve(sch: Schedule) -> None:
    """One answer: eight blocks of 128 threads that fetch their 132 cells together."""
    block = sch.get_block("B")
    (i,) = sch.get_loops(block)
    i_0, i_1 = sch.split(i, factors=[None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    fetch = sch.cache_read(block, 0, "shared")
    sch.compute_at(fetch, i_1)
    _, ax1 = sch.split(sch.get_loops(fetch)[-1], factors=[None, 128])
    sch.bind(ax1, "threadIdx.x")


EXERCISE = Exercise(
    name="a window of five",
    lesson="02_window_sum",
    task="Each output adds five neighbours, so a plain schedule loads every input five times. "
    "Load each one from global memory about once.",
    program=script.parse(PROGRAM),  # type: ignore[arg-type]
    goals=(
        Goal(
            at_least_blocks(4),
            hint="Split `i` and bind the outer loop to blockIdx.x.",
        ),
        Goal(
            at_most_loads(
                "global",
                1.25,
                1024,
                why="An input is wanted for five outputs: fetched once for all of them, it costs "
                "one load in place of five.",
            ),
            hint="Put A into shared memory with cache_read, move that stage into the block's loops "
            "with compute_at, then split its loop and bind it: fetch together, not each alone.",
        ),
        Goal(
            at_most_barriers(1),
            hint="One shared stage needs one barrier; is there one that you do not need?",
        ),
        Goal(
            at_most_shared(1100),
            hint="Move the fetch inside the loop of the blocks, so that it shrinks to their part.",
        ),
    ),
    hints=(
        "Begin as in the lesson: split, bind both loops, cache_read, compute_at.",
        "After compute_at every thread fetches the whole tile. Split the loop of that stage by the "
        "number of threads and bind its inner loop to threadIdx.x.",
        "show_solution() prints the steps of one answer.",
    ),
    solution=solve,
)
