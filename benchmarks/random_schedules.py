"""Random programs under random schedules: run many, count verbs and kernels, find wrong results.

    python benchmarks/random_schedules.py --count 5000 --seed 0 --jobs 2

Every step's program is checked as ``tests/support/checked_run.py`` says. A failure is printed with
its seed; ``--count 1 --seed <it>`` runs that one again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.support.checked_run import Outcome, Wrong, run_as_cpp, run_seed  # noqa: E402
from tests.support.random_steps import every_verb  # noqa: E402

TOGETHER = 50  # schedules whose kernels make one C++ executable: compiling is what takes long


Result = tuple[int, Outcome | None, str]


def chunk(seeds: Sequence[int]) -> list[Result]:
    """The outcome of each seed, or the text of what went wrong; the kernels run as C++ together."""
    results = [one(seed) for seed in seeds]
    outcomes = [outcome for _, outcome, _ in results if outcome is not None]
    try:
        run_as_cpp([job for outcome in outcomes for job in outcome.jobs])
    except AssertionError as failure:
        results.append((seeds[0], None, str(failure)))
    for outcome in outcomes:
        outcome.kernels["run as C++"] += len(outcome.jobs)
        outcome.jobs.clear()  # programs do not travel between processes
    return results


def one(seed: int) -> Result:
    """The outcome of one seed, or the text of what went wrong."""
    try:
        return seed, run_seed(seed), ""
    except Wrong as wrong:
        return seed, None, str(wrong)
    except Exception:
        return seed, None, traceback.format_exc()


def results(seeds: range, jobs: int) -> Iterator[Result]:
    """Each seed's result, as it is done."""
    chunks = [seeds[k : k + TOGETHER] for k in range(0, len(seeds), TOGETHER)]
    if jobs == 1:
        for part in map(chunk, chunks):
            yield from part
        return
    with multiprocessing.Pool(jobs) as pool:
        for part in pool.imap_unordered(chunk, chunks):
            yield from part


def main() -> int:
    """Run, print the table, return 1 where a result was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=3, help="failures printed whole")
    options = parser.parse_args()

    start = time.perf_counter()
    total, wrong = Outcome(), 0
    for seed, outcome, text in results(
        range(options.seed, options.seed + options.count), options.jobs
    ):
        if outcome is None:
            wrong += 1
            shown = text if wrong <= options.show else text.splitlines()[0]
            print(f"seed {seed}: {shown}\n", flush=True)
            continue
        total.accepted += outcome.accepted
        total.refused += outcome.refused
        total.kernels += outcome.kernels
        total.reasons += outcome.reasons
    table(total, options.count, wrong, time.perf_counter() - start)
    return 1 if wrong else 0


def table(total: Outcome, count: int, wrong: int, seconds: float) -> None:
    """Print what happened."""
    print(f"{'verb':<24}{'accepted':>10}{'refused':>10}")
    for verb in sorted(set(every_verb())):
        print(f"{verb:<24}{total.accepted[verb]:>10}{total.refused[verb]:>10}")
    print(f"\nkernels: {_listed(total.kernels)}")
    for reason, times in total.reasons.most_common(12):
        print(f"  {times:>6} x {reason}")
    print(f"schedules: {count}   wrong results: {wrong}   seconds: {seconds:.0f}")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{times} {name}" for name, times in counts.items()) or "none"


if __name__ == "__main__":
    sys.exit(main())
