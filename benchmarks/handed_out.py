"""Where blocks of random grids run, and when, held against an independent list scheduler.

.venv/bin/python -m benchmarks.handed_out [grids]
"""

from __future__ import annotations

import sys

from tests.insight.test_handed_out import differences
from tests.support.list_scheduler import random_grid

GRIDS = 500


def main(grids: int = GRIDS) -> int:
    """How many of so many grids have a block elsewhere; each is printed."""
    wrong = 0
    for seed in range(grids):
        blocks = differences(random_grid(seed))
        if blocks:
            wrong += 1
            print(f"grid {seed}: blocks {blocks[:8]} of {len(random_grid(seed).classes)}")
    print(f"{grids} grids, {wrong} with blocks elsewhere")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:2]))))
