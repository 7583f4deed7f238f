"""What a learner did in a lesson, kept beside the notebook: first answers and points."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.history.write_whole import replacing

FORMAT = "workbench record 1"
WORK = "my-work"  # the folder that labs keep their steps in, too


def file_of(lesson: str, folder: Path | None = None) -> Path:
    """Where the record of a lesson lies; `folder` holds the notebook (default: where one is)."""
    return (folder or Path.cwd()) / WORK / f"{lesson}_record.json"


def read(file: Path) -> dict[str, dict[str, Any]]:
    """The record in `file`: its "quiz" and its "points". Empty where there is none to read.

    Points that there cannot be are left out.
    """
    made: dict[str, dict[str, Any]] = {"quiz": {}, "points": {}}
    with suppress(OSError, ValueError):
        data = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(data, dict) and data.get("format") == FORMAT:
            parts = {name: data.get(name) for name in made}
            made |= {k: v for k, v in parts.items() if isinstance(v, dict)}
    made["points"] = {key: part for key, part in made["points"].items() if is_score(part)}
    return made


def is_score(part: object) -> bool:
    """Whether `part` tells whole points, from 0 to those that there are."""
    if not isinstance(part, dict) or not all(type(part.get(k)) is int for k in ("points", "of")):
        return False
    return bool(0 <= part["points"] <= part["of"])


def fault(file: Path) -> str:
    """Why the record in `file`, or a part of it, cannot be read; "" where it can."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"it cannot be read: {error}"
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return f"it is no {FORMAT!r}"
    points = data.get("points")
    wrong = [k for k, v in points.items() if not is_score(v)] if isinstance(points, dict) else []
    return f"there cannot be such points of {wrong[0]!r}" if wrong else ""


def note(file: Path, part: str, key: str, value: Mapping[str, Any], *, first: bool = False) -> None:
    """Keep `value` under `key` of a part, in place of what is there; not so where `first`.

    Raises OSError where the file cannot be written.
    """
    with replacing(file) as replace:
        kept = read(file)
        if not (first and key in kept[part]):
            kept[part][key] = dict(value)
        replace(json.dumps({"format": FORMAT, **kept}, indent=1, ensure_ascii=False) + "\n")
