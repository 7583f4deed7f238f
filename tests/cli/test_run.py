"""The script behind the README's two commands: what it installs, finds, and says it cannot do."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

import run
from workbench.widgets.play.page import PYODIDE


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
    for name in ("CI", "WORKBENCH_REQUIRE", "WORKBENCH_GPP", "WORKBENCH_CHROMIUM"):
        monkeypatch.delenv(name, raising=False)  # set where run.py runs these tests

    def become(uid: int, apt: bool = True) -> None:
        monkeypatch.setattr("os.geteuid", lambda: uid, raising=False)
        found = {"apt-get": "/usr/bin/apt-get"} if apt else {}
        monkeypatch.setattr(run.shutil, "which", found.get)

    return become


@pytest.fixture
def checkout(monkeypatch, tmp_path: Path) -> Path:
    """A folder for the script to set up, with a real .venv, where pip only notes what it gets."""
    home = tmp_path / "käse und brot" / "workbench"
    (home / "workbench").mkdir(parents=True)
    (home / "workbench" / "__init__.py").touch()
    (home / "pyproject.toml").write_text("[project]")
    installed_from(home, monkeypatch)
    return home


def installed_from(home: Path, monkeypatch) -> None:
    """The script lies in `home`. Its pip makes the workbench there importable, as an editable."""
    monkeypatch.setattr(run, "ROOT", home)
    monkeypatch.setattr(run, "VENV", home / ".venv")
    monkeypatch.setattr(run, "BIN", home / ".venv" / "bin")
    monkeypatch.setattr(run, "PYTHON", home / ".venv" / "bin" / "python")

    def make_venv() -> None:
        venv.create(run.VENV, clear=True, symlinks=True)
        (site(home) / "pip.py").touch()

    def pip(*wanted: str) -> None:
        print("pip", *wanted)
        (site(home) / "ours.pth").write_text(str(home))

    monkeypatch.setattr(run, "make_venv", make_venv)
    monkeypatch.setattr(run, "pip", pip)


def site(home: Path) -> Path:
    (found,) = home.glob(".venv/lib/python3.*/site-packages")
    return found


def told(capsys, extra: str = "lab") -> list[str]:
    """What is said when the script installs."""
    run.install(extra)
    return capsys.readouterr().out.splitlines()


def all_of(home: Path, fault: str, extra: str = "lab") -> list[str]:
    made = [f"  making it: {fault}", "pip --upgrade pip"] if fault else []
    setting_up = f"setting up {home / '.venv'} (a minute or two; needs a network) …"
    compiling = "" if extra == "lab" else "--no-compile "  # a lab's folder may be read only
    return [setting_up, *made, f"pip {compiling}--editable .[{extra}]"]


def test_packages_are_installed_once_for_each_pyproject_and_extra(checkout: Path, capsys):
    assert told(capsys) == all_of(checkout, "there is none yet")
    assert told(capsys) == []
    assert told(capsys, "test") == all_of(checkout, "", "test")
    (checkout / "pyproject.toml").write_text("[project]\nname = 'x'")
    assert told(capsys) == all_of(checkout, "")
    assert told(capsys) == []


@pytest.mark.parametrize("old", ["gone", "still there"])
def test_an_environment_of_another_folder_is_made_again(
    old: str, checkout: Path, tmp_path: Path, monkeypatch, capsys
):
    """Its scripts and its workbench would be those of the other folder."""
    told(capsys)
    moved = tmp_path / "moved"
    shutil.copytree(checkout, moved, symlinks=True)
    if old == "gone":
        shutil.rmtree(checkout)
    installed_from(moved, monkeypatch)
    fault = f"the one here was made in {checkout}; what you added to it is to be added again"
    assert told(capsys) == all_of(moved, fault)
    assert told(capsys) == []


def test_an_environment_without_its_python_or_pip_is_made_again(checkout: Path, capsys):
    """As after an upgrade of Python, or a start that was broken off."""
    fault = "the one here has no pip, or lost the Python that it was made with"
    told(capsys)
    run.PYTHON.unlink()
    run.PYTHON.symlink_to("/no/such/python")
    assert told(capsys) == all_of(checkout, fault)
    (site(checkout) / "pip.py").unlink()
    assert told(capsys) == all_of(checkout, fault)
    site(checkout).parent.rename(site(checkout).parents[1] / "python3.0")
    assert told(capsys) == all_of(checkout, fault)


def test_an_environment_that_was_never_finished_is_made_again(checkout: Path, monkeypatch, capsys):
    def interrupted(*wanted: str) -> None:
        raise KeyboardInterrupt

    finished = run.pip
    monkeypatch.setattr(run, "pip", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.install("lab")
    capsys.readouterr()
    monkeypatch.setattr(run, "pip", finished)
    assert told(capsys, "test") == all_of(checkout, "the one here was never finished", "test")


def test_another_workbench_in_the_environment_is_replaced(checkout: Path, capsys):
    told(capsys)
    other = site(checkout) / "workbench"
    other.mkdir()
    (other / "__init__.py").touch()
    assert told(capsys) == all_of(checkout, "")


def test_two_at_once_set_up_one_after_the_other(checkout: Path, capfd):
    """The second finds what the first has done, here nothing."""
    code = f"import run, pathlib; run.ROOT = pathlib.Path({str(checkout)!r})\n"
    code += "with run.turn(): print('in', flush=True)"
    with run.turn():
        call = [sys.executable, "-c", code]
        second = subprocess.Popen(call, cwd=Path(run.__file__).parent, stdout=subprocess.PIPE)
        assert second.stdout is not None
        waiting = "another run.py is setting this folder up; waiting for it …\n"
        assert second.stdout.readline().decode() == waiting
    assert second.communicate()[0] == b"in\n"


def speaking(program: Path, text: str) -> Path:
    program.write_text(f"#!{sys.executable}\n{text}")
    program.chmod(0o755)
    return program


def test_what_pip_does_is_told(tmp_path: Path, monkeypatch, capsys):
    lines = [
        "Collecting jupyterlab>=4.1 (from mlc-workbench==0.1.0)",
        "Looking in indexes: https://pypi.org/simple",
        "  WARNING: a cache is not used",
        "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by 'x'",
        f"Installing collected packages: {', '.join(['package'] * 40)}",
    ]
    program = speaking(tmp_path / "python", f"for x in {lines}: print(x)")
    monkeypatch.setattr(run, "PYTHON", program)
    clock = itertools.count(0, 4)
    monkeypatch.setattr(run.time, "monotonic", lambda: next(clock))
    run.pip("x")
    assert capsys.readouterr().out.splitlines() == [
        "    4 s: Collecting jupyterlab>=4.1",
        "   16 s: no answer from the network; pip tries again",
        "   20 s: Installing collected packages: package, package, package, package, pack…",
    ]


def test_ctrl_c_stops_pip_too(tmp_path: Path):
    """Also where only the script is interrupted, and not its terminal.

    The script has a process of its own: what other tests load may take Ctrl-C from this one.
    """
    noted = tmp_path / "pid"
    text = "import os, pathlib, signal, time\n"
    text += f"pathlib.Path({str(noted)!r}).write_text(str(os.getpid()))\n"
    text += "os.kill(os.getppid(), signal.SIGINT)\ntime.sleep(100)"
    script = "import run, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += f"run.PYTHON = {str(speaking(tmp_path / 'python', text))!r}\n"
    script += "run.install = lambda extra: run.pip('x')\nsys.exit(run.main())"
    done = subprocess.run(
        [sys.executable, "-c", script, "lab"],
        cwd=run.ROOT,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (130, "stopped\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


def test_why_pip_failed_is_told(tmp_path: Path, monkeypatch, capsys):
    text = "import sys; print('WARNING: Retrying'); sys.exit('ERROR: no matching distribution')"
    monkeypatch.setattr(run, "PYTHON", speaking(tmp_path / "python", text))
    monkeypatch.setattr("sys.argv", ["run.py", "lab"])
    monkeypatch.setattr(run, "install", lambda extra: run.pip("--editable", ".[lab]"))
    assert run.main() == 1
    first, _, *rest = capsys.readouterr().err.splitlines()
    assert first == "ERROR: no matching distribution"
    assert rest[0].startswith("setting up failed; the reason stands above: ")
    assert rest[1:] == ["Often it is the network: when there is one, run the same command again."]


def modules(monkeypatch, *there: str) -> None:
    """Python has just these of the modules that can bring pip."""
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: name in there or None)


def test_ensurepip_makes_the_environment(calls, monkeypatch):
    modules(monkeypatch, "ensurepip", "pip")
    run.make_venv()
    assert [call[1:] for call in calls] == [["-m", "venv", "--clear", str(run.VENV)]]


def test_as_root_debians_package_brings_ensurepip(calls, as_root, monkeypatch):
    modules(monkeypatch)
    as_root(0)
    run.make_venv()
    assert calls[1][-1].startswith("python3.")
    assert calls[1][-1].endswith("-venv")
    assert calls[2][1:] == ["-m", "venv", "--clear", str(run.VENV)]


def test_else_the_systems_pip_brings_pip(calls, as_root, monkeypatch):
    modules(monkeypatch, "pip")
    as_root(1000)
    run.make_venv()
    assert [call[1:] for call in calls] == [
        ["-m", "venv", "--clear", "--without-pip", str(run.VENV)],
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
    run.fetch()
    packages = [call[-2:] for call in calls if "install" in call and "apt-get" in call[0]]
    assert packages == [
        ["--no-install-recommends", "g++"],
        ["chromium-headless-shell", "fonts-dejavu-core"],
    ]


def test_without_a_browser_that_has_no_window_it_is_one_that_has(as_root, monkeypatch):
    as_root(0)
    asked = []
    monkeypatch.setattr(run, "debian", lambda *packages: asked.append(packages) or len(asked) == 3)
    run.fetch()
    fonts = "fonts-dejavu-core"
    assert asked == [("g++",), ("chromium-headless-shell", fonts), ("chromium", fonts)]


def test_else_playwright_brings_a_browser(calls, as_root, monkeypatch, capsys):
    as_root(1000)
    assert run.tools() == {"WORKBENCH_CHROMIUM": "/opt/chromium"}
    assert calls[0][1:] == ["-m", "playwright", "install", "chromium"]
    assert "the tests that compile kernels as C++ will be skipped" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("environment", "then"),
    [
        ({}, ["be skipped", "be skipped"]),
        ({"CI": "1"}, ["fail", "fail"]),
        ({"WORKBENCH_REQUIRE": "g++"}, ["fail", "be skipped"]),
    ],
)
def test_where_nothing_helps_it_says_what_becomes_of_the_tests(
    environment: dict[str, str], then: list[str], as_root, monkeypatch, capsys
):
    as_root(1000)
    monkeypatch.setattr(run, "playwright_chromium", lambda: None)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = run.tools()
    assert found == ({"WORKBENCH_REQUIRE": "chromium,g++"} if "CI" in environment else {})
    assert capsys.readouterr().out.splitlines() == [
        f"no g++: the tests that compile kernels as C++ will {then[0]}",
        f"no Chromium: the browser tests will {then[1]}",
    ]


def test_programs_that_the_caller_names_are_taken(as_root, monkeypatch, capsys):
    as_root(1000)
    monkeypatch.setenv("WORKBENCH_GPP", "/opt/g++")
    monkeypatch.setenv("WORKBENCH_CHROMIUM", "/opt/chromium")
    assert run.tools()["WORKBENCH_CHROMIUM"] == "/opt/chromium"
    assert capsys.readouterr().out == ""


def test_npm_brings_a_browsers_python_once(checkout: Path, as_root, monkeypatch):
    run.VENV.mkdir()
    folder = run.VENV / "pyodide"
    monkeypatch.setattr(run, "PYODIDE_FOLDER", folder)
    as_root(1000)
    run.fetch_pyodide()  # without npm
    monkeypatch.setattr(run.shutil, "which", lambda name: name)
    monkeypatch.setattr(run.subprocess, "run", refuse)
    run.fetch_pyodide()
    assert not any(run.VENV.iterdir())
    monkeypatch.setattr(run.subprocess, "run", packing)
    run.fetch_pyodide()
    run.fetch_pyodide()
    assert (folder / "pyodide.mjs").read_text() == f"pyodide@{run.PYODIDE}"
    assert [*run.VENV.iterdir()] == [folder]
    assert f"/v{run.PYODIDE}/" in PYODIDE  # what pages fetch


def refuse(call, **_: object) -> None:
    raise subprocess.CalledProcessError(1, call)


def packing(call: list[str], **_: object) -> None:
    """What `npm pack` does; the files of the package hold its name."""
    folder, name = Path(call[-2]), call[-1]
    (folder / "package").mkdir()
    for file in run.PYODIDE_FILES:
        (folder / "package" / file).write_text(name)
    with tarfile.open(folder / "pyodide.tgz", "w:gz") as packed:
        packed.add(folder / "package", "package")


def test_every_check_runs_and_one_failure_is_enough(monkeypatch, capsys):
    ran = checks(monkeypatch, failing="mypy")
    assert run.test([]) == 1
    assert sorted(tool for tool, *_ in ran) == ["mypy", "pytest", "ruff", "ruff"]
    assert capsys.readouterr().out == "failed: mypy\n"
    assert run.test(["tests/cli"]) == 0
    assert ran[4:] == [("pytest", "tests/cli")]


def checks(monkeypatch: pytest.MonkeyPatch, failing: str = "") -> list[tuple[str, ...]]:
    """The tools that run.py calls with their arguments, none of which runs."""
    ran: list[tuple[str, ...]] = []

    def call(tool: str, *arguments: str, environment: dict[str, str]) -> int:
        ran.append((tool, *arguments))
        return int(tool == failing)

    monkeypatch.setattr(run, "install", lambda extra: False)
    monkeypatch.setattr(run, "fetch", lambda: None)
    monkeypatch.setattr(run, "tools", dict)
    monkeypatch.setattr(run, "_call", call)
    return ran


@pytest.mark.parametrize("installed", [False, True])
def test_after_setting_up_tests_are_compiled_once_for_all_processes(
    monkeypatch: pytest.MonkeyPatch, installed: bool
):
    ran = checks(monkeypatch)
    monkeypatch.setattr(run, "install", lambda extra: installed)
    monkeypatch.setattr(run, "compile_tests", lambda environment: ran.append(("compiled",)))
    assert run.test(["--quick"]) == 0
    tools = [tool for tool, *_ in ran if tool != "mypy"]  # which runs beside them
    assert tools == ["ruff", "ruff", *["compiled"] * installed, "pytest"]


def test_a_quick_run_leaves_out_what_is_marked(monkeypatch: pytest.MonkeyPatch):
    ran = checks(monkeypatch)
    assert run.test(["--quick", "-x"]) == 0
    calls = {tool: arguments for tool, *arguments in ran}
    assert [*calls] in (["ruff", "mypy", "pytest"], ["ruff", "pytest", "mypy"])  # side by side
    left_out = "not fuzz and not tool and not lesson and not browser"
    assert calls["pytest"][-3:] == ["-m", left_out, "-x"]


def test_the_budget_lists_every_test(monkeypatch: pytest.MonkeyPatch):
    ran = checks(monkeypatch)
    assert run.test(["--budget"]) == 0
    ((tool, *arguments),) = ran
    assert tool == "pytest" and arguments[-2:] == ["-p", "tests.support.budget"]


@pytest.mark.parametrize(("ci", "extra"), [("1", "test,tvm,opencl"), ("", "test")])
def test_tvm_is_installed_where_nothing_is_to_be_skipped(
    monkeypatch: pytest.MonkeyPatch, ci: str, extra: str
):
    checks(monkeypatch)
    wanted: list[str] = []
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(run, "install", lambda extra: wanted.append(extra) or False)
    run.test([])
    assert wanted == [extra]


def test_lab_passes_its_arguments_on_and_leaves_ctrl_c_to_jupyter(
    tmp_path: Path, monkeypatch, capfd
):
    """The program gets the arguments, is interrupted with this one, and ends in its own time."""
    program = speaking(
        tmp_path / "python",
        "import os, signal, sys\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "print(*sys.argv[1:], flush=True)\n"
        "sys.exit(7)\n",
    )
    monkeypatch.setattr(run, "install", lambda extra: False)
    monkeypatch.setattr(run, "PYTHON", program)
    assert run.lab(["--port", "8899"]) == 7
    lessons = run.ROOT / "workbench-lessons"
    assert capfd.readouterr().out == f"-P -m workbench lab --dir {lessons} --port 8899\n"
