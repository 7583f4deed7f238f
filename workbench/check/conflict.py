"""refuse_conflict: whether the iterations of a loop may be done in any order, or all at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import combinations, islice, product
from math import prod
from typing import Literal, TypeAlias

from workbench import arith, script
from workbench.arith.evaluate import compiled as _compiled
from workbench.check.cells import lags, made_there
from workbench.check.units import (
    Bounds,
    Cell,
    Unit,
    keeps_apart,
    short,
    units,
    writes_apart,
)
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    BlockRealize,
    Buffer,
    BufferLoad,
    Expr,
    For,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    free_vars,
    stores,
    walk,
)
from workbench.ir.places import inner, places

Doers: TypeAlias = Literal["threads", "blocks", "lanes", "iterations"]
"""Who does the iterations: a block's threads, a grid's blocks, a vector's lanes, a CPU's cores."""

_POINTS = 4096  # pairs of iterations that are tried for an example: a few milliseconds


def refuse_conflict(func: PrimFunc, loop: For, task: str, doers: Doers) -> None:
    """Raise Refusal where doing the iterations of `loop` all at once could change the result.

    `task` begins the sentence: "Can't bind `k` to threadIdx.x". Iterations that repeat the very
    same work, each from start to end, do not conflict: they write equal values.
    """
    around = places(func).all_loops_above(loop)
    below = list(units(loop.body))
    inside = dict.fromkeys(one for unit in below for one in unit.loops)
    dom = arith.loop_bounds([*around, loop, *inside])
    first, last = dom.get(loop.loop_var, (0, 1))
    if first == last:
        return  # a loop that runs once
    if doers == "blocks":
        below = [in_any_turn(unit, around) for unit in below]
    free = {one.loop_var for one in (*around, *inside) if one.kind != "thread_binding"}
    for unit in below:
        _refuse_own(loop, unit, dom, task, doers, free)
    for reader in below:
        for buffer in reader.reads:
            _refuse_flow(loop, reader, buffer, below, dom, task, doers)
    for one, other in combinations(below, 2):
        for buffer in sorted(one.writes & other.writes, key=lambda b: b.name):  # always the same
            _refuse_overwriting(loop, one, other, buffer, dom, task, doers)


def in_any_turn(unit: Unit, around: Iterable[For] = ()) -> Unit:
    """`unit` with the loops in whose iterations a block may be while another is in others.

    Nothing orders blocks, so that these are all loops that are not bound to blocks themselves.
    """
    loops = [one for one in (*around, *unit.loops) if not (one.thread or "").startswith("block")]
    return Unit(unit.stmt, tuple(loops))


# --- one unit against itself ---------------------------------------------------------------------


def _refuse_own(
    loop: For, unit: Unit, dom: Bounds, task: str, doers: Doers, free: Collection[Var]
) -> None:
    """Refuse where two iterations write one cell, and not the same value by the same work.

    `free` are the loops that could be taken instead.
    """
    var = loop.loop_var
    if unit.block is None:
        again = not all(var in free_vars(i) for i in unit.stmt.indices)  # type: ignore[union-attr]
        if again and unit.accumulates:
            raise _update_conflict(loop, unit, dom, task, doers, free)
    elif not unit.accumulates and writes_apart(unit.block) is True:
        return
    elif not any(_depends(value, var, dom) for value in unit.values.values()):
        if unit.accumulates and doers in ("lanes", "iterations"):
            raise _update_conflict(loop, unit, dom, task, doers, free)
        return  # each does the whole: seen to when the program is whole, see `findings`
    if not apart(loop, unit, dom):
        raise _update_conflict(loop, unit, dom, task, doers, free)
    _refuse_shifted(loop, unit, task, doers)


def _depends(value: Expr, var: Var, dom: Bounds) -> bool:
    """Whether `value` is not the same for all values of `var`."""
    return var in free_vars(value) and var in free_vars(short(value, dom))


def apart(loop: For, unit: Unit, dom: Bounds) -> bool:
    """Whether different iterations of `loop` are proved to write different cells."""
    return (
        all(
            keeps_apart(cell, sizes, unit, loop, dom)
            for buffer in unit.writes
            for cell, sizes in unit.cells(buffer, "write")
        )
        or _instances_apart(loop, unit, dom)
        or _never_clash(loop, unit, dom)
    )


def _instances_apart(loop: For, unit: Unit, dom: Bounds) -> bool:
    """Whether no two iterations, of all loops that the spatial iterators use, are one instance.

    Then different iterations of `loop` are different instances, which write different cells.
    """
    if unit.block is None or writes_apart(unit.block) is not True:
        return False
    spatial = unit.bound("spatial")
    used = {v for e in spatial for v in free_vars(e)}
    if any(v in used for e in unit.bound("reduce") for v in free_vars(e)):
        return False
    assert isinstance(unit.stmt, BlockRealize)
    loops = {v: dom[v] for v in used if v in dom}
    if loop.loop_var not in loops or len(loops) < len(used):
        return False
    return arith.is_injective(spatial, loops, unit.stmt.predicate) is True


def _refuse_shifted(loop: For, unit: Unit, task: str, doers: Doers) -> None:
    """Refuse a unit that reads its own output at another cell than it writes."""
    written: dict[Buffer, list[Cell]] = {}  # more than one where a block starts sums and adds
    for store in stores(unit.stmt):
        written.setdefault(store.buffer, []).append(store.indices)
    for load in walk(unit.stmt):
        if not isinstance(load, BufferLoad) or load.buffer not in written:
            continue
        if any(_same_cell(load.indices, cell) for cell in written[load.buffer]):
            continue
        raise Refusal(
            f"{task}: `{unit.name}` reads {script.expr_text(load)}, which another of the "
            f"{doers} may write",
            loop,
            load,
            hint="keep the loop serial: each iteration needs the one before it",
        )


def _same_cell(a: Cell, b: Cell) -> bool:
    return all(arith.equal(x, y) for x, y in zip(a, b, strict=True))


def _update_conflict(
    loop: For, unit: Unit, dom: Bounds, task: str, doers: Doers, free: Collection[Var]
) -> Refusal:
    """The refusal for two iterations that write one cell, with an example where one is found."""
    name = loop.loop_var.name
    verb = "update" if unit.accumulates else "write"
    found = _example(loop, unit, dom)
    buffer = next(iter(unit.writes)).name
    detail = f"the iterations of `{name}` are not proved to {verb} different cells"
    if found is None:
        clash = f"two {doers} may {verb} the same cell of {buffer}"
    else:
        first, second, cell = found.first, found.second, found.cell
        clash = f"{doers} {name}={first} and {name}={second} would both {verb} {cell}"
        if any(loop.loop_var in free_vars(e) for e in unit.bound("reduce")):
            detail = (
                f"`{name}` is a loop of the reduction `{unit.name}`: its iterations share cells"
            )
        else:
            detail = f"{cell} is reached in both iterations of `{name}`"
    spatial = [v.name for v in _spatial_loops(unit, loop) if v in free]
    either = " or ".join(f"`{n}`" for n in spatial)
    use = f"use {either} for that, or " if spatial else ""
    hint = f"{use}keep `{name}` serial"
    return Refusal(f"{task}: {clash}", loop, unit.stmt, hint=hint, detail=detail)


def _spatial_loops(unit: Unit, loop: For) -> list[Var]:
    """The loops whose iterations write different cells of `unit`."""
    reduced = {v for e in unit.bound("reduce") for v in free_vars(e)}
    found = dict.fromkeys(v for e in unit.bound("spatial") for v in free_vars(e))
    return [v for v in found if v not in reduced and v is not loop.loop_var]


@dataclass(frozen=True, slots=True)
class _Clash:
    """Two iterations of a loop, all loops around it fixed, that write one cell."""

    first: int
    second: int
    cell: str


def _example(loop: For, unit: Unit, dom: Bounds) -> _Clash | None:
    """Two iterations of `loop` that write one cell; other loops start afresh in both."""
    if any(var not in dom for var in _used(unit)):
        return None  # an iterator of a block around says where, and has no one value
    start = {var: (low, low) for var, (low, _) in dom.items() if var is not loop.loop_var}
    return _first_clash(loop, unit, {**dom, **start}) or _first_clash(loop, unit, dom)


def _never_clash(loop: For, unit: Unit, dom: Bounds) -> bool:
    """Whether no two iterations of `loop` write one cell, all of them tried."""
    used = _used(unit)
    if any(var not in dom for var in used):
        return False
    points = prod(high - low + 1 for var, (low, high) in dom.items() if var in used)
    return points <= _POINTS and _first_clash(loop, unit, dom) is None


def _used(unit: Unit) -> set[Var]:
    """The variables that say which cells a unit writes, and when it runs."""
    cells = [i for b in unit.writes for cell, _ in unit.cells(b, "write") for i in cell]
    if isinstance(unit.stmt, BlockRealize):
        cells.append(unit.stmt.predicate)
    return {var for index in cells for var in free_vars(index)}


def _first_clash(loop: For, unit: Unit, dom: Bounds) -> _Clash | None:
    """The first two of the first iterations of `loop` that write one cell."""
    inside = {other.loop_var for other in unit.loops}
    used = [v for v in dom if v in _used(unit) and v is not loop.loop_var]
    around = [v for v in used if v not in inside]
    names = [*around, loop.loop_var, *(v for v in used if v in inside)]
    holds = _compiled(unit.stmt.predicate if isinstance(unit.stmt, BlockRealize) else TRUE)
    cells = [
        (buffer, [_compiled(i) for i in cell], sizes)
        for buffer in unit.writes
        for cell, sizes in unit.cells(buffer, "write")
    ]
    seen: dict[tuple[object, ...], int] = {}
    ends = (dom[v] for v in names)  # cut: product keeps all of each range in memory
    points = product(*(range(low, min(high + 1, low + _POINTS)) for low, high in ends))
    for point in islice(points, _POINTS):
        env = dict(zip(names, point, strict=True))
        time = env[loop.loop_var]
        if not holds(env):
            continue
        for buffer, indices, sizes in cells:
            corner = [index(env) for index in indices]
            for step in product(*(range(size) for size in sizes)):
                place = tuple(c + d for c, d in zip(corner, step, strict=True))
                before = seen.setdefault((*point[: len(around)], buffer, *place), time)
                if before != time:
                    cell = ", ".join(map(str, place))
                    return _Clash(before, time, f"{buffer.name}[{cell}]")
    return None


# --- from one unit to another --------------------------------------------------------------------


def _refuse_flow(
    loop: For, reader: Unit, buffer: Buffer, below: list[Unit], dom: Bounds, task: str, doers: Doers
) -> None:
    """Refuse where an iteration needs a cell of `buffer` that only another iteration writes."""
    writers = [u for u in below if buffer in u.writes and u.stmt is not reader.stmt]
    if not writers or any(feeds(loop.body, writer, reader, buffer, dom) for writer in writers):
        return
    if _wait(buffer, doers) and all(
        _in_order(loop, below, (reader, "read"), (writer, "write"), buffer, dom)
        for writer in writers
    ):
        return
    load = next(n for n in walk(reader.stmt) if isinstance(n, BufferLoad) and n.buffer is buffer)
    one = doers[:-1] if doers != "threads" else "thread"
    raise Refusal(
        f"{task}: `{reader.name}` reads parts of {buffer.name} that another {one} writes in "
        f"`{writers[0].name}`",
        loop,
        load,
        *(store for store in stores(writers[0].stmt) if store.buffer is buffer),
        hint=(
            f'keep {buffer.name} in memory that threads share: sch.set_scope("{writers[0].name}", '
            '0, "shared")'
            if doers == "threads" and buffer.scope == "local"
            else "give each block its own loop nest, so that one ends before the next begins"
        ),
        detail=(
            f"{buffer.name} is in local memory, which is one thread's own"
            if buffer.scope == "local"
            else "threads wait for each other after all their writes, not after each one's"
            if _wait(buffer, doers)
            else f"{buffer.name} is in {buffer.scope} memory, where no {doers} wait for others"
        ),
    )


def _refuse_overwriting(
    loop: For, first: Unit, second: Unit, buffer: Buffer, dom: Bounds, task: str, doers: Doers
) -> None:
    """Refuse where two units write one cell in different iterations, and none says who is last."""
    if buffer.scope == "local" and doers in ("threads", "blocks"):
        return  # each has its own
    if not any(_depends(v, loop.loop_var, dom) for u in (first, second) for v in _told(u, buffer)):
        return  # each does the whole: seen to when the program is whole
    if _written_together(loop, first, second, buffer, dom):
        return
    sides = (first, "write"), (second, "write")
    if _wait(buffer, doers) and _in_order(loop, [first, second], *sides, buffer, dom):
        return
    one = doers[:-1]
    raise Refusal(
        f"{task}: `{first.name}` and `{second.name}` may write the same cells of {buffer.name} in "
        f"different {doers}",
        loop,
        *(store for unit in (first, second) for store in stores(unit.stmt)),
        hint="give each its own loop nest, so that one ends before the next begins",
        detail=f"what stays there would be that of the {one} which comes last, and none waits",
    )


def _wait(buffer: Buffer, doers: Doers) -> bool:
    """Whether those who do the iterations can wait for each other between uses of `buffer`."""
    return buffer.scope == "shared" and doers == "threads"


def _in_order(
    loop: For,
    order: list[Unit],
    one: tuple[Unit, str],
    other: tuple[Unit, str],
    buffer: Buffer,
    dom: Bounds,
) -> bool:
    """Whether uses of a cell keep their order where all first uses come before all second ones."""
    first, second = sorted((one, other), key=lambda side: order.index(side[0]))
    between = lags(loop.loop_var, first, second, buffer, dom)
    return between is not None and all(lag <= 0 for lag in between)


def _told(unit: Unit, buffer: Buffer) -> list[Expr]:
    return [index for cell, _ in unit.cells(buffer, "write") for index in cell]


def _written_together(loop: For, first: Unit, second: Unit, buffer: Buffer, dom: Bounds) -> bool:
    """Whether each cell that both write is proved to be written by both in one iteration."""
    parts = _branches(loop.body, first, second)
    for unit, one, other in zip((first, second), parts, parts[::-1], strict=False):
        if made_there(one, other, buffer, dom, kind="write") and apart(loop, unit, dom):
            return True
    between = lags(loop.loop_var, (first, "write"), (second, "write"), buffer, dom)
    return between is not None and between <= {0}


def feeds(stmt: Stmt, writer: Unit, reader: Unit, buffer: Buffer, dom: Bounds) -> bool:
    """Whether in `stmt` all that `reader` reads of `buffer` was written just before by `writer`.

    Looked at in the innermost statement that holds both, for fixed iterations of what is around.
    """
    parts = _branches(stmt, writer, reader)
    if not parts or not _holds(parts[0], writer.stmt):
        return False
    return made_there(parts[0], parts[1], buffer, dom)


def _branches(stmt: Stmt, a: Unit, b: Unit) -> list[Stmt]:
    """Where the ways to two units part: the statement with the one that runs first, and the other.

    Nothing where a choice parts them.
    """
    while True:
        parts = [s for s in inner(stmt) if _holds(s, a.stmt) or _holds(s, b.stmt)]
        if len(parts) > 1:
            return parts if isinstance(stmt, SeqStmt) else []
        stmt = parts[0]


def _holds(stmt: Stmt, target: Stmt) -> bool:
    return any(unit.stmt is target for unit in units(stmt))
