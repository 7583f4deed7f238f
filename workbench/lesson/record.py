"""What a learner did in a lesson, kept beside the notebook: first answers and points."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.diag import Fail
from workbench.history.file import contents, stays_in_folder
from workbench.history.write_whole import replacing

FORMAT = "workbench record 1"
WORK = "my-work"  # the folder that labs keep their steps in, too
PARTS = ("quiz", "points", "curves", "guesses")
_MOST = 9  # files beside one that is left as it is


def file_of(lesson: str, folder: Path | None = None) -> Path:
    """Where the record of a lesson lies; `folder` holds the notebook (default: where one is)."""
    return (folder or Path.cwd()) / WORK / f"{lesson}_record.json"


def read(file: Path) -> dict[str, dict[str, Any]]:
    """The record in `file`, or beside it: its `PARTS`, which may hold anything.

    Empty where there is none.
    """
    return look(file)[0]


def look(file: Path) -> tuple[dict[str, dict[str, Any]], str]:
    """The record, as `read`, and why that in `file` cannot be read; "" where it can."""
    _, data, why = _in_use(file)
    return {name: data.get(name, {}) for name in PARTS}, why


def is_score(part: object) -> bool:
    """Whether `part` tells whole points, from 0 to those that there are."""
    if not isinstance(part, dict) or not all(type(part.get(k)) is int for k in ("points", "of")):
        return False
    return bool(0 <= part["points"] <= part["of"])


def note(file: Path, part: str, key: str, value: Mapping[str, Any], *, first: bool = False) -> str:
    """Keep `value` under `key` of a part, in place of what is there; not so where `first`.

    Returns what is to be told: where `file` can't be read, what is kept lies beside it. Raises
    OSError where the file cannot be written.
    """
    chosen, _, why = _in_use(file)
    with replacing(chosen) as replace:
        data, wrong = _load(chosen)
        if wrong:
            raise OSError(errno.EEXIST, f"{chosen.name} is left as it is ({wrong})", str(chosen))
        kept = {"format": FORMAT, **{name: {} for name in PARTS}, **data}
        if not (first and key in kept[part]):
            kept[part] = {**kept[part], key: dict(value)}
        replace(_text(kept) + "\n")
    return f"{file.name} is left as it is ({why}); this is kept in {chosen.name}." if why else ""


def keep_points(lesson: str, key: str, points: int, of: int) -> str:
    """Keep the most points of an exercise where the lesson has its folder.

    Returns what is to be told of that: where they could not be kept, or not there.
    """
    file = file_of(lesson)
    try:
        if not file.parent.is_dir():
            return ""
        before: Any = read(file)["points"].get(key)
        most = before["points"] if is_score(before) else 0
        return note(file, "points", key, {"points": max(points, most), "of": of})
    except (OSError, Fail) as error:  # a grader's folder may be closed
        why = getattr(error, "strerror", "") or str(error)
        return f"The points could not be kept: {why}."


def _in_use(file: Path) -> tuple[Path, dict[str, Any], str]:
    """The first of `file` and those beside it that can be read, or that there is not yet.

    With what it holds, and why `file` can't be read. What cannot be read stays as it is: it may be
    a learner's own, or a newer workbench's.
    """
    data, why = _load(file)
    chosen, wrong = file, why
    for k in range(2, _MOST + 1):
        if not wrong:
            break
        chosen = file.with_stem(f"{file.stem}.kept-{k}")
        data, wrong = _load(chosen)
    return (file, {}, why) if wrong else (chosen, data, why)


def _text(kept: Mapping[str, Any]) -> str:
    """As JSON, in letters that people read; in escapes where it holds half a letter."""
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(kept, indent=1)
    return text


def _load(file: Path) -> tuple[dict[str, Any], str]:
    """All that the record in `file` holds, with what is not ours, and why it can't be read."""
    try:
        if not stays_in_folder(file):
            return {}, "it is a link that leads out of the folder"
        data = json.loads(contents(file).decode("utf-8-sig"))  # some editors put a mark in front
        json.dumps(data).encode()  # nested no deeper than it can be written again
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"it cannot be read: {error.strerror or error}"
    except (ValueError, RecursionError):
        return {}, "it is not JSON text"
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return {}, f"it is no {FORMAT!r}"
    wrong = [name for name in PARTS if not isinstance(data.get(name, {}), dict)]
    return ({}, f"{wrong[0]!r} in it is no table") if wrong else (data, "")
