"""Where a loop, block or buffer can be carried to: axes, loops and memories, each with the step
that it would be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.diag import Refusal, shortened
from workbench.ir import Block, BlockId, Buffer, For, PrimFunc, Var
from workbench.ir.places import places
from workbench.schedule import Schedule
from workbench.schedule.actions import Option
from workbench.schedule.find import has_own_name, loop_name
from workbench.verbs.primitive import REGISTRY
from workbench.widgets.page.at_place import about, touching, verdicts
from workbench.widgets.page.desk import Desk

LOOP_VERBS = ("bind", "unroll", "vectorize", "parallel", "reorder")
BLOCK_VERBS = ("compute_at", "reverse_compute_at")
BUFFER_VERBS = ("cache_read", "cache_write")
"""The verbs whose argument is a place to carry a loop, a block, or a buffer, to."""

TRAY = tuple(f"{unit}.{axis}" for unit in ("blockIdx", "threadIdx", "vthread") for axis in "xyz")
VIRTUAL = "vthread"


@dataclass(frozen=True)
class Target:
    """Where something can be put down: a `label` in a `group`, and the step that this would be.

    `loop` is the key of the loop whose line it is, "" for what stands on the tray alone. `why_not`
    says why the step would be refused, "" where it would not.
    """

    group: str
    label: str
    step: dict[str, Any]
    loop: str = ""
    why_not: str = ""


def carried(verbs: Sequence[str] | None) -> list[str]:
    """What can be carried where these verbs are offered: "loop", "block", "buffer"; None: all."""
    kinds = (("loop", LOOP_VERBS), ("block", BLOCK_VERBS), ("buffer", BUFFER_VERBS))
    return [kind for kind, known in kinds if verbs is None or set(verbs) & set(known)]


def targets(cursor: Schedule, key: str, desk: Desk) -> list[Target]:
    """Where the loop, block or buffer `key` of the program at `cursor` can be put, by the offered
    verbs.

    Also what would be refused, with the reason. Nothing for what cannot be carried.
    """
    thing = desk.keys.thing(key)
    known = places(cursor.func)
    offered = [v for v in REGISTRY if desk.offered is None or v in desk.offered]
    if isinstance(thing, Var) and thing in known.loops:
        verbs = [verb for verb in LOOP_VERBS if verb in offered]
        return list(_of_loop(cursor, known.loops[thing], key, verbs, desk))
    if isinstance(thing, BlockId) and thing in known.blocks:
        return list(_of_block(cursor, key, [v for v in BLOCK_VERBS if v in offered], desk))
    if isinstance(thing, Buffer):
        verbs = [verb for verb in BUFFER_VERBS if verb in offered]
        return [t for verb in verbs for t in _of_buffer(cursor, thing, verb, desk)]
    return []


def _of_loop(
    cursor: Schedule, loop: For, key: str, verbs: Sequence[str], desk: Desk
) -> Iterator[Target]:
    for verb in verbs:
        if verb == "reorder":
            yield from _orders(cursor.func, loop, desk)
            continue
        for verdict in verdicts(cursor, key, desk, [verb]):
            for option in sorted(verdict.options, key=_place_on_tray):
                if _is_virtual(option.arguments) and not _shows_virtual(desk):
                    continue
                args = {name: json.dumps(value) for name, value in option.arguments.items()}
                group, label = _axis(option.arguments.get("thread_axis", verb))
                step = {"verb": verb, "place": key, "args": args}
                yield Target(group, label, step, "", option.why_not)


def _is_virtual(arguments: Mapping[str, Any]) -> bool:
    return str(arguments.get("thread_axis")).startswith(VIRTUAL)


def _shows_virtual(desk: Desk) -> bool:
    """Whether the tray has virtual threads: of all verbs, or where a form is given one.

    A lab that names its verbs shows what its lesson teaches; a form offers them all the same.
    """
    return desk.offered is None or any(map(_is_virtual, (desk.given or {}).values()))


def _place_on_tray(option: Option) -> int:
    """Axes by units, and of each x before y before z: one direction is enough for most."""
    axis = option.arguments.get("thread_axis")
    return TRAY.index(axis) if axis in TRAY else len(TRAY)


def _axis(name: str) -> tuple[str, str]:
    """The unit of an axis and its direction; a verb without axes is both, and so is "vthread"."""
    unit, _, direction = name.partition(".")
    return (unit, direction) if direction else ("", unit)


def _orders(func: PrimFunc, loop: For, desk: Desk) -> Iterator[Target]:
    """`loop` in the place of each loop of its nest; those between move up by one."""
    known, prim = places(func), REGISTRY["reorder"]
    above = known.all_loops_above(loop)
    below = [one for one in known.loops.values() if loop in known.all_loops_above(one)]
    for other in (*above, *below):
        outer, inner = (other, loop) if other in above else (loop, other)
        between = [
            one
            for one in known.all_loops_above(inner)
            if one is not outer and outer in known.all_loops_above(one)
        ]
        order = [loop, outer, *between] if other is outer else [*between, inner, loop]
        first, *others = order
        names = [loop_name(func, one) for one in others]
        step = {
            "verb": "reorder",
            "place": desk.keys.of(first.loop_var),
            "args": {"ordered_loops": json.dumps(names)},
        }
        why_not = ""
        try:
            prim.refuse(func, *order)
        except Refusal as refusal:
            why_not = shortened(refusal.headline)
        place = desk.keys.of(other.loop_var)
        yield Target("in the place of", other.loop_var.name, step, place, why_not)


def _of_block(cursor: Schedule, key: str, verbs: Sequence[str], desk: Desk) -> Iterator[Target]:
    """A block inside each loop: by the verb that makes it there, else why one does not."""
    func = cursor.func
    by_name = {loop_name(func, one): one for one in places(func).loops.values()}
    found: dict[str, Target] = {}
    for verdict in verdicts(cursor, key, desk, verbs):
        for option in verdict.options:
            loop = by_name.get(option.arguments.get("loop", ""))
            if loop is None:
                continue
            place = desk.keys.of(loop.loop_var)
            args = {"loop": json.dumps(option.arguments["loop"])}
            step = {"verb": verdict.verb, "place": key, "args": args}
            target = Target("inside", loop.loop_var.name, step, place, option.why_not)
            if place not in found or found[place].why_not:
                found[place] = target
    yield from found.values()


def _of_buffer(cursor: Schedule, buffer: Buffer, verb: str, desk: Desk) -> Iterator[Target]:
    """A buffer in another memory: blocks read it through a copy there, or a block writes it so.

    Where several read it, all do, or one of them does.
    """
    does = "read" if verb == "cache_read" else "write"
    blocks = [
        (block, verdict)
        for block in touching(cursor.func, buffer)
        for whole in verdicts(cursor, desk.keys.of(block.id), desk, [verb])
        if (verdict := about(whole, block, buffer)) is not None
    ]
    several = len(blocks) > 1
    for first, verdict in blocks[: 1 if does == "read" else None]:
        who = f"{first.name} {does}s" if several and does == "write" else does
        who = "all read" if several and does == "read" else who
        for option in verdict.options:
            yield _copied(verb, first, who, option.arguments, option.why_not, desk)
    for block, verdict in blocks if several and does == "read" else ():
        for option in verdict.options if has_own_name(cursor.func, block) else ():
            why_not = _why_not_alone(cursor.func, verb, block, option.arguments)
            arguments = {**option.arguments, "consumer_blocks": [block.name]}
            yield _copied(verb, block, f"{block.name} reads", arguments, why_not, desk)


def _copied(
    verb: str, block: Block, who: str, arguments: Mapping[str, Any], why_not: str, desk: Desk
) -> Target:
    args = {name: json.dumps(value) for name, value in arguments.items()}
    step = {"verb": verb, "place": desk.keys.of(block.id), "args": args}
    return Target(f"{who} through", arguments["storage_scope"], step, "", why_not)


def _why_not_alone(func: PrimFunc, verb: str, block: Block, arguments: Mapping[str, Any]) -> str:
    """Why this block alone can't read through a copy; "" where it can."""
    try:
        REGISTRY[verb].refuse(func, block, **arguments, consumer_blocks=[block])
    except Refusal as refusal:
        return shortened(refusal.headline)
    return ""
