"""memory: which buffer lives at which level of the machine, and how much crosses each level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from workbench.access.accesses import by_buffer
from workbench.diag import count_text
from workbench.insight.accesses import Access, accesses, at_first
from workbench.insight.cells import Touched, box_around, executions, touched_by, union
from workbench.insight.page import Kind, Point, Table
from workbench.ir import Buffer, PrimFunc, Var, dtypes
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class BufferUse:
    """One buffer at its level; loads and stores are counted over the whole program.

    `bytes` is what one owner (the grid, a block, a thread: see `Level.owner`) holds of it.
    `reuse` is loads by the first block (of local memory: by its first thread) over the distinct
    cells that it loads, 0.0 where nothing is loaded.
    `role` is "input", "output", "input and output" or "intermediate".
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
class Flow:
    """Data that one block of the program moves from `source` to `target` (an arrow).

    They are one buffer where a block updates it in place. `at` names the loop in each turn of which
    it is done, with what else is done to the buffer that is nearer to the threads; "" without one.
    """

    stage: str
    source: str
    target: str
    source_scope: str
    target_scope: str
    count: int
    bytes: int
    at: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory-hierarchy picture: global, shared, local, and the arrows between buffers."""

    levels: tuple[Level, ...]
    flows: tuple[Flow, ...]
    caption: str
    table: Table
    kind: Kind = "counted"


SCOPES = {"global": "grid", "shared": "block", "local": "thread"}
NAMES = {
    "global": "global memory",
    "shared": "shared memory",
    "local": "registers (local memory)",
}


def memory(func: PrimFunc, target: Target | None = None) -> Memory:
    """Where the buffers of `func` live, and how much every thread together loads and stores.

    A buffer in shared or local memory takes the box that one block or thread touches of it.
    `target` gives the capacity of shared memory.
    """
    found = by_buffer(accesses(func))
    order = [*func.params, *(b for b in found if b not in func.params)]
    uses = {b: _use(func, b, found.get(b, [])) for b in order}
    scopes = [*SCOPES, *dict.fromkeys(b.scope for b in order if b.scope not in SCOPES)]
    levels = tuple(
        _level(scope, [uses[b] for b in order if b.scope == scope], target) for scope in scopes
    )
    flows = tuple(_flows(func))
    return Memory(levels, flows, _caption(levels), _table(levels, flows))


def _level(scope: str, uses: Sequence[BufferUse], target: Target | None) -> Level:
    capacity = None
    if target is not None:
        capacity = {"shared": target.max_shared_bytes, "global": target.memory_bytes}.get(scope)
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


def _use(func: PrimFunc, buffer: Buffer, found: list[Access]) -> BufferUse:
    size = dtypes.itemsize(buffer.type)
    loads = sum(executions(a) for a in found if not a.writes)
    stores = sum(executions(a) for a in found if a.writes)
    mine = [touched_by(a, _one_owner(a, buffer.scope)) for a in found]
    read = [t for t, a in zip(mine, found, strict=True) if not a.writes]
    held = prod(buffer.shape) if buffer.scope == "global" else _held(found, buffer.scope)
    reuse = sum(t.accesses for t in read) / max(union(read)[2], 1) if read else 0.0
    role = _role(func, buffer, found)
    return BufferUse(
        buffer.name,
        buffer.type,
        buffer.shape,
        role,
        held * size,
        loads,
        stores,
        loads * size,
        stores * size,
        reuse,
    )


def _held(found: list[Access], scope: str) -> int:
    """What one owner holds at a time: each turn of a loop around all accesses holds anew.

    In registers each virtual thread holds its own, at once.
    """
    roles = {"local": ("serial", "reduce", "virtual")}.get(scope, ("serial", "reduce"))
    around = [{loop for loop in a.loops if loop.role in roles} for a in found]
    common = set.intersection(*around)
    turn = {loop.var: 0 for loop in common}
    copies = prod(loop.extent for loop in common if loop.role == "virtual")
    return copies * _box(touched_by(a, {**_one_owner(a, scope), **turn}) for a in found)


def _box(parts: Iterable[Touched]) -> int:
    """The cells of the smallest box around all that is touched."""
    boxes = [p.region()[0] for p in parts if p.accesses]
    return prod(count for _, count, _ in box_around(boxes)) if boxes else 0


def _role(func: PrimFunc, buffer: Buffer, found: list[Access]) -> str:
    if buffer not in func.params:
        return "intermediate"
    if not any(a.writes for a in found):
        return "input"
    return "output" if found[0].writes else "input and output"


def _flows(func: PrimFunc) -> Iterable[Flow]:
    sums: dict[tuple[str, Buffer, Buffer], int] = {}
    all_accesses = accesses(func)
    for access in all_accesses:
        if not access.writes and access.store is not None:
            key = (access.stage, access.buffer, access.store.buffer)
            sums[key] = sums.get(key, 0) + executions(access)
    for (stage, source, target), count in sums.items():
        size = count * dtypes.itemsize(source.type)
        near = target if source.scope == "global" or target.scope == "local" else source
        at = _turn(all_accesses, stage, near) if source.scope != target.scope else ""
        yield Flow(stage, source.name, target.name, source.scope, target.scope, count, size, at)


def _turn(found: Sequence[Access], stage: str, near: Buffer) -> str:
    """The innermost loop that `stage` shares with all other stages that touch `near`."""
    touching = [access for access in found if access.buffer is near]
    own = [access for access in touching if access.stage == stage]
    if len(own) == len(touching):
        return ""
    shared = [loop for loop in own[0].loops if all(loop in access.loops for access in touching)]
    return shared[-1].var.name if shared else ""


def _caption(levels: Sequence[Level]) -> str:
    """One sentence: what goes to global memory, and what is kept nearer."""
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
