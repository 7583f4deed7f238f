"""What a learner did in a lesson, kept beside the notebook: first answers and points."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.schedule.write_whole import replacing

FORMAT = "workbench record 1"
WORK = "my-work"  # the folder that labs keep their steps in, too


def file_of(lesson: str, folder: Path | None = None) -> Path:
    """Where the record of a lesson lies; `folder` holds the notebook (default: where one is)."""
    return (folder or Path.cwd()) / WORK / f"{lesson}_record.json"


def read(file: Path) -> dict[str, dict[str, Any]]:
    """The record in `file`: its "quiz" and its "points". Empty where there is none to read."""
    with suppress(OSError, ValueError):
        found = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(found, dict) and found.get("format") == FORMAT:
            parts = {name: found.get(name) for name in ("quiz", "points")}
            return {k: v if isinstance(v, dict) else {} for k, v in parts.items()}
    return {"quiz": {}, "points": {}}


def note(file: Path, part: str, key: str, value: Mapping[str, Any], *, first: bool = False) -> None:
    """Keep `value` under `key` of a part, in place of what is there; not so where `first`.

    Raises OSError where the file cannot be written.
    """
    with replacing(file) as replace:
        found = read(file)
        if not (first and key in found[part]):
            found[part][key] = dict(value)
        replace(json.dumps({"format": FORMAT, **found}, indent=1, ensure_ascii=False) + "\n")
