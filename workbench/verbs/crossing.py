"""Whether a block may leave the loops that it shares with others."""

from __future__ import annotations

from collections.abc import Collection

from workbench.access.iterations import carries, feeds
from workbench.access.units import Unit, units, writes_apart
from workbench.arith import Bounds
from workbench.ir import Block, Buffer, For
from workbench.verbs.domains import units_in
from workbench.verbs.site import Site, declared_writes


def check_leaves(site: Site[Block], there: Site[Block]) -> None:
    """Refuse a step that takes the block out of a loop in which others need its order.

    It is `there` after the step, or has become part of that block.

    In such a loop a buffer is filled anew in each iteration, or carries a value to the next one:
    there, running all of the block before or after all of another block is something else.
    """
    kept = {loop.loop_var for loop in there.places.all_loops_above(there.realize)}
    for loop in site.loops:
        if loop.loop_var not in kept:
            check_carries_nothing(site, loop)


def check_enters(site: Site[Block], there: Site[Block]) -> None:
    """Refuse a step that lets the block store inside loops in which others use that in other turns.

    It has become part of the block `there`; so far it ran when those loops had ended.
    """
    around = {loop.loop_var for loop in site.loops}
    for loop in (one for one in there.loops if one.loop_var not in around):
        own, below, dom = _in_turn(there, loop)
        for other in (one for one in below if one is not own):
            for buffer in declared_writes(site.node):
                if carries(loop, own, other, buffer, dom):
                    raise site.refuse(
                        f"`{other.name}` may use {buffer.name} in other turns of "
                        f"`{loop.loop_var.name}`",
                        site.node,
                        other.stmt,
                        hint=f"keep `{site.name}` behind that loop, or let `{other.name}` use "
                        "another buffer",
                    )


def _in_turn(site: Site[Block], loop: For) -> tuple[Unit, list[Unit], Bounds]:
    """The block and all blocks in one turn of `loop`, and the bounds of what runs there."""
    below, dom = units_in(site.places, loop.body)
    (own,) = (unit for unit in below if unit.block is site.node)
    return own, below, dom


def check_carries_nothing(site: Site[Block], loop: For) -> None:
    """Refuse unless `loop` carries nothing between the block in it and the other blocks in it."""
    own, below, dom = _in_turn(site, loop)
    changed = {buffer for unit in below for buffer in unit.writes}
    for other in below:
        if other is own:
            continue
        shared = own.writes & (other.reads | other.writes)
        same = not shared and stores_the_same(other, changed)
        for buffer in sorted(shared | (own.reads & other.writes), key=lambda b: b.name):
            alone = same and _writes_alone(site, other, buffer)
            if alone or (same and feeds(loop.body, other, own, buffer, dom)):
                continue
            if carries(loop, own, other, buffer, dom):
                name = loop.loop_var.name
                raise site.refuse(
                    f"it would leave `{name}`, in which {buffer.name} is not proved to stay as it "
                    "is",
                    own.stmt,
                    other.stmt,
                    detail=f"an iteration of `{name}` may use a cell of {buffer.name} that another "
                    f"one writes: `{own.name}` and `{other.name}` must take turns",
                    hint=f"stay inside `{name}`, or write the program with an axis of "
                    f"{buffer.name} for `{name}`",
                )


def _writes_alone(site: Site[Block], unit: Unit, buffer: Buffer) -> bool:
    """Whether no other value than those of `unit` is ever in `buffer`."""
    body = site.scope.block.body
    others = (one for one in units(body) if buffer in one.writes and one.stmt is not unit.stmt)
    return site.is_allocated(buffer) and not any(others)


def stores_the_same(unit: Unit, changed: Collection[Buffer]) -> bool:
    """Whether `unit` stores the same value to a cell however often, while `changed` may change."""
    if unit.block is None or unit.accumulates or unit.reads & set(changed):
        return False
    return writes_apart(unit.block) is True
