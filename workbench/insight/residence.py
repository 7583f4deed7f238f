"""residence: which blocks of a launch run at a time, on which multiprocessor, in modelled time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from workbench.diag import count_text
from workbench.insight.accesses import accesses
from workbench.insight.cells import executions
from workbench.insight.compiled import compiled
from workbench.insight.handed_out import HandedOut, handed_out
from workbench.insight.launched import Launch, us_text
from workbench.insight.modelled import Modelled
from workbench.insight.occupancy import Occupancy, Span, occupancy
from workbench.insight.page import Kind, Table
from workbench.insight.track import Dim, Sort, Spans, Track
from workbench.ir import Kernel, Var, free_vars
from workbench.lower.keep_values import keep_values
from workbench.target import Target

LOOKED_AT = 1 << 8  # blocks of which it is asked one by one whether they do anything: 1 ms each
WAVES = "waves"
NOW = "heat-6"
BLOCK = ("block-0", "block-1")
MODELLED = (
    "order, places and times of blocks: here they start strictly in the order of their numbers, "
    "which no GPU promises"
)


@dataclass(frozen=True, slots=True)
class Residence:
    """The blocks of launches, one after the other, in the places that a target has for them.

    `room` are places of a multiprocessor, the least and the most where registers are not known;
    `track` has the most, as far as registers are estimated. `placed` blocks of the launch that
    takes longest run at once at most, in `places`; in its last wave there are `tail`, 0 where that
    is full or the only one. `fraction` is warps that are there over the most that there can be.
    `us` is the modelled time of all launches; None where it is not known, or not asked for: then
    the track counts waves, in each of which every place has one block.
    """

    target: str
    blocks: int
    room: Span
    places: int
    placed: int
    tail: int
    fraction: float
    us: float | None
    track: Track
    caption: str
    table: Table
    kind: Kind = "modelled"


@dataclass(frozen=True, slots=True)
class _Launched:
    """A kernel's launch: how full it is with its registers estimated, and told; how long it takes.

    `lead` are the µs until its first block runs.
    """

    kernel: Kernel
    full: Occupancy
    known: Span
    us: float | None
    lead: float

    @property
    def room(self) -> int:
        return max(self.full.room[1], 1)

    @property
    def waves(self) -> int:
        return -(-self.full.blocks // (self.full.multiprocessors * self.room))


def residence(
    kernels: Sequence[Kernel],
    target: Target,
    *,
    registers: Sequence[int | None] = (),
    time: Modelled | None = None,
) -> Residence | None:
    """Where and when the blocks of `kernels` run on `target`; None where nobody knows its places.

    `registers` are those of a thread of each kernel as a compiler tells them; else they are those
    recorded, or estimated. `time` is the modelled time of these kernels, where there is one. Raises
    Fail for kernels of any size.
    """
    told = [*registers, *[None] * len(kernels)][: len(kernels)]
    full = [occupancy(kernel, target, n) for kernel, n in zip(kernels, told, strict=True)]
    if not kernels or not target.sm_count or any(one is None for one in full):
        return None
    launches = time.launches if time is not None else ()
    found = [
        _launched(kernel, one, target, launches[k] if launches else None)
        for k, (kernel, one) in enumerate(zip(kernels, full, strict=True))
        if one is not None
    ]
    return _residence(found, target)


def _launched(kernel: Kernel, known: Occupancy, target: Target, launch: Launch | None) -> _Launched:
    full = known
    if launch is not None:
        full = launch.occupancy
    elif known.registers[0] < known.registers[1]:
        full = occupancy(kernel, target, compiled(keep_values(kernel)).registers) or known
    us = None if launch is None else launch.us
    lead = 0.0 if launch is None else launch.rates.launch * 1e6
    return _Launched(kernel, full, known.room, us, lead)


def _residence(found: Sequence[_Launched], target: Target) -> Residence:
    track, alike = _track(found, target)
    most = max(found, key=lambda one: (one.us or 0.0, one.waves))
    full = most.full
    places = full.multiprocessors * most.room
    tail = full.blocks % places if most.waves > 1 else 0
    placed = min(full.blocks, places)
    us = sum(one.us for one in found if one.us is not None) if found[0].us is not None else None
    about = "about " if most.known[0] < most.known[1] else ""  # registers are estimated
    words = [
        f"{placed:,} of {about}{places:,} places",
        f"tail {count_text(tail, 'block')}" if tail else "tail none",
        f"{_at_most(most)}{_percent(full.fraction[1])} of warps",
    ]
    said = _caption(most, target, us, alike)
    return Residence(
        target.name, full.blocks, most.known, places, placed, tail, full.fraction[1], us, track,
        f"{' · '.join(words)}\n{said}", _table(found, target),
    )  # fmt: skip


def _at_most(most: _Launched) -> str:
    """What stands before the share of warps: with more registers than estimated it is less."""
    least, known = most.known
    there = most.full.blocks / most.full.multiprocessors
    return "up to " if least < min(known, there) else ""


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2g}%" if fraction < 0.01 else f"{fraction:.0%}"


def _caption(most: _Launched, target: Target, us: float | None, alike: bool) -> str:
    low, high = most.known
    room = f"room for {count_text(most.room, 'block')}"
    if low < high:
        room += f" by an estimate, for {low} to {high} as long as no compiler tells registers"
    time = f"{us_text(us)} in all" if us is not None else "time in waves"
    mean = "; blocks take what they do on average" if alike else ""
    return (
        f"{target.title}: {most.full.multiprocessors} multiprocessors, {room}; {time}{mean}. "
        f"Modelled are {MODELLED}."
    )


def _table(found: Sequence[_Launched], target: Target) -> Table:
    """What the waves of each launch are."""
    columns = ("kernel", "blocks", "places", "waves", "blocks in the last wave", "µs of a wave")
    rows = []
    for one in found:
        places, blocks = one.room * one.full.multiprocessors, one.full.blocks
        last = blocks - (one.waves - 1) * places
        wave = "not modelled" if one.us is None else round((one.us - one.lead) / one.waves, 3)
        rows.append((one.kernel.name, blocks, places, one.waves, last, wave))
    return Table(columns, tuple(rows))


# --- the track ------------------------------------------------------------------------------------


def _track(found: Sequence[_Launched], target: Target) -> tuple[Track, bool]:
    """All launches one after the other, and whether blocks of one were too different."""
    shapes = list[tuple[Dim, ...]]()
    spans, marks, sorts = list[Spans](), list[Spans](), list[Sort]()
    now, alike, opens = 0.0, False, 0.0
    for number, one in enumerate(found):
        start = now + one.lead
        made = _blocks(one, start, number, len(shapes))
        wave = max(run.length for run in made.spans)
        shapes += [made.shape, (Dim(one.waves, start=wave),)]
        spans += made.spans
        marks.append(Spans(0, one.waves, 0, 0, start, 0.0, number, len(shapes) - 1))
        of = f" of {one.kernel.name}" if len(found) > 1 else ""
        run = f"block{of} runs" if one.full.blocks == 1 else f"blocks{of} run"
        sorts.append(Sort(BLOCK, f"{{running}} of {{all}} {run}, {{done}} done", now=NOW))
        opens = opens or start + wave / 3
        now = made.end
        alike = alike or made.alike
    track = Track(
        "multiprocessor", "block", target.sm_count or 0, max(one.room for one in found), now,
        WAVES if found[0].us is None else "µs", tuple(shapes), tuple(spans), tuple(sorts), "wave",
        tuple(marks), opens=opens, nothing="launching", nearer="block",
    )  # fmt: skip
    return track, alike


def _blocks(one: _Launched, start: float, sort: int, shape: int) -> HandedOut:
    """The blocks of a launch; one that does nothing gives its place back at once.

    Each other one takes as long as makes the launch as long as it is modelled.
    """
    full, classes = one.full, _idle(one.kernel)

    def placed(length: float) -> HandedOut:
        return handed_out(
            full.blocks, full.multiprocessors, one.room, (length, 0.0), classes, start=start,
            sort=sort, shape=shape,
        )  # fmt: skip

    if one.us is None:
        return placed(1.0)
    taken = one.us - one.lead
    if not classes:
        return placed(taken / one.waves)
    waves = placed(1.0).end - start
    return placed(taken / max(waves, 1.0))


def _idle(kernel: Kernel) -> tuple[int, ...]:
    """1 for each block whose conditions let nothing of it run, 0 for the others; () if all do.

    Or where there are too many to ask each of them.
    """
    axes = {name: var for name, var in kernel.axes if name.startswith("blockIdx")}
    touches = accesses(kernel)
    asked = {var for access in touches for guard in access.guards for var in free_vars(guard)}
    if not asked & set(axes.values()) or prod(kernel.grid) > LOOKED_AT:
        return ()
    found = tuple(
        int(not any(executions(access, at) for access in touches))
        for at in (_at(block, kernel, axes) for block in range(prod(kernel.grid)))
    )
    return found if any(found) else ()


def _at(block: int, kernel: Kernel, axes: dict[str, Var]) -> dict[Var, int]:
    """The values of the axes in a block, by its number: x is fastest."""
    at = {}
    for name, extent in zip(("blockIdx.x", "blockIdx.y", "blockIdx.z"), kernel.grid, strict=False):
        block, value = divmod(block, extent)
        if name in axes:
            at[axes[name]] = value
    return at
