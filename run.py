#!/usr/bin/env python3
"""Set everything up and do one thing: ``python3 run.py lab`` or ``python3 run.py test``.

Needs Python 3.11 or later and nothing else; makes a virtual environment in .venv.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
TESTS = """\
test             every check: ruff, mypy, pytest
test --quick     in about a minute: ruff, mypy, and the tests without a mark of pyproject.toml
test --budget    every test, and what its call takes of the processor; one without a mark that
                 takes more than a second fails
test ARGUMENTS   just pytest, with these
"""
KINDS = ("--quick", "--budget")  # of runs of the tests
# Without a window first: tests take two fifths less of the processor in it.
SHELL = "chromium-headless-shell"
CHROMIUM = (SHELL, "chromium", "chromium-browser", "google-chrome", "chrome")
FONTS = "fonts-dejavu-core"
# A browser's Python, for the test of a page that opens links; its version is also that page's.
PYODIDE = "314.0.7"
PYODIDE_FOLDER = VENV / f"pyodide-{PYODIDE}"
PYODIDE_FILES = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"),
    "pyodide-lock.json",
)
NPM_SECONDS = 60  # it tries for minutes where there is no network
ONE_APT = Lock()  # of two at once, one ends: `update` does not wait for the other's lock


def main() -> int:
    """Do what the command line asks; the exit status is that of what was run."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        usage="python3 run.py {lab,test} ...",
        epilog=TESTS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("task", choices=["lab", "test"])
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="its options; lab --help tells them")
    options = parser.parse_args()
    if sys.version_info < (3, 11):  # noqa: UP036  (this runs before anything is installed)
        return _stop(f"Python 3.11 or later is needed; this is {sys.version.split()[0]}")
    try:
        return lab(options.rest) if options.task == "lab" else test(options.rest)
    except subprocess.CalledProcessError as failed:  # only what sets things up is checked
        print(f"setting up failed; the reason stands above: {_words(failed.cmd)}", file=sys.stderr)
        return _stop("Often it is the network: when there is one, run the same command again.")
    except OSError as error:
        return _stop(f"setting up failed: {error}")
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def lab(rest: Sequence[str]) -> int:
    """Open the lessons in JupyterLab."""
    install("lab")
    # Lessons lie beside this file; a --dir of the caller's comes later, counts, and is theirs.
    call = [PYTHON, "-P", "-m", "workbench", "lab", "--dir", ROOT / "workbench-lessons", *rest]
    # Ctrl-C is for JupyterLab, which asks before it closes; here it only must not end the wait
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.call(call)
    finally:
        signal.signal(signal.SIGINT, before)


def test(rest: Sequence[str]) -> int:
    """Run every check, a part of them, or with arguments just pytest with these."""
    # TVM, which many tests ask for the same, is large, and so is what runs OpenCL: where they are
    # not installed, these tests are skipped.
    extra = "test,tvm,opencl" if os.environ.get("CI") else "test"
    kind, rest = (rest[0], rest[1:]) if rest and rest[0] in KINDS else ("", rest)
    with ThreadPoolExecutor(
        1
    ) as beside:  # pip leaves the machine idle for a while, as apt-get does
        fetching = beside.submit(fetch) if kind != "--quick" else None
        installed = install(extra)
        if fetching:
            fetching.result()
    environment = os.environ | (tools() if fetching else {})
    if rest and not kind:
        return _call("pytest", *rest, environment=environment)
    checks = {
        "ruff check": ("ruff", "check", "."),
        "ruff format": ("ruff", "format", "--check", "."),
    }
    # Two processes more than there are processors: some tests wait, for a browser or a notebook.
    cores = ("pytest", "-n", str((os.cpu_count() or 1) + 2), "--dist", "worksteal")
    if kind == "--quick":
        cores = (*cores, "-m", " and ".join(f"not {mark}" for mark in marks()))
    elif kind == "--budget":
        return _end(_failed({"pytest": (*cores, "-p", "tests.support.budget", *rest)}, environment))
    failed = _failed(checks, environment)
    with ThreadPoolExecutor(1) as beside:  # mypy takes one processor for ten seconds
        types = beside.submit(_failed, {"mypy": ("mypy",)}, environment)
        if installed:
            compile_tests(environment)
        failed += _failed({"pytest": (*cores, *rest)}, environment)
    return _end(failed + types.result())


def compile_tests(environment: dict[str, str]) -> None:
    """Compile the tests and what they import, which else each process of pytest does for itself.

    They all begin at a time, and wait for none of the others.
    """
    call = [PYTHON, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider"]
    print("compiling the tests …", flush=True)
    subprocess.run(call, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False)


def _failed(checks: dict[str, tuple[str, ...]], environment: dict[str, str]) -> list[str]:
    """Run the checks, one after the other; which of them failed."""
    return [name for name, call in checks.items() if _call(*call, environment=environment)]


def _end(failed: list[str]) -> int:
    """Say how it ended; the exit status for that."""
    print(f"failed: {', '.join(failed)}" if failed else "everything passed", flush=True)
    return 1 if failed else 0


def marks() -> list[str]:
    """The marks of tests that take long, as pyproject.toml declares them."""
    import tomllib  # which a Python that is too old, and is told so, does not have

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = project["tool"]["pytest"]["ini_options"]["markers"]
    return [text.partition(":")[0] for text in declared]


# --- Python packages ------------------------------------------------------------------------------


def install(extra: str) -> bool:
    """Make .venv hold this folder's workbench and the packages of `extra`; False where it does."""
    stamp = VENV / f"installed-{extra}"
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    with turn():
        fault = unusable()
        if not fault and read_stamp(stamp)[0] == wanted and answers(OURS, str(ROOT)):
            return False
        print(f"setting up {VENV} (a minute or two; needs a network) …", flush=True)
        if fault:
            print(f"  making it: {fault}", flush=True)
            make_venv()
            write_stamp(stamp, UNFINISHED)
            pip("--upgrade", "pip")  # Python 3.11's takes twice as long to find what fits
        # What tests import is compiled then, by several processes; pip compiles all, in one.
        pip(*([] if extra == "lab" else ["--no-compile"]), "--editable", f".[{extra}]")
        write_stamp(stamp, wanted)
        return True


# What a stamp says until everything is installed for the first time.
UNFINISHED = "unfinished"
# Ends with 0 where an environment has pip, and where its workbench is that of a folder.
PIP = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pip') is None)"
OURS = (
    "import os, sys, workbench\n"
    "sys.exit(not os.path.samefile(os.path.dirname(workbench.__path__[0]), sys.argv[1]))"
)


def unusable() -> str:
    """Why .venv has to be made, or made anew; empty where it can be used or added to."""
    if not VENV.exists():
        return "there is none yet"
    for stamp in VENV.glob("installed-*"):
        state, place = read_stamp(stamp)
        # Its scripts, and what finds the workbench, name the folder that it was made in.
        if place and not (Path(place).exists() and ROOT.samefile(place)):
            return f"the one here was made in {place}; what you added to it is to be added again"
        if state == UNFINISHED:
            return "the one here was never finished"
    if not answers(PIP):
        return "the one here has no pip, or lost the Python that it was made with"
    return ""


def answers(question: str, *arguments: str) -> bool:
    """Whether .venv's Python runs `question`, and it ends well."""
    with contextlib.suppress(OSError):
        call = [PYTHON, "-I", "-c", question, *arguments]
        return subprocess.run(call, capture_output=True, check=False).returncode == 0
    return False


def read_stamp(stamp: Path) -> tuple[str, str]:
    """What was installed, and in which folder; empty where that is not known."""
    with contextlib.suppress(OSError):
        state, _, place = os.fsdecode(stamp.read_bytes()).partition("\n")
        return state, place
    return "", ""


def write_stamp(stamp: Path, state: str) -> None:
    stamp.write_bytes(os.fsencode(f"{state}\n{ROOT}"))


@contextlib.contextmanager
def turn() -> Iterator[None]:
    """Wait while another run.py sets up this folder."""
    if os.name == "nt":  # which has no flock
        yield
        return
    import fcntl

    folder = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("another run.py is setting this folder up; waiting for it …", flush=True)
        fcntl.flock(folder, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(folder)


def make_venv() -> None:
    """A virtual environment with pip, also where Debian has split ensurepip off from Python."""
    package = f"python3.{sys.version_info[1]}-venv"
    venv = [sys.executable, "-m", "venv", "--clear"]
    if importlib.util.find_spec("ensurepip") or debian(package):
        # In a new process: this one has already found that ensurepip is missing.
        subprocess.run([*venv, VENV], check=True)
    elif importlib.util.find_spec("pip"):
        subprocess.run([*venv, "--without-pip", VENV], check=True)
        call = [sys.executable, "-m", "pip", "--python", PYTHON, "install", "--quiet", "pip"]
        subprocess.run(call, check=True)
    else:
        sys.exit(f"this Python comes without pip and ensurepip; first run: apt install {package}")


def pip(*wanted: str) -> None:
    """Install with .venv's pip, and say every few seconds what it is at."""
    quiet = ["--disable-pip-version-check", "--no-color"]
    call = [PYTHON, "-m", "pip", *quiet, "install", "--progress-bar", "off", *wanted]
    lines: list[str] = []
    start = last = time.monotonic()
    with subprocess.Popen(
        call,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in process.stdout:
                lines.append(line)
                text, now = phase(line), time.monotonic()
                # The last step is the longest, and silent.
                if text and (now - last > 3 or text.startswith("Installing collected")):
                    print(f"  {now - start:3.0f} s: {text}", flush=True)
                    last = now
        except BaseException:  # Ctrl-C: pip must not go on alone
            process.kill()
            raise
    if process.returncode != 0:
        print("".join(x for x in lines if "WARNING" not in x)[-2000:], file=sys.stderr)
        raise subprocess.CalledProcessError(process.returncode, call)


def phase(line: str) -> str:
    """What pip is at, from a line that it prints; empty where the line does not say it."""
    if "WARNING: Retrying" in line:
        return "no answer from the network; pip tries again"
    if line.lstrip().startswith(("WARNING", "DEPRECATION", "Looking in")):
        return ""
    text = line.split(" (from ")[0].strip()
    return text if len(text) <= 72 else f"{text[:71]}…"


# --- programs for tests ---------------------------------------------------------------------------


def fetch() -> None:
    """Install Debian's C++ compiler and browser for the tests, where there are none."""
    if not os.environ.get("WORKBENCH_GPP") and not shutil.which("g++"):
        debian("g++")
    found = os.environ.get("WORKBENCH_CHROMIUM") or find_chromium()
    if not found and not debian(SHELL, FONTS):  # which Debian has from 12 on, and Ubuntu has not
        debian("chromium", FONTS)


def tools() -> dict[str, str]:
    """The C++ compiler and the browser for the tests: those that are here, else Playwright's.

    Where one is missing, its tests are skipped; with CI set, they fail.
    """
    found = {}
    if os.environ.get("CI"):
        found["WORKBENCH_REQUIRE"] = "chromium,g++"
    required = (os.environ | found).get("WORKBENCH_REQUIRE", "").split(",")
    if not os.environ.get("WORKBENCH_GPP") and not shutil.which("g++"):
        then = "fail" if "g++" in required else "be skipped"
        print(f"no g++: the tests that compile kernels as C++ will {then}", flush=True)
    chromium = os.environ.get("WORKBENCH_CHROMIUM") or find_chromium() or playwright_chromium()
    if chromium:
        found["WORKBENCH_CHROMIUM"] = chromium
    else:
        then = "fail" if "chromium" in required else "be skipped"
        print(f"no Chromium: the browser tests will {then}", flush=True)
    fetch_pyodide()
    return found


def fetch_pyodide() -> None:
    """Bring a browser's Python, 6 MB, into .venv, where there is npm and it is not there yet."""
    npm = shutil.which("npm")
    if npm is None or PYODIDE_FOLDER.exists():
        return
    with tempfile.TemporaryDirectory(dir=VENV) as folder:
        call = [npm, "pack", "--silent", "--pack-destination", folder, f"pyodide@{PYODIDE}"]
        with contextlib.suppress(subprocess.SubprocessError):  # its test is skipped then
            subprocess.run(call, stdout=subprocess.DEVNULL, check=True, timeout=NPM_SECONDS)
            (archive,) = Path(folder).glob("*.tgz")
            found = Path(folder) / "found"
            found.mkdir()
            with tarfile.open(archive) as packed:
                for name in PYODIDE_FILES:
                    (found / name).write_bytes(packed.extractfile(f"package/{name}").read())
            found.rename(PYODIDE_FOLDER)


def find_chromium() -> str | None:
    """The path of a browser that is installed."""
    return next((path for name in CHROMIUM if (path := shutil.which(name))), None)


def debian(*packages: str) -> bool:
    """Whether Debian's `packages` could be installed: only as root, and where there is apt-get."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with ONE_APT:
        print(f"installing {', '.join(packages)} …", flush=True)
        for call in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
            done = subprocess.run(
                [*apt, *call], env=environment, stdout=subprocess.DEVNULL, check=False
            )
            if done.returncode != 0:
                return False
    return True


def playwright_chromium() -> str | None:
    """Playwright's own Chromium, downloaded if need be."""
    fetched = _call("playwright", "install", "chromium", environment=dict(os.environ))
    if fetched != 0:
        return None
    where = (
        "from playwright.sync_api import sync_playwright as s\n"
        "with s() as p: print(p.chromium.executable_path)"
    )
    done = subprocess.run([PYTHON, "-c", where], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def _call(tool: str, *arguments: str, environment: dict[str, str]) -> int:
    print(f"$ {tool} {' '.join(arguments)}", flush=True)
    start = time.monotonic()
    call = [PYTHON, "-m", tool, *arguments]
    done = subprocess.run(call, cwd=ROOT, env=environment, check=False)
    print(f"  {tool}: {time.monotonic() - start:.0f} s", flush=True)
    return done.returncode


def _words(command: Sequence[str | Path]) -> str:
    return " ".join(map(str, command))


def _stop(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
