"""Files and folders as anybody may hand them in: nobody else loses a line, and nothing is lost."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import workbench as wb
from tests.widgets.programs import apply, send
from workbench import lesson
from workbench.lesson import collect, record
from workbench.lesson.questions import LESSONS
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
    "no such quiz": answered("28 threads", "99_end 1"),
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


@contextlib.contextmanager
def soon() -> Iterator[None]:
    """Nobody waits for long."""
    begun = time.process_time()
    yield
    assert time.process_time() - begun < 2


def collected(folder: Path) -> list[str]:
    """What is told of a class in which Anna's work is fine: she has her line."""
    put(folder / "anna" / record.WORK, f"{LESSON}_record.json", GOOD)
    out, err = io.StringIO(), io.StringIO()
    with soon(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = collect.main([str(folder)])
    lines = out.getvalue().splitlines()
    assert lines.count(ANNA) == 1
    assert all(line.startswith(("anna,", "learner,")) for line in lines), lines
    told = err.getvalue().splitlines()
    assert status == (1 if told else 0)
    assert all(line.isprintable() and line.startswith("left out of ") for line in told)
    return told


def used(folder: Path) -> tuple[str, str]:
    """All that a learner does there works, whatever lies there: what a review and a check say."""
    with contextlib.chdir(folder):
        with soon():
            reviewed = repr(lesson.review(LESSON))
            told = [line for line in reviewed.splitlines() if line.startswith("left out of ")]
            assert repr(lesson.progress()).splitlines()[1 + len(LESSONS) :] == told
        with soon():
            exercise = lesson.exercise("odd_vector")
            checked = str(exercise.check(exercise.schedule()))
        record.note(record.file_of(LESSON), "points", "odd_vector", {"points": 2, "of": 4})
        assert record.read(record.file_of(LESSON))["points"]["odd_vector"]["points"] == 2
    return reviewed, checked


def resumed(folder: Path) -> list[str]:
    """What a lab of the exercise says there as it opens, goes on if it can, and takes a step."""
    with contextlib.chdir(folder), soon():
        lab = wb.lab(lesson.exercise("odd_vector").schedule())
        said = [lab.status["text"]]
        if offer := lab.setup["resume"]:
            said.append(offer["text"])
            send(lab, do="resume")
            said.append(lab.status["text"])
            lab.at = 0
        apply(lab, "split", "i", factors="[None, 50]")
        assert lab.cursor.node.label == "split(i, factors=[None, 50])"
        return [*said, lab.status["text"]]


# --- texts ----------------------------------------------------------------------------------------


def no_record(folder: Path, text: str) -> None:
    file = put(folder / "ben" / record.WORK, f"{LESSON}_record.json", text)
    (told,) = collected(folder)
    assert told.startswith(f"left out of {file}: ")
    before = file.read_bytes()
    reviewed, checked = used(folder / "ben")
    assert f"left out of {file}: " in reviewed
    assert f"{file.name} is left as it is (" in checked.splitlines()[-1]
    assert file.read_bytes() == before
    said = record.note(file, "points", "odd_vector", {"points": 3, "of": 4})
    assert said.startswith(f"{file.name} is left as it is (")
    assert said.endswith(f"); this is kept in {file.stem}.kept-2.json.")


def forged(folder: Path, text: str) -> None:
    file = put(folder / "ben" / record.WORK, f"{LESSON}_record.json", text)
    (told,) = collected(folder)
    assert told.startswith(f"left out of {file}: there ")
    assert told in used(folder / "ben")[0].splitlines()
    kept = json.loads(file.read_text())
    assert kept["quiz"] == json.loads(text)["quiz"], "nothing of it is lost"


def notebook(folder: Path, text: str) -> None:
    file = put(folder / "ben", f"{LESSON}.ipynb", text)
    told = collected(folder)
    if text != NOTEBOOKS["a lesson that is none"]:
        assert len(told) == 1 and told[0].startswith(f"left out of {file}: ")


def a_history(**parts: object) -> str:
    """What a lab of the exercise has kept, of a step that splits, with other `parts`."""
    sch = lesson.exercise("odd_vector").schedule()
    sch.split("i", factors=[None, 32])
    data = wb.history.file.to_data(sch.history, sch.history[1])
    for name, value in parts.items():
        if name in ("verb", "args", "kwargs"):
            data["nodes"][0]["step"][name] = value
        else:
            data[name] = value
    return json.dumps(data)


# Files in the place of a lab's, of which nothing can be read: they stay as they are.
NO_HISTORY: dict[str, Callable[[], str]] = {
    "a list": lambda: "[]",
    "own notes": lambda: "what I did: split, bind",
    "a merge": lambda: f"<<<<<<< mine\n{a_history()}\n=======\n{a_history()}\n>>>>>>> theirs\n",
    "a part": lambda: a_history()[:-30],
    "deep": lambda: DEEP,
    "deep beside": lambda: a_history()[:-1] + f', "notes": {DEEP}}}',
    "a later version": lambda: a_history(version=2),
    "a version as text": lambda: a_history(version="1"),
    "a record": lambda: GOOD,
    "no program": lambda: a_history(program=5),
    "half a letter": lambda: a_history(program="\ud800"),
    "no steps": lambda: a_history(nodes=None),
    "steps as numbers": lambda: a_history(nodes=[5]),
    "steps as text": lambda: a_history(nodes="abc"),
    "no place": lambda: a_history(at=9),
    "a place as true": lambda: a_history(at=True),
    "a long place": lambda: a_history()[:-1].replace('"at": 1', '"at": ' + "1" * 10_000) + "}",
    "answers as numbers": lambda: a_history(answers={"x": 5}),
    "deep answers": lambda: a_history(answers={"x": json.loads("[" * 300 + "]" * 300)}),
    "a mark as number": lambda: a_history(mark=5),
    "others as number": lambda: a_history(others=5),
    "the program twice": lambda: a_history(others=[json.loads(a_history())]),
    "a verb as number": lambda: a_history(verb=5),
    "not a number": lambda: a_history(kwargs={"factors": [float("nan"), 2]}),
    "endless": lambda: a_history(kwargs={"factors": [float("inf"), 2]}),
    "a long number": lambda: a_history(kwargs={"factors": [None, 10**4000]}),
    "binary": lambda: "\0\1\2",
}
# Histories whose steps cannot be taken: that is told, and they stay in the file.
NO_STEPS: dict[str, Callable[[], str]] = {
    "save": lambda: a_history(verb="save", args=["/tmp/pwned"], kwargs={}),
    "undo": lambda: a_history(verb="undo", args=[], kwargs={}),
    "a method": lambda: a_history(verb="take_step"),
    "a hidden method": lambda: a_history(verb="__init__"),
    "a long name": lambda: a_history(args=["x" * 1_000_000]),
    "factors below nought": lambda: a_history(kwargs={"factors": [None, -32]}),
    "5,000 factors": lambda: a_history(kwargs={"factors": [1] * 5_000}),
    "no list": lambda: a_history(kwargs={"factors": {"entries": {"a": 1}}}),
    "nested factors": lambda: a_history(kwargs={"factors": json.loads("[" * 200 + "]" * 200)}),
}


def no_history(folder: Path, text: str) -> None:
    work = folder / "ben" / record.WORK
    file = put(work, f"{LESSON}_exercise.json", text)
    (told,) = collected(folder)
    assert told.startswith(f"left out of {file}: ")
    opened, _ = resumed(folder / "ben")
    assert f" {file.name} is left as it is (" in opened
    assert opened.endswith(f"; steps are kept in {file.stem}.kept-2.json.")
    assert file.read_text() == text
    reviewed, checked = used(folder / "ben")
    assert f"left out of {file}: " in reviewed and "the 1 step clicked in a lab" in checked


def no_steps(folder: Path, text: str) -> None:
    work = folder / "ben" / record.WORK
    file = put(work, f"{LESSON}_exercise.json", text)
    assert collected(folder) == []
    opened, _ = resumed(folder / "ben")
    assert opened.endswith(
        f" 1 step in {file.name} can no longer be taken; the file keeps what it has."
    )
    kept = json.loads(file.read_text())["nodes"]
    assert len(kept) == 2 and json.loads(text)["nodes"][0]["step"] in [one["step"] for one in kept]
    assert "Can't read the steps kept in" in used(folder / "ben")[1]


TEXTS: dict[str, tuple[Callable[[Path, str], None], str | Callable[[], str]]] = {
    f"{check.__name__}: {name}": (check, text)
    for check, texts in (
        (no_record, NO_RECORD),
        (forged, FORGED),
        (notebook, NOTEBOOKS),
        (no_history, NO_HISTORY),
        (no_steps, NO_STEPS),
    )
    for name, text in texts.items()
}


def try_text(name: str, folder: Path) -> None:
    check, text = TEXTS[name]
    check(folder, text if isinstance(text, str) else text())


@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_any_kind(name: str, tmp_path: Path):
    try_text(name, tmp_path)


# --- files ----------------------------------------------------------------------------------------


def fifo(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def outside(path: Path) -> None:
    folder = next(one for one in path.parents if one.name == "class")
    text = a_history() if path.name.endswith("exercise.json") else GOOD
    path.symlink_to(put(folder.parent / "elsewhere", "secret.json", text))


def circle(path: Path) -> None:
    path.symlink_to(path)


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def closed(path: Path) -> None:
    path.write_text(GOOD.replace("odd_vector", "no_vector"))
    path.chmod(0)  # root reads it all the same, and finds no such exercise


def a_part(path: Path) -> None:
    """What a writer would write into is a pipe."""
    fifo(path.with_name(f".{path.name}.part"))


KINDS = (fifo, endless, outside, circle, huge, closed, Path.mkdir, a_part)
NAMES = (
    f"my-work/{LESSON}_record.json",
    f"my-work/{LESSON}_exercise.json",
    f"my-work/{LESSON}.json",
    f"{LESSON}.ipynb",
)
FILES = {f"{kind.__name__} {name}": (kind, name) for kind in KINDS for name in NAMES}


def try_file(which: str, tmp_path: Path) -> None:
    kind, name = FILES[which]
    folder = tmp_path / "class"
    path = folder / "ben" / name
    path.parent.mkdir(parents=True)
    kind(path)
    (folder / "ben" / record.WORK).mkdir(exist_ok=True)
    told = collected(folder)
    as_root = kind is closed and os.geteuid() == 0
    if kind is not a_part and not (as_root and not name.endswith("record.json")):
        assert [line for line in told if line.startswith(f"left out of {path}: ")], told
    said = " ".join(resumed(folder / "ben"))
    if name.endswith("exercise.json") and kind is not a_part:
        lost = "memory only" in said or "is left as it is" in said or "may not be read" in said
        assert lost, said
        assert "You were here" not in said
    used(folder / "ben")
    if kind is outside:
        (secret,) = (tmp_path / "elsewhere").iterdir()
        assert secret.read_text() in (GOOD, a_history())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
@pytest.mark.parametrize("which", FILES)
def test_files_of_any_kind(which: str, tmp_path: Path):
    try_file(which, tmp_path)


AS_ANYBODY = """
import os, sys
from pathlib import Path
from tests.lesson import test_hostile_files as hostile

folder = Path(sys.argv[1])
hostile.try_text("no_steps: undo", folder / "warm")  # what is loaded may be closed to others
os.setgroups([]), os.setgid(65534), os.setuid(65534)
for number, name in enumerate(hostile.TEXTS):
    hostile.try_text(name, folder / f"text {number}")
for number, which in enumerate(hostile.FILES):
    hostile.try_file(which, folder / f"file {number}")
print(number)
"""


@pytest.mark.tool
@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can become another")
def test_a_plain_user_has_it_no_worse():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to others
        os.chmod(folder, 0o777)
        call = [sys.executable, "-c", AS_ANYBODY, folder]
        done = subprocess.run(call, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{len(FILES) - 1}\n"


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


def test_a_linked_folder_of_work_is_told(tmp_path: Path):
    (tmp_path / "ben").mkdir()
    put(tmp_path / "anna" / record.WORK, f"{LESSON}_record.json", GOOD)
    (tmp_path / "ben" / record.WORK).symlink_to(tmp_path / "anna" / record.WORK)
    (told,) = collected(tmp_path)
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
