"""``python -m workbench.lesson.collect FOLDER``: the answers and points of a class, as CSV.

FOLDER holds a folder for each learner, with the notebooks that were handed in; where my-work
lies beside them, what it has counts. Nothing in them is run, and no link is followed out of a
learner's folder. What cannot be read, or cannot be, is left out and told on standard error, and the
exit status is 1 then.
"""

from __future__ import annotations

import argparse
import csv
import errno
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from workbench.history.file import contents, stays_in_folder
from workbench.lesson.questions import LESSONS
from workbench.lesson.quizzes import QUIZZES
from workbench.lesson.record import WORK
from workbench.lesson.review import (
    MIME,
    Answer,
    Review,
    answered,
    is_score_of,
    printable,
    reviewed,
)

_NOTEBOOK = 64 << 20  # bytes: one may hold pictures, and labs as they were saved
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
    for why in faults:
        print(f"left out of {printable(why)}", file=sys.stderr)
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
    text = printable(text)
    return f"'{text}" if text[:1] in tuple("=+-@") else text


def reviews(folder: Path, faults: list[str]) -> Iterator[tuple[str, Review]]:
    """What was done in each lesson, by learner: the path of the folder of the notebooks.

    Files that cannot be read, and why, are added to `faults`.
    """
    for place in sorted(_places(folder, faults)):
        for lesson in LESSONS:
            try:
                found = reviewed(lesson, place)
                faults += found.left_out
                if not found.rows:
                    found = _in_notebook(place / f"{lesson}.ipynb", lesson, faults)
            except Exception as error:  # whatever one learner's files do, the others' are read
                faults.append(f"{place}: {lesson} can't be read: {type(error).__name__}: {error}")
                continue
            if found.rows:
                yield place.relative_to(folder).as_posix(), found


def _places(folder: Path, faults: list[str]) -> Iterator[Path]:
    """The folders in which notebooks or what labs kept lie."""

    def tell(error: OSError) -> None:
        faults.append(f"{error.filename}: {error.strerror}")

    for name, folders, files in os.walk(folder, onerror=tell):
        place = Path(name)
        if ".ipynb_checkpoints" in place.parts:
            continue
        work = place / WORK
        if WORK in folders and work.is_symlink():
            faults.append(f"{work}: it is a link")
        elif WORK in folders or any(file.endswith(".ipynb") for file in files):
            yield place


def _in_notebook(path: Path, lesson: str, faults: list[str]) -> Review:
    """The review that the notebook's last cells showed; an empty one where there is none."""
    try:
        if not stays_in_folder(path):
            raise OSError(errno.EINVAL, "it is a link that leads out of the folder")
        for cell in json.loads(contents(path, _NOTEBOOK).decode("utf-8-sig"))["cells"]:
            for output in cell.get("outputs", ()):
                found = output.get("data", {}).get(MIME)
                if found and found["lesson"] == lesson:
                    return _read(found)
    except FileNotFoundError:  # not every lesson is handed in
        pass
    except OSError as error:
        faults.append(f"{path}: {error.strerror or error}")
    except UnicodeDecodeError:
        faults.append(f"{path}: it is no text")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        faults.append(f"{path}: it is no notebook of ours ({error})")  # it may hold anything
    return Review(lesson)


def _read(data: Mapping[str, Any]) -> Review:
    answers = tuple(map(_answer, data["answers"]))
    points = {str(key): (n, of) for key, (n, of) in data["points"].items()}
    for key, (n, of) in points.items():
        if not is_score_of(data["lesson"], key, {"points": n, "of": of}):
            raise ValueError(f"there cannot be such points of {key!r}")
    return Review(data["lesson"], answers, points)


def _answer(data: Mapping[str, Any]) -> Answer:
    """An answer as the notebook shows it; of a quiz, whether it is right is worked out anew."""
    answer = Answer(**data)
    texts = (answer.where, answer.question, answer.answer, answer.truth)
    if not all(isinstance(one, str) for one in texts):
        raise TypeError("an answer in it is no text")
    if not (answer.right is None or isinstance(answer.right, bool)):
        raise TypeError("whether an answer is right is told by no true or false")
    if answer.where == "lab":
        return answer
    key = answer.where.removeprefix("quiz ")
    name = key.rpartition(" ")[0]
    lesson = QUIZZES[name].lesson if name in QUIZZES else ""
    found = answered(lesson, key, {"answer": answer.answer})
    if found is None:
        raise ValueError(f"there is no such answer to {key!r}")
    return found


if __name__ == "__main__":
    sys.exit(main())
