"""why: what a kernel loses its modelled time to, and what would be gained if each alone were ideal.

A fault is judged by the model itself: the time of the launches with that one thing at its best,
all else as it is. What is ideal is told with each, below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from workbench.check.kernels import extent_of
from workbench.insight.accesses import Access, Loop
from workbench.insight.compiled import OTHERS, VECTOR, compiled
from workbench.insight.demands import LINE, Demand, bytes_of, demands, statement_of
from workbench.insight.launched import Launch, us_text
from workbench.insight.modelled import NoTimeError, launches_of
from workbench.insight.occupancy import LAUNCH
from workbench.insight.page import Kind, Table
from workbench.insight.sectors import SECTOR
from workbench.insight.spread import neighbours
from workbench.insight.warp_requests import products
from workbench.insight.warps import lane_bytes
from workbench.insight.wavefronts import WARP
from workbench.ir import Buffer, For, Kernel, Var, free_vars, walk
from workbench.target import Target

TILE = 8  # cells of a thread down and across, for which each load of an operand can be used
LEAST = 0.01  # of the time: a fault that would gain less is not told


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that a kernel could do better, and `gain`, the µs of the modelled time without it.

    `name` is "coalescing", "conflicts", "reuse", "redundant", "registers", "launch", "idle lanes",
    "idle multiprocessors", "latency" or "instructions"; `statements` and `buffer` say where it is,
    () and "" for the whole kernel. `verb` would help, at `place`, a loop or buffer ("" where no one
    place says it), once the binds of the loops `undo` are undone.
    """

    name: str
    gain: float
    words: str
    verb: str
    place: str
    kernel: str
    statements: tuple[str, ...] = ()
    buffer: str = ""
    undo: tuple[str, ...] = ()

    @property
    def help(self) -> str:
        """What would help, in words: "undo the bind of j_0, then split j_0"; "" for nothing."""
        told = f"{self.verb} {self.place}".strip()
        binds = "bind" if len(self.undo) == 1 else "binds"
        return f"undo the {binds} of {' and '.join(self.undo)}, then {told}" if self.undo else told


@dataclass(frozen=True, slots=True)
class Why:
    """Where the modelled time of kernels goes: `faults` by what each alone would gain, most first.

    `us` is the time as it is, None where there is none; then `caption` says why.
    """

    target: str
    us: float | None
    faults: tuple[Fault, ...]
    caption: str
    table: Table
    kind: Kind = "modelled"


def why(kernels: Sequence[Kernel], target: Target, *, registers: Sequence[int | None] = ()) -> Why:
    """What `kernels` lose their `modelled` time on `target` to; `registers` are as there.

    Where starting a kernel takes longer than all that it does, nothing is ranked. There is no
    answer where there is no modelled time.
    """
    columns = ("fault", "µs gained", "why", "verb", "place")
    try:
        launches = launches_of(kernels, target, registers)
    except NoTimeError as error:
        return Why(target.name, None, (), f"No modelled time: {error}.", Table(columns, ()))
    us = sum(one.us for one in launches)
    if us < 2 * sum(one.rates.launch for one in launches) * 1e6:
        caption = f"Of {us_text(us)} most is the launch: no schedule makes it faster."
        return Why(target.name, us, (), caption, Table(columns, ()))
    found = (fault for one in launches for fault in _faults(one))
    told = (fault for fault in found if fault.gain > LEAST * us)
    faults = tuple(sorted(told, key=lambda fault: -fault.gain))
    rows = tuple((f.name, round(f.gain, 3), f.words, f.verb, f.place) for f in faults)
    return Why(target.name, us, faults, _caption(us, faults), Table(columns, rows))


def _caption(us: float, faults: Sequence[Fault]) -> str:
    if not faults:
        return f"Of {us_text(us)} nothing is lost that a single change would win back."
    first = faults[0]
    return f"{first.words}: without that {us_text(first.gain)} of {us_text(us)} less, modelled."


def _faults(one: Launch) -> Iterator[Fault]:
    """What `one` could do better, thing by thing."""
    for look in (
        _coalescing,
        _conflicts,
        _reuse_of_global,
        _reuse_of_shared,
        _redundant,
        _registers,
        _idle_multiprocessors,
        _idle_lanes,
        _launches,
        _latency,
        _instructions,
    ):
        yield from look(one)


def _fault(
    one: Launch,
    better: Launch,
    name: str,
    words: str,
    help_: _Help,
    *of: Access,
) -> Fault:
    statements = tuple(dict.fromkeys(map(statement_of, of)))
    buffer = of[0].buffer.name if of else ""
    gain = one.us - better.us
    verb, place, undo = help_
    return Fault(name, gain, words, verb, place, one.kernel.name, statements, buffer, undo)


class _Help(NamedTuple):
    """The verb that would help, where, and the loops whose binds are to be undone first."""

    verb: str
    place: str
    undo: tuple[str, ...] = ()


def _split_axis(one: Launch, role: str) -> _Help:
    """To cut what is shared out among blocks, or threads, in other parts."""
    bound = _axis(one, role)
    return _Help("split", bound, (bound,)) if bound else _Help("bind", "")


def _beside(access: Access) -> tuple[Loop | None, bool]:
    """The loop whose turns touch neighbours, and whether each turn stores a cell of its own."""
    var = neighbours(access)
    loop = next((loop for loop in access.loops if loop.var is var), None)
    indices = access.store.indices if access.store else ()
    return loop, loop is not None and any(loop.var in free_vars(index) for index in indices)


def _side_by_side(one: Launch, access: Access) -> _Help:
    """To let neighbouring threads touch neighbouring cells."""
    loop, own = _beside(access)
    lanes = _axis(one, "threadIdx.x")
    if loop is None or not own:
        others = (x for x in access.loops if x.role == "thread" and x.name != "threadIdx.x")
        for other in others:  # along which all lanes would load the same
            if other.var not in access.variables():
                return _Help("bind", other.var.name, (lanes, other.var.name))
        # turns of a sum: threads that copy a tile may lie along them
        return _Help("cache_write" if access.writes else "cache_read", access.buffer.name)
    if loop.name == "threadIdx.x":  # too short
        return _Help("split", lanes, (lanes,))
    name = loop.var.name
    bound = (lanes, name) if loop.role in ("block", "thread") else (lanes,)
    return _Help("bind", name, tuple(filter(None, bound)))


def _scaled(one: Launch, share: Callable[[Demand], float]) -> Launch:
    """`one` with such a share of each demand."""
    asked = tuple(replace(d, amount=d.amount * share(d)) for d in one.asked)
    return replace(one, asked=asked)


def _moves(one: Launch) -> dict[Access, Demand]:
    """The requests of each access to memory."""
    found: dict[Access, Demand] = {}
    for demand in one.asked:
        if demand.resource == "issue" and demand.access.buffer.scope != "local":
            found.setdefault(demand.access, demand)
    return found


def _wasteful(
    one: Launch, resource: str, told: Callable[[Launch, Sequence[Access]], str]
) -> Iterator[tuple[list[Access], Launch, str]]:
    """Where a statement asks more of a resource for a buffer than its bytes need.

    Each with `one` without that, and with what is `told` of it; what several statements have in
    common is one thing.
    """
    statements: dict[object, list[Access]] = {}
    for demand in one.asked:
        if demand.resource == resource and demand.amount > demand.least:
            access = demand.access
            statements.setdefault((access.store, access.buffer, access.writes), []).append(access)
    alike: dict[tuple[Buffer, str], list[Access]] = {}
    for group in statements.values():
        alike.setdefault((group[0].buffer, told(one, group)), []).extend(group)
    for (_, words), group in alike.items():
        asked = tuple(
            replace(d, amount=d.least) if d.resource == resource and d.access in group else d
            for d in one.asked
        )
        yield group, replace(one, asked=asked), words


def _each(one: Launch, group: Sequence[Access], resource: str) -> tuple[str, str]:
    """What a request of these accesses asks of a resource, as it is and at best."""
    requests = sum(_moves(one)[access].amount for access in group)
    mine = [d for d in demands(one.kernel) if d.resource == resource and d.access in group]
    sums = sum(d.amount for d in mine), sum(d.least for d in mine)
    unit = SECTOR if resource == "L2" else 1
    most, least = (f"{total / unit / requests:.3g}" for total in sums)
    return most, least


def _asks(one: Launch, access: Access) -> str:
    """Which load or store it is, and how wide where that is a compiler's doing."""
    words = f"A {'store' if access.writes else 'load'} of {access.buffer.name}"
    wide = lane_bytes(compiled(one.kernel).issued(access))
    return words if wide == lane_bytes(access) else f"{words}, compiled to {wide} bytes a lane,"


def _apart(one: Launch, group: Sequence[Access]) -> str:
    sectors, least = _each(one, group, "L2")
    asks = _asks(one, group[0])
    if sectors != least:
        return f"{asks} touches {sectors} sectors where {least} would do"
    lines, few = _each(one, group, "L1")  # the cache finds a line of four sectors at a time
    where = f"in {lines} lines of {LINE} bytes where {few} would do"
    return f"{asks} uses all of its {sectors} sectors, but {where}"


def _coalescing(one: Launch) -> Iterator[Fault]:
    """Ideal: the lanes of each request lie side by side."""
    for group, better, words in _wasteful(one, "L1", _apart):
        yield _fault(one, better, "coalescing", words, _side_by_side(one, group[0]), *group)


def _in_turn(one: Launch, group: Sequence[Access]) -> str:
    taken, least = _each(one, group, "shared")
    return f"{_asks(one, group[0])} takes {taken} wavefronts where {least} would do"


def _conflicts(one: Launch) -> Iterator[Fault]:
    """Ideal: the words of a request are in banks of their own."""
    for group, better, words in _wasteful(one, "shared", _in_turn):
        way = _Help("storage_align", group[0].buffer.name)
        yield _fault(one, better, "conflicts", words, way, *group)


def _reuse_of_global(one: Launch) -> Iterator[Fault]:
    """Ideal: a block's tile is large enough to use what is loaded `TILE` times, by each of two."""
    loads = [
        d
        for d in one.asked
        if d.resource == "L1" and not d.access.writes and d.access.buffer.scope == "global"
    ]
    yield from _reuse(one, loads, lambda buffer: _Help("cache_read", buffer))


def _reuse_of_shared(one: Launch) -> Iterator[Fault]:
    """Ideal: a thread has `TILE` x `TILE` cells, and keeps what it loads for a row of them."""
    loads = [d for d in one.asked if d.resource == "shared" and not d.access.writes]
    yield from _reuse(one, loads, lambda _: _split_axis(one, "thread"))


def _reuse(
    one: Launch, loads: Sequence[Demand], help_of: Callable[[str], _Help]
) -> Iterator[Fault]:
    moves = _moves(one)
    computed = sum(d.amount for d in one.asked if d.resource == "arithmetic")
    made = [d.access for d in loads if moves[d.access].amount]
    if not computed or not made or products(one.kernel):  # of tiles, numbers are used again
        return
    once = {access: min(_once(one, access), moves[access].amount) for access in made}
    enough = {a: max(computed / TILE, least) / moves[a].amount for a, least in once.items()}
    shares = {access: share for access, share in enough.items() if share < 1}
    if not shares:
        return
    lost = {d.access: d.amount * (1 - shares[d.access]) for d in loads if d.access in shares}
    most = max(lost, key=lost.__getitem__)
    again = 1 - once[most] / moves[most].amount
    words = (
        f"{again:.1%} of what is loaded of {most.buffer.name} was loaded before; loads for each "
        f"operation: {moves[most].amount / computed:.2g}"
    )
    better = _scaled(one, lambda demand: shares.get(demand.access, 1.0))
    yield _fault(one, better, "reuse", words, help_of(most.buffer.name), most)


def _once(one: Launch, load: Access) -> float:
    """The requests that load each cell once: of the array, or each time that a block fills it."""
    if load.buffer.scope == "global":
        return bytes_of(load.buffer) / LINE
    return sum(d.amount for a, d in _moves(one).items() if a.writes and a.buffer is load.buffer)


def _redundant(one: Launch) -> Iterator[Fault]:
    """Ideal: threads share out the cells that each of them stores."""
    for store in (d.access for d in one.asked if d.resource == "shared" and d.access.writes):
        used = store.variables()
        alike = prod(x.extent for x in store.loops if x.role == "thread" and x.var not in used)
        own = [x for x in store.loops if x.role == "serial" and x.var in used]
        if alike == 1 or not own:
            continue
        fewer, left = dict[Var, int](), alike
        for loop in reversed(own):
            fewer[loop.var] = min(loop.extent, left)
            left = -(-left // fewer[loop.var])
        better = replace(_scaled(one, _of_store(store, 1 / alike)), shorter=fewer)
        words = f"{alike} threads copy the same cells of {store.buffer.name}, each for itself"
        yield _fault(one, better, "redundant", words, _Help("bind", own[-1].var.name), store)


def _registers(one: Launch) -> Iterator[Fault]:
    """Ideal: what a thread has for itself is in registers."""
    made, moves = compiled(one.kernel), dict[tuple[Access, str], int]()
    for k, demand in enumerate(one.asked):  # of an access: its requests stand ahead of its work
        if demand.access.buffer in made.in_memory and demand.resource != "arithmetic":
            moves.setdefault((demand.access, demand.resource), k)
    groups: dict[Buffer | None, list[tuple[Access, int]]] = {}
    for (access, _), k in moves.items():
        whole = access.buffer in made.spilled  # one thing is too much, whichever has to go
        groups.setdefault(None if whole else access.buffer, []).append((access, k))
    for buffer, gone in groups.items():
        left, access = {k for _, k in gone}, gone[0][0]
        better = replace(one, asked=tuple(d for k, d in enumerate(one.asked) if k not in left))
        wants, has = made.words + OTHERS, made.registers
        words = f"A thread wants about {wants} registers and has {has}: "
        words += f"{made.share:.0%} of its numbers are in local memory"
        way = _split_axis(one, "thread")
        if buffer is not None:
            rolled = [x for x in access.loops if made.together.get(x.var, 1) < x.extent]
            counts = next((x for x in rolled if x.var in access.variables()), None)
            words = f"{buffer.name} is in local memory: a loop counts its cells, turn by turn"
            way = _Help("unroll", counts.name) if counts and counts.role == "serial" else way
        yield _fault(one, better, "registers", words, way, access)


def _of_store(access: Access, share: float) -> Callable[[Demand], float]:
    """Such a share of what the statement of a store asks for."""
    return lambda demand: share if demand.access.store is access.store else 1.0


def _idle_multiprocessors(one: Launch) -> Iterator[Fault]:
    """Ideal: blocks share their work out to all multiprocessors evenly."""
    blocks, sms = one.blocks, one.rates.sms
    last = blocks % sms
    if last:
        better = replace(one, even=True, waits=min(1.0, blocks / sms))
        words = f"{sms - blocks} of {sms} multiprocessors have no block"
        if blocks > sms:
            words = f"Of {blocks:,} blocks {sms - last} of {sms} multiprocessors do one less"
        yield _fault(one, better, "idle multiprocessors", words, _split_axis(one, "block"))


def _idle_lanes(one: Launch) -> Iterator[Fault]:
    """Ideal: every lane of a warp has a thread."""
    threads = prod(one.kernel.block)
    lanes = -(-threads // WARP) * WARP
    if threads < lanes:
        better = _scaled(one, lambda d: 1.0 if d.resource == "L2" else threads / lanes)
        whose = "a warp" if lanes == WARP else "a block's warps"
        words = f"{lanes - threads} of the {lanes} lanes of {whose} have no thread"
        yield _fault(one, better, "idle lanes", words, _split_axis(one, "thread"))


def _launches(one: Launch) -> Iterator[Fault]:
    """Ideal: no more blocks than there is room for at a time."""
    enough = max(one.occupancy.room[1], 1) * one.rates.sms
    if one.blocks > enough:
        better = replace(one, starts=enough / one.blocks)
        us = one.blocks * one.rates.block * 1e6
        words = f"{one.blocks:,} blocks take {us_text(us)} to start; {enough:,} fill the GPU"
        yield _fault(one, better, "launch", words, _split_axis(one, "block"))


def _latency(one: Launch) -> Iterator[Fault]:
    """Ideal: a warp finds every value there when it wants it."""
    full, limit = one.occupancy.fraction[1], one.occupancy.limited_by
    why = f"; {limit} are the limit"
    if limit == LAUNCH:
        why = "; the launch has too few blocks"
    elif limit == "registers":
        why += f", at {one.occupancy.registers[1]} a thread"
    words = (
        f"Warps wait for values, and of the warps that a multiprocessor can hold {full:.0%} are "
    )
    words += f"there{why if limit and full < 1 else ''}"
    made = compiled(one.kernel)
    loops = [node for node in walk(one.kernel.body) if isinstance(node, For)]
    waiting = [loop.loop_var.name for loop in loops if loop.loop_var in made.waiting]
    rolled = [x.loop_var.name for x in loops if made.together[x.loop_var] < extent_of(x)]
    way = _Help("pipeline", waiting[0]) if waiting else _Help("", "")
    if rolled and not waiting:
        way = _Help("unroll", rolled[-1])
    yield _fault(one, replace(one, waits=0.0), "latency", words, way)


def _instructions(one: Launch) -> Iterator[Fault]:
    """Ideal: what is loaded or stored comes 16 bytes at a time."""
    moves, made = _moves(one), compiled(one.kernel)
    moved = sum(demand.amount for demand in moves.values())
    total = sum(demand.amount for demand in one.asked if demand.resource == "issue")
    most = max(moves.values(), key=lambda demand: demand.amount).access
    less = {id(d): lane_bytes(made.issued(a)) / VECTOR for a, d in moves.items()}
    better = _scaled(one, lambda demand: less.get(id(demand), 1.0))
    words = f"{moved / total:.0%} of the instructions load or store, most often {most.buffer.name}"
    loop, own = _beside(most)
    if loop is None or not own:
        way = _Help("cache_read", most.buffer.name)
    elif loop.role in ("block", "thread"):  # a part of it stays with a thread
        way = _Help("split", loop.var.name, (loop.var.name,))
    else:
        way = _Help("vectorize", loop.var.name)
    yield _fault(one, better, "instructions", words, way, most)


def _axis(one: Launch, role: str) -> str:
    """The variable of the first axis of blocks, or of threads, "" if there is none."""
    return next((var.name for axis, var in one.kernel.axes if axis.startswith(role)), "")
