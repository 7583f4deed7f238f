"""refuse_conflict: whether the iterations of a loop may be done in any order, or all at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import replace
from itertools import takewhile
from typing import Any, Literal, TypeAlias

from workbench import arith, script
from workbench.access.accesses import accesses
from workbench.access.cover import missed
from workbench.access.cross_thread import reduction_around
from workbench.access.fed import is_own
from workbench.access.iterations import (
    Near,
    apart,
    carries,
    carries_own,
    feeds,
    in_order,
    stored,
    tells_by_changing,
    written_together,
)
from workbench.access.meet import Meets, first_meeting
from workbench.access.pipelines import ORDER, STAGE, is_pipeline
from workbench.access.units import (
    Cell,
    Unit,
    buffers_written,
    same_cell,
    short,
    units,
    writes_apart,
)
from workbench.arith import Bounds
from workbench.diag import Act, Refusal
from workbench.ir import (
    BlockRealize,
    Buffer,
    Expr,
    For,
    IfThenElse,
    PrimFunc,
    Var,
    free_vars,
    once,
    remembered,
    stores,
)
from workbench.ir.places import Places, places

Doers: TypeAlias = Literal["threads", "blocks", "virtual threads", "lanes", "iterations"]
"""Who does the iterations: a block's threads, a grid's blocks, a vector's lanes, a CPU's cores."""

_EACH_ITS_OWN: dict[Doers, tuple[str, ...]] = {
    "threads": ("local",),
    "blocks": ("local", "shared"),
}
_BOUND: dict[str, Doers] = {"t": "threads", "b": "blocks", "v": "virtual threads"}


def doers_on(axis: str) -> Doers:
    """Who does the iterations of a loop that is bound to `axis`."""
    return _BOUND[axis[0]]


def refuse_conflict(func: PrimFunc, loop: For, task: str, doers: Doers) -> None:
    """Raise Refusal where doing the iterations of `loop` all at once could change the result.

    `task` begins the sentence: "Can't bind `k` to threadIdx.x". Iterations that repeat the very
    same work, each from start to end, do not conflict: they write equal values.
    """
    answers: dict[Any, Refusal | None] = remembered(func)
    key = "conflict", loop, doers  # an axis is tried after the other, and those of a kind are alike
    if key not in answers:
        answers[key] = _conflict(places(func), loop, doers)
    conflict = answers[key]
    if conflict is not None:
        headline = f"{task}: {conflict.headline}"
        raise Refusal(headline, *conflict.at, hint=conflict.hint, detail=conflict.detail)


def _conflict(known: Places, loop: For, doers: Doers) -> Refusal | None:
    """Why the iterations of `loop` can't be done at once, without the task; None if they can."""
    try:
        _refuse(known, loop, doers)
    except Refusal as refusal:
        return refusal.with_traceback(None)  # it is kept
    return None


def _refuse(known: Places, loop: For, doers: Doers) -> None:
    if is_pipeline(loop):
        raise Refusal(
            "it is a pipeline, whose turns follow each other",
            loop,
            hint=f'take "{STAGE}" and "{ORDER}" off with sch.unannotate, or take another loop',
        )
    around = known.all_loops_above(loop)
    below = list(units(loop.body))
    inside = dict.fromkeys(one for unit in below for one in unit.loops)
    turns = _turns(known, loop, doers)
    dom = arith.loop_bounds([*around, *turns, loop, *inside])
    first, last = dom.get(loop.loop_var, (0, 1))
    if first == last:
        return  # a loop that runs once
    if doers == "blocks":  # nothing orders them: each may be in another turn of loops around
        below = [replace(unit, loops=(*turns, *unit.loops)) for unit in below]
    free = {one.loop_var for one in (*around, *inside) if one.kind != "thread_binding"}
    own = _own(known, loop, dom, doers)
    private = {b for unit in below for b in unit.writes if b.scope in _EACH_ITS_OWN.get(doers, ())}
    varied = _varied(below, private, loop.loop_var, dom)
    for unit in below:
        if not unit.writes <= own:
            varies = not unit.writes <= private and not varied.isdisjoint(unit.reads)
            _refuse_own(known, loop, unit, dom, doers, free, varies)
    near = Near(below, dom)
    for reader in below:
        for buffer in (b for b in reader.reads if b not in own):  # in the order of the program
            _refuse_flow(loop, turns, reader, buffer, near, dom, doers)
    for one, other, buffer in near.pairs:
        if buffer in one.writes and buffer in other.writes and buffer not in own:
            _refuse_overwriting(loop, one, other, buffer, dom, doers)


def _own(known: Places, loop: For, dom: Bounds, doers: Doers) -> Set[Buffer]:
    """The buffers of which each thread, or block, has its own, and in its turn makes what it reads.

    Virtual threads have one, of which copies are made where their variable tells what is in it.
    """
    written = (b for b in buffers_written(loop.body) if b.scope in _EACH_ITS_OWN.get(doers, ()))
    return {buffer for buffer in written if is_own(known.func.body, loop, buffer, dom)}


def in_any_turn(unit: Unit) -> Unit:
    """`unit` with the loops in whose iterations a block may be while another is in others.

    Nothing orders blocks, so that these are all loops that are not bound to blocks themselves.
    """
    return replace(unit, loops=tuple(one for one in unit.loops if not _of_blocks(one)))


def _turns(known: Places, loop: For, doers: Doers) -> tuple[For, ...]:
    """What is around `loop`, outermost first, in whose turns the doers are while others are not.

    An iterator of a block around that moves with these loops is one more, over all of its domain.
    """
    turns: dict[Var, For] = {}
    for outer in [*known.above(loop)][::-1]:
        if isinstance(outer, For):
            if outer.thread is None or (doers == "blocks" and not _of_blocks(outer)):
                turns[outer.loop_var] = outer
        elif isinstance(outer, BlockRealize):
            block = outer.block
            for it, value in zip(block.iter_vars, outer.iter_values, strict=True):
                if not turns.keys().isdisjoint(free_vars(value)):
                    turns[it.var] = For(it.var, it.dom.min, it.dom.extent, "serial", block.body)
    return tuple(turns.values())


def _of_blocks(loop: For) -> bool:
    return (loop.thread or "").startswith("block")


# --- one unit against itself ---------------------------------------------------------------------


def _refuse_own(
    known: Places,
    loop: For,
    unit: Unit,
    dom: Bounds,
    doers: Doers,
    free: Collection[Var],
    varies: bool,
) -> None:
    """Refuse where two iterations write one cell, and not the same value by the same work.

    Nor as threads that share a sum out, each with a part of its own.

    `free` are the loops that could be taken instead; `varies` says whether iterations read
    something else in what each has of its own.
    """
    var = loop.loop_var
    if unit.block is not None:
        direct = varies or unit.uses_itself((loop, *unit.loops)) or tells_by_changing(loop, unit)
        if not direct and not unit.accumulates and writes_apart(unit.block) is True:
            return
        again = unit.accumulates and doers in ("lanes", "iterations")
        told = varies or unit.uses_itself([loop]) or _is_told(unit, var, dom)
        if not again and not told:
            return  # each does the whole: seen to when the program is whole, see `findings`
    if not apart(loop, unit, dom):
        why = why_not_shared_out(known, loop, unit, dom, doers)
        if why is not None:
            raise _update_conflict(loop, unit, dom, doers, free, why)
    _refuse_shifted(loop, unit, dom, doers)


def why_not_shared_out(
    known: Places, loop: For, unit: Unit, dom: Bounds, doers: Doers
) -> str | None:
    """Why `unit` is no sum that threads can share out over `loop`; None where it is one."""
    name = loop.loop_var.name
    if all(loop.loop_var not in free_vars(e) for e in unit.bound("reduce")):
        return ""  # no loop of a sum at all
    if doers != "threads":
        return f"`{name}` is a loop of the reduction `{unit.name}`: its iterations share cells"
    assert isinstance(unit.stmt, BlockRealize)  # others reduce nothing
    reduction = reduction_around(known, unit.stmt)
    if reduction is None or loop not in reduction.loops:
        why = _what_else(known, loop, unit)
    else:
        why = reduction.why_not(dom, loop)
    return f"threads can't share the sum out: {why}" if why else None


def _what_else(known: Places, loop: For, unit: Unit) -> str:
    """What `loop` holds besides the block that reduces, and the loops around that."""
    name = loop.loop_var.name
    between = takewhile(lambda outer: outer is not loop, known.above(unit.stmt))
    if any(isinstance(outer, IfThenElse) for outer in between):
        return f"a condition stands between `{name}` and `{unit.name}`, not in it as T.where"
    return f"`{name}` holds more, after `{unit.name}` or with its cells"


def _varied(below: Sequence[Unit], private: Set[Buffer], var: Var, dom: Bounds) -> Set[Buffer]:
    """Of what is `private` to each, that in which values may differ from one value of `var` on."""
    writers = [unit for unit in below if not private.isdisjoint(unit.writes)]
    if not any(not unit.writes <= private and not private.isdisjoint(unit.reads) for unit in below):
        return set()  # nobody else reads it
    found = {b for unit in writers if _is_told(unit, var, dom) for b in unit.writes & private}
    while copied := {b for u in writers if found & u.reads for b in u.writes & private} - found:
        found |= copied
    return found


def _is_told(unit: Unit, var: Var, dom: Bounds) -> bool:
    """Whether `var` says what `unit` does, or whether it does something."""
    if not unit.values:  # a block without iterators names loops itself
        return var in free_vars(unit.stmt) or any(_depends(e, var, dom) for e in unit.holds)
    return any(_depends(value, var, dom) for value in (*unit.values.values(), *unit.holds))


def _depends(value: Expr, var: Var, dom: Bounds) -> bool:
    """Whether `value` is not the same for all values of `var`."""
    return var in free_vars(value) and var in free_vars(short(value, dom))


def _refuse_shifted(loop: For, unit: Unit, dom: Bounds, doers: Doers) -> None:
    """Refuse a unit that may read what another iteration of it writes."""
    written: dict[Buffer, list[Cell]] = {}  # more than one where a block starts sums and adds
    for store in stores(unit.stmt):
        written.setdefault(store.buffer, []).append(store.indices)
    for load in unit.loads:
        if load.buffer not in written or any(
            same_cell(load.indices, cell) for cell in written[load.buffer]
        ):
            continue
        if not carries_own(loop, unit, load.buffer, dom):
            continue
        raise Refusal(
            f"`{unit.name}` reads {script.expr_text(load)}, which another of the {doers} may write",
            loop,
            load,
            hint="keep the loop serial: each iteration needs the one before it",
        )


def _update_conflict(
    loop: For, unit: Unit, dom: Bounds, doers: Doers, free: Collection[Var], why: str
) -> Refusal:
    """The refusal for two iterations that write one cell, with an example where one is found.

    `why` says why they can't share out a sum, "" where they would not in any case.
    """
    name = loop.loop_var.name
    verb = "update" if unit.accumulates else "write"
    met = _example(loop, unit, dom)
    buffer = next(iter(unit.writes))
    detail = why or f"the iterations of `{name}` are not proved to {verb} different cells"
    if met is None:
        clash = f"two {doers} may {verb} the same cell of {buffer.name}"
    else:
        first, second = (turn.env[loop.loop_var] for turn in (met.first, met.second))
        cell = met.first.text
        clash = f"{doers} {name}={first} and {name}={second} would both {verb} {cell}"
        detail = why or f"{cell} is reached in both iterations of `{name}`"
    spatial = [v.name for v in _spatial_loops(unit, loop) if v in free]
    either = " or ".join(f"`{n}`" for n in spatial)
    use = f"use {either} for that, or " if spatial else ""
    if not why and buffer.scope in _EACH_ITS_OWN.get(doers, ()):
        use += f"let each turn write all of {buffer.name} that it reads, or "
    hint = f"{use}keep `{name}` serial"
    return Refusal(clash, loop, unit.stmt, hint=hint, detail=detail)


def _spatial_loops(unit: Unit, loop: For) -> list[Var]:
    """The loops whose iterations write different cells of `unit`."""
    reduced = {v for e in unit.bound("reduce") for v in free_vars(e)}
    moving = dict.fromkeys(v for e in unit.bound("spatial") for v in free_vars(e))
    return [v for v in moving if v not in reduced and v is not loop.loop_var]


@once  # it is the same for most doers
def _example(loop: For, unit: Unit, dom: Bounds) -> Meets | None:
    """Two iterations of `loop` that write one cell; other loops start afresh in both."""
    if loop.loop_var not in dom:
        return None
    sides, dom = stored(unit, loop, dom)
    start = {var: (low, low) for var, (low, _) in dom.items() if var is not loop.loop_var}
    return first_meeting(loop, sides, {**dom, **start}) or first_meeting(loop, sides, dom)


# --- from one unit to another --------------------------------------------------------------------


def _refuse_flow(
    loop: For,
    turns: tuple[For, ...],
    reader: Unit,
    buffer: Buffer,
    near: Near,
    dom: Bounds,
    doers: Doers,
) -> None:
    """Refuse where an iteration needs a cell of `buffer` that only another iteration writes."""
    writers = near.writers(reader, buffer)
    fed = [one for one in writers if feeds(loop.body, one, reader, buffer, dom)]
    if not writers or any(not _goes_on(loop, one, buffer, near, dom) for one in fed):
        return
    if doers in ("threads", "virtual threads") and buffer.scope != "shared":
        # nothing orders threads from turn to turn of the loops around, either
        others = [replace(writer, loops=(*turns, *writer.loops)) for writer in writers]
        user = replace(reader, loops=(*turns, *reader.loops))
    else:
        others, user = writers, reader
    if not any(carries(loop, writer, user, buffer, dom) for writer in others):
        return
    if _wait(buffer, doers) and all(
        _in_order(loop, near.units, (reader, "read"), (writer, "write"), buffer, dom)
        for writer in writers
    ):
        return
    load = next(n for n in reader.loads if n.buffer is buffer)
    mine = {id(load) for load in reader.loads}
    sure = missed(loop, (a for a in accesses(loop.body) if id(a.node) in mine), buffer, dom)
    every = (u for u in near.units if buffer in u.writes and u.stmt is not reader.stmt)
    writer, turn = next(iter(fed), None) or next(every), loop.loop_var.name
    if fed:
        why = f"`{writer.name}` makes them of what an earlier turn of `{turn}` left"
        hint, act = f"keep `{turn}` serial: each iteration needs the one before it", None
    else:
        why, hint = _why_not_there(writer, buffer, doers, sure)
        act = _sharing(writer, buffer, doers)
    raise Refusal(
        f"`{reader.name}` {'reads' if sure else 'may read'} parts of {buffer.name} that "
        f"another {doers[:-1]} writes in `{writer.name}`",
        loop,
        load,
        *(store for store in stores(writer.stmt) if store.buffer is buffer),
        hint=hint,
        detail=why,
        act=act,
    )


def _goes_on(loop: For, unit: Unit, buffer: Buffer, near: Near, dom: Bounds) -> bool:
    """Whether `unit` may make a cell of `buffer` of what it made in an earlier turn of `loop`.

    A sum that starts in each turn does not, nor what is made of a cell that another block of
    those `near` wrote before in the turn.
    """
    if buffer not in unit.reads and not (unit.block and unit.block.init):
        return False
    turns = {inner.loop_var for inner in unit.loops}
    if unit.block and unit.block.init:
        return any(v not in turns for e in unit.bound("reduce") for v in free_vars(e))
    others = near.writers(unit, buffer)
    return not any(feeds(loop.body, other, unit, buffer, dom) for other in others)


def _is_alone(buffer: Buffer, doers: Doers) -> bool:
    """Whether each of the threads has a buffer of its own."""
    return buffer.scope == "local" and doers == "threads"


def _sharing(writer: Unit, buffer: Buffer, doers: Doers) -> Act | None:
    """The step that lets threads share what `writer` makes, if each has its own."""
    alone = writer.block is not None and _is_alone(buffer, doers)
    return Act("set_scope", writer.block.id) if alone and writer.block else None


def _why_not_there(writer: Unit, buffer: Buffer, doers: Doers, sure: bool) -> tuple[str, str]:
    """Why what another iteration of `writer` makes is not there, and what to do."""
    hint = "give each block its own loop nest, so that one ends before the next begins"
    if _is_alone(buffer, doers):
        shared = f'sch.set_scope("{writer.name}", 0, "shared")'
        hint = f"keep {buffer.name} in memory that threads share: {shared}"
    if not sure:
        return f"not proved: that each {doers[:-1]} writes all that it reads there", hint
    if buffer.scope == "local" and doers != "virtual threads":
        return f"{buffer.name} is in local memory, which is one thread's own", hint
    if _wait(buffer, doers):
        return "threads wait for each other after all their writes, not after each one's", hint
    return f"{buffer.name} is in {buffer.scope} memory, where no {doers} wait for others", hint


def _refuse_overwriting(
    loop: For, first: Unit, second: Unit, buffer: Buffer, dom: Bounds, doers: Doers
) -> None:
    """Refuse where two units write one cell in different iterations, and none says who is last."""
    if buffer.scope == "local" and doers in ("threads", "blocks"):
        return  # each has its own
    deciding = [*_deciding(first, buffer), *_deciding(second, buffer)]
    if not any(_depends(value, loop.loop_var, dom) for value in deciding):
        return  # each does the whole: seen to when the program is whole
    if written_together(loop, first, second, buffer, dom):
        return
    sides = (first, "write"), (second, "write")
    if _wait(buffer, doers) and _in_order(loop, [first, second], *sides, buffer, dom):
        return
    one = doers[:-1]
    raise Refusal(
        f"`{first.name}` and `{second.name}` may write the same cells of {buffer.name} in "
        f"different {doers}",
        loop,
        *(store for unit in (first, second) for store in stores(unit.stmt)),
        hint="give each its own loop nest, so that one ends before the next begins",
        detail=f"what stays there would be that of the {one} which comes last, and none waits",
    )


def _wait(buffer: Buffer, doers: Doers) -> bool:
    """Whether those who do the iterations can wait for each other between uses of `buffer`."""
    return buffer.scope == "shared" and doers in ("threads", "virtual threads")


def _in_order(
    loop: For,
    order: Sequence[Unit],
    one: tuple[Unit, str],
    other: tuple[Unit, str],
    buffer: Buffer,
    dom: Bounds,
) -> bool:
    """Whether uses of a cell keep their order where all first uses come before all second ones."""
    first, second = sorted((one, other), key=lambda side: order.index(side[0]))
    return in_order(loop, first, second, buffer, dom)


def _deciding(unit: Unit, buffer: Buffer) -> list[Expr]:
    return [index for cell, _ in unit.cells(buffer, "write") for index in cell]
