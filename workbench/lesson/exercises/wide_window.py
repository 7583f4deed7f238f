"""Lesson 2: a window of five, fetched together into shared memory."""

from __future__ import annotations

from functools import partial

from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import (
    at_least_blocks,
    at_most_barriers,
    at_most_loads,
    at_most_shared,
)
from workbench.lesson.programs import window

WIDTHS = (5, 7, 9, 4)
WORDS = {4: "four", 5: "five", 7: "seven", 9: "nine"}


def made(width: int, key: str) -> Exercise:
    """The exercise on a window of that width."""
    return Exercise(
        name=f"a window of {WORDS[width]}",
        key=key,
        lesson="02_window_sum",
        task=f"Each output adds {WORDS[width]} neighbours, so a plain schedule loads every input "
        f"{WORDS[width]} times. Load each one from global memory about once.",
        program=window(1024, width),
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
                    why=f"An input is wanted for {WORDS[width]} outputs: fetched once for all of "
                    f"them, it costs one load in place of {WORDS[width]}.",
                ),
                hint="Put A into shared memory with cache_read, move that stage into the block's "
                "loops with compute_at, then split its loop and bind it: fetch together, not each "
                "alone.",
            ),
            Goal(
                at_most_barriers(1),
                hint="One shared stage needs one barrier; is there one that you do not need?",
            ),
            Goal(
                at_most_shared(1100),
                hint="Move the fetch inside the loop of the blocks, so that it shrinks to their "
                "part.",
            ),
        ),
        hints=(
            "Who else wants a cell that one thread has loaded, and which memory can all of them "
            "reach?",
            "Begin as in the lesson: split, bind both loops, cache_read, compute_at. How often is "
            "a cell loaded then, and by whom?",
            "The stage has a loop of its own. Split it by the number of threads, and bind its "
            "inner part to them.",
        ),
    )


EXERCISES = tuple(partial(made, width) for width in WIDTHS)
