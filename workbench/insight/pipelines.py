"""pipelines: turn by turn, what each statement works on, what is on its way, who waits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.access.pipelines import Pipeline, statements
from workbench.arith import bounds, loop_bounds
from workbench.check.pipelines import Injected, written_out
from workbench.diag import Fail, Refusal
from workbench.insight.memory import copied_load
from workbench.insight.page import Kind, Table
from workbench.insight.pipeline_words import caption_of, table_of
from workbench.insight.pipelined import Flight, Moment, Pipelined, Row, Run, Use, Wait
from workbench.insight.waits import Waiting, When, waits
from workbench.ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    For,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    refuse_sizes,
    walk,
    walk_statements,
)
from workbench.lower import Lowered, stage_copies

SHOWN = 7  # turns of a pipeline that a picture has room for


@dataclass(frozen=True, slots=True)
class Pipelines:
    """The pipelines of a program, outer ones first, and the `plain` loops: what each turn runs.

    Where there is no pipeline, `last` is the last of the loops that could be one.
    """

    loops: tuple[Pipelined, ...]
    plain: dict[str, tuple[str, ...]]
    caption: str
    table: Table
    kind: Kind = "counted"
    last: Var | None = None


def pipelines(func: PrimFunc, lowered: Lowered | None = None, shown: int = SHOWN) -> Pipelines:
    """Turn by turn, what the statements of each pipeline of `func` do, of so many turns at most.

    Where threads wait, `lowered` tells, the kernels of `func`. Raises Fail for a program of any
    size, for a pipeline that a build refuses, and for one whose turns only data can count.
    """
    refuse_sizes(func, "count or draw")
    func = stage_copies(func)
    waiting = None if lowered is None else waits(lowered)
    known = loop_bounds([node for node in walk_statements(func.body) if isinstance(node, For)])
    names: dict[int, str] = {}
    found = []
    every = _made(func)
    for pipeline, made in every:
        loop, ends = pipeline.loop, bounds(pipeline.loop.extent, known)
        if ends is None:
            name = loop.loop_var.name
            raise Fail(f"Can't draw the turns of `{name}`: how many there are depends on data")
        found.append(
            _pipelined(pipeline, made.copies, ends, known[loop.loop_var][0], names, waiting, shown)
        )
        if isinstance(made.stmt, SeqStmt):
            ways = ("{} prologue", "{}", "{} epilogue")
            parts = zip(made.stmt.stmts, ways, strict=True)
            names |= {id(stmt): way.format(loop.loop_var.name) for stmt, way in parts}
    loops, could = tuple(reversed(found)), _plain(func, {p.loop.loop_var for p, _ in every})
    plain = {loop.name: names for loop, names in could.items()}
    last = None if loops else next(reversed(could), None)
    caption, table = caption_of(loops, plain), table_of(loops, plain)
    return Pipelines(loops, plain, caption, table, last=last)


def _made(func: PrimFunc) -> tuple[tuple[Pipeline, Injected], ...]:
    try:
        return written_out(func).pipelines
    except Refusal as refusal:
        raise Fail(
            refusal.headline, detail=refusal.detail, hint=refusal.hint, act=refusal.act
        ) from None


# --- one pipeline -------------------------------------------------------------------------------


def _pipelined(
    pipeline: Pipeline,
    copies: Mapping[Buffer, Buffer],
    ends: tuple[int, int],
    first: int,
    names: dict[int, str],
    waiting: Collection[Waiting] | None,
    shown: int,
) -> Pipelined:
    count = max(ends[1], 0)
    order = sorted(range(len(pipeline.order)), key=pipeline.order.__getitem__)
    rows = [_row(pipeline, k, names) for k in order]
    turns = _shown(count + pipeline.depth if count else 0, pipeline.depth, shown)
    runs = tuple(
        Run(Moment(turn, row), first + turn - rows[row].stage,
            tuple(_uses(pipeline.stmts[k], copies, turn - rows[row].stage)))
        for turn in turns
        for row, k in enumerate(order)
        if 0 <= turn - rows[row].stage < count
    )  # fmt: skip
    waits = _Waits(waiting or (), pipeline, order, count)
    told = None if waiting is None else tuple(w for run in runs for w in waits.at(run.at))
    flights = tuple(_flights(pipeline, order, runs, first, waits))
    name = pipeline.loop.loop_var.name
    most = ends[0] != ends[1]
    return Pipelined(name, first, count, most, tuple(rows), turns, runs, flights, told)


@dataclass(frozen=True)
class _Waits:
    """Where threads wait in any turn of a pipeline of `count` iterations."""

    waiting: Collection[Waiting]
    pipeline: Pipeline
    order: Sequence[int]
    count: int

    def at(self, at: Moment) -> list[Wait]:
        """At the run of a row in a turn, if there is one; for copies first."""
        depth, k = self.pipeline.depth, self.order[at.row]
        number = at.turn - self.pipeline.stages[k]
        if not 0 <= number < self.count:
            return []
        when: list[When] = [number]
        if depth <= at.turn < self.count:
            when += ["loop", "entry"] if at.turn == depth else ["loop"]
        place = self.pipeline.loop.loop_var, k
        found = {(w.within, w.groups) for w in self.waiting if w[:2] == place and w.when in when}
        in_order = sorted(found, key=lambda wait: (wait[0], wait[1] is None))
        return [Wait(at, within, groups) for within, groups in in_order]

    def last(self, begins: Moment, ends: Moment) -> Moment | None:
        """The last run up to `ends` ahead of which a thread waits for copies, after `begins`."""
        for turn in range(ends.turn, begins.turn - 1, -1):
            for row in reversed(range(len(self.order))):
                at = Moment(turn, row)
                if begins < at <= ends and any(wait.for_copies for wait in self.at(at)):
                    return at
        return None


def _shown(count: int, depth: int, most: int) -> tuple[int, ...]:
    """The first turns and the last ones: the prologue with a turn of the body, if there is room."""
    if count <= most:
        return tuple(range(count))
    first = min(depth + 2, (most + 1) // 2)
    return (*range(first), *range(count - min(depth + 1, most - first), count))


def _row(pipeline: Pipeline, k: int, names: dict[int, str]) -> Row:
    stmt = pipeline.stmts[k]
    blocks = _blocks(stmt)
    return Row(k, names.get(id(stmt), blocks[-1]), blocks, pipeline.stages[k])


def _blocks(stmt: Stmt) -> tuple[str, ...]:
    """The blocks of a statement by name; of bare stores, the buffers written."""
    blocks = dict.fromkeys(n.name for n in walk(stmt) if isinstance(n, Block) and n.name)
    written = dict.fromkeys(n.buffer.name for n in walk(stmt) if isinstance(n, BufferStore))
    return tuple(blocks or written) or ("nothing",)


def _uses(stmt: Stmt, copies: Mapping[Buffer, Buffer], number: int) -> Iterator[Use]:
    """What `stmt` touches in iteration `number`, counted from 0; writes first."""
    found: dict[tuple[Buffer, bool], None] = {}
    for node in walk(stmt):
        if isinstance(node, (BufferLoad, BufferStore)):
            found[node.buffer, isinstance(node, BufferStore)] = None
    for buffer, writes in sorted(found, key=lambda use: not use[1]):
        count = copies[buffer].shape[0] if buffer in copies else 1
        assert isinstance(count, int)
        yield Use(buffer.name, writes, number % count, count)


def _flights(
    pipeline: Pipeline,
    order: Sequence[int],
    runs: Sequence[Run],
    first: int,
    waits: _Waits,
) -> Iterator[Flight]:
    """What is on its way of the iterations that `runs` work on.

    Global loads into registers until what uses them, and asynchronous copies until the wait for
    these, which is the last one ahead of it.
    """
    iterations = sorted({run.iteration for run in runs})
    for row, k in enumerate(order):
        for buffer in dict.fromkeys(_fetched(pipeline, k)):
            ends = [
                (pipeline.stages[other], there)
                for there, other in enumerate(order)
                if pipeline.before(k, other) and _loads(pipeline.stmts[other], buffer)
            ]
            if not ends:
                continue
            for iteration in iterations:
                begins = Moment(iteration - first + pipeline.stages[k], row)
                stage, there = min(ends)
                end = Moment(iteration - first + stage, there)
                waited = None if buffer.scope == "local" else waits.last(begins, end)
                yield Flight(buffer.name, iteration, begins, waited or end, waited is not None)


def _fetched(pipeline: Pipeline, k: int) -> Iterator[Buffer]:
    """What statement `k` copies asynchronously, or loads from global memory into registers."""
    copies = pipeline.stages[k] in pipeline.async_stages
    for node in walk(pipeline.stmts[k]):
        if isinstance(node, BufferStore) and copies:
            yield node.buffer
        elif isinstance(node, BufferStore) and node.buffer.scope == "local":
            load = copied_load(node.value)
            if isinstance(load, BufferLoad) and load.buffer.scope == "global":
                yield node.buffer


def _loads(stmt: Stmt, buffer: Buffer) -> bool:
    return any(isinstance(n, BufferLoad) and n.buffer is buffer for n in walk(stmt))


def _plain(func: PrimFunc, piped: Collection[Var]) -> dict[Var, tuple[str, ...]]:
    """The serial loops that run several statements in a turn, with what these are."""
    found = {}
    for loop in (node for node in walk_statements(func.body) if isinstance(node, For)):
        stmts = statements(loop)
        if loop.kind == "serial" and len(stmts) > 1 and loop.loop_var not in piped:
            found[loop.loop_var] = tuple(_blocks(stmt)[-1] for stmt in stmts)
    return found
