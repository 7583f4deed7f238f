"""The same random schedules here and in TVM 0.27: same verdicts, same programs, or a known reason.

    python benchmarks/tvm_oracle.py --count 1000 --seed 0

Differences that are meant are listed in ``docs/differences-from-tvm.md``; any other is printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.support.random_steps import every_verb  # noqa: E402
from tests.support.tvm_oracle import Verdicts, load_tvm, run_seed  # noqa: E402


def main() -> int:
    """Run, print the table, return 1 where a difference has no explanation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3, help="differences printed whole")
    options = parser.parse_args()

    tvm = load_tvm()
    start, total = time.perf_counter(), Verdicts()
    for seed in range(options.seed, options.seed + options.count):
        verdicts = run_seed(seed, tvm)
        for text in verdicts.unexplained:
            whole = len(total.unexplained) < options.show
            print(f"seed {seed}: {text if whole else text.splitlines()[0]}\n", flush=True)
            total.unexplained.append(text)
        total.both_took += verdicts.both_took
        total.both_refused += verdicts.both_refused
        total.explained += verdicts.explained
    print(f"{'verb':<24}{'both take':>10}{'both refuse':>12}")
    for verb in sorted(set(every_verb())):
        print(f"{verb:<24}{total.both_took[verb]:>10}{total.both_refused[verb]:>12}")
    print("\nexplained differences:")
    for name, times in total.explained.most_common():
        print(f"  {times:>6} x {name}")
    seconds = time.perf_counter() - start
    print(f"schedules: {options.count}   unexplained: {len(total.unexplained)}   {seconds:.0f} s")
    return 1 if total.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
