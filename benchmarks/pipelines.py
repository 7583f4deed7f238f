"""Random pipelines, held against brute force: those taken mean what they were, by terms.

Of those that are refused it says how many would have been something else: some statement reads
another value.

    python benchmarks/pipelines.py --count 5000 --seed 0 --jobs 2
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections import Counter
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.support.pipelines import expanded  # noqa: E402
from tests.support.random_pipelines import random_pipeline  # noqa: E402
from workbench import script  # noqa: E402
from workbench.access import Invalid, Terms, meaning, random_data  # noqa: E402
from workbench.access.pipelines import Needs  # noqa: E402
from workbench.diag import Refusal  # noqa: E402
from workbench.ir import PrimFunc  # noqa: E402

HELD = "taken", "taken, and wrong", "refused, and differs", "refused, and does not", "no program"


def verdict(seed: int) -> tuple[str, str]:
    """What became of the pipeline of that seed, and the text of a wrong one."""
    func = random_pipeline(random.Random(seed))
    try:
        made = expanded(func)
        told = "taken"
    except Refusal:
        told = "refused"
        with patch.object(Needs, "broken", lambda self, copies: iter(())):
            made = expanded(func)
    same = means_the_same(func, made)
    if same is None:
        return "no program", ""
    if told == "taken":
        return ("taken", "") if same else ("taken, and wrong", f"seed {seed}:\n{script.show(func)}")
    return "refused, and does not" if same else "refused, and differs", ""


def means_the_same(func: PrimFunc, made: PrimFunc) -> bool | None:
    """Whether both leave the same in every argument; None where `func` has no meaning."""
    terms, data = Terms(), random_data(func, 0)
    try:
        wanted = meaning(func, data, terms)
    except Invalid:
        return None
    if any(term is terms.nothing for cells in wanted for term in cells.values()):
        return None  # of what nothing wrote, all orders make the same
    try:
        got = meaning(made, data, terms)
    except Invalid:
        return False
    pairs = zip(wanted, got, strict=True)
    return all(term is b[cell] for a, b in pairs for cell, term in a.items())


def main() -> int:
    """Hold so many against brute force, print the shares, return 1 where one was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    start, found = time.perf_counter(), Counter[str]()
    with multiprocessing.Pool(options.jobs) as pool:
        seeds = range(options.seed, options.seed + options.count)
        for told, text in pool.imap_unordered(verdict, seeds, chunksize=50):
            found[told] += 1
            if text:
                print(text, flush=True)
    for told in HELD:
        print(f"{told:24} {found[told]:8}")
    refused = found[HELD[2]] + found[HELD[3]]
    print(f"{found[HELD[2]] / max(refused, 1):.1%} of the refused differ; "
          f"{time.perf_counter() - start:.0f} s")  # fmt: skip
    return bool(found[HELD[1]])


if __name__ == "__main__":
    sys.exit(main())
