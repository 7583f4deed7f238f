"""The record of a search: a file of JSON lines that only grows, written ahead of each measurement.

The first line says what was searched, where and by what; another search does not go on in it. A
trial and its decisions are written before it is measured, its outcome after, so that a search that
is killed at any byte goes on where it was: what follows the last line's end is no line, a trial
without an outcome is measured again under its number, and a batch of which not all trials were
written is filled up first. Reading runs nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from errno import EDQUOT, EFBIG, ENOSPC
from itertools import takewhile
from pathlib import Path
from typing import Any

from workbench.diag import Fail
from workbench.history.file import DAMAGE, contents, text_of
from workbench.tuning.features import Features
from workbench.tuning.learnt import MODELLED
from workbench.tuning.space import Decisions
from workbench.tuning.trial import HOWS, STATUSES, Ended, Outcome, Refusal, Trial, checked_times

try:
    import fcntl
except ImportError:  # Windows: two searches there must not share a record
    fcntl = None  # type: ignore[assignment]

FORMAT = "workbench-tuning"
VERSION = 1
MOST_FEATURES = 100
MOST_OF_A_FEATURE = 1e30
LARGEST = 256 << 20  # bytes; 10,000 trials with all that was refused for them have some 20 MB


class RecordError(Fail, ValueError):
    """A record that cannot be read, written, or gone on with."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a record is of: nothing of it may differ where a search goes on."""

    program: str  # as text
    space: str
    target: str
    device: str
    driver: str
    compiler: str
    code: str  # version of the workbench
    strategy: str
    seed: int
    per_batch: int
    ranking: str = MODELLED  # by what candidates are, which were chosen by it


@dataclass(slots=True)
class Lines:
    """All that a record holds, by the numbers of trials; the order of its lines says nothing."""

    header: Header
    trials: dict[int, Trial] = field(default_factory=dict)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    refused: dict[Decisions, Refusal] = field(default_factory=dict)

    @property
    def ended(self) -> list[Ended]:
        """The trials with an outcome, by their numbers."""
        both = sorted(self.trials.keys() & self.outcomes.keys())
        return [Ended(self.trials[k], self.outcomes[k]) for k in both]

    def batch(self, number: int) -> list[Trial]:
        """The trials of a batch that were written, by their numbers."""
        return [self.trials[k] for k in sorted(self.trials) if self.trials[k].batch == number]

    def add(self, item: Trial | Ended | Refusal) -> None:
        """Take in what a line tells."""
        if isinstance(item, Trial):
            self.trials[item.number] = item
        elif isinstance(item, Ended):
            self.outcomes[item.trial.number] = item.outcome
        else:
            self.refused.setdefault(item.decisions, item)


# --- reading ----------------------------------------------------------------------------------


def read(path: str | Path) -> Lines:
    """What the record `path` holds; a last line that was not finished is left out.

    Raises RecordError where it is no record of this version, or damaged; OSError where it cannot
    be read.

    >>> best = wb.tune(add, target="nvidia/h200", trials=2, record="add.jsonl")
    >>> [ended.outcome.how for ended in tuning.read("add.jsonl").ended]
    ['modelled', 'modelled']
    """
    raw = contents(path, LARGEST)
    whole = raw[: raw.rfind(b"\n") + 1]
    rows = whole.split(b"\n")[:-1]
    if not rows:
        raise bad_record(path, "its first line is not finished")
    try:
        lines = Lines(_header(_object(rows[0])))
    except DAMAGE as error:
        raise bad_record(path, f"line 1: {error}") from None
    for number, row in enumerate(rows[1:], 2):
        try:
            _take(lines, _object(row))
        except DAMAGE as error:
            raise bad_record(path, f"line {number}: {error}") from None
    return lines


def bad_record(path: str | Path, why: str) -> RecordError:
    return RecordError(
        f"Can't read the record {Path(path).name}: {' '.join(why.split())}"[:119],
        hint="give another path, or take the damaged line out",
    )


def _object(row: bytes) -> dict[str, Any]:
    try:
        data = json.loads(row.decode())
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(data, dict):
        raise TypeError("it is no object")
    return data


def _header(data: dict[str, Any]) -> Header:
    if data.get("format") != FORMAT:
        raise ValueError("it is no record of a search")
    if data.get("version") != VERSION:
        raise ValueError(f"it has version {data.get('version')}, this workbench reads {VERSION}")
    numbers = ("seed", "per_batch")
    data = {"ranking": MODELLED, **data}  # a version before had no other
    told = {
        f.name: _count(data[f.name]) if f.name in numbers else text_of(data[f.name])
        for f in fields(Header)
    }
    return Header(**told)  # type: ignore[arg-type]


def _take(lines: Lines, data: dict[str, Any]) -> None:
    if "refused" in data:
        lines.add(
            Refusal(_count(data["batch"]), _decisions(data["refused"]), text_of(data["reason"]))
        )
        return
    number = _count(data["trial"])
    if "decisions" in data:
        trial = Trial(
            number,
            _count(data["batch"]),
            _count(data["of"]),
            tuple(_count(parent) for parent in data["parents"]),
            _decisions(data["decisions"]),
            text_of(data["program"]),
            _told(data["predicted"]),
            _told(data["modelled"]),
            _features(data.get("features", {})),
        )
        if lines.trials.get(number, trial) != trial:
            raise ValueError(f"trial {number} has other decisions above")
        lines.trials[number] = trial
    else:
        lines.outcomes[number] = _outcome(data)


def _outcome(data: dict[str, Any]) -> Outcome:
    status, how = data["status"], data["how"]
    if status not in STATUSES or how not in HOWS:
        raise ValueError("it has a status that is none")
    times = tuple(_seconds(seconds) for seconds in data["times"])
    if (status == "correct") != bool(times):
        raise ValueError("what is correct has times, and nothing else has")
    yardstick = data.get("yardstick")  # a version before had none
    return Outcome(status, how, times, text_of(data["reason"]), _told(yardstick))


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise TypeError("a count is none")
    return value


def _seconds(value: object) -> float:
    if type(value) not in (int, float) or checked_times((value,)):  # type: ignore[arg-type]
        raise ValueError("a time is none")
    return float(value)  # type: ignore[arg-type]


def _told(value: object) -> float | None:
    return None if value is None else _seconds(value)


def _features(value: object) -> Features:
    if not isinstance(value, dict) or len(value) > MOST_FEATURES:
        raise TypeError("features are no numbers with names")
    for number in value.values():
        if type(number) not in (int, float) or not 0 <= number <= MOST_OF_A_FEATURE:
            raise TypeError("a feature is no number")
    return tuple((text_of(name), float(number)) for name, number in value.items())


def _decisions(value: object) -> Decisions:
    if not isinstance(value, list):
        raise TypeError("decisions are no list")
    return tuple(
        tuple(_whole(factor) for factor in one) if isinstance(one, list) else _whole(one)
        for one in value
    )


def _whole(value: object) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise TypeError("a decision is no whole number")
    return value


# --- writing ----------------------------------------------------------------------------------


class Record:
    """A record that one search writes: it alone, until `close`.

    Opens `path`, or begins it, for a search of `header`. Raises RecordError where it is of another
    search, named by what differs, where another search writes it now, or it cannot be written.
    Without a path it is kept in memory alone.
    """

    def __init__(self, path: str | Path | None, header: Header) -> None:
        self._file = -1
        if path is None:
            self.lines = Lines(header)
            return
        self.path = Path(path)
        self._file = self._opened()
        try:
            self.lines = self._begun(header)
        except BaseException:
            self.close()
            raise

    def append(self, items: Iterable[Trial | Ended | Refusal]) -> None:
        """Write lines, all in one go. Raises RecordError where that fails: none is there then."""
        items = list(items)
        if self._file >= 0:
            rows = [json.dumps(_data(item)) for item in items]
            self._check(rows)
            self._write("".join(f"{row}\n" for row in rows))
        for item in items:
            self.lines.add(item)

    def close(self) -> None:
        """Let others write it."""
        if self._file >= 0:
            os.close(self._file)  # and with it goes the lock
            self._file = -1

    def _opened(self) -> int:
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except (OSError, ValueError) as error:
            raise self._not_written(error) from None
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                raise RecordError(
                    f"Can't write the record {self.path.name}: another search writes it now"[:119],
                    hint="wait until that has ended, or give this one a record of its own",
                ) from None
            except OSError:
                pass  # a file system without locks
        return file

    def _begun(self, header: Header) -> Lines:
        """What it holds already; what was not finished of a line is taken off."""
        try:
            raw = contents(self.path, LARGEST)
        except OSError as error:  # a device, or too large
            raise self._not_written(error) from None
        if b"\n" not in raw:
            start = f'{{"format": "{FORMAT}"'.encode()
            if not (raw.startswith(start) or start.startswith(raw)):
                raise bad_record(self.path, "line 1: it is no record of a search")
            os.ftruncate(self._file, 0)
            self._write(_header_row(header))
            return Lines(header)
        lines = read(self.path)
        for one in fields(Header):
            old, new = (getattr(h, one.name) for h in (lines.header, header))
            if old != new:
                raise RecordError(
                    f"Can't go on with {self.path.name}: it is of another {_called(one.name)}"[
                        :119
                    ],
                    detail=_both(old, new),
                    hint="give another path for the record, or search what it is of",
                )
        os.ftruncate(self._file, raw.rfind(b"\n") + 1)
        return lines

    def _check(self, rows: Iterable[str]) -> None:
        """That what is written can be read: else it would cost all that is there."""
        after = Lines(self.lines.header, dict(self.lines.trials))
        for row in rows:
            try:
                _take(after, json.loads(row))
            except DAMAGE as error:
                raise RecordError(
                    f"Can't write the record {self.path.name}: {error}"[:119],
                    detail=row[:200],
                    hint="what was measured is kept; give another path, or mend what measures",
                ) from None

    def _write(self, text: str) -> None:
        found = os.fstat(self._file)
        if not found.st_nlink:
            raise RecordError(
                f"Can't write the record {self.path.name}: it was deleted meanwhile"[:119],
                hint="start the search again: it begins a new one",
            )
        before = found.st_size
        rest = text.encode()
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, before)
            raise self._not_written(error) from None

    def _not_written(self, error: Exception) -> RecordError:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        full = isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT, EFBIG)
        room = "make room on the disk, or give" if full else "give"
        return RecordError(
            f"Can't write the record {self.path.name}: {why}"[:119],
            hint=f"{room} another path; what was measured is kept",
        )


def _called(name: str) -> str:
    """A field of a header in words."""
    return {"code": "version of the workbench", "per_batch": "size of batches"}.get(name, name)


def _both(old: object, new: object) -> str:
    """What both are, from shortly before they differ: long programs begin alike."""
    texts = repr(old), repr(new)
    differ = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = differ - 20 if differ > 40 else 0
    ends = [text[start:] for text in texts]
    short = ["…" * bool(start) + (end if len(end) < 60 else f"{end[:57]}…") for end in ends]
    return f"it has {short[0]}, and this search {short[1]}"


def _header_row(header: Header) -> str:
    return json.dumps({"format": FORMAT, "version": VERSION, **asdict(header)}) + "\n"


def _data(item: Trial | Ended | Refusal) -> dict[str, Any]:
    if isinstance(item, Refusal):
        return {"refused": item.decisions, "batch": item.batch, "reason": item.reason}
    if isinstance(item, Ended):
        return {"trial": item.trial.number, **asdict(item.outcome)}
    data = {**asdict(item), "features": dict(item.features)}
    return {"trial": data.pop("number"), **data}
