"""Whether two programs are the same loops and blocks, with index expressions equal as functions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any
from zlib import crc32

from tests.support.reference import Memory, WrongAccess, _expression
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    Node,
    Not,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    children,
    walk,
)

_POINTS = 200  # at how many points two expressions are compared where there are more


class Different(AssertionError):
    """Where two programs differ."""


def compare(ours: PrimFunc, theirs: PrimFunc) -> None:
    """Raise Different unless the programs agree in loops, names, blocks, bindings and regions."""
    _same("parameters", _buffers(ours.params), _buffers(theirs.params))
    _Comparison().stmt(ours.body, theirs.body)


def _same(what: str, a: object, b: object) -> None:
    if a != b:
        raise Different(f"{what}: ours {a}, theirs {b}")


def _buffers(buffers: Sequence[Buffer]) -> list[tuple[object, ...]]:
    return [(b.name, b.shape, b.type, b.scope) for b in buffers]


class _Comparison:
    def __init__(self) -> None:
        self.dom: dict[str, range] = {}  # of every variable around, by name
        self.where: tuple[Expr, ...] = ()  # our conditions around: what must be the same, where

    def stmt(self, a: Stmt, b: Stmt) -> None:
        _same("kind of statement", type(a).__name__, type(b).__name__)
        if isinstance(a, For) and isinstance(b, For):
            self._loop(a, b)
        elif isinstance(a, BlockRealize) and isinstance(b, BlockRealize):
            self._realize(a, b)
        elif isinstance(a, SeqStmt) and isinstance(b, SeqStmt):
            _same("number of statements", len(a.stmts), len(b.stmts))
            for x, y in zip(a.stmts, b.stmts, strict=True):
                self.stmt(x, y)
        elif isinstance(a, IfThenElse) and isinstance(b, IfThenElse):
            self._functions("condition", [a.condition], [b.condition])
            _same("else", a.else_case is None, b.else_case is None)
            outer = self.where
            self.where = (*outer, a.condition)
            self.stmt(a.then_case, b.then_case)
            if a.else_case is not None and b.else_case is not None:
                self.where = (*outer, Not(a.condition))
                self.stmt(a.else_case, b.else_case)
            self.where = outer
        elif isinstance(a, BufferStore) and isinstance(b, BufferStore):
            self._store(a, b)

    def _loop(self, a: For, b: For) -> None:
        name = a.loop_var.name
        _same("loop", (name, a.kind, a.thread), (b.loop_var.name, b.kind, b.thread))
        _same(f"notes of {name}", dict(a.annotations), dict(b.annotations))
        self._functions(f"values of {name}", [a.min, a.extent], [b.min, b.extent])
        outer = self.dom
        points = self._points([a.min, a.extent])
        ends = [(_value(a.min, env), _value(a.extent, env)) for env in points]
        first, last = min(low for low, _ in ends), max(low + count for low, count in ends)
        self.dom = {**outer, name: range(first, last)}
        self.stmt(a.body, b.body)
        self.dom = outer

    def _realize(self, a: BlockRealize, b: BlockRealize) -> None:
        name = a.block.name
        _same("block", name, b.block.name)
        iters = [[(i.var.name, i.kind) for i in r.block.iter_vars] for r in (a, b)]
        _same(f"iterators of {name}", *iters)
        self._functions(f"T.where of {name}", [a.predicate], [b.predicate])
        self._functions(f"bindings of {name}", a.iter_values, b.iter_values, a.predicate)
        outer = self.dom
        sizes = [[_value(i.dom.extent, {}) for i in r.block.iter_vars] for r in (a, b)]
        _same(f"domains of {name}", *sizes)
        mine = {n: range(size) for (n, _), size in zip(iters[0], sizes[0], strict=True)}
        self.dom = {**outer, **mine}  # blocks inside use the iterators of the blocks around them
        self._block(a.block, b.block)
        self.dom = outer

    def _block(self, a: Block, b: Block) -> None:
        name = a.name
        _same(f"buffers of {name}", _buffers(a.alloc_buffers), _buffers(b.alloc_buffers))
        _same(f"notes of {name}", dict(a.annotations), dict(b.annotations))
        self._regions(f"reads of {name}", a.reads, b.reads)
        self._regions(f"writes of {name}", a.writes, b.writes)
        _same(f"init of {name}", a.init is None, b.init is None)
        if a.init is not None and b.init is not None:
            self.stmt(a.init, b.init)
        self.stmt(a.body, b.body)

    def _regions(self, what: str, a: Sequence[BufferRegion], b: Sequence[BufferRegion]) -> None:
        _same(what, [r.buffer.name for r in a], [r.buffer.name for r in b])
        for x, y in zip(a, b, strict=True):
            sides = [[e for r in z.region for e in (r.min, r.extent)] for z in (x, y)]
            self._functions(f"{what}: {x.buffer.name}", *sides)

    def _store(self, a: BufferStore, b: BufferStore) -> None:
        _same("written buffer", a.buffer.name, b.buffer.name)
        self._functions(f"where {a.buffer.name} is written", a.indices, b.indices)
        self._functions(f"what {a.buffer.name} is set to", [a.value], [b.value])
        loads = [list(_loads(s.value)) for s in (a, b)]
        _same("loads", *([load.buffer.name for load, _ in side] for side in loads))
        for (x, where), (y, _) in zip(*loads, strict=True):
            self._functions(f"where {x.buffer.name} is read", x.indices, y.indices, *where)

    def _functions(self, what: str, a: Sequence[Expr], b: Sequence[Expr], *where: Expr) -> None:
        where = (*self.where, *where)
        for env in self._points([*a, *b, *where]):
            if not all(_value(condition, env) for condition in where):
                continue
            values = [[_value(e, env) for e in side] for side in (a, b)]
            if values[0] != values[1]:
                raise Different(f"{what}: ours {values[0]}, theirs {values[1]} at {env}")

    def _points(self, used: Sequence[Expr]) -> Iterator[dict[str, int]]:
        """Values of the variables of `used`: every combination, or some where there are many."""
        names = sorted({n.name for e in used for n in walk(e) if isinstance(n, Var)})
        ranges = [self.dom[name] for name in names]
        if prod(map(len, ranges)) <= _POINTS:
            every: Iterator[Sequence[int]] = product(*ranges)
        else:
            rng = random.Random(0)
            every = ([rng.choice(r) for r in ranges] for _ in range(_POINTS))
        for point in every:
            yield dict(zip(names, point, strict=True))


def _loads(e: Node, where: tuple[Expr, ...] = ()) -> Iterator[tuple[BufferLoad, tuple[Expr, ...]]]:
    """The loads of `e`, each with the conditions under which it takes place."""
    match e:
        case Call(op="if_then_else", args=(condition, value, other)):
            yield from _loads(condition, where)
            yield from _loads(value, (*where, condition))
            yield from _loads(other, (*where, Not(condition)))
            return
        case BufferLoad():
            yield e, where
    for child in children(e):
        yield from _loads(child, where)


def _value(e: Expr, env: Mapping[str, int]) -> Any:
    variables = {n: env[n.name] for n in walk(e) if isinstance(n, Var)}
    try:
        return _expression(e)(variables, _Filled({}))
    except WrongAccess as outside:  # a condition around the block keeps it from there
        return str(outside)


class _Filled(Memory):
    """Memory that was written everywhere."""

    def __missing__(self, buffer: Buffer) -> _Cells:
        return _Cells(buffer.name)


class _Cells(dict[tuple[int, ...], int]):
    """Cells that hold numbers of their own, the same for buffers of one name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, place: tuple[int, ...]) -> int:
        return crc32(repr((self.name, place)).encode()) % 19 + 1  # no zeros to divide by
