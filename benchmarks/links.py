"""Links under attack, and how long they are: ``python -m benchmarks.links``.

Says how many characters a link has to each end and mark of the lessons' histories, and what came of
opening 10,000 damaged ones: of half of them characters were changed, of the other half the data
inside, packed anew. Ends with 1 where one raised anything else than a ScheduleError that says what
to do, left a file, or took longer than 2 seconds of the processor.
"""

from __future__ import annotations

import argparse
import base64
import os
import random
import sys
import tempfile
import time
import zlib
from collections import Counter

import workbench as wb
from benchmarks.histories import histories
from benchmarks.saved_files import LIMIT, damaged
from workbench.history.history import HistoryNode
from workbench.history.link import link

DAMAGED = 10_000
CHARACTERS = "ABCxyz019_-.#%=+/ \n\0é😀workbench1."


def ends(sch: wb.Schedule) -> list[HistoryNode]:
    """The nodes of a history that a link would be made to: those with a mark, or no step behind."""
    return [node for node in sch.history if node.marks or not node.children]


def changed(seed: int, url: str) -> str:
    """`url` with a few faults, of its text or of the data in it."""
    choose = random.Random(seed)
    before, dot, packed = url.rpartition(".")
    if choose.random() < 0.5:
        raw = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
        raw = damaged(seed, raw.decode())
        packed = base64.urlsafe_b64encode(zlib.compress(raw)).decode().rstrip("=")
        return f"{before}{dot}{packed}"
    for _ in range(choose.choice((1, 1, 2, 8))):
        at, end = sorted(choose.randrange(len(url) + 1) for _ in range(2))
        middle = (choose.choice(CHARACTERS), "", url[at:end] * 2, url[end:])
        url = url[:at] + choose.choice(middle) + url[choose.choice((at, at + 1, end)) :]
    return url


def opened(url: str) -> tuple[str, float]:
    """What came of opening `url`, and the seconds of the processor that it took."""
    start = time.process_time()
    try:
        wb.open(url)
        told = "opened"
    except wb.ScheduleError as error:
        told = "refused" if error.headline and error.hint else "refused without a word"
    except BaseException as error:
        told = f"{type(error).__name__}: {error}"[:120]
    return told, time.process_time() - start


def main() -> int:
    """Measure, print, and say by the exit status whether all promises hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damaged", type=int, default=DAMAGED)
    options = parser.parse_args()
    urls = []
    for name, sch in histories():
        made = [link(node) for node in ends(sch)]
        print(f"{name}: {len(made)} links of at most {max(map(len, made)):,} characters")
        urls.append(max(made, key=len))
    counts: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in range(options.damaged):
            told, seconds = opened(changed(seed, random.Random(seed).choice(urls)))
            counts[told] += 1
            slowest = max(slowest, seconds)
        left = os.listdir(folder)
        os.chdir("/")
    print(f"{options.damaged:,} damaged links: {dict(counts.most_common(12))}, files left: {left}")
    print(f"slowest: {slowest:.2f} s")
    return 1 if counts.keys() - {"opened", "refused"} or left or slowest > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
