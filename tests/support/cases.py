"""How many random cases a test tries: one number for all tests.

Few here, so that the suite stays short; each test takes some multiple of it, by what a case costs
and how rare are those that tell. ``WORKBENCH_CASES=1000`` tries more of the same, and
``benchmarks/walks.py`` and its like run tens of thousands.
"""

from __future__ import annotations

import os

CASES = int(os.environ.get("WORKBENCH_CASES", "10"))


def seeds(times: int = 1, first: int = 0) -> range:
    """The seeds of `times` times as many cases, from `first` on."""
    return range(first, first + times * CASES)
