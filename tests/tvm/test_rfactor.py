"""Sums in parts by the schedule of stages: ``s.rfactor``, as TVM's lesson on reductions has it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from workbench import tvm
from workbench.access import difference, random_data
from workbench.schedule import ScheduleError
from workbench.tvm import te

Sum = tuple[te.Schedule, te.Tensor, te.Tensor]


def rows(n: int = 8, m: int = 12) -> Sum:
    """The sums of the rows of a matrix."""
    a, k = te.placeholder((n, m), name="A"), te.reduce_axis((0, m), name="k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    return te.create_schedule(b.op), a, b


def slices(n: int = 4, m: int = 3, r: int = 5) -> Sum:
    """The largest of each slice of a cube."""
    a = te.placeholder((n, m, r), name="A")
    k, l = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, r), name="l")
    b = te.compute((n,), lambda i: te.max(a[i, k, l], axis=[k, l]), name="B")
    return te.create_schedule(b.op), a, b


def bound(
    s: te.Schedule, b: te.Tensor, parts: te.Tensor, factor: int = 4
) -> list[Callable[[], Any]]:
    """Rows for blocks and threadIdx.y, parts for threadIdx.x: the calls, in any order."""
    outer, inner = s[b].split(s[b].op.axis[0], factor=factor)
    (over,), tx = s[b].op.reduce_axis, te.thread_axis("threadIdx.x")
    return [
        lambda: s[b].bind(outer, te.thread_axis("blockIdx.x")),
        lambda: s[b].bind(inner, te.thread_axis("threadIdx.y")),
        lambda: (s[b].set_store_predicate(tx.var.equal(0)), s[b].bind(over, tx)),
        lambda: s[parts].compute_at(s[b], over),
    ]


def check(s: te.Schedule, *args: te.Tensor) -> wb.Schedule:
    """The steps of `s`, which keep what the program means."""
    found, start = s.applied(args), te.create_prim_func(args)
    assert difference(start, found.func, random_data(start, 0)) == ""
    return found


def test_the_lesson_on_reductions_runs():
    s, a, b = rows(64, 40)
    _, ki = s[b].split(b.op.reduce_axis[0], factor=16)
    parts = s.rfactor(b, ki)
    assert (parts.name, parts.shape) == ("B.rf", (16, 64))
    assert [axis.name for axis in s[parts].op.axis] == ["k.inner", "i"]
    assert [axis.name for axis in s[parts].op.reduce_axis] == ["k.outer"]
    assert [axis.name for axis in s[b.op].op.reduce_axis] == ["k.inner.v"]
    assert [stage.name for stage in s.stages] == ["A", "B.rf", "B"]
    for call in bound(s, b, parts, 32):
        call()
    assert repr(s.applied([a, b]).trace) == (
        "1. split(k, factors=[None, 16])\n"
        "2. rfactor(k_1, factor_axis=0)\n"
        "3. split(i, factors=[None, 32])\n"
        '4. bind(i_0, "blockIdx.x")\n'
        '5. bind(i_1, "threadIdx.y")\n'
        '6. bind(k_1, "threadIdx.x")\n'
        '7. set_scope(B_rf, buffer_index=0, storage_scope="local")\n'
        "8. compute_at(B_rf, k_1, preserve_unit_loops=True)\n"
        "9. decompose_reduction(B_rf, ax2)"
    )
    given, out = np.random.default_rng(0).random((64, 40), "float32"), np.empty(64, "float32")
    tvm.build(s, [a, b], "cuda")(given, out)
    np.testing.assert_allclose(out, given.sum(1), rtol=1e-5)


def test_the_order_of_calls_changes_nothing():
    def made(order: Callable[[list[Any]], None]) -> wb.Schedule:
        s, a, b = rows()
        _, ki = s[b].split(b.op.reduce_axis[0], factor=4)
        parts = s.rfactor(b, ki)
        calls = bound(s, b, parts)
        calls += [
            lambda: s[parts].unroll(s[parts].op.reduce_axis[0]),
            lambda: s[s.cache_read(a, "local", [parts])].compute_at(
                s[parts], s[parts].op.reduce_axis[0]
            ),
        ]
        order(calls)
        for call in calls:
            call()
        return check(s, a, b)

    wanted = made(lambda calls: None)
    assert "cache_read(B_rf, " in repr(wanted.trace)
    for number in range(6):
        assert wb.structural_equal(made(random.Random(number).shuffle).func, wanted.func), number


@pytest.mark.parametrize("factor_axis, shape", [(0, (4, 8)), (1, (8, 4)), (-1, (8, 4))])
@pytest.mark.parametrize("attached", [False, True])
def test_the_axis_of_the_parts(factor_axis: int, shape: tuple[int, int], attached: bool):
    s, a, b = rows()
    _, ki = s[b].split(b.op.reduce_axis[0], factor=4)
    parts = s.rfactor(b, ki, factor_axis)
    assert parts.shape == shape
    if attached:
        s[parts].compute_at(s[b], s[b].op.axis[0])
    factor = s[parts].op.axis[factor_axis]
    assert factor.name == "k.inner"
    s[parts].unroll(factor)
    found = check(s, a, b)
    (loop,) = [loop for loop in found.get_loops("B_rf_update") if "unroll" in describe(found, loop)]
    assert describe(found, loop).endswith("T.unroll(4):")


def describe(sch: wb.Schedule, loop: Any) -> str:
    """The line of a loop in the program."""
    name = loop.name
    return next(line for line in str(sch.func).splitlines() if f"for {name} in" in line)


@pytest.mark.parametrize("factor", [4, 5, 12])
@pytest.mark.parametrize("rows_a_block", [4, 3])
def test_tails(factor: int, rows_a_block: int):
    s, a, b = rows()
    _, ki = s[b].split(b.op.reduce_axis[0], factor=factor)
    parts = s.rfactor(b, ki)
    for call in bound(s, b, parts, rows_a_block):
        call()
    check(s, a, b)


@pytest.mark.parametrize("nparts", [1, 3, 6])
def test_the_outer_loop_of_a_split(nparts: int):
    s, a, b = rows()
    ko, _ = s[b].split(b.op.reduce_axis[0], nparts=nparts)
    parts = s.rfactor(b, ko)
    assert parts.shape == (nparts, 8)
    for call in bound(s, b, parts):
        call()
    check(s, a, b)


@pytest.mark.parametrize("factor", [2, 5, 7])
@pytest.mark.parametrize("attached", [False, True])
def test_all_loops_of_a_sum_as_one(factor: int, attached: bool):
    s, a, b = slices()
    whole = s[b].fuse(*b.op.reduce_axis)
    _, ki = s[b].split(whole, factor=factor)
    parts = s.rfactor(b, ki)
    for call in bound(s, b, parts)[: 4 if attached else 3]:
        call()
    check(s, a, b)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("attached", [False, True])
def test_one_of_two_loops(which: int, attached: bool):
    s, a, b = slices()
    _, ki = s[b].split(b.op.reduce_axis[which], factor=2)
    parts = s.rfactor(b, ki, 1)
    names = ["k.outer", "l"] if which == 0 else ["k", "l.outer"]
    assert [axis.name for axis in s[parts].op.reduce_axis] == names
    if attached:
        s[parts].compute_at(s[b], s[b].op.axis[0])
    s[parts].unroll(s[parts].op.reduce_axis[-1])
    s[parts].reorder(*s[parts].op.reduce_axis, *s[parts].op.axis)
    check(s, a, b)


def test_a_loop_of_the_sum_itself_and_parts_of_parts():
    s, a, b = slices()
    s.rfactor(b, b.op.reduce_axis[0])
    check(s, a, b)
    s, a, b = rows()
    _, ki = s[b].split(b.op.reduce_axis[0], factor=4)
    parts = s.rfactor(b, ki)
    again = s.rfactor(parts, s[parts].op.reduce_axis[0], 1)
    last = s.rfactor(b, s[b].split(s[b].op.reduce_axis[0], factor=2)[0])
    assert (again.shape, last.shape) == ((4, 3, 8), (2, 8))
    s[parts].compute_at(s[last], s[last].op.axis[0])
    assert repr(check(s, a, b).trace).count("rfactor") == 3


def test_copies_beside_parts():
    s, a, b = rows()
    fetched = s.cache_read(a, "shared", [b])
    inside = s.cache_write(b, "local")
    _, ki = s[inside].split(s[inside].op.reduce_axis[0], factor=4)
    parts = s.rfactor(inside, ki)
    block, thread = s[b].split(s[b].op.axis[0], factor=4)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    s[inside].compute_at(s[b], thread)
    s[parts].compute_at(s[inside], s[inside].op.reduce_axis[0])
    s[fetched].compute_at(s[b], block)
    staged = s.cache_read(parts, "local", [inside])
    s[staged].compute_at(s[inside], s[inside].op.reduce_axis[0])
    trace = repr(check(s, a, b).trace)
    assert trace.index("cache_write") < trace.index("rfactor") < trace.index("cache_read")


@pytest.mark.fuzz
def test_random_sums_in_parts_mean_the_same():
    rng, taken = random.Random(0), 0
    for _ in seeds():
        s, a, b = rows(rng.randint(1, 6), rng.randint(1, 9)) if rng.random() < 0.5 else slices()
        loops = list(b.op.reduce_axis)
        if len(loops) == 2 and rng.random() < 0.5:
            loops = [s[b].fuse(*loops)]
        way = {rng.choice(("factor", "nparts")): rng.randint(1, 6)}
        loops += s[b].split(loops.pop(rng.randrange(len(loops))), **way)
        parts = s.rfactor(b, rng.choice(loops), rng.randint(-2, 1))
        calls = bound(s, b, parts, rng.randint(1, 4))
        rng.shuffle(calls)
        for call in calls[: rng.randint(0, 4)]:
            call()
        try:
            check(s, a, b)
        except ScheduleError:
            continue
        taken += 1
    assert taken > CASES * 3 // 4


# --- refusals -------------------------------------------------------------------------------------


def attached_too_early(s: te.Schedule, a: te.Tensor, b: te.Tensor) -> None:
    copy = s.cache_read(a, "local", [b])
    ko, ki = s[b].split(b.op.reduce_axis[0], factor=4)
    s[copy].compute_at(s[b], ko)
    s.rfactor(b, ki)
    s.applied([a, b])


REFUSED: dict[str, tuple[Callable[..., object], str]] = {
    "no loop of a sum": (
        lambda s, a, b: s.rfactor(b, b.op.axis[0]),
        "Can't factor B by `i`: that is no loop of a sum.\n"
        "asked: s.rfactor(B, i, 0)\n"
        "do:    split the loops of its sum alone, take rfactor, then the others of s[B]",
    ),
    "other loops first": (
        lambda s, a, b: [s[b].split(b.op.axis[0], factor=4), s.rfactor(b, b.op.reduce_axis[0])],
        "Can't factor B by `k`: other loops than its sum's are changed.\n"
        "asked: s.rfactor(B, k, 0)\n"
        "do:    split the loops of its sum alone, take rfactor, then the others of s[B]",
    ),
    "more than split": (
        lambda s, a, b: [s[b].unroll(b.op.reduce_axis[0]), s.rfactor(b, b.op.reduce_axis[0])],
        "Can't factor B by `k`: more is asked of it than to split.\n"
        "asked: s.rfactor(B, k, 0)\n"
        "do:    take rfactor right behind split and fuse, then the others of s[B]",
    ),
    "a loop that is split": (
        lambda s, a, b: [s[b].split(b.op.reduce_axis[0], factor=4),
                         s.rfactor(b, b.op.reduce_axis[0])],
        "Can't use `k` there: it is not, or no more, a loop of the stage B.\n"
        "asked: s.rfactor(B, k, 0)\n"
        "do:    name, each once: i, k.outer, k.inner",
    ),
    "parts in registers": (
        lambda s, a, b: s.cache_write(s.rfactor(b, b.op.reduce_axis[0]), "local"),
        "Can't cache what B.rf writes: it holds parts of a sum already.\n"
        "asked: s.cache_write(B.rf, 'local')\n"
        "do:    keep them in that memory: s[B.rf].set_scope('local')",
    ),
    "a copy behind": (
        lambda s, a, b: [s.rfactor(b, b.op.reduce_axis[0]), s.cache_write(b, "local")],
        "Can't cache what B writes: its loops are split already.\n"
        "asked: s.cache_write(B, 'local')\n"
        "do:    take cache_write first",
    ),
    "attached too early": (
        attached_too_early,
        "Can't compute at `k.outer`: B has it no more.\n"
        "asked: s[A.local].compute_at(s[B], k.outer)\n"
        "do:    attach it to a stage that is computed, and reads it",
    ),
    "parts without a term": (
        lambda s, a, b: [s.rfactor(b, s[b].split(b.op.reduce_axis[0], factor=16)[1]),
                         s.applied([a, b])],
        "Can't rfactor `k_1`: its T.where leaves out whole parts.\n"
        "asked: s.rfactor(B, k.inner, 0), as sch.rfactor(k_1, 0)\n",
    ),
    "stored by every thread": (
        lambda s, a, b: [s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x")),
                         s[b].set_store_predicate(te.thread_axis("threadIdx.x").var.equal(0)),
                         s.applied([a, b])],
        "Can't let thread 0 of threadIdx.x alone store B.\n"
        "asked: s[B].set_store_predicate(threadIdx.x.var.equal(0))\n"
        "found: of threads that share a sum out the first one stores it, anyway; others store "
        "what each has computed\n"
        "do:    bind a loop of its sum to threadIdx.x and ask for thread 0, or leave it out",
    ),
    "stored by no thread": (
        lambda s, a, b: s[b].set_store_predicate(True),
        "Can't store B by that predicate: it names no thread.\n"
        "asked: s[B].set_store_predicate(True)\n"
        'do:    write tx.var.equal(0), with tx = te.thread_axis("threadIdx.x")',
    ),
    "no such axis": (
        lambda s, a, b: [s.rfactor(b, b.op.reduce_axis[0], 2), s.applied([a, b])],
        "Can't rfactor `k`: the parts of B have no axis 2.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_rfactor_refuses(case: str):
    call, told = REFUSED[case]
    with pytest.raises(ScheduleError) as error:
        call(*rows())
    assert str(error.value).startswith(told)


def test_loops_that_another_split_parted_have_no_place_where_parts_are_attached():
    s, a, b = slices()
    s[b].split(b.op.reduce_axis[1], factor=2)
    parts = s.rfactor(b, b.op.reduce_axis[0])
    check(s, a, b)
    s[parts].compute_at(s[b], s[b].op.axis[0])
    with pytest.raises(ScheduleError) as error:
        s.applied([a, b])
    assert str(error.value) == (
        "Can't compute B.rf there: its loops are not those of its iterators.\n"
        "asked: s[B.rf].compute_at(s[B], i)\n"
        "do:    split and fuse, ahead of rfactor, the loop alone that it takes"
    )


def test_several_values_at_once():
    a, k = te.placeholder((8, 4), name="A"), te.reduce_axis((0, 4), name="k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], te.max(x[1], y[1])),
        lambda t, u: (te.const(0, t), te.min_value(u)),
    )
    total, _ = te.compute((8,), lambda i: both((a[i, k], a[i, k]), k), name="B")
    with pytest.raises(ScheduleError, match=r"^Can't factor B\.v0: it is computed together with "):
        te.create_schedule(total.op).rfactor(total, k)
