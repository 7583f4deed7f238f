"""Random graphs of compute expressions: programs by NumPy, random schedules of them by terms.

    python benchmarks/te_graphs.py --graphs 3000 --seed 0 --jobs 2

A failure is printed with its seed; ``--only SEED`` runs that graph again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.support.te_walk import graph_walk  # noqa: E402
from tests.support.walk import Wrong  # noqa: E402
from workbench import script  # noqa: E402

LENGTH = 6  # random steps tried on one graph


def one(seed: int) -> tuple[Counter[str], int, str]:
    """The steps taken on graph `seed`, what was built of it, and what went wrong.

    What was built is 0 for nothing, 1 for a kernel, 2 for one with virtual threads.
    """
    taken: Counter[str] = Counter()
    try:
        walk = graph_walk(seed)
        taken = walk.accepted
        walk.evaluates()
        walk.schedules(LENGTH)
        built = walk.run_kernel()
        return taken, built + (built and "vthread" in script.show(walk.sch.func)), ""
    except Wrong as wrong:
        return taken, 0, str(wrong)
    except Exception:
        return taken, 0, f"te / graph / {seed}: the walk itself fails: {traceback.format_exc()}"


def main() -> int:
    """Run the graphs, print the counts, return 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="the seed of one graph")
    options = parser.parse_args()
    if options.only is not None:
        text = one(options.only)[2]
        print(text or "right")
        return bool(text)

    start, wrong = time.perf_counter(), 0
    built: Counter[int] = Counter()
    taken: Counter[str] = Counter()
    with multiprocessing.Pool(options.jobs) as pool:
        seeds = range(options.seed, options.seed + options.graphs)
        for steps, kernel, text in pool.imap_unordered(one, seeds, chunksize=4):
            taken.update(steps)
            built[kernel] += 1
            if text:
                wrong += 1
                print(text, flush=True)
    print(", ".join(f"{verb} {count}" for verb, count in sorted(taken.items())))
    print(
        f"{options.graphs} graphs, {taken.total()} steps, "
        f"{built[1] + built[2]} kernels, {built[2]} with virtual threads, "
        f"in {time.perf_counter() - start:.0f} s; wrong: {wrong}"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
