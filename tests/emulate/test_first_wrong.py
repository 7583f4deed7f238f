"""The first wrong cell: what counts as equal, and which cell is named."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.emulate import Wrong, first_wrong

NAN, INF = float("nan"), float("inf")


def wrong(dtype: str, got: object, want: object, **options) -> Wrong | None:
    kind = "float32" if dtype == "bfloat16" else dtype
    return first_wrong("C", dtype, np.array(got, kind), np.array(want, kind), **options)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_nan_and_infinities_equal_themselves_and_nothing_else(dtype: str):
    values = [NAN, INF, -INF, 0.0, 1.5]
    assert wrong(dtype, values, values) is None
    assert wrong(dtype, [-0.0], [0.0]) is None
    for k, other in enumerate([0.0, -INF, INF, NAN, NAN]):
        changed = [*values[:k], other, *values[k + 1 :]]
        assert wrong(dtype, changed, values) == Wrong(f"C[{k}]", str(other), str(values[k]), 1)
        assert wrong(dtype, values, changed) == Wrong(f"C[{k}]", str(values[k]), str(other), 1)


def test_integers_and_bools_are_equal_or_not():
    assert wrong("int64", [2**53 + 1], [2**53]) == Wrong("C[0]", str(2**53 + 1), str(2**53), 1)
    assert wrong("uint8", [[1, 2], [3, 4]], [[1, 2], [9, 9]]) == Wrong("C[1, 0]", "3", "9", 2)
    assert wrong("bool", [True, False], [True, True]) == Wrong("C[1]", "False", "True", 1)
    assert wrong("int32", [1, 2], [1, 2]) is None


@pytest.mark.parametrize(
    ("dtype", "near", "far"),
    [("float64", 1e-10, 1e-7), ("float32", 1e-6, 1e-3), ("float16", 5e-3, 0.1),
     ("bfloat16", 8e-3, 0.1)],
)  # fmt: skip
def test_floats_may_be_rounded_as_their_type_rounds(dtype: str, near: float, far: float):
    want = [100.0, 200.0]
    assert wrong(dtype, [100.0 * (1 + near), 200.0], want) is None
    assert wrong(dtype, [100.0 * (1 + far), 200.0], want).cell == "C[0]"
    exact = wrong(dtype, [100.0 * (1 + far), 200.0], want, tolerance=0.0)
    assert exact is not None and exact.count == 1


def test_what_is_left_of_large_terms_carries_their_rounding():
    want = [1000.0, -1000.0, 0.001, 0.0]
    assert wrong("float32", [1000.0, -1000.0, 0.002, -0.001], want) is None
    assert wrong("float32", [1000.0, -1000.0, 0.1, 0.0], want).cell == "C[2]"


def test_small_values_are_told_apart_and_a_single_large_one_hides_none():
    assert wrong("float32", [2e-6, 1e-6], [1e-6, 1e-6]).cell == "C[0]"
    assert wrong("float32", [1e9, 1.0, 2.0, 3.5], [1e9, 1.0, 2.0, 3.0]).cell == "C[3]"
    assert wrong("float32", [1e-8, 0.0], [0.0, 0.0]) is None, "nothing to measure it by"


def test_nothing_and_one_value():
    assert wrong("float32", np.zeros((0, 4)), np.zeros((0, 4))) is None
    assert wrong("float32", 3.0, 3.0) is None
    assert wrong("float32", 3.0, 4.0) == Wrong("C[()]", "3.0", "4.0", 1)


def test_only_marked_cells_are_looked_at():
    among = np.array([False, True, True])
    assert wrong("int32", [1, 2, 3], [9, 2, 3], among=among) is None
    assert wrong("int32", [1, 2, 3], [9, 2, 9], among=among) == Wrong("C[2]", "3", "9", 1)


def test_bfloat16_bits_are_compared_as_values():
    bits = np.array([0x3F80, 0x4000], np.uint16)  # 1 and 2
    assert first_wrong("C", "bfloat16", bits, np.array([1.0, 2.0], "float32")) is None
    found = first_wrong("C", "bfloat16", bits, np.array([1.0, 3.0], "float32"))
    assert found == Wrong("C[1]", "2.0", "3.0", 1)


def test_views_with_gaps_are_looked_at_in_their_own_order():
    got = np.arange(12, dtype="int32").reshape(3, 4).T
    want = got.copy()
    want[1, 2] = -1
    assert first_wrong("C", "int32", got, want) == Wrong("C[1, 2]", "9", "-1", 1)


def test_large_arrays_are_compared_in_parts():
    want = np.arange(3 << 20, dtype="float32").reshape(3, 1 << 20)
    got = want * np.float32(1 + 2e-7)
    assert first_wrong("C", "float32", got, want) is None
    got[1, 7] = got[2, 9] = np.nan
    found = first_wrong("C", "float32", got, want)
    assert found == Wrong("C[1, 7]", "nan", str(want[1, 7]), 2)
