"""Every load and store of a program or kernel, with the loops and conditions around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from workbench.ir import (
    THREAD_AXES,
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    Not,
    PrimFunc,
    Ramp,
    SeqStmt,
    Stmt,
    Var,
    binary,
    children,
    const,
    free_vars,
    substitute,
    walk,
)


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop, or a thread axis with all the loops bound to it.

    `role` is "block", "thread", "reduce" or "serial"; `name` the axis ("blockIdx.x") or the loop's
    own name. `extent` counts iterations.
    """

    var: Var
    name: str
    role: str
    extent: int


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Access:
    """One load or store: `indices` and `guards` are in terms of the variables of `loops`.

    `stage` names the block (or kernel) it stands in, `nest` counts the root's nests. `time` is the
    step, within one thread, as (constant, factor of each serial loop). `width` is the length of
    the vector. `store` is the statement, None for a load in a condition.
    """

    node: BufferLoad | BufferStore
    indices: tuple[Expr, ...]
    guards: tuple[Expr, ...]
    loops: tuple[Loop, ...]
    stage: str
    nest: int
    time: tuple[int, dict[Var, int]]
    width: int
    store: BufferStore | None
    init: bool

    @property
    def buffer(self) -> Buffer:
        """The buffer that it touches."""
        return self.node.buffer

    @property
    def writes(self) -> bool:
        """Whether it is a store."""
        return isinstance(self.node, BufferStore)

    def used(self) -> set[Var]:
        """The variables on which the cell depends."""
        return {v for index in self.indices for v in free_vars(index)}


@dataclass(frozen=True, slots=True)
class _Place:
    """What surrounds a statement on the way down."""

    loops: tuple[Loop, ...] = ()
    guards: tuple[Expr, ...] = ()
    values: dict[Var, Expr] = field(default_factory=dict)
    stage: str = ""
    nest: int = 0
    start: int = 0
    factors: dict[Var, int] = field(default_factory=dict)
    init: bool = False


_CACHE: WeakKeyDictionary[Node, tuple[Access, ...]] = WeakKeyDictionary()


def accesses(program: PrimFunc | Kernel) -> tuple[Access, ...]:
    """Every access of `program` in program order; loads come before the store they feed.

    All threads of a launch run each statement of its nest, whether or not it uses their index.
    """
    if program not in _CACHE:
        found = _of_kernel(program) if isinstance(program, Kernel) else _of_func(program)
        _CACHE[program] = tuple(found)
    return _CACHE[program]


def _of_kernel(kernel: Kernel) -> Iterator[Access]:
    sizes = dict(zip(THREAD_AXES, (*kernel.grid, *kernel.block), strict=True))
    loops = tuple(Loop(var, axis, axis[: -len("Idx.x")], sizes[axis]) for axis, var in kernel.axes)
    yield from _Walk({}, set()).visit(kernel.body, _Place(loops, stage=kernel.name))


def _of_func(func: PrimFunc) -> Iterator[Access]:
    body = func.root.body
    reduced = reduce_loops(func)
    start = 0
    for nest, stmt in enumerate(body.stmts if isinstance(body, SeqStmt) else (body,)):
        bound = [n for n in walk(stmt) if isinstance(n, For) and n.thread is not None]
        axes: dict[str, Loop] = {}
        for loop in bound:
            assert loop.thread is not None
            before = axes.get(loop.thread)
            extent = max(_number(loop.extent), before.extent if before else 0)
            var = before.var if before else loop.loop_var
            axes[loop.thread] = Loop(var, loop.thread, loop.thread[: -len("Idx.x")], extent)
        walker = _Walk(axes, reduced)
        loops = tuple(axes[a] for a in THREAD_AXES if a in axes)
        yield from walker.visit(stmt, _Place(loops, nest=nest, start=start))
        start += walker.steps(stmt)


def reduce_loops(func: PrimFunc) -> set[Var]:
    """The loop variables that drive a reduction iterator."""
    found: set[Var] = set()
    for node in walk(func.body):
        if isinstance(node, BlockRealize):
            for iterator, value in zip(node.block.iter_vars, node.iter_values, strict=True):
                if iterator.kind == "reduce":
                    found |= set(free_vars(value))
    return found


def _number(expr: Expr) -> int:
    """A constant extent; a loop of unknown length counts as one iteration."""
    return int(expr.value) if isinstance(expr, Const) else 1


class _Walk:
    """Goes down a nest, gathering what surrounds each access."""

    def __init__(self, axes: dict[str, Loop], reduced: set[Var]) -> None:
        self.axes, self.reduced = axes, reduced
        self._steps: dict[Stmt, int] = {}

    def steps(self, stmt: Stmt) -> int:
        """How many block instances one thread runs in `stmt`."""
        if stmt not in self._steps:
            self._steps[stmt] = self._count(stmt)
        return self._steps[stmt]

    def _count(self, stmt: Stmt) -> int:
        match stmt:
            case For(thread=None):
                return _number(stmt.extent) * self.steps(stmt.body)
            case For():
                return self.steps(stmt.body)
            case SeqStmt():
                return sum(self.steps(s) for s in stmt.stmts)
            case IfThenElse():
                other = self.steps(stmt.else_case) if stmt.else_case else 0
                return max(self.steps(stmt.then_case), other)  # a thread runs one of them
            case BlockRealize():
                return self.steps(stmt.block.body)
            case BufferStore():
                return 1
        return 0

    def visit(self, stmt: Stmt, at: _Place) -> Iterator[Access]:
        """The accesses of `stmt`."""
        match stmt:
            case SeqStmt():
                start = at.start
                for part in stmt.stmts:
                    yield from self.visit(part, replace(at, start=start))
                    start += self.steps(part)
            case For():
                yield from self._loop(stmt, at)
            case IfThenElse():
                condition = substitute(stmt.condition, at.values)
                yield from self._loads(condition, at, None)
                yield from self.visit(stmt.then_case, _guarded(at, condition))
                if stmt.else_case is not None:
                    yield from self.visit(stmt.else_case, _guarded(at, Not(condition)))
            case BlockRealize():
                yield from self._realize(stmt, at)
            case BufferStore():
                yield from self._store(stmt, at)

    def _loop(self, loop: For, at: _Place) -> Iterator[Access]:
        start = substitute(loop.min, at.values)
        if loop.thread is not None:
            axis = self.axes[loop.thread]
            value = binary("+", start, axis.var)
            place = replace(at, values={**at.values, loop.loop_var: value})
            if _number(loop.extent) < axis.extent:
                limit = binary("<", axis.var, const(_number(loop.extent), axis.var.type))
                place = _guarded(place, limit)
            yield from self.visit(loop.body, place)
            return
        role = "reduce" if loop.loop_var in self.reduced else "serial"
        own = Loop(loop.loop_var, loop.loop_var.name, role, _number(loop.extent))
        value = binary("+", start, loop.loop_var)
        factors = {**at.factors, loop.loop_var: self.steps(loop.body)}
        place = replace(at, loops=(*at.loops, own), factors=factors)
        if value is not loop.loop_var:
            place = replace(place, values={**at.values, loop.loop_var: value})
        yield from self.visit(loop.body, place)

    def _realize(self, realize: BlockRealize, at: _Place) -> Iterator[Access]:
        block = realize.block
        if realize.predicate is not TRUE:
            at = _guarded(at, substitute(realize.predicate, at.values))
        values = dict(at.values)
        for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True):
            values[iterator.var] = substitute(value, at.values)
        inside = replace(at, values=values, stage=block.name)
        if block.init is not None:
            first = inside
            for condition in _first_conditions(block, values):
                first = _guarded(first, condition)
            yield from self.visit(block.init, replace(first, init=True))
        yield from self.visit(block.body, inside)

    def _store(self, store: BufferStore, at: _Place) -> Iterator[Access]:
        width = max((n.lanes for n in walk(store) if isinstance(n, Ramp)), default=1)
        yield from self._loads(store.value, at, store)
        for index in store.indices:
            yield from self._loads(index, at, store)
        yield _access(store, at, width, store)

    def _loads(self, expr: Expr, at: _Place, store: BufferStore | None) -> Iterator[Access]:
        match expr:
            case Call(op="if_then_else", args=(condition, yes, no)):
                yield from self._loads(condition, at, store)
                test = substitute(condition, at.values)
                yield from self._loads(yes, _guarded(at, test), store)
                yield from self._loads(no, _guarded(at, Not(test)), store)
                return
            case BinOp(op="and" | "or" as op, a=a, b=b):
                yield from self._loads(a, at, store)
                test = substitute(a, at.values)
                yield from self._loads(b, _guarded(at, test if op == "and" else Not(test)), store)
                return
        for child in children(expr):
            if isinstance(child, Expr):
                yield from self._loads(child, at, store)
        if isinstance(expr, BufferLoad):
            width = max((n.lanes for n in walk(expr) if isinstance(n, Ramp)), default=1)
            yield _access(expr, at, width, store)


def _access(
    node: BufferLoad | BufferStore, at: _Place, width: int, store: BufferStore | None
) -> Access:
    indices = tuple(substitute(index, at.values) for index in node.indices)
    time = (at.start, at.factors)
    return Access(
        node,
        indices,
        at.guards,
        at.loops,
        at.stage,
        at.nest,
        time,
        width,
        store,
        at.init,
    )


def _guarded(at: _Place, condition: Expr) -> _Place:
    if isinstance(condition, Const) and condition.value:
        return at
    return replace(at, guards=(*at.guards, condition))


def _first_conditions(block: Block, values: dict[Var, Expr]) -> Iterator[Expr]:
    for iterator in block.iter_vars:
        if iterator.kind == "reduce":
            yield binary("==", values[iterator.var], iterator.dom.min)
