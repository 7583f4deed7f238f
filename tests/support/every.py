"""Whether tests look at every size, theme and hand-in, or at some of each.

At every one where ``WORKBENCH_EVERY`` is set: in the weekly run, and by
``benchmarks/browser_matrix.py``.
"""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")
EVERY = bool(os.environ.get("WORKBENCH_EVERY"))


def some(*values: T) -> tuple[T, ...]:
    """The first of the values; where every one is looked at, all."""
    return values if EVERY else values[:1]
