"""memory: which buffer lives at which level of the machine, and how much crosses each level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import TypeAlias

from workbench import script
from workbench.access.accesses import by_buffer
from workbench.check import pipelines
from workbench.diag import Refusal, count_text
from workbench.insight.accesses import Access, at_first, loops_above
from workbench.insight.cells import Touched, box_around, executions, touched_by, union
from workbench.insight.page import Kind, Point, Table
from workbench.insight.summed import summed
from workbench.ir import (
    THREAD_AXES,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Const,
    Expr,
    PrimFunc,
    Var,
    dtypes,
    once,
)
from workbench.lower import Padding, arrays_of, open_blocks, padded_strides, paddings_of
from workbench.target import Target, get


@dataclass(frozen=True, slots=True)
class BufferUse:
    """One buffer at its level; loads and stores are counted over the whole program.

    `bytes` is what one owner (the grid, a block, a thread: see `Level.owner`) holds of it.
    `reuse` is loads by the first block (of local memory: by its first thread) over the distinct
    cells that it loads, 0.0 where nothing is loaded; `used` the same of loads that are not copied.
    `role` is "input", "output", "input and output" or "intermediate". `loaders` and `storers` are
    the blocks that load and store it.
    """

    buffer: str
    dtype: str
    shape: Point
    role: str
    bytes: int
    loads: int
    stores: int
    load_bytes: int
    store_bytes: int
    reuse: float
    used: float
    loaders: tuple[str, ...] = ()
    storers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the memory hierarchy: "global" (owner grid), "shared" (block), "local" (thread).

    `used` and `capacity` are bytes for one owner; capacity is None where the target has no limit
    of its own there (registers are shared by a block: see `occupancy`).
    """

    scope: str
    owner: str
    used: int
    capacity: int | None
    loads: int
    stores: int
    load_bytes: int
    store_bytes: int
    buffers: tuple[BufferUse, ...]


@dataclass(frozen=True, slots=True)
class At:
    """The loop in which a copy is made: its name, its line in the program, and who does its turns.

    `doer` is "turn", or, of a bound loop, "block", "thread" or "virtual thread".
    """

    loop: str
    line: int
    doer: str


@dataclass(frozen=True, slots=True)
class Flow:
    """Data that one block of the program moves from `source` to `target` (an arrow).

    They are one buffer where a block updates it in place. `count` and `bytes` are what it loads.
    Where it only `copies`, from one buffer of a lane to the next, `stored` is the bytes that it
    stores there, `reuse` loads of a cell by one owner, of all such copies, and `at` the innermost
    loop that holds it with what else is done to the buffer that is nearer to the threads; None
    without one.
    """

    stage: str
    source: str
    target: str
    source_scope: str
    target_scope: str
    count: int
    bytes: int
    copies: bool = False
    stored: int = 0
    reuse: float = 0.0
    at: At | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory-hierarchy picture: global, shared, local, and the arrows between buffers.

    `lanes` are the names of buffers that are copies of each other, from the device on.
    """

    levels: tuple[Level, ...]
    flows: tuple[Flow, ...]
    lanes: tuple[tuple[str, ...], ...]
    caption: str
    table: Table
    kind: Kind = "counted"


Ends: TypeAlias = tuple[Buffer, Buffer]
"""A buffer that is loaded and one that this is stored to."""

Way: TypeAlias = tuple[str, Buffer, Buffer]
"""A stage and its ends."""

SCOPES = {"global": "grid", "shared": "block", "local": "thread"}
NAMES = {
    "global": "global memory",
    "shared": "shared memory",
    "local": "registers (local memory)",
}


def memory(func: PrimFunc, target: Target | None = None) -> Memory:
    """Where the buffers of `func` live, and how much every thread together loads and stores.

    A buffer in shared or local memory takes the array that the kernel has for it. Where there is no
    kernel, or several have one, it takes the box that the first block or thread touches, times its
    copies in a pipeline, with what `storage_align` leaves between rows. Of fragments, which a warp
    holds together, a thread holds a 32nd.
    `target` gives the capacity of shared memory.
    """
    found = by_buffer(summed(func))
    order = [*func.params, *(b for b in found if b not in func.params)]
    scopes = [*SCOPES, *dict.fromkeys(b.scope for b in order if b.scope not in SCOPES)]
    ways = _ways(func)
    copies = [way for way, loads in ways.items() if _copies(way, loads)]
    lanes = _lanes(sorted(order, key=lambda b: scopes.index(b.scope)), copies)
    joined = {frozenset(pair) for lane in lanes for pair in pairwise(lane)}
    drawn = [way for way in copies if frozenset(way[1:]) in joined]
    taken = {access for way in drawn for access in ways[way]}
    cells = _cells(func, found)
    uses = {
        b: _use(func, b, of := found.get(b, []), [a for a in of if a not in taken], cells.get(b))
        for b in order
    }
    levels = tuple(
        _level(scope, [uses[b] for b in order if b.scope == scope], target) for scope in scopes
    )
    alike: dict[Ends, list[Access]] = {}
    for way in drawn:
        alike.setdefault(way[1:], []).extend(ways[way])
    flows = tuple(
        _copy(func, way, loads, alike[way[1:]]) if way in drawn else _flow(way, loads)
        for way, loads in ways.items()
    )
    names = tuple(tuple(b.name for b in lane) for lane in lanes)
    together = sum(_WARP * uses[b].bytes for b in order if b.is_fragment)
    return Memory(levels, flows, names, _caption(levels, together), _table(levels, flows))


_WARP = 32  # threads


def _level(scope: str, uses: Sequence[BufferUse], target: Target | None) -> Level:
    capacity = None
    if target is not None:
        capacity = {"shared": target.most_shared_bytes, "global": target.memory_bytes}.get(scope)
    return Level(
        scope,
        SCOPES.get(scope, "block"),
        sum(u.bytes for u in uses),
        capacity,
        sum(u.loads for u in uses),
        sum(u.stores for u in uses),
        sum(u.load_bytes for u in uses),
        sum(u.store_bytes for u in uses),
        tuple(uses),
    )


def _one_owner(access: Access, scope: str) -> dict[Var, int]:
    """The axes that stand still while one owner is looked at: the first block, the first thread."""
    return at_first(access, "block", *(["thread"] if scope == "local" else []))


def _use(
    func: PrimFunc, buffer: Buffer, found: list[Access], used: list[Access], cells: int | None
) -> BufferUse:
    """What is told of a buffer; one owner holds so many `cells` of it, or all."""
    size = dtypes.itemsize(buffer.type)
    loads = sum(executions(a) for a in found if not a.writes)
    stores = sum(executions(a) for a in found if a.writes)
    held = prod(buffer.shape) if cells is None else cells
    owners = _WARP if buffer.is_fragment else 1
    return BufferUse(
        buffer.name,
        buffer.type,
        buffer.shape,
        _role(func, buffer, found),
        held * size // owners,
        loads,
        stores,
        loads * size,
        stores * size,
        _reuse(found),
        _reuse(used),
        *(tuple(dict.fromkeys(a.stage for a in found if a.writes is way)) for way in (False, True)),
    )


def _reuse(found: Sequence[Access]) -> float:
    """Of the loads among `found`: how often one owner makes them of each cell."""
    read = [touched_by(a, _one_owner(a, a.buffer.scope)) for a in found if not a.writes]
    return sum(t.accesses for t in read) / max(union(read)[2], 1) if read else 0.0


def _cells(func: PrimFunc, found: Mapping[Buffer, list[Access]]) -> dict[Buffer, int]:
    """How many cells one owner holds of each buffer in shared or local memory."""
    near = {buffer: of for buffer, of in found.items() if buffer.scope != "global"}
    arrays = _arrays(func) if near else {}
    cells: dict[Buffer, int] = {}
    for buffer, of in near.items():
        anew = (kept for b, kept in arrays.items() if b.name == buffer.name)  # of an opened block
        kept = arrays.get(buffer) or next(anew, ())
        alone = len(kept) == 1  # no value goes from one kernel to the next by registers
        cells[buffer] = kept[0] if alone else _touched(func, buffer, of)
    return cells


@once
def _arrays(func: PrimFunc) -> Mapping[Buffer, Sequence[int]]:
    """How many cells the arrays of kernels have; none of a program that a build will refuse."""
    try:
        arrays = arrays_of(open_blocks(func), get("cuda"))
    except Refusal:
        return {}
    return {buffer: [int(prod(one.shape)) for one in kept] for buffer, kept in arrays.items()}


def _touched(func: PrimFunc, buffer: Buffer, found: list[Access]) -> int:
    """The cells of a buffer for which no kernel, or several, have an array: as notes ask for."""
    times, paddings = dict[Buffer, int](), dict[Buffer, Padding]()
    with suppress(Refusal):
        times = pipelines.copies(func)
    with suppress(Refusal):
        paddings = paddings_of(func.body)
    return _held(found, buffer.scope, times.get(buffer, 1), paddings.get(buffer, {}))


def _held(found: list[Access], scope: str, times: int, padding: Padding) -> int:
    """What one owner holds at a time: each turn of a loop around all accesses holds anew.

    In registers each virtual thread holds its own, at once. There are so many `times` copies, and
    what `padding` leaves between rows is held, too.
    """
    roles = {"local": ("serial", "reduce", "virtual")}.get(scope, ("serial", "reduce"))
    around = [{loop for loop in a.loops if loop.role in roles} for a in found]
    common = set.intersection(*around)
    turn = {loop.var: 0 for loop in common}
    copies = times * prod(loop.extent for loop in common if loop.role == "virtual")
    box = _box(touched_by(a, {**_one_owner(a, scope), **turn}) for a in found)
    if box is None:
        return 0
    if not padding:
        return copies * prod(box)
    shape = (copies, *box)
    strides = padded_strides(shape, {axis + 1: asked for axis, asked in padding.items()})
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def _box(parts: Iterable[Touched]) -> tuple[int, ...] | None:
    """The sides of the smallest box around all that is touched; None where nothing is."""
    boxes = [p.region()[0] for p in parts if p.accesses]
    return tuple(count for _, count, _ in box_around(boxes)) if boxes else None


def _role(func: PrimFunc, buffer: Buffer, found: list[Access]) -> str:
    if buffer not in func.params:
        return "intermediate"
    if not any(a.writes for a in found):
        return "input"
    return "output" if found[0].writes else "input and output"


def _ways(func: PrimFunc) -> dict[Way, list[Access]]:
    """The loads that feed stores, by stage, buffer and what they are stored to."""
    ways: dict[Way, list[Access]] = {}
    for access in summed(func):
        if not access.writes and access.store is not None:
            key = (access.stage, access.buffer, access.store.buffer)
            ways.setdefault(key, []).append(access)
    return ways


def _copies(way: Way, loads: Sequence[Access]) -> bool:
    """Whether these stages put elements into another memory and do nothing else to them."""
    _, source, target = way
    return source.scope != target.scope and all(
        access.store is not None and copied_load(access.store.value) is access.node
        for access in loads
    )


def copied_load(value: Expr) -> Expr | None:
    """The load whose element `value` is, converted or padded with a number at most."""
    match value:
        case BufferLoad():
            return value
        case Cast(value=inner):
            return copied_load(inner)
        case Call("if_then_else", (_, inner, Const()) | (_, Const(), inner)):
            return copied_load(inner)
    return None


def _lanes(order: Sequence[Buffer], copies: Iterable[Way]) -> list[list[Buffer]]:
    """Buffers with their copies, at most one in each memory; `order` is from the device on."""
    lanes = {buffer: [buffer] for buffer in order}
    for _, source, target in copies:
        both = sorted(lanes[source] + lanes[target], key=order.index)
        if lanes[source] is not lanes[target] and len({b.scope for b in both}) == len(both):
            for buffer in both:
                lanes[buffer] = both
    return list({id(lane): lane for lane in lanes.values()}.values())


def _flow(way: Way, loads: Sequence[Access]) -> Flow:
    stage, source, target = way
    count = sum(map(executions, loads))
    size = count * dtypes.itemsize(source.type)
    return Flow(stage, source.name, target.name, source.scope, target.scope, count, size)


def _copy(func: PrimFunc, way: Way, loads: Sequence[Access], alike: Sequence[Access]) -> Flow:
    """A flow from one buffer of a lane to the next; `alike` are the loads of all such."""
    stage, source, target = way
    made = {access.store for access in loads}
    stores = [a for a in summed(func) if a.writes and a.store in made]
    stored = sum(map(executions, stores)) * dtypes.itemsize(target.type)
    near = target if source.scope == "global" or target.scope == "local" else source
    at = _at(func, stage, near)
    return replace(_flow(way, loads), copies=True, stored=stored, reuse=_reuse(alike), at=at)


def _at(func: PrimFunc, stage: str, near: Buffer) -> At | None:
    """The innermost loop that `stage` shares with all other stages that touch `near`."""
    touching = [access for access in summed(func) if access.buffer is near]
    if all(access.stage == stage for access in touching):
        return None
    around = [loops_above(func, access) for access in touching]
    shared = [loop for loop in around[0] if all(loop in loops for loops in around)]
    if not shared:
        return None
    loop, doer = shared[-1], "turn"
    if loop.thread in THREAD_AXES:
        doer = loop.thread[: -len("Idx.x")]
    elif loop.virtual:
        doer = "virtual thread"
    return At(loop.loop_var.name, script.show_spans(func).spans[loop].line, doer)


def _caption(levels: Sequence[Level], together: int) -> str:
    """One sentence: what goes to global memory, and what is kept nearer.

    Of that a warp holds `together` so many bytes of fragments.
    """
    far = levels[0]
    sentence = (
        f"{count_text(far.loads, 'load')} from and {count_text(far.stores, 'store')} to "
        "global memory"
    )
    near = [
        f"each {level.owner} keeps {count_text(level.used, 'byte')} in "
        f"{NAMES.get(level.scope, level.scope)}"
        for level in levels[1:]
        if level.buffers
    ]
    if together:
        near.append(f"a warp holds {count_text(together, 'byte')} of fragments together")
    return "; ".join([sentence, *near]) + "."


def _table(levels: Sequence[Level], flows: Sequence[Flow]) -> Table:
    rows = []
    for level in levels:
        for use in level.buffers:
            ways = [f"{f.count:,} for {f.target}" for f in flows if f.source == use.buffer]
            held = (level.scope, use.buffer, use.role, use.bytes)
            moved = (use.loads, use.stores, round(use.reuse, 2), ", ".join(ways) or "–")
            rows.append((*held, *moved))
    columns = (
        "memory",
        "buffer",
        "role",
        "bytes held",
        "loads",
        "stores",
        "loads a cell",
        "loads go to",
    )
    return Table(columns, tuple(rows))
