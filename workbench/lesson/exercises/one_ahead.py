"""Lesson 9: tiles that are fetched ahead through registers, with one barrier for each."""

from __future__ import annotations

from functools import partial

from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import at_most_barriers, at_most_shared, fetched_ahead
from workbench.lesson.programs import product, tiled, unbound

SIZES = (((4, 4), 64, 8), ((4, 4), 96, 8), ((4, 2), 64, 16), ((2, 4), 96, 16))
"""Outputs of a thread, products for each output, steps of k in a tile; 8 x 8 threads."""


def made(size: tuple[tuple[int, int], int, int], key: str) -> Exercise:
    """The exercise on tiles of that size, made as in lesson 4."""
    (rows, columns), summed, depth = size
    tiles, most = summed // depth, 2 * 4 * depth * 8 * (rows + columns)
    func = product(64, 64, summed)
    return Exercise(
        name=f"{tiles} tiles, one ahead",
        key=key,
        lesson="09_as_fast_as_cublas",
        task=f"A product in tiles of {8 * rows} x {8 * columns} outputs and {depth} steps of k, "
        "for 64 threads; no loop is bound yet. Bind blocks and threads, and let the next tiles be "
        f"on their way while these are used, with at most {tiles} barriers in a block and at most "
        f"{most:,} bytes of shared memory.",
        program=unbound(tiled(func, (rows, columns), (8, 8), depth, copies="together")),
        goals=(
            Goal(
                fetched_ahead(),
                hint="A turn should load, then work, then store: give A_shared and B_shared copies "
                "in registers, fetched by the same threads, and the pipeline an order in which "
                "both stores stand behind the work.",
            ),
            Goal(
                at_most_barriers(tiles),
                hint="With one copy all wait until the tile has been read. How many copies of each "
                "tile does it take, so that nobody has to?",
            ),
            Goal(
                at_most_shared(most),
                hint=f"A tile of A and one of B take {most // 2:,} bytes together: how many copies "
                "of them are there room for?",
            ),
        ),
        hints=(
            "In which of the statements of a turn does a thread wait for global memory: where it "
            "loads, or where it uses what it has loaded? What could it do in between?",
            "cache_read of what A_shared reads, to local, and compute_at under k_0. Then fuse and "
            "split its loops as those of A_shared are, and bind the inner loops of both. The same "
            "for B_shared: then k_0 has five statements.",
            "The work on a tile runs one turn later than the other four statements. In the order "
            "of a turn both loads come first, then the work, then both stores; copies says how "
            "many A_shared and B_shared have.",
        ),
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
