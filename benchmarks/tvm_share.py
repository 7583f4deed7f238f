"""How many of the steps that TVM 0.27 takes, and that keep the meaning, we take too.

    python benchmarks/tvm_share.py --programs 400 --seed 0 --jobs 1

Random calls of every verb on odd programs and on those of random schedules; TVM's result is read
here and compared by terms. What TVM takes and terms call another program does not count.
"""

from __future__ import annotations

import argparse
import itertools
import json
import queue
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.access.corpus import FAMILIES  # noqa: E402

TIMEOUT = 60.0  # seconds without a word after which TVM hangs
DEPTH, WIDTH = 2, 26  # programs after the first one, and calls of each

Task = tuple[str, str, int]


def work() -> None:
    """In a process of its own: a task a line from stdin, what both said a line to stdout."""
    from tests.support.tvm_oracle import load_tvm
    from tests.support.tvm_share import calls, quiet

    quiet()
    tvm = load_tvm()
    for line in sys.stdin:
        family, name, seed = json.loads(line)
        try:
            for said in calls(family, name, seed, tvm, DEPTH, WIDTH):
                print(json.dumps(asdict(said)), flush=True)
            print(json.dumps({"end": ""}), flush=True)
        except Exception as error:
            print(json.dumps({"end": f"{type(error).__name__}: {error}"[:300]}), flush=True)


class Worker:
    """A process that TVM may end or hold up; another takes its place then."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(self.process, self.lines), daemon=True).start()

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def take(self, task: Task) -> Iterator[dict[str, Any]]:
        """Every record of a task; the last one says how it ended."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        while True:
            try:
                line = self.lines.get(timeout=TIMEOUT)
            except queue.Empty:
                line = None
            if not line:
                self.stop()
                self.start()
                yield {"end": "TVM crashed" if line == "" else "TVM hangs"}
                return
            record = json.loads(line)
            yield record
            if "end" in record:
                return

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Table:
    """What has been counted, each call of a program once."""

    seen: set[str] = field(default_factory=set)
    calls: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    both: Counter[str] = field(default_factory=Counter)
    threads: Counter[str] = field(default_factory=Counter)
    chosen: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    verdicts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    refusals: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    ends: Counter[str] = field(default_factory=Counter)

    def add(self, said: dict[str, Any]) -> None:
        if "end" in said:
            self.ends[said["end"].split("\n")[0][:100] or "whole"] += 1
            return
        if said["key"] in self.seen:
            return
        self.seen.add(said["key"])
        verb = said["verb"]
        self.calls[verb] += 1
        self.verdicts[said["theirs"]][verb] += 1
        if said["theirs"] != "right":
            return
        self.right[verb] += 1
        if not said["ours"]:
            self.both[verb] += 1
        elif said["kind"]:
            (self.threads if said["kind"] == "threads" else self.chosen)[verb] += 1
            self.rules[f"{said['kind']}: {said['explained']} ({verb})"] += 1
        else:
            kind = (verb, said["headline"])
            self.refusals[kind] += 1
            known = self.examples.setdefault(kind, said)
            if len(said["program"]) < len(known["program"]):
                self.examples[kind] = said

    def share(self, verbs: list[str], leave_out_chosen: bool = False) -> float:
        """Of the right steps of TVM without those that threads explain, how many we take."""
        right = sum(self.right[v] - self.threads[v] for v in verbs)
        right -= sum(self.chosen[v] for v in verbs) if leave_out_chosen else 0
        return sum(self.both[v] for v in verbs) / right if right else 1.0

    def text(self, shown: int) -> str:
        """The table, and the refusals by count."""
        verbs = sorted(self.calls)
        rows = [f"{'verb':<24}{'calls':>7}{'right':>7}{'both':>7}{'threads':>9}{'share':>8}"
                f"{'chosen':>8}{'share':>8}{'| TVM: meaning':>15}{'lanes meet':>11}"
                f"{'part of sum':>12}{'nothing':>8}{'no program':>11}"]  # fmt: skip
        for name, some in [*((verb, [verb]) for verb in verbs), ("all", verbs)]:
            calls, right, both, threads, chosen = [
                sum(count[v] for v in some)
                for count in (self.calls, self.right, self.both, self.threads, self.chosen)
            ]
            kinds = ("another meaning", "lanes meet", "reads part of a sum", "reads nothing",
                     "no program")  # fmt: skip
            others = [sum(self.verdicts[kind][v] for v in some) for kind in kinds]
            rows.append(
                f"{name:<24}{calls:>7}{right:>7}{both:>7}{threads:>9}{self.share(some):>8.1%}"
                f"{chosen:>8}{self.share(some, True):>8.1%}" + "{:>23}{:>12}{:>12}".format(*others)
            )
        means = [sum(self.share([v], out) for v in verbs) / max(len(verbs), 1)
                 for out in (False, True)]  # fmt: skip
        rows.append("mean of the verbs' shares: {:.1%}, without chosen {:.1%}".format(*means))
        rows += ["", "explained:", *(f"  {n:>5} x {rule}" for rule, n in self.rules.most_common())]
        rows += ["", "programs:", *(f"  {n:>5} x {end}" for end, n in self.ends.most_common())]
        rows += ["", "refused here, right in TVM:"]
        ranked = self.refusals.most_common()
        rows += [f"  {n:>5} x {head}" for (_, head), n in ranked]
        for kind, n in ranked[:shown]:
            said = self.examples[kind]
            rows += ["", f"--- {n} x {kind[1]}", said["call"], said["ours"], said["program"]]
        return "\n".join(rows)


def tasks(seed: int) -> Iterator[Task]:
    """Programs of the corpus and of random schedules in turn, with one seed, then the next."""
    corpus = [(family, name) for family, programs in FAMILIES.items() for name in programs]
    for k in itertools.count():
        family, name = corpus[(k + seed * 101) * 37 % len(corpus)]  # families in turn
        yield family, name, seed + k // len(corpus)
        yield "random", str(seed * 1_000_000 + k), seed


def main() -> int:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="kinds of refusals shown whole")
    parser.add_argument("--records", type=Path, help="a file for all that was said, a line each")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work()
        return 0
    start, table, lock = time.perf_counter(), Table(), threading.Lock()
    todo = itertools.islice(tasks(options.seed), options.programs)
    records = options.records.open("w") if options.records else None

    def serve() -> None:
        worker = Worker()
        while True:
            with lock:
                task = next(todo, None)
            if task is None:
                return worker.stop()
            for said in worker.take(task):
                with lock:
                    table.add(said)
                    if records:
                        print(json.dumps({"task": task, **said}), file=records, flush=True)

    servers = [threading.Thread(target=serve) for _ in range(options.jobs)]
    for server in servers:
        server.start()
    for server in servers:
        server.join()
    print(table.text(options.show))
    print(f"\n{options.programs} programs in {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
