"""Sheets that can be pointed at: which cell is there, who touches it, and what goes with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from workbench.draw.scene import Field, Form, Stands
from workbench.draw.sheets import Sheet
from workbench.insight import SIDES, Axis, Digit, Turns

ANY = 1 << 20  # more than there are px in a drawing, or cells in a row
LEAST_MARK = 3.0  # px; a mark around a cell is not narrower
ROUND = 1e-6  # of a cell, so that a spot on an edge is not before it


class Placed(NamedTuple):
    """A sheet of a buffer of that many dimensions; sheets that share a side name it alike."""

    buffer: str
    dims: int
    sheet: Sheet
    sides: tuple[str, str]


def fields_of(
    placed: Sequence[Placed], turns: Mapping[str, Turns], axes: Sequence[Axis]
) -> tuple[Field, ...]:
    """Where each sheet is, and what its cells go with: those of sheets that share their sides.

    A spot is told in whole px, so a sheet begins at the first that is all in it.
    """
    return tuple(_field(one, placed, turns.get(one.buffer), axes) for one in placed)


def _field(
    one: Placed, placed: Sequence[Placed], turns: Turns | None, axes: Sequence[Axis]
) -> Field:
    sheet = one.sheet
    turned = tuple((name, Form(0, terms)) for name, terms in turns.axes) if turns else ()
    return Field(
        (ceil(sheet.x), ceil(sheet.y), sheet.x + sheet.width, sheet.y + sheet.height),
        _cell_at(sheet, 0, "y"),
        _cell_at(sheet, 1, "x"),
        turned,
        tuple(marks for other in placed if (marks := _mark(one, other)) is not None),
        (*_name(one), *_who(dict(turned), axes)),
        Stands(
            one.buffer, statement=turns.stage if turns else "", loops=turns.loops if turns else ()
        ),
    )


def _cell_at(sheet: Sheet, dim: int, along: str) -> Form:
    """The number of the row or column at a spot: what is shown first moves with the selection."""
    start, unit = sheet.unit(dim)
    first = sheet.frame[dim]
    moved = sum(step * digit.of(sheet.at) for digit, step in first.moves)
    base = first.first - moved - start / unit + ROUND
    terms = ((Digit(along, 1, ANY), 1 / unit), *((d, float(step)) for d, step in first.moves))
    return Form(base, terms)


def _mark(one: Placed, other: Placed) -> tuple[Form, Form, Form, Form] | None:
    """The cells of `other` that share a side with one of `one`: a row, a column, a cell."""
    shared = [SIDES[one.sides.index(side)] if side in one.sides else "" for side in other.sides]
    if not any(shared):
        return None
    (top, bottom), (left, right) = (
        _edges(other.sheet, dim, side) for dim, side in enumerate(shared)
    )
    return left, top, right, bottom


def _edges(sheet: Sheet, dim: int, side: str) -> tuple[Form, Form]:
    """The edges of the row or column whose number is `side`; of all of them without one."""
    start, unit = sheet.unit(dim)
    size = unit * sheet.frame[dim].cells
    if not side:
        return Form(start), Form(start + size)
    first = sheet.frame[dim]
    wide = min(max(unit, LEAST_MARK), size)
    moved = sum(step * digit.of(sheet.at) for digit, step in first.moves)
    base = start + (moved - first.first) * unit - (wide - unit) / 2
    terms = ((Digit(side, 1, ANY), unit), *((d, -step * unit) for d, step in first.moves))
    return (
        Form(base, terms, start, start + size - wide),
        Form(base + wide, terms, start + wide, start + size),
    )


def _name(one: Placed) -> Iterator[str | Form]:
    """The cell as one writes it: C[5, 7]."""
    row, column = (Form(0, ((Digit(side, 1, ANY), 1),)) for side in SIDES)
    yield f"{one.buffer}["
    if one.dims > 1:
        yield row
        yield ", "
    if one.dims:
        yield column
    yield "]"


def _who(forms: Mapping[str, Form], axes: Sequence[Axis]) -> Iterator[str | Form]:
    """The block and the thread, where all of their axes are told; else each axis by its name."""
    for role in ("block", "thread"):
        own = [axis.key for axis in axes if axis.role == role]
        if own and all(key in forms for key in own):
            yield f" · {role}"
            yield from point_parts([forms[key] for key in own])
        else:
            for key in (key for key in own if key in forms):
                yield f" · {key} = "
                yield forms[key]
    for axis in axes:
        if axis.role == "reduce" and axis.key in forms:
            yield f" · {axis.key} = "
            yield forms[axis.key]


def point_parts(numbers: Sequence[Form]) -> Iterator[str | Form]:
    """The number of a block or thread: " (3, 2)", " 5"."""
    for k, number in enumerate(numbers):
        yield ", " if k else " (" if len(numbers) > 1 else " "
        yield number
    yield ")" if len(numbers) > 1 else ""
