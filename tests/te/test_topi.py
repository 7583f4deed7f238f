"""topi: every operator against NumPy, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.topi_cases import CASES, Case
from workbench import emulate, ir, script, te
from workbench.te import topi


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_numpy(case: Case):
    func = te.create_prim_func(case.tensors(te, topi))
    ir.verify(func)
    ir.assert_structural_equal(func, script.parse(script.show(func)))
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape) * 2 + 0.1 for shape in case.shapes]
    arrays = [a > 1 if case.dtype == "bool" else a.astype(case.dtype) for a in arrays]
    made = np.zeros(func.params[-1].shape, func.params[-1].dtype)
    expected = case.expected(*arrays)
    assert expected.shape == made.shape
    emulate.evaluate(func, [*arrays, made])
    tolerance = 1e-3 if made.dtype == "float16" else 1e-5
    np.testing.assert_allclose(made, expected, rtol=tolerance, atol=tolerance)


def test_operators_of_tensors_are_topis():
    a, b = te.placeholder((4, 8), name="A"), te.placeholder((8,), name="B")
    for made, same in (
        (a + b, topi.add(a, b)),
        (2.0 + a, topi.add(2.0, a)),
        (a - 1, topi.subtract(a, 1)),
        (1 - a, topi.subtract(1, a)),
        (b * a, topi.multiply(b, a)),
        (np.float32(2) * a, topi.multiply(2.0, a)),
        (a / b, topi.divide(a, b)),
        (1.0 / a, topi.divide(1.0, a)),
        (-a, topi.multiply(a, -1)),
        (a * te.const(2.0), topi.multiply(a, 2.0)),
        (te.const(2.0) * a, topi.multiply(2.0, a)),
        (te.const(2) + a, topi.add(2, a)),
        (te.const(1.0) - a, topi.subtract(1.0, a)),
        (te.const(1.0) / a, topi.divide(1.0, a)),
        (a[0, 0] * a, topi.multiply(a[0, 0], a)),
        (a.astype("int32"), topi.cast(a, "int32")),
    ):
        given = [t for t in (a, b) if t in made.op.input_tensors]
        ir.assert_structural_equal(
            te.create_prim_func([*given, made]), te.create_prim_func([*given, same])
        )
    with pytest.raises(ValueError, match=r"^topi.add: shapes \(4, 8\) and \(3,\) do not fit: "):
        a + te.placeholder((3,))
    with pytest.raises(TypeError):  # as in TVM
        te.const(2) // a


def test_a_sum_of_no_tensors_is_refused():
    with pytest.raises(ValueError, match=r"^topi.elemwise_sum: there is no tensor to add up$"):
        topi.elemwise_sum([])
