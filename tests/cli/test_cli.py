"""The command line: lessons are copied and never overwritten; the doctor tells what is here."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import workbench
from tests.widgets.programs import ADD, parse
from workbench import cli, runtime
from workbench.history.link import link
from workbench.runtime import DeviceReport


@pytest.fixture
def lessons(tmp_path: Path, monkeypatch) -> Path:
    """A folder of lessons to copy from, as a wheel would hold it."""
    source = tmp_path / "package"
    (source / "img").mkdir(parents=True)
    (source / "01_first.ipynb").write_text("first")
    (source / "02_second.ipynb").write_text("second")
    (source / "img" / "grid.svg").write_text("<svg/>")
    (source / "my-work").mkdir()  # of someone who worked in place
    (source / "my-work" / "01_first.json").write_text("steps")
    (source / ".ipynb_checkpoints").mkdir()
    (source / ".ipynb_checkpoints" / "01_first.ipynb").write_text("old")
    monkeypatch.setattr(cli, "lessons_folder", lambda: source)
    return source


def test_lessons_are_copied_and_nothing_hidden_or_anyones_work(
    lessons: Path, tmp_path: Path, capsys
):
    folder = tmp_path / "mine"
    assert cli.main(["lab", "--dir", str(folder), "--copy-only"]) == 0
    found = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert found == ["01_first.ipynb", "02_second.ipynb", "img/grid.svg"]
    assert capsys.readouterr().out.splitlines() == [
        f"copied  {folder / '01_first.ipynb'}",
        f"copied  {folder / '02_second.ipynb'}",
        f"copied  {folder / 'img/grid.svg'}",
    ]


def test_a_learners_lesson_is_never_overwritten(lessons: Path, tmp_path: Path):
    folder = tmp_path / "mine"
    list(cli.copy_lessons(folder))
    (folder / "01_first.ipynb").write_text("my work")
    (folder / "02_second.ipynb").unlink()
    assert list(cli.copy_lessons(folder)) == [
        f"kept    {folder / '01_first.ipynb'}: yours differs from the lesson and was not touched",
        f"copied  {folder / '02_second.ipynb'}",
    ]
    assert (folder / "01_first.ipynb").read_text() == "my work"


def test_the_repository_has_lessons_to_copy():
    assert sorted(p.suffix for p in cli.lessons_folder().glob("*.ipynb"))[:2] == [".ipynb"] * 2


def test_lab_opens_the_first_lesson(lessons: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000, raising=False)
    list(cli.copy_lessons(tmp_path))
    assert cli.lab_command(tmp_path, None, browser=True)[1:] == [
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={tmp_path.resolve()}",
        "--LabApp.default_url=/lab/tree/01_first.ipynb",
    ]


def test_lab_opens_the_map_where_there_is_one(lessons: Path, tmp_path: Path):
    (lessons / "index.ipynb").write_text("map")
    list(cli.copy_lessons(tmp_path))
    command = cli.lab_command(tmp_path, None, browser=True)
    assert "--LabApp.default_url=/lab/tree/index.ipynb" in command


def test_lab_in_a_container_without_a_browser(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0, raising=False)
    assert cli.lab_command(tmp_path, 8899, browser=False)[3:] == [
        f"--ServerApp.root_dir={tmp_path.resolve()}",
        "--ServerApp.port=8899",
        "--no-browser",
        "--allow-root",
    ]


@pytest.fixture
def started(monkeypatch) -> list[list[str]]:
    """What is started in place of JupyterLab: a program that Ctrl-C reaches twice, then ends."""
    commands = []

    class Process:
        def __init__(self, command: list[str], env: dict[str, str]):
            commands.append(command)
            assert Path(env["JUPYTER_CONFIG_PATH"].split(os.pathsep)[0], "labconfig").is_dir()
            self.interrupts = [KeyboardInterrupt, KeyboardInterrupt]

        def wait(self) -> int:
            if self.interrupts:
                raise self.interrupts.pop()
            return 7

        def __enter__(self) -> Process:
            return self

        def __exit__(self, *error: object) -> None:
            assert error == (None, None, None)

    monkeypatch.setattr(cli.subprocess, "Popen", Process)
    return commands


def test_lab_runs_until_jupyter_closes_and_gives_its_status(lessons, tmp_path: Path, started):
    """Ctrl-C is for JupyterLab to answer."""
    assert cli.main(["lab", "--dir", str(tmp_path / "mine"), "--no-browser"]) == 7
    assert started == [cli.lab_command(tmp_path / "mine", None, browser=False)]


@pytest.mark.tool
def test_jupyterlab_does_not_ask_about_news(tmp_path: Path, monkeypatch):
    """Unless the learner has set that it does; what others set otherwise stays."""
    config = pytest.importorskip("jupyterlab_server.settings_utils")
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/elsewhere")
    made = cli.quiet(tmp_path)["JUPYTER_CONFIG_PATH"]
    assert made == f"{tmp_path}{os.pathsep}/elsewhere"
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", made)
    found, error = config._get_overrides(str(tmp_path))
    assert not error
    assert found["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


def test_lab_without_jupyter_says_how_to_get_it(lessons: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert cli.main(["lab", "--dir", str(tmp_path / "mine")]) == 1
    assert capsys.readouterr().err == (
        "JupyterLab is not installed. Install it: pip install jupyterlab\n"
    )


AGAIN = "\nChoose another folder: workbench lab --dir FOLDER\n"


def test_a_folder_that_cannot_be_made_is_told(lessons: Path, tmp_path: Path, started, capsys):
    taken = tmp_path / "taken"
    taken.write_text("a file")
    for folder, found in (
        (taken, "there is a file of that name"),
        (taken / "mine", f"{taken / 'mine'}: Not a directory"),
    ):
        assert cli.main(["lab", "--dir", str(folder)]) == 1
        assert capsys.readouterr().err == f"cannot copy the lessons to {folder}: {found}{AGAIN}"
    assert started == [] and taken.read_text() == "a file"


def test_a_lesson_is_copied_whole_or_not_at_all(lessons: Path, tmp_path: Path, monkeypatch, capsys):
    """Half of one would be kept as the learner's own ever after."""
    folder = tmp_path / "mine"

    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    assert cli.main(["lab", "--dir", str(folder)]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_a_folder_that_may_not_be_written_is_not_opened(
    lessons: Path, tmp_path: Path, started, monkeypatch, capsys
):
    """Also where the lessons are in it already."""
    list(cli.copy_lessons(tmp_path))
    monkeypatch.setattr(cli.os, "access", lambda path, mode: path != tmp_path)
    assert cli.main(["lab", "--dir", str(tmp_path)]) == 1
    told = f"you may not write in {tmp_path}, so nothing you do there would be saved{AGAIN}"
    assert capsys.readouterr().err == told and started == []


@pytest.fixture
def url() -> str:
    sch = workbench.Schedule(parse(ADD))
    sch.split("i", factors=[2, 4])
    return link(sch.node)


def test_a_link_opens_in_a_new_notebook_whose_cell_makes_its_lab(
    url: str, tmp_path: Path, started, capsys
):
    folder = tmp_path / "mine"
    for name in ("link-1.ipynb", "link-2.ipynb"):  # what is there stays
        assert cli.main(["open", url, "--dir", str(folder), "--no-browser"]) == 7
        assert capsys.readouterr().out == f"made  {folder / name}: run its cell (Shift+Enter)\n"
        assert started.pop() == cli.lab_command(folder, None, False, name)
        assert f"--LabApp.default_url=/lab/tree/{name}" in cli.lab_command(folder, None, True, name)
        book = nbformat.read(folder / name, as_version=4)
        nbformat.validate(book)
        (cell,) = book.cells
        made = f"lab = wb.lab(wb.open({url!r}))"
        assert cell.source == f"import workbench as wb\n\n{made}\nlab"


def test_a_link_that_is_refused_or_has_no_place_starts_nothing(
    url: str, tmp_path: Path, started, capsys
):
    assert cli.main(["open", url[:-30], "--dir", str(tmp_path / "mine")]) == 1
    assert capsys.readouterr().err == (
        "Can't open this link: part of it is missing or changed.\n"
        "do:    copy it again, whole: the link button of a lab and lab.link() make one\n"
    )
    taken = tmp_path / "taken"
    taken.write_text("a file")
    assert cli.main(["open", url, "--dir", str(taken)]) == 1
    assert capsys.readouterr().err == (
        f"cannot put a notebook into {taken}: there is a file of that name\n"
        "Choose another folder: workbench open URL --dir FOLDER\n"
    )
    assert started == [] and list(tmp_path.iterdir()) == [taken]


@pytest.mark.parametrize("port", ["65536", "0", "-1", "8.5", "x", "²"])
def test_a_port_is_a_number_that_a_port_can_have(port: str, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["lab", f"--port={port}"])
    assert stop.value.code == 2
    assert f"argument --port: {port} is no port: 1 to 65535" in capsys.readouterr().err


def test_doctor_tells_device_reason_and_packages(monkeypatch, capsys):
    report = DeviceReport(
        "emulator",
        "there is an NVIDIA driver, but CuPy is not installed",
        "CuPy",
        "pip install cupy-cuda12x",
    )
    monkeypatch.setattr(runtime, "device", lambda: report)
    on_numpy = DeviceReport("its meaning", "there is no compiler", "one", "install gcc")
    monkeypatch.setattr(runtime, "cpu", lambda: on_numpy)
    monkeypatch.setattr(cli, "_version", lambda name: "missing" if name == "anywidget" else "1.0")
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == "anywidget" else object())
    assert cli.main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"workbench 0.1.0 in {Path(workbench.__file__).parent}"
    assert lines[1].startswith("Python 3.")
    assert lines[3:7] == [
        "runs on: emulator",
        "why:     there is an NVIDIA driver, but CuPy is not installed",
        "missing: CuPy",
        "get it:  pip install cupy-cuda12x",
    ]
    assert lines[8:] == [
        'programs for the CPU (target="c"):',
        "runs on: its meaning",
        "why:     there is no compiler",
        "get it:  install gcc",
        "",
        "packages:",
        "  numpy       1.0",
        "  jupyterlab  1.0",
        "  ipywidgets  1.0",
        "  anywidget   missing",
        "  pygments    1.0",
        "  matplotlib  1.0",
        "get what is missing: pip install anywidget",
    ]


def test_doctor_as_json_says_the_same(monkeypatch, capsys):
    monkeypatch.setattr(runtime, "device", lambda: DeviceReport("Tesla T4", "CuPy runs on it"))
    monkeypatch.setattr(cli, "_version", lambda name: "1.0")
    monkeypatch.setattr(cli, "find_spec", lambda name: object())
    assert cli.main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["device"] == {
        "runs on": "Tesla T4",
        "why": "CuPy runs on it",
        "missing": "",
        "get it": "",
    }
    assert report["packages"] == dict.fromkeys(cli._PACKAGES, "1.0") and report["missing"] == []
    assert report["workbench"] == workbench.__version__
    assert report["folder"] == str(Path(workbench.__file__).parent)
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert cli.main(["doctor", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["packages"] == dict.fromkeys(cli._PACKAGES)
    assert report["missing"] == [*cli._PACKAGES]
    assert cli.main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines()[3:5] == [
        "runs on: Tesla T4",
        "why:     CuPy runs on it",
    ]


@pytest.mark.parametrize("command", ["lab", "open", "doctor"])
def test_help_says_what_holds_without_an_option(command: str, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([command, "--help"])
    assert stop.value.code == 0
    _, _, options = capsys.readouterr().out.partition("show this help message and exit")
    told = " ".join(options.split())
    assert told.count("(default: ") == sum(part.startswith("--") for part in told.split())


def test_a_missing_package_has_no_version():
    assert cli._version("no-such-package-of-ours") == "missing"
    assert cli._version("numpy") != "missing"


@pytest.mark.tool
def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "--version"], capture_output=True, text=True
    )
    assert (done.stdout, done.returncode) == ("0.1.0\n", 0), done.stderr
