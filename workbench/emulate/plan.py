"""How a kernel is laid out on array axes: its lanes, and how each statement sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.emulate.affine import Digit, Digits, Form
from workbench.emulate.lanes import has_constant_bounds, independent_loops, lanes_of, length
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
    free_vars,
    walk,
)

WATCHED = 8  # bytes that it takes to tell a writer and a reader of a cell among all lanes


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """What is known of one load or store before anything runs.

    `serial` are the variables that change while its statement runs again and again; `moves` says
    that the index is read from memory or divided by what varies, `by_block` that blocks differ in
    it, `width` is the length of its vector (1: a scalar).
    """

    node: BufferLoad | BufferStore
    form: Form
    serial: tuple[Var, ...]
    moves: bool
    by_block: bool
    width: int

    @property
    def buffer(self) -> Buffer:
        """The buffer that it touches."""
        return self.node.buffer


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks that run together: a box of the grid, or any list of block numbers.

    `numbers` counts x fastest; `first` is how many blocks ran before. For a box, `origin` and
    `counts` are along z, y, x.
    """

    numbers: Any
    first: int
    origin: tuple[int, int, int] | None
    counts: tuple[int, int, int]


class Plan:
    """The axes of a kernel: loops that are lanes, the vector, threads z y x, blocks z y x.

    `room` is how many lanes a statement may have; where one block has more, outer loops stay
    serial.
    """

    def __init__(self, kernel: Kernel, room: int) -> None:
        self.kernel = kernel
        sizes = dict(zip(THREAD_AXES, (*kernel.grid, *kernel.block), strict=True))
        self.axes = dict(kernel.axes)
        self.block_vars = {axis: v for axis, v in self.axes.items() if axis.startswith("block")}
        threads = {v: sizes[axis] for axis, v in self.axes.items() if axis.startswith("thread")}
        self.threads = int(np.prod(kernel.block))
        self.loops = _fitting(kernel, independent_loops(kernel), self.threads, room)
        lanes = {loop.loop_var: length(loop) for loop in self.loops}
        self.digits = Digits({**threads, **lanes}, _ranges(kernel, sizes, self.axes))
        accesses = [n for n in walk(kernel.body) if isinstance(n, (BufferLoad, BufferStore))]
        self.digits.cut_for(a.indices[0] for a in accesses)
        self.at: dict[Digit, int] = {}
        self._place_axes(kernel)
        self.access = {a: self._access(a) for a in accesses}
        self.lanes_per_block = self.threads * max(
            (self._loop_lanes(s) for s in self.around), default=1
        )
        self.uniform = not self._blocks_part_ways(kernel.body)
        self.own_bytes = sum(self._own_bytes(b) for b in kernel.allocs)

    def accesses(self, buffer: Buffer) -> int:
        """How many loads and stores of `buffer` the kernel has."""
        return sum(a.buffer is buffer for a in self.access)

    def _own_bytes(self, buffer: Buffer) -> int:
        """What `buffer` takes for one block: cells, whether they are valid, and who was there."""
        cells = int(np.prod(buffer.shape, dtype=np.int64))
        if buffer.scope == "local":
            cells *= self.threads
        each = numpy_type(buffer.type).itemsize + 1
        if buffer.scope == "shared" and not self.uniform:
            each += WATCHED
        return cells * each

    def _place_axes(self, kernel: Kernel) -> None:
        self.around: dict[Stmt, tuple[Digit, ...]] = {}
        deepest = self._place_loops(kernel.body, ())
        self.vector = deepest
        at = deepest + 1
        for axis, size in zip("zyx", reversed(kernel.block), strict=True):
            var = self.axes.get(f"threadIdx.{axis}")
            digits = self.digits.of[var] if var is not None else (Digit(Var(axis), 1, size),)
            for digit in digits:
                self.at[digit] = at
                at += 1
        self.thread_digits = tuple(d for d, k in self.at.items() if k > self.vector)
        self.block_at = (at, at + 1, at + 2)  # z, y, x
        self.rank = at + 3

    def _place_loops(self, stmt: Node, around: tuple[Digit, ...]) -> int:
        """Give loops axes by how deep they lie; the number of axes in use."""
        if isinstance(stmt, For) and stmt in self.loops:
            for digit in self.digits.of[stmt.loop_var]:
                self.at[digit] = len(around)
                around = (*around, digit)
        if isinstance(stmt, Stmt):
            self.around[stmt] = around
        deepest = len(around)
        for child in _parts(stmt):
            deepest = max(deepest, self._place_loops(child, around))
        return deepest

    def _loop_lanes(self, stmt: Stmt) -> int:
        width = lanes_of(stmt) if isinstance(stmt, BufferStore) else 1
        return width * int(np.prod([d.size for d in self.around[stmt]], dtype=np.int64))

    def _access(self, node: BufferLoad | BufferStore) -> Access:
        index = node.indices[0]
        width = index.lanes if isinstance(index, Ramp) else 1
        form = self.digits.form(index)
        lanes = set(self.digits.of)
        blocks = set(self.block_vars.values())
        used = set(free_vars(index))
        moves = any(isinstance(n, BufferLoad) or _divides(n) for n in walk(index))
        serial = tuple(v for v in free_vars(index) if v not in lanes and v not in blocks)
        return Access(node, form, serial, moves, moves or bool(used & blocks), width)

    def _blocks_part_ways(self, stmt: Stmt) -> bool:
        """Whether blocks can differ in what they do: which cells of shared memory, which branch."""
        blocks = set(self.block_vars.values())
        for node in walk(stmt):
            if isinstance(node, IfThenElse) and _depends(node.condition, blocks):
                return True
            if isinstance(node, For) and not has_constant_bounds(node):
                return True
            if isinstance(node, (Call, BinOp)) and _chooses(node, blocks):
                return True
        return any(a.by_block and a.buffer.scope == "shared" for a in self.access.values())


def _divides(node: Node) -> bool:
    """Whether `node` divides by what is not a number: then lanes that sleep may divide by zero."""
    return isinstance(node, BinOp) and node.op in ("//", "%") and not isinstance(node.b, Const)


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


def _parts(stmt: Node) -> Iterable[Node]:
    match stmt:
        case For():
            return [stmt.body]
        case IfThenElse():
            return [s for s in (stmt.then_case, stmt.else_case) if s is not None]
        case _:
            return getattr(stmt, "stmts", ())


def _ranges(
    kernel: Kernel, sizes: Mapping[str, int], axes: Mapping[str, Var]
) -> dict[Var, tuple[int, int]]:
    """The least and greatest value of block indices and loops."""
    ranges = {var: (0, sizes[axis] - 1) for axis, var in axes.items()}
    for node in walk(kernel.body):
        if isinstance(node, For) and isinstance(node.min, Const) and isinstance(node.extent, Const):
            low, high = int(node.min.value), int(node.min.value) + int(node.extent.value) - 1
            before = ranges.get(node.loop_var, (low, high))
            ranges[node.loop_var] = (min(low, before[0]), max(high, before[1]))
    return ranges


def _fitting(kernel: Kernel, loops: list[For], threads: int, room: int) -> list[For]:
    """Those of `loops` that are lanes: outer ones stay serial until one block has room."""
    chosen = list(loops)
    while chosen and threads * _most_lanes(kernel.body, chosen) > room:
        chosen.pop(0)
    return chosen


def _most_lanes(stmt: Node, loops: list[For]) -> int:
    below = max((_most_lanes(part, loops) for part in _parts(stmt)), default=1)
    if isinstance(stmt, For) and stmt in loops:
        return below * length(stmt)
    return below


class Frame:
    """How one statement sees the lanes: its axes in an order that suits the memory it writes.

    `order` says which axis of the plan each dimension is; `shape` is one entry a dimension; `env`
    holds every lane variable as an array over them.
    """

    def __init__(
        self, plan: Plan, blocks: Blocks, stmt: Stmt, width: int, order: tuple[int, ...] | None
    ) -> None:
        self.order = order or tuple(range(plan.rank))
        self.place = {axis: k for k, axis in enumerate(self.order)}
        sizes = [1] * plan.rank
        self.digits = (*plan.around[stmt], *plan.thread_digits)
        for digit in self.digits:
            sizes[plan.at[digit]] = digit.size
        sizes[plan.vector] = width
        for axis, count in zip(plan.block_at, blocks.counts, strict=True):
            sizes[axis] = count
        self.sizes = tuple(sizes)
        self.shape = tuple(sizes[axis] for axis in self.order)
        self.plan, self.blocks = plan, blocks
        self.env = self._lane_values()
        self.thread = self._thread_numbers()
        self.block = self.along(plan.block_at[2], np.arange(len(blocks.numbers)))
        if blocks.origin is not None:
            z, y, x = (
                self.along(a, np.arange(n))
                for a, n in zip(plan.block_at, blocks.counts, strict=True)
            )
            self.block = (z * blocks.counts[1] + y) * blocks.counts[2] + x

    def along(self, axis: int, values: Any) -> Any:
        """`values` as an array that runs along the plan's `axis`."""
        shape = [1] * len(self.order)
        shape[self.place[axis]] = len(values)
        return np.asarray(values).reshape(shape)

    def turn(self, array: Any) -> Any:
        """An array over the plan's axes as one over the dimensions of this frame."""
        return array.transpose(self.order)

    def _lane_values(self) -> dict[Var, Any]:
        env: dict[Var, Any] = {}
        for digit in self.digits:
            part = self.along(self.plan.at[digit], np.arange(digit.size) * digit.stride)
            env[digit.var] = env.get(digit.var, 0) + part
        grid = dict(zip("xyz", self.plan.kernel.grid, strict=True))
        for axis, var in self.plan.block_vars.items():
            env[var] = self._block_values("zyx".index(axis[-1]), grid)
        return {var: np.asarray(v).astype(numpy_type(var.type)) for var, v in env.items()}

    def _block_values(self, which: int, grid: Mapping[str, int]) -> Any:
        if self.blocks.origin is not None:
            first, count = self.blocks.origin[which], self.blocks.counts[which]
            return self.along(self.plan.block_at[which], np.arange(first, first + count))
        below = (grid["x"] * grid["y"], grid["x"], 1)[which]
        values = self.blocks.numbers // below % grid["zyx"[which]]
        return self.along(self.plan.block_at[2], values)

    def _thread_numbers(self) -> Any:
        """The number of each thread in its block, x fastest."""
        total: Any = 0
        for digit in self.plan.thread_digits:
            part = self.along(self.plan.at[digit], np.arange(digit.size))
            total = total * digit.size + part
        return total
