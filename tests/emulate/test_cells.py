"""Some cells of what a program means are what `evaluate` says, or there is no answer."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import emulate, script, te
from workbench.ir import PrimFunc
from workbench.te import topi


def random(func: PrimFunc) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [np.asarray(rng.random(param.shape), "float32") for param in func.params]


def padded_sum() -> PrimFunc:
    """Two stages, the second a sum over two loops, with a tail that no tile divides."""
    a, w = te.placeholder((7, 9), name="A"), te.placeholder((3, 3), name="W")
    pad = te.compute(
        (9, 11),
        lambda y, x: te.if_then_else(te.all(y >= 1, y < 8, x >= 1, x < 10), a[y - 1, x - 1], 0.0),
        name="P",
    )
    r, s = te.reduce_axis((0, 3), "r"), te.reduce_axis((0, 3), "s")
    out = te.compute(
        (7, 9), lambda y, x: te.sum(pad[y + r, x + s] * w[r, s], axis=[r, s]), name="B"
    )
    return te.create_prim_func([a, w, out])


def two_outputs() -> PrimFunc:
    a = te.placeholder((6, 8), name="A")
    b = te.compute((6, 8), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((8, 6), lambda j, i: b[i, j] + 1.0, name="C")
    return te.create_prim_func([a, b, c])


def softmax() -> PrimFunc:
    a = te.placeholder((5, 6), name="A")
    return te.create_prim_func([a, topi.nn.softmax(a)])


def scalar() -> PrimFunc:
    a, k = te.placeholder((6,), name="A"), te.reduce_axis((0, 6), "k")
    return te.create_prim_func([a, te.compute((), lambda: te.sum(a[k], axis=k), name="B")])


@pytest.mark.parametrize("make", [padded_sum, two_outputs, softmax])
@pytest.mark.parametrize("share", [0, 0.2, 1])
def test_marked_cells_hold_what_evaluate_says_and_the_rest_0(make, share):
    func = make()
    args = random(func)
    given = [np.copy(array) for array in args]
    whole = [np.copy(array) for array in args]
    emulate.evaluate(func, whole)
    rng = np.random.default_rng(0)
    outputs = func.params[1:] if make is not padded_sum else func.params[2:]
    among = {p.name: rng.random(p.shape) < share for p in outputs}
    found = emulate.evaluate_cells(func, args, among)
    assert found is not None
    for param, got, want, before, kept in zip(func.params, found, whole, given, args, strict=True):
        np.testing.assert_array_equal(kept, before)
        if param.name in among:
            want = np.where(among[param.name], want, 0)
            np.testing.assert_array_equal(got, want.astype(got.dtype))
        else:
            assert got is kept


def test_boxes_are_told_as_single_cells_are():
    func, among = padded_sum(), np.zeros((7, 9), bool)
    args = random(func)
    among[:4, 2:5] = among[5:, 7:] = True
    found = emulate.evaluate_cells(func, args, {"B": among})
    emulate.evaluate(func, args)
    assert found is not None
    np.testing.assert_array_equal(found[2], np.where(among, args[2], 0))


HEAD = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
"""
NEST = """
    for i in range({n}):
        with T.block("{name}"):
            vi = T.axis.spatial({n}, i){where}
            {store}
"""
NO_ANSWER = {
    "in place": [("B[vi] = B[vi] + A[vi]", "")],
    "written twice": [("B[vi] = A[vi]", ""), ("B[vi] = A[vi] + T.float32(1)", "")],
    "read ahead of its write": [("B[vi] = A[vi]", ""), ("A[vi] = T.float32(0)", "")],
    "a condition": [("B[vi] = A[vi]", "\n            T.where(i < 5)")],
    "backwards": [("B[7 - vi] = A[vi]", "")],
    "outside": [("B[vi] = A[vi + 1]", "")],
}


@pytest.mark.parametrize("case", NO_ANSWER)
def test_what_does_not_tell_each_cell_has_no_answer(case):
    nests = [
        NEST.format(n=8, name=f"B{k}", store=store, where=where)
        for k, (store, where) in enumerate(NO_ANSWER[case])
    ]
    func = script.parse(HEAD + "".join(nests))
    args = [np.ones(8, "float32"), np.ones(8, "float32")]
    assert emulate.evaluate_cells(func, args, {"B": np.ones(8, bool)}) is None


def test_part_of_a_buffer_is_no_answer_for_all_of_it():
    func = script.parse(HEAD + NEST.format(n=4, name="B", store="B[vi] = A[vi]", where=""))
    args = [np.ones(8, "float32"), np.ones(8, "float32")]
    assert emulate.evaluate_cells(func, args, {}) is None


def test_a_single_cell_is_not_asked_for_in_part():
    assert emulate.evaluate_cells(scalar(), random(scalar()), {}) is None
