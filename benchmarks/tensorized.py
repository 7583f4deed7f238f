"""Random tiles for tensor intrinsics: those taken mean what they were, by terms.

Of those that are refused it says why. A case is what `tests/support/random_tensorized.py` draws,
with `--lanes` what `random_lanes.py` there does: tiles of ``mma.sync`` and ``ldmatrix``.

    python benchmarks/tensorized.py --count 2000 --seed 0 --jobs 2 --lanes
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

from tests.support.random_lanes import random_lanes  # noqa: E402
from tests.support.random_tensorized import random_tensorized  # noqa: E402
from workbench.access import difference, random_data  # noqa: E402
from workbench.diag import Refusal  # noqa: E402
from workbench.ir.places import places  # noqa: E402
from workbench.lower import inline_tensor_intrinsics  # noqa: E402
from workbench.verbs.primitive import discover  # noqa: E402


def verdict(case: tuple[int, bool]) -> tuple[str, str]:
    """What became of the tile of that seed, by lanes or not, and the text of a wrong one."""
    seed, lanes = case
    func, name, loop = (random_lanes if lanes else random_tensorized)(random.Random(seed))
    outermost = next(f for var, f in places(func).loops.items() if var.name == loop)
    try:
        made = discover()["tensorize"].take(func, outermost, name).func
    except Refusal as refused:
        why = re.sub(r"`\w+`|\b[A-Z]\w*\b|\bmma_\w+|\d+", "_", refused.headline)
        return f"refused: {why.partition(': ')[2].partition(': ')[2]}", ""
    data = random_data(func, seed)
    found = difference(func, inline_tensor_intrinsics(made), data)
    return ("taken, and wrong", f"seed {seed}: {found}") if found else ("taken", "")


def main() -> int:
    """Hold so many against their terms, print the shares, return 1 where one was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--lanes", action="store_true", help="tiles of mma.sync and ldmatrix")
    options = parser.parse_args()
    start, found = time.perf_counter(), Counter[str]()
    with multiprocessing.Pool(options.jobs) as pool:
        seeds = range(options.seed, options.seed + options.count)
        cases = ((seed, options.lanes) for seed in seeds)
        for told, text in pool.imap_unordered(verdict, cases, chunksize=20):
            found[told] += 1
            if text:
                print(text, flush=True)
    for told, count in found.most_common():
        print(f"{count:6}  {told}")
    print(f"{time.perf_counter() - start:.0f} s")
    return int(found["taken, and wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
