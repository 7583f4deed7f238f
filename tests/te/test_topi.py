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
