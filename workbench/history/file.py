"""Saved schedules: a program's text and the tree of steps on it, as JSON that holds only data."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from reprlib import repr as short
from typing import Any

from workbench.history.errors import ScheduleError
from workbench.history.history import History, HistoryNode
from workbench.history.step import Ref, Step, Value
from workbench.history.trace import Trace
from workbench.history.write_whole import replacing
from workbench.ir import Entries, is_data, is_text

FORMAT = "workbench-schedule"
VERSION = 1
OF_A_HISTORY = ("program", "mark", "also", "nodes", "at", "answers")

# What reading damaged data raises.
DAMAGE = (AttributeError, IndexError, KeyError, MemoryError, RecursionError, TypeError, ValueError)


def to_data(history: History, at: HistoryNode) -> dict[str, Any]:
    """A whole history, and where in it a schedule stands, as data that JSON can hold."""
    return _to_data(history, list(history), at, history.answers)


def path_to_data(at: HistoryNode) -> dict[str, Any]:
    """The steps that lead to `at`, and nothing else of its history, as `to_data` tells them."""
    return _to_data(at.history, at.path(), at, {})


def _to_data(
    history: History, kept: Sequence[HistoryNode], at: HistoryNode, answers: Mapping[str, str]
) -> dict[str, Any]:
    number = {node: k for k, node in enumerate(kept)}
    nodes = [
        {
            "parent": number[node.parent],
            **marks_to_data(node.marks),
            "step": step_to_data(node.step),
        }
        for node in kept
        if node.parent and node.step
    ]
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": history.text,
        **marks_to_data(history.root.marks),
        "nodes": nodes,  # in the order of their numbers, from 1
        "at": number[at],
        "answers": dict(answers),
    }


def marks_to_data(marks: Sequence[str]) -> dict[str, Any]:
    """The marks of a program as data that JSON can hold: most have one, or none."""
    first, *also = marks or ("",)
    return {"mark": first, "also": also} if also else {"mark": first}


def marks_of(data: Mapping[str, Any]) -> list[str]:
    """The marks that `marks_to_data` told of a program."""
    return [mark for mark in (data["mark"], *data.get("also", ())) if mark]


def save(history: History, at: HistoryNode, path: str | Path) -> None:
    """Write a whole history, and where in it a schedule stands, to `path`, whole or not at all.

    Raises NotWritten, an OSError, where that fails; ScheduleError where `path` holds something
    else than a saved schedule, which then stays as it is.
    """
    with replacing(path) as replace:
        try:
            parsed(contents(path))
        except FileNotFoundError:
            pass
        except ScheduleError as error:
            raise ScheduleError(
                f"Can't save to {Path(path).name}: it holds something else",
                detail=error.headline,
                hint="give another path, or delete that file",
            ) from None
        replace(as_text(to_data(history, at)))


def as_text(data: Mapping[str, Any]) -> str:
    """`data` of histories as JSON text, with a line for each step."""
    parts = []
    for name, value in data.items():
        rows = [json.dumps(row) for row in value] if name in ("nodes", "others") else []
        text = "[\n  " + ",\n  ".join(rows) + "\n ]" if rows else json.dumps(value)
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


LARGEST = 16 << 20  # bytes, read in a second; a history of 10,000 steps has some 2 MB


def stays_in_folder(path: Path) -> bool:
    """Whether `path` is no link that leads out of its folder."""
    return os.path.dirname(os.path.realpath(path)) == os.path.realpath(path.parent)


def contents(path: str | Path, most: int = LARGEST) -> bytes:
    """The bytes of the file `path`.

    Raises OSError where it cannot be read, also for what can be no path, for a device, which may
    have no end, and for a file of more than `most` bytes.
    """
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise OSError(errno.EINVAL, "it is a device, no file", str(path))
        if found.st_size > most:
            raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes", str(path))
        return Path(path).read_bytes()
    except (TypeError, ValueError) as error:
        raise OSError(errno.EINVAL, f"it is no path: {error}") from None


def parsed(raw: bytes) -> dict[str, Any] | None:
    """What `raw`, a file's bytes, tells of histories; None where there are none.

    `others` are histories of other programs that the file keeps. Every step is read, none taken.
    Raises ScheduleError where `raw` is anything else than what this version writes.
    """
    if not raw.strip():
        return None
    try:
        data = json.loads(raw.decode("utf-8-sig"))  # some editors put a mark in front
    except (ValueError, RecursionError):  # a number may be too long to be read, too
        raise bad_file("it is not JSON text") from None
    return checked(data)


def checked(data: object) -> dict[str, Any]:
    """`data` if it is what `to_data` tells; raises ScheduleError for all else."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise bad_file("it is not a saved schedule")
    version = data.get("version")
    if version != VERSION:
        said = f"version {version}" if isinstance(version, int) else "a version that is no number"
        raise bad_file(f"it has {said}, this workbench reads {VERSION}")
    try:
        histories = [data, *data.get("others", ())]
        for history in histories:
            _check_history(history)
        if len({history["program"] for history in histories}) < len(histories):
            raise ValueError("a program is in it twice")
        as_text(not_ours(data))  # nested no deeper than it can be written again
    except DAMAGE as error:
        raise damaged(error) from None
    return data


def not_ours(data: Mapping[str, Any]) -> dict[str, Any]:
    """What the data of a file holds besides histories: it stays there."""
    ours = ("format", "version", "others", *OF_A_HISTORY)
    return {name: value for name, value in data.items() if name not in ours}


LAST = 500  # steps: a second or two of the largest programs of the lessons


def latest(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `checked` data of a history with its last steps, `LAST` of them, and their numbers anew.

    All those that lead to where it stood are among them, however many these are.
    """
    nodes, kept = data["nodes"], {0}

    def way(number: int) -> list[int]:
        found = []
        while number not in kept:
            found.append(number)
            number = nodes[number - 1]["parent"]
        return found

    kept.update(way(data["at"]))
    for number in range(len(nodes), 0, -1):
        more = way(number)
        if len(kept) + len(more) > LAST + 1:
            break
        kept.update(more)
    made = {number: k for k, number in enumerate(sorted(kept))}
    own = [{**nodes[k - 1], "parent": made[nodes[k - 1]["parent"]]} for k in made if k]
    return {**data, "nodes": own, "at": made[data["at"]]}


def _check_history(data: Mapping[str, Any]) -> None:
    text_of(data["program"])
    _check_marks(data)
    for number, node in enumerate(data["nodes"]):
        if count_of(node["parent"]) > number:
            raise ValueError(f"step {number + 1} is made from step {node['parent']}")
        _check_marks(node)
        step_from_data(node["step"])
    if count_of(data["at"]) > len(data["nodes"]):
        raise ValueError(f"it stands at step {data['at']} of {len(data['nodes'])}")
    for name, answer in data["answers"].items():
        text_of(name), text_of(answer)


def _check_marks(data: Mapping[str, Any]) -> None:
    for mark in (data["mark"], *data.get("also", ())):
        text_of(mark)


def trace_to_data(trace: Trace) -> list[dict[str, Any]]:
    """The steps of `trace` as data that JSON can hold."""
    return [step_to_data(s) | {k: _value_to_data(getattr(s, k)) for k in _NOTES} for s in trace]


def trace_from_data(data: object) -> Trace:
    """The trace that `trace_to_data` told. Raises ScheduleError where `data` is none."""
    try:
        if not isinstance(data, list):
            raise TypeError("no list of steps")
        return Trace(tuple(replace(step_from_data(step), **_notes(step)) for step in data))
    except DAMAGE as error:
        raise damaged(error) from None


_NOTES = ("made", "single", "alone")  # what Python is written by, besides the call itself


def _notes(data: dict[str, Any]) -> dict[str, Any]:
    """The fields of a step in `_NOTES`, as far as `data` has them."""
    made = {"made": tuple(text_of(name) for name in data["made"])} if "made" in data else {}
    return made | {k: data[k] is True for k in _NOTES[1:] if k in data}


def step_to_data(step: Step) -> dict[str, Any]:
    """One step as data that JSON can hold."""
    return {
        "verb": step.verb,
        "args": [_value_to_data(v) for v in step.args],
        "kwargs": {name: _value_to_data(v) for name, v in step.kwargs},
        "func": step.func,
    }


def step_from_data(data: Any) -> Step:
    """The step that `step_to_data` told. Raises KeyError, TypeError or ValueError for others."""
    args = tuple(_value_from_data(v) for v in data["args"])
    kwargs = tuple((text_of(k), _value_from_data(v)) for k, v in data["kwargs"].items())
    return Step(text_of(data["verb"]), args, kwargs, text_of(data["func"]))


def _value_to_data(value: Value) -> Any:
    if isinstance(value, Ref):
        return {f.name: _value_to_data(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Entries):  # not a bare dictionary, which is a reference
        return {"entries": {key: _value_to_data(v) for key, v in value.pairs}}
    return [_value_to_data(v) for v in value] if isinstance(value, tuple) else value


def _value_from_data(data: Any) -> Value:
    if isinstance(data, dict):
        if data.keys() == {"entries"}:
            return _entries_from_data(data["entries"])
        return _ref_from_data(data)
    if isinstance(data, list):
        return tuple(_value_from_data(v) for v in data)
    if isinstance(data, str):
        return text_of(data)
    if data is None or is_data(data):
        return data
    raise TypeError(f"{data!r} where a value should be")


def _entries_from_data(data: dict[str, Any]) -> Entries:
    entries = Entries.of({key: _value_from_data(value) for key, value in data.items()})
    if not is_data(entries):
        raise TypeError(f"{short(data)} where a dictionary of plain data should be")
    return entries


def _ref_from_data(data: dict[str, Any]) -> Ref:
    kind = data["kind"]
    if kind not in ("loop", "block"):
        raise ValueError(f"a reference to a {kind!r}")
    numbers = {k: None if data[k] is None else count_of(data[k]) for k in ("out", "nth", "index")}
    of = None if data["of"] is None else _ref_from_data(data["of"])
    if of is not None and (kind == "block" or of.kind == "loop" or of.step > data["step"]):
        raise ValueError("only a loop is told by a block, one that is there")
    return Ref(
        kind,
        count_of(data["step"]),
        of=of,
        block=text_of(data["block"]),
        name=text_of(data["name"]),
        nest=tuple(text_of(name) for name in data["nest"]),
        **numbers,
    )


def text_of(value: Any) -> str:
    """`value` if it is a text that can be shown; else raises TypeError or ValueError."""
    if not isinstance(value, str):
        raise TypeError(f"{short(value)} where a text should be")
    if not is_text(value):
        raise ValueError(f"{short(value)} holds what is no character")
    return value


def count_of(value: Any) -> int:
    """`value` if it is a count; else raises TypeError."""
    if type(value) is not int or value < 0:
        raise TypeError(f"{short(value)} where a count should be")
    return value


def bad_file(why: str) -> ScheduleError:
    """The error for a file that is not what `save` writes."""
    return ScheduleError(
        f"Can't load this schedule: {why}"[:119], hint="pass a file that sch.save(path) wrote"
    )


def damaged(error: Exception) -> ScheduleError:
    """The error for a file in which reading found `error`."""
    first = str(error).partition("\n")[0].rstrip(".")
    return bad_file(f"part of it is missing or damaged ({first})")
