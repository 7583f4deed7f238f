"""The warps of random kernels, as a player tells them, against a trace of every thread.

``python benchmarks/block_times.py [kernels] [first seed]``: each kernel once with a block of up to
twelve threads and once with several warps. Prints how many accesses were compared, and the seeds
of kernels of which something is told wrong.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.insight.test_issued import wide_kernel
from tests.support.block_trace import check_block_time
from tests.support.random_kernels import random_kernel


def main(kernels: int = 500, first: int = 0) -> int:
    """Check so many kernels; 1 where one is wrong."""
    begun, compared, wrong = time.perf_counter(), 0, list[str]()
    for number in range(kernels):
        seed, wide = first + number // 2, number % 2
        try:
            compared += check_block_time((wide_kernel if wide else random_kernel)(seed))
        except AssertionError as error:
            wrong.append(f"seed {seed}{', wide' * wide}: {str(error)[:200]}")
    seconds = time.perf_counter() - begun
    print("\n".join([*wrong, f"{kernels} kernels, {compared:,} accesses in order, in "
                              f"{seconds:.0f} s; wrong: {len(wrong)}"]))  # fmt: skip
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
