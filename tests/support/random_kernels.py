"""Small random kernels: some right, many wrong in one of the ways that a GPU punishes."""

from __future__ import annotations

import random

from workbench.ir import (
    SHUFFLE,
    Barrier,
    BinOp,
    Broadcast,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Ramp,
    Select,
    Stmt,
    Var,
    binary,
    const,
    seq,
    stores,
)


class Maker:
    """Makes one kernel; `care` is how likely an index stays where it should."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.care = rng.choice([0.5, 0.9, 1.0])
        self.grid = (rng.randint(1, 3), rng.choice([1, 1, 2]), 1)
        self.block = (rng.choice([1, 2, 4, 6]), rng.choice([1, 1, 2]), 1)
        self.axes: list[tuple[str, Var]] = []
        for unit, sizes in (("blockIdx", self.grid), ("threadIdx", self.block)):
            for axis, size in zip("xyz", sizes, strict=True):
                if size > 1 or rng.random() < 0.3:
                    self.axes.append((f"{unit}.{axis}", Var(f"{unit[0]}{axis}")))
        threads = self.block[0] * self.block[1]
        blocks = self.grid[0] * self.grid[1]
        self.inputs = [Buffer("A", (24,)), Buffer("N", (8,), "int32")]
        self.outputs = [Buffer("C", (threads * blocks * 4,)), Buffer("D", (12,), "int32")]
        self.shared = [Buffer("S", (threads * 4,), scope="shared")]
        self.local = [Buffer("L", (8,), scope="local")]
        self.free: list[tuple[Var, int]] = []  # loops around, with their extents

    def kernel(self) -> Kernel:
        """A kernel of two to five statements."""
        parts = [self.statement(2) for _ in range(self.rng.randint(2, 5))]
        body = seq(*self.filled(), *parts)
        if not any(True for _ in stores(body)):
            body = seq(body, self.store())
        params, allocs = [*self.inputs, *self.outputs], [*self.shared, *self.local]
        return Kernel(
            "k", tuple(params), tuple(allocs), (), tuple(self.axes), self.grid, self.block, body
        )

    def filled(self) -> list[Stmt]:
        """Mostly: shared and local memory written whole, each thread its part."""
        if self.rng.random() < 0.15:
            return []
        thread: Expr = const(0, "int32")
        for axis, var in reversed(self.axes):
            if axis.startswith("thread"):
                thread = thread * self.block["xyz".index(axis[-1])] + var
        var = Var("f")
        source = BufferLoad(self.inputs[0], (binary("%", thread + var, const(24, "int32")),))
        shared = BufferStore(self.shared[0], source, (thread * 4 + var,))
        local = BufferStore(self.local[0], source, (var,))
        return [
            For(var, const(0, "int32"), const(4, "int32"), "serial", shared),
            For(var, const(0, "int32"), const(8, "int32"), "serial", local),
            *([Barrier()] if self.rng.random() < 0.9 else []),
        ]

    def statement(self, depth: int) -> Stmt:
        """A store, or something around one."""
        kind = self.rng.random()
        if kind < 0.2:
            return Barrier()
        if depth and kind < 0.5:
            var = Var(f"i{len(self.free)}")
            extent = self.rng.choice([1, 2, 3, 4])
            self.free.append((var, extent))
            body = seq(*(self.statement(depth - 1) for _ in range(self.rng.randint(1, 2))))
            self.free.pop()
            return For(var, const(0, "int32"), const(extent, "int32"), "serial", body)
        if depth and kind < 0.62:
            other = self.statement(depth - 1) if self.rng.random() < 0.4 else None
            return IfThenElse(self.condition(), self.statement(depth - 1), other)
        return self.store()

    def store(self) -> Stmt:
        """One store."""
        buffer = self.rng.choice([*self.outputs, *self.shared * 2, *self.local * 2])
        if buffer.type == "float32" and self.rng.random() < 0.15:
            width = self.rng.choice([2, 4])
            index = self.vector(buffer, width)
            if self.rng.random() < 0.5:
                value: Expr = Broadcast(const(1.5, "float32"), width)
            else:
                source = self.rng.choice([self.inputs[0], *self.shared, *self.local])
                value = BufferLoad(source, (self.vector(source, width),))
            return BufferStore(buffer, value, (index,))
        if self.rng.random() < 0.15:
            return self.exchange()
        index = self.index(buffer)
        value = self.number(2) if buffer.type == "int32" else self.float(2)
        if self.rng.random() < 0.3:
            value = binary("+", BufferLoad(buffer, (index,)), value)
        return BufferStore(buffer, value, (index,))

    def exchange(self) -> Stmt:
        """Each thread adds what a neighbour has, mostly where the neighbour is there."""
        threads = self.block[0] * self.block[1]
        widths = [w for w in (2, 4, 8) if threads % w == 0 or self.rng.random() > self.care]
        width = self.rng.choice(widths or [2])
        bit = self.rng.choice([b for b in (1, 2, 4) if b < width])
        index = (self.index(self.local[0]),)
        mine = BufferLoad(self.local[0], index) if self.rng.random() < 0.7 else self.float(1)
        asked = (mine, const(bit, "int32"), const(width, "int32"))
        value = binary("+", BufferLoad(self.local[0], index), Call(SHUFFLE, asked, "float32"))
        return BufferStore(self.local[0], value, index)

    def vector(self, buffer: Buffer, width: int) -> Ramp:
        """The start of a vector, mostly aligned and inside."""
        most = buffer.shape[0] // width
        place = binary("%", self.place(), const(max(most, 1), "int32"))
        base = place * width
        if self.rng.random() > self.care:
            base = base + self.rng.choice([1, 2])
        return Ramp(base, 1, width)

    def index(self, buffer: Buffer) -> Expr:
        """An index, mostly inside `buffer`, often each thread's own."""
        size = buffer.shape[0]
        wanted = self.place()
        if buffer.scope == "local":
            wanted = self.loops()
        if self.rng.random() < self.care:
            return binary("%", wanted, const(size, "int32"))
        return wanted + self.rng.choice([-1, 0, 1])

    def loops(self) -> Expr:
        """A sum over the loops around."""
        total: Expr = const(self.rng.randint(0, 1), "int32")
        for var, _ in self.free:
            total = total + var * self.rng.choice([0, 1, 2, 4])
        return total

    def place(self) -> Expr:
        """Often an index that tells all threads apart, sometimes one that does not."""
        total: Expr = const(0, "int32")
        reach = 1
        sizes = dict(zip("xyz", self.block, strict=True))
        grid = dict(zip("xyz", self.grid, strict=True))
        blocks = self.rng.random() < 0.7
        for axis, var in reversed(self.axes):
            if axis.startswith("block") and not blocks:
                continue
            if self.rng.random() < 0.9:
                total = total + var * reach
            reach *= (grid if axis.startswith("block") else sizes)[axis[-1]]
        if self.rng.random() < 0.3:
            total = total * 4 + self.loops()
        if self.rng.random() < 0.15:
            total = binary(self.rng.choice(["//", "%"]), total, const(2, "int32"))
        return total

    def condition(self) -> Expr:
        """A condition over threads, blocks, loops or data."""
        if self.rng.random() < 0.15:
            return binary("<", BufferLoad(self.inputs[1], (const(1, "int32"),)), const(5, "int32"))
        op = self.rng.choice(["<", ">=", "==", "!="])
        test = binary(op, self.place(), const(self.rng.randint(0, 6), "int32"))
        return test if self.rng.random() < 0.7 else BinOp("and", test, self.condition())

    def number(self, depth: int) -> Expr:
        """An int32 value."""
        kind = self.rng.random()
        if depth == 0 or kind < 0.3:
            return self.place()
        if kind < 0.5:
            return BufferLoad(self.inputs[1], (self.index(self.inputs[1]),))
        op = self.rng.choice(["+", "-", "*", "//", "%", "min", "max"])
        right = self.number(depth - 1)
        if op in ("//", "%") and self.rng.random() < self.care:
            right = const(self.rng.choice([-3, 2, 5]), "int32")
        return BinOp(op, self.number(depth - 1), right)

    def float(self, depth: int) -> Expr:
        """A float32 value."""
        kind = self.rng.random()
        if depth == 0 or kind < 0.5:
            source = self.rng.choice([*self.inputs[:1], *self.shared, *self.local])
            return BufferLoad(source, (self.index(source),))
        if kind < 0.6:
            return const(self.rng.randint(-4, 4) / 2, "float32")
        if kind < 0.7:
            args = (self.condition(), self.float(depth - 1), self.float(depth - 1))
            return Call("if_then_else", args, "float32")
        if kind < 0.75:
            return Select(self.condition(), self.float(depth - 1), self.float(depth - 1))
        op = self.rng.choice(["+", "-", "*", "min", "max"])
        return BinOp(op, self.float(depth - 1), self.float(depth - 1))


def random_kernel(seed: int) -> Kernel:
    """The kernel number `seed`."""
    return Maker(random.Random(seed)).kernel()
