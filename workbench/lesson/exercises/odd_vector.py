"""Lesson 1: a vector whose length no block size divides."""

from __future__ import annotations

from workbench import script
from workbench.lesson.edge import at_most_idle
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import at_least_blocks, threads_between
from workbench.schedule import Schedule

PROGRAM = """
@T.prim_func
def add(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32"),
        C: T.Buffer((1000,), "float32")):
    for i in range(1000):
        with T.block("C"):
            vi = T.axis.spatial(1000, i)
            C[vi] = A[vi] + B[vi]
"""


def solve(sch: Schedule) -> None:
    """One answer: eight blocks of 128 threads, 24 of which have nothing to do."""
    (i,) = sch.get_loops(sch.get_block("C"))
    i_0, i_1 = sch.split(i, factors=[None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")


EXERCISE = Exercise(
    name="add 1000 numbers",
    lesson="01_vector_add",
    task="1000 is no multiple of 32. Give every cell of C to a thread of its own, in blocks of "
    "whole warps, with as few idle threads as you can.",
    program=script.parse(PROGRAM),  # type: ignore[arg-type]
    goals=(
        Goal(
            threads_between(32, 256, 32),
            hint="The threads of a block are the second factor: take a multiple of 32, up to 256.",
        ),
        Goal(
            at_least_blocks(4),
            hint="Make the first factor 4 or more (None works it out) and bind it to blockIdx.x.",
        ),
        Goal(
            at_most_idle(
                24,
                why="1024 is the next multiple of 32 after 1000: whole warps leave 24 idle at "
                "least.",
            ),
            hint="Give each thread one cell: two factors, whose product is as little above 1000 as "
            "whole warps allow.",
        ),
    ),
    hints=(
        "Split `i` in two, then bind the outer loop to blocks and the inner one to threads.",
        "The factors need not divide 1000: split(i, factors=[None, 128]) makes 8 blocks of 128 "
        "threads and guards the last ones with T.where.",
    ),
    solution=solve,
)
