"""Random tiles for tensor intrinsics: those taken mean what they were, by terms.

Of those that are refused it says why. A case is what `tests/support/random_tensorized.py` draws.

    python benchmarks/tensorized.py --count 2000 --seed 0 --jobs 2
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import workbench as wb  # noqa: E402
from tests.support.random_tensorized import random_tensorized  # noqa: E402
from workbench.access import difference, random_data  # noqa: E402
from workbench.lower import inline_tensor_intrinsics  # noqa: E402


def verdict(seed: int) -> tuple[str, str]:
    """What became of the tile of that seed, and the text of a wrong one."""
    func, name, loop = random_tensorized(random.Random(seed))
    sch = wb.Schedule(func)
    try:
        sch.tensorize(loop, name)
    except wb.ScheduleError as refused:
        why = re.sub(r"`\w+`|\b[A-Z]\b|\bL\w*\b|\d+", "_", refused.headline)
        return f"refused: {why.partition(': ')[2].partition(': ')[2]}", ""
    data = random_data(func, seed)
    found = difference(func, inline_tensor_intrinsics(sch.func), data)
    return ("taken, and wrong", f"seed {seed}: {found}") if found else ("taken", "")


def main() -> int:
    """Hold so many against their terms, print the shares, return 1 where one was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    start, found = time.perf_counter(), Counter[str]()
    with multiprocessing.Pool(options.jobs) as pool:
        seeds = range(options.seed, options.seed + options.count)
        for told, text in pool.imap_unordered(verdict, seeds, chunksize=20):
            found[told] += 1
            if text:
                print(text, flush=True)
    for told, count in found.most_common():
        print(f"{count:6}  {told}")
    print(f"{time.perf_counter() - start:.0f} s")
    return int(found["taken, and wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
