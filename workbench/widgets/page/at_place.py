"""What the verbs say at a loop or block, and about a buffer: at the blocks that touch it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.history.handles import handle_of
from workbench.ir import Block, BlockId, BlockRealize, Buffer, PrimFunc, Var, walk
from workbench.schedule import Schedule
from workbench.schedule.actions import Verdict
from workbench.verbs.primitive import REGISTRY, Param
from workbench.widgets.page import offers
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.memo import memo
from workbench.widgets.page.names import place_text


def offer_at(cursor: Schedule, key: str, desk: Desk, more: bool) -> dict[str, Any]:
    """What can be done at the place: of the verbs that are offered, or, with `more`, of all."""
    verbs = None if more else desk.offered
    name = desk.names(cursor.func).about[key]["label"]
    label = desk.places(cursor.func).get(key, name)  # short, but for a buffer
    said = _said(cursor, key, desk, verbs)
    return offers.offer({"key": key, "label": label}, said, desk.offered, more, desk.given)


def _said(cursor: Schedule, key: str, desk: Desk, verbs: Sequence[str] | None) -> list[offers.Said]:
    """What the verbs say at a loop or block, or about a buffer.

    About a buffer, each verb is asked at the blocks that write it and read it, and told at the
    first at which it is possible.
    """
    thing, func = desk.keys.thing(key), cursor.func

    def said_at(verdict: Verdict, key: str) -> offers.Said:
        name = desk.names(func).about[key]["name"]
        return offers.Said(verdict, key, place_text(func, desk.keys.thing(key)), name)

    if not isinstance(thing, Buffer):
        return [said_at(verdict, key) for verdict in verdicts(cursor, key, desk, verbs)]
    found: dict[str, offers.Said] = {}
    for block in touching(func, thing):
        own = desk.keys.of(block.id)
        for whole in verdicts(cursor, own, desk, verbs):
            verdict = about(whole, block, thing)
            old = found.get(whole.verb)
            if verdict and (old is None or (verdict.possible and not old.verdict.possible)):
                found[whole.verb] = said_at(verdict, own)
    return list(found.values())


def verdicts(cursor: Schedule, key: str, desk: Desk, verbs: Sequence[str] | None) -> list[Verdict]:
    """What the verbs say at the place `key` of the program that `cursor` stands at."""
    thing = desk.keys.thing(key)
    if not isinstance(thing, (Var, BlockId)):
        return []
    name = ("verdicts", desk.owner, key, verbs if verbs is None else tuple(verbs))
    handle = handle_of(cursor.history, thing)
    return memo(cursor.node.func, name, lambda: cursor.actions(handle, verbs))


def touching(func: PrimFunc, buffer: Buffer) -> list[Block]:
    """The blocks that write `buffer`, then those that only read it; each in program order."""
    blocks = [node.block for node in walk(func.root.body) if isinstance(node, BlockRealize)]
    readers = [b for b in blocks if any(region.buffer is buffer for region in b.reads)]
    writers = [b for b in blocks if _writes(b, buffer)]
    return [*writers, *(block for block in readers if block not in writers)]


def about(verdict: Verdict, block: Block, buffer: Buffer) -> Verdict | None:
    """What a verb says at `block`, as far as that is about `buffer`; None where it is not.

    A verb that is told a buffer is asked about this one only; any other is about the result of the
    block, which is the buffer that it writes.
    """
    which = buffer_param(verdict.verb)
    if which is None:
        return verdict if _writes(block, buffer) else None
    options = [o for o in verdict.options if _named(which, o.arguments, block) is buffer]
    return replace(verdict, options=tuple(options)) if options else None


def buffer_param(verb: str) -> Param | None:
    """The argument that tells which buffer of a block is meant: TVM has that word in its name."""
    return next((param for param in REGISTRY[verb].params if "buffer" in param.name), None)


def _named(param: Param, arguments: Mapping[str, Any], block: Block) -> Buffer | None:
    """The buffer that the argument means: its name or number, or ("read", number)."""
    which = arguments.get(param.name)
    side = param.name
    if isinstance(which, (list, tuple)):
        side, which = which
    regions = block.reads if side.startswith("read") else block.writes
    buffers = [region.buffer for region in regions]
    if isinstance(which, int):
        return buffers[which]
    return next((buffer for buffer in buffers if buffer.name == which), None)


def _writes(block: Block, buffer: Buffer) -> bool:
    return any(region.buffer is buffer for region in block.writes)
