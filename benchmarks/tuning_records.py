"""Records of searches under attack: ``python -m benchmarks.tuning_records``.

Searches that are killed at 200 random moments, each some times, and go on; records whose lines are
shuffled; 10,000 mutations of a record; two searches on one; a disk that is full at any byte. Ends
with 1 where one promise is broken.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import workbench as wb
from tests.tuning.programs import VECTOR, Planted, space
from workbench import tuning
from workbench.diag import Fail
from workbench.tuning import Candidate, Outcome, RecordError

KILLED, MUTATED, FULL, SHUFFLED, TWICE = 200, 10_000, 60, 40, 20
TRIALS, PER_BATCH = 12, 4
MEASURING = 0.01  # seconds of a trial: as long as all else it takes, so that kills fall there, too
_FORKED = multiprocessing.get_context("fork")


class Logged(Planted):
    """Measures planted times, and writes to a file of its own what it is about to measure."""

    def __init__(self, log: Path) -> None:
        super().__init__()
        self.log = log

    def submit(self, candidate: Candidate) -> Outcome:
        """The planted outcome, after a while."""
        with self.log.open("a") as file:
            file.write(json.dumps(candidate.decisions) + "\n")
        time.sleep(MEASURING)
        return super().submit(candidate)


def search(path: Path, log: Path, seed: int = 0) -> str:
    """A search that writes the record `path`; the steps that won."""
    measurer = Logged(log)
    best = wb.tune(
        VECTOR,
        space=space,
        target="cuda",
        trials=TRIALS,
        seed=seed,
        per_batch=PER_BATCH,
        record=path,
        measurer=measurer,
        progress=lambda told: None,
    )
    return str(best.trace)


def told(path: Path) -> tuple[object, ...]:
    """All that a record tells."""
    lines = tuning.read(path)
    return lines.header, lines.trials, lines.outcomes, lines.refused


def _rows(log: Path) -> list[str]:
    return log.read_text().splitlines(keepends=True) if log.exists() else []


def killed(count: int, folder: Path) -> Counter[str]:
    """Kill searches `count` times in all, each at up to four random moments; they then end."""
    whole, found, left = folder / "whole.jsonl", Counter[str](), count
    best = search(whole, folder / "whole.log")
    start = time.perf_counter()
    search(folder / "again.jsonl", folder / "again.log")
    length = time.perf_counter() - start
    number = 0
    while left > 0:
        rng = random.Random(number)
        path, log = folder / f"{number}.jsonl", folder / f"{number}.log"
        number += 1
        kills = rng.randint(1, 4)
        for _ in range(kills):
            process = _FORKED.Process(target=search, args=(path, log))
            process.start()
            time.sleep(rng.random() * length)
            os.kill(process.pid or 0, signal.SIGKILL)
            process.join()
            found["killed"] += process.exitcode == -signal.SIGKILL
            left -= process.exitcode == -signal.SIGKILL
            found["ended before"] += process.exitcode == 0
            found["begun, and not written ahead"] += not _written_ahead(path, log)
        found["another winner"] += search(path, log) != best
        found["another record"] += told(path) != told(whole)
        found["measured more often than killed"] += len(_rows(log)) > TRIALS + kills
    return found


def _written_ahead(path: Path, log: Path) -> bool:
    """Whether the record has all trials that were begun."""
    begun = {json.dumps(json.loads(row)) for row in _rows(log) if row.endswith("\n")}
    if not begun:
        return True
    trials = tuning.read(path).trials.values()
    return begun <= {json.dumps(trial.decisions) for trial in trials}


def shuffled(count: int, folder: Path) -> Counter[str]:
    """The lines of a part of a record in any order: the search goes on all the same."""
    whole, found = folder / "ordered.jsonl", Counter[str]()
    best = search(whole, folder / "ordered.log")
    rows = whole.read_bytes().splitlines(keepends=True)
    for number in range(count):
        rng = random.Random(number)
        path = folder / "shuffled.jsonl"
        some = rows[1 : rng.randrange(1, len(rows))]
        path.write_bytes(b"".join([rows[0], *rng.sample(some, len(some))]))
        found["shuffled"] += 1
        found["another winner"] += search(path, folder / "shuffled.log") != best
        found["another record"] += told(path) != told(whole)
    return found


def full(count: int, folder: Path) -> Counter[str]:
    """A file that may grow to some random size alone: what is written by then is kept."""
    whole, found = folder / "roomy.jsonl", Counter[str]()
    best = search(whole, folder / "roomy.log")
    size = whole.stat().st_size
    for number in range(count):
        path, log = folder / f"full{number}.jsonl", folder / f"full{number}.log"
        most = random.Random(number).randrange(size)
        process = _FORKED.Process(target=_limited, args=(most, path, log))
        process.start()
        process.join()
        found["full"] += 1
        found["ended otherwise than by our error"] += process.exitcode != 3
        found["half a line left"] += path.stat().st_size > 0 and path.read_bytes()[-1:] != b"\n"
        found["another winner"] += search(path, log) != best
        found["another record"] += told(path) != told(whole)
    return found


def _limited(most: int, path: Path, log: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write then fails, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        search(path, log)
    except RecordError as error:
        sys.exit(3 if "Can't write the record" in error.headline else 4)


def twice(count: int, folder: Path) -> Counter[str]:
    """Two searches begin on one record at once: one alone writes it."""
    found = Counter[str]()
    for number in range(count):
        path, log = folder / f"both{number}.jsonl", folder / f"both{number}.log"
        both = [_FORKED.Process(target=_refused_or_done, args=(path, log)) for _ in range(2)]
        for process in both:
            process.start()
        for process in both:
            process.join()
        found["both"] += 1
        codes = sorted(process.exitcode or 0 for process in both)
        found["neither refused"] += codes == [0, 0] and len(_rows(log)) != TRIALS
        found["ended otherwise"] += codes not in ([0, 0], [0, 3])
        found["trials lost"] += len(tuning.read(path).outcomes) != TRIALS
    return found


def _refused_or_done(path: Path, log: Path) -> None:
    try:
        search(path, log)
    except RecordError as error:
        sys.exit(3 if "another search writes it now" in error.headline else 4)


# --- hostile records ------------------------------------------------------------------------------

_RUN = (
    "exec",
    "compile",
    "import",
    "os.system",
    "os.exec",
    "subprocess.Popen",
    "pickle.find_class",
)
_SPLICED = [b"[", b"{", b"1e999", b"NaN", b'"', b"null", b"-1", b"\0", b"\xff", b"9" * 5000, b"\n"]


def mutated(count: int, folder: Path) -> Counter[str]:
    """Read damaged records: our own errors alone come of it, and nothing is run.

    One of a hundred of those that can be read all the same is gone on with, too.
    """
    whole, found = folder / "sound.jsonl", Counter[str]()
    search(whole, folder / "sound.log")
    raw, path, watching = whole.read_bytes(), folder / "mutated.jsonl", [False]

    def hear(event: str, arguments: object) -> None:
        if watching[0] and event in _RUN:
            found[f"RUN: {event}"] += 1

    sys.addaudithook(hear)
    for number in range(count):
        path.write_bytes(damaged(raw, random.Random(number)))
        watching[0] = True
        try:
            tuning.read(path)
            found["read"] += 1
        except RecordError as error:
            found["refused"] += 1
            found["headline too long"] += len(error.headline) > 120
        except Exception as error:
            found[f"ANOTHER ERROR: {type(error).__name__}"] += 1
        finally:
            watching[0] = False
        if found["read"] > 100 * found["gone on with"]:
            found["gone on with"] += 1
            try:
                search(path, folder / "mutated.log")
            except Fail as error:
                found["refused then"] += len(error.headline) <= 120
            except Exception as error:
                found[f"ANOTHER ERROR, THEN: {type(error).__name__}"] += 1
    return found


def damaged(raw: bytes, rng: random.Random) -> bytes:
    """A record with some bytes changed, taken out, doubled or put in, or a value replaced."""
    made = bytearray(raw)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(made) or 1)
        match rng.randrange(5):
            case 0 if made:
                made[at] = rng.randrange(256)
            case 1:
                del made[at : at + rng.randrange(60)]
            case 2:
                made[at:at] = rng.choice(_SPLICED)
            case 3:
                made[at:at] = made[: rng.randrange(600)]
            case _:
                made[:] = _with_another_value(bytes(made), rng)
    return bytes(made)


def _with_another_value(raw: bytes, rng: random.Random) -> bytes:
    rows = raw.split(b"\n")
    k = rng.randrange(len(rows))
    try:
        data = json.loads(rows[k])
        key = rng.choice(list(data))
    except (ValueError, IndexError, RecursionError, TypeError):
        return raw
    odd: list[object] = [
        None,
        True,
        -1,
        2**70,
        1e300,
        "",
        "x" * 3000,
        [],
        [[]],
        {},
        {"a": 1},
        [2**64],
    ]
    data[key] = rng.choice(odd)
    rows[k] = json.dumps(data).encode()
    return b"\n".join(rows)


ATTACKS: dict[str, tuple[Callable[[int, Path], Counter[str]], int]] = {
    "killed": (killed, KILLED),
    "shuffled": (shuffled, SHUFFLED),
    "full": (full, FULL),
    "twice": (twice, TWICE),
    "mutated": (mutated, MUTATED),
}
_FINE = {
    "killed",
    "ended before",
    "shuffled",
    "full",
    "both",
    "read",
    "refused",
    "gone on with",
    "refused then",
}


def broken(found: Counter[str]) -> list[str]:
    """The promises that were broken."""
    return [name for name, count in found.items() if count and name not in _FINE]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS))
    parser.add_argument("--count", type=int)
    asked = parser.parse_args()
    bad = []
    with tempfile.TemporaryDirectory() as made_folder:
        for name in asked.attacks:
            attack, usual = ATTACKS[name]
            begun = time.perf_counter()
            result = attack(asked.count or usual, Path(made_folder))
            bad += broken(result)
            counts = ", ".join(f"{text}: {count}" for text, count in result.items())
            print(f"{name} ({time.perf_counter() - begun:.0f} s): {counts}", flush=True)
    sys.exit(bool(bad))
