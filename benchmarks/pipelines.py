"""Random pipelines, held against brute force: those taken mean what they were, by terms.

Of those that are refused it says how many would have been something else: some statement reads
another value. Half of them are odd: double buffers, loops that run again or not at all, ends and
conditions that data decide; what data decide may not show in the few sets that are tried.

    python benchmarks/pipelines.py --count 5000 --seed 0 --jobs 2
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.support.pipelines import expanded  # noqa: E402
from tests.support.random_pipelines import random_pipeline  # noqa: E402
from workbench import script  # noqa: E402
from workbench.access import Data, Invalid, Terms, meaning, random_data  # noqa: E402
from workbench.access.pipelines import Needs  # noqa: E402
from workbench.diag import Refusal  # noqa: E402
from workbench.ir import Buffer, PrimFunc  # noqa: E402

HELD = (
    *("taken", "taken, and wrong", "refused, and differs", "refused, and does not"),
    *("no pipeline", "no program"),
)


def verdict(seed: int, odd: bool = False) -> tuple[str, str]:
    """What became of the pipeline of that seed, and the text of a wrong one."""
    func = random_pipeline(random.Random(seed), odd)
    try:
        made = expanded(func)
        told = "taken"
    except Refusal:
        told = "refused"
        try:
            made = as_asked(func)
        except Refusal:  # a double buffer that no loop fills, or too few statements
            return "no pipeline", ""
    same = means_the_same(func, made, 2 if told == "taken" else 8)
    if same is None:
        return "no program", ""
    if told == "taken":
        return ("taken", "") if same else ("taken, and wrong", f"seed {seed}:\n{script.show(func)}")
    return "refused, and does not" if same else "refused, and differs", ""


def as_asked(func: PrimFunc) -> PrimFunc:
    """`func` as it would run if nothing were refused that turns or copies break."""
    with patch.object(Needs, "broken", lambda self, copies: iter(())):
        try:
            return expanded(func)
        except Refusal:
            with patch.object(Needs, "may_copy", _may_copy):
                return expanded(func)


def _may_copy(needs: Needs, buffer: Buffer) -> bool:
    return buffer in needs.private and needs.holds(buffer)


def means_the_same(func: PrimFunc, made: PrimFunc, count: int) -> bool | None:
    """Whether both leave the same in every argument, on so many sets of data, which may decide.

    None where `func` has no meaning on any.
    """
    found = None
    for number in range(count):
        same = same_on(func, made, random_data(func, number))
        if same is False:
            return False
        found = same if found is None else found
    return found


def same_on(func: PrimFunc, made: PrimFunc, data: Data) -> bool | None:
    """Whether both leave the same in every argument; None where `func` has no meaning."""
    terms = Terms()
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
    start = time.perf_counter()
    plain, odd = Counter[str](), Counter[str]()
    with multiprocessing.Pool(options.jobs) as pool:
        seeds = range(options.seed, options.seed + options.count // 2)
        for found, judge in ((plain, verdict), (odd, partial(verdict, odd=True))):
            for told, text in pool.imap_unordered(judge, seeds, chunksize=50):
                found[told] += 1
                if text:
                    print(text, flush=True)
    print(f"{'':24} {'plain':>8} {'odd':>8}")
    for told in HELD:
        print(f"{told:24} {plain[told]:8} {odd[told]:8}")
    shares = (f[HELD[2]] / max(f[HELD[2]] + f[HELD[3]], 1) for f in (plain, odd))
    print(" and ".join(f"{share:.1%}" for share in shares), "of the refused differ;",
          f"{time.perf_counter() - start:.0f} s")  # fmt: skip
    return bool(plain[HELD[1]] + odd[HELD[1]])


if __name__ == "__main__":
    sys.exit(main())
