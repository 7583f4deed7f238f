"""Lesson 1: a vector whose length no block size divides."""

from __future__ import annotations

from functools import partial

from workbench.lesson.edge import at_most_idle
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import at_least_blocks, threads_between
from workbench.lesson.programs import elementwise

LENGTHS = (1000, 777, 1500, 1270)


def made(length: int, key: str) -> Exercise:
    """The exercise on a vector of that length."""
    covered = -(-length // 32) * 32
    idle = covered - length
    return Exercise(
        name=f"add {length} numbers",
        key=key,
        lesson="01_vector_add",
        task=f"{length} is no multiple of 32. Give every cell of C to a thread of its own, in "
        "blocks of whole warps, with as few idle threads as you can.",
        program=elementwise(length),
        goals=(
            Goal(
                threads_between(32, 256, 32),
                hint="The threads of a block are the second factor: take a multiple of 32, up to "
                "256.",
            ),
            Goal(
                at_least_blocks(16),
                hint="Make the first factor 16 or more (None works it out) and bind it to "
                "blockIdx.x.",
            ),
            Goal(
                at_most_idle(
                    idle,
                    why=f"{covered} is the next multiple of 32 after {length}: whole warps leave "
                    f"{idle} idle at least.",
                ),
                hint="Give each thread one cell: two factors, whose product is as little above "
                f"{length} as whole warps allow.",
            ),
        ),
        hints=(
            "After a split there are two loops. Which should become the blocks, which the threads? "
            "And how many threads may a block have, if its warps are to be full?",
            f"The factors need not divide {length}: split(i, factors=[None, n]) makes blocks of n "
            "threads, and guards the last ones with T.where.",
            "Bind the outer loop to blockIdx.x and the inner one to threadIdx.x. For n, go through "
            f"the multiples of 32: how far past {length} does the last block reach?",
        ),
    )


EXERCISES = tuple(partial(made, length) for length in LENGTHS)
