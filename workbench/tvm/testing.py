"""Comparing results: tvm.testing."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.tvm.not_carried import refusing

__all__ = ["assert_allclose"]


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raise AssertionError where shapes differ, or elements by more than rtol * desired + atol."""
    wanted = np.asanyarray(desired)
    np.testing.assert_equal(np.shape(actual), wanted.shape)
    np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=atol)


__getattr__ = refusing(__name__)
