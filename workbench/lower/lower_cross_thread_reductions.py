"""lower_cross_thread_reductions: sums that threads share out, as parts that they put together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.access.cross_thread import Reduction
from workbench.access.updates import Sums, Update
from workbench.check.exchange import Exchange, exchange, shared_out
from workbench.check.kernels import Nest, extent_of, nests
from workbench.ir import (
    SHUFFLE,
    TRUE,
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
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    Var,
    binary,
    const,
    dtypes,
    replace_each,
    seq,
    stores,
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
        self.results = self.update.buffers
        self.own: list[Buffer] = []
        self.mine = self._memory("in_thread", (1,), "local")
        together = not isinstance(self.update, Sums)  # all are taken before one changes
        self.others = self._memory("other_thread", (1,), "local") if together else []
        self.wrapped: list[For] = []  # loops over the axes that nothing around names
        self.lane = self._place()

    def statement(self, ahead: Mapping[Stmt, Stmt]) -> Stmt:
        """What the loops of the reduction become; `ahead`: what those of others have become."""
        found = self.found
        parts = self._part_of(found.loops[0], ahead)
        body = seq(*self._set(self._first()), parts, *self._exchanged(), self._result())
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
            if loop not in self.found.threads:
                group = group * size + place
            elif not self.update.ordered:
                part = part * size + place
        for loop in self.found.threads if self.update.ordered else ():
            part = part * extent_of(loop) + (loop.loop_var - loop.min)
        return _Lane(part, group)

    def _is_first(self) -> Expr:
        """Whether a thread is the one of its group that writes what they share."""
        condition: Expr = TRUE
        for loop in self.found.threads:
            condition = binary("and", condition, binary("==", loop.loop_var, loop.min))
        return condition

    # --- each thread's own part -------------------------------------------------------------

    def _first(self) -> list[Expr]:
        """What a part starts from: what the sum starts from, if that may come in twice."""
        if not isinstance(self.update, Sums):
            return self._starts()
        first = self._first_of_none()
        for k, start in enumerate(self._starts() if self._whole() else []):
            if self.update.updates[k].op in ("min", "max") and isinstance(start, Const):
                first[k] = start
        return first

    def _whole(self) -> bool:
        """Whether the whole sum is done here, from its start on."""
        return isinstance(self.found.start, Const) and bool(self.found.start.value)

    def _neutral(self, update: Update) -> Expr:
        value, dtype = _NEUTRAL[update.op], update.store.buffer.type
        if math.isinf(value) and not dtypes.is_float(dtype):
            value = dtypes.limits(dtype)[update.op == "min"]
        return const(value, dtype)

    def _starts(self) -> list[Expr]:
        """What each result starts from, nothing where that is not said."""
        if self.found.block.init is None:
            return []
        starts = {store.buffer: store.value for store in stores(self.found.block.init)}
        return [substitute(starts[result], self.found.values) for result in self.results]

    def _parts(self) -> list[BufferLoad]:
        return [BufferLoad(buffer, (_whole(0),)) for buffer in self.mine]

    def _set(self, values: Sequence[Expr]) -> list[Stmt]:
        return [*_stored(self._parts(), values)]

    def _add(self, values: Sequence[Expr], *, before: Expr | None = None) -> Stmt:
        """Combine the own part with `values`, of another thread; with it, where it is `before`."""
        if not self.others:
            return self.update.join(self._parts(), values)
        mine, others = self._parts(), [BufferLoad(b, (_whole(0),)) for b in self.others]
        taken = _stored(others, values)
        behind = self.update.join(mine, others)
        if before is None or not self.update.ordered:
            return seq(*taken, behind)
        ahead = seq(self.update.join(others, mine), *_stored(mine, others))
        return seq(*taken, IfThenElse(before, ahead, behind))

    def _part_of(self, stmt: Stmt, ahead: Mapping[Stmt, Stmt]) -> Stmt:
        """What a thread does of `stmt`: its share of the loops, and what stands in them."""
        found = self.found
        if isinstance(stmt, For):
            body = self._part_of(stmt.body, ahead)
            stays = stmt in found.reduced and stmt not in found.threads
            return replace(stmt, body=body) if stays else body
        if isinstance(stmt, SeqStmt):
            before = (replace_each(other, ahead) for other in stmt.stmts[:-1])
            return seq(*before, self._part_of(stmt.stmts[-1], ahead))
        update = substitute(self.update.add(self._parts()), found.values)
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
        """Each of `width` neighbours gets what all of them have, added up in pairs.

        Where there is an order, pairs of neighbours first, so that what is added up are neighbours.
        """
        far = [1 << k for k in range(width.bit_length() - 1)]
        steps: list[Stmt] = []
        for lanes in far if self.update.ordered else reversed(far):
            others = [
                Call(SHUFFLE, (part, _whole(lanes), _whole(width)), part.dtype)
                for part in self._parts()
            ]
            comes_first = binary("==", self.lane.part // lanes % 2, 1)
            steps.append(self._add(others, before=comes_first))
        return steps

    def _by_warps(self) -> list[Stmt]:
        """As many as a warp has first; one part a warp goes through shared memory."""
        part, group = self.lane.part, self.lane.group
        count, lanes = self.how.width, 1
        while lanes < count:
            lanes *= 2
        memory = self._memory("red_buf", (self.how.groups, count))
        leaves = binary("==", part % self.warp, 0)
        left = IfThenElse(leaves, self._leave(memory, (group, part // self.warp)))
        place = part % lanes
        taken: list[Expr] = [BufferLoad(one, (group, place)) for one in memory]
        if lanes > count:
            has = binary("<", place, count)
            idle = zip(taken, self._first_of_none(), strict=True)
            taken = [Call("if_then_else", (has, own, no), own.dtype) for own, no in idle]
        return [*self._shuffled(self.warp), left, *self._set(taken), *self._shuffled(lanes)]

    def _through_memory(self) -> list[Stmt]:
        """All parts lie in shared memory, and as many as a warp has at most are added up by all."""
        part, group = self.lane.part, self.lane.group
        parts, width = self.how.parts, self.how.width
        if parts == 1:
            return []
        memory = self._memory("red_buf", (parts, self.how.groups))
        steps: list[Stmt] = [self._leave(memory, (part, group))]
        if parts > width:
            rounds = -(-parts // width)
            memory_1 = self._memory("red_buf_1", (width, self.how.groups))
            few = seq(*self._few(memory, rounds), self._leave(memory_1, (part, group)))
            steps.append(IfThenElse(binary("<", part, width), few))
            memory = memory_1
        turn = Var("m", "int32")
        last = self._add([BufferLoad(one, (turn, group)) for one in memory])
        number = _whole(width)
        return [*steps, *self._set(self._first_of_none()),
                For(turn, _whole(0), number, "serial", last)]  # fmt: skip

    def _few(self, memory: Sequence[Buffer], rounds: int) -> list[Stmt]:
        """Add up `rounds` parts: every so many, or such as follow each other where they must."""
        part, group, parts, width = self.lane.part, self.lane.group, self.how.parts, self.how.width
        turn = Var("m", "int32")
        place = part * rounds + turn if self.update.ordered else part + (turn + 1) * width
        more = self._add([BufferLoad(one, (place, group)) for one in memory])
        if parts % width:
            more = IfThenElse(binary("<", place, parts), more)
        if self.update.ordered:
            every = For(turn, _whole(0), _whole(rounds), "serial", more)
            return [*self._set(self._first_of_none()), every]
        return [For(turn, _whole(0), _whole(rounds - 1), "serial", more)]

    def _first_of_none(self) -> list[Expr]:
        """The part of a thread that has nothing to add."""
        if isinstance(self.update, Sums):
            return [*map(self._neutral, self.update.updates)]
        return self._starts()

    def _leave(self, memory: Sequence[Buffer], cell: tuple[Expr, ...]) -> Stmt:
        """Store the own part where others find it."""
        return seq(*_stored([BufferLoad(one, cell) for one in memory], self._parts()))

    def _memory(self, name: str, shape: Sequence[int], scope: str = "shared") -> list[Buffer]:
        """A buffer for each of the results."""
        made = [
            Buffer(f"{name}_{result.name}", tuple(shape), result.type, scope)
            for result in self.results
        ]
        self.own += made
        return made

    # --- what comes out ---------------------------------------------------------------------

    def _result(self) -> Stmt:
        """One thread writes what others can see; where each has a result of its own, all do."""
        found, block = self.found, self.found.block
        touches = found.touches
        if any(result.scope != "local" for result in self.results):
            touches = binary("and", touches, self._is_first())
        opaque = replace(
            block,
            iter_vars=(),
            reads=tuple(BufferRegion(part, (Range(_whole(0), _whole(1)),)) for part in self.mine),
            writes=tuple(substitute(region, found.values) for region in block.writes),
            body=self._stored_results(),
            init=None,
        )
        return BlockRealize((), touches, opaque)

    def _stored_results(self) -> Stmt:
        """Each result, with its start where the parts do not have it in them already."""
        cells = [
            BufferLoad(s.buffer, tuple(substitute(index, self.found.values) for index in s.indices))
            for s in self.update.stores
        ]
        mine, starts = self._parts(), self._starts()
        if not isinstance(self.update, Sums):
            return seq(*_stored(cells, mine))
        if not starts or not self._whole():
            begun = _stored(cells, starts) if starts else []
            ahead = [IfThenElse(self.found.start, seq(*begun))] if begun else []
            return seq(*ahead, self.update.join(cells, mine))
        values = [
            part if _is_same(start, own) else one.join(start, part)
            for one, start, own, part in zip(
                self.update.updates, starts, self._first(), mine, strict=True
            )
        ]
        return seq(*_stored(cells, values))


def _is_same(start: Expr, own: Expr) -> bool:
    """Whether the parts, which begin with `own`, have the start of the sum in them already."""
    return isinstance(start, Const) and isinstance(own, Const) and own.value == start.value


def _stored(cells: Sequence[BufferLoad], values: Sequence[Expr]) -> list[BufferStore]:
    pairs = zip(cells, values, strict=True)
    return [BufferStore(cell.buffer, value, cell.indices) for cell, value in pairs]


def _whole(value: int) -> Const:
    return Const(value, "int32")
