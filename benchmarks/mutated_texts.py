"""Mutated program texts: each is read, shown, scheduled and built, or refused in words of ours.

    python benchmarks/mutated_texts.py --count 10000 --seed 0

Prints how many came to what end, the slowest call, and each exception that is not ours.
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.support.mutations import mutated, starts, use  # noqa: E402


def main() -> int:
    """Try many; the exit status says whether all ended well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    ends: Counter[str] = Counter()
    slowest, at = 0.0, 0
    programs = starts()
    for seed in range(options.seed, options.seed + options.count):
        rng = random.Random(seed)
        text = mutated(rng.choice(programs), rng)
        seconds = 0.0
        try:
            end, seconds = use(text)
            ends[end] += 1
        except Exception as error:
            ends[f"fault: {type(error).__name__}"] += 1
            print(f"seed {seed}:\n{''.join(traceback.format_exc()[-1500:])}")
        if seconds > slowest:
            slowest, at = seconds, seed
    for end, count in ends.most_common():
        print(f"{count:7} {end}")
    print(f"slowest call: {slowest:.2f} s (seed {at})")
    return int(any(end.startswith("fault") for end in ends))


if __name__ == "__main__":
    sys.exit(main())
