"""te.scan: what recurrences mean, as programs and scheduled stage by stage, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import emulate
from workbench.access import difference, random_data
from workbench.schedule import ScheduleError
from workbench.tvm import te


def sums(m: Any, n: Any) -> tuple[te.Tensor, ...]:
    """X, the first row, the update and the sums of its rows up to each."""
    x, state = te.placeholder((m, n), name="X"), te.placeholder((m, n), name="state")
    first = te.compute((1, n), lambda _, i: x[0, i], name="first")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    return x, first, update, te.scan(first, update, state, inputs=[x])


def fibonacci(m: int, n: int) -> tuple[te.Tensor, ...]:
    """X and what each row and the two before it add up to, by way of a stage of its own."""
    x, state = te.placeholder((m, n), name="X"), te.placeholder((m, n), name="state")
    first = te.compute((2, n), lambda t, i: x[t, i], name="first")
    both = te.compute((m, n), lambda t, i: state[t - 1, i] + state[t - 2, i], name="both")
    update = te.compute((m, n), lambda t, i: both[t, i] + x[t, i], name="update")
    return x, both, update, te.scan(first, update, state)


def network(m: int, n: int, l: int) -> tuple[te.Tensor, ...]:
    """A recurrent network: h = tanh(W h + U x) and the running sum of h."""
    x, w = te.placeholder((m, l), name="X"), te.placeholder((n, n), name="W")
    u, k = te.placeholder((n, l), name="U"), te.reduce_axis((0, l), name="k")
    given = te.compute((m, n), lambda t, i: te.sum(u[i, k] * x[t, k], axis=k), name="given")
    h, total = te.placeholder((m, n), name="h"), te.placeholder((m, n), name="total")
    starts = [te.compute((1, n), lambda t, i: 0.0, name=name) for name in ("h0", "total0")]
    j = te.reduce_axis((0, n), name="j")
    carried = te.compute((m, n), lambda t, i: te.sum(w[i, j] * h[t - 1, j], axis=j), name="carried")
    made = te.compute((m, n), lambda t, i: te.tanh(carried[t, i] + given[t, i]), name="made")
    more = te.compute((m, n), lambda t, i: total[t - 1, i] + made[t, i], name="more")
    return x, w, u, carried, made, more, *te.scan(starts, [made, more], [h, total], name="net")


def test_sums_of_rows_for_any_size():
    x, _, _, total = sums(te.var("m"), te.var("n"))
    s = te.create_schedule(total.op)
    for tensor in total.op.input_tensors:
        outer, inner = s[tensor].split(tensor.op.axis[1], factor=4)
        s[tensor].bind(outer, te.thread_axis("blockIdx.x"))
        s[tensor].bind(inner, te.thread_axis("threadIdx.x"))
    kernel = wb.build(s.applied([x, total]))
    program = wb.build(te.create_prim_func([x, total]), target="c")
    for m, n in ((1, 3), (2, 1), (7, 5), (4, 0)):
        data = np.random.default_rng(0).random((m, n), "float32")
        for call in (kernel.emulate, program):
            out = np.zeros((m, n), "float32")
            call(data, out)
            np.testing.assert_allclose(out, np.cumsum(data, 0), rtol=1e-6)


def test_two_first_times_and_a_stage_between():
    x, _, _, total = fibonacci(6, 5)
    data, out = np.random.default_rng(0).random((6, 5), "float32"), np.zeros((6, 5), "float32")
    emulate.evaluate(te.create_prim_func([x, total]), [data, out])
    want = data.copy()
    for t in range(2, 6):
        want[t] += want[t - 1] + want[t - 2]
    np.testing.assert_allclose(out, want, rtol=1e-6)


def by_hand(x: np.ndarray, w: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    h = np.zeros((len(x), len(w)), "float32")
    for t in range(1, len(x)):
        h[t] = np.tanh(w @ h[t - 1] + u @ x[t])
    return h, np.cumsum(h, 0)


def test_a_network_is_scheduled_and_built():
    x, w, u, carried, made, _, h, total = network(5, 8, 6)
    s = te.create_schedule(h.op)
    s[carried].compute_at(s[made], s[made].op.axis[1])
    sch = s.applied([x, w, u, h, total])
    func = te.create_prim_func([x, w, u, h, total])
    assert difference(func, sch.func, random_data(func, seed=0)) == ""
    rng = np.random.default_rng(0)
    given = [rng.random(shape, "float32") - 0.5 for shape in ((5, 6), (8, 8), (8, 6))]
    outs = [np.zeros((5, 8), "float32") for _ in range(2)]
    wb.build(sch, target="c")(*given, *outs)
    for out, want in zip(outs, by_hand(*given), strict=True):
        np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6)


def test_stages_of_a_scan_are_scheduled():
    x, both, update, total = fibonacci(6, 64)
    s = te.create_schedule(total.op)
    own = s.cache_write(update, "local")
    outer, inner = s[update].split(update.op.axis[1], factor=16)
    s[update].bind(outer, te.thread_axis("blockIdx.x"))
    s[update].bind(inner, te.thread_axis("threadIdx.x"))
    s[both].compute_at(s[update], inner)
    s[own].compute_at(s[update], inner)
    s[total].unroll(total.op.scan_axis)
    first = s[total.op.init[0]]
    first.bind(first.op.axis[1], te.thread_axis("threadIdx.x"))
    sch = s.applied([x, total])
    func = te.create_prim_func([x, total])
    assert difference(func, sch.func, random_data(func, seed=0)) == ""
    data, out = np.ones((6, 64), "float32"), np.zeros((6, 64), "float32")
    wb.build(sch).emulate(data, out)
    np.testing.assert_allclose(out[:, 0], [1, 1, 3, 5, 9, 15])


def state_of(tensor: te.Tensor) -> te.Tensor:
    """The state that a stage of a scan reads."""
    return next(t for t in tensor.op.input_tensors if t.name in ("state", "h"))


@pytest.mark.parametrize("sizes", [(6, 20), (3, 1)])
def test_the_state_of_a_scan_is_cached(sizes):
    x, both, update, total = fibonacci(*sizes)
    s = te.create_schedule(total.op)
    copy = s.cache_read(state_of(both), "local", [both])
    outer, inner = s[update].split(update.op.axis[1], factor=16)
    s[both].compute_at(s[update], inner)
    s[copy].compute_at(s[update], inner)
    first = s[total.op.init[0]]
    for stage, axis in ((s[update], outer), (first, first.op.axis[1])):
        stage.bind(axis, te.thread_axis("blockIdx.x"))
    s[update].bind(inner, te.thread_axis("threadIdx.x"))
    sch, func = s.applied([x, total]), te.create_prim_func([x, total])
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


def test_the_state_that_a_network_reads_whole_is_cached():
    x, w, u, carried, _, _, h, total = network(4, 5, 3)
    s = te.create_schedule([h.op, total.op])
    s.cache_read(state_of(carried), "global", [carried])
    sch, func = s.applied([x, w, u, h, total]), te.create_prim_func([x, w, u, h, total])
    assert "net_v0_global" in sch.func.script()
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


def test_the_update_of_a_scan_moves_to_the_stage_that_reads_another_time():
    x, _, _, total = fibonacci(6, 20)
    sch = wb.Schedule(func := te.create_prim_func([x, total]))
    sch.reverse_compute_at("update", sch.get_loops("both")[0])
    sch.cache_read("both", 0, "local")
    sch.compute_at("scan_local", sch.get_loops("both")[0])
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


def test_stages_of_a_scan_are_inlined_but_for_the_first_times_and_the_update():
    x, _, _, total = fibonacci(6, 16)
    s = te.create_schedule(total.op)
    te.schedule.AutoInlineInjective(s)
    func, sch = te.create_prim_func([x, total]), s.applied([x, total])
    assert [block.name for block in sch.get_blocks()] == ["first", "scan", "update"]
    assert difference(func, sch.func, random_data(func, seed=0)) == ""


def test_the_times_are_not_the_update_s_to_schedule():
    x, _, update, total = sums(4, 8)
    s = te.create_schedule(total.op)
    with pytest.raises(ScheduleError, match="Can't use `t` there: it is not, or no more, a loop"):
        s[update].split(update.op.axis[0], factor=2)
    s[total].parallel(total.op.scan_axis)
    with pytest.raises(ScheduleError, match="Can't run `scan_idx` in parallel"):
        s.applied([x, total])


X = te.placeholder((6, 4), name="X")
S, T = te.placeholder((6, 4), name="S"), te.placeholder((6, 4), name="T")


def made(shape: tuple[int, ...], value: Any, name: str) -> te.Tensor:
    return te.compute(shape, value, name=name)


FIRST = made((1, 4), lambda t, i: X[0, i], "first")
NEXT = made((6, 4), lambda t, i: S[t - 1, i] + X[t, i], "next")
LATE = made((6, 4), lambda t, i: S[t, i] + X[t, i], "late")
FAR = made((6, 4), lambda t, i: S[t - 2, i], "far")
ROW = made((4,), lambda i: S[0, i], "row")
ROWS = made((6, 4), lambda t, i: ROW[i] + S[t - 1, i], "rows")
STEP = made((6, 4), lambda t, i: S[t - 1, i] * 2.0, "step")
SKEWED = made((6, 4), lambda t, i: STEP[t - 1, i], "skewed")

REFUSED: list[tuple[Any, str]] = [
    (lambda: te.scan(FIRST, NEXT, [S, X]), "as many init as update and state_placeholder"),
    (lambda: te.scan(X, NEXT, S), "scan: X is not computed; copy it: te.compute"),
    (lambda: te.scan(FIRST, NEXT, NEXT), "scan: next is computed; as a state stands a te.placehol"),
    (lambda: te.scan(made((1, 3), lambda t, i: X[0, i], "f"), NEXT, S), "of one shape but for the"),
    (
        lambda: te.scan(*(te.compute((), lambda: 1.0) for _ in "iu"), te.placeholder(())),
        "one shape",
    ),
    (lambda: te.scan(made((7, 4), lambda t, i: X[0, i], "f"), NEXT, S), "init gives 7 of 6 times"),
    (lambda: te.scan(FIRST, LATE, S), "late reads S at a time that is not proved to be an earlier"),
    (lambda: te.scan(FIRST, FAR, S), "read it at t - 1$"),
    (lambda: te.scan(FIRST, ROWS, S), "row reads a state, and has not the times as its first axis"),
    (lambda: te.scan(FIRST, SKEWED, S), "skewed reads step at another time than its own"),
    (
        lambda: te.scan([FIRST, FIRST], [NEXT, STEP], [S, T]),
        "each state has an init, update and placeholder of its own",
    ),
    (
        lambda: te.scan(made((1, 4), lambda t, i: S[5, i], "f"), NEXT, S),
        "init reads S, which begins with it",
    ),
    (
        lambda: te.create_prim_func([X, S, te.scan(FIRST, NEXT, S)]),
        "S is a part of scan, and is read outside of it or an argument; take scan",
    ),
    (
        lambda: te.create_prim_func([X, NEXT, te.scan(FIRST, NEXT, S)]),
        "next is a part of scan",
    ),
]


@pytest.mark.parametrize(("call", "why"), REFUSED)
def test_what_is_no_scan_is_refused(call: Any, why: str):
    with pytest.raises(ValueError, match=why):
        call()
