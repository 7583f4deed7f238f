"""``python -m workbench.lesson.collect FOLDER``: the answers and points of a class, as CSV.

FOLDER holds a folder for each learner, with the notebooks that were handed in; where my-work
lies beside them, what it has counts. Nothing in them is run.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

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
    write(folder, sys.stdout)
    return 0


def write(folder: Path, to: TextIO) -> None:
    """A line for each first answer and for each exercise of every learner."""
    out = csv.writer(to, lineterminator="\n")
    out.writerow(HEAD)
    for learner, found in reviews(folder):
        for a in found.answers:
            right = "" if a.right is None else "yes" if a.right else "no"
            out.writerow((learner, found.lesson, a.where, a.question, a.answer, right, "", ""))
        for key, (points, of) in found.points.items():
            out.writerow((learner, found.lesson, "exercise", key, "", "", points, of))


def reviews(folder: Path) -> Iterator[tuple[str, Review]]:
    """What was done in each lesson, by learner: the path of the folder of the notebooks."""
    notebooks = {path.parent for path in folder.rglob("*.ipynb")}
    kept = {path.parent for path in folder.rglob(WORK) if path.is_dir()}
    hidden = {p for p in notebooks | kept if ".ipynb_checkpoints" in p.parts}
    for place in sorted((notebooks | kept) - hidden):
        for lesson in LESSONS:
            found = review(lesson, place)
            if not found.rows:
                found = _in_notebook(place / f"{lesson}.ipynb", lesson)
            if found.rows:
                yield place.relative_to(folder).as_posix(), found


def _in_notebook(path: Path, lesson: str) -> Review:
    """The review that the notebook's last cells showed; an empty one where there is none."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):  # may hold anything
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                found = output.get("data", {}).get(MIME)
                if found and found["lesson"] == lesson:
                    return _read(found)
    return Review(lesson)


def _read(data: Mapping[str, Any]) -> Review:
    answers = tuple(Answer(**answer) for answer in data["answers"])
    points = {str(key): (int(n), int(of)) for key, (n, of) in data["points"].items()}
    return Review(data["lesson"], answers, points)


if __name__ == "__main__":
    sys.exit(main())
