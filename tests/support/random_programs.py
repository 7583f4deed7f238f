"""Random programs: one to three stages, each a loop nest with a block; and inputs for them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from workbench.arith import access_regions, bounds
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    For,
    IfThenElse,
    IterVar,
    PrimFunc,
    Range,
    Select,
    Stmt,
    Var,
    binary,
    cast,
    const,
    dtypes,
    seq,
)

EXTENTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16)  # odd ones among those that divide well
DTYPES = ("float32",) * 4 + ("int32",) * 3 + ("float64", "int64", "int8", "float16")
MOST_ITERATIONS = 300  # of one stage
VALUES = ("plain", "plain", "window", "pad", "product", "select", "maths", "index")
NAMES = "ABCDEFGHIJKLMNOPQ"


@dataclass
class Builder:
    """The program so far: its parameters, the buffers that hold something, its stages."""

    rng: random.Random
    params: list[Buffer] = field(default_factory=list)
    filled: list[Buffer] = field(default_factory=list)
    stages: list[Stmt] = field(default_factory=list)

    def name(self) -> str:
        """A buffer name that is free."""
        return NAMES[len(self.params) + len(self.filled)]

    # --- one stage -------------------------------------------------------------------------------

    def add_stage(self) -> None:
        """A block over one to three spatial and at most two reduction iterators."""
        rng = self.rng
        if self.filled and rng.random() < 0.25:
            self._add_elementwise()
            return
        dtype = rng.choice(DTYPES)
        spatial = self._extents(rng.choice((1, 1, 2, 2, 2, 3)), MOST_ITERATIONS)
        reduces = rng.random() < 0.35
        reduced = (
            self._extents(rng.choice((1, 1, 2)), MOST_ITERATIONS // prod(spatial))
            if reduces
            else []
        )
        iters = [
            IterVar(Var(f"v{n}"), _dom(e), "spatial") for n, e in zip("ijl", spatial, strict=False)
        ]
        iters += [
            IterVar(Var(f"v{n}"), _dom(e), "reduce") for n, e in zip("kr", reduced, strict=False)
        ]
        order = list(iters)
        at = [it.var for it in iters if it.kind == "spatial"]
        if rng.random() < 0.15:
            rng.shuffle(at)
        extents = {it.var: it.dom.extent.value for it in iters}  # type: ignore[attr-defined]
        index: tuple[Expr, ...] = tuple(at)
        value = self._value(dtype, [it.var for it in iters], extents)
        target = Buffer(self.name(), tuple(extents[v] for v in at), dtype)
        block = self._block(target, index, value, iters, reduces)
        if not reduces and rng.random() < 0.1:
            block = self._branching(block, index)
        self.stages.append(self._nest(block, order))
        self.filled.append(target)

    def _add_elementwise(self) -> None:
        """A block that makes each element from the same element of the last buffer."""
        rng = self.rng
        source = self.filled[-1]
        names = "ijl"[: len(source.shape)]
        iters = [
            IterVar(Var(f"v{n}"), _dom(e), "spatial")
            for n, e in zip(names, source.shape, strict=True)
        ]
        at = tuple(it.var for it in iters)
        dtype = rng.choice((source.type, "float32"))
        other = const(rng.choice((1, 2, 3)), dtype)
        op = rng.choice(("+", "max", "min", "*"))
        value = binary(op, _converted(dtype, source[at]), other)
        target = Buffer(self.name(), source.shape, dtype)
        self.stages.append(self._nest(self._block(target, at, value, iters, False), iters))
        self.filled.append(target)

    def _extents(self, count: int, most: int) -> list[int]:
        extents: list[int] = []
        for _ in range(count):
            fitting = [e for e in EXTENTS if e * prod(extents) <= max(most, 1)]
            extents.append(self.rng.choice(fitting or [1]))
        return extents

    def _block(
        self,
        target: Buffer,
        index: tuple[Expr, ...],
        value: Expr,
        iters: list[IterVar],
        reduces: bool,
    ) -> Block:
        init = None
        if reduces:
            sums = () if len(self.filled) > 1 or target.type == "float16" else ("+", "+")
            op = self.rng.choice((*sums, "max", "min"))  # sums of sums of sums would be rounded
            start = {"+": 0, "max": -100, "min": 100}[op]
            init = BufferStore(target, const(start, target.type), index)
            value = binary(op, target[index], value)
        body = BufferStore(target, value, index)
        block = Block(target.name, tuple(iters), (), (), body, init=init)
        reads, writes = access_regions(block)
        return replace(block, reads=reads, writes=writes)

    def _branching(self, block: Block, index: tuple[Expr, ...]) -> Block:
        """`block` with something else stored in part of its iterations."""
        store = block.body
        assert isinstance(store, BufferStore)
        condition = binary(self.rng.choice(("<", ">=", "!=")), index[0], self.rng.choice((1, 2)))
        other = BufferStore(store.buffer, const(3, store.buffer.type), store.indices)
        block = replace(block, body=IfThenElse(condition, store, other))
        reads, writes = access_regions(block)
        return replace(block, reads=reads, writes=writes)

    def _nest(self, block: Block, order: list[IterVar]) -> Stmt:
        """Loops around `block`: one an iterator, or fused, or too many and a predicate."""
        rng = self.rng
        loops: list[tuple[Var, int]] = []
        values: dict[IterVar, Expr] = {}
        predicate: Expr = TRUE
        fuse = len(order) >= 2 and rng.random() < 0.1 and order[0].kind == order[1].kind
        for position, it in enumerate(order):
            extent = it.dom.extent.value  # type: ignore[attr-defined]
            loop = Var(it.var.name[1:])
            if fuse and position == 1:
                continue
            if fuse and position == 0:
                second = order[1].dom.extent.value  # type: ignore[attr-defined]
                values[it], values[order[1]] = loop // second, loop % second
                loops.append((loop, extent * second))
            elif rng.random() < 0.1:  # as a split that does not divide leaves it
                inner = rng.choice((2, 3, 4))
                low = Var(loop.name + "1")
                outer = -(-extent // inner)
                values[it] = loop * inner + low
                if outer * inner != extent:
                    predicate = binary("and", predicate, values[it] < extent)
                loops += [(loop, outer), (low, inner)]
            else:
                values[it] = loop
                loops.append((loop, extent))
        stmt: Stmt = BlockRealize(tuple(values[it] for it in block.iter_vars), predicate, block)
        for var, extent in reversed(loops):
            stmt = For(var, const(0, "int32"), const(extent, "int32"), "serial", stmt)
        return stmt

    # --- values ----------------------------------------------------------------------------------

    def _value(self, dtype: str, variables: list[Var], extents: dict[Var, int]) -> Expr:
        """What the block computes: one to three loads and what is made of them."""
        rng = self.rng
        kind = rng.choice(VALUES)
        first = self._operand(dtype, variables, extents)
        if kind == "window":
            return self._window(dtype, variables, extents)
        if kind == "pad":
            var = rng.choice(variables)
            if rng.random() < 0.5:
                return self._padded(dtype, variables, extents)
            return Call("if_then_else", (var >= 1, first, const(1, dtype)), dtype)
        if kind == "product" and dtype not in ("int8", "float16") and not self.filled:
            return self._product(dtype, variables, extents)
        second = self._operand(dtype, variables, extents)
        op = rng.choice(("+", "-", "max", "min", "*"))
        if dtype in ("int8", "float16") or self.filled:  # small enough to stay exact
            op = rng.choice(("max", "min", "+"))
        if kind == "select":
            return Select(
                binary(rng.choice(("<", "==", ">=")), first, second), first, const(2, dtype)
            )
        if kind == "maths" and dtype == "int32":
            return binary(rng.choice(("//", "%")), first, const(rng.choice((2, 3, 4)), dtype))
        if kind == "index":
            return binary("+", first, cast(dtype, rng.choice(variables)))
        return binary(op, first, second)

    def _operand(self, dtype: str, variables: list[Var], extents: dict[Var, int]) -> Expr:
        rng = self.rng
        if rng.random() < 0.1:
            return const(rng.randint(-2, 3), dtype)
        if self.filled and rng.random() < 0.75:
            source = self.filled[-1] if rng.random() < 0.8 else rng.choice(self.filled)
            load: Expr = source[tuple(self._fitting(s, variables, extents) for s in source.shape)]
        elif self.params and rng.random() < 0.3:
            source = rng.choice(self.params)
            load = source[tuple(self._fitting(s, variables, extents) for s in source.shape)]
        else:
            load = self._new_input(dtype, variables, extents)
        return _converted(dtype, load)

    def _window(self, dtype: str, variables: list[Var], extents: dict[Var, int]) -> Expr:
        """The sum of neighbours along one variable, of an input that is large enough."""
        var, width = self.rng.choice(variables), self.rng.choice((2, 3))
        source = Buffer(self.name(), (extents[var] + width - 1,), dtype)
        self.params.append(source)
        total: Expr = source[var]
        for offset in range(1, width):
            total = total + source[var + offset]
        return total

    def _padded(self, dtype: str, variables: list[Var], extents: dict[Var, int]) -> Expr:
        """An input with a border of ones around it."""
        inside: Expr = TRUE
        at: list[Expr] = []
        shape: list[int] = []
        for var in variables:
            before = self.rng.choice((0, 1, 2))
            size = max(1, extents[var] - before - self.rng.choice((0, 1)))
            if before:
                inside = binary("and", inside, var >= before)
            if before + size < extents[var]:
                inside = binary("and", inside, var < before + size)
            at.append(var - before)
            shape.append(size)
        source = Buffer(self.name(), tuple(shape), dtype)
        self.params.append(source)
        value = source[tuple(at)]
        return Call("if_then_else", (inside, value, const(1, dtype)), dtype)

    def _product(self, dtype: str, variables: list[Var], extents: dict[Var, int]) -> Expr:
        """The product of two inputs, each at some of the variables, as matrices are multiplied."""
        last = variables[-1]
        value: Expr = const(1, dtype)
        for some in (variables[:1], variables[1:]):
            at = list(dict.fromkeys((*some, last)))
            source = Buffer(self.name(), tuple(extents[v] for v in at), dtype)
            self.params.append(source)
            value = binary("*", value, source[tuple(at)])
        return value

    def _new_input(self, dtype: str, variables: list[Var], extents: dict[Var, int]) -> Expr:
        rng = self.rng
        used = rng.sample(variables, rng.randint(1, min(len(variables), 3)))
        indices = [self._index(v, variables) for v in used]
        dom = {v: (0, extents[v] - 1) for v in variables}
        tops = [bounds(index, dom) for index in indices]
        shape = tuple(top[1] + 1 for top in tops if top)
        kind = (
            rng.choice((dtype, dtype, dtype, "int32", "float32")) if dtype != "float16" else dtype
        )
        source = Buffer(self.name(), shape, kind)
        self.params.append(source)
        return source[tuple(indices)]

    def _index(self, var: Var, variables: list[Var]) -> Expr:
        """An index that grows with `var`."""
        rng = self.rng
        kind = rng.choice(("plain",) * 6 + ("shift", "stride", "halve", "wrap", "sum"))
        if kind == "shift":
            return var + rng.choice((1, 2))
        if kind == "stride":
            return var * 2 + rng.choice((0, 1))
        if kind == "halve":
            return var // 2
        if kind == "wrap":
            return var % rng.choice((2, 3, 4))
        if kind == "sum":
            return var + rng.choice(variables)
        return var

    def _fitting(self, size: int, variables: list[Var], extents: dict[Var, int]) -> Expr:
        """An index that stays below `size`."""
        rng = self.rng
        exact = [v for v in variables if extents[v] == size]
        if exact and rng.random() < 0.8:
            return rng.choice(exact)
        var = rng.choice(variables)
        room = size - extents[var]
        if room < 0:
            return rng.choice((var % size, BinOp("min", var, Const(size - 1, "int32"))))
        return var + rng.randint(0, room) if rng.random() < 0.5 else var


def _dom(extent: int) -> Range:
    return Range(const(0, "int32"), const(extent, "int32"))


def _converted(dtype: str, e: Expr) -> Expr:
    """`e` as `dtype`; a float that int8 may not hold goes through int32, as C defines only that."""
    if e.dtype == dtype:
        return e
    if dtype == "int8" and dtypes.is_float(e.dtype):
        e = Cast("int32", e)
    return Cast(dtype, e)


def random_program(rng: random.Random) -> PrimFunc:
    """A program of one to three stages; the last buffer, and sometimes others, are parameters."""
    builder = Builder(rng)
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        builder.add_stage()
    last = builder.filled[-1]
    outputs = [b for b in builder.filled if b is last or rng.random() < 0.1]
    inside = tuple(b for b in builder.filled if b not in outputs)
    root = Block("root", (), (), (), seq(*builder.stages), alloc_buffers=inside)
    return PrimFunc("main", (*builder.params, *outputs), BlockRealize((), TRUE, root))


def random_inputs(func: PrimFunc, rng: random.Random) -> list[np.ndarray[Any, Any]]:
    """Whole-numbered arrays for every parameter, all different in neighbouring cells."""
    generator = np.random.default_rng(rng.randrange(2**32))
    return [generator.integers(-4, 6, p.shape).astype(p.type) for p in func.params]


def fresh(arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Copies, for a run that writes in place."""
    return [array.copy() for array in arrays]
