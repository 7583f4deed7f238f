"""The log of a program and of its kernels: what every thread touches, in order, in plain Python.

No number here comes from `insight`: programs are run by `tests/support/tracer.py`, kernels by
`tests/support/warp_trace.py`, one thread after the other. What the emulator logs of the kernels is
held against that, too (`check_emulated`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from tests.support.pictured.sums import Sum, as_made, asked_sums, shared_sums
from tests.support.pictured.tally import Tally
from tests.support.tracer import Event, is_called, trace
from tests.support.warp_trace import BARRIER, Noted, Place, Request, thread_traces
from workbench import script
from workbench.ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    For,
    IfThenElse,
    Kernel,
    Node,
    PrimFunc,
    Ramp,
    SeqStmt,
    children,
    dtypes,
    walk,
)

WARP = 32
Cell = tuple[int, ...]


class ProgramLog:
    """A program: its text, which names stand in which line, and all that its threads touch."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.lines = script.show(func).splitlines()

    @cached_property
    def told(self) -> Sequence[Event]:
        """All that its text lets threads touch; calls of a warp are by the first of 32 threads."""
        return trace(self.func)

    @cached_property
    def events(self) -> Sequence[Event]:
        """The same, with sums that threads share out as the kernels have them."""
        return as_made(self.sums or {}, self.told)

    @cached_property
    def sums(self) -> Mapping[tuple[str, str], Sum] | None:
        """By block and buffer the sums that threads share out; None where no kernel says it."""
        return shared_sums(self.func)

    @cached_property
    def unknown(self) -> set[str]:
        """The memories of sums of which no kernel says how threads share them out."""
        asked = () if self.sums is not None else asked_sums(self.func)
        return {self.buffers[name].scope for _, name in asked}

    @cached_property
    def by_warps(self) -> bool:
        """Whether calls of a warp run some of its blocks."""
        return bool(self.called)

    @cached_property
    def called(self) -> dict[str, set[str]]:
        """The blocks that calls of a warp run and those inside of them, with that of the call."""
        found: dict[str, set[str]] = defaultdict(set)
        for call in (n for n in walk(self.func.body) if isinstance(n, Block) and is_called(n)):
            for block in (n for n in walk(call) if isinstance(n, Block)):
                found[block.name].add(call.name)
        return dict(found)

    @cached_property
    def buffers(self) -> dict[str, Buffer]:
        """The buffers by name."""
        return {b.name: b for b in self.every}

    @property
    def has_twins(self) -> bool:
        """Whether two buffers have one name, of which the text numbers one."""
        names = [b.name for b in self.every]
        return len({*names}) < len(names)

    @cached_property
    def every(self) -> list[Buffer]:
        """All buffers: those given, those made, those touched."""
        nodes = [*walk(self.func.body)]
        touched = (n.buffer for n in nodes if isinstance(n, BufferLoad | BufferStore))
        made = (b for n in nodes if isinstance(n, Block) for b in n.alloc_buffers)
        return [*dict.fromkeys((*self.func.params, *made, *touched))]

    @cached_property
    def loops(self) -> list[For]:
        """All loops in the order of the text."""
        return [node for node in walk(self.func.root.body) if isinstance(node, For)]

    @cached_property
    def around(self) -> dict[str, list[list[For]]]:
        """The loops around each block of a name, outermost first."""
        found: dict[str, list[list[For]]] = defaultdict(list)
        _around(self.func.root.body, [], found)
        return found

    @cached_property
    def touching(self) -> dict[str, set[str]]:
        """By buffer the blocks that touch it."""
        calls = self.called
        return {
            buffer: {*stages, *(call for stage in stages for call in calls.get(stage, ()))}
            for buffer, stages in self.stages.items()
        }

    @cached_property
    def stages(self) -> dict[str, set[str]]:
        """By buffer the blocks that touch it themselves."""
        found: dict[str, set[str]] = defaultdict(set)
        for event in self.events:
            found[event.buffer].add(event.stage)
        return found

    @cached_property
    def named(self) -> dict[str, list[int]]:
        """Of each loop by its name the lines in which it stands, from 1 on."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(self.lines, 1):
            loop = re.match(r"\s*for ([\w, ]+) in ", line)
            for name in loop[1].split(", ") if loop else ():
                found[name].append(number)
        return found

    def line_of(self, name: str) -> list[int]:
        """The lines in which a loop of that name stands."""
        return self.named.get(name, [])

    @cached_property
    def words(self) -> set[str]:
        """All names in the text, those behind a dot left out."""
        return {word for line in self.lines for word in re.findall(r"(?<![\w.])[^\W\d]\w*", line)}

    def stands(self, word: str) -> bool:
        """Whether a name stands in the text."""
        return word in self.words

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many blocks and threads there are along each axis that is bound."""
        return _sizes(self.func.root.body)

    @cached_property
    def nests(self) -> list[tuple[Node, dict[str, int]]]:
        """What is launched by itself, and how many blocks and threads it has along each axis."""
        body = self.func.root.body
        parts = body.stmts if isinstance(body, SeqStmt) else (body,)
        return [(nest, _sizes(nest)) for nest in parts]

    @cached_property
    def launched(self) -> dict[str, dict[str, int]]:
        """By block the sizes of the nest that it is in."""
        return {
            node.name: sizes
            for nest, sizes in self.nests
            for node in walk(nest)
            if isinstance(node, Block)
        }

    @cached_property
    def by_buffer(self) -> dict[tuple[str, bool], list[Event]]:
        """The events on each buffer: loads (False), stores (True)."""
        found: dict[tuple[str, bool], list[Event]] = defaultdict(list)
        for event in self.events:
            found[event.buffer, event.writes].append(event)
        return found


def _sizes(nest: Node) -> dict[str, int]:
    found: dict[str, int] = {}
    for loop in walk(nest):
        if isinstance(loop, For) and loop.thread and "Idx" in loop.thread:
            found[loop.thread] = max(found.get(loop.thread, 0), int(loop.extent.value))
    return found


def _around(node: Node, loops: list[For], found: dict[str, list[list[For]]]) -> None:
    if isinstance(node, For):
        loops = [*loops, node]
    if isinstance(node, Block):
        found[node.name].append(loops)
        if node.init is not None:  # which runs before what stands above it among its parts
            _around(node.init, loops, found)
    for child in children(node):
        if not (isinstance(node, Block) and child is node.init):
            _around(child, loops, found)


class KernelLog:
    """A kernel: what each of its threads does in order, and the requests of its warps."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.threads: dict[tuple[Cell, int], list[Noted]] = {
            (block, n): once(noted) for block, n, noted in thread_traces(kernel)
        }

    @cached_property
    def places(self) -> list[Place]:
        """The loads and stores that happen, in the order of the text."""
        order = {id(node): k for k, node in enumerate(in_order(self.kernel.body))}
        found = {
            place
            for noted in self.threads.values()
            for place, _, _ in noted
            if place is not BARRIER
        }
        return sorted(found, key=lambda place: order[id(place[1])])

    @cached_property
    def requests(self) -> dict[Place, dict[Any, Request]]:
        """Of each load and store what warps ask: by block, warp, turns around and element."""
        found: dict[Any, dict[Any, Request]] = defaultdict(lambda: defaultdict(dict))
        for (block, number), noted in self.threads.items():
            warp, lane = divmod(number, WARP)
            for place, when, address in noted:
                if place is not BARRIER:
                    found[place][block, warp, *when][lane] = address
        return found

    @cached_property
    def loops(self) -> dict[int, list[For]]:
        """The loops around each load and store, outermost first."""
        found: dict[int, list[For]] = {}
        _loops_of(self.kernel.body, [], found)
        return found

    @cached_property
    def barriers(self) -> int:
        """How many barriers all blocks pass together."""
        first = {block: noted for (block, n), noted in self.threads.items() if n == 0}
        return sum(place is BARRIER for noted in first.values() for place, *_ in noted)

    def touched(self, scope: str, writes: bool) -> Counter[str]:
        """How many elements of each buffer of a memory all threads load, or store."""
        found: Counter[str] = Counter()
        for noted in self.threads.values():
            for place, _, _ in noted:
                if place is BARRIER or place[1].buffer.scope != scope:
                    continue
                if isinstance(place[1], BufferStore) == writes:
                    found[place[1].buffer.name] += elements(place[1])
        return found

    def cells(self, scope: str, writes: bool) -> set[tuple[str, int]]:
        """Which elements of each buffer are loaded, or stored."""
        found: set[tuple[str, int]] = set()
        for noted in self.threads.values():
            for place, _, address in noted:
                if place is BARRIER or place[1].buffer.scope != scope:
                    continue
                if isinstance(place[1], BufferStore) == writes:
                    buffer = place[1].buffer
                    first = address // dtypes.itemsize(buffer.type)
                    found |= {(buffer.name, first + k) for k in range(elements(place[1]))}
        return found


def once(noted: list[Noted]) -> list[Noted]:
    """What a thread does; a vector is noted for each of its elements."""
    seen, kept = set[object](), list[Noted]()
    for one in noted:
        key = (id(one[0][0]), id(one[0][1]), one[1], one[2]) if one[0] is not BARRIER else None
        if key is None or key not in seen:
            kept.append(one)
            seen.add(key)
    return kept


def in_order(node: Node) -> Iterator[BufferLoad | BufferStore]:
    """The loads and stores in `node` in the order in which a thread makes them."""
    if isinstance(node, BufferStore):
        yield from in_order(node.value)
        for index in node.indices:
            yield from in_order(index)
        yield node
        return
    for child in children(node):
        yield from in_order(child)
    if isinstance(node, BufferLoad):
        yield node


def _loops_of(node: Node, loops: list[For], found: dict[int, list[For]]) -> None:
    if isinstance(node, BufferLoad | BufferStore):
        found[id(node)] = loops
    inner = [*loops, node] if isinstance(node, For) else loops
    for child in children(node):
        in_body = isinstance(node, For) and child is node.body
        _loops_of(child, inner if in_body else loops, found)


def elements(node: BufferLoad | BufferStore) -> int:
    """How many elements one request of a thread is of: all of a vector of neighbours."""
    index = node.indices[0]
    return index.lanes if isinstance(index, Ramp) and index.stride == 1 else 1


def width(node: BufferLoad | BufferStore) -> int:
    """The bytes of them."""
    return elements(node) * dtypes.itemsize(node.buffer.type)


def has_data_indices(kernel: Kernel) -> bool:
    """Whether data say where a kernel reads or writes, or whether it does."""
    for node in walk(kernel.body):
        asked: tuple[Any, ...] = ()
        if isinstance(node, BufferLoad | BufferStore):
            asked = node.indices
        elif isinstance(node, IfThenElse):
            asked = (node.condition,)
        elif isinstance(node, For):
            asked = (node.min, node.extent)
        elif isinstance(node, Call) and node.op == "if_then_else":
            asked = (node.args[0],)
        if any(isinstance(n, BufferLoad) for e in asked for n in walk(e)):
            return True
    return False


def check_emulated(tally: Tally, logs: Sequence[KernelLog], records: Iterable[Any]) -> None:
    """What the emulator logs of the kernels is what each thread was found to do."""
    emulated: dict[int, Counter[tuple[int, int, int]]] = defaultdict(Counter)
    for record in records:
        for lane in record.each():
            emulated[id(record.node)][lane] += record.times
    for log in logs:
        wanted: dict[int, Counter[tuple[int, int, int]]] = defaultdict(Counter)
        x, y, _ = log.kernel.grid
        for (block, number), noted in log.threads.items():
            where = block[0] + x * (block[1] + y * block[2])
            for place, _, address in noted:
                if place is not BARRIER:
                    node = place[1]
                    first = address // dtypes.itemsize(node.buffer.type)
                    for k in range(elements(node)):
                        wanted[id(node)][where, number, first + k] += 1
        for place in log.places:
            node = place[1]
            told, own = emulated[id(node)], wanted[id(node)]
            tally.same(
                "accesses that the emulator logs", told, own, f"{node.buffer.name} of a kernel"
            )
