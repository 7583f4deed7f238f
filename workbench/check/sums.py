"""refuse_torn_sum: sums that threads share out stay so, whatever becomes of the loops around."""

from __future__ import annotations

from collections.abc import Iterator

from workbench import arith
from workbench.access.iterations import apart
from workbench.access.units import Unit, units
from workbench.check.conflict import why_not_shared_out
from workbench.diag import Refusal
from workbench.ir import For, PrimFunc, once
from workbench.ir.places import places, within


@once
def shares_sums(func: PrimFunc) -> bool:
    """Whether threads share out a sum somewhere in `func`."""
    return next(_shared(func), None) is not None


def refuse_torn_sum(before: PrimFunc, after: PrimFunc, verb: str) -> None:
    """Raise Refusal where a step leaves threads with a sum that they can't share out any more."""
    if not shares_sums(before) or next(_torn(before), None) is not None:
        return
    for loop, unit, why in _torn(after):
        known = places(before)
        raise Refusal(
            f"Can't {verb}: the threads of `{loop.loop_var.name}` share the sum of `{unit.name}` "
            "out, and could not any more",
            *filter(None, [known.loops.get(loop.loop_var)]),
            hint=f"leave the loops of that sum to `{unit.name}` alone, or take the step before "
            f"`{loop.loop_var.name}` is bound",
            detail=why,
        )


def _shared(func: PrimFunc) -> Iterator[tuple[For, Unit]]:
    """Each loop of threads with a unit that reduces along it."""
    for loop in (stmt for stmt in within(func.body) if isinstance(stmt, For)):
        if (loop.thread or "").startswith("threadIdx"):
            yield from ((loop, unit) for unit in _reducing(loop))


@once  # most steps leave most loops as they are
def _reducing(loop: For) -> list[Unit]:
    """What in `loop` reduces along it."""
    return [unit for unit in units(loop.body) if loop.loop_var in unit.moved_by("reduce")]


def _torn(func: PrimFunc) -> Iterator[tuple[For, Unit, str]]:
    """Of these, those that can't be shared out, and why."""
    known = places(func)
    for loop, unit in _shared(func):
        dom = arith.loop_bounds([*known.all_loops_above(loop), loop, *unit.loops])
        if apart(loop, unit, dom):
            continue
        why = why_not_shared_out(known, loop, unit, dom, "threads")
        if why is not None:
            yield loop, unit, why
