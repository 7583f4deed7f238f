"""Comparing results: tvm.testing."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.tvm.not_carried import refusing
from workbench.tvm.runtime import Device, cpu, cuda

__all__ = ["assert_allclose", "enabled_targets"]


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raise AssertionError where shapes differ, or elements by more than rtol * desired + atol."""
    wanted = np.asanyarray(desired)
    np.testing.assert_equal(np.shape(actual), wanted.shape)
    np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=atol)


def enabled_targets() -> list[tuple[str, Device]]:
    """What programs are built for on this machine, each with its device: the CPU, and a GPU."""
    found = [("llvm", cpu()), ("cuda", cuda())]
    return [(kind, dev) for kind, dev in found if dev.exist]


__getattr__ = refusing(__name__)
