"""The turns of a pipeline as data, held against what lowering makes of it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import pytest

import workbench as wb
from tests.lower.test_pipelines import INNER, noted, of_one_thread, prefetching, reversed_rows
from tests.support.cases import seeds
from tests.support.pipelines import expanded
from tests.support.random_pipelines import random_pipeline
from workbench import insight, target
from workbench.arith import simplify
from workbench.diag import Fail, Refusal
from workbench.insight import Moment, Pipelined
from workbench.ir import (
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    substitute,
    walk,
)
from workbench.lower import Lowered, lower

CUDA = target.get("cuda")
ALL = 100  # turns: more than any of these pipelines has


def pipelined(func: PrimFunc, lowered: Lowered | None = None, shown: int = ALL) -> Pipelined:
    (found,) = insight.pipelines(func, lowered, shown).loops
    return found


def stores(stmt: Stmt, at: Mapping[Var, int]) -> Iterator[tuple[BufferStore, dict[Var, int]]]:
    """Every store that is run, with the loops around it; conditions on data may hold."""
    match stmt:
        case SeqStmt(stmts):
            for one in stmts:
                yield from stores(one, at)
        case For(loop_var, low, extent):
            first, count = value(low, at), value(extent, at)
            for number in range(first, first + count):
                yield from stores(stmt.body, {**at, loop_var: number})
        case IfThenElse(condition, then_case):
            if value(condition, at) is not False:
                yield from stores(then_case, at)
        case BufferStore():
            yield stmt, dict(at)
        case _:  # a block without iterators
            yield from stores(stmt.block.body, at)  # type: ignore[attr-defined]


def value(e: Expr, at: Mapping[Var, int]) -> int | None:
    found = simplify(substitute(e, {var: Const(n, var.type) for var, n in at.items()}))
    return found.value if isinstance(found, Const) else None


def test_a_double_buffer_is_told_as_the_pipeline_that_it_makes():
    sch = wb.Schedule(reversed_rows("{}"))
    sch.annotate("S", "double_buffer_scope", 0)
    same = reversed_rows(noted([0, 1]))
    assert pipelined(sch.func, lower(sch.func, CUDA)) == pipelined(same, lower(same, CUDA))
    assert not insight.pipelines(sch.func).plain


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds(20))
def test_random_pipelines_run_as_they_are_told(seed: int):
    """Each statement begins with a store to O[its number, its iteration], and no other is like it.

    What it touches of copies then is among what is told; conditions may leave some of it out.
    """
    func = random_pipeline(random.Random(seed))
    try:
        made = expanded(func)
    except Refusal:
        return
    if made is func:
        return  # of a loop of no turns there is nothing
    found = pipelined(func)
    told = [(found.rows[run.at.row].number, run.iteration, {*run.uses}) for run in found.runs]
    ran: list[tuple[int, int, set[insight.Use]]] = []
    counts = {use.buffer: use.copies for run in found.runs for use in run.uses}
    for store, at in stores(made.root.body, {}):
        loads = [node for node in walk(store) if isinstance(node, BufferLoad)]
        if store.buffer.name == "O" and not any(load.buffer.name == "O" for load in loads):
            k, iteration = (value(index, at) for index in store.indices)
            ran.append((k, iteration, set()))
        for node in (store, *loads):
            name, writes = node.buffer.name, node is store
            if counts.get(name, 1) > 1:
                use = insight.Use(name, writes, value(node.indices[0], at), counts[name])
                ran[-1][2].add(use)
    assert [(k, i) for k, i, _ in ran] == [(k, i) for k, i, _ in told]
    assert all(uses <= every for (*_, uses), (*_, every) in zip(ran, told, strict=True))


def test_threads_wait_where_the_kernel_does():
    """In `test_each_turn_waits_once_and_each_statement_is_on_its_copy`, the kernel's text."""
    func = reversed_rows(noted([0, 2]))
    found = pipelined(func, lower(func, CUDA))
    waits = [(*wait.at, wait.within) for wait in found.waits or ()]
    assert waits == [*((turn, 0, False) for turn in range(2, 12)), (12, 1, False)]
    assert found.part(1), found.part(2) == ("prologue", "body")


@pytest.mark.parametrize("stages, order", [([0, 0, 0, 0, 1], [0, 3, 1, 4, 2]),
                                           ([0, 1, 0, 1, 2], [0, 3, 1, 4, 2])])  # fmt: skip
def test_as_many_waits_as_are_counted(stages: list[int], order: list[int]):
    sch = prefetching(32)
    sch.pipeline("k_0", stages=stages, order=order)
    kernel = wb.build(sch)
    found = pipelined(sch.func, kernel.lowered)
    assert len(found.waits or ()) * 4 == insight.counts(kernel.kernels).barriers  # of 4 blocks


def test_a_fetch_into_registers_is_on_its_way_until_its_use():
    sch = prefetching(32)
    sch.pipeline("k_0", stages=[0, 1, 0, 1, 1], order=[3, 0, 4, 1, 2])
    found = pipelined(sch.func)
    assert [row.name for row in found.rows] == [
        "A_shared", "B_shared", "C_update", "A_local", "B_local",
    ]  # fmt: skip
    flight = next(f for f in found.flights if (f.buffer, f.iteration) == ("A_local", 3))
    assert (flight.begins, flight.ends) == (Moment(3, 3), Moment(4, 0))


def test_no_kernel_tells_no_waits():
    assert pipelined(reversed_rows(noted([0, 1]))).waits is None


def test_of_many_turns_the_first_and_the_last_are_shown():
    found = pipelined(reversed_rows(noted([0, 2])), shown=7)
    assert found.turns == (0, 1, 2, 3, 11, 12, 13)
    assert {run.at.turn for run in found.runs} == {*found.turns}


@pytest.mark.parametrize("low, high, count", [("j", 5, 5), (3, "3 + j", 4)])
def test_the_most_turns_are_shown_where_their_number_varies(low, high, count):
    found = pipelined(reversed_rows(noted([0, 1]), low, high, around="for j in range(5):"))
    assert (found.iterations, found.most) == (count, True)


def test_where_the_number_of_turns_varies_waits_are_those_of_the_most():
    func = reversed_rows(noted([0, 1]), 0, "2 + j", around="for j in range(5):")
    found = pipelined(func, lower(func, CUDA))
    assert [(*w.at, w.within) for w in found.waits or ()] == [
        (0, 0, False),  # for the loop around
        *((turn, 0, False) for turn in range(1, 6)),
        (6, 1, False),
    ]


def test_a_program_without_one_says_how_to_get_there():
    sch = prefetching(32)
    got = insight.pipelines(sch.func)
    assert got.loops == () and "`pipeline` at `k_0`" in got.caption
    assert got.table.rows == (("k_0", "A_local; A_shared; B_local; B_shared; C_update"),)
    sch.pipeline("k_0", stages=[0, 0, 0, 0, 1])


@pytest.mark.parametrize("stages", [[0, 1], [0, 5]])
def test_what_an_inner_pipeline_becomes_are_statements_of_the_outer_one(stages: list[int]):
    func = of_one_thread(INNER, OUTER=noted([0, 1, 1, 1]), INNER=noted(stages))
    outer, inner = insight.pipelines(func, lower(func, CUDA)).loops
    names = [row.name for row in outer.rows[1:]]
    assert names == [f"{inner.loop} prologue", inner.loop, f"{inner.loop} epilogue"]


def test_what_a_build_refuses_has_no_picture():
    with pytest.raises(Fail, match="Can't pipeline `k`"):
        insight.pipelines(reversed_rows(noted([1, 0])))


@pytest.mark.parametrize("stages", [[0, 1], [0, 2], [0, 3]])
def test_as_many_copies_are_on_their_way_as_a_wait_leaves(stages: list[int]):
    """One group an iteration: a wait for all but N leaves N of them under way."""
    func = reversed_rows(noted(stages, None, software_pipeline_async_stages=[0]))
    found = pipelined(func, lower(func, target.get("nvidia/nvidia-a100")), shown=7)
    waits = [wait for wait in found.waits or () if wait.for_copies]
    assert {wait.at.turn for wait in waits} == {turn for turn in found.turns if turn >= stages[1]}
    for wait in waits:
        assert wait.groups == sum(f.begins < wait.at < f.ends for f in found.flights)
        assert any(f.ends == wait.at and f.waited for f in found.flights)


def test_a_program_is_lowered_once_for_all_that_is_told_of_it():
    func = reversed_rows(noted([0, 1]))
    kept = insight.lowered_of(func)
    assert kept is not None and kept is insight.lowered_of(func)
