"""Pipelines: loops whose statements run in turns of their own, and what they need of each other.

Of a loop from m on, of E iterations, statement k of iteration i runs in turn ``i + stages[k]``, and
within a turn where `order` says. So the turns m … m+S-1, S the last stage, run what has begun (the
prologue), those up to m+E-1 all statements (the body), and S more what is left (the epilogue).

A cell that two statements touch, one of them writing, must find them in the order of the program:
in one iteration, and in two that are `lag` apart. A buffer of which each iteration writes all that
it reads may have n copies, used in turn: then only iterations n apart share one. Of such a buffer
n is as in TVM (`copies`), and at least what the statements need (`least_copies`).

TVM: src/s_tir/transform/inject_software_pipeline.cc, which asks only that what an iteration reads
is written before. That these rules are enough is held against brute force in
`benchmarks/pipelines.py`. The order of turns is Lamport's: a time is (turn, order), compared
lexicographically.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from math import inf
from typing import NamedTuple, TypeVar

from workbench.access.accesses import Access, accesses, around, by_buffer, in_later_turn
from workbench.access.fed import Fed
from workbench.access.meet import Answer, Never, Question, meet
from workbench.access.units import buffers_written
from workbench.arith import Bounds, prove
from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    CommitGroup,
    Const,
    Expr,
    For,
    IfThenElse,
    Node,
    SeqStmt,
    Stmt,
    Var,
    WaitGroup,
    binary,
    const,
    copy_fresh,
    once,
    rewrite,
    seq,
    substitute,
    substitute_cells,
    walk,
)

N = TypeVar("N", bound=Node)

STAGE = "software_pipeline_stage"
ORDER = "software_pipeline_order"
ASYNC = "software_pipeline_async_stages"
COPIES = "software_pipeline_copies"  # ours: how many copies of buffers, by name
DOUBLE = "double_buffer_scope"  # of a block, TVM's: the number of a buffer among those it writes
DOUBLED = "software_pipeline_double_buffers"  # ours: the names of such buffers, in place of stages
NOTES = (STAGE, ORDER, ASYNC, COPIES, DOUBLED)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Mark(Buffer):
    """Where statement `k` of the pipeline that `loop` was `begins`, or ends.

    A store to it has the iteration, counted from 0, as its index. See `lower/pipeline_marks.py`.
    """

    loop: Var
    k: int
    begins: bool


def is_pipeline(node: Node) -> bool:
    """Whether `node` is a loop that says in which turns its statements run."""
    keys = (STAGE, ORDER, DOUBLED)
    return isinstance(node, For) and any(key in keys for key, _ in node.annotations)


def with_statements(stmt: N) -> N:
    """`stmt` with each statement of its pipelines in a block of its own, so that it stays one.

    As in TVM, those of an opaque block count each for itself; what it allocates is not kept. A
    pipeline inside another one stays bare: what becomes of it is three statements of that one.
    """

    def visit(node: Node) -> Node:
        if not isinstance(node, For) or not is_pipeline(node):
            return node
        kept = (part if is_pipeline(part) else _kept(part) for part in statements(node))
        return replace(node, body=SeqStmt(tuple(kept)))

    return rewrite(stmt, visit)


def statements(loop: For) -> list[Stmt]:
    """The statements of `loop` that have turns of their own, where it is a pipeline."""
    return [each for one in _parts(loop.body) for each in _parts(one)]


def _parts(stmt: Stmt) -> Sequence[Stmt]:
    """The statements of a sequence, or of a block that has no iterators."""
    match stmt:
        case SeqStmt(stmts):
            return stmts
        case BlockRealize((), Const(value=True), Block(init=None, body=SeqStmt(stmts))):
            return stmts
    return (stmt,)


def _kept(stmt: Stmt) -> BlockRealize:
    return BlockRealize((), TRUE, Block("", (), (), (), stmt))


@dataclass(frozen=True)
class Pipeline:
    """A loop of `stmts`, with their stages and their places in the order of a turn."""

    loop: For
    stmts: tuple[Stmt, ...]
    stages: tuple[int, ...]
    order: tuple[int, ...]
    async_stages: tuple[int, ...] = ()

    @property
    def depth(self) -> int:
        """The last stage: how many iterations more than one are under way at a time."""
        return max(self.stages)

    def before(self, a: int, b: int, lag: int = 0) -> bool:
        """Whether statement `a` of an iteration runs before `b` of the one `lag` later."""
        return (self.stages[a], self.order[a]) < (self.stages[b] + lag, self.order[b])

    def expanded(self, known: Bounds) -> Stmt:
        """The prologue, the loop and the epilogue, each as one statement; only the loop if S is 0.

        Where it is not known that there are S iterations, conditions keep those that are not.
        """
        loop, depth, var = self.loop, self.depth, self.loop.loop_var
        ahead: Expr = loop.extent - depth
        if not prove(ahead >= 0, known):
            ahead = binary("max", ahead, const(0, var.type))
        turn = [self.in_body(k, stage) for k, stage in self._runs]
        notes = tuple(note for note in loop.annotations if note[0] not in NOTES)
        body: Stmt = replace(
            loop, min=loop.min + depth, extent=ahead, body=seq(*merged(turn)), annotations=notes
        )
        if not depth:
            return body
        if isinstance(ahead, Const) and ahead.value == 0:
            body = _kept(SeqStmt(()))
        begun = [(k, t - stage) for t in range(depth) for k, stage in self._runs if t >= stage]
        left = [(k, t - stage) for t in range(depth) for k, stage in self._runs if t < stage]
        first = [self.one(k, const(number, var.type), number) for k, number in begun]
        last = [self.one(k, ahead + (depth + late), depth + late) for k, late in left]
        ends = [_kept(SeqStmt(merged(each))) for each in (first, last)]
        return SeqStmt((ends[0], body, ends[1]))

    @property
    def _runs(self) -> list[tuple[int, int]]:
        """The statements of a turn, in order, each with its stage."""
        return sorted(enumerate(self.stages), key=lambda run: self.order[run[0]])

    def in_body(self, k: int, stage: int) -> Stmt | None:
        """Statement k, which has this stage, in a turn in which all run."""
        return substitute(self.stmts[k], {self.loop.loop_var: self.loop.loop_var - stage})

    def one(self, k: int, number: Expr, least: int) -> Stmt | None:
        """Statement k of iteration `number`, from 0, where there are more than `least` of them.

        None where there never are.
        """
        loop = self.loop
        one, _ = copy_fresh(substitute(self.stmts[k], {loop.loop_var: loop.min + number}))
        runs = binary("<", const(least, number.dtype), loop.extent)
        if isinstance(runs, Const):
            return one if runs.value else None
        return IfThenElse(runs, one)


def merged(stmts: Iterable[Stmt | None]) -> tuple[Stmt, ...]:
    """What there is of `stmts`, without waits for what the wait ahead or behind does, too."""
    made: list[Stmt] = []
    most = inf  # groups of a thread that may be under way
    for stmt in stmts:
        if isinstance(stmt, WaitGroup):
            if stmt.count >= most:
                continue
            most = stmt.count
            if made and isinstance(made[-1], WaitGroup):
                made.pop()
        most += isinstance(stmt, CommitGroup)
        if stmt is not None:
            made.append(stmt)
    return tuple(made)


def with_copies(stmt: N, loop: For, copies: Mapping[Buffer, Buffer]) -> N:
    """`stmt` with the keys of `copies` replaced: each iteration of `loop` uses one copy, in turn.

    The first dimension of a replaced buffer says how many copies there are.
    """

    def turn(buffer: Buffer) -> tuple[Expr]:
        return ((loop.loop_var - loop.min) % copies[buffer].shape[0],)

    return substitute_cells(stmt, copies, turn)


def copied(buffer: Buffer, count: int) -> Buffer:
    """`buffer` with room for `count` of it."""
    whole = (buffer.shape[0] * buffer.strides[0], *buffer.strides) if buffer.strides else ()
    return replace(buffer, shape=(count, *buffer.shape), strides=whole)


class Need(NamedTuple):
    """That statement `first` of an iteration runs before `then` of the one `lag` later.

    For both touch one cell of `buffer`, and one of them writes.
    """

    first: int
    then: int
    lag: int
    buffer: Buffer


class Needs:
    """What the statements of a pipeline in `body` need of each other.

    `known` are the bounds of what `body` counts, `axes` the thread axes of a kernel, and `private`
    the buffers that nobody else sees.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        body: Stmt,
        known: Bounds,
        private: Collection[Buffer],
        axes: Sequence[tuple[str, Var]] = (),
    ) -> None:
        self.pipeline, self.body, self.private = pipeline, body, private
        self.fed = Fed(body, known, axes)
        at = around(body, pipeline.loop).inside(pipeline.loop)
        self.around = at.loops
        self.found = [by_buffer(accesses(stmt, at)) for stmt in pipeline.stmts]
        inner = (node for stmt in pipeline.stmts for node in walk(stmt))
        self.inside = {node.loop_var for node in inner if isinstance(node, For)}
        self.doers = {var for axis, var in axes if axis.startswith("threadIdx")} | {
            loop.loop_var for loop in at.loops if loop.thread and "blockIdx" not in loop.thread
        }
        self.changing = buffers_written(pipeline.loop.body)
        self._least: dict[Buffer, int] = {}

    def broken(self, copies: Mapping[Buffer, int]) -> Iterator[Need]:
        """What the turns do not keep, where buffers have so many `copies`, or else one."""
        return self.all(copies, lambda *need: not self.pipeline.before(*need))

    def all(
        self, copies: Mapping[Buffer, int], asked: Callable[[int, int, int], bool]
    ) -> Iterator[Need]:
        """The needs for which it is `asked`, of those of two statements and a buffer the nearest.

        Of iterations further apart than `depth` the first is over when the other one begins.
        """
        far = self.pipeline.depth + 1
        if self.pipeline.loop.loop_var in self.fed.known:
            low, high = self.fed.known[self.pipeline.loop.loop_var]
            far = min(far, high - low + 1)
        for a, b in combinations(range(len(self.found)), 2):
            for buffer in (buffer for buffer in self.found[a] if buffer in self.found[b]):
                ends = (1, 1) if copies.get(buffer, 1) > 1 else (far, far)
                for one, other, lags in ((a, b, range(ends[0])), (b, a, range(1, ends[1]))):
                    for lag in lags:
                        need = Need(one, other, lag, buffer)
                        if asked(*need[:3]) and not isinstance(self.meet(need), Never):
                            yield need
                            break

    def meet(self, need: Need) -> Answer:
        """Whether the two are at one cell in iterations that are as far apart, one writing."""
        loop, pairs = self.pipeline.loop, self._pairs(need.first, need.then, need.buffer)
        later = [(x, in_later_turn(loop, y, need.lag)) for x, y in pairs]
        return meet(later, self._question(need.buffer))

    def _pairs(self, a: int, b: int, buffer: Buffer) -> list[tuple[Access[For], Access[For]]]:
        pairs = product(self.found[a][buffer], self.found[b][buffer])
        return [(x, y) for x, y in pairs if x.writes or y.writes]

    def _question(self, buffer: Buffer) -> Question:
        own = self.inside if buffer.scope == "local" else self.inside | self.doers
        return Question(self.fed.simplifier, own, (), self.changing)

    def copied_again(self, k: int) -> Iterator[tuple[Buffer, Answer]]:
        """What a thread is not proved to write once a cell in an iteration of statement `k`."""
        for buffer, found in self.found[k].items():
            writes = [access for access in found if access.writes]
            for a, b in combinations_with_replacement(writes, 2):
                turns = tuple({*self._turns(a), *self._turns(b)})
                if a is b and not turns:
                    continue
                differ = (turns,) if a is b else ()
                question = replace(self._question(buffer), own={*turns}, differ=differ)
                answer = meet([(a, b)], question)
                if not isinstance(answer, Never):
                    yield buffer, answer

    def _turns(self, access: Access[For]) -> Iterator[Var]:
        """What counts the turns of a thread in one iteration, up to `access`."""
        for loop in access.loops[len(self.around) :]:
            if not loop.thread or loop.virtual:
                yield loop.loop_var

    # --- copies -----------------------------------------------------------------------------

    def may_copy(self, buffer: Buffer) -> bool:
        """Whether each iteration is proved to write all that it reads of `buffer`, for itself."""
        found = [access for each in self.found for access in each.get(buffer, ())]
        alone = buffer in self.private and self.holds(buffer)
        return alone and self.fed.written_first(found, self.fed.still(buffer, self.around))

    def holds(self, buffer: Buffer) -> bool:
        """Whether nothing outside of the loop uses `buffer`."""
        return uses(self.body, buffer) == uses(self.pipeline.loop, buffer)

    def copies(self, buffer: Buffer) -> int:
        """How many copies TVM gives `buffer`: one for each stage from a write on to a read.

        Not two where the read comes first in a turn. No fewer than are needed.
        """
        stages, least = self.pipeline.stages, self.least_copies(buffer)
        reads, writes = self._users(buffer, False), self._users(buffer, True)
        if not reads or not writes:
            return least
        count = max(stages[r] for r in reads) - min(stages[w] for w in writes) + 1
        return least if count <= 2 else max(count, least)

    def least_copies(self, buffer: Buffer) -> int:
        """The fewest copies of `buffer` with which no iteration writes what one before it needs.

        Worked out once: it may take a look at each cell.
        """
        if buffer not in self._least:
            self._least[buffer] = self._fewest(buffer)
        return self._least[buffer]

    def _fewest(self, buffer: Buffer) -> int:
        stages, order = self.pipeline.stages, self.pipeline.order
        writes = self._users(buffer, True)
        needed = [
            (stages[one] - stages[w] + (order[w] < order[one]), one, w)
            for w in writes
            for one in {*self._users(buffer, False), *writes} - {w}
        ]
        for count, one, w in sorted(needed, reverse=True):
            if count <= 1 or not isinstance(self._meet_ever(one, w, buffer), Never):
                return max(count, 1)
        return 1

    def _meet_ever(self, a: int, b: int, buffer: Buffer) -> Answer:
        question = self._question(buffer)
        own = {*question.own, self.pipeline.loop.loop_var}
        return meet(self._pairs(a, b, buffer), replace(question, own=own))

    def _users(self, buffer: Buffer, writes: bool) -> list[int]:
        each = ((k, found.get(buffer, ())) for k, found in enumerate(self.found))
        return [k for k, found in each if any(access.writes == writes for access in found)]


def uses(stmt: Stmt, buffer: Buffer) -> int:
    """How often `buffer` is loaded from or stored to in `stmt`."""
    return _uses(stmt)[buffer]


@once
def _uses(stmt: Stmt) -> Counter[Buffer]:
    return Counter(n.buffer for n in walk(stmt) if isinstance(n, (BufferLoad, BufferStore)))
