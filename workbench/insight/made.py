"""made: the requests that a compiler makes of a kernel's loads and stores: from, to, most likely.

A compiler keeps values and joins requests. At most it makes those of the text that it gets, which
keeps values already (`lower/keep_values.py`). At least each thread asks once for what its loops
repeat, and for up to 16 bytes at a time where cells of shared memory lie side by side; what threads
wrote to global memory themselves they need not read at all. (Of global memory nvcc joins nothing:
it knows of no array that it starts at a multiple of 16 bytes.) In between lies what nvcc is taken
to make: see `compiled`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from workbench import script
from workbench.emulate.kernels.affine import Atom, Digit, Digits, never_meets
from workbench.insight.accesses import Access, kind_of
from workbench.insight.compiled import VECTOR, Compiled, compiled
from workbench.insight.issued import issued
from workbench.insight.kinds import UnknownError, kinds_of_requests
from workbench.insight.sectors import sectors
from workbench.insight.warp_requests import requested
from workbench.insight.warps import IDLE, lane_bytes, text_of
from workbench.insight.wavefronts import PAST_L1, WARP, copied, wavefronts
from workbench.ir import Buffer, BufferLoad, Kernel, Var, const, free_vars, once, substitute

UNITS = {"global": "sectors", "shared": "wavefronts"}
"""What requests to each memory take."""


class Span(NamedTuple):
    """A count as a compiler may have it: at least, most likely, at most."""

    low: int
    likely: int
    high: int


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What nvcc is taken to make of an access of a kernel's text to memory.

    Requests of warps, the alike together: `table` has a row of 32 byte addresses for each, `times`
    how often it is made, `turns` how many sectors or wavefronts it takes; a lane moves `width`
    bytes. `is_known` is False where data say what is touched, or there is too much to look at.
    """

    access: Access
    table: Any
    times: Any
    turns: Any
    width: int
    is_known: bool = True

    @property
    def requests(self) -> float:
        """How many there are."""
        return float(self.times.sum())

    @property
    def taken(self) -> float:
        """The sectors, or wavefronts, that all of them take."""
        return float((self.turns * self.times).sum())


@once
def made(kernel: Kernel) -> tuple[Made, ...]:
    """What nvcc is taken to make of each access to memory of a kernel's text, in order.

    What it finds in a register is left out. Raises Fail where sizes say what is touched.
    """
    by_nvcc, every = compiled(kernel), requested(kernel)
    held = _held(every, by_nvcc)
    far = [
        access
        for access in every
        if (access.buffer.scope in UNITS or access.buffer in by_nvcc.in_memory)
        and access not in held
    ]
    stored = {access.buffer for access in far if access.writes and access.buffer.scope == "global"}
    again = stored | by_nvcc.spilled.keys()
    kept = [a for a in far if a.buffer.scope == "shared" or a.buffer not in again]
    shares = by_nvcc.shares(access for access in kept if not access.writes)
    shares |= {access: by_nvcc.share for access in far if access.buffer in by_nvcc.spilled}
    found = [_made(kernel, by_nvcc, access, shares.get(access, 1.0)) for access in far]
    return tuple(map(_copied, [None, *found], found))


def _made(kernel: Kernel, by_nvcc: Compiled, access: Access, share: float) -> Made:
    """The requests of `access` that are left, in such a share of the turns of these."""
    issued = by_nvcc.issued(access)
    width, nothing = lane_bytes(issued), np.zeros(0, np.int64)
    try:
        table, times = kinds_of_requests(kernel, issued)
    except UnknownError:
        return Made(access, nothing, nothing, nothing, width, is_known=False)
    if access.buffer.scope == "local":
        table = in_turn(table, width)
    return Made(access, table, times * share, turns_of(access, table, width), width)


def _copied(load: Made | None, one: Made) -> Made:
    """A store that copies asynchronously, behind its `load`, with the wavefronts that it takes.

    The requests of both are alike, or the most are taken for all.
    """
    store = one.access.store
    if load is None or not one.access.writes or store is None or not store.is_async:
        return one
    if not (load.is_known and one.is_known and len(load.table) and len(one.table)):
        return one
    rows = max(len(load.table), len(one.table))
    at, to = (np.resize(table, (rows, WARP)) for table in (load.table, one.table))
    most = copied(at, to, one.width).max()
    return replace(one, turns=np.full(len(one.table), most))


def in_turn(table: Any, width: int) -> Any:
    """Addresses in local memory, where cells of one number lie side by side, lane by lane."""
    return np.where(table == IDLE, IDLE, (table // width * WARP + np.arange(WARP)) * width)


def turns_of(access: Access, table: Any, width: int) -> Any:
    """For each request of an access how many sectors, or wavefronts, it takes."""
    if access.buffer.scope != "shared":
        return sectors(table, width)
    return wavefronts(table, width, writes=access.writes)


def _held(every: Sequence[Access], by_nvcc: Compiled) -> set[Access]:
    """The loads of a sum that a thread has started itself: it is in a register from then on."""
    started: dict[Buffer, int] = {}
    for access in every:
        if access.writes:
            started[access.buffer] = started.get(access.buffer, 0) + 1
    return {
        load
        for load in every
        if load.store is not None
        and not load.writes
        and load.buffer not in by_nvcc.in_memory
        and load.store.buffer is load.buffer
        and started[load.buffer] > 1
        and text_of(load) == script.expr_text(BufferLoad(load.buffer, load.store.indices))
        and by_nvcc.waiting.isdisjoint(loop.var for loop in load.loops)
    }


# --- from, to ------------------------------------------------------------------------------------


@once
def spans(kernel: Kernel) -> Mapping[tuple[str, str, str], Span]:
    """Requests of a kernel's text and what they take, by memory, "read" or "write", and unit.

    What is not known of an access, as in `issued`, is in none of them.
    """
    likely, least = dict[tuple[str, str, str], float](), _least(kernel)
    for one in (one for one in made(kernel) if one.access.buffer.scope in UNITS):
        scope, kind = one.access.buffer.scope, kind_of(one.access)
        for unit, number in (("requests", one.requests), (UNITS[scope], one.taken)):
            likely[scope, kind, unit] = likely.get((scope, kind, unit), 0.0) + number
    found: dict[tuple[str, str, str], Span] = {}
    apart = sum(map(_alone, made(kernel)))
    for of in issued([kernel]).totals:
        for unit in ("requests", UNITS[of.scope]):
            key = of.scope, of.access, unit
            low, high = least[key], getattr(of, unit)
            if key == ("global", "read", "sectors"):
                high += apart
            if key == ("shared", "write", "wavefronts"):  # asynchronous copies take more
                high = max(high, round(likely.get(key, 0.0)))
            # what nvcc is taken to make is a guess, the ends are not
            found[key] = Span(low, min(max(round(likely.get(key, 0.0)), low), high), high)
    return found


def _alone(one: Made) -> int:
    """The sectors that come twice at most by an asynchronous copy of 16 bytes a lane.

    Where the halves of a sector go to places that do not make up one, an H100 fetches it for each.
    """
    store = one.access.store
    if store is None or not store.is_async or one.access.writes or one.width < PAST_L1:
        return 0
    return int((((one.table != IDLE).sum(axis=1) - one.turns) * one.times).clip(0).sum())


@once
def _least(kernel: Kernel) -> Mapping[tuple[str, str, str], int]:
    """What a compiler cannot save of a kernel's text, by memory, access and unit.

    Of several reads of one buffer, or writes, one may bring what all the others want.
    """
    groups: dict[tuple[Buffer, bool], list[Access]] = defaultdict(list)
    for access in requested(kernel):
        if access.buffer.scope in UNITS:
            groups[access.buffer, access.writes].append(access)
    found = Counter[tuple[str, str, str]]()
    for (buffer, writes), alike in groups.items():
        if buffer.scope == "global" and not writes and (buffer, True) in groups:
            continue
        fewest = [_fewest(kernel, access, others=len(alike) > 1) for access in alike]
        for unit in ("requests", UNITS[buffer.scope]):
            found[buffer.scope, kind_of(alike[0]), unit] += max(each[unit] for each in fewest)
    return found


def _fewest(kernel: Kernel, access: Access, *, others: bool) -> dict[str, int]:
    """The fewest requests that bring all that threads want by an access, and what they take.

    Loops in whose turns a thread may want what it had stay at their first: those that do not say
    which cell it is, or, with longer ones, say it twice. What others write to shared memory while a
    thread waits it has to read again. Cells of shared memory that lie side by side, in turns or
    with `others`, may come together.
    """
    digits = Digits({loop.var: loop.extent for loop in access.loops}, {})
    digits.cut_for(access.indices[:1])
    form = digits.form(access.indices[0])
    unclear = {var for e, _ in form.rest for var in free_vars(e)}
    shared, waiting = access.buffer.scope == "shared", compiled(kernel).waiting
    telling, stay = dict[Atom, int](), set[Var]()
    for loop in sorted(access.loops, key=lambda loop: -loop.extent):
        own: dict[Atom, int] = {
            d: n for d, n in form.terms.items() if isinstance(d, Digit) and d.var is loop.var
        }
        if loop.role in ("block", "thread") or (shared and loop.var in waiting):
            continue
        if own and loop.var not in unclear and never_meets(telling | own):
            telling |= own
        else:
            stay.add(loop.var)
    asked = _at_first(access, stay)
    try:
        table, times = kinds_of_requests(kernel, asked)
    except UnknownError:
        return {"requests": 0, UNITS[access.buffer.scope]: 0}
    width = lane_bytes(access)
    joined = shared and (others or unclear or 1 in map(abs, telling.values()))
    together = VECTOR // width if joined else 1
    taken = turns_of(access, table, width) * times
    numbers = {"requests": times, UNITS[access.buffer.scope]: taken}
    return {unit: -(-int(number.sum()) // together) for unit, number in numbers.items()}


def _at_first(access: Access, stay: Set[Var]) -> Access:
    """`access` with the loops of these variables in their first turn."""
    zero = {var: const(0, var.type) for var in stay}
    return replace(
        access,
        indices=tuple(substitute(e, zero) for e in access.indices),
        guards=tuple(substitute(e, zero) for e in access.guards),
        loops=tuple(loop for loop in access.loops if loop.var not in stay),
    )
