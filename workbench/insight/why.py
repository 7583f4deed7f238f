"""why: what a kernel loses its modelled time to, and what would be gained if each alone were ideal.

A fault is judged by the model itself: the time of the launches with that one thing at its best,
all else as it is. What is ideal is told with each, below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from workbench.check.kernels import extent_of
from workbench.insight.accesses import Access
from workbench.insight.compiled import VECTOR, compiled
from workbench.insight.demands import LINE, Demand, bytes_of, statement_of
from workbench.insight.launched import Launch, us_text
from workbench.insight.modelled import NoTimeError, launches_of
from workbench.insight.page import Kind, Table
from workbench.insight.spread import neighbours
from workbench.insight.warps import lane_bytes
from workbench.insight.wavefronts import WARP
from workbench.ir import For, Kernel, Var, walk
from workbench.target import Target

TILE = 8  # cells of a thread down and across, for which each load of an operand can be used
LEAST = 0.01  # of the time: a fault that would gain less is not told


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that a kernel could do better, and `gain`, the µs of the modelled time without it.

    `name` is "coalescing", "conflicts", "reuse", "redundant", "launch", "idle lanes", "idle
    multiprocessors", "latency" or "instructions"; `statement` and `buffer` say where it is, "" for
    the whole kernel. `verb` would help, at `place`, a loop or buffer ("" where no one place says
    it).
    """

    name: str
    gain: float
    words: str
    verb: str
    place: str
    kernel: str
    statement: str = ""
    buffer: str = ""


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


def why(kernels: Sequence[Kernel], target: Target, *, registers: int | None = None) -> Why:
    """What `kernels` lose their `modelled` time on `target` to.

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
    return f"{first.words}: {us_text(first.gain)} of {us_text(us)}."


def _faults(one: Launch) -> Iterator[Fault]:
    """What `one` could do better, thing by thing."""
    for look in (
        _coalescing,
        _conflicts,
        _reuse_of_global,
        _reuse_of_shared,
        _redundant,
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
    verb: str,
    place: str,
    access: Access | None = None,
) -> Fault:
    statement = statement_of(access) if access else ""
    buffer = access.buffer.name if access else ""
    gain = one.us - better.us
    return Fault(name, gain, words, verb, place, one.kernel.name, statement, buffer)


def _scaled(one: Launch, share: Callable[[Demand], float]) -> Launch:
    """`one` with such a share of each demand."""
    asked = tuple(replace(d, amount=d.amount * share(d)) for d in one.asked)
    return replace(one, asked=asked)


def _requests(one: Launch, access: Access) -> float:
    """The requests of an access to memory."""
    return next(d.amount for d in one.asked if d.access is access and d.resource == "issue")


def _wasteful(one: Launch, resource: str) -> Iterator[tuple[Demand, Launch, float]]:
    """What takes more turns than its bytes need, `one` without that, and the requests."""
    for demand in one.asked:
        if demand.resource == resource and demand.amount > demand.least:
            asked = tuple(replace(d, amount=d.least) if d is demand else d for d in one.asked)
            yield demand, replace(one, asked=asked), _requests(one, demand.access)


def _coalescing(one: Launch) -> Iterator[Fault]:
    """Ideal: the lanes of each request lie side by side."""
    for demand, better, requests in _wasteful(one, "L1"):
        access = demand.access
        verb = "store" if access.writes else "load"
        words = (
            f"A {verb} of {access.buffer.name} touches {demand.amount / requests:.3g} lines of "
            f"128 bytes where {demand.least / requests:.3g} would do"
        )
        yield _fault(one, better, "coalescing", words, "bind", neighbours(access), access)


def _conflicts(one: Launch) -> Iterator[Fault]:
    """Ideal: every request is served by as many banks as it needs words."""
    for demand, better, requests in _wasteful(one, "shared"):
        access = demand.access
        verb = "store" if access.writes else "load"
        words = (
            f"A {verb} of {access.buffer.name} takes {demand.amount / requests:.3g} turns of the "
            f"banks where {demand.least / requests:.3g} would do"
        )
        place = access.buffer.name
        yield _fault(one, better, "conflicts", words, "storage_align", place, access)


def _reuse_of_global(one: Launch) -> Iterator[Fault]:
    """Ideal: a block's tile is large enough to use what is loaded `TILE` times, by each of two."""
    loads = [d for d in one.asked if d.resource == "L1" and not d.access.writes]
    yield from _reuse(one, loads, "cache_read")


def _reuse_of_shared(one: Launch) -> Iterator[Fault]:
    """Ideal: a thread has `TILE` x `TILE` cells, and keeps what it loads for a row of them."""
    loads = [d for d in one.asked if d.resource == "shared" and not d.access.writes]
    yield from _reuse(one, loads, "split")


def _reuse(one: Launch, loads: Sequence[Demand], verb: str) -> Iterator[Fault]:
    computed = sum(d.amount for d in one.asked if d.resource == "arithmetic")
    shares: dict[Access, float] = {}
    for demand in loads:
        requests = _requests(one, demand.access)
        enough = max(computed / TILE, _once(one, demand.access))
        shares[demand.access] = min(1.0, enough / requests)
    if not shares or min(shares.values()) == 1:
        return
    better = _scaled(one, lambda d: shares.get(d.access, 1.0))
    most = max(loads, key=lambda d: d.amount * (1 - shares[d.access])).access
    again = 1 - min(1.0, _once(one, most) / _requests(one, most))
    where = "shared memory" if most.buffer.scope == "shared" else "global memory"
    words = (
        f"{again:.0%} of what is loaded of {most.buffer.name} from {where} was loaded before, "
        f"{_requests(one, most) / computed:.2g} loads for each operation"
    )
    threads = [loop.var.name for loop in most.loops if loop.role == "thread"]
    place = most.buffer.name if verb == "cache_read" else (threads or [""])[0]
    yield _fault(one, better, "reuse", words, verb, place, most)


def _once(one: Launch, access: Access) -> float:
    """The requests that load each cell once: of the array, or as often as a block fills it."""
    if access.buffer.scope == "shared":
        return sum(
            d.amount
            for d in one.asked
            if d.resource == "issue" and d.access.buffer is access.buffer and d.access.writes
        )
    return bytes_of(access.buffer) / LINE


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
        yield _fault(one, better, "redundant", words, "bind", own[-1].var.name, store)


def _of_store(access: Access, share: float) -> Callable[[Demand], float]:
    """Such a share of what the statement of a store asks for."""
    return lambda demand: share if demand.access.store is access.store else 1.0


def _idle_multiprocessors(one: Launch) -> Iterator[Fault]:
    """Ideal: blocks share their work out to all multiprocessors evenly."""
    blocks, sms = one.blocks, one.rates.sms
    last = blocks % sms
    if last:
        better = replace(one, even=True, waits=min(1.0, blocks / sms))
        some = (
            f"of {blocks:,} blocks the last {last} leave {sms - last} of {sms} multiprocessors idle"
        )
        few = f"{blocks} blocks leave {sms - blocks} of {sms} multiprocessors idle"
        words = few if blocks < sms else some
        yield _fault(one, better, "idle multiprocessors", words, "split", _axis(one, "block"))


def _idle_lanes(one: Launch) -> Iterator[Fault]:
    """Ideal: every lane of a warp has a thread."""
    threads = prod(one.kernel.block)
    lanes = -(-threads // WARP) * WARP
    if threads < lanes:
        better = _scaled(one, lambda d: 1.0 if d.resource == "L2" else threads / lanes)
        words = f"{lanes - threads} of the {lanes} lanes of a block have no thread"
        yield _fault(one, better, "idle lanes", words, "split", _axis(one, "thread"))


def _launches(one: Launch) -> Iterator[Fault]:
    """Ideal: no more blocks than there is room for at a time."""
    enough = max(one.occupancy.room[1], 1) * one.rates.sms
    if one.blocks > enough:
        better = replace(one, starts=enough / one.blocks)
        us = one.blocks * one.rates.block * 1e6
        words = f"{one.blocks:,} blocks take {us_text(us)} to start; {enough:,} fill the GPU"
        yield _fault(one, better, "launch", words, "split", _axis(one, "block"))


def _latency(one: Launch) -> Iterator[Fault]:
    """Ideal: a warp finds every value there when it wants it."""
    full, limit = one.occupancy.fraction[1], one.occupancy.limited_by
    why = f", limited by {limit}" if limit else ""
    words = f"{full:.0%} of the warps that there is room for are there{why}, too few to wait less"
    better = replace(one, waits=0.0)
    made = compiled(one.kernel)
    waiting = [var.name for var in made.waiting]
    verb = "pipeline" if waiting else "unroll"
    rolled = [
        loop.loop_var.name
        for loop in walk(one.kernel.body)
        if isinstance(loop, For) and made.together[loop.loop_var] < extent_of(loop)
    ]
    place = waiting[0] if waiting else (rolled or [""])[-1]
    yield _fault(one, better, "latency", words, verb, place)


def _instructions(one: Launch) -> Iterator[Fault]:
    """Ideal: what is loaded or stored comes 16 bytes at a time."""
    issued = [d for d in one.asked if d.resource == "issue"]
    widths = {d.access: lane_bytes(compiled(one.kernel).issued(d.access)) / VECTOR for d in issued}
    moves = {id(d) for d in issued if d.amount == _requests(one, d.access)}
    better = _scaled(one, lambda d: widths[d.access] if id(d) in moves else 1.0)
    moved = sum(d.amount for d in issued if id(d) in moves)
    total = sum(d.amount for d in issued)
    if not moved:
        return
    most = max((d for d in issued if id(d) in moves), key=lambda d: d.amount).access
    words = (
        f"{moved / total:.0%} of the instructions load or store, most of them {most.buffer.name}"
    )
    yield _fault(one, better, "instructions", words, "vectorize", neighbours(most), most)


def _axis(one: Launch, role: str) -> str:
    """The variable of the first axis of blocks, or of threads."""
    return next((var.name for axis, var in one.kernel.axes if axis.startswith(role)), "")
