"""Operators of learners: any compute expressions that a NumPy function agrees with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.support.topi_cases import CASES, Case
from workbench import lesson, te
from workbench.diag import Fail
from workbench.lesson.goals import traffic
from workbench.lesson.programs import staged, stages
from workbench.te import topi


def sobel() -> tuple[list[te.Tensor], Callable[..., Any]]:
    a = te.placeholder((66, 66), name="A")
    d = te.compute((66, 64), lambda i, j: a[i, j + 2] - a[i, j], name="D")
    e = te.compute((64, 64), lambda i, j: d[i, j] + 2.0 * d[i + 1, j] + d[i + 2, j], name="E")

    def edges(a: np.ndarray) -> np.ndarray:
        d = a[:, 2:] - a[:, :-2]
        return d[:-2] + 2 * d[1:-1] + d[2:]

    return [a, e], edges


def dense() -> tuple[list[te.Tensor], Callable[..., Any]]:
    """A product with what follows it; floats that do not add exactly."""
    a, w = te.placeholder((48, 40), name="A"), te.placeholder((32, 40), name="W")
    bias = te.placeholder((32,), name="bias")
    k = te.reduce_axis((0, 40), name="k")
    c = te.compute((48, 32), lambda i, j: te.sum(a[i, k] * w[j, k], axis=k), name="C")
    out = te.compute((48, 32), lambda i, j: te.sigmoid(c[i, j] * 0.1 + bias[j]), name="out")
    return [a, w, bias, out], lambda a, w, bias: 1 / (1 + np.exp(-(a @ w.T * 0.1 + bias)))


def depthwise() -> tuple[list[te.Tensor], Callable[..., Any]]:
    """TVM's operator with a bias and relu."""
    x, w = te.placeholder((1, 4, 10, 10), name="X"), te.placeholder((4, 1, 3, 3), name="W")
    out = topi.nn.relu(topi.nn.depthwise_conv2d_nchw(x, w, 1, 1, 1))

    def reference(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        return np.maximum(np.einsum("nchwij,cij->nchw", windows, w[:, 0]), 0)

    return [x, w, out], reference


def largest() -> tuple[list[te.Tensor], Callable[..., Any]]:
    """Two outputs, of whole numbers."""
    a = te.placeholder((43,), "int32", name="A")
    k = te.reduce_axis((0, 8), name="k")
    m = te.compute((36,), lambda i: te.max(a[i + k], axis=k), name="M")
    n = te.compute((32,), lambda i: m[i] + m[i + 1] + m[i + 2] + m[i + 3] + m[i + 4], name="N")

    def reference(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m = np.lib.stride_tricks.sliding_window_view(a, 8).max(1)
        return m, np.lib.stride_tricks.sliding_window_view(m, 5).sum(1)

    return [a, m, n], reference


@pytest.mark.lesson
@pytest.mark.parametrize("operator", [sobel, dense, depthwise, largest])
def test_an_operator_is_taken_and_its_naive_kernel_is_right_but_not_good(operator: Callable):
    exercise = lesson.exercise("own_operator").own(*operator())
    naive = lesson.naive(exercise.program)
    right, *_, half = exercise.check(naive).rows
    assert right.ok and not half.ok
    assert half.goal.startswith(f"at most {traffic(naive.func) // 2:,} global loads and stores")


def test_a_schedule_of_an_own_operator_reaches_every_goal():
    args, reference = sobel()
    exercise = lesson.exercise("own_operator").own(args, reference)
    mine = exercise.schedule()
    i, j = mine.get_loops("E")
    i_0, i_1 = mine.split(i, factors=[None, 8])
    j_0, j_1 = mine.split(j, factors=[None, 32])
    mine.reorder(i_0, j_0, i_1, j_1)
    mine.bind(i_0, "blockIdx.y")
    mine.bind(j_0, "blockIdx.x")
    mine.bind(mine.fuse(i_1, j_1), "threadIdx.x")
    mine.set_scope("D", 0, "shared")
    mine.compute_at("D", j_0)
    copy = mine.cache_read("D", 0, "shared")
    mine.compute_at(copy, j_0)
    for block in (copy, "D"):
        cells = mine.fuse(*mine.get_loops(block)[-2:])
        mine.bind(mine.split(cells, factors=[None, 256])[1], "threadIdx.x")
    report = exercise.check(mine)
    assert report, str(report)
    assert str(report).startswith("Solved: your own operator. All 4 goals are reached.")
    assert exercise.key == "own_operator" and exercise.points == 4


def test_what_follows_a_product_may_round_otherwise_than_before():
    """Sums in another order: right, though not to the last bit."""
    args, reference = dense()
    exercise = lesson.exercise("own_operator").own(args, reference)
    mine = exercise.schedule()
    i, j, k = mine.get_loops("C")
    k_0, k_1 = mine.split(k, factors=[None, 8])
    mine.reorder(i, j, k_1, k_0)
    for block in ("C", "out"):
        i, j, *_ = mine.get_loops(block)
        mine.bind(i, "blockIdx.x")
        mine.bind(j, "threadIdx.x")
    assert exercise.check(mine).rows[0].ok


def refusal(args: list[te.Tensor], reference: Callable[..., Any]) -> str:
    with pytest.raises(Fail) as refused:
        lesson.exercise("own_operator").own(args, reference)
    return str(refused.value)


def test_a_function_that_says_something_else_is_told_the_first_cell():
    args, edges = sobel()

    def shifted(a: np.ndarray) -> np.ndarray:
        return edges(a)[:, ::-1]

    said = refusal(args, shifted).splitlines()
    assert said[0] == "Can't take this operator: shifted computes something else."
    assert said[1].startswith("found: It says ") and "for E[0, 0], and the operator " in said[1]
    assert said[2] == "do:    compare one cell of both by hand: which index is one off?"
    assert refusal(args, lambda a: a).splitlines()[1] == (
        "found: It returns shape (66, 66), and E has (64, 64)."
    )
    assert refusal(args, lambda a: (a, a)).splitlines()[1] == (
        "found: It returns 2 arrays, and the operator has 1 output."
    )


def test_an_operator_of_which_nothing_can_be_saved_is_refused():
    a = te.placeholder((64, 64), name="A")
    b = te.compute((64, 64), lambda i, j: a[i, j] + 1.0, name="B")
    assert refusal([a, b], lambda a: a + 1) == (
        "Can't take this operator: its naive kernel moves 8,192 elements.\n"
        "found: its arguments have 8,192, and each has to be moved once\n"
        "do:    use elements more than once: in a window, a product, or two stages"
    )


def test_an_operator_that_takes_long_to_check_is_refused():
    a = te.placeholder((4096, 2048), name="A")
    b = te.compute((4096, 2048), lambda i, j: a[i, j] + a[0, j], name="B")
    assert refusal([a, b], lambda a: a + a[0]) == (
        "Can't take this operator: a stage of it runs 8,388,608 times.\n"
        "do:    choose smaller shapes for the exercise: at most 4,194,304 times"
    )


def test_the_naive_kernel_has_a_thread_for_each_cell_of_each_stage():
    sch = lesson.naive(stages(16, 16, (1, 1, 1), (1, 1, 1)))
    assert [(k.grid, k.block) for k in wb.build(sch).kernels] == [
        ((3, 1, 1), (128, 1, 1)),
        ((2, 1, 1), (128, 1, 1)),
    ]
    assert traffic(sch.func) == traffic(staged(stages(16, 16, (1, 1, 1), (1, 1, 1)), "whole"))


def test_the_naive_kernel_of_one_number_is_one_thread_at_work():
    a = te.placeholder((64,), name="A")
    k = te.reduce_axis((0, 64), name="k")
    s = te.compute((1,), lambda i: te.sum(a[k], axis=k), name="S")
    kernel = wb.build(lesson.naive(te.create_prim_func([a, s])))
    got = np.zeros(1, "float32")
    kernel.emulate(np.ones(64, "float32"), got)
    assert got[0] == 64


@pytest.mark.fuzz
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_operator_of_tvm_has_a_naive_kernel(case: Case):
    program = te.create_prim_func(case.tensors(te, topi))
    assert wb.build(lesson.naive(program)).kernels  # and no warning that it wastes something


def test_the_solution_shown_is_of_the_operator_that_was_proposed():
    proposed = lesson.exercise("own_operator", variant=2)
    args, reference = dense()
    own = proposed.own(args, reference)
    told = "# for the operator that was proposed, a box blur\n"
    assert own.show_solution() == f"{told}{proposed.show_solution()}"
    assert own.own(*sobel()).show_solution().startswith(told)
