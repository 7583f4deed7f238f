"""The script behind the README's two commands: what it installs, finds, and says it cannot do."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
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
    def create(folder: Path, with_pip: bool) -> None:
        run.PYTHON.parent.mkdir(parents=True)
        run.PYTHON.touch()

    monkeypatch.setattr(run.venv, "create", create)
    run.install("lab")
    run.install("lab")
    assert [call[1:] for call in calls] == [
        ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--editable", ".[lab]"]
    ]
    (run.VENV / "installed-lab").write_text("of another pyproject.toml")
    run.install("lab")
    assert len(calls) == 2


def test_without_ensurepip_pip_comes_as_its_own_wheel(calls, monkeypatch):
    made = []
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(run.venv, "create", lambda folder, with_pip: made.append(with_pip))
    monkeypatch.setattr(run, "download_pip", lambda folder: Path("pip-26.whl"))
    run.make_venv()
    assert made == [False]
    assert calls[0][1:] == ["pip-26.whl/pip", "install", "--quiet", "pip-26.whl"]


def index(monkeypatch, content: bytes, digest: str) -> None:
    """A package index that offers `content` as pip's wheel."""
    file = {
        "packagetype": "bdist_wheel",
        "url": "../../packages/pip-26.whl",
        "filename": "pip-26.whl",
        "digests": {"sha256": digest},
    }
    answers = {
        run.PIP: json.dumps({"urls": [file]}).encode(),
        "https://pypi.org/packages/pip-26.whl": content,
    }
    monkeypatch.setattr(
        run.urllib.request, "urlopen", lambda url, timeout: io.BytesIO(answers[url])
    )


def test_pips_wheel_is_checked(monkeypatch, tmp_path: Path):
    index(monkeypatch, b"wheel", hashlib.sha256(b"wheel").hexdigest())
    assert run.download_pip(tmp_path).read_bytes() == b"wheel"
    index(monkeypatch, b"other", hashlib.sha256(b"wheel").hexdigest())
    with pytest.raises(SystemExit, match=r"^pip's wheel came damaged; try again$"):
        run.download_pip(tmp_path)


def test_without_network_the_debian_package_is_named(monkeypatch, tmp_path: Path):
    def offline(url, timeout):
        raise OSError("no route")

    monkeypatch.setattr(run.urllib.request, "urlopen", offline)
    monkeypatch.setattr(run, "VENV", tmp_path / "made")
    (tmp_path / "made").mkdir()
    with pytest.raises(SystemExit) as stop:
        run.download_pip(tmp_path)
    assert str(stop.value).startswith(
        "pip is missing and cannot be fetched (no route); try: apt install python3."
    )
    assert not (tmp_path / "made").exists(), "half an environment must not be taken for a whole"


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


def test_lab_passes_its_arguments_on(calls, monkeypatch):
    monkeypatch.setattr(run, "install", lambda extra: None)
    assert run.lab(["--port", "8899"]) == 0
    assert calls[0][1:] == ["-m", "workbench", "lab", "--port", "8899"]
