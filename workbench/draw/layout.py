"""Where the sheets of a strip stand: as large as there is room, those of a product in line."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

WIDTH, LEFT = 332.0, 6.0  # px of a strip, and where it begins; a phone shows that
HIGH = 280.0  # px of a strip: a pane of a small lab shows that whole, below its sliders
SIDES = (140.0, 124.0, 110.0, 98.0, 88.0, 78.0, 70.0, 62.0)  # px; the longest sides of a sheet
BAR, LONG = 24.0, 320.0  # px; the height of a row of cells, and the longest side of a lone sheet
LEAST = 8.0  # px; the shortest side of a sheet, where true proportions would have less
TITLE, LINE = 17.0, 16.0  # px of a sheet's title, and of a line of the legend
GUTTER = 18.0  # px between the sheets of a product
LEGEND = 20.0  # px of its line
CORNER = (78.0, 4 * LINE)  # px that it takes in a corner


class Size(NamedTuple):
    """The cells that a sheet shows, and how many px its title takes."""

    rows: int
    columns: int
    title: float


class Spot(NamedTuple):
    """Where a sheet stands, in px; its title stands above it from `left` on."""

    x: float
    y: float
    width: float
    height: float
    left: float


class Layout(NamedTuple):
    """Where all sheets of a strip stand, those of a product first, and where they end.

    `corner` says that the legend has room beside the sheets of a product.
    """

    spots: tuple[Spot, ...]
    bottom: float
    corner: bool = False


@lru_cache(1 << 10)  # the sizes of most selections of a program are the same
def fitting(sizes: tuple[Size, ...], linked: bool) -> Layout:
    """The largest sheets that fit; the smallest where none do.

    The first three are a product's where they are `linked`.
    """
    layouts = (_layout(sizes, linked, side) for side in SIDES)
    return next(
        (found for found in layouts if found.bottom <= HIGH), _layout(sizes, linked, SIDES[-1])
    )


def _layout(sizes: tuple[Size, ...], linked: bool, side: float) -> Layout:
    """The sheets, none of them higher than `side`; a product's three are not wider either.

    A cell is as large in all of them, so that their areas can be held against each other.
    What stands alone goes beside a product's while there is room, then below them, side by side.
    """
    unit = _unit(sizes, linked, side)
    first = _product(sizes, unit) if linked else Layout((), LEGEND)
    spots, right = [*first.spots], _right(first, sizes)
    beside = 0.0 if first.corner else LEGEND
    x, y, low = LEFT, first.bottom, first.bottom
    for size in sizes[3:] if linked else sizes:
        wide, high = _proportions(size, unit)
        room, tall = max(wide, size.title), TITLE + high + 4
        if right + room <= WIDTH and beside + tall <= first.bottom:
            spots.append(Spot(right, beside + TITLE, wide, high, right))
            beside += tall
            continue
        if x > LEFT and x + room > WIDTH:
            x, y = LEFT, low
        spots.append(Spot(x, y + TITLE, wide, high, x))
        x, low = x + room + GUTTER, max(low, y + tall)
    return Layout(tuple(spots), low, first.corner)


def _right(product: Layout, sizes: tuple[Size, ...]) -> float:
    """Where there is room beside the sheets of a product."""
    ends = [spot.left + size.title for spot, size in zip(product.spots, sizes, strict=False)]
    ends += [spot.x + spot.width for spot in product.spots]
    return max(ends, default=WIDTH) + GUTTER


def _unit(sizes: tuple[Size, ...], linked: bool, side: float) -> float:
    """The px of a cell's side."""
    alone = sizes[3:] if linked else sizes
    units = [min(LONG / size.columns, side / size.rows) for size in alone if size.rows > 1]
    return min([*units, side / max(_sides(sizes))] if linked else units, default=0.0)


def _sides(sizes: tuple[Size, ...]) -> tuple[int, int, int]:
    """The rows and columns of a product's result, and what its factors share."""
    first, _, result = sizes[:3]
    return result.rows, result.columns, first.columns


def _proportions(size: Size, unit: float) -> tuple[float, float]:
    """Width and height of a sheet in true proportions; a row of cells is a bar."""
    rows, columns, _ = size
    if rows == 1:
        return LONG, BAR
    return max(columns * unit, LEAST), max(rows * unit, LEAST)


def _product(sizes: tuple[Size, ...], unit: float) -> Layout:
    """The three sheets in true proportions, shared dimensions in line."""
    first = sizes[0]
    high, wide, deep = (max(count * unit, LEAST) for count in _sides(sizes))
    aside = max(deep, first.title)
    corner = aside >= CORNER[0] and TITLE + deep >= CORNER[1]
    y = 0.0 if corner else LEGEND
    x1, y1 = LEFT + aside + GUTTER, y + TITLE + deep + 6 + TITLE
    x0 = x1 - GUTTER - deep
    spots = (
        Spot(x0, y1, deep, high, max(x0 + deep - first.title, LEFT)),
        Spot(x1, y + TITLE, wide, deep, x1),
        Spot(x1, y1, wide, high, x1),
    )
    return Layout(spots, y1 + high + 6, corner)
