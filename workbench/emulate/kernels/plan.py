"""How a kernel is laid out on array axes: its lanes, and how each statement sees them.

The threads of a block run one program and wait for each other at barriers alone, so between two
barriers any interleaving may happen on a GPU, and the kernel is right only if all give the same.
The emulator runs one of them, lockstep: every statement for all lanes before the next. What
another interleaving could give differently is a race, and `races` refuses it, lockstep or not. So
lanes are axes of arrays, in this order: the loops whose iterations are independent (`loops`), one
axis for each depth, so that loops side by side share theirs; the elements of a vector; the threads
of a block; the blocks of a chunk. Axes of threads and loops are cut into digits (`affine`).

A *chunk* is the blocks that run at a time: as many as keep the arrays in the cache, and shared and
local memory small. Where the numbers of blocks follow each other a chunk is a box of the grid, so
that block indices are axes too. Blocks of one kernel are not ordered, so to run chunks one after
the other is one of the orders that a GPU may take, and `races` holds chunks against each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from workbench.emulate.expressions import Site, along, count_turns, list_sites
from workbench.emulate.kernels.affine import Digit, Digits, Form
from workbench.emulate.kernels.loops import has_constant_bounds, independent_loops, vector_width
from workbench.emulate.numbers import numpy_type
from workbench.ir import (
    LOGICAL,
    THREAD_AXES,
    BinOp,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    For,
    IfThenElse,
    Kernel,
    Node,
    Ramp,
    Stmt,
    Var,
    always_has_value,
    free_vars,
    is_warp_call,
    stores,
    walk,
)
from workbench.ir.places import inner

Box: TypeAlias = tuple[int, int, int]

WATCHED = 8  # bytes that it takes to tell a writer and a reader of a cell among all lanes
OWN = 1 << 26  # bytes of shared and local memory of the blocks that run together


def source_of(kernel: Kernel, buffer: Buffer) -> Buffer:
    """The program's buffer that the flat `buffer` of `kernel` holds."""
    return dict(kernel.views).get(buffer, buffer)


def written_by(kernel: Kernel) -> set[Buffer]:
    """The buffers in global memory that `kernel` writes."""
    return {store.buffer for store in stores(kernel) if store.buffer.scope == "global"}


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """What is known of one load or store before anything runs.

    `serial` are the variables that change while its statement runs again and again; `moves` says
    that the index is read from memory or divided by what varies, `by_block` that blocks differ in
    it, `width` is the length of its vector (1: a scalar).
    """

    site: Site
    form: Form
    serial: tuple[Var, ...]
    moves: bool
    by_block: bool
    width: int

    @property
    def buffer(self) -> Buffer:
        """The buffer that it touches."""
        return self.site.buffer


@dataclass(frozen=True, slots=True)
class Chunk:
    """The blocks that run together: a box of the grid, or any list of block numbers.

    `numbers` counts x fastest; `first` is how many blocks ran before. For a box, `origin` and
    `counts` are along z, y, x.
    """

    numbers: Any
    first: int
    origin: Box | None
    counts: Box


class Plan:
    """The axes of a kernel: loops that are lanes, the vector, threads z y x, blocks z y x.

    `room` is how many lanes a statement may have; where one block has more, outer loops stay
    serial.
    """

    def __init__(self, kernel: Kernel, room: int) -> None:
        self.kernel = kernel
        sizes = dict(zip(THREAD_AXES, (*kernel.grid, *kernel.block), strict=True))
        # which of z, y, x each block index is, as 0, 1, 2
        self.block_vars = {v: "zyx".index(a[-1]) for a, v in kernel.axes if a.startswith("block")}
        self.threads = prod(kernel.block)
        self.loops = _choose_loops(kernel, self.threads, room)
        lanes = {v: sizes[axis] for axis, v in kernel.axes if axis.startswith("thread")}
        lanes |= {loop.loop_var: count_turns(loop) for loop in self.loops}
        self.digits = Digits(lanes, _ranges(kernel, sizes))
        sites = list_sites(kernel.body)
        self.digits.cut_for(site.indices[0] for site in sites)
        self.at: dict[Digit, int] = {}
        self._place_axes()
        self.access = {site: self._describe(site) for site in sites}
        calls = (node for node in walk(kernel.body) if is_warp_call(node))
        self.by_warps = {s for call in calls for s in walk(call) if isinstance(s, Stmt)}
        most = max(map(self._lanes_of, self.around), default=1)
        self.lanes_per_block = max(self.threads, most)  # a loop may run no times
        self.uniform = not self._blocks_part_ways()
        self.own_bytes = sum(self._own_bytes(b) for b in kernel.allocs)

    def count_sites(self, buffer: Buffer) -> int:
        """How many loads and stores of `buffer` the kernel has."""
        return sum(site.buffer is buffer for site in self.access)

    def stands_for_all(self, buffer: Buffer) -> bool:
        """Whether all blocks touch the same cells of `buffer`, each in a copy of its own."""
        return self.uniform and buffer.scope == "shared"

    def _own_bytes(self, buffer: Buffer) -> int:
        """What `buffer` takes for one block: cells, whether they are valid, and who was there."""
        cells = prod(buffer.shape)
        if buffer.scope == "local":
            cells *= self.threads
        each = numpy_type(buffer.type).itemsize + 1
        if any(store.is_async and store.buffer is buffer for store in stores(self.kernel)):
            each *= 2  # what is under way
        if buffer.scope == "shared" and not self.uniform:
            each += WATCHED
        return cells * each

    def _place_axes(self) -> None:
        self.around: dict[Stmt, tuple[Digit, ...]] = {}
        self.vector = self._place_loops(self.kernel.body, ())
        at = self.vector + 1
        axes = dict(self.kernel.axes)
        for axis, size in zip("zyx", reversed(self.kernel.block), strict=True):
            var = axes.get(f"threadIdx.{axis}")
            digits = self.digits.of[var] if var is not None else (Digit(Var(axis), 1, size),)
            for digit in digits:
                self.at[digit] = at
                at += 1
        self.thread_digits = tuple(d for d, k in self.at.items() if k > self.vector)
        self.along_x = frozenset(digits)
        self.block_at = (at, at + 1, at + 2)  # z, y, x
        self.rank = at + 3

    def _place_loops(self, stmt: Stmt, around: tuple[Digit, ...]) -> int:
        """Give loops axes by how deep they lie; the number of axes in use."""
        if isinstance(stmt, For) and stmt in self.loops:
            for digit in self.digits.of[stmt.loop_var]:
                self.at[digit] = len(around)
                around = (*around, digit)
        self.around[stmt] = around
        return max([len(around), *(self._place_loops(part, around) for part in inner(stmt))])

    def _lanes_of(self, stmt: Stmt) -> int:
        width = vector_width(stmt) if isinstance(stmt, BufferStore) else 1
        doers = self.threads // self.kernel.block[0] if stmt in self.by_warps else self.threads
        return doers * width * prod(d.size for d in self.around[stmt])

    def _describe(self, site: Site) -> Access:
        index = site.indices[0]
        width = index.lanes if isinstance(index, Ramp) else 1
        moves = any(isinstance(n, BufferLoad) or _may_have_none(n) for n in walk(index))
        used = free_vars(index)
        serial = tuple(v for v in used if v not in self.digits.of and v not in self.block_vars)
        by_block = moves or any(v in self.block_vars for v in used)
        return Access(site, self.digits.form(index), serial, moves, by_block, width)

    def _blocks_part_ways(self) -> bool:
        """Whether blocks can differ in what they do: which cells of shared memory, which branch."""
        blocks = set(self.block_vars)
        for node in walk(self.kernel.body):
            if isinstance(node, IfThenElse) and _depends(node.condition, blocks):
                return True
            if isinstance(node, For) and not has_constant_bounds(node):
                return True
            if isinstance(node, (Call, BinOp)) and _chooses(node, blocks):
                return True
        return any(a.by_block and a.buffer.scope == "shared" for a in self.access.values())


def _may_have_none(node: Node) -> bool:
    """Whether `node` may have no value: lanes that sleep may divide by zero, or shift too far."""
    return isinstance(node, BinOp) and not always_has_value(node)


def _chooses(node: Call | BinOp, blocks: set[Var]) -> bool:
    """Whether blocks can differ in which loads of shared memory `node` makes."""
    if isinstance(node, Call) and node.op == "if_then_else":
        condition, *chosen = node.args
    elif isinstance(node, BinOp) and node.op in LOGICAL:
        condition, chosen = node.a, [node.b]
    else:
        return False
    loads = [n for c in chosen for n in walk(c) if isinstance(n, BufferLoad)]
    return _depends(condition, blocks) and any(n.buffer.scope == "shared" for n in loads)


def _depends(node: Node, blocks: set[Var]) -> bool:
    return any(isinstance(n, BufferLoad) or n in blocks for n in walk(node))


def _ranges(kernel: Kernel, sizes: dict[str, int]) -> dict[Var, tuple[int, int]]:
    """The least and greatest value of block indices and loops."""
    ranges = {var: (0, sizes[axis] - 1) for axis, var in kernel.axes}
    for node in walk(kernel.body):
        if isinstance(node, For) and isinstance(node.min, Const) and isinstance(node.extent, Const):
            low, high = int(node.min.value), int(node.min.value) + int(node.extent.value) - 1
            before = ranges.get(node.loop_var, (low, high))
            ranges[node.loop_var] = (min(low, before[0]), max(high, before[1]))
    return ranges


def _choose_loops(kernel: Kernel, threads: int, room: int) -> list[For]:
    """The loops that are lanes: where one block has no room, outer ones of a nest stay serial."""
    chosen = independent_loops(kernel)
    while chosen:
        lanes, outermost = _widest(kernel, kernel.body, chosen)
        if outermost is None or threads * lanes <= room:
            break
        chosen.remove(outermost)
    return chosen


def _widest(kernel: Kernel, stmt: Stmt, loops: list[For]) -> tuple[float, For | None]:
    """The lanes of a thread in the nest below `stmt` that has the most, and its first loop."""
    found = (_widest(kernel, part, loops) for part in inner(stmt))
    lanes, first = max(found, key=lambda one: one[0], default=(1.0, None))
    if isinstance(stmt, For) and stmt in loops:
        lanes, first = lanes * count_turns(stmt), stmt
    return (lanes / kernel.block[0] if is_warp_call(stmt) else lanes), first


# --- chunks ---------------------------------------------------------------------------------------


def count_together(plan: Plan, numbers: Sequence[int], lanes: int) -> int:
    """How many of the blocks `numbers` run at a time: one, or with up to `lanes` lanes."""
    room = min(lanes // plan.lanes_per_block, OWN // max(1, plan.own_bytes))
    return max(1, min(room, len(numbers)))


def cut_chunks(plan: Plan, numbers: Sequence[int], lanes: int) -> Iterator[Chunk]:
    """The blocks `numbers` in turn, as many at a time as `count_together` says."""
    room = count_together(plan, numbers, lanes)
    if not isinstance(numbers, range):
        for start in range(0, len(numbers), room):
            part = np.asarray(numbers[start : start + room])
            yield Chunk(part, start, None, (1, 1, len(part)))
        return
    start, end = numbers[0], numbers[0] + len(numbers)
    while start < end:
        origin, counts = _largest_box(plan.kernel.grid, start, min(end - start, room))
        box = np.arange(start, start + prod(counts))
        yield Chunk(box, start - numbers[0], origin, counts)
        start += len(box)


def _largest_box(grid: Box, start: int, most: int) -> tuple[Box, Box]:
    """The largest box of at most `most` blocks that holds `start` and those right after it.

    Its origin and counts along z, y, x.
    """
    x, y, _ = grid
    at = start // (x * y), start // x % y, start % x
    if at[1:] == (0, 0) and most >= x * y:
        counts = (most // (x * y), y, x)
    elif at[2] == 0 and most >= x:
        counts = (1, min(most // x, y - at[1]), x)
    else:
        counts = (1, 1, min(most, x - at[2]))
    return at, counts


# --- statements -----------------------------------------------------------------------------------


class Frame:
    """How one statement sees the lanes: its axes in an order that suits the memory it writes.

    Of a call of a warp, the warps are the lanes.
    `order` says which axis of the plan each dimension is; `shape` is one entry a dimension; `env`
    holds every lane variable as an array over them. `block` and `thread` are the place of each
    lane's block in the chunk and the number of its thread, x fastest.
    """

    def __init__(
        self, plan: Plan, chunk: Chunk, stmt: Stmt, width: int, order: tuple[int, ...] | None
    ) -> None:
        self.plan, self.chunk = plan, chunk
        self.order = order or tuple(range(plan.rank))
        self.place = {axis: k for k, axis in enumerate(self.order)}
        sizes = [1] * plan.rank
        # the first thread of a warp stands for all of it: they make a call together
        self.alone = plan.along_x if stmt in plan.by_warps else frozenset()
        self.digits = (*plan.around[stmt], *plan.thread_digits)
        for digit in self.digits:
            sizes[plan.at[digit]] = self._count(digit)
        sizes[plan.vector] = width
        for axis, count in zip(plan.block_at, chunk.counts, strict=True):
            sizes[axis] = count
        self.shape = tuple(sizes[axis] for axis in self.order)
        self.env = self._lane_values()
        self.thread = _count_up([self._along_digit(d, 1) for d in plan.thread_digits])
        axes = zip(plan.block_at, chunk.counts, strict=True)
        self.block = _count_up([(n, self.along(axis, np.arange(n))) for axis, n in axes])

    def along(self, axis: int, values: Any) -> Any:
        """`values` as an array that runs along the plan's `axis`."""
        return along(self.place[axis], len(self.order), values)

    def _count(self, digit: Digit) -> int:
        return 1 if digit in self.alone else digit.size

    def _along_digit(self, digit: Digit, step: int) -> tuple[int, Any]:
        return digit.size, self.along(self.plan.at[digit], np.arange(self._count(digit)) * step)

    def _lane_values(self) -> dict[Var, Any]:
        env: dict[Var, Any] = {}
        for digit in self.digits:
            env[digit.var] = env.get(digit.var, 0) + self._along_digit(digit, digit.stride)[1]
        for var, which in self.plan.block_vars.items():
            env[var] = self._block_values(which)
        return {var: np.asarray(v).astype(numpy_type(var.type)) for var, v in env.items()}

    def _block_values(self, which: int) -> Any:
        x, y, z = self.plan.kernel.grid
        if self.chunk.origin is not None:
            first, count = self.chunk.origin[which], self.chunk.counts[which]
            return self.along(self.plan.block_at[which], np.arange(first, first + count))
        values = self.chunk.numbers // (x * y, x, 1)[which] % (z, y, x)[which]
        return self.along(self.plan.block_at[2], values)


def _count_up(places: list[tuple[int, Any]]) -> Any:
    """The number whose places, of (base, value) each, are given, the highest first."""
    total: Any = 0
    for base, value in places:
        total = total * base + value
    return total


class Mask:
    """The lanes that run, as an array over the plan's axes; equal keys mean equal masks."""

    def __init__(self, key: tuple[Any, ...], array: Any) -> None:
        self.key, self.array = key, array
        self._seen: dict[Frame, Any] = {}

    def seen_by(self, frame: Frame) -> Any:
        """The mask over the dimensions of `frame`."""
        if frame not in self._seen:
            self._seen[frame] = self.array.transpose(frame.order)
        return self._seen[frame]
