"""Every number and name in pictures, by brute force over what each thread of small programs does.

    python -m benchmarks.pictured 3000 0 pictured.jsonl

So many random schedules, from a first number on: all verbs, tails, several kernels, virtual
threads, tiles fetched together, pipelines, matrix units. Every picture of a lab is drawn of each,
for random selections, and what it tells (on shapes, in titles that a screen reader says, captions
and tables) is held against a log of all threads in plain Python, which knows nothing of `insight`;
names are held against the lines that they point at, and none may be cut. What no rule can read is
wrong, too (`tests/support/pictured`). The cost bar is opened, and each of its rows counted. Two
programs of the history are compared, a part of them comes out of its link again, with a number
dragged, or on a saved page with other numbers: what is shown then is held against the same.

In the file each schedule leaves a line, so that one that is there is not checked again: parts of a
run may be made one after the other. At the end all of them are added up: a kind of `KINDS` that was
never compared is a failure, as is one that was compared and is not among these.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.support.pictured.check import checked
from tests.support.pictured.kinds import KINDS

LEFT_OUT = "left out"  # begins what is counted and not compared
SHOWN = 5  # things that are wrong, of a schedule


def row(seed: int) -> dict[str, object]:
    """What came of a schedule."""
    begun = time.process_time()
    try:
        found = checked(seed)
    except Exception:
        wrong, counts = [traceback.format_exc()[-1500:]], Counter[str]()
    else:
        wrong, counts = found.wrong, found.counts
    seconds = round(time.process_time() - begun, 2)
    return {"seed": seed, "seconds": seconds, "wrong": wrong, "counts": dict(counts)}


def main(count: int = 3000, first: int = 0, name: str = "pictured.jsonl") -> int:
    """Check so many schedules and add up all that the file has; 1 where something is wrong."""
    file = Path(name)
    lines = file.read_text().splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {one["seed"] for one in rows}
    with file.open("a") as out:
        for seed in range(first, first + count):
            if seed in done:
                continue
            rows.append(row(seed))
            out.write(json.dumps(rows[-1]) + "\n")
            out.flush()
            for wrong in rows[-1]["wrong"][:SHOWN]:
                print(wrong, flush=True)
    return _told(rows)


def _told(rows: list[dict[str, object]]) -> int:
    """Print what was compared, by kind, and what is wrong."""
    counts: Counter[str] = Counter()
    for one in rows:
        counts.update(one["counts"])  # type: ignore[arg-type]
    for kind in sorted({*KINDS, *counts}):
        print(f"{counts[kind]:>12,}  {kind}")
    wrong = [one["seed"] for one in rows if one["wrong"]]
    never = sorted(KINDS - counts.keys())
    unknown = sorted(kind for kind in counts.keys() - KINDS if not kind.startswith(LEFT_OUT))
    print(f"{len(rows):,} schedules, {sum(counts.values()):,} comparisons; wrong in: {wrong}")
    for what, kinds in (("never compared", never), ("not among KINDS", unknown)):
        if kinds:
            print(f"{what}: {'; '.join(kinds)}")
    return bool(wrong or never or unknown)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3]), *sys.argv[3:]))
