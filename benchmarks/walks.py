"""Random walks with every verb over odd programs: each step must keep the meaning, by terms.

What a CPU can run of each is compiled as C, and has to compute the same.

    python benchmarks/walks.py --steps 30000 --seed 0 --jobs 2
    python benchmarks/walks.py --offered    # every call that sch.actions offers, then some more

A failure is printed with its family, program and seed; ``--only 'family / program / seed'`` runs
that walk again.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import random
import re
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.access.corpus import FAMILIES  # noqa: E402
from tests.support.c import Job, wrong_in_c  # noqa: E402
from tests.support.random_steps import every_verb  # noqa: E402
from tests.support.walk import Walk, Wrong, arrays  # noqa: E402

LENGTH = 10  # steps tried in one walk
SECOND = 1  # of the calls that are offered after each first one

TOGETHER = 24  # walks whose programs are compiled as one text of C

Task = tuple[str, str, int]
Result = tuple[Task, Counter[str], Counter[str], str]


def one(task: Task, jobs: dict[Task, Job]) -> Result:
    """What one walk took and was refused, and the text of what went wrong.

    What of it a CPU can run goes into `jobs`.
    """
    walk, text = Walk(*task), ""
    try:
        walk.go(LENGTH)
        func = walk.share_out()
        if func is not None:
            jobs[task] = func, arrays(func, walk.data)
        walk.run_kernel()
    except Wrong as wrong:
        text = str(wrong)
    except Exception:
        text = f"{' / '.join(map(str, task))}: the walk itself fails: {traceback.format_exc()}"
    return task, walk.accepted, walk.refused, text


def together(some: Sequence[Task]) -> tuple[list[Result], int]:
    """Some walks, and how many of their programs ran as C: they are compiled together."""
    jobs = dict[Task, Job]()
    found = [one(task, jobs) for task in some]
    wrong = wrong_in_c(list(jobs.values())) if jobs else {}
    for number, why in wrong.items():
        task = list(jobs)[number]
        text = f"{' / '.join(map(str, task))}: {why}"
        found.append((task, Counter(), Counter(), text))
    return found, len(jobs)


def two_deep(some: Sequence[Task]) -> tuple[list[Result], int]:
    """Every call that is offered, of some programs; none is run as C."""
    return [every_offer(task) for task in some], 0


def every_offer(task: Task) -> Result:
    """Every call that is offered on a program, and after each of them `SECOND` of those then."""
    family, name, seed = task
    first, texts = Walk(*task), []
    rng, start = random.Random(f"{family} {name} {seed}"), first.sch.node

    for place, verb, choice in first.offered():
        first.sch.goto(start)
        first.taken.clear()
        try:
            first.take(place, verb, choice)
            node, taken = first.sch.node, list(first.taken)
            then = first.offered()
        except Wrong as wrong:
            texts.append(str(wrong))
            continue
        for second in rng.sample(then, min(SECOND, len(then))):
            first.sch.goto(node)
            first.taken[:] = taken
            try:
                first.take(*second)
            except Wrong as wrong:
                texts.append(str(wrong))
    return task, first.accepted, first.refused, "\n".join(texts)


def tasks(first: int) -> Iterator[Task]:
    """Every program with one seed, then with the next."""
    for seed in itertools.count(first):
        for family, programs in FAMILIES.items():
            for name in programs:
                yield family, name, seed


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=30_000, help="accepted ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--offered", action="store_true", help="what actions offers, two deep")
    parser.add_argument("--only", help="one walk: 'family / program / seed'")
    return parser.parse_args()


def main() -> int:
    """Walk, print the table, return 1 where something was wrong."""
    options = asked()
    if options.only:
        family, name, seed = options.only.split(" / ")
        found, _ = together([(family, name, int(seed))])
        text = "\n".join(text for *_, text in found if text)
        print(text or "right")
        return bool(text)

    if options.offered:
        work, count = two_deep, 2
        todo = itertools.islice(tasks(options.seed), sum(map(len, FAMILIES.values())))
    else:
        work, count, todo = together, TOGETHER, tasks(options.seed)
    start = time.perf_counter()
    accepted: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    families: defaultdict[str, Counter[str]] = defaultdict(Counter)
    wrong: list[str] = []
    compiled = 0
    with multiprocessing.Pool(options.jobs) as pool:
        batches = iter(lambda: list(itertools.islice(todo, count)), [])
        for found, run in pool.imap_unordered(work, batches):
            compiled += run
            for task, took, no, text in found:
                accepted.update(took)
                refused.update(no)
                for verb, times in took.items():
                    families[verb][task[0]] += times
                if text:
                    wrong.append(text)
                    print(text, flush=True)
            if not options.offered and accepted.total() >= options.steps:
                pool.terminate()
                break
    print(f"\n{'verb':24} accepted  refused  families")
    for verb in sorted(set(every_verb())):
        print(f"{verb:24} {accepted[verb]:8} {refused[verb]:8} {len(families[verb]):9}")
    kinds = Counter(re.split(r": ", text)[1] for text in wrong)
    seconds = time.perf_counter() - start
    print(f"\n{accepted.total()} steps, {compiled} programs as C in {seconds:.0f} s; ", end="")
    print(f"wrong: {len(wrong)}")
    for kind, count in kinds.most_common():
        print(f"  {count} {kind}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
