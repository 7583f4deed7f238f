"""first_wrong: the one place that says whether a result is as it should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.emulate.arrays import as_values
from workbench.ir import dtypes

Array = np.ndarray[Any, Any]

# How far two right results may lie apart: sums in another order, rounded after each addition.
_ROUNDING = {"float64": 1e-9, "float32": 1e-5, "float16": 2e-2, "bfloat16": 2e-2}

_PART = 1 << 20  # cells compared at a time: what is needed beside the arrays stays small
_SOME = 1 << 16  # values, evenly spread, from which the middle one is told


@dataclass(frozen=True, slots=True)
class Wrong:
    """The first cell, in memory order, that is not as it should be, and how many are not."""

    cell: str  # "C[2, 5]"
    got: str
    want: str
    count: int


def first_wrong(
    name: str,
    dtype: str,
    got: Array,
    want: Array,
    *,
    tolerance: float | None = None,
    among: Array | None = None,
) -> Wrong | None:
    """Where `got`, an array called `name` with values of `dtype`, is not `want`; None: nowhere.

    NaN equals NaN, an infinity equals itself. Integers and bools must be equal. Floats may differ
    by `tolerance` of the value in `want`, and of the middle one of all values there but 0: where
    large terms cancel, what is left carries their rounding. Without `tolerance` it is that of
    `dtype`. `among` marks the cells that are looked at.
    """
    shape = got.shape
    got, want = as_values(got, dtype).reshape(-1), as_values(want, dtype).reshape(-1)
    looked = None if among is None else among.reshape(-1)
    allowed = 0.0
    if dtypes.is_float(dtype):
        allowed = _ROUNDING[dtype] if tolerance is None else tolerance
    beside = allowed * _middle(want) if allowed else 0.0
    first, count = 0, 0
    for start in range(0, got.size, _PART):
        part = slice(start, start + _PART)
        unlike = got[part] != want[part]
        cells = np.flatnonzero(unlike if looked is None else unlike & looked[part]) + start
        if dtypes.is_float(dtype) and cells.size:
            mine, theirs = got[cells].astype(np.float64), want[cells].astype(np.float64)
            cells = cells[~np.isclose(mine, theirs, allowed, beside, equal_nan=True)]
        if cells.size:
            first, count = first if count else int(cells[0]), count + cells.size
    if not count:
        return None
    at = ", ".join(str(k) for k in np.unravel_index(first, shape)) or "()"
    return Wrong(f"{name}[{at}]", str(got[first]), str(want[first]), count)


def rounding(dtype: str) -> float:
    """By what part of its value a right result of the float type `dtype` may be off."""
    return _ROUNDING[dtype]


def _middle(values: Array) -> float:
    """About the median of the sizes of those values that are finite and not 0; 1 where none is."""
    some = values[:: values.size // _SOME + 1].astype(np.float64)
    sizes = np.abs(some[np.isfinite(some) & (some != 0)])
    return float(np.median(sizes)) if sizes.size else 1.0
