"""Lesson 11: a product on Tensor Cores with tiles on their way and no waits for banks."""

from __future__ import annotations

from functools import partial

from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import (
    at_most_loads,
    at_most_shared,
    copies_under_way,
    no_waits_for_banks,
    on_tensor_cores,
)
from workbench.lesson.half_products import TILE, half_product

SIZES = ((128, 128, 256), (64, 192, 256), (192, 64, 256), (128, 64, 384))
"""Rows and columns of C, terms of a sum."""
BYTES = 48 * 1024
HINTS = (
    "On what does it depend how often a fragment is loaded: on the block, on its warps, "
    "or on what a warp has?",
    "A warp of 2 x 4 tiles has 32 x 64 outputs. Which block do two such warps make, and "
    "how many bytes are three tiles of 64 halves a row for it?",
    "Two such warps, one below the other, make a block of 64 x 64, and three tiles of 64 halves a "
    "row take just 48 KiB then. Columns change places in both copies, and the loop over tiles is a "
    "pipeline whose work runs two turns behind.",
)


def made(size: tuple[int, int, int], key: str) -> Exercise:
    """The exercise on a product of that size."""
    rows, columns, terms = size
    loads = terms // TILE * 0.75
    return Exercise(
        name=f"copies ahead, {rows} x {columns} x {terms}",
        key=key,
        lesson="11_mma_sync",
        task=f"A product of halves, C of {rows} x {columns}, sums of {terms} terms. Let mma.sync "
        "do all of it. Choose the block, its warps and the depth so that at most "
        f"{loads:g} elements of shared memory are loaded for each output, let no warp wait for a "
        "bank, and keep a group of copies under way beside the one that comes next, in at most "
        f"{BYTES // 1024} KiB ({BYTES} bytes) of shared memory.",
        program=half_product(rows, columns, terms),
        goals=_goals(rows * columns, terms),
        hints=HINTS,
    )


def _goals(cells: int, terms: int) -> tuple[Goal, ...]:
    """What is asked of a product with so many outputs, each a sum of so many terms."""
    loads = terms // TILE * 0.75
    return (
        Goal(
            on_tensor_cores("mma.sync"),
            hint='lesson.in_tiles(mine, "mma", …) and lesson.by_calls(mine, "mma") take the steps.',
        ),
        Goal(
            at_most_loads(
                "shared",
                loads,
                cells,
                why="A fragment of A that is loaded serves all tiles of a warp in its row, one "
                "of B all in its column.",
            ),
            hint="A warp with r x c tiles loads r + c fragments for r times c products: "
            f"{terms // TILE}/c + {terms // TILE}/r elements for each output. It has block / "
            "warps outputs, down and across.",
        ),
        Goal(
            no_waits_for_banks(),
            hint='Let columns of A_shared and of B_shared change places: annotate, "'
            'permuted_layout".',
        ),
        Goal(
            copies_under_way(1),
            hint="With stages=[0, 0, 2] and async_stages=[0] two tiles are on their way when "
            "one is used; with [0, 0, 1] only one.",
        ),
        Goal(
            at_most_shared(BYTES),
            hint="Three tiles of A and of B are in shared memory, each as many rows as the "
            "block has outputs down or across, of depth halves: smaller blocks or less depth.",
        ),
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
