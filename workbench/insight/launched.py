"""launched: what one launch of a kernel takes of each resource of a GPU, in microseconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum, isclose, prod
from typing import Literal, NamedTuple, TypeAlias

from workbench.diag import count_text
from workbench.insight.accesses import Access, accesses
from workbench.insight.chain import Wait, chain
from workbench.insight.compiled import compiled
from workbench.insight.demands import Demand, bytes_of, demands, statement_of
from workbench.insight.from_l2 import from_l2
from workbench.insight.occupancy import Occupancy, occupancy
from workbench.insight.sectors import SECTOR
from workbench.insight.wavefronts import WARP
from workbench.ir import Buffer, Kernel, Node, Var
from workbench.lower.keep_values import keep_values
from workbench.lower.shared_memory import shared_bytes
from workbench.target import Target

Resource: TypeAlias = Literal[
    "launch", "issue", "arithmetic", "tensor", "L1", "shared", "L2", "device", "latency"
]
L2_PORT = 64  # bytes a clock that one multiprocessor has from L2 at most: two sectors, assumed
# Of the time of what is not the longest, that is not behind it: fits the lessons' recorded kernels.
UNHIDDEN = 0.2


@dataclass(frozen=True, slots=True)
class Part:
    """What one statement, as it stands in the kernel, has of a term, and for which buffer."""

    statement: str
    buffer: str
    us: float


class Share(NamedTuple):
    """How long a resource is busy with the loads of one buffer, or its stores, in microseconds."""

    buffer: str
    writes: bool
    us: float


@dataclass(frozen=True, slots=True)
class Term:
    """How long, in microseconds, one resource is busy with all that is asked of it.

    `parts` are sorted, the longest first; there are none where no statement makes the difference.
    `shares` tell loads of a buffer from its stores, also where only the longer way counts. `words`
    are why it takes so long, `much` what is asked of it in a few of them.
    """

    resource: Resource
    us: float
    much: str
    words: str
    parts: tuple[Part, ...] = ()
    shares: tuple[Share, ...] = ()


class Rates(NamedTuple):
    """What a target does at most in a second (`sms` and the bytes of `cache`: at all)."""

    sms: int
    clock: float
    schedulers: float  # instructions of warps that a multiprocessor issues in a clock
    operations: float  # and those of them that compute
    tensor: float  # multiply-adds of its matrix units in a clock, 0 where nobody knows
    l2: float
    device: float
    cache: int
    l1: int  # bytes of a multiprocessor, shared memory among them
    launch: float  # seconds of a launch, and of each block
    block: float
    shared_wait: float  # clocks to a value in shared memory, in L1, in L2, and beyond
    l1_wait: float
    l2_wait: float
    device_wait: float


def rates_of(target: Target) -> Rates | None:
    """The rates of `target`; None where one of them is not known."""
    sms, clock, peak = target.sm_count, target.clock_hz, target.peak_flops
    if not sms or not clock or not peak:
        return None
    found = (
        target.registers_parts,
        peak / (2 * WARP * clock * sms),
        (target.tensor_flops or 0.0) / (2 * clock * sms),
        target.l2_bandwidth,
        target.bandwidth,
        target.l2_bytes,
        target.l1_bytes,
        target.launch_seconds,
        target.block_seconds,
        target.shared_latency,
        target.l1_latency,
        target.l2_latency,
        target.device_latency,
    )
    known = [rate for rate in found if rate is not None]
    return Rates(sms, clock, *known) if len(known) == len(found) else None  # type: ignore[arg-type]


def launch(kernel: Kernel, target: Target, rates: Rates, registers: int | None) -> Launch:
    """A launch of `kernel`; where `registers` of a thread are not recorded, they are estimated.

    Raises UncountedError where data say what is touched, and Fail where sizes do.
    """
    kept = keep_values(kernel)
    full = occupancy(kernel, target, registers)
    if full is not None and full.registers[0] < full.registers[1]:
        full = occupancy(kernel, target, compiled(kept).registers)
    assert full is not None  # of a target whose rates are known
    room = max(full.room[1], 1)
    in_shared = room * (shared_bytes(kernel) + (target.shared_bytes_reserved or 0))
    asked = from_l2(kept, demands(kept), room, rates.sms, max(0, rates.l1 - in_shared))
    return Launch(kept, rates, full, asked)


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel on a target: its kernel as text has it, and what it asks for.

    What could be better is said by the rest: with `even` all multiprocessors have the same to do;
    `waits` leaves that share of what a warp alone takes, `starts` of the blocks to start; loops
    that are `shorter` have so many times fewer turns.
    """

    kernel: Kernel
    rates: Rates
    occupancy: Occupancy
    asked: tuple[Demand, ...]
    even: bool = False
    waits: float = 1.0
    starts: float = 1.0
    shorter: Mapping[Var, int] = field(default_factory=dict)
    _alone: dict[object, float] = field(default_factory=dict, repr=False)  # by what it depends on

    @cached_property
    def blocks(self) -> int:
        return prod(self.kernel.grid)

    @cached_property
    def bytes(self) -> int:
        """Of all arrays in global memory."""
        return sum(
            map(bytes_of, {a.buffer for a in accesses(self.kernel) if a.buffer.scope == "global"})
        )

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What each resource has to do."""
        on = f"on {count_text(min(self.blocks, self.rates.sms), 'multiprocessor')}"
        schedulers, operations = self.rates.schedulers, self.rates.operations
        return (
            self._launch(),
            self._of_sm("issue", schedulers, "instructions", f"of warps, {{}} a clock {on}"),
            self._of_sm("arithmetic", operations, "operations", f"of warps, {{}} a clock {on}"),
            self._of_sm(
                "tensor",
                self.rates.tensor,
                "multiply-adds",
                f"of matrix units, {{}} a clock {on}",
            ),
            self._of_sm("L1", 1, "lines", f"of the L1 cache, {{}} a clock {on}"),
            self._of_sm("shared", 1, "wavefronts", f"of shared memory, {{}} a clock {on}"),
            self._l2(),
            self._device(),
            self._latency(),
        )

    @property
    def us(self) -> float:
        """The time of the launch: the longest term, and what of the others is not behind it.

        The L1 cache and shared memory are one memory, which does one thing at a time.
        """
        each = {term.resource: term.us for term in self.terms}
        first = self.rates.launch * 1e6
        each["launch"] -= first
        each["shared"] += each.pop("L1")
        longest = max(each.values())
        return first + longest + UNHIDDEN * (fsum(each.values()) - longest)

    def _launch(self) -> Term:
        us = (self.rates.launch + self.starts * self.blocks * self.rates.block) * 1e6
        much = count_text(self.blocks, "block")
        return Term("launch", us, much, f"{much} start in {us_text(us)}")

    def _of_sm(self, resource: Resource, each_clock: float, what: str, words: str) -> Term:
        """A part of each multiprocessor, which the one with the most blocks needs longest."""
        sms = self.rates.sms
        busiest = 1 / sms if self.even else -(-self.blocks // sms) / self.blocks
        us = 1e6 * busiest / max(each_clock, 1) / self.rates.clock
        return self._shared_out(resource, us, what, words.format(f"{each_clock:.3g}"))

    def _l2(self) -> Term:
        """Loads and stores go their own ways, at the same time."""
        rates = self.rates
        speed = min(rates.l2, min(self.blocks, rates.sms) * L2_PORT * rates.clock)
        stored, loaded = (
            fsum(d.amount for d in self.asked if d.resource == "L2" and d.access.writes == writes)
            for writes in (True, False)
        )
        more = stored > loaded and not isclose(stored, loaded)  # loads are a sum of shares
        words = f"{'to' if more else 'from'} L2 at {speed / 1e12:.3g} TB/s"
        return self._shared_out("L2", 1e6 / speed, "bytes", words, writes=more)

    def _shared_out(
        self, resource: Resource, us: float, what: str, words: str, *, writes: bool | None = None
    ) -> Term:
        """The term of a resource that takes so many `us` for each of what is asked of it.

        Only by what `writes`, or does not, where that is said.
        """
        mine = [d for d in self.asked if d.resource == resource]
        shares = together(Share(d.access.buffer.name, d.access.writes, d.amount * us) for d in mine)
        if writes is not None:
            mine = [d for d in mine if d.access.writes == writes]
        parts = _parts((d.access, d.amount * us) for d in mine)
        amount = fsum(d.amount for d in mine)
        much = f"{short(amount)} {what}"
        return Term(resource, amount * us, much, f"{much} {words}", parts, shares)

    def _device(self) -> Term:
        much = f"{short(self.bytes)} bytes"
        if self.bytes <= self.rates.cache:
            there = f"{much} in L2"
            return Term("device", 0.0, there, f"{there}, where they stay from run to run")
        speed = self.rates.device
        words = f"{much}, each once, at {speed / 1e12:.3g} TB/s"
        stored: dict[Buffer, bool] = {}  # and not loaded
        for access in accesses(self.kernel):
            if access.buffer.scope == "global":
                stored[access.buffer] = stored.get(access.buffer, True) and access.writes
        shares = (Share(b.name, way, bytes_of(b) / speed * 1e6) for b, way in stored.items())
        return Term("device", self.bytes / speed * 1e6, much, words, shares=tuple(shares))

    def _latency(self) -> Term:
        """What a warp waits for by itself, as often as blocks come one after the other."""
        rates = self.rates
        waits = self._waits()
        told = (*waits.values(), *self.shorter.items())
        if told not in self._alone:  # as what is better differs, most often in something else
            self._alone[told] = chain(self.kernel, waits, self.shorter)
        alone = self._alone[told]
        room = max(self.occupancy.room[1], 1)
        waves = max(1.0, -(-self.blocks // rates.sms) / room)  # a place that is free is taken anew
        us = self.waits * waves * alone / rates.clock * 1e6
        much = f"{self.occupancy.fraction[1]:.0%} of the warps"
        times = f", {waves:.3g} times one after the other" if waves > 1 else ""
        alone_us = us_text(us / waves)
        words = f"a warp alone takes {alone_us}{times}; there are {much} that there is room for"
        return Term("latency", us, much, words)

    def _waits(self) -> dict[Node, Wait]:
        """What a warp waits for each of its loads of memory."""
        rates, found = self.rates, dict[Node, Wait]()
        amounts: dict[tuple[Access, str], float] = {}
        for demand in self.asked:
            key = demand.access, demand.resource
            amounts[key] = amounts.get(key, 0.0) + demand.amount
        warps = self.blocks * -(-prod(self.kernel.block) // WARP)
        loads = (demand.access for demand in self.asked if not demand.access.writes)
        for load in dict.fromkeys(loads):
            shared = load.buffer.scope == "shared"
            requests = max(amounts[load, "issue"], 1.0)
            queue = max(amounts[load, "shared" if shared else "L1"] / requests - 1, 0.0)
            if shared:
                found[load.node] = Wait(rates.shared_wait + queue)
                continue
            turns = prod(x.extent for x in load.loops if x.role not in ("block", "thread"))
            missed = min(1.0, amounts.get((load, "L2"), 0.0) / SECTOR / (warps * turns))
            more = (
                (missed, rates.l2_wait - rates.l1_wait),
                (missed * self._beyond(load.buffer), rates.device_wait - rates.l2_wait),
            )
            found[load.node] = Wait(rates.l1_wait + queue, more)
        return found

    def _beyond(self, buffer: Buffer) -> float:
        """The share of what is asked of L2 that it has not: each byte once, if all are too many."""
        if self.bytes <= self.rates.cache:
            return 0.0
        loads = (d for d in self.asked if d.resource == "L2" and not d.access.writes)
        asked = fsum(demand.amount for demand in loads if demand.access.buffer is buffer)
        return min(1.0, bytes_of(buffer) / max(asked, 1.0))


def _parts(shares: Iterable[tuple[Access, float]]) -> tuple[Part, ...]:
    """What each statement that asks for any has for each buffer, the longest first."""
    total: dict[tuple[str, str], float] = {}
    for access, us in shares:
        key = statement_of(access), access.buffer.name
        total[key] = total.get(key, 0.0) + us
    parts = [Part(statement, buffer, us) for (statement, buffer), us in total.items() if us]
    return tuple(sorted(parts, key=lambda part: -part.us))


def together(shares: Iterable[Share]) -> tuple[Share, ...]:
    """The same buffer and way once."""
    total: dict[tuple[str, bool], float] = {}
    for buffer, writes, us in shares:
        total[buffer, writes] = total.get((buffer, writes), 0.0) + us
    return tuple(Share(buffer, writes, us) for (buffer, writes), us in total.items())


def us_text(us: float) -> str:
    return f"{us:.3g} µs" if us < 999.5 else f"{us:,.0f} µs"


def short(number: float) -> str:
    """A large number in short: "25.2 M"."""
    for size, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{name}"
    return f"{number:.3g}"
