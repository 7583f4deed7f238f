"""Saved files under attack: writes cut off, hostile files and folders, 10,000 damaged histories.

``python -m benchmarks.saved_files`` says how many of 200 cut-off writes of each kind of file lost
what was saved before; which hostile files and folders made the collector, a review, a check, a
record or a lab fail, write over something or take long; and what reading each damaged history did.
Ends with 1 where one promise is broken. As root, ``--as-anybody`` does it all as a plain user.
"""

from __future__ import annotations

import argparse
import copy
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
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import workbench as wb
from benchmarks.histories import histories
from tests.lesson import test_hostile_files as hostile
from workbench import cli, script
from workbench.diag import Fail
from workbench.history.file import parsed
from workbench.ir import IRModule, PrimFunc
from workbench.widgets.keep.saved import kept

CUTS = 200
NOBODY = 65534
DAMAGED = 10_000
LIMIT = 2.0  # seconds of the processor that reading one may take

# --- writes that are cut off ----------------------------------------------------------------------


def _window() -> wb.Schedule:
    return next(sch for name, sch in histories() if name.startswith("window"))


def _autosave(path: Path, more: bool) -> None:
    sch = _window().fork()
    if more:
        sch.goto(0)
        sch.split("i", factors=[None, 8])
    kept(path, sch.history).write(sch)


def _save(path: Path, more: bool) -> None:
    sch = _window()
    if more:
        sch.goto(0)
        sch.split("i", factors=[None, 8])
    sch.save(path)


def _page(path: Path, more: bool) -> None:
    sch = wb.Schedule(next(histories())[1].history.root.mod)
    if more:
        sch.split("i", factors=[None, 8])
    wb.lab(sch).to_html(path)


def _lesson(path: Path, more: bool) -> None:
    if more:
        list(cli.copy_lessons(path.parent))


WRITERS: dict[str, tuple[str, Callable[[Path, bool], None]]] = {
    "autosave": ("lab.json", _autosave),
    "save": ("schedule.json", _save),
    "to_html": ("page.html", _page),
    "lesson": ("01_vector_add.ipynb", _lesson),
}


def cut_off(kind: str, folder: Path, cuts: int, seed: int, killed: bool) -> list[str]:
    """What was lost in each of `cuts` writes that the system cut off at a random byte.

    The limit on a file's size ends a write at that byte: with an error, as a full disk does, or,
    with `killed`, with the process.
    """
    choose = random.Random(seed)
    name, write = WRITERS[kind]
    path = folder / name
    write(path, True)
    whole = path.read_bytes()
    path.unlink()
    write(path, False)
    before = path.read_bytes() if path.exists() else None
    found = []
    for _ in range(cuts):
        limit = choose.randrange(len(whole))
        _in_child(partial(write, path, True), limit, killed)
        now = path.read_bytes() if path.exists() else None
        found.append("" if now == before else f"cut at byte {limit}, it holds something else")
    write(path, True)
    if path.read_bytes() != whole or list(folder.rglob("*.part")):
        found[-1] = "the next write did not put all right"
    return found


def _in_child(act: Callable[[], None], limit: int, killed: bool) -> None:
    """Do `act` in another process, where no file may become longer than `limit` bytes."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if killed else signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        act()
    finally:
        os._exit(0)


# --- hostile files and folders --------------------------------------------------------------------


def tried_hostile(folder: Path) -> tuple[list[tuple[float, str]], list[str]]:
    """Each kind of file with the seconds of the processor that all uses of it took; the failures.

    The kinds are those of the tests, which also say what must hold.
    """
    taken, wrong = [], []
    kinds: list[tuple[Callable[[str, Path], None], str]] = [
        *((hostile.try_text, name) for name in hostile.TEXTS),
        *((hostile.try_file, name) for name in hostile.FILES),
    ]
    for number, (use, name) in enumerate(kinds):
        start = time.process_time()
        try:
            use(name, folder / str(number))
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}"[:200])
        taken.append((time.process_time() - start, name))
    return sorted(taken, reverse=True), wrong


def become_anybody() -> None:
    """Go on as a user without rights, with what will be needed loaded: it may be closed to them."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, write in WRITERS.values():
            write(place / name, True)
        hostile.try_text("no_steps: undo", place / "hostile")
        text = saved_texts()[0]
        read_damaged(text.encode(), text, place / "lab.json")
        multiprocessing.Pool(1).terminate()
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


# --- histories that are damaged -------------------------------------------------------------------

_ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 3, 7, 2**31, 2**63, 10**18, 10**400, -(10**400), 1.5, -0.0),
    *(
        float("nan"),
        float("inf"),
        "",
        "i",
        "C",
        "0",
        "main",
        "\0",
        "\ud800",
        "é" * 200,
        "x" * 10_000,
    ),
    *(
        "__import__('os').system('touch RAN')",
        "{}",
        "<script>",
        "../../x",
        "blockIdx.x",
        "T.float32",
    ),
    *(
        [],
        {},
        [[]],
        [None],
        {"kind": "loop"},
        {"kind": "block"},
        "lambda i: (i,)",
        "global",
        "local",
    ),
]


def damaged(seed: int, text: str) -> bytes:
    """The saved history `text` with a few faults, of the text or of the data in it."""
    choose = random.Random(seed)
    kind = choose.randrange(6)
    if kind == 0:
        return _bytes_changed(text.encode(), choose)
    data = json.loads(text)
    for _ in range(choose.choice((1, 1, 1, 2, 5, 20))):
        _data_changed(data, choose)
    if kind == 1:
        data["program"] = _text_changed(str(data.get("program")), choose)
    raw = json.dumps(data).encode()
    if kind == 2:
        number = choose.choice((b"1" * 10_000, b"1e999", b"[" * 3000 + b"]" * 3000))
        raw = raw.replace(choose.choice((b" 0", b" 1", b" 2", b" 8")), b" " + number, 1)
    return raw


def _bytes_changed(raw: bytes, choose: random.Random) -> bytes:
    at, end = sorted(choose.randrange(len(raw) + 1) for _ in range(2))
    middle = (b"", raw[at:end] * 2, choose.randbytes(3), b"\0", b"\xed\xa0\x80", b'"', b"[" * 5000)
    return raw[:at] + choose.choice(middle) + raw[choose.choice((at, at + 1, end)) :]


def _text_changed(text: str, choose: random.Random) -> str:
    rows = text.splitlines() or [""]
    row = choose.randrange(len(rows))
    other = rows[choose.randrange(len(rows))]
    words = rows[row].split(" ")
    words[choose.randrange(len(words))] = str(choose.choice(_ODD))
    rows[row] = choose.choice((" ".join(words), other, "", rows[row] + " " + other.strip()))
    return "\n".join(rows)


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in `data` with each key in it."""
    if not isinstance(data, (dict, list)) or not data:
        return
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        yield from _places(data[key])


def _data_changed(data: dict[str, Any], choose: random.Random) -> None:
    places = list(_places(data))
    if not places:
        return
    inside, key = choose.choice(places)
    other, name = choose.choice(places)
    act = choose.randrange(5)
    if act == 0:
        del inside[key]
    elif act == 1:
        inside[key] = copy.deepcopy(other[name])
    elif act == 2 and isinstance(inside, list):
        inside.insert(key, copy.deepcopy(inside[key]))
    elif act == 3 and type(inside[key]) is int:
        inside[key] += choose.choice((-1, 1, 10, 10**6))
    else:
        inside[key] = copy.deepcopy(choose.choice(_ODD))


def saved_texts() -> list[str]:
    """The histories of the lessons as they are saved."""
    texts = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (_, sch) in enumerate(histories()):
            path = Path(folder) / f"{number}.json"
            sch.save(path)
            texts.append(path.read_text())
    return texts


def read_damaged(raw: bytes, text: str, path: Path) -> tuple[str, float]:
    """What came of loading the file, and of a lab that keeps steps in it; the longer of the times.

    `text` is the history that was damaged: the lab is of its program.
    """
    path.write_bytes(raw)
    start = time.process_time()
    try:
        wb.load(path)
        told = "read"
    except Fail as fail:
        told = "refused" if fail.headline else "refused without a word"
    except BaseException as error:
        told = f"{type(error).__name__}: {error}"[:120]
    loaded = time.process_time()
    try:
        wrong = _keep_in(path, script.parse(json.loads(text)["program"]))
    except BaseException as error:
        wrong = f"a lab: {type(error).__name__}: {error}"[:120]
    return wrong or told, max(loaded - start, time.process_time() - loaded)


def _keep_in(path: Path, program: PrimFunc | IRModule) -> str:
    """Take up what the file offers and write it again; says what is wrong with that."""
    raw = path.read_bytes()
    before = _histories_in(raw)
    sch = wb.Schedule(program)
    file = kept(path, sch.history)
    file.write(sch)  # while the offer stands
    offer = file.offer(sch.history)
    steps = len(sch.history)
    file.take_up(sch)
    if len(sch.history) > steps and f" {len(sch.history) - steps} step" not in (offer or ""):
        return f"{offer} gave {len(sch.history) - steps}"
    file.write(sch)
    if before is None:
        return "" if path.read_bytes() == raw else "what is not ours was written over"
    after = _histories_in(path.read_bytes())
    return "" if after is not None and before <= after else "steps were lost"


def _histories_in(raw: bytes) -> set[tuple[str, ...]] | None:
    """Every way from a start to a step that a file holds; None where it is not ours."""
    try:
        data = parsed(raw) or {}
    except Fail:
        return None
    ways: set[tuple[str, ...]] = set()
    for part in [data, *data.get("others", [])] if data else []:
        found: list[tuple[str, ...]] = [(part["program"],)]
        for node in part["nodes"]:
            found.append((*found[node["parent"]], json.dumps(node["step"], sort_keys=True)))
        ways.update(found[1:])
    return ways


def _one(job: tuple[int, list[str], str]) -> tuple[int, str, float]:
    seed, texts, folder = job
    work = Path(folder) / f"{seed}"
    work.mkdir()
    os.chdir(work)
    text = random.Random(seed).choice(texts)
    told, seconds = read_damaged(damaged(seed, text), text, work / "lab.json")
    ran = [name for name in os.listdir(work) if not name.endswith(".json")]
    return seed, f"it left {ran}" if ran else told, seconds


def main() -> int:
    """Measure, print, and say by the exit status whether all promises hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=CUTS)
    parser.add_argument("--damaged", type=int, default=DAMAGED)
    parser.add_argument("--as-anybody", action="store_true", help="as a plain user; asked by root")
    options = parser.parse_args()
    if options.as_anybody:
        become_anybody()
    lost = 0
    for kind in WRITERS:
        for killed in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                found = cut_off(kind, Path(folder), options.cuts, seed=7, killed=killed)
            bad = [text for text in found if text]
            lost += len(bad)
            how = "killed" if killed else "full disk"
            print(f"{kind}, {how}: {len(found)} writes cut off, {len(bad)} lost something", bad[:3])
    with tempfile.TemporaryDirectory() as folder:
        taken, failed = tried_hostile(Path(folder))
    print(f"{len(taken)} hostile files and folders: {len(failed)} not as they must be", *failed[:5])
    print(f"slowest, all uses together: {[(round(s, 2), name) for s, name in taken[:3]]} s")
    texts = saved_texts()
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool(2) as pool:
        jobs = ((seed, texts, folder) for seed in range(options.damaged))
        found = list(pool.imap_unordered(_one, jobs, chunksize=50))
    counts = Counter(told for _, told, _ in found)
    slow = sorted(((seconds, seed) for seed, _, seconds in found), reverse=True)
    wrong = [(seed, told) for seed, told, _ in found if told not in ("read", "refused")]
    print(f"{len(found)} damaged histories: {dict(counts.most_common(12))}")
    print(f"slowest: {[(round(s, 2), seed) for s, seed in slow[:5]]} s")
    print(*wrong[:20], sep="\n")
    return 1 if lost or failed or wrong or slow[0][0] > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
