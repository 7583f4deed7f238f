"""Lesson 12: what a search finds for each of the layers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from workbench.lesson import tile_layer
from workbench.schedule import Schedule

TILES: tuple[tuple[tuple[Sequence[int], Sequence[int], Sequence[int]], int], ...] = (
    (((2, 32, 1), (7, 2, 1), (7, 1, 2)), 8),
    (((8, 4, 1), (1, 14, 1), (7, 2, 1)), 16),
    (((128, 1, 1), (1, 7, 1), (1, 7, 1)), 16),
    (((32, 2, 1), (1, 7, 1), (1, 7, 1)), 8),
)
"""Channels, rows and columns by blocks, threads and sums; input channels at a time."""


def solve(variant: int, sch: Schedule) -> None:
    """Take the steps on `sch`."""
    (channels, rows, columns), depth = TILES[variant]
    tile_layer(sch, channels, rows, columns, depth)


SOLUTIONS = {
    "layer_tiles": partial(solve, 0),
    "layer_tiles 2": partial(solve, 1),
    "layer_tiles 3": partial(solve, 2),
    "layer_tiles 4": partial(solve, 3),
}
