"""A list scheduler that knows no heap and no digits: each block takes the best of all places."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """Blocks of some classes on multiprocessors with room for so many each; sums are exact."""

    multiprocessors: int
    room: int
    lengths: tuple[float, ...]
    classes: tuple[int, ...]
    start: float = 0.0


def random_grid(seed: int) -> Grid:
    """Of one class, of some that lie among the blocks at random, or at the edges of a grid."""
    rng = random.Random(seed)
    sms, room, blocks = rng.randint(1, 20), rng.randint(1, 8), rng.randint(1, 400)
    kinds = rng.choice((1, 2, 3, 64))
    lengths = tuple(
        rng.choice((rng.randint(1, 4), rng.randint(1, 9000) / 1024)) for _ in range(kinds)
    )
    across = rng.randint(1, 30)
    if rng.random() < 0.5:
        classes = tuple(rng.randrange(kinds) for _ in range(blocks))
    else:
        classes = tuple(min(b % across // max(across - 2, 1), kinds - 1) for b in range(blocks))
    return Grid(sms, room, lengths, classes, rng.choice((0.0, 2.5)))


def places(grid: Grid) -> list[tuple[int, int, float, float]]:
    """Of each block the multiprocessor, the place on it, the start and the end."""
    free = {(p, m): grid.start for p in range(grid.room) for m in range(grid.multiprocessors)}
    found = []
    for number in grid.classes:
        earliest = min(free.values())
        place, sm = min(where for where, since in free.items() if since == earliest)
        free[place, sm] = earliest + grid.lengths[number]
        found.append((sm, place, earliest, free[place, sm]))
    return found
