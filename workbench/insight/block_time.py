"""block_time: when each warp of a block does what, statement by statement, told by digits.

A warp takes its steps one after the other (`warp_steps`), each as long as its clocks. Where threads
wait for each other, all go on `BARRIER` clocks after the last one comes. A loop without a barrier
takes each warp so many clocks a turn. In a loop with one, a turn begins where the last barrier of
the turn before has left the warps, so that all turns are alike but the first, which may begin
otherwise: that one is told by itself. So each statement is a few `Spans`, however many turns there
are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import prod
from typing import TypeAlias

from workbench.diag import count_text
from workbench.insight.accesses import Access
from workbench.insight.chain import BARRIER
from workbench.insight.compiled import operations
from workbench.insight.lane_terms import ELEMENT, Asked, asked
from workbench.insight.page import Point
from workbench.insight.track import Dim, Sort, Spans, Track
from workbench.insight.warp_steps import Issue, Step, Together, Turn, warp_steps
from workbench.insight.wavefronts import WARP
from workbench.ir import Buffer, BufferLoad, BufferStore, Kernel, PrimFunc, Var, walk
from workbench.ir.places import places

WINDOW = 2  # turns of the loop in which threads wait, that are seen at once
NOW = "heat-6"  # of what runs at the time that is shown
COPY, SUM = ("time",), ("served",)  # roles of what moves values, and of what computes

Clocks: TypeAlias = tuple[int, ...]
"""Of each kind of warp: warps are of a kind that take as long for everything."""


@dataclass(frozen=True, slots=True)
class BlockTime:
    """The warps of a block, modelled in clocks of a multiprocessor that runs nothing else.

    `warps` has a row a warp: which block of the program it is in, and where it waits. `requests`
    has the same rows: each access and each operation by itself, of the sort with its number in
    `issued`. `asked` says what lanes ask for by each of these. Warps that take as long for
    everything have one number in `kinds`.
    """

    kernel: Kernel
    warps: Track
    requests: Track
    issued: tuple[Issue, ...]
    asked: tuple[Asked, ...]
    kinds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    """`count` turns of a loop, from its turn `first` on, each so many clocks after the other."""

    name: str
    first: int
    count: int
    clocks: Clocks


@dataclass
class _Part:
    """What is of a `sort` for so long from `start` on, in the first of its turns."""

    sort: int
    start: Clocks
    length: Clocks
    repeats: list[_Repeat] = field(default_factory=list)  # the innermost first


def block_time(kernel: Kernel, func: PrimFunc | None = None) -> BlockTime:
    """When the warps of a block of `kernel` do what; the blocks named are those of `func`.

    Statements, their order and barriers are the kernel's own, their lengths modelled. Raises Fail
    where sizes tell how often something runs.
    """
    steps = warp_steps(kernel)
    layout = _Layout(_Kinds(steps, -(-prod(kernel.block) // WARP)), _Names(kernel, func))
    layout.run(steps)
    return layout.made(kernel)


def place_of(kernel: Kernel, block: int) -> Point:
    """The place (x, y, z) of a block in the grid, by its number: x goes first."""
    wide, high, _ = map(int, kernel.grid)
    return block % wide, block // wide % high, block // (wide * high)


class _Kinds:
    """Which warps take as long for everything."""

    def __init__(self, steps: Sequence[Step], warps: int) -> None:
        each = zip(*(issue.clocks for issue in _issues(steps)), strict=True)
        clocks = [*each] or [()] * warps
        self.rows = [*dict.fromkeys(clocks)]
        self.of = [self.rows.index(one) for one in clocks]
        self.first = [self.of.index(kind) for kind in range(len(self.rows))]

    def clocks(self, issue: Issue) -> Clocks:
        """The clocks of each kind."""
        return tuple(issue.clocks[warp] for warp in self.first)

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Neighbours of one kind: the kind, the first of these warps, and how many they are."""
        for kind, same in groupby(range(len(self.of)), key=self.of.__getitem__):
            rows = [*same]
            yield kind, rows[0], len(rows)


def _issues(steps: Sequence[Step]) -> Iterator[Issue]:
    for step in steps:
        if isinstance(step, Turn):
            yield from _issues(step.steps)
        elif isinstance(step, Issue):
            yield step


class _Names:
    """The block of a program that a statement of a kernel is of.

    It writes the buffer that the statement does, of which a kernel holds a view; where the
    statement keeps values in registers of its own, it reads them. Of several such blocks it has
    most of the loops around the statement: those keep their variables.
    """

    def __init__(self, kernel: Kernel, func: PrimFunc | None) -> None:
        self.views, self.axes = dict(kernel.views), kernel.axes
        self.writers: dict[Buffer, list[tuple[str, set[Var]]]] = {}
        self.readers: dict[Buffer, list[tuple[str, set[Var]]]] = {}
        known = None if func is None else places(func)
        for realize in known.blocks.values() if known else ():
            assert known is not None
            around = {loop.loop_var for loop in known.all_loops_above(realize)}
            told, block = (realize.block.name, around), realize.block
            for found, regions in ((self.writers, block.writes), (self.readers, block.reads)):
                for region in regions:
                    found.setdefault(region.buffer, []).append(told)

    def of(self, access: Access) -> str:
        """The name of the block; of the buffer that is touched, where there is none."""
        store, around = access.store, {loop.var for loop in access.loops}
        buffer = store.buffer if store else access.buffer
        keeps = store is None or self.keeps(store)
        blocks = (self.readers if keeps else self.writers).get(self.program_buffer(buffer), [])
        near = max(blocks, key=lambda told: len(told[1] & around), default=None)
        return buffer.name if near is None else near[0]

    def keeps(self, store: BufferStore) -> bool:
        """Whether it stores what it loads of an array in registers that hold a part of that."""
        held = self.program_buffer(store.buffer)
        loads = (node.buffer for node in walk(store.value) if isinstance(node, BufferLoad))
        return any(b is not store.buffer and self.program_buffer(b) is held for b in loads)

    def program_buffer(self, buffer: Buffer) -> Buffer:
        """The buffer of the program that one of the kernel is a view of."""
        return self.views.get(buffer, buffer)


class _Layout:
    """Lays steps out in time; `now` is when each kind of warp is through with those before."""

    def __init__(self, kinds: _Kinds, names: _Names) -> None:
        self.kinds, self.names = kinds, names
        self.now: Clocks = (0,) * len(kinds.rows)
        self.around: list[str] = []  # the names of the loops that are open
        self.blocks: dict[tuple[str, tuple[str, ...]], int] = {}  # in which loops, by number
        self.computing: set[str] = set()  # those that do more than move values
        self.issued: dict[Issue, int] = {}
        self.counters = {var: axis for axis, var in names.axes}
        self.seen: list[_Part] = []  # statements of a block of the program, one after the other
        self.waits: list[_Part] = []
        self.marks: list[_Part] = []
        self.single: list[_Part] = []  # requests and operations
        self.turn = 0  # the clocks of the shortest turn in which threads wait

    def run(self, steps: Sequence[Step], seen: bool = False) -> None:
        """Lay `steps` out; those that are `seen` are part of what is told as one."""
        for block, same in groupby(steps, key=self.block_of):
            begun = self.now
            for step in same:
                self.step(step, seen or bool(block))
            if block and not seen:
                sort = self.blocks.setdefault((block, tuple(self.around)), len(self.blocks))
                self.seen.append(_Part(sort, begun, _less(self.now, begun)))

    def block_of(self, step: Step) -> str:
        """The one block of the program that a step is of; "" of several, or where threads wait."""
        if isinstance(step, Issue):
            return self.names.of(step.access)
        if isinstance(step, Together) or step.waits:
            return ""
        names = {self.block_of(one) for one in step.steps}
        return names.pop() if len(names) == 1 else ""

    def step(self, step: Step, seen: bool) -> None:
        """Lay a step out."""
        match step:
            case Issue():
                self.issue(step)
            case Together():
                free = max(self.now) + BARRIER
                after = (free,) * len(self.now)
                self.waits.append(_Part(0, self.now, _less(after, self.now)))
                self.marks.append(_Part(0, after, (0,) * len(after)))
                self.now = after
            case Turn():
                self.loop(step, seen)

    def issue(self, issue: Issue) -> None:
        """A request, or those of the elements of a vector; an operation."""
        clocks = self.kinds.clocks(issue)
        store = issue.access.store
        if issue.computes and store is not None and operations(store.value):
            self.computing.add(self.names.of(issue.access))
        number = self.issued.setdefault(issue, len(self.issued))
        part = _Part(number, self.now, clocks)
        if issue.each > 1:
            part.repeats.append(_Repeat(ELEMENT, 0, issue.each, clocks))
        self.single.append(part)
        self.now = tuple(n + issue.each * c for n, c in zip(self.now, clocks, strict=True))

    def loop(self, turn: Turn, seen: bool) -> None:
        """All turns of a loop, if there are any."""
        if turn.loop.extent > 0:
            self.around.append(turn.loop.name)
            self.turns(turn, turn.loop.extent, seen)
            self.around.pop()

    def turns(self, turn: Turn, extent: int, seen: bool) -> None:
        """Those of a loop: together where the first is as the others, else that by itself."""
        self.counters[turn.loop.var] = turn.loop.name
        begun, where = self.now, self.ends()
        self.run(turn.steps, seen)
        once = _less(self.now, begun)
        alike = not turn.waits or len({*once}) == 1
        self.repeat(where, _Repeat(turn.loop.name, 0, extent if alike else 1, once))
        if not alike and extent > 1:
            begun, where = self.now, self.ends()
            self.run(turn.steps, seen)
            once = _less(self.now, begun)
            assert len({*once}) == 1, "a barrier lets all go on at once"
            self.repeat(where, _Repeat(turn.loop.name, 1, extent - 1, once))
        left = extent - 1 if alike else max(extent - 2, 0)
        self.now = tuple(n + left * c for n, c in zip(self.now, once, strict=True))
        if turn.waits and not self.turn:
            self.turn = max(once)

    def every(self) -> tuple[list[_Part], ...]:
        return self.seen, self.waits, self.marks, self.single

    def ends(self) -> list[int]:
        return [len(parts) for parts in self.every()]

    def repeat(self, where: list[int], repeat: _Repeat) -> None:
        """What was laid out since `where` is one turn of several."""
        for parts, start in zip(self.every(), where, strict=True):
            for part in parts[start:]:
                part.repeats.append(repeat)

    def made(self, kernel: Kernel) -> BlockTime:
        """The tracks of what is laid out."""
        length = max(self.now, default=0)
        window = min(float(self.turn * WINDOW or length), length)
        warps = _Track(self.kinds)
        seen = warps.spans(self.seen)
        waits = warps.spans(self.waits, len(self.blocks))
        marks = warps.spans(self.marks, alone=True)
        of = count_text(len(self.kinds.of), "warp")
        sorts = [
            Sort(
                SUM if block in self.computing else COPY,
                f"{{running}} of {of} in {block}{_turns(around)}",
                block,
                around,
                block,
                NOW,
            )
            for block, around in self.blocks
        ]
        says = f"{{running}} of {of} at barrier {{mark}} of {{marks}}"
        sorts.append(Sort(("idle",), says, label=""))
        singles = _Track(self.kinds)
        single = singles.spans(self.single)
        return BlockTime(
            kernel,
            warps.made((*seen, *waits), sorts, length, window, marks),
            singles.made(single, [_sort(i, self.names) for i in self.issued], length, window),
            tuple(self.issued),
            tuple(asked(issue.access, self.counters) for issue in self.issued),
            tuple(self.kinds.of),
        )


def _sort(issue: Issue, names: _Names) -> Sort:
    """An access or an operation, with the loops around."""
    buffer, block = issue.access.buffer.name, names.of(issue.access)
    loops = tuple(x.name for x in issue.access.loops if x.role not in ("block", "thread"))
    if issue.computes:
        return Sort(SUM, f"computes {block}{_turns(loops)}", block, loops, "")
    does = "writes" if issue.access.writes else "reads"
    return Sort(COPY, f"{does} {buffer}{_turns(loops)}", block, loops, buffer)


def _turns(loops: Sequence[str]) -> str:
    """The turns of loops around, as a track has their numbers put in."""
    return "".join(f", {loop} = {{{loop}}}" for loop in loops)


class _Track:
    """Parts as spans of a track, the shapes of which are told once."""

    def __init__(self, kinds: _Kinds) -> None:
        self.kinds = kinds
        self.shapes: dict[tuple[Dim, ...], int] = {}

    def spans(self, parts: Sequence[_Part], sort: int = 0, alone: bool = False) -> list[Spans]:
        """Each part for warps of a kind that stand together; of the first row `alone`."""
        found = []
        for part in parts:
            for kind, row, rows in self.kinds.runs() if not alone else ((0, 0, 1),):
                if not alone and not part.length[kind]:
                    continue
                dims = [Dim(rows, row=1)] if rows > 1 else []
                dims += [
                    Dim(turns.count, start=turns.clocks[kind], name=turns.name, least=turns.first)
                    for turns in part.repeats
                ]
                shape = self.shapes.setdefault(tuple(dims), len(self.shapes))
                count, start = prod(dim.extent for dim in dims), part.start[kind]
                found.append(
                    Spans(0, count, row, 0, start, part.length[kind], part.sort + sort, shape)
                )
        return found

    def made(
        self,
        spans: Sequence[Spans],
        sorts: Sequence[Sort],
        length: int,
        window: float,
        marks: Sequence[Spans] = (),
    ) -> Track:
        return Track(
            row="warp",
            thing="statement",
            rows=len(self.kinds.of),
            places=1,
            length=length,
            unit="clocks",
            shapes=tuple(self.shapes),
            spans=tuple(spans),
            sorts=tuple(sorts),
            mark="barrier",
            marks=tuple(marks),
            window=window,
            nearer="warp",
            empty="grid",
        )


def _less(after: Clocks, before: Clocks) -> Clocks:
    return tuple(a - b for a, b in zip(after, before, strict=True))
