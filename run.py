#!/usr/bin/env python3
"""Set everything up and do one thing: ``python3 run.py lab`` or ``python3 run.py test``.

Needs Python 3.11 or later and nothing else; makes a virtual environment in .venv.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")


def main() -> int:
    """Do what the command line asks; the exit status is that of what was run."""
    parser = argparse.ArgumentParser(description=__doc__, usage="python3 run.py {lab,test} ...")
    parser.add_argument("task", choices=["lab", "test"])
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="passed on")
    options = parser.parse_args()
    if sys.version_info < (3, 11):  # noqa: UP036  (this runs before anything is installed)
        return _stop(f"Python 3.11 or later is needed; this is {sys.version.split()[0]}")
    os.chdir(ROOT)
    try:
        return lab(options.rest) if options.task == "lab" else test(options.rest)
    except subprocess.CalledProcessError as failed:  # only what sets things up is checked
        return _stop(f"setting up failed; the reason stands above: {_words(failed.cmd)}")
    except KeyboardInterrupt:
        return 130


def lab(rest: Sequence[str]) -> int:
    """Open the lessons in JupyterLab."""
    install("lab")
    # Ctrl-C is for JupyterLab, which asks before it closes; here it only must not end the wait
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.call([PYTHON, "-m", "workbench", "lab", *rest])
    finally:
        signal.signal(signal.SIGINT, before)


def test(rest: Sequence[str]) -> int:
    """Run every check, or with arguments just pytest with these."""
    install("test")
    environment = os.environ | tools()
    if rest:
        return _call("pytest", *rest, environment=environment)
    checks = {
        "ruff check": ("ruff", "check", "."),
        "ruff format": ("ruff", "format", "--check", "."),
        "mypy": ("mypy",),
        "pytest": ("pytest", "-n", "auto", "--dist", "worksteal"),
    }
    failed = [name for name, call in checks.items() if _call(*call, environment=environment)]
    print(f"failed: {', '.join(failed)}" if failed else "everything passed", flush=True)
    return 1 if failed else 0


# --- Python packages ------------------------------------------------------------------------------


def install(extra: str) -> None:
    """Make .venv hold the workbench and the packages of `extra`, once for each pyproject.toml."""
    stamp = VENV / f"installed-{extra}"
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"setting up {VENV} (once; a few minutes) …", flush=True)
    if not PYTHON.exists() or not list(BIN.glob("pip*")):  # or a start that was broken off
        make_venv()
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--editable", f".[{extra}]"], check=True)
    stamp.write_text(wanted)


def make_venv() -> None:
    """A virtual environment with pip, also where Debian has split ensurepip off from Python."""
    package = f"python3.{sys.version_info[1]}-venv"
    if importlib.util.find_spec("ensurepip") or debian(package):
        # In a new process: this one has already found that ensurepip is missing.
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    elif importlib.util.find_spec("pip"):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", VENV], check=True)
        pip = [sys.executable, "-m", "pip", "--python", PYTHON, "install", "--quiet", "pip"]
        subprocess.run(pip, check=True)
    else:
        sys.exit(f"this Python comes without pip and ensurepip; first run: apt install {package}")


# --- programs for tests ---------------------------------------------------------------------------


def tools() -> dict[str, str]:
    """A C++ compiler and a browser for the tests, installed where that is possible.

    Where one is missing, its tests are skipped; with CI set, they fail.
    """
    found = {}
    if not shutil.which("g++") and not debian("g++"):
        print("no g++: the tests that compile kernels as C++ will be skipped", flush=True)
    chromium = find_chromium()
    if not chromium and debian("chromium", "fonts-dejavu-core"):
        chromium = find_chromium()
    chromium = chromium or playwright_chromium()
    if chromium:
        found["WORKBENCH_CHROMIUM"] = chromium
    else:
        print("no Chromium: the browser tests will be skipped", flush=True)
    if os.environ.get("CI"):
        found["WORKBENCH_REQUIRE"] = "chromium,g++"
    return found


def find_chromium() -> str | None:
    """The path of a browser that is installed."""
    return next((path for name in CHROMIUM if (path := shutil.which(name))), None)


def debian(*packages: str) -> bool:
    """Whether Debian's `packages` could be installed: only as root, and where there is apt-get."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    print(f"installing {', '.join(packages)} …", flush=True)
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
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
    done = subprocess.run([PYTHON, "-m", tool, *arguments], env=environment, check=False)
    print(f"  {tool}: {time.monotonic() - start:.0f} s", flush=True)
    return done.returncode


def _words(command: Sequence[str | Path]) -> str:
    return " ".join(map(str, command))


def _stop(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
