"""Random candidates of the ready space for Tensor Cores: ``python -m benchmarks.tensor_space 20``.

So many of each program of `tests/tuning/test_tensor_tiling.py`, each held against the program as it
stands: on this machine's GPU, where there is one, else on the emulator. Several processes share the
work. Ends with 1 where one computes anything else, or is refused for another reason than what was
drawn for it.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.tuning.test_tensor_tiling import H100, PROGRAMS, check

Case = tuple[str, int]


def ended(case: Case) -> str:
    """How candidate number `case[1]` of a program ended: "right", or why not."""
    name, seed = case
    try:
        return check(PROGRAMS[name], H100, seed) or "right"
    except AssertionError as wrong:
        return f"WRONG: {wrong}"


def main(count: int) -> bool:
    """Prints how they ended; whether none is wrong."""
    cases = [(name, seed) for name in PROGRAMS for seed in range(count)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = Counter(
            (name, why) for (name, _), why in zip(cases, pool.map(ended, cases), strict=True)
        )
    for (name, why), times in sorted(found.items()):
        print(f"{times:5} {name}: {why}")
    return not any("WRONG" in why for _, why in found)


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1])))
