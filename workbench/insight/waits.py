"""waits: ahead of which statements of a pipeline, or within which, the threads of a block wait.

Barriers are found between the marks that lowering has around statements, once it has put them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from workbench.access.pipelines import Mark
from workbench.arith import Bounds, bounds
from workbench.ir import (
    Barrier,
    BufferStore,
    CommitGroup,
    Expr,
    For,
    IfThenElse,
    Kernel,
    SeqStmt,
    Stmt,
    Var,
    WaitGroup,
    free_vars,
)
from workbench.lower import Lowered
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
    (kernels,) = (step.after for step in lowered.history if step.name == "insert_barriers")
    found = set[Waiting]()
    for kernel in kernels:
        assert isinstance(kernel, Kernel)
        found |= {*_Reader(known_bounds(kernel)).waits(kernel.body)}
    return frozenset(found)


@dataclass
class _Reader:
    """Goes through a kernel in its order; `begun` are the marks since the last statement."""

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
            case BufferStore(buffer=Mark() as mark, indices=(*_, number)):
                self._mark(mark, number, loops)
            case _:
                yield from self._settle()

    def _mark(self, mark: Mark, number: Expr, loops: tuple[For, ...]) -> None:
        if not mark.begins:
            self.inside.pop(mark.loop, None)
            return
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
