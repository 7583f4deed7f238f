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
        goals=(
            Goal(
                on_tensor_cores("mma.sync"),
                hint='lesson.in_tiles(mine, "mma", …) and lesson.by_calls(mine, "mma") take the '
                "steps.",
            ),
            Goal(
                at_most_loads(
                    "shared",
                    loads,
                    rows * columns,
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
        ),
        hints=(
            "Of what does it depend how often a fragment is loaded: of the block, of its warps, "
            "or of what a warp has?",
            "A warp of 2 x 4 tiles has 32 x 64 outputs. Which block do two such warps make, and "
            "how many bytes are three tiles of 64 halves a row for it?",
            "With block=(64, 64), warps=(2, 1) and depth=64 three tiles take just 48 KiB. Then "
            "annotate both copies, unroll the loop over steps and pipeline the one over tiles.",
        ),
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
