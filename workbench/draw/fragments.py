"""The scene of fragments: what a warp multiplies, its tiles as in a product of matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.draw.scene import Rect, Scene, Shape, Stands, Words, path, standing
from workbench.insight.fragments import Fragments
from workbench.lower.warp_calls import TILE

SIDE, APART, LINE = 64.0, 8.0, 16.0  # px of a tile; between arrays; of a line of words
LEFT = 4.0
_PLACES = ("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator")


def fragments_scene(parts: Sequence[Fragments]) -> Scene:
    """Each tile as 16 x 16 cells: factors on the left and above, what they are added to between.

    In none is said which thread holds which cell: a program cannot know.
    """
    of = {scope: [one for one in parts if one.scope == scope] for scope in _PLACES}
    rows, columns = (max(1, sum(p.tiles for p in of[scope])) for scope in _PLACES[:2])
    x, y = LEFT + SIDE + APART, LINE + SIDE + APART
    shapes = [
        *_tiles(of["wmma.matrix_a"], LEFT, y, 1),
        *_tiles(of["wmma.matrix_b"], x, LINE, columns),
        *_tiles(of["wmma.accumulator"], x, y, columns),
        *(Words(p.buffer, x, LINE - 4, "name", "start") for p in of["wmma.matrix_b"]),
    ]
    sums = sum(p.tiles for p in of["wmma.accumulator"])
    high = y + SIDE * max(rows, -(-sums // columns)) + LINE
    for scope, left in ((_PLACES[0], LEFT), (_PLACES[2], x)):
        shapes += [Words(p.buffer, left, high - 3, "name", "start") for p in of[scope]]
        high += LINE if scope == _PLACES[0] and of[scope] else 0
    wide = max(x + SIDE * columns, 420.0) + LEFT
    return Scene(wide, high + 2, tuple(shapes))


def _tiles(parts: Sequence[Fragments], left: float, top: float, across: int) -> Iterator[Shape]:
    """The tiles of arrays, `across` in a row."""
    every = [(part, k) for part in parts for k in range(part.tiles)]
    for place, (part, k) in enumerate(every):
        x, y = left + place % across * SIDE, top + place // across * SIDE
        step, size = (SIDE - 2) / TILE, SIDE - 2
        lines = [((x + i * step, y), (x + i * step, y + size)) for i in range(TILE + 1)]
        lines += [((x, y + i * step), (x + size, y + i * step)) for i in range(TILE + 1)]
        title = (
            f"fragment {k} of {part.buffer}: {TILE} x {TILE} {part.dtype}, {part.registers} "
            "registers in each of 32 threads; which cells a thread holds is not told"
        )
        yield from standing(
            Stands(buffer=part.buffer, title=title),
            [
                Rect(x, y, size, size, "idle"),
                path("grid", *lines),
                Words("?", x + size / 2, y + size / 2 + 4, "strong"),
            ],
        )
