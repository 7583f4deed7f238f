"""vectorize_loops: several neighbouring cells in one access."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from workbench.arith import Bounds, Simplifier, proved, reads_memory
from workbench.ir import (
    CP_ASYNC,
    BinOp,
    Broadcast,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    Not,
    Ramp,
    Select,
    SeqStmt,
    Stmt,
    Var,
    binary,
    const,
    dtypes,
    free_vars,
    rebuild,
    remembered,
    rewrite,
    seq,
    substitute,
    walk,
    walk_statements,
)
from workbench.lower.async_copies import refuse_odd_copies
from workbench.lower.known_bounds import known_bounds
from workbench.target import Target


def vectorize_loops(kernel: Kernel, target: Target) -> Kernel:
    """Make vector accesses of vectorized loops where they are proved aligned, else unroll these.

    A vector access needs neighbouring cells, from a multiple of its length on, under a condition
    that is the same for all of them. Refuses asynchronous copies of other than 4, 8 or 16 bytes.
    """
    known = known_bounds(kernel)

    def visit(node: Node) -> Node:
        if isinstance(node, For) and node.kind == "vectorized":
            return _vectorized(node, known, target.max_vector_bytes)[0]
        return node

    body = rewrite(kernel.body, visit)
    made = kernel if body is kernel.body else replace(kernel, body=body)
    refuse_odd_copies(made, target)
    return made


@dataclass(frozen=True, slots=True)
class LostVector:
    """A vectorized loop whose iterations are not one vector: how wide vectors are left, and why.

    `why` ends a sentence; `buffer` is the one whose cells are not aligned, if that is why.
    """

    loop: For
    asked: int  # the widest vector that its extent and its types allow
    left: int  # the widest that there is, 1 for single cells
    why: str
    buffer: Buffer | None = None


def lost_vectors(kernel: Kernel, target: Target) -> Iterator[LostVector]:
    """The vectorized loops of `kernel`, as it is before `vectorize_loops`, that lose by it."""
    known = known_bounds(kernel)
    for loop in walk_statements(kernel.body):
        if isinstance(loop, For) and loop.kind == "vectorized" and not _runs_once(loop):
            _, lost = _vectorized(loop, known, target.max_vector_bytes)
            if lost.left == 1 or lost.left < lost.asked:
                yield lost


class _NoVector(Exception):
    """This statement has to run lane by lane."""

    def __init__(self, why: str, buffer: Buffer | None = None) -> None:
        super().__init__(why)
        self.why, self.buffer = why, buffer


def _vectorized(loop: For, known: Bounds, most_bytes: int) -> tuple[Stmt, LostVector]:
    """`loop` in the widest vectors that all of it allows, or unrolled, and what it loses by that.

    Remembered: it is lowered, and then looked at.
    """
    made: dict[Any, tuple[Stmt, LostVector]] = remembered(loop)
    key = "vectors", most_bytes, frozenset(known.items())
    if key not in made:
        made[key] = _in_vectors(loop, known, _widest(loop, most_bytes))
    return made[key]


def _in_vectors(loop: For, known: Bounds, asked: int) -> tuple[Stmt, LostVector]:
    why, buffer = "no vector has that many cells", None
    for lanes in _narrower(asked):
        try:
            return _chunks(loop, lanes, known), LostVector(loop, asked, lanes, why, buffer)
        except _NoVector as missing:
            if lanes == asked:
                why, buffer = missing.why, missing.buffer
    return replace(loop, kind="unrolled"), LostVector(loop, asked, 1, why, buffer)


def in_vectors(loop: For, known: Bounds, most_bytes: int) -> Stmt:
    """`loop` in the widest vectors that all of it allows, unrolled where these are single cells."""
    return _in_vectors(loop, known, _widest(loop, most_bytes))[0]


def _runs_once(loop: For) -> bool:
    return isinstance(loop.extent, Const) and loop.extent.value == 1


def _widest(loop: For, most_bytes: int) -> int:
    """The widest vector that divides `loop` and that the target takes of what it accesses."""
    if not isinstance(loop.extent, Const) or not isinstance(loop.min, Const):
        return 1
    extent = int(loop.extent.value)
    accessed = [n for n in walk(loop.body) if isinstance(n, (BufferLoad, BufferStore))]
    largest = max((dtypes.itemsize(n.buffer.type) for n in accessed), default=1)
    return min(extent & -extent, most_bytes // largest)


def _narrower(lanes: int) -> Iterator[int]:
    while lanes > 1:
        yield lanes
        lanes //= 2


def _chunks(loop: For, lanes: int, known: Bounds) -> Stmt:
    """`loop` in vectors of `lanes`; where that takes several, in an unrolled loop over these."""
    assert isinstance(loop.extent, Const)
    var, extent = loop.loop_var, int(loop.extent.value)
    if extent == lanes:
        return _Vectorizer(var, loop.min, lanes, known).statement(loop.body)
    chunk = Var(var.name, var.type)
    count = extent // lanes
    start = loop.min + chunk * lanes
    inside = {**known, chunk: (0, count - 1)}
    body = _Vectorizer(var, start, lanes, inside).statement(loop.body)
    return For(chunk, const(0, var.type), const(count, var.type), "unrolled", body)


class _Vectorizer:
    """Writes `lanes` iterations of `var`, from `start` on, as one."""

    def __init__(self, var: Var, start: Expr, lanes: int, known: Bounds) -> None:
        self.var, self.start, self.lanes = var, start, lanes
        self.known = known
        self.simplifier = Simplifier(known)
        self.lane = Var("lane", var.type)
        self.by_lane = Simplifier({**known, self.lane: (0, lanes - 1)})

    def statement(self, stmt: Stmt) -> Stmt:
        match stmt:
            case SeqStmt(stmts):
                return seq(*map(self.statement, stmts))
            case For(body=body) if not self._varies(stmt.min) and not self._varies(stmt.extent):
                return replace(stmt, body=self.statement(body))
            case IfThenElse(condition, then_case, else_case):
                otherwise = None if else_case is None else self.statement(else_case)
                return IfThenElse(self._uniform(condition), self.statement(then_case), otherwise)
            case BufferStore(buffer, Call("if_then_else", (condition, yes, no)), indices):
                # a vector is loaded whole, so what guards the load becomes a statement
                return IfThenElse(
                    self._uniform(condition),
                    self.statement(BufferStore(buffer, yes, indices)),
                    self.statement(BufferStore(buffer, no, indices)),
                )
            case BufferStore(buffer, Call("ptx_cp_async", (source,), dtype), (index,)):
                made = Call(CP_ASYNC, (self._copied(source),), dtype)
                return BufferStore(buffer, made, (self._neighbours(index, buffer),))
            case BufferStore(buffer, value, (index,)):
                place = self._neighbours(index, buffer)
                return BufferStore(buffer, self.vector(value), (place,))
        raise _NoVector("its body is more than loads and stores")

    def _neighbours(self, index: Expr, buffer: Buffer) -> Ramp:
        """The cells at `index` where they are next to each other in all lanes, and aligned."""
        place = self._ramp(index)
        if place.stride != 1:
            raise _NoVector(f"its cells of {buffer.name} are not neighbours")
        self._refuse_unaligned(place, buffer)
        return place

    def _copied(self, source: Expr) -> Expr:
        """What is copied asynchronously, whole or not at all."""
        match source:
            case BufferLoad(buffer, (index,)):
                return BufferLoad(buffer, (self._neighbours(index, buffer),))
            case Call("if_then_else", (condition, load, zero), dtype):
                chosen = (self._uniform(condition), self._copied(load), Broadcast(zero, self.lanes))
                return Call("if_then_else", chosen, dtype)
        raise TypeError(f"{type(source).__name__} is not copied asynchronously")

    def vector(self, e: Expr) -> Expr:
        """The values of `e` in all lanes."""
        if not self._varies(e):
            return Broadcast(e, self.lanes)
        if self._is_index(e):
            return self._ramp(e)
        match e:
            case BufferLoad(buffer, (index,)):
                place = self._ramp(index)
                if place.stride == 1:
                    self._refuse_unaligned(place, buffer)
                return BufferLoad(buffer, (place,))
            case Call("if_then_else"):
                raise _NoVector(
                    "each iteration asks a condition"
                )  # deeper in a value; see `statement`
            case BinOp() | Not() | Cast() | Select() | Call():
                return rebuild(e, self._part)
        raise _NoVector("no vector can hold its values")

    def _is_index(self, e: Expr) -> bool:
        """Whether `e` counts in steps that are the same from lane to lane, and cannot overflow."""
        low, high = self.simplifier.expr_interval(e)
        limit = 2 ** (dtypes.BITS[e.dtype] - 1)
        fits = low is not None and high is not None and -limit <= low and high < limit
        return dtypes.is_int(e.dtype) and fits and self._step(e) is not None

    def _part(self, node: Node) -> Node:
        return self.vector(node) if isinstance(node, Expr) else node

    def _varies(self, e: Expr) -> bool:
        return self.var in free_vars(e)

    def _at(self, e: Expr, lane: int) -> Expr:
        return self.simplifier.simplify(substitute(e, {self.var: self.start + lane}))

    def _step(self, index: Expr) -> int | None:
        """How much `index` grows from lane to lane; None where that varies or is not known."""
        moved = substitute(index, {self.var: self.start + self.lane})
        digits = self.by_lane.sum_of(moved).digits
        moving = [digit for digit in digits if self.lane in self.by_lane.variables(digit.base)]
        if any(self.by_lane.part(digit) is not self.lane for digit in moving):
            return None
        return sum(digits[digit] for digit in moving)

    def _ramp(self, index: Expr) -> Ramp:
        step = self._step(index)
        if step is None:
            raise _NoVector("its cells are not in even steps")
        return Ramp(self._at(index, 0), step, self.lanes)

    def _refuse_unaligned(self, place: Ramp, buffer: Buffer) -> None:
        if not proved(binary("==", place.base % self.lanes, 0), self.simplifier):
            why = f"its cells of {buffer.name} may not start at a multiple of {self.lanes}"
            raise _NoVector(why, buffer)

    def _uniform(self, condition: Expr) -> Expr:
        """`condition` in the first lane, where all others agree with it."""
        if not self._varies(condition):
            return condition
        if reads_memory(condition):
            raise _NoVector("what an iteration does depends on memory")
        lanes = [self._at(condition, lane) for lane in range(self.lanes)]
        if len({self.simplifier.number(lane) for lane in lanes}) > 1:
            raise _NoVector("a condition may hold for only a part of a vector")
        return lanes[0]
