"""Random graphs of compute expressions: programs by NumPy, random schedules of them by terms.

What a CPU can run of each is compiled as C, and has to compute the same.

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

from tests.support.c import Job, wrong_in_c  # noqa: E402
from tests.support.te_walk import graph_walk  # noqa: E402
from tests.support.walk import Wrong, arrays  # noqa: E402
from workbench import script  # noqa: E402

LENGTH = 6  # random steps tried on one graph


TOGETHER = 24  # graphs whose programs are compiled as one text of C

Result = tuple[Counter[str], int, str]


def one(seed: int, jobs: dict[int, Job]) -> Result:
    """The steps taken on graph `seed`, what was built of it, and what went wrong.

    What was built is 0 for nothing, 1 for a kernel, 2 for one with virtual threads. What of it a
    CPU can run goes into `jobs`.
    """
    taken: Counter[str] = Counter()
    try:
        walk = graph_walk(seed)
        taken = walk.accepted
        walk.evaluates()
        walk.schedules(LENGTH)
        func = walk.share_out()
        if func is not None:
            jobs[seed] = func, arrays(func, walk.data)
        built = walk.run_kernel()
        return taken, built + (built and "vthread" in script.show(walk.sch.func)), ""
    except Wrong as wrong:
        return taken, 0, str(wrong)
    except Exception:
        return taken, 0, f"te / graph / {seed}: the walk itself fails: {traceback.format_exc()}"


def together(seeds: range) -> tuple[list[Result], int]:
    """Some graphs, and how many of their programs ran as C: they are compiled together."""
    jobs = dict[int, Job]()
    found = [one(seed, jobs) for seed in seeds]
    wrong = wrong_in_c(list(jobs.values())) if jobs else {}
    texts = (f"te / graph / {list(jobs)[number]}: {why}" for number, why in wrong.items())
    return [*found, *((Counter(), 0, text) for text in texts)], len(jobs)


def main() -> int:
    """Run the graphs, print the counts, return 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="the seed of one graph")
    options = parser.parse_args()
    if options.only is not None:
        found, _ = together(range(options.only, options.only + 1))
        text = "\n".join(text for *_, text in found if text)
        print(text or "right")
        return bool(text)

    start, wrong, compiled = time.perf_counter(), 0, 0
    built: Counter[int] = Counter()
    taken: Counter[str] = Counter()
    with multiprocessing.Pool(options.jobs) as pool:
        seeds = range(options.seed, options.seed + options.graphs)
        batches = (seeds[k : k + TOGETHER] for k in range(0, len(seeds), TOGETHER))
        for found, run in pool.imap_unordered(together, batches):
            compiled += run
            for steps, kernel, text in found:
                taken.update(steps)
                built[kernel] += 1
                if text:
                    wrong += 1
                    print(text, flush=True)
    print(", ".join(f"{verb} {count}" for verb, count in sorted(taken.items())))
    print(
        f"{options.graphs} graphs, {taken.total()} steps, "
        f"{built[1] + built[2]} kernels, {built[2]} with virtual threads, "
        f"{compiled} programs as C, in {time.perf_counter() - start:.0f} s; wrong: {wrong}"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
