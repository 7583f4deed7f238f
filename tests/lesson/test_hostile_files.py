"""Files and folders as anybody may hand them in: nobody else loses a line, and nothing is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench import lesson
from workbench.lesson import collect, record
from workbench.lesson.quiz import Quiz, items
from workbench.lesson.review import MIME

LESSON = "01_vector_add"
ANNA = "anna,01_vector_add,exercise,odd_vector,,,4,4"


def a_record(**parts: object) -> str:
    return json.dumps({"format": record.FORMAT, "quiz": {}, "points": {}, **parts})


def points(key: str, made: object, of: object) -> str:
    return a_record(points={key: {"points": made, "of": of}})


def answered(answer: object, key: str = "01_end 2") -> str:
    return a_record(quiz={key: {"text": "?", "answer": answer, "right": True}})


GOOD = points("odd_vector", 4, 4)
DEEP = "[" * 20_000 + "]" * 20_000
# Texts that are no record: they stay as they are, and what is kept lies beside them.
NO_RECORD = {
    "empty": "",
    "a list": "[]",
    "a number": "3",
    "nothing": "null",
    "another object": "{}",
    "own notes": "what I did: split, bind",
    "a merge": f"<<<<<<< mine\n{GOOD}\n=======\n{GOOD}\n>>>>>>> theirs\n",
    "a part": GOOD[:-20],
    "deep": DEEP,
    "deep in a record": GOOD[:-1] + f', "notes": {DEEP}}}',
    "a later format": GOOD.replace("record 1", "record 2"),
    "points in a list": a_record(points=[3]),
    "answers in a text": a_record(quiz="01_end 2"),
    "a long number": GOOD[:-1] + ', "n": ' + "1" * 10_000 + "}",
    "binary": "\0\1\2",
}
# Records that tell what there cannot be: that is left out, the rest stays.
FORGED = {
    "1,000 of 1,000": points("odd_vector", 1000, 1000),
    "more than all": points("odd_vector", 5, 4),
    "less than none": points("odd_vector", -1, 4),
    "points as text": points("odd_vector", "4", 4),
    "true points": points("odd_vector", True, 4),
    "half points": points("odd_vector", 3.5, 4),
    "no such exercise": points("every_vector", 4, 4),
    "another lesson's": points("wide_window", 5, 5),
    "no such variant": points("odd_vector 99", 4, 4),
    "a formula": points("=1+2", 4, 4),
    "points are a list": a_record(points={"odd_vector": [4, 4]}),
    "an answer that is a number": answered(5),
    "a list": answered(["28 threads"]),
    "no choice": answered("29 threads"),
    "half a letter": answered("\ud800"),
    "no such question": answered("28 threads", "01_end 9"),
    "no such quiz": answered("28 threads", "05_end 1"),
    "question nought": answered("28 threads", "01_end 0"),
    "no number": answered("28 threads", "01_end ²"),
    "a quiz elsewhere": answered("28 threads", "02_end 1"),
    "deep answers": answered(json.loads("[" * 300 + "]" * 300)),
}


def shown(data: object) -> str:
    """A notebook whose last cell shows `data` as a review."""
    return json.dumps({"cells": [{"outputs": [{"data": {MIME: data}}]}]})


def reviewed(**changes: object) -> str:
    answer = {"where": "quiz 01_end 2", "question": "?", "answer": "28 threads", "right": True}
    return shown({"lesson": LESSON, "answers": [{**answer, **changes}], "points": {}})


NOTEBOOKS = {
    "a list": "[]",
    "cells are no list": '{"cells": 3}',
    "cells are texts": '{"cells": ["a"]}',
    "deep": DEEP,
    "no text": "\udcff",
    "answer 5": reviewed(answer=5),
    "where nothing": reviewed(where=None),
    "right maybe": reviewed(where="lab", right="maybe"),
    "no choice": reviewed(answer="\ud800"),
    "more": reviewed(more=1),
    "answers missing": shown({"lesson": LESSON}),
    "1,000 points": shown(
        {"lesson": LESSON, "answers": [], "points": {"odd_vector": [1000, 1000]}}
    ),
    "a lesson that is none": shown({"lesson": [], "answers": [], "points": {}}),
}


def put(place: Path, name: str, text: str) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    file = place / name
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    return file


def collected(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is told of a class in which Anna's work is fine: she has her line."""
    put(folder / "anna" / record.WORK, f"{LESSON}_record.json", GOOD)
    status = collect.main([str(folder)])
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines.count(ANNA) == 1
    assert all(line.startswith(("anna,", "learner,")) for line in lines), lines
    told = said.err.splitlines()
    assert status == (1 if told else 0)
    assert all(line.isprintable() and line.startswith("left out of ") for line in told)
    return told


def used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a learner does there works, whatever lies there."""
    monkeypatch.chdir(folder)
    lesson.review(LESSON)
    lesson.progress()
    exercise = lesson.exercise("odd_vector")
    float(exercise.check(exercise.schedule()))
    record.note(record.file_of(LESSON), "points", "odd_vector", {"points": 2, "of": 4})
    assert record.read(record.file_of(LESSON))["points"]["odd_vector"]["points"] == 2


@pytest.mark.parametrize("text", NO_RECORD.values(), ids=NO_RECORD)
def test_what_is_no_record_stays_as_it_is(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
):
    file = put(tmp_path / "ben" / record.WORK, f"{LESSON}_record.json", text)
    (told,) = collected(tmp_path, capsys)
    assert told.startswith(f"left out of {file}: ")
    before = file.read_bytes()
    used(tmp_path / "ben", monkeypatch)
    assert file.read_bytes() == before
    said = record.note(file, "points", "odd_vector", {"points": 3, "of": 4})
    assert said.startswith(f"{file.name} is left as it is (")
    assert said.endswith(f"); this is kept in {file.stem}.kept-2.json.")


@pytest.mark.parametrize("text", FORGED.values(), ids=FORGED)
def test_what_there_cannot_be_is_left_out(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
):
    file = put(tmp_path / "ben" / record.WORK, f"{LESSON}_record.json", text)
    (told,) = collected(tmp_path, capsys)
    assert told.startswith(f"left out of {file}: there ")
    used(tmp_path / "ben", monkeypatch)
    kept = json.loads(file.read_text())
    assert kept["quiz"] == json.loads(text)["quiz"], "nothing of it is lost"


@pytest.mark.parametrize("text", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_notebooks_may_hold_anything(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = put(tmp_path / "ben", f"{LESSON}.ipynb", text)
    told = collected(tmp_path, capsys)
    if "a lesson that is none" not in NOTEBOOKS or text != NOTEBOOKS["a lesson that is none"]:
        assert len(told) == 1 and told[0].startswith(f"left out of {file}: ")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def outside(path: Path) -> None:
    folder = next(one for one in path.parents if one.name == "class")
    path.symlink_to(put(folder.parent / "elsewhere", "secret.json", GOOD))


def circle(path: Path) -> None:
    path.symlink_to(path)


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def closed(path: Path) -> None:
    path.write_text(GOOD.replace("odd_vector", "no_vector"))
    path.chmod(0)  # root reads it all the same, and finds no such exercise


KINDS = (fifo, endless, outside, circle, huge, closed, Path.mkdir)
NAMES = (f"my-work/{LESSON}_record.json", f"my-work/{LESSON}.json", f"{LESSON}.ipynb")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_files_of_any_kind(
    kind: Callable[[Path], None],
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    folder = tmp_path / "class"
    path = folder / "ben" / name
    path.parent.mkdir(parents=True)
    kind(path)
    if name.endswith("ipynb"):
        (folder / "ben" / record.WORK).mkdir(exist_ok=True)
    told = collected(folder, capsys)
    if not (kind is closed and name.endswith("ipynb") and os.geteuid() == 0):
        assert [line for line in told if line.startswith(f"left out of {path}: ")], told
    used(folder / "ben", monkeypatch)
    if kind is outside:
        assert (tmp_path / "elsewhere" / "secret.json").read_text() == GOOD


@pytest.mark.skipif(os.name == "nt", reason="names there are text")
@pytest.mark.parametrize("name", [b"caf\xe9", b"\x1b[2J", b"a\nb", "größe".encode()])
def test_a_folder_may_have_any_name(
    name: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    place = tmp_path / os.fsdecode(name)
    put(place / record.WORK, f"{LESSON}_record.json", GOOD)
    put(tmp_path / "anna" / record.WORK, f"{LESSON}_record.json", GOOD)
    assert collect.main([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all(line.isprintable() for line in lines)
    lines[1].encode()


def test_a_linked_folder_of_work_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "ben").mkdir()
    put(tmp_path / "anna" / record.WORK, f"{LESSON}_record.json", GOOD)
    (tmp_path / "ben" / record.WORK).symlink_to(tmp_path / "anna" / record.WORK)
    (told,) = collected(tmp_path, capsys)
    assert told == f"left out of {tmp_path / 'ben' / record.WORK}: it is a link"


def test_what_is_not_ours_in_a_record_stays(tmp_path: Path):
    text = a_record(notes={"mine": [1, 2]})
    file = put(tmp_path / record.WORK, f"{LESSON}_record.json", "\ufeff" + text)
    assert record.note(file, "points", "odd_vector", {"points": 3, "of": 4}) == ""
    kept = json.loads(file.read_text())
    assert kept["notes"] == {"mine": [1, 2]} and kept["points"]["odd_vector"]["points"] == 3


def test_a_quiz_says_where_its_answers_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    file = put(tmp_path / record.WORK, f"{LESSON}_record.json", "my notes")
    quiz = Quiz("01_end", items("01_end"), record.file_of(LESSON))
    said = [one["why"] for one in quiz.answer(1, 2) if one]
    assert len(said) == 1 and "is left as it is (it is not JSON text)" in said[0]
    assert file.read_text() == "my notes"
    assert [a.answer for a in lesson.review(LESSON).answers] == ["28 threads"]
