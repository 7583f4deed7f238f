"""te: programs from compute expressions, with the text of TVM 0.27's create_prim_func."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import reference
from tests.support.te_programs import operators
from workbench import T, emulate, ir, script, te


def text(*args: te.Tensor) -> str:
    """The program of `args`, checked to be well-formed and to be read back as itself."""
    func = te.create_prim_func(args)
    ir.verify(func)
    ir.assert_structural_equal(func, script.parse(script.show(func)))
    return script.show(func)


def test_window_sum():
    A = te.placeholder((1027,), name="A")
    B = te.compute((1024,), lambda i: A[i] + A[i + 1] + A[i + 2], name="B")
    assert (
        text(A, B)
        == """\
@T.prim_func
def main(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")):
    T.func_attr({"tir.noalias": True})
    # with T.block("root"):
    for i in range(1024):
        with T.block("B"):
            v_i = T.axis.spatial(1024, i)
            T.reads(A[v_i : v_i + 3])
            T.writes(B[v_i])
            B[v_i] = A[v_i] + A[v_i + 1] + A[v_i + 2]"""
    )


def test_a_reduction_and_what_reads_it():
    X = te.placeholder((8, 16), name="X")
    k = te.reduce_axis((0, 16), "k")
    Z = te.compute((8, 9), lambda x, y: te.sum(X[x, k] * X[x, k], axis=k), name="Z")
    W = te.compute((8, 9), lambda x, y: Z[x, y] * 2.0, name="W")
    assert (
        text(X, W)
        == """\
@T.prim_func
def main(X: T.Buffer((8, 16), "float32"), W: T.Buffer((8, 9), "float32")):
    T.func_attr({"tir.noalias": True})
    # with T.block("root"):
    Z = T.alloc_buffer((8, 9))
    for x, y, k in T.grid(8, 9, 16):
        with T.block("Z"):
            v_x, v_y, v_k = T.axis.remap("SSR", [x, y, k])
            T.reads(X[v_x, v_k])
            T.writes(Z[v_x, v_y])
            with T.init():
                Z[v_x, v_y] = T.float32(0)
            Z[v_x, v_y] = Z[v_x, v_y] + X[v_x, v_k] * X[v_x, v_k]
    for x, y in T.grid(8, 9):
        with T.block("W"):
            v_x, v_y = T.axis.remap("SS", [x, y])
            T.reads(Z[v_x, v_y])
            T.writes(W[v_x, v_y])
            W[v_x, v_y] = Z[v_x, v_y] * T.float32(2)"""
    )


def test_max_over_two_axes_of_which_one_starts_later():
    Y = te.placeholder((16, 9), "int32", name="Y")
    k, l = te.reduce_axis((0, 16), "k"), te.reduce_axis((2, 8), "l")
    Q = te.compute((9,), lambda y: te.max(Y[k, y] + l, axis=[k, l]), name="Q")
    shown = text(Y, Q)
    assert "for l in range(2, 8):" in shown
    assert "Q[v_y] = -2147483648" in shown
    assert "Q[v_y] = T.max(Q[v_y], Y[v_k, v_y] + v_l)" in shown


def test_operators_of_values_that_are_made_of_others():
    shown = script.show(te.create_prim_func(operators(te)))
    assert 'B[v_i, v_j] = T.Cast("float16", A[v_i, v_j] + A[v_i, 7 - v_j])' in shown
    assert "v_i < 3 and v_j < 5 or A[v_i, v_j] < T.float32(2)" in shown
    assert 'T.Cast("float32", v_i + v_j)' in shown
    assert "D[v_i, v_j] = (K[v_i, v_j] & 7 | K[v_i, v_j] >> 2) ^ K[v_i, v_j] * -2 - 2" in shown


def test_conditions_joined_by_the_words_of_a_program():
    A = te.placeholder((8,), name="A")
    B = te.compute(
        (8,),
        lambda i: te.if_then_else(T.And(i > 1, T.Not(T.Or(i > 5, A[i] < 0.0))), A[i], 0.0),
        name="B",
    )
    assert "1 < v_i and not (5 < v_i or A[v_i] < T.float32(0))" in text(A, B)


@pytest.mark.parametrize(("op", "start"), [(te.max, -np.inf), (te.min, np.inf)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8"])
def test_max_and_min_start_below_and_above_everything(op, start, dtype):
    A = te.placeholder((3, 5), dtype, name="A")
    k = te.reduce_axis((0, 5), "k")
    func = te.create_prim_func([A, te.compute((3,), lambda i: op(A[i, k], axis=k), name="B")])
    limits = np.finfo(dtype) if "float" in dtype else np.iinfo(dtype)
    given = np.full((3, 5), limits.min if start < 0 else limits.max, dtype)
    made = [np.zeros(3, dtype), np.zeros(3, dtype)]
    emulate.evaluate(func, [given, made[0]])
    reference.run(func, [given, made[1]])
    for result in made:
        np.testing.assert_array_equal(result, given[:, 0])


def test_a_scalar_and_unnamed_axes():
    Y = te.placeholder((16, 9), "int32", name="Y")
    assert "vi = T.axis.spatial(1, 0)" in text(Y, te.compute((), lambda: Y[0, 0]))
    shown = text(Y, te.compute((9, 3), lambda *at: te.if_then_else(at[0] > 2, Y[0, at[0]], 0)))
    assert 'v_i0, v_i1 = T.axis.remap("SS", [i0, i1])' in shown


def test_functions():
    A = te.placeholder((4,), name="A")
    shown = text(A, te.compute((4,), lambda i: te.exp(A[i]) + te.sqrt(A[i]), name="B"))
    assert "B[v_i] = T.exp(A[v_i]) + T.sqrt(A[v_i])" in shown


def test_blocks_of_one_name_are_numbered():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0)
    shown = text(A, te.compute((4,), lambda i: B[i] + 1.0))
    assert 'T.block("compute")' in shown
    assert 'T.block("compute_1")' in shown


def test_refusals():
    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="B")
    k = te.reduce_axis((0, 4), "k")
    for make, said in (
        (lambda: A[0], "A has 2 dimensions; 1 indices were given"),
        (
            lambda: te.compute((4, 4), lambda i: A[i, i]),
            "the function takes 1 indices; the shape has 2 dimensions",
        ),
        (lambda: te.create_prim_func([A]), "nothing is computed: every tensor is a placeholder"),
        (lambda: te.create_prim_func([B]), "A is read and is not an argument"),
        (
            lambda: te.create_prim_func(
                [A, te.compute((4,), lambda i: te.sum(A[i, k], k) + 1.0, name="C")]
            ),
            "C: a reduction must be the whole value of a tensor; "
            "compute it as a tensor of its own, and read that",
        ),
    ):
        with pytest.raises(ValueError) as caught:
            make()
        assert str(caught.value) == said


def test_integers_of_numpy_are_integers():
    A = te.placeholder(np.array([8, 4]), name="A")
    k = te.reduce_axis((np.int64(0), np.int32(4)), "k")
    B = te.compute(
        np.int64(8), lambda i: te.sum(A[i, k] * np.float32(2) + np.int64(1), axis=k), name="B"
    )
    C = te.compute((8,), lambda i: A[i * np.int16(1), np.int64(3)] + B[i], name="C")
    same = te.compute((8,), lambda i: A[i, 3] + B[i], name="C")
    assert text(A, C) == text(A, same)
    assert all(type(size) is int for tensor in (A, B, C) for size in tensor.shape)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda A: te.placeholder((8.5,)), "a shape takes whole numbers, not 8.5"),
        (
            lambda A: te.placeholder((np.float64(8.5),)),
            "a shape takes whole numbers, not np.float64",
        ),
        (lambda A: te.placeholder((True,)), "a shape takes whole numbers, not True"),
        (lambda A: te.placeholder("88"), "a shape takes whole numbers, not '8'"),
        (lambda A: te.placeholder((0,)), "a shape takes whole numbers from 1, not 0"),
        (lambda A: te.reduce_axis((0, 8.5)), "an axis takes whole numbers, not 8.5"),
        (lambda A: A[2.0], "A is indexed by integers, not by float32"),
        (lambda A: A[np.float64(2)], "A is indexed by integers, not by float32"),
        (lambda A: A[True], "A is indexed by integers, not by bool"),
        (lambda A: A[np.bool_(True)], "A is indexed by integers, not by bool"),
    ],
)
def test_what_is_no_integer_is_refused(make, told: str):
    with pytest.raises((TypeError, ValueError)) as refused:
        make(te.placeholder((8,), name="A"))
    assert str(refused.value).startswith(told)


A = te.placeholder((8, 8), name="A")


@pytest.mark.parametrize(
    ("element", "part"),
    [
        (lambda i, j: te.if_then_else(i == j, 1.0, A[i, j]), "v_i == v_j"),
        (lambda i, j: te.if_then_else(i % 4 != 3, 1.0, A[i, j]), "v_i % 4 != 3"),
        (lambda i, j: te.if_then_else(A[i, j] == 0.0, 1.0, 2.0), "A[v_i, v_j] == T.float32(0)"),
        (lambda i, j: te.if_then_else(te.any(i == 2, j > 4), 1.0, 2.0), "v_i == 2 or 4 < v_j"),
        (lambda i, j: te.if_then_else(~(i == 2) & (j == i), 1.0, 2.0), "v_i != 2 and v_j == v_i"),
        (
            lambda i, j: te.select((i == np.int64(2)) == (j != 2), 1.0, 2.0),
            "v_i == 2) == (v_j != 2",
        ),
        (lambda i, j: (i == j) * A[i, j], 'T.Cast("float32", v_i == v_j) * A[v_i, v_j]'),
        (lambda i, j: (i == j).astype("float32"), 'T.Cast("float32", v_i == v_j)'),
        (lambda i, j: i == j, "C[v_i, v_j] = v_i == v_j"),
    ],
)
def test_equal_signs_are_conditions_of_the_program(element: Callable[..., Any], part: str):
    assert part in text(A, te.compute((8, 8), element, name="C"))


def test_an_equal_sign_still_tells_nodes_apart():
    i, j = te.compute((4, 4), lambda i, j: A[i, j], name="B").op.axis
    same = i
    assert i == same and not bool(i == j) and i != j and not bool(i != same)
    assert [i, j].index(j) == 1 and (i, j) == (i, j) and {i: 1}.get(j) is None
    assert i != "i" and i != None  # noqa: E711


def test_numbers_beside_integers_keep_their_value_or_are_refused():
    def made(dtype: str, element: Callable[..., Any]) -> Any:
        given = te.placeholder((4,), dtype, name="A")
        computed = te.compute((4,), lambda i: element(given[i]), name="B")
        arrays = [np.arange(4, dtype=dtype), np.zeros(4, computed.dtype)]
        emulate.evaluate(te.create_prim_func([given, computed]), arrays)
        return arrays[1].tolist()

    assert made("int32", lambda a: a + 2**40) == [2**40 + n for n in range(4)]
    assert made("int8", lambda a: a + 200) == [200 + n for n in range(4)]
    assert made("int8", lambda a: a + 1) == [1, 2, 3, 4]
    for element in (lambda a: a + 300, lambda a: a * -1, lambda a: -a, lambda a: a - 1 > -1):
        with pytest.raises(TypeError, match=r"do not meet|no value below 0"):
            made("uint8", element)
    assert te.const(2.5, "int32").value == 2
    with pytest.raises(ValueError, match="uint8 does not hold 300"):
        te.const(300, "uint8")
    with pytest.raises(ValueError, match="'flot32' is no type of numbers; these are: bool, int8"):
        te.placeholder((4,), "flot32")


def test_several_values_at_once():
    """As TVM's, but that a name for a value is the value: each is loaded before it changes."""
    A, k = te.placeholder((8, 16), name="A"), te.reduce_axis((0, 16), "k")

    def combined(x, y):
        most = te.max(x[0], y[0])
        return most, x[1] * te.exp(x[0] - most) + y[1] * te.exp(y[0] - most)

    online = te.comm_reducer(combined, lambda a, b: (te.min_value(a), 0.0), name="online")
    m, s = te.compute((8,), lambda i: online((A[i, k], te.const(1.0, "float32")), k), name="S")
    most = "T.max(S_v0[v_i], A[v_i, v_k])"
    assert text(A, m, s).splitlines()[7:] == [
        "            T.reads(A[v_i, v_k])",
        "            T.writes(S_v0[v_i], S_v1[v_i])",
        "            with T.init():",
        "                S_v0[v_i] = T.float32(-3.4028234663852886e+38)",
        "                S_v1[v_i] = T.float32(0)",
        f"            S_v1[v_i] = S_v1[v_i] * T.exp(S_v0[v_i] - {most})"
        f" + T.float32(1) * T.exp(A[v_i, v_k] - {most})",
        f"            S_v0[v_i] = {most}",
    ]
