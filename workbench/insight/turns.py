"""turns: in which turn of each loop, block and thread a cell of each buffer is touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from workbench.access.units import same_cell
from workbench.emulate.kernels.affine import Digit as Part
from workbench.insight.accesses import Access, accesses, loops_above
from workbench.insight.cells import executions
from workbench.insight.spread import Spread, spread, within
from workbench.insight.tiles import Digit, keys_of
from workbench.ir import THREAD_AXES, For, PrimFunc, Var, remembered, walk_statements

SIDES = ("row", "column")
"""What the digits of `Turns` are of: the last two indices of a cell."""


@dataclass(frozen=True, slots=True)
class Turns:
    """What touches a cell: the block `stage`, in turns that the cell's indices tell.

    `axes` pairs the key of an axis with its value: the sum of factor · digit, digits of "row" and
    "column" of the cell. An axis that the indices do not tell is not there. `loops` are the names
    of the program's loops that the stage is in.
    """

    stage: str
    axes: tuple[tuple[str, tuple[tuple[Digit, int], ...]], ...]
    loops: tuple[str, ...]


def turns(func: PrimFunc) -> dict[str, Turns]:
    """By buffer, the turns in which a cell is written last in the text, else read.

    Nothing is told where a block touches several cells in a turn, or not all cells along a side.
    An index is a sum of multiples of digits. Where each multiple steps over all that the smaller
    ones reach, every digit can be told from the index: it is index // multiple % size.
    """
    known: dict[Any, dict[str, Turns]] = remembered(func)
    if "turns" not in known:
        known["turns"] = _worked_out(func)
    return known["turns"]


def _worked_out(func: PrimFunc) -> dict[str, Turns]:
    last: dict[str, Access] = {}
    for access in accesses(func):
        if access.guards and not executions(access):
            continue  # no condition of it ever holds
        before = last.get(access.buffer.name)
        if before is None or access.writes or not before.writes:
            last[access.buffer.name] = access
    return {
        name: _turns(func, access, tells=not _has_others(func, access))
        for name, access in last.items()
        if len(access.indices) <= len(SIDES)
    }


def _has_others(func: PrimFunc, access: Access) -> bool:
    """Whether its block touches the buffer so in other cells, too, at the same turn."""
    return any(
        other.stage == access.stage
        and other.buffer is access.buffer
        and other.writes == access.writes
        and not same_cell(other.indices, access.indices)
        for other in accesses(func)
    )


def _turns(func: PrimFunc, access: Access, tells: bool) -> Turns:
    of = spread(access)
    dims = range(len(of.forms)) if tells else ()
    shape = access.buffer.shape
    digits = {part: digit for dim in dims for part, digit in _digits(of, dim, shape[dim])}
    names = _names(func, access)
    axes = []
    for var, key in within(access, names).items():
        parts = [part for part in of.cut.of[var] if part.size > 1]
        if all(part in digits for part in parts):
            axes.append((key, tuple((digits[part], part.stride) for part in parts)))
    around = [loop.loop_var.name for loop in loops_above(func, access)]
    return Turns(access.stage, tuple(axes), tuple(around))


def loops_of(func: PrimFunc) -> dict[str, tuple[str, ...]]:
    """The names of the program's loops that each axis of its tiles is, by the key of the axis."""
    keys = {loop.var: key for key, loops in keys_of(func).items() for loop in loops}
    found: dict[str, dict[str, None]] = {}
    for loop in (node for node in walk_statements(func.root.body) if isinstance(node, For)):
        key = loop.thread if loop.thread in THREAD_AXES else keys.get(loop.loop_var)
        if key is not None:
            found.setdefault(key, {})[loop.loop_var.name] = None
    return {key: tuple(names) for key, names in found.items()}


def loops_around(func: PrimFunc) -> dict[str, tuple[str, ...]]:
    """The names of the program's loops around each of its blocks, by the name of the block."""
    found: dict[str, dict[str, None]] = {}
    for access in accesses(func):
        names = found.setdefault(access.stage, {})
        names.update((loop.loop_var.name, None) for loop in loops_above(func, access))
    return {stage: tuple(names) for stage, names in found.items()}


def _names(func: PrimFunc, access: Access) -> dict[Var, str]:
    """The key of each axis around `access`, outermost first."""
    own = {loop.var for loop in access.loops}
    keys = {loop.var: key for key, loops in keys_of(func).items() for loop in loops}
    return {var: key for var, key in keys.items() if var in own}


def _digits(of: Spread, dim: int, size: int) -> Iterator[tuple[Part, Digit]]:
    """The digits of axes that the index of a dimension, of so many cells, tells as its own."""
    form = of.forms[dim]
    if form.rest or form.const or of.reads_memory[dim]:
        return
    terms = sorted(
        (
            (factor, part)
            for part, factor in form.terms.items()
            if isinstance(part, Part) and part.size > 1
        ),
        key=lambda term: term[0],
    )
    if not terms or terms[0][0] < of.width:
        return
    if any(b % (a * part.size) for (a, part), (b, _) in pairwise(terms)):
        return
    if terms[-1][0] * terms[-1][1].size < size:
        return  # cells beyond were told the turns of others
    side = SIDES[dim - len(of.forms)]
    for factor, part in terms:
        yield part, Digit(side, factor, part.size)
