"""Accesses that are surely outside of their buffer: in a turn that surely runs, for any data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench import arith
from workbench.access.accesses import Access, accesses
from workbench.access.units import running_sizes
from workbench.arith import Bounds
from workbench.check.finding import Finding
from workbench.ir import (
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    PrimFunc,
    Select,
    SizeVar,
    Stmt,
    Var,
    const,
    once,
    size_expr,
    substitute,
    walk,
)
from workbench.script import expr_text
from workbench.script.memory import size_text

# An access is refused for one turn that shows it: every loop around has that turn, all conditions
# hold there, and the index is outside. So no program is refused that might be right. Turns that are
# tried are the corners of the loops: the first and the last of all, and those where a sum of their
# variables is least and most, which are its true ends. What is nowhere but in between, or depends
# on data, is found when it runs: the emulator sees each index.


def outside_errors(func: PrimFunc, sizes: Mapping[SizeVar, int] | None = None) -> list[Finding]:
    """The accesses of `func` that are surely outside of their buffer.

    Those with the numbers `sizes`, else those that are so for all sizes with which they are made.
    """
    return _found(func, sizes or {})


@once
def _found(func: PrimFunc, sizes: Mapping[SizeVar, int]) -> list[Finding]:
    numbers: dict[Var, Expr] = {n: const(value, n.type) for n, value in sizes.items()}
    tried = ((access, _place_outside(access, numbers)) for access in _unproved(func))
    return [_finding(access, place, numbers) for access, place in tried if place is not None]


def _finding(access: Access[For], place: Sequence[Expr], numbers: Mapping[Var, Expr]) -> Finding:
    site, buffer, act = access.node, access.buffer, "write" if access.writes else "read"
    assert isinstance(site, (BufferLoad, BufferStore))
    shape = [size_text(substitute(n, numbers) if isinstance(n, Expr) else n) for n in buffer.shape]
    own = ", ".join(expr_text(index) for index in site.indices)
    at = ", ".join(str(i.value) if isinstance(i, Const) else expr_text(i) for i in place)
    return Finding(
        f"it would {act} {buffer.name}[{at}], outside of {buffer.name}, "
        f"whose shape is ({', '.join(shape)}{',' if len(shape) == 1 else ''})",
        (site,),
        hint="make the loops or a T.where keep the index inside the buffer",
        detail=f"that is {buffer.name}[{own}] in one of its turns" if at != own else "",
    )


@once
def _unproved(func: PrimFunc) -> list[Access[For]]:
    """The accesses of `func` that bounds do not show to be inside, whatever the sizes are."""
    found = []
    chosen = _of_selects(func.body)
    for access in accesses(func.body):
        dom = arith.narrow(arith.loop_bounds(access.loops), arith.joined(access.guards))
        inside = all(
            arith.is_index(index, n, dom)
            for index, n in zip(access.indices, access.buffer.shape, strict=True)
        )
        if not inside and id(access.node) not in chosen:
            found.append(access)
    return found


def _of_selects(stmt: Stmt) -> set[int]:
    """The expressions that stand in a value of a `Select`, which need not be evaluated."""
    arms = (
        arm for e in walk(stmt) if isinstance(e, Select) for arm in (e.true_value, e.false_value)
    )
    return {id(part) for arm in arms for part in walk(arm)}


def _place_outside(access: Access[For], numbers: Mapping[Var, Expr]) -> tuple[Expr, ...] | None:
    """The indices of `access` in a turn in which it is surely made, and outside; None for none."""
    try:
        guards = [substitute(guard, numbers) for guard in access.guards]
        dom = arith.narrow(arith.loop_bounds(access.loops), arith.joined(guards))
        turns = (_turn(access.loops, corner, dom, numbers) for corner in _corners(access))
        return next(
            (at for turn in turns if turn is not None and (at := _outside_in(access, turn))), None
        )
    except ZeroDivisionError:  # it stops ahead of that, or is not made
        return None


def _outside_in(access: Access[For], turn: Mapping[Var, Expr]) -> tuple[Expr, ...] | None:
    """The indices of `access` in that turn, where it is surely made and outside."""
    known = {n: ends for loop in access.loops for n, ends in running_sizes(loop.extent).items()}
    if not all(arith.prove(substitute(guard, turn), known) for guard in access.guards):
        return None
    place = tuple(arith.simplify(substitute(index, turn)) for index in access.indices)
    for index, n in zip(place, access.buffer.shape, strict=True):
        end = substitute(size_expr(n, index.dtype), turn)
        if arith.prove(index < 0, known) or arith.prove(index >= end, known):
            return place
    return None


def _corners(access: Access[For]) -> list[dict[Var, bool]]:
    """Which loops are in their last turn, the others in their first: the corners to try."""
    variables = [loop.loop_var for loop in access.loops]
    found = [dict.fromkeys(variables, False), dict.fromkeys(variables, True)]
    for index in access.indices:
        terms = arith.linear(index, variables)
        if terms is not None:
            found += [{v: terms[0].get(v, 0) * way > 0 for v in variables} for way in (1, -1)]
    return [corner for k, corner in enumerate(found) if corner not in found[:k]]


def _turn(
    loops: Sequence[For], corner: Mapping[Var, bool], dom: Bounds, numbers: Mapping[Var, Expr]
) -> dict[Var, Expr] | None:
    """The values of all variables of `loops` at that `corner` of `dom`; None if it may not run."""
    at, axes = dict(numbers), set()
    for loop in loops:
        var, low, count = loop.loop_var, substitute(loop.min, at), substitute(loop.extent, at)
        if loop.thread is not None and not loop.virtual:
            if loop.thread in axes:
                return None  # it takes but one of its turns, that of the loop around
            axes.add(loop.thread)
        if not (arith.prove(count > 0, {}) or arith.by_sizes(count)):
            return None
        ends = arith.simplify(low), arith.simplify(low + count - 1)
        if var in dom and (within := _narrowed(ends, dom[var])) is not None:
            if not within:
                return None
            ends = const(within[0], var.type), const(within[-1], var.type)
        at[var] = ends[corner[var]]
    return at


def _narrowed(ends: tuple[Expr, Expr], dom: tuple[int, int]) -> range | None:
    """The values between `ends` that are in `dom`, too; None where the ends are no numbers."""
    first, last = ends
    if not isinstance(first, Const) or not isinstance(last, Const):
        return None
    return range(max(int(first.value), dom[0]), min(int(last.value), dom[1]) + 1)
