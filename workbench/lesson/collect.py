"""``python -m workbench.lesson.collect FOLDER``: the answers and points of a class, as CSV.

FOLDER holds a folder for each learner, with the notebooks that were handed in; where my-work
lies beside them, what it has counts. Nothing in them is run. What cannot be read is told on
standard error, and the exit status is 1 then.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from workbench.lesson import record
from workbench.lesson.questions import LESSONS
from workbench.lesson.record import WORK
from workbench.lesson.review import MIME, Answer, Review, review

HEAD = ("learner", "lesson", "where", "question", "answer", "right", "points", "of")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the CSV to standard output; the exit status."""
    parser = argparse.ArgumentParser(prog="workbench.lesson.collect", description=__doc__)
    parser.add_argument("folder", type=Path, help="holds a folder for each learner")
    folder = parser.parse_args(arguments).folder
    if not folder.is_dir():
        print(f"{folder} is no folder", file=sys.stderr)
        return 1
    faults = write(folder, sys.stdout)
    print(*faults, sep="\n", end="\n" * bool(faults), file=sys.stderr)
    return 1 if faults else 0


def write(folder: Path, to: TextIO) -> list[str]:
    """A line for each first answer and for each exercise of every learner; what was left out."""
    out = csv.writer(to, lineterminator="\n")
    out.writerow(HEAD)
    faults: list[str] = []
    for name, found in reviews(folder, faults):
        learner = _cell(name)
        for a in found.answers:
            right = "" if a.right is None else "yes" if a.right else "no"
            cells = map(_cell, (a.where, a.question, a.answer))
            out.writerow((learner, found.lesson, *cells, right, "", ""))
        for key, (points, of) in found.points.items():
            out.writerow((learner, found.lesson, "exercise", _cell(key), "", "", points, of))
    return faults


def _cell(text: str) -> str:
    """A learner's text as text: spreadsheets run what begins like a formula."""
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") else text


def reviews(folder: Path, faults: list[str]) -> Iterator[tuple[str, Review]]:
    """What was done in each lesson, by learner: the path of the folder of the notebooks.

    Files that cannot be read, and why, are added to `faults`.
    """
    notebooks = {path.parent for path in folder.rglob("*.ipynb")}
    kept = {path.parent for path in folder.rglob(WORK) if path.is_dir()}
    hidden = {p for p in notebooks | kept if ".ipynb_checkpoints" in p.parts}
    for place in sorted((notebooks | kept) - hidden):
        for lesson in LESSONS:
            file = record.file_of(lesson, place)
            if why := record.fault(file):
                faults.append(f"left out of {file}: {why}")
            found = review(lesson, place)
            if not found.rows:
                found = _in_notebook(place / f"{lesson}.ipynb", lesson, faults)
            if found.rows:
                yield place.relative_to(folder).as_posix(), found


def _in_notebook(path: Path, lesson: str, faults: list[str]) -> Review:
    """The review that the notebook's last cells showed; an empty one where there is none."""
    try:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                found = output.get("data", {}).get(MIME)
                if found and found["lesson"] == lesson:
                    return _read(found)
    except FileNotFoundError:  # not every lesson is handed in
        pass
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:  # may hold anything
        faults.append(f"left out {path}: it cannot be read: {error!r}")
    return Review(lesson)


def _read(data: Mapping[str, Any]) -> Review:
    answers = tuple(Answer(**answer) for answer in data["answers"])
    points = {str(key): (n, of) for key, (n, of) in data["points"].items()}
    for key, (n, of) in points.items():
        if not record.is_score({"points": n, "of": of}):
            raise ValueError(f"there cannot be such points of {key!r}")
    return Review(data["lesson"], answers, points)


if __name__ == "__main__":
    sys.exit(main())
