"""The picture of a race: both orders of its two threads, as timelines that end in one cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.draw.colours import block_role
from workbench.draw.picture import Picture
from workbench.draw.scene import Rect, Scene, Shape, Stands, Words, longest, path, standing
from workbench.insight import Table

if TYPE_CHECKING:
    from workbench.emulate.kernels.orders import Act, Orders

WIDE = 332.0  # px, which fits a phone
COLUMN, HEAD = 156.0, 22.0  # px: how wide a timeline is, and where it begins below its name
BOX, STEP, CELL = 38.0, 16.0, 34.0  # px: the heights of an act, of an arrow, of the cell
LINE = 15.0  # px: a line of words
HALF = 130.0  # px: how wide the cell is for each of its values
NAMES = ("in one order", "in the other")


def orders_picture(orders: Orders) -> Picture:
    """Two timelines beside each other, from above to below, and the cell with both values.

    The boxes of a thread look alike in both; a dashed edge is a read, as everywhere.
    """
    first, second = orders.acts
    shapes: list[Shape] = []
    for k, acts in enumerate(((first, second), (second, first))):
        shapes += _timeline(k, acts, orders)
    shapes += _cell(orders)
    high = HEAD + 2 * (_box(orders) + STEP) + CELL + 20
    rows = [(name, *steps) for name, steps in zip(NAMES, orders.timelines, strict=True)]
    table = Table(("order", "first", "then", "comes to"), tuple(rows))
    caption = f"{orders.cell}, {orders.block}: {_told(orders)}"
    full = "\n".join([caption, *(f"{name}: {'; '.join(steps)}." for name, *steps in rows)])
    return Picture((Scene(WIDE, high, tuple(shapes)),), caption, table, "emulated", full=full)


def _told(orders: Orders) -> str:
    one, other = orders.ends
    if one == other:
        return f"both orders come to {one}, by chance of these numbers."
    return f"{one} or {other}, as the two threads come."


def _box(orders: Orders) -> float:
    """How high an act is: with a line more where one of them is in a turn of loops."""
    return BOX + (LINE if any(act.turn for act in orders.acts) else 0)


def _left(k: int) -> float:
    return 1 + k * (WIDE - COLUMN - 2)


def _timeline(k: int, acts: tuple[Act, Act], orders: Orders) -> Iterator[Shape]:
    """A name, two acts and what leads from each to the next, and to the cell."""
    x, y, high = _left(k), HEAD, _box(orders)
    middle = x + COLUMN / 2
    yield Words(NAMES[k], middle, 15, "strong")
    for order, act in zip(("first", "then"), acts, strict=True):
        title = f"{NAMES[k]}, {order}: {act.who} {act.does} {orders.cell} ({act.where})"
        said = f"{act.who} {act.does}"
        forms = (said, said.replace("thread ", ""), act.does)
        shapes: list[Shape] = [
            Rect(x, y, COLUMN, high, block_role(orders.acts.index(act)), round=2),
            Rect(x, y, COLUMN, high, "read" if act.does == "reads" else "write", round=2),
            Words(longest(forms, COLUMN - 8), middle, y + 16),
            Words(f"{order}, line {act.line}", middle, y + 31, "muted"),
        ]
        if act.turn:
            turn = longest((f"in turn {act.turn}", act.turn), COLUMN - 8) or "in a turn"
            shapes.append(Words(turn, middle, y + 31 + LINE, "muted"))
        yield from standing(Stands(orders.cell.partition("[")[0], title=title), shapes)
        end = WIDE / 2 + (k - 0.5) * HALF if order == "then" else middle
        yield from _arrow(middle, y + high, end, y + high + STEP)
        y += high + STEP


def _arrow(x: float, y: float, to: float, below: float) -> Iterator[Shape]:
    yield path("clock", ((x, y), (to, below - 4)))
    yield path("head", ((to - 4, below - 6), (to + 4, below - 6), (to, below - 1)))


def _cell(orders: Orders) -> Iterator[Shape]:
    """The cell with the value that each order leads to."""
    y, left = HEAD + 2 * (_box(orders) + STEP), WIDE / 2 - HALF
    name = orders.cell.partition("[")[0]
    for k, end in enumerate(orders.ends):
        shapes: list[Shape] = [
            Rect(left + k * HALF, y, HALF, CELL, "alarm"),
            Words(_short(end), left + (k + 0.5) * HALF, y + 22, "on-strong"),
        ]
        title = f"{NAMES[k]}: {orders.timelines[k][2]}"
        yield from standing(Stands(name, title=title), shapes)
    yield Words(f"✕ {orders.cell}", WIDE / 2, y + CELL + 15, "code")


def _short(end: str) -> str:
    return longest((end, "nothing written", "nothing"), HALF - 8, "on-strong")
