"""Files are written whole or not at all, by one at a time."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import workbench as wb
from benchmarks.saved_files import WRITERS, cut_off
from tests.schedule import programs
from workbench import script
from workbench.history import write_whole as module
from workbench.history.write_whole import NotWritten, replacing, write_whole


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "lesson.json"
    write_whole(path, "before")
    return path


def alone(file: Path) -> bool:
    return [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.tool
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a file's size")
@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("killed", [False, True], ids=["full disk", "killed"])
def test_a_write_that_is_cut_off_loses_nothing(kind: str, killed: bool, tmp_path: Path):
    found = cut_off(kind, tmp_path, 2, seed=1, killed=killed)
    assert len(found) == 2 and not any(found), found


def test_when_it_fails_the_file_is_as_it_was(file: Path, monkeypatch: pytest.MonkeyPatch):
    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NotWritten) as refused:
        write_whole(file, "after")
    assert str(refused.value) == (
        "Can't write lesson.json: no space left on device.\n"
        f"asked: a file at {file}\n"
        "do:    make room on the disk, or write to another one"
    )
    assert isinstance(refused.value, OSError) and refused.value.errno == 28
    assert file.read_text() == "before" and alone(file)


def test_the_mode_and_a_link_stay(file: Path):
    file.chmod(0o640)
    link = file.parent.parent / "link.json"
    link.symlink_to(file)
    write_whole(link, "after")
    assert link.is_symlink() and file.read_text() == "after"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640 and alone(file)


def test_a_new_file_gets_the_mode_that_any_does(tmp_path: Path):
    write_whole(tmp_path / "ours", "")
    (tmp_path / "any").write_text("")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_what_a_crash_left_is_put_away(file: Path):
    part = file.with_name(".lesson.json.part")
    part.write_text("half of i")
    part.chmod(0o600)
    write_whole(file, "after")
    assert file.read_text() == "after" and alone(file)


KINDS = ["a link", "a second name", "a pipe", "a folder", "another user's"]


@pytest.mark.parametrize("kind", KINDS if hasattr(os, "mkfifo") else KINDS[:1])
def test_a_part_that_is_not_ours_is_left_alone_and_stops_nobody(
    kind: str, file: Path, monkeypatch: pytest.MonkeyPatch
):
    mine = file.with_name("mine.txt")
    mine.write_text("" if kind == "a second name" else "mine")
    before = mine.read_text()
    part = file.with_name(".lesson.json.part")
    if kind == "a link":
        part.symlink_to(mine)
    elif kind == "a second name":
        part.hardlink_to(mine)
    elif kind == "a pipe":
        os.mkfifo(part)
    elif kind == "a folder":
        part.mkdir()
    else:
        part.write_text("theirs")
        opened = os.open

        def refuse(path: object, *how: int) -> int:
            if path == part:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return opened(path, *how)  # type: ignore[arg-type]

        monkeypatch.setattr(module.os, "open", refuse)
    write_whole(file, "after")
    assert file.read_text() == "after" and mine.read_text() == before
    assert {path.name for path in file.parent.iterdir()} == {file.name, mine.name, part.name}


@pytest.mark.skipif(module.fcntl is None, reason="nothing can be locked here")
def test_who_holds_a_file_is_waited_for_but_not_for_ever(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    with replacing(file) as replace:
        with pytest.raises(NotWritten) as refused:
            write_whole(file, "other")
        replace("after")
    assert refused.value.headline == "Can't write lesson.json: another notebook is writing it."
    assert file.read_text() == "after" and alone(file)


@pytest.mark.parametrize("locks", [True, False])
def test_threads_take_turns(file: Path, locks: bool, monkeypatch: pytest.MonkeyPatch):
    if not locks:
        monkeypatch.setattr(module, "fcntl", None)

    def write(letter: str) -> None:
        for _ in range(20):
            write_whole(file, letter * 100_000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abc"]
    for thread in threads:
        thread.start()
    seen = set()
    while any(thread.is_alive() for thread in threads):
        text = file.read_text()
        seen.add((text[0], len(set(text)), len(text)))
    assert seen <= {("b", 5, 6), *((letter, 1, 100_000) for letter in "abc")} and alone(file)


def test_a_file_system_without_locks_writes_whole_all_the_same(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    def none(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(module.fcntl, "flock", none)
    write_whole(file, "after")
    assert file.read_text() == "after"


NOBODY = """
import os, sys
from workbench.history.write_whole import write_whole
os.setuid(65534)
for path in sys.argv[1:]:
    try:
        write_whole(path, "after")
        print("written")
    except OSError as error:
        print(error.headline)
"""


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can become another")
def test_folders_and_files_that_may_not_be_written():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are closed to others
        os.chmod(folder, 0o755)
        file = Path(folder) / "lesson.json"
        write_whole(file, "before")
        call = [sys.executable, "-c", NOBODY, str(file), str(file.with_name("new.json"))]
        done = subprocess.run(call, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == [
            "Can't write lesson.json: it may not be written.",
            "Can't write new.json: permission denied.",
        ]
        assert file.read_text() == "before" and alone(file)


def test_a_schedule_is_not_saved_over_something_else(tmp_path: Path):
    sch = wb.Schedule(script.parse(programs.MATMUL))
    notebook = tmp_path / "lesson.ipynb"
    notebook.write_text('{"cells": []}')
    with pytest.raises(wb.ScheduleError) as refused:
        sch.save(notebook)
    assert str(refused.value) == (
        "Can't save to lesson.ipynb: it holds something else.\n"
        "found: Can't load this schedule: it is not a saved schedule.\n"
        "do:    give another path, or delete that file"
    )
    assert notebook.read_text() == '{"cells": []}' and alone(notebook)
    sch.save(tmp_path / "ours.json")
    sch.annotate(sch.get_blocks()[0], "note", 1)
    sch.save(tmp_path / "ours.json")
    assert repr(wb.load(tmp_path / "ours.json").history) == repr(sch.history)


@pytest.mark.parametrize(
    ("path", "what"), [("", "an empty text"), (None, "a value of type NoneType")]
)
def test_what_is_no_path_is_not_written(path: str, what: str):
    sch = wb.Schedule(script.parse(programs.MATMUL))
    with pytest.raises(NotWritten) as refused:
        sch.save(path)
    assert str(refused.value) == (
        f"Can't write a file: {what} is no path.\n"
        f"asked: a file at {what}\n"
        'do:    give the name of a file, such as "schedule.json"'
    )
