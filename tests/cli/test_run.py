"""The script behind the README's two commands: what it installs, finds, and says it cannot do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import run


@pytest.fixture
def calls(monkeypatch, tmp_path: Path) -> list[list[str]]:
    """The programs that the script runs, none of which runs."""
    made: list[list[str]] = []

    def record(command, **options):
        made.append([str(word) for word in command])
        return subprocess.CompletedProcess(command, 0, stdout="/opt/chromium\n")

    monkeypatch.setattr(run.subprocess, "run", record)
    monkeypatch.setattr(run, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(run, "BIN", tmp_path / ".venv" / "bin")
    monkeypatch.setattr(run, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    return made


@pytest.fixture
def as_root(monkeypatch):
    def become(uid: int, apt: bool = True) -> None:
        monkeypatch.setattr("os.geteuid", lambda: uid, raising=False)
        found = {"apt-get": "/usr/bin/apt-get"} if apt else {}
        monkeypatch.setattr(run.shutil, "which", found.get)

    return become


def test_packages_are_installed_once_for_each_pyproject(calls, monkeypatch):
    monkeypatch.setattr(run, "make_venv", lambda: run.PYTHON.parent.mkdir(parents=True))
    run.install("lab")
    run.PYTHON.touch()
    (run.BIN / "pip").touch()
    run.install("lab")
    assert [call[1:] for call in calls] == [
        ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--editable", ".[lab]"]
    ]
    (run.VENV / "installed-lab").write_text("of another pyproject.toml")
    run.install("lab")
    assert len(calls) == 2


def test_an_environment_without_pip_is_made_again(calls, monkeypatch):
    """As a first start leaves it that was broken off."""
    run.BIN.mkdir(parents=True)
    run.PYTHON.touch()
    made = []
    monkeypatch.setattr(run, "make_venv", lambda: made.append("again"))
    run.install("lab")
    (run.VENV / "installed-lab").unlink()
    (run.BIN / "pip").touch()
    run.install("lab")
    assert made == ["again"]


def test_a_failed_installation_is_told_in_one_line(monkeypatch, capsys):
    def fail(command, **options):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr("sys.argv", ["run.py", "lab"])
    monkeypatch.setattr(run, "install", lambda extra: fail([Path("python"), "-m", "pip"]))
    assert run.main() == 1
    told = "setting up failed; the reason stands above: python -m pip\n"
    assert capsys.readouterr().err == told


def modules(monkeypatch, *there: str) -> None:
    """Python has just these of the modules that can bring pip."""
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: name in there or None)


def test_ensurepip_makes_the_environment(calls, monkeypatch):
    modules(monkeypatch, "ensurepip", "pip")
    run.make_venv()
    assert [call[1:] for call in calls] == [["-m", "venv", str(run.VENV)]]


def test_as_root_debians_package_brings_ensurepip(calls, as_root, monkeypatch):
    modules(monkeypatch)
    as_root(0)
    run.make_venv()
    assert calls[1][-1].startswith("python3.")
    assert calls[1][-1].endswith("-venv")
    assert calls[2][1:] == ["-m", "venv", str(run.VENV)]


def test_else_the_systems_pip_brings_pip(calls, as_root, monkeypatch):
    modules(monkeypatch, "pip")
    as_root(1000)
    run.make_venv()
    assert [call[1:] for call in calls] == [
        ["-m", "venv", "--without-pip", str(run.VENV)],
        ["-m", "pip", "--python", str(run.PYTHON), "install", "--quiet", "pip"],
    ]


def test_without_either_the_debian_package_is_named(calls, as_root, monkeypatch):
    modules(monkeypatch)
    as_root(1000)
    with pytest.raises(SystemExit) as stop:
        run.make_venv()
    assert str(stop.value).startswith(
        "this Python comes without pip and ensurepip; first run: apt install python3."
    )
    assert calls == []


def test_as_root_debians_packages_are_installed(calls, as_root, monkeypatch):
    as_root(0)
    monkeypatch.delenv("CI", raising=False)
    run.tools()
    packages = [call[-2:] for call in calls if "install" in call and "apt-get" in call[0]]
    assert ["--no-install-recommends", "g++"] in packages
    assert ["chromium", "fonts-dejavu-core"] in packages


def test_else_playwright_brings_a_browser(calls, as_root, monkeypatch, capsys):
    as_root(1000)
    monkeypatch.delenv("CI", raising=False)
    assert run.tools() == {"WORKBENCH_CHROMIUM": "/opt/chromium"}
    assert calls[0][1:] == ["-m", "playwright", "install", "chromium"]
    assert "the tests that compile kernels as C++ will be skipped" in capsys.readouterr().out


def test_where_nothing_helps_it_says_what_is_skipped(as_root, monkeypatch, capsys):
    as_root(1000)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(run, "playwright_chromium", lambda: None)
    assert run.tools() == {}
    assert capsys.readouterr().out.splitlines() == [
        "no g++: the tests that compile kernels as C++ will be skipped",
        "no Chromium: the browser tests will be skipped",
    ]


def test_in_ci_nothing_is_skipped(as_root, monkeypatch):
    as_root(1000)
    monkeypatch.setenv("CI", "1")
    monkeypatch.setattr(run, "playwright_chromium", lambda: None)
    assert run.tools() == {"WORKBENCH_REQUIRE": "chromium,g++"}


def test_every_check_runs_and_one_failure_is_enough(monkeypatch, capsys):
    ran = []

    def call(tool, *arguments, environment):
        ran.append(tool)
        return 1 if tool == "mypy" else 0

    monkeypatch.setattr(run, "install", lambda extra: None)
    monkeypatch.setattr(run, "tools", dict)
    monkeypatch.setattr(run, "_call", call)
    assert run.test([]) == 1
    assert ran == ["ruff", "ruff", "mypy", "pytest"]
    assert capsys.readouterr().out == "failed: mypy\n"
    assert run.test(["tests/cli"]) == 0
    assert ran[4:] == ["pytest"]


def test_lab_passes_its_arguments_on_and_leaves_ctrl_c_to_jupyter(
    tmp_path: Path, monkeypatch, capfd
):
    """The program gets the arguments, is interrupted with this one, and ends in its own time."""
    program = tmp_path / "python"
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, signal, sys\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "print(*sys.argv[1:], flush=True)\n"
        "sys.exit(7)\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(run, "install", lambda extra: None)
    monkeypatch.setattr(run, "PYTHON", program)
    assert run.lab(["--port", "8899"]) == 7
    assert capfd.readouterr().out == "-m workbench lab --port 8899\n"
