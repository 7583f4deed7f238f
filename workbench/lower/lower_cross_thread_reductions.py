"""lower_cross_thread_reductions: sums that threads share out, as parts that they put together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.access.cross_thread import Reduction
from workbench.check.exchange import Exchange, exchange, shared_out
from workbench.check.kernels import Nest, nests
from workbench.ir import (
    SHUFFLE,
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Const,
    Expr,
    For,
    IfThenElse,
    Node,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    Var,
    binary,
    const,
    dtypes,
    rebuild,
    seq,
    substitute,
)
from workbench.target import Target

_NEUTRAL = {"+": 0, "*": 1, "min": math.inf, "max": -math.inf}


def lower_cross_thread_reductions(func: PrimFunc, target: Target) -> PrimFunc:
    """Let each thread of a shared sum add up its part, then all put the parts together.

    Raises nothing: what threads can't share out was refused before.
    """
    changed: dict[Stmt, Stmt] = {}
    own: list[Buffer] = []
    for nest in nests(func):
        for found in shared_out(nest):
            made = _Shared(found, nest, exchange(found, nest, target), target)
            changed[found.loops[0]] = made.statement(changed)
            own += made.own
    if not changed:
        return func
    lowered = nests(func)[0].known.replace_each(changed)
    root = lowered.root
    with_own = replace(root, alloc_buffers=(*root.alloc_buffers, *own))
    assert isinstance(lowered.body, BlockRealize)
    return replace(lowered, body=replace(lowered.body, block=with_own))


@dataclass(frozen=True, slots=True)
class _Lane:
    """One thread among those that share a sum: which part, of which group, it has."""

    part: Expr
    group: Expr


class _Shared:
    """The statements that one reduction becomes; `own` are the buffers that they use."""

    def __init__(self, found: Reduction, nest: Nest, how: Exchange, target: Target) -> None:
        assert found.update is not None
        self.found, self.nest, self.how, self.warp = found, nest, how, target.warp_size
        self.update = found.update
        result = self.update.store.buffer
        self.dtype, self.op = result.type, self.update.op
        self.part = Buffer(f"in_thread_{result.name}", (1,), self.dtype, "local")
        self.result = result
        self.own = [self.part]
        self.wrapped: list[For] = []  # loops over the axes that nothing around names
        self.lane = self._place()

    def statement(self, ahead: Mapping[Stmt, Stmt]) -> Stmt:
        """What the loops of the reduction become; `ahead`: what those of others have become."""
        found = self.found
        parts = self._part_of(found.loops[0], ahead)
        body = seq(self._set(self._first()), parts, *self._exchanged(), self._result())
        kept = [loop for loop in found.loops if loop in found.spatial]
        for loop in reversed([*self.wrapped, *kept, *found.threads]):
            body = replace(loop, body=body)
        return body

    # --- who is who -------------------------------------------------------------------------

    def _place(self) -> _Lane:
        """Where a thread stands: among the parts of its sum, and among the groups of threads."""
        inner = [*self.nest.known.all_loops_above(self.found.loops[0]), *self.found.loops]
        part: Expr = _whole(0)
        group: Expr = _whole(0)
        for axis in ("threadIdx.z", "threadIdx.y", "threadIdx.x"):
            size = self.nest.size(axis)
            if size == 1:
                continue
            loop = next((one for one in reversed(inner) if one.thread == axis), None)
            if loop is None:
                var, ends = Var(f"t{axis[-1]}", "int32"), (_whole(0), _whole(size))
                loop = For(var, *ends, "thread_binding", self.found.realize, axis)
                self.wrapped.append(loop)
            place = loop.loop_var - loop.min
            if loop in self.found.threads:
                part = part * size + place
            else:
                group = group * size + place
        return _Lane(part, group)

    def _is_first(self) -> Expr:
        """Whether a thread is the one of its group that writes what they share."""
        condition: Expr = TRUE
        for loop in self.found.threads:
            condition = binary("and", condition, binary("==", loop.loop_var, loop.min))
        return condition

    # --- each thread's own part -------------------------------------------------------------

    def _first(self) -> Expr:
        """What a part starts from: what the sum starts from, if that may come in twice."""
        start = self._start()
        again = self.op in ("min", "max") and isinstance(start, Const)
        return start if again and start is not None and self._starts() else self._neutral()

    def _starts(self) -> bool:
        """Whether the whole sum is done here, from its start on."""
        return isinstance(self.found.start, Const) and bool(self.found.start.value)

    def _neutral(self) -> Expr:
        value = _NEUTRAL[self.op]
        if math.isinf(value) and not dtypes.is_float(self.dtype):
            value = dtypes.limits(self.dtype)[self.op == "min"]
        return const(value, self.dtype)

    def _start(self) -> Expr | None:
        init = self.found.block.init
        if init is None:
            return None
        assert isinstance(init, BufferStore)
        return substitute(init.value, self.found.values)

    def _mine(self) -> BufferLoad:
        return BufferLoad(self.part, (_whole(0),))

    def _set(self, value: Expr) -> BufferStore:
        return BufferStore(self.part, value, (_whole(0),))

    def _add(self, value: Expr) -> BufferStore:
        return self._set(binary(self.op, self._mine(), value))

    def _part_of(self, stmt: Stmt, ahead: Mapping[Stmt, Stmt]) -> Stmt:
        """What a thread does of `stmt`: its share of the loops, and what stands in them."""
        found = self.found
        if isinstance(stmt, For):
            body = self._part_of(stmt.body, ahead)
            stays = stmt in found.reduced and stmt not in found.threads
            return replace(stmt, body=body) if stays else body
        if isinstance(stmt, SeqStmt):
            before = (_lowered(other, ahead) for other in stmt.stmts[:-1])
            return seq(*before, self._part_of(stmt.stmts[-1], ahead))
        update: Stmt = self._add(substitute(self.update.term, found.values))
        if found.realize.predicate is not TRUE:
            update = IfThenElse(found.realize.predicate, update)
        return update

    # --- the parts put together -------------------------------------------------------------

    def _exchanged(self) -> list[Stmt]:
        how = self.how
        if how.how == "lanes":
            return self._shuffled(how.parts)
        if how.how == "warps":
            return self._by_warps()
        return self._through_memory()

    def _shuffled(self, width: int) -> list[Stmt]:
        """Each of `width` neighbours gets what all of them have, added up in pairs."""
        steps: list[Stmt] = []
        lanes = width
        while lanes > 1:
            lanes //= 2
            others = Call(SHUFFLE, (self._mine(), _whole(lanes), _whole(width)), self.dtype)
            steps.append(self._add(others))
        return steps

    def _by_warps(self) -> list[Stmt]:
        """As many as a warp has first; one part a warp goes through shared memory."""
        part, group = self.lane.part, self.lane.group
        count, lanes = self.how.width, 1
        while lanes < count:
            lanes *= 2
        memory = self._memory("red_buf", (self.how.groups, count))
        leaves = binary("==", part % self.warp, 0)
        left = IfThenElse(leaves, BufferStore(memory, self._mine(), (group, part // self.warp)))
        place = part % lanes
        taken: Expr = BufferLoad(memory, (group, place))
        if lanes > count:
            has = binary("<", place, count)
            taken = Call("if_then_else", (has, taken, self._neutral()), self.dtype)
        return [*self._shuffled(self.warp), left, self._set(taken), *self._shuffled(lanes)]

    def _through_memory(self) -> list[Stmt]:
        """All parts lie in shared memory, and as many as a warp has at most are added up by all."""
        part, group = self.lane.part, self.lane.group
        parts, width = self.how.parts, self.how.width
        if parts == 1:
            return []
        memory = self._memory("red_buf", (parts, self.how.groups))
        steps: list[Stmt] = [BufferStore(memory, self._mine(), (part, group))]
        if parts > width:
            turn = Var("m", "int32")
            place = part + (turn + 1) * width
            more: Stmt = self._add(BufferLoad(memory, (place, group)))
            if parts % width:
                more = IfThenElse(binary("<", place, parts), more)
            rounds = _whole(-(-parts // width) - 1)
            memory = self._memory("red_buf_1", (width, self.how.groups))
            few = seq(
                For(turn, _whole(0), rounds, "serial", more),
                BufferStore(memory, self._mine(), (part, group)),
            )
            steps.append(IfThenElse(binary("<", part, width), few))
        turn = Var("m", "int32")
        last = self._add(BufferLoad(memory, (turn, group)))
        number = _whole(width)
        return [*steps, self._set(self._neutral()),
                For(turn, _whole(0), number, "serial", last)]  # fmt: skip

    def _memory(self, name: str, shape: Sequence[int]) -> Buffer:
        buffer = Buffer(f"{name}_{self.result.name}", tuple(shape), self.dtype, "shared")
        self.own.append(buffer)
        return buffer

    # --- what comes out ---------------------------------------------------------------------

    def _result(self) -> Stmt:
        """One thread writes what others can see; where each has a result of its own, all do."""
        found, block = self.found, self.found.block
        cell = tuple(substitute(index, found.values) for index in self.update.store.indices)
        touches = found.touches
        if self.result.scope != "local":
            touches = binary("and", touches, self._is_first())
        held = BufferLoad(self.result, cell)
        steps: list[Stmt] = []
        value: Expr = binary(self.op, held, self._mine())
        first = self._start()
        if first is not None and self._starts():
            value = self._mine() if self._counts(first) else binary(self.op, first, self._mine())
        elif first is not None:
            steps.append(IfThenElse(found.start, BufferStore(self.result, first, cell)))
        steps.append(BufferStore(self.result, value, cell))
        opaque = replace(
            block,
            iter_vars=(),
            reads=(BufferRegion(self.part, (Range(_whole(0), _whole(1)),)),),
            writes=tuple(substitute(region, found.values) for region in block.writes),
            body=seq(*steps),
            init=None,
        )
        return BlockRealize((), touches, opaque)

    def _counts(self, first: Expr) -> bool:
        """Whether the parts have the start of the sum in them already."""
        own = self._first()
        return isinstance(first, Const) and isinstance(own, Const) and own.value == first.value


def _lowered(stmt: Stmt, changed: Mapping[Stmt, Stmt]) -> Stmt:
    """`stmt` with the loops of other shared sums in it as they have become."""

    def visit(node: Node) -> Node:
        if isinstance(node, Stmt) and node in changed:
            return changed[node]
        return rebuild(node, visit) if isinstance(node, (Stmt, Block)) else node

    return visit(stmt)  # type: ignore[return-value]


def _whole(value: int) -> Const:
    return Const(value, "int32")
