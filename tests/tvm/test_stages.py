"""The schedule of stages: what its calls become, in any order, and what it refuses."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from tests.support.random_stages import check_stages
from workbench import tvm
from workbench.access import difference, random_data
from workbench.schedule import ScheduleError
from workbench.tvm import NotCarried, te


def product(n: int = 32) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """The arguments of C = A B."""
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return a, b, c


def doubled_and_more(n: int = 64) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    """The arguments of C = 2 A + 1, with B = 2 A between."""
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    return a, b, te.compute((n,), lambda i: b[i] + 1.0, name="C")


def bound(s: te.Schedule, tensor: te.Tensor, factor: int = 16) -> tuple[Any, Any]:
    """The loops of blocks and of threads of a tensor of one dimension."""
    outer, inner = s[tensor].split(s[tensor].op.axis[0], factor=factor)
    s[tensor].bind(outer, te.thread_axis("blockIdx.x"))
    s[tensor].bind(inner, te.thread_axis("threadIdx.x"))
    return outer, inner


def steps(s: te.Schedule, *args: te.Tensor) -> str:
    return repr(s.applied(args).trace)


class Blocked:
    """C = 2 A B with blocks, shared memory and registers, its calls in an order of one's own."""

    def __init__(self, order: Callable[[list[Any]], None]) -> None:
        a, b, _ = product()
        a2 = te.compute(a.shape, lambda i, j: a[i, j] * 2.0, name="A2")
        k = te.reduce_axis((0, 32), name="k")
        c = te.compute(a.shape, lambda i, j: te.sum(a2[i, k] * b[k, j], axis=k), name="C")
        self.args, self.c = (a, b, c), c
        self.s = s = te.create_schedule(c.op)
        self.made: dict[str, te.Tensor] = {}
        copies = [
            lambda: s[a2].compute_inline(),
            lambda: self.read(a2),
            lambda: self.read(b),
            lambda: self.made.update(CL=s.cache_write(c, "local")),
        ]
        order(copies)
        for call in copies:
            call()
        calls = self.arrangements()
        order(calls)
        for call in calls:
            call()

    def read(self, of: te.Tensor) -> None:
        reader = self.made.get("CL", self.c)
        self.made[of.name] = self.s.cache_read(of, "shared", [reader])
        self.made[of.name + "L"] = self.s.cache_read(self.made[of.name], "local", [reader])

    def arrangements(self) -> list[Callable[[], None]]:
        inner = self.made["CL"]
        outer, sums = self.s[self.c], self.s[inner]
        by, bx, y, x = outer.tile(*outer.op.axis, 16, 16)
        ty, tx, y, x = outer.tile(y, x, 4, 4)
        ko, ki = sums.split(inner.op.reduce_axis[0], factor=4)
        sums.reorder(ko, ki, *inner.op.axis)
        return [
            lambda: sums.compute_at(outer, tx),
            lambda: self.fetch("A2", ko),
            lambda: self.fetch("B", ko),
            lambda: self.s[self.made["A2L"]].compute_at(sums, ki),
            lambda: self.s[self.made["BL"]].compute_at(sums, ki),
            lambda: outer.bind(by, te.thread_axis("blockIdx.y")),
            lambda: outer.bind(bx, te.thread_axis("blockIdx.x")),
            lambda: outer.bind(ty, te.thread_axis("threadIdx.y")),
            lambda: outer.bind(tx, te.thread_axis("threadIdx.x")),
        ]

    def fetch(self, name: str, at: te.IterVar) -> None:
        stage = self.s[self.made[name]]
        stage.compute_at(self.s[self.made["CL"]], at)
        _, fused = stage.split(stage.fuse(*stage.op.axis), factor=16)
        ty, tx = stage.split(fused, factor=4)
        stage.bind(ty, te.thread_axis((0, 4), "threadIdx.y"))
        stage.bind(tx, te.thread_axis((0, 4), "threadIdx.x"))


@pytest.mark.tool
def test_the_order_of_calls_changes_nothing():
    first = Blocked(lambda calls: None)
    wanted = first.s.applied(first.args)
    a, b = np.random.default_rng(0).random((2, 32, 32), "float32")
    out = np.empty_like(a)
    tvm.build(first.s, first.args, "cuda")(a, b, out)
    np.testing.assert_allclose(out, 2 * a @ b, rtol=1e-5)
    for number in range(5):
        other = Blocked(random.Random(number).shuffle)
        found = other.s.applied(other.args)
        assert wb.structural_equal(found.func, wanted.func), number
        # only the calls on one stage are taken in their own order
        assert sorted(s.text for s in found.trace) == sorted(s.text for s in wanted.trace)


def test_each_call_is_a_step_of_the_history():
    a, b, c = product(16)
    s = te.create_schedule(c.op)
    i, j = s[c].op.axis
    fused = s[c].fuse(i, j)
    outer, inner = s[c].split(fused, nparts=8)
    s[c].bind(outer, te.thread_axis("blockIdx.x"))
    s[c].bind(inner, te.thread_axis((0, 32), "threadIdx.x"))
    _, ki = s[c].split(s[c].op.reduce_axis[0], factor=4)
    s[c].unroll(ki)
    sch = s.applied([a, b, c], name="product")
    assert sch.func.name == "product"
    assert repr(sch.trace) == (
        "1. fuse(i, j)\n"
        "2. split(i_j_fused, factors=[8, None])\n"
        '3. bind(i_j_fused_0, "blockIdx.x")\n'
        '4. bind(i_j_fused_1, "threadIdx.x")\n'
        "5. split(k, factors=[None, 4])\n"
        "6. unroll(k_1)\n"
        "7. decompose_reduction(C, k_0)"
    )
    assert tvm.lower(s, [a, b, c], simple_mode=True)["main"] is not None
    assert wb.structural_equal(tvm.lower(sch), sch.mod)


def test_a_stage_without_memory_gets_that_of_where_it_stands():
    for k, scope in enumerate(("shared", "local")):
        a, b, c = doubled_and_more()
        s = te.create_schedule(c.op)
        s[b].compute_at(s[c], bound(s, c)[k])
        assert f'set_scope(B, buffer_index=0, storage_scope="{scope}")' in steps(s, a, c)
    a, b, c = doubled_and_more()
    s = te.create_schedule(c.op)
    s[b].set_scope("shared")
    s[b].compute_at(s[c], bound(s, c)[1])
    assert "set_scope" not in steps(s, a, c).split("compute_at")[0]
    a, b, c = doubled_and_more()
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], s[c].op.axis[0])
    assert "set_scope" not in steps(s, a, c)
    s[b].compute_root()
    assert steps(s, a, c) == "no steps"


def test_a_loop_that_is_split_or_fused_later_keeps_what_is_attached():
    a, b, c = doubled_and_more()
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(s[c].op.axis[0], factor=16)
    s[b].compute_at(s[c], outer)
    s[c].fuse(s[c].split(outer, factor=2)[1], inner)
    assert "compute_at(B, i_0_1_i_1_fused, preserve_unit_loops=True)" in steps(s, a, c)


def test_an_attached_stage_is_split_by_no_more_than_it_runs_unless_threads_do_it():
    a, b, c = doubled_and_more()
    s = te.create_schedule(c.op)
    outer, _ = bound(s, c)
    s[b].compute_at(s[c], outer)
    s[b].split(s[b].split(s[b].op.axis[0], factor=64)[1], nparts=32)
    assert "split(ax0, factors=[None, 16])\n7. split(ax0_1, factors=[16, None])" in steps(s, a, c)
    a, b, c = doubled_and_more()
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], s[c].split(s[c].op.axis[0], factor=16)[0])
    s[b].bind(s[b].split(s[b].op.axis[0], factor=64)[1], te.thread_axis("threadIdx.x"))
    assert "split(ax0, factors=[None, 64])" in steps(s, a, c)


def test_marks_and_notes():
    a = te.placeholder((64, 64), name="A")
    b = te.compute((64, 64), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((64, 64), lambda i, j: b[i, j] + 1.0, name="C")
    s = te.create_schedule(c.op)
    s[b].storage_align(s[b].op.axis[0], 8, 4)
    s[b].double_buffer()
    i0, i1 = s[b].split(s[b].op.axis[0], factor=4)
    s[b].vectorize(i1)
    s[b].parallel(i0)
    s[c].pragma(s[c].op.axis[0], "unroll")
    s[c].pragma(s[c].op.axis[0], "unroll_explicit", True)
    assert steps(s, a, c) == (
        "1. unroll(i)\n"
        "2. storage_align(B, buffer_index=0, axis=0, factor=8, offset=4)\n"
        '3. annotate(B, "double_buffer_scope", ann_val=0)\n'
        "4. split(i, factors=[None, 4])\n"
        "5. vectorize(i_1)\n"
        "6. parallel(i_0)"
    )


def test_small_loops_are_unrolled_from_inside_out():
    a, b, c = product(8)
    s = te.create_schedule(c.op)
    i, j = s[c].op.axis
    (k,) = s[c].op.reduce_axis
    _, ki = s[c].split(k, factor=4)
    s[c].vectorize(j)
    s[c].pragma(i, "auto_unroll_max_step", 8)
    unrolled = ["3. decompose_reduction(C, k_0)", "4. unroll(k_1)", "5. unroll(k_0)"]
    assert steps(s, a, b, c).splitlines()[-3:] == unrolled
    s[c].unroll(ki)
    unrolled = ["3. unroll(k_1)", "4. decompose_reduction(C, k_0)", "5. unroll(k_0)"]
    assert steps(s, a, b, c).splitlines()[-3:] == unrolled


def test_a_pass_context_unrolls_small_loops_and_refuses_other_passes():
    a, b, c = product(8)
    s = te.create_schedule(c.op)
    config = {"tir.UnrollLoop": {"auto_max_step": 8, "explicit_unroll": True}}
    with tvm.transform.PassContext(opt_level=3, config=config) as outer:
        assert tvm.transform.PassContext.current() is outer
        with tvm.transform.PassContext():
            plain = tvm.lower(s, [a, b, c])
        small = tvm.lower(s, [a, b, c])
    assert "unroll" not in plain.script() and "for k in T.unroll(8)" in small.script()
    assert wb.structural_equal(tvm.lower(s, [a, b, c]), plain)
    with pytest.raises(NotCarried) as error:
        tvm.transform.PassContext(config={"tir.disable_vectorize": True})
    assert str(error.value) == (
        "Can't set 'tir.disable_vectorize': that is of TVM's passes, which are not in the "
        "workbench.\n"
        "asked: tvm.transform.PassContext(… 'tir.disable_vectorize' …)\n"
        "do:    leave it out; 'tir.UnrollLoop' is heeded"
    )
    for given in ({"disabled_pass": ["A"]}, {"instruments": [object()]}):
        with pytest.raises(NotCarried):
            tvm.transform.PassContext(**given)


def test_copies_of_copies_and_of_results_that_are_read():
    a, b, c = doubled_and_more()
    s = te.create_schedule(c.op)
    inner = s.cache_write(b, "shared")
    inmost = s.cache_write(inner, "local")
    outer = s.cache_read(b, "local", c)
    again = s.cache_write(outer, "local")
    assert [stage.name for stage in s.stages] == [
        *("A", "B.shared.local", "B.shared", "B", "B.local.local", "B.local", "C"),
    ]
    assert (inmost.name, again.name, s[inner].op.name) == (
        *("B.shared.local", "B.local.local", "B.shared"),
    )
    assert steps(s, a, c).count("cache_write") == 3
    one, two = wb.Schedule(te.create_prim_func([a, c])).func, s.applied([a, c]).func
    assert difference(one, two, random_data(one, 0)) == ""


def test_only_some_readers_read_a_copy():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((8,), lambda i: a[i] + b[i], name="C")
    s = te.create_schedule([c.op, b.op])
    s.cache_read(a, "local", [c])
    assert "cache_read(C, read_buffer_index=0, " in steps(s, a, b, c)
    assert "consumer_blocks=[C]" in steps(s, a, b, c)


def test_threads_share_a_sum_out():
    a = te.placeholder((4, 32), name="A")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="C")
    s = te.create_schedule(c.op)
    s[c].bind(s[c].op.axis[0], te.thread_axis("blockIdx.x"))
    s[c].bind(s[c].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    given, out = np.ones((4, 32), "float32"), np.empty(4, "float32")
    tvm.build(s, [a, c], "cuda")(given, out)
    assert (out == 32).all() and "decompose" not in steps(s, a, c)


def test_two_outputs_of_one_computation():
    a = te.placeholder((8,), name="A")
    b, c = te.compute((8,), lambda i: (a[i] + 1.0, a[i] * 2.0), name="B")
    s = te.create_schedule(b.op)
    s[b].bind(s[b].op.axis[0], te.thread_axis("threadIdx.x"))
    assert steps(s, a, b, c) == '1. bind(i, "threadIdx.x")'
    assert str(refusal(lambda: s.cache_write(b, "local"))) == (
        "Can't cache B.v0: it is computed together with others.\n"
        "asked: s.cache_write(B.v0, 'local')\n"
        "do:    compute a tensor of its own for each, or schedule te.create_prim_func(args)"
    )


# --- schedules as tutorials write them: each keeps what the program means -------------------------


def write_cache() -> tuple[te.Schedule, tuple[te.Tensor, ...]]:
    """A product on a CPU, its copy split by the axes that the tensor had from the start."""
    a, b, c = product(8)
    s = te.create_schedule(c.op)
    cc = s.cache_write(c, "global")
    mo, no, _, _ = s[c].tile(c.op.axis[0], c.op.axis[1], 4, 4)
    s[cc].compute_at(s[c], no)
    mc, nc = s[cc].op.axis
    ko, ki = s[cc].split(s[cc].op.reduce_axis[0], factor=4)
    s[cc].reorder(ko, mc, ki, nc)
    s[cc].vectorize(nc)
    s[cc].unroll(ki)
    s[c].parallel(mo)
    return s, (a, b, c)


def fused_relu() -> tuple[te.Schedule, tuple[te.Tensor, ...]]:
    """A product inside the loops of what is made of it, with cooperative fetching."""
    a, b, c = product(8)
    r = te.compute(c.shape, lambda i, j: te.max(c[i, j] - 4.0, 0.0), name="R")
    s = te.create_schedule(r.op)
    by, bx, ty, tx = s[r].tile(*s[r].op.axis, 4, 4)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y")):
        s[r].bind(loop, te.thread_axis(axis))
    s[r].bind(tx, te.thread_axis("threadIdx.x"))
    s[c].compute_at(s[r], tx)
    ko, _ = s[c].split(s[c].op.reduce_axis[0], factor=4)
    for tensor in (a, b):
        copy = s[s.cache_read(tensor, "shared", [c])]
        copy.compute_at(s[c], ko)
        ty, rest = copy.split(copy.fuse(*copy.op.axis), nparts=4)
        copy.bind(ty, te.thread_axis("threadIdx.y"))
        copy.bind(copy.split(rest, nparts=4)[0], te.thread_axis("threadIdx.x"))
    return s, (a, b, r)


def softmax() -> tuple[te.Schedule, tuple[te.Tensor, ...]]:
    """A row a block, its sums shared out among threads."""
    a = te.placeholder((8, 16), name="A")
    k, k2 = (te.reduce_axis((0, 16), name) for name in ("k", "k2"))
    m = te.compute((8,), lambda i: te.max(a[i, k], axis=k), name="M")
    e = te.compute((8, 16), lambda i, j: te.exp(a[i, j] - m[i]), name="E")
    t = te.compute((8,), lambda i: te.sum(e[i, k2], axis=k2), name="S")
    o = te.compute((8, 16), lambda i, j: e[i, j] / t[i], name="O")
    s = te.create_schedule(o.op)
    s[e].compute_inline()
    i, j = s[o].op.axis
    s[o].bind(i, te.thread_axis("blockIdx.x"))
    s[o].bind(j, te.thread_axis((0, 16), "threadIdx.x"))
    for stage in (s[m], s[t]):
        stage.compute_at(s[o], i)
        stage.bind(stage.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    return s, (a, o)


def window() -> tuple[te.Schedule, tuple[te.Tensor, ...]]:
    """A tile and its edge made by more threads than there is room for at once."""
    a = te.placeholder((66,), name="A")
    p = te.compute((66,), lambda i: a[i] * 2.0, name="P")
    q = te.compute((64,), lambda i: p[i] + p[i + 1] + p[i + 2], name="Q")
    s = te.create_schedule(q.op)
    outer, _ = bound(s, q)
    s[p].compute_at(s[q], outer)
    s[p].bind(s[p].split(p.op.axis[0], factor=16)[1], te.thread_axis("threadIdx.x"))
    return s, (a, q)


@pytest.mark.fuzz
@pytest.mark.parametrize("made_so", [write_cache, fused_relu, softmax, window])
def test_a_schedule_keeps_what_the_program_means(made_so: Callable[..., Any]):
    s, args = made_so()
    start, found = te.create_prim_func(args), s.applied(args).func
    assert difference(start, found, random_data(start, 0)) == ""
    if made_so is not write_cache:  # which is for a CPU
        arrays = [np.random.default_rng(0).random(t.shape, "float32") for t in args]
        wanted = [array.copy() for array in arrays]
        tvm.build(s, args, "cuda")(*arrays)
        wb.emulate.evaluate(start, wanted)
        np.testing.assert_allclose(arrays[-1], wanted[-1], rtol=1e-4)


# --- refusals ------------------------------------------------------------------------------------


def refusal(call: Callable[[], object]) -> ScheduleError:
    with pytest.raises(ScheduleError) as error:
        call()
    return error.value


def made() -> tuple[te.Schedule, te.Tensor, te.Tensor, te.Tensor]:
    a, b, c = doubled_and_more()
    return te.create_schedule(c.op), a, b, c


REFUSED: dict[str, tuple[Callable[..., object], str]] = {
    "split by both": (
        lambda s, a, b, c: s[c].split(s[c].op.axis[0], factor=4, nparts=4),
        "Can't split `i`: it takes factor or nparts, one of the two.\n"
        "asked: s[C].split(i, nparts=4)\n"
        "do:    write factor=8 for inner loops of 8 turns, nparts=8 for 8 of them",
    ),
    "bind to a loop": (
        lambda s, a, b, c: s[c].bind(s[c].op.axis[0], s[b].op.axis[0]),
        "Can't bind `i` to `i`: that is no thread axis.\n"
        "asked: s[C].bind(i, i)\n"
        'do:    make one: te.thread_axis("threadIdx.x")',
    ),
    "unknown pragma": (
        lambda s, a, b, c: s[c].pragma(s[c].op.axis[0], "import_c", 1),
        "Can't note 'import_c' at `i`: the code here does not heed it.\n"
        "asked: s[C].pragma(i, 'import_c', 1)\n"
        "do:    it heeds 'unroll', 'auto_unroll_max_step' and 'unroll_explicit'",
    ),
    "alignment of a loop": (
        lambda s, a, b, c: s[c].storage_align(s[c].split(s[c].op.axis[0], factor=4)[0], 4, 0),
        "Can't use `i.outer` there: it is not, or no more, an axis of its tensor C.\n"
        "asked: s[C].storage_align(i.outer, 4, 0)\n"
        "do:    name, each once: i",
    ),
    "fuse apart": (
        lambda s, a, b, c: s[c].fuse(*reversed(s[c].split(s[c].op.axis[0], factor=4))),
        "Can't fuse i.inner, i.outer: they are not each directly in the one before.\n"
        "asked: s[C].fuse(i.inner, i.outer)\n"
        "do:    reorder them first; the loops are i.outer, i.inner",
    ),
    "no loops": (
        lambda s, a, b, c: s[c].fuse(),
        "Can't take no loops at all.\nasked: s[C].fuse()\ndo:    name some",
    ),
    "another stage's loop": (
        lambda s, a, b, c: s[c].reorder(s[b].op.axis[0]),
        "Can't use `i` there: it is not, or no more, a loop of the stage C.\n"
        "asked: s[C].reorder(i)\n"
        "do:    name, each once: i",
    ),
    "no stage": (
        lambda s, a, b, c: s[te.placeholder((1,), name="D")],
        "Can't find a stage of `D` in this schedule.\ndo:    it has A, B, C",
    ),
    "no reader": (
        lambda s, a, b, c: s.cache_read(a, "shared", [c]),
        "Can't cache A for C, which does not read it.\n"
        "asked: s.cache_read(A, 'shared', [C])\n"
        "do:    it reads B",
    ),
    "what is given": (
        lambda s, a, b, c: s.cache_write(a, "local"),
        "Can't cache what A writes: it is given.\n"
        "asked: s.cache_write(A, 'local')\n"
        "do:    take s.cache_read",
    ),
    "too late": (
        lambda s, a, b, c: [bound(s, c), s.cache_write(c, "local")],
        "Can't cache what C writes: its loops are split already.\n"
        "asked: s.cache_write(C, 'local')\n"
        "do:    take cache_write first",
    ),
    "an output left out": (
        lambda s, a, b, c: s.applied([a, b]),
        "Can't build without C: it is an output, and not among the arguments.\n"
        "asked: build(s, [A, B])\n"
        "do:    name it, too: [A, B, C]",
    ),
    "another output": (
        lambda s, a, b, c: s.applied([a, c, te.compute((8,), lambda i: a[i], name="D")]),
        "Can't build D: this schedule does not compute it.\n"
        "do:    name it when the schedule is made: te.create_schedule([C.op, D.op])",
    ),
    "another extent": (
        lambda s, a, b, c: [
            s[c].bind(s[c].op.axis[0], te.thread_axis((0, 32), "threadIdx.x")),
            s.applied([a, c]),
        ],
        "Can't bind `i`: it runs 64 times, the thread axis 32.\n"
        "asked: s[C].bind(i, threadIdx.x)\n"
        "do:    split it so that the part you bind runs as often, or leave the extent out: "
        'te.thread_axis("threadIdx.x")',
    ),
    "attached to what is inlined": (
        lambda s, a, b, c: [
            s.cache_read(a, "local", b),
            s[s.stages[1].op].compute_at(s[b], s[b].op.axis[0]),
            s[b].compute_inline(),
            s.applied([a, c]),
        ],
        "Can't compute at `i`: B is inlined, and has no loops.\n"
        "asked: s[A.local].compute_at(s[B], i)\n"
        "do:    attach it to a stage that is computed, and reads it",
    ),
    "attached ahead of itself": (
        lambda s, a, b, c: [s[c].compute_at(s[b], s[b].op.axis[0]), s.applied([a, c])],
        "Can't compute at `i`: B stands before what attaches there.\n"
        "asked: s[C].compute_at(s[B], i)\n"
        "do:    attach it to a stage that is computed, and reads it",
    ),
    "a name for an axis": (
        lambda s, a, b, c: s[c].bind(s[c].op.axis[0], "threadIdx.x"),
        "Can't bind `i` to `threadIdx.x`: that is no thread axis.\n"
        "asked: s[C].bind(i, threadIdx.x)\n"
        'do:    make one: te.thread_axis("threadIdx.x")',
    ),
    "loops in a list": (
        lambda s, a, b, c: s[c].fuse(list(s[c].op.axis)),
        "Can't use `[i]` there: it is not, or no more, a loop of the stage C.\n"
        "asked: s[C].fuse([i])\n"
        "do:    name, each once: i",
    ),
    "a name for a loop": (
        lambda s, a, b, c: s[c].split("i", factor=4),
        "Can't use `i` there: it is not, or no more, a loop of the stage C.\n"
        "asked: s[C].split(i, factor=4)\n"
        "do:    name, each once: i",
    ),
    "no arguments": (
        lambda s, a, b, c: tvm.build(s, target="cuda"),
        "Can't build a schedule of stages without its tensors.\n"
        "do:    name what is given and what is computed: tvm.build(s, [A, B], target)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_stage_refuses(case: str):
    call, told = REFUSED[case]
    assert str(refusal(lambda: call(*made()))) == told


def test_a_result_is_made_where_it_is_attached_and_beside_where_it_is_inlined():
    attached, a, b, c = made()
    attached[c].bind(attached[c].op.axis[0], te.thread_axis("threadIdx.x"))
    attached[b].compute_at(attached[c], attached[c].op.axis[0])
    inlined = te.create_schedule(c.op)
    inlined[b].compute_inline()
    func = te.create_prim_func([a, b, c])
    for s in (attached, inlined):
        sch = s.applied([a, b, c])  # its memory is the caller's
        assert difference(func, sch.func, random_data(func, seed=0)) == ""


def test_a_refused_step_names_the_call_that_asked_for_it():
    s, a, _, c = made()
    s[c].compute_inline()
    error = refusal(lambda: s.applied([a, c]))
    assert error.asked.startswith("s[C].compute_inline(), as sch.compute_inline(")
    s, a, _, c = made()
    s[c].bind(s[c].op.axis[0], te.thread_axis("threadIdx.w"))
    assert refusal(lambda: s.applied([a, c])).headline == (
        "Can't bind `i` to threadIdx.w: there is no such axis."
    )


def test_a_thread_axis_has_a_tag_and_begins_at_0():
    axes = [te.thread_axis(*args) for args in (("threadIdx.x",), ((0, 8), "x"), (4, "x"))]
    assert [axis.extent for axis in axes] == [None, 8, 4]
    assert repr(te.thread_axis((0, 2), "vthread", name="vx")) == "vx"
    with pytest.raises(ValueError, match=r"^a thread axis begins at 0, not at 1$"):
        te.thread_axis((1, 8), "threadIdx.x")
    with pytest.raises(ValueError, match=r'^a thread axis has a tag: thread_axis\(\(0, 8\), "thr'):
        te.thread_axis((0, 8))


def test_what_stages_do_not_have():
    s, _, _, c = made()
    with pytest.raises(NotCarried) as error:
        s[c].prefetch
    assert str(error.value) == (
        "Can't use tvm.te.Stage.prefetch: tvm.te.Stage.prefetch is TVM's, and is not in the "
        "workbench.\n"
        "asked: tvm.te.Stage.prefetch\n"
        "found: it has no verb of ours that it could become\n"
        "do:    schedule the program's loops: sch = wb.Schedule(te.create_prim_func([A, B])), "
        "sch.show()"
    )
    with pytest.raises(NotCarried, match=r"s\.applied\(\[A, B\]\) is the schedule in steps$"):
        s.normalize
    with pytest.raises(NotCarried, match=r"is it tvm\.te\.Stage\.vectorize\?$"):
        s[c].vectorise
    assert not hasattr(s, "_repr_html_")


def test_values_that_are_reduced_at_once_are_one_block():
    a = te.placeholder((8, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], te.max(x[1], y[1])),
        lambda t, u: (te.const(0, t), te.min_value(u)),
    )
    total, most = te.compute((8,), lambda i: both((a[i, k], a[i, k]), k), name="B")
    c = te.compute((8,), lambda i: total[i] * most[i], name="C")
    s = te.create_schedule(c.op)
    _, inner = bound(s, c, factor=4)
    s[total].compute_at(s[c], inner)
    given, made = np.arange(32, dtype="float32").reshape(8, 4), np.zeros(8, "float32")
    tvm.build(s, [a, c], "cuda")(given, made)
    assert np.array_equal(made, given.sum(1) * given.max(1))


@pytest.mark.fuzz
def test_random_schedules_of_stages_mean_the_same_in_any_order_of_calls():
    assert sum(check_stages(seed) for seed in seeds()) > CASES // 2
