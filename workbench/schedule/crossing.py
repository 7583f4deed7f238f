"""Whether a block may leave the loops that it shares with others."""

from __future__ import annotations

from collections.abc import Collection

from workbench import arith
from workbench.access.iterations import carries
from workbench.access.units import Unit, units, writes_apart
from workbench.diag import Refusal
from workbench.ir import Block, BlockId, Buffer, For, PrimFunc
from workbench.ir.places import places
from workbench.schedule.domains import bounds_at


def check_leaves(
    before: PrimFunc, after: PrimFunc, block: Block, task: str, into: Block | None = None
) -> None:
    """Refuse a step that takes `block` out of a loop in which others need its order.

    It is in its new place, or has become part of the block `into`.

    In such a loop a buffer is filled anew in each iteration, or carries a value to the next one:
    there, running all of `block` before or after all of another block is something else.
    """
    where, now = places(before), places(after)
    kept = {loop.loop_var for loop in now.all_loops_above(now.blocks[(into or block).id])}
    for loop in where.loops_above(where.realize(block)):
        if loop.loop_var not in kept:
            check_carries_nothing(before, loop, block.id, task)


def check_carries_nothing(func: PrimFunc, loop: For, block: BlockId, task: str) -> None:
    """Refuse unless `loop` carries nothing between `block` in it and the other blocks in it."""
    where = places(func)
    below = list(units(loop.body))
    (own,) = (unit for unit in below if unit.block and unit.block.id is block)
    inside = [one for unit in below for one in unit.loops]
    dom = {**bounds_at(where, loop.body), **arith.loop_bounds([loop, *inside])}
    if loop.loop_var in dom and len(set(dom[loop.loop_var])) == 1:
        return  # it runs once
    changed = {buffer for unit in below for buffer in unit.writes}
    for other in below:
        if other is own:
            continue
        if not own.writes & (other.reads | other.writes) and _repeats(other, changed):
            continue
        shared = (own.writes & (other.reads | other.writes)) | (own.reads & other.writes)
        for buffer in sorted(shared, key=lambda b: b.name):
            if carries(loop, own, other, buffer, dom):
                name = loop.loop_var.name
                raise Refusal(
                    f"Can't {task}: it would leave `{name}`, in which {buffer.name} is not proved "
                    "to stay as it is",
                    own.stmt,
                    other.stmt,
                    detail=f"an iteration of `{name}` may use a cell of {buffer.name} that another "
                    f"one writes: `{own.name}` and `{other.name}` must take turns",
                    hint=f"stay inside `{name}`, or write the program with an axis of "
                    f"{buffer.name} for `{name}`",
                )


def _repeats(unit: Unit, changed: Collection[Buffer]) -> bool:
    """Whether `unit` stores the same value to a cell however often, while `changed` may change."""
    if unit.block is None or unit.accumulates or unit.reads & set(changed):
        return False
    return writes_apart(unit.block) is True
