"""Lesson 3: a matrix multiply with few loads, in tiles that do not divide its rows."""

from __future__ import annotations

from functools import partial

from workbench.lesson.edge import edge_first
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import (
    at_least_blocks,
    at_most_loads,
    at_most_one_store,
    threads_between,
)
from workbench.lesson.programs import product

SIZES = ((61, 48, 40, 21), (59, 48, 56, 30), (61, 64, 40, 21), (53, 48, 40, 23))
"""Rows (a prime number), columns, products for each output; the loads for each to reach."""


def goals(cells: int, loads: int) -> tuple[Goal, ...]:
    """What to reach: so few loads for each of the output's cells."""
    return (
        Goal(
            threads_between(32, 256, 32),
            hint="The middle factors of i and j are the threads of a block: make their product "
            "32, 64 or another multiple of 32, up to 256.",
        ),
        Goal(
            at_least_blocks(4),
            hint="A block's tile is threads times outputs of a thread, in each direction: make "
            "it smaller.",
        ),
        Goal(
            at_most_one_store("global", cells),
            hint="Sum up in local memory: cache_write, and reverse_compute_at under the threads.",
        ),
        Goal(
            at_most_loads(
                "global",
                loads,
                cells,
                why="For one k, a tile of V x V outputs needs 2 V loads for its V x V products.",
            ),
            hint=edge_first(
                "Give each thread 4 x 4 outputs or more, and let it keep what it loads for one "
                "k: cache_read A and B to local, compute_at the loop over k outside the tile.",
                loads,
                cells,
            ),
        ),
    )


def made(size: tuple[int, int, int, int], key: str) -> Exercise:
    """The exercise on a product of that size."""
    rows, columns, summed, loads = size
    cells = rows * columns
    return Exercise(
        name="a product with few loads",
        key=key,
        lesson="03_local_blocking",
        task=f"Each of {rows} x {columns} outputs sums {summed} products, so a plain schedule "
        f"loads {2 * summed} elements for it, and C besides. Load about a quarter of them. "
        f"{rows} is a prime number: only a tile of 1 row or of all "
        f"{rows} divides it, so split has an edge to guard.",
        program=product(rows, columns, summed),
        goals=goals(cells, loads),
        hints=(
            "For one k, a thread with r x c outputs needs r elements of A and c of B. How many is "
            f"that for each output, over {summed} steps of k? How large must the tile be for "
            f"{loads}?",
            "Begin as in the lesson: cache_write to local, three factors for i and for j, reorder "
            "so that k is outside the two innermost loops, reverse_compute_at, bind. Then "
            'cache_read(block, 0, "local") and compute_at the loop k, the same for 1, and '
            "decompose last.",
            f"How far do your blocks reach over the {rows} rows and the {columns} columns? Threads "
            "beyond still load. Choose the threads of a block so that its tile divides the columns "
            "and reaches as little as can be over the rows.",
        ),
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
