"""Lesson 4: tile sizes that fit a small shared memory and still load little."""

from __future__ import annotations

from functools import partial

from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import (
    at_most_barriers,
    at_most_loads,
    at_most_shared,
    threads_between,
)
from workbench.lesson.programs import product

SIZES = ((64, 8, 3072), (64, 4, 1536), (96, 8, 3072), (32, 8, 3072))
"""Products for each output, steps of k in the solution's tile, bytes that a block may have."""


def made(size: tuple[int, int, int], key: str) -> Exercise:
    """The exercise on sums of that length, with so little shared memory."""
    summed, depth, most = size
    loads, barriers = 3 * summed / 64, 2 * summed // depth
    return Exercise(
        name=f"tiles for {most / 1024:g} KiB",
        key=key,
        lesson="04_shared_blocking",
        task=f"Give each block at most {most / 1024:g} KiB ({most} bytes) of shared memory, as if "
        "many blocks had to share a multiprocessor. Find tile sizes that load at most "
        f"{loads:g} elements of global memory for each output, with at most {barriers} barriers in "
        "a block.",
        program=product(128, 128, summed),
        goals=(
            Goal(
                threads_between(32, 256, 32),
                hint="tile_block_y times tile_block_x is the number of threads: a multiple of 32.",
            ),
            Goal(
                at_most_loads(
                    "global",
                    loads,
                    128 * 128,
                    why="What a block of r x c outputs fetches once of A serves c of them, of B, "
                    "r.",
                ),
                hint=f"Where r and c divide 128, blocks of r x c outputs load {summed}/c + "
                f"{summed}/r elements for each output: which are enough? And do all threads fetch "
                "together?",
            ),
            Goal(
                at_most_shared(most),
                hint="With both tiles in shared memory the bytes are 4 x tile_k x (rows + columns "
                "of the block's tile): make one of the three smaller.",
            ),
            Goal(
                at_most_barriers(barriers),
                hint="Every tile of k costs two barriers: with a smaller tile_k there are more of "
                "them. Take the largest that fits.",
            ),
        ),
        hints=(
            "What decides the loads for each output: tile_k, the outputs of a thread, or those of "
            "a block? And what decides the bytes?",
            f"A block of r x c outputs loads {summed}/c + {summed}/r elements for each. The tile "
            "need not be square: which r and c, dividing 128, are just enough?",
            "The bytes are 4 x tile_k x (r + c). Take the smallest tile that loads few enough, and "
            "for it the largest tile_k that fits: then the barriers are fewest.",
        ),
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
