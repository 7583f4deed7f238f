"""waits: ahead of which statements of a pipeline, or within which, the threads of a block wait.

Lowering is done again with marks around each statement, stores that nothing reads, and of pipelines
that are proved without them. Barriers are then found between marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

from workbench import target
from workbench.access.pipelines import Pipeline
from workbench.arith import Bounds, bounds
from workbench.ir import (
    TRUE,
    Barrier,
    Block,
    BlockRealize,
    Buffer,
    BufferStore,
    CommitGroup,
    For,
    IfThenElse,
    Kernel,
    SeqStmt,
    Stmt,
    Var,
    WaitGroup,
    const,
    free_vars,
    seq,
)
from workbench.lower import KERNEL_PASSES, Lowered
from workbench.lower.inject_software_pipeline import inject_software_pipeline
from workbench.lower.insert_barriers import insert_barriers
from workbench.lower.known_bounds import known_bounds

When: TypeAlias = int | Literal["loop", "entry"]
"""An iteration, counted from 0; every turn of the loop that is left; its first turn alone.

Where the number of iterations varies, they are those of a loop with the most.
"""


class Waiting(NamedTuple):
    """In statement `k` of the pipeline that `loop` was, `within` it or ahead of it.

    All threads for each other; or each for its copies, but the last `groups` of them.
    """

    loop: Var
    k: int
    when: When
    within: bool
    groups: int | None = None


def waits(lowered: Lowered) -> frozenset[Waiting]:
    """Where the threads of these kernels wait in their pipelines."""
    (start,) = (step.before for step in lowered.history if step.name == "inject_software_pipeline")
    first, last = (
        KERNEL_PASSES.index(step) for step in (inject_software_pipeline, insert_barriers)
    )
    gpu, found = target.get("nvidia/nvidia-a100"), set[Waiting]()  # it has asynchronous copies
    for kernel in start:
        assert isinstance(kernel, Kernel)
        marks = _Marks()
        made = inject_software_pipeline(kernel, gpu, marks.around)
        if not marks.of:
            continue
        for step in KERNEL_PASSES[first + 1 : last + 1]:
            made = step(made, gpu)
        found |= {*_Reader(marks, known_bounds(made)).waits(made.body)}
    return frozenset(found)


class _Mark(NamedTuple):
    """Where statement `k` of the pipeline of `loop` begins, or ends."""

    loop: Var
    k: int
    begins: bool


class _Marks:
    def __init__(self) -> None:
        self.of: dict[Buffer, _Mark] = {}

    def around(self, pipeline: Pipeline) -> Pipeline:
        """`pipeline` with marks around its statements, at the iteration, counted from 0."""
        stmts = (
            stmt
            if isinstance(stmt, (CommitGroup, WaitGroup))
            else self._between(pipeline.loop, k, stmt)
            for k, stmt in enumerate(pipeline.stmts)
        )
        return replace(pipeline, stmts=tuple(stmts))

    def _between(self, loop: For, k: int, stmt: Stmt) -> Stmt:
        marked = seq(self._mark(loop, k, True), stmt, self._mark(loop, k, False))
        return BlockRealize((), TRUE, Block("", (), (), (), marked))

    def _mark(self, loop: For, k: int, begins: bool) -> Stmt:
        buffer = Buffer("mark", (1,), "int32", "local")
        self.of[buffer] = _Mark(loop.loop_var, k, begins)
        return BufferStore(buffer, const(0, "int32"), (loop.loop_var - loop.min,))


@dataclass
class _Reader:
    """Goes through a kernel in its order; `begun` are the marks since the last statement."""

    marks: _Marks
    known: Bounds
    inside: dict[Var, Waiting] = field(default_factory=dict)
    begun: dict[Var, tuple[Waiting, int]] = field(default_factory=dict)
    found: list[tuple[tuple[For, ...], int | None]] = field(default_factory=list)

    def waits(self, body: Stmt) -> Iterator[Waiting]:
        """All waits, each once a statement of the text."""
        yield from self._statement(body, ())
        yield from self._settle()

    def _statement(self, stmt: Stmt, loops: tuple[For, ...]) -> Iterator[Waiting]:
        match stmt:
            case SeqStmt(stmts):
                for one in stmts:
                    yield from self._statement(one, loops)
            case For():
                yield from self._statement(stmt.body, (*loops, stmt))
            case IfThenElse():
                for case in (stmt.then_case, stmt.else_case):
                    if case is not None:
                        yield from self._statement(case, loops)
            case Barrier():
                self.found.append((loops, None))
            case WaitGroup(count):
                self.found.append((loops, count))
            case CommitGroup():
                pass
            case BufferStore() if stmt.buffer in self.marks.of:
                self._mark(self.marks.of[stmt.buffer], stmt, loops)
            case _:
                yield from self._settle()

    def _mark(self, mark: _Mark, stmt: BufferStore, loops: tuple[For, ...]) -> None:
        if not mark.begins:
            self.inside.pop(mark.loop, None)
            return
        (number,) = stmt.indices
        ends = None if mark.loop in free_vars(number) else bounds(number, self.known)
        when: When = "loop" if ends is None else ends[1]
        at = Waiting(mark.loop, mark.k, when, False)
        self.inside[mark.loop] = at
        self.begun[mark.loop] = at, len(loops)

    def _settle(self) -> Iterator[Waiting]:
        """What the waits since the last statement stand ahead of, and within which others."""
        for loops, groups in self.found:
            for loop in {*self.inside, *self.begun}:
                if loop not in self.begun:
                    yield self.inside[loop]._replace(within=True, groups=groups)
                    continue
                at, depth = self.begun[loop]
                entered = at.when == "loop" and all(one.loop_var is not loop for one in loops)
                yield at._replace(
                    when="entry" if entered else at.when,
                    within=len(loops) > depth,
                    groups=groups,
                )
        self.begun, self.found = {}, []
