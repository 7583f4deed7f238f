"""Asynchronous copies of a pipeline: in which groups, and where a thread waits for which of them.

Statements of an asynchronous stage that are neighbours in the order of a turn are a group, which a
thread commits behind them: in each of its turns, whether or not it copies anything itself. A thread
counts only its own groups, the last ones: where it waits with `count` N, all but its last N are
there. So before a statement that is at a cell of a copy, it waits with N = how many groups it has
committed since the one in question: at the top of the turn, where that is of an earlier one, so
that one barrier does for what arrived and for what is overwritten next; else right before. What no
statement of the same iteration is at is waited for at once, so that nothing is left at the end.

N is counted, not computed, group by group: in a turn of the prologue or epilogue for just that one,
in the loop for the turn with the least: the first ones may have fewer groups behind them. Where it
is not known how many iterations there are, groups are committed in turns without one as well, as if
there were no fewer than stages; N is the least of any number. That this is enough, and exact where
all is known, is held against brute force in `tests/lower/test_async.py`.

PTX ISA: cp.async, cp.async.commit_group, cp.async.wait_group. TVM has the same in
src/s_tir/transform/inject_software_pipeline.cc and counts differently: s_c - s_p in the loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workbench.access.pipelines import Mark, Need, Pipeline
from workbench.ir import (
    CP_ASYNC,
    BufferStore,
    Call,
    CommitGroup,
    Const,
    Expr,
    Node,
    Stmt,
    WaitGroup,
    binary,
    const,
    rewrite,
)


@dataclass(frozen=True)
class AsyncPipeline(Pipeline):
    """A pipeline among whose statements are its commits and waits.

    `waits` says of a wait for which groups: a commit, and how many iterations ago.
    """

    waits: Mapping[int, Collection[tuple[int, int]]] = field(default_factory=dict)

    def in_body(self, k: int, stage: int) -> Stmt | None:
        if k not in self.waits:
            return super().in_body(k, stage)
        most, alike = max(self._iterations), 3 * self.depth + 1  # turns from then on
        return self._waiting(k, ((t, most) for t in range(self.depth, min(most, alike + 1))))

    def one(self, k: int, number: Expr, least: int) -> Stmt | None:
        if not isinstance(self.stmts[k], (CommitGroup, WaitGroup)):
            return super().one(k, number, least)
        runs = binary("<", const(least, number.dtype), self.loop.extent)
        if isinstance(runs, Const) and not runs.value:
            return None
        if k not in self.waits:
            return CommitGroup()
        turn = least + self.stages[k]  # of the epilogue: as if there were `depth` iterations
        if turn < self.depth:
            return self._waiting(k, ((turn, max(self._iterations)),))
        return self._waiting(k, ((turn + max(0, n - self.depth), n) for n in self._iterations))

    def _waiting(self, k: int, turns: Iterable[tuple[int, int]]) -> WaitGroup | None:
        """A wait that is enough in all of `turns`, each of so many iterations."""
        counts = [n for at in turns if (n := self.since(k, *at)) is not None]
        return WaitGroup(min(counts)) if counts else None

    def since(self, wait: int, turn: int, iterations: int) -> int | None:
        """How many groups come after the one that `wait` needs in `turn`; None: there is none."""
        counts = []
        for commit, lag in self.waits[wait]:
            iteration = turn - self.stages[wait] - lag
            begun = iteration + self.stages[commit], self.order[commit]
            later = (
                begun < (number + self.stages[k], self.order[k]) < (turn, self.order[wait])
                for k, stmt in enumerate(self.stmts)
                if isinstance(stmt, CommitGroup)
                for number in range(max(0, iteration - self.depth), min(iterations, turn + 1))
            )
            if iteration >= 0:
                counts.append(sum(later))
        return min(counts, default=None)

    @property
    def _iterations(self) -> Sequence[int]:
        """How many there may be, up to where one more changes nothing; `depth` where fewer are."""
        extent, few = self.loop.extent, self.depth
        return [int(extent.value)] if isinstance(extent, Const) else range(few, 3 * few + 3)


def with_groups(pipeline: Pipeline, needs: Collection[Need]) -> AsyncPipeline:
    """`pipeline` with its copies begun, committed and waited for.

    `needs` are those of two statements of which the first is in one of `async_stages`.
    """
    stmts, stages = list(pipeline.stmts), list(pipeline.stages)
    order: list[float] = list(pipeline.order)
    commits: dict[int, int] = {}  # of a statement: where the commit of its group is
    wanted: defaultdict[tuple[int, float], set[tuple[int, int]]] = defaultdict(set)
    used = {need.first for need in needs if not need.lag}

    def insert(stmt: Stmt, stage: int, place: float) -> int:
        stmts.append(stmt)
        stages.append(stage)
        order.append(place)
        return len(stmts) - 1

    for group in _groups(pipeline, needs):
        stage, end = stages[group[0]], order[group[-1]]
        made = insert(CommitGroup(), stage, end + 0.25)
        commits |= dict.fromkeys(group, made)
        if not used.issuperset(group):
            wanted[stage, end + 0.5].add((made, 0))
        for k in group:
            stmts[k] = _only_begun(stmts[k])
    for first, then, lag, _ in needs:
        ahead = stages[first] < stages[then] + lag
        wanted[stages[then], -1 if ahead else order[then] - 0.5].add((commits[first], lag))
    waits = {insert(WaitGroup(0), *at): groups for at, groups in wanted.items()}
    rank = sorted(range(len(stmts)), key=lambda k: order[k])
    places = tuple(rank.index(k) for k in range(len(stmts)))
    return AsyncPipeline(
        pipeline.loop, tuple(stmts), tuple(stages), places, pipeline.async_stages, waits
    )


def _groups(pipeline: Pipeline, needs: Collection[Need]) -> list[list[int]]:
    """The statements of asynchronous stages, those together that need not wait for each other."""
    groups: list[list[int]] = []
    tied = {(need.first, need.then) for need in needs}
    before = None
    for k in sorted(range(len(pipeline.order)), key=lambda k: pipeline.order[k]):
        if pipeline.stages[k] in pipeline.async_stages:
            last = groups[-1] if groups else []
            alike = before in last and pipeline.stages[k] == pipeline.stages[last[0]]
            if alike and not any((other, k) in tied for other in last):
                last.append(k)
            else:
                groups.append([k])
        before = k
    return groups


def _only_begun(stmt: Stmt) -> Stmt:
    """`stmt` with each of its stores as a copy that is only begun."""

    def visit(node: Node) -> Node:
        if (
            isinstance(node, BufferStore)
            and not node.is_async
            and not isinstance(node.buffer, Mark)
        ):
            return replace(node, value=Call(CP_ASYNC, (node.value,), node.value.dtype))
        return node

    return rewrite(stmt, visit)
