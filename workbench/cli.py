"""The command line: ``workbench lab`` opens the lessons, ``open`` a link, ``doctor`` looks.

``play`` writes a page that opens links.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import workbench
from workbench import runtime
from workbench.diag import Fail, size_text
from workbench.history.write_whole import write_whole
from workbench.widgets.play.page import PYODIDE, write_page

_PACKAGES = ("numpy", "jupyterlab", "ipywidgets", "anywidget", "pygments", "matplotlib")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(prog="workbench", description=__doc__)
    parser.add_argument("--version", action="version", version=workbench.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    lab = commands.add_parser("lab", help="copy the lessons to a folder and open JupyterLab there")
    _add_jupyter(lab, "where your copies are kept")
    lab.add_argument(
        "--copy-only", action="store_true", help="only copy the lessons (default: open them)"
    )
    about = "which device would run kernels, and what is missing"
    ends = f"{about}; ends with 1 where a package is missing"
    tell = commands.add_parser("doctor", help=about, description=ends)
    tell.add_argument("--json", action="store_true", help="as JSON (default: as text)")
    link = commands.add_parser("open", help="open a link's lab in JupyterLab, in a new notebook")
    link.add_argument("url", help="a link of a lab, in quotes")
    _add_jupyter(link, "where the notebook is put")
    play = commands.add_parser("play", help="write a page that opens links without Python")
    play.add_argument(
        "file", type=Path, nargs="?", default=Path("play.html"), help="(default: %(default)s)"
    )
    folder = "address of the folder that it fetches Pyodide from (default: %(default)s)"
    play.add_argument("--pyodide", default=PYODIDE, metavar="ADDRESS", help=folder)
    options = parser.parse_args(arguments)
    if options.command == "doctor":
        return print_doctor(options.json)
    if options.command == "play":
        return write_play(options.file, options.pyodide)
    if options.command == "open":
        return open_link(options.url, options.dir, options.port, not options.no_browser)
    return open_lab(options.dir, options.port, not options.no_browser, options.copy_only)


def _add_jupyter(command: argparse.ArgumentParser, kept: str) -> None:
    """What both commands that open JupyterLab are told."""
    folder = Path("workbench-lessons")
    command.add_argument("--dir", type=Path, default=folder, help=f"{kept} (default: %(default)s)")
    free = "JupyterLab's port (default: the first that is free from 8888 on)"
    command.add_argument("--port", type=_port, default=None, help=free)
    command.add_argument(
        "--no-browser", action="store_true", help="only print the address (default: open)"
    )


# --- lab ------------------------------------------------------------------------------------------


def open_lab(folder: Path, port: int | None, browser: bool, copy_only: bool) -> int:
    """Copy the lessons to `folder`, and run JupyterLab there until it is closed."""
    try:
        for line in copy_lessons(folder):
            print(line, flush=True)
    except OSError as error:
        return _refuse(f"cannot copy the lessons to {folder}: {_fault(error)}", "lab")
    if copy_only:
        return 0
    if not os.access(folder, os.W_OK | os.X_OK):
        why = f"you may not write in {folder}, so nothing you do there would be saved"
        return _refuse(why, "lab")
    return run_jupyter(lab_command(folder, port, browser))


def run_jupyter(command: list[str]) -> int:
    """Run JupyterLab by `command` until it is closed; its exit status."""
    if find_spec("jupyterlab") is None:
        print("JupyterLab is not installed. Install it: pip install jupyterlab", file=sys.stderr)
        return 1
    with TemporaryDirectory() as own, subprocess.Popen(command, env=quiet(Path(own))) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # for JupyterLab, which asks before it closes
                continue


# JupyterLab asks whether it may fetch news, in a window that stands over the lesson.
SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}


def quiet(own: Path) -> dict[str, str]:
    """The environment in which JupyterLab begins from our SETTINGS, which are put into `own`.

    As its defaults: what a learner has set counts, and nothing of it is changed.
    """
    (own / "labconfig").mkdir()
    settings = own / "labconfig" / "default_setting_overrides.json"
    settings.write_text(json.dumps(SETTINGS), encoding="utf-8")
    others = os.environ.get("JUPYTER_CONFIG_PATH")
    return os.environ | {"JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, [str(own), others]))}


def _refuse(found: str, command: str) -> int:
    print(f"{found}\nChoose another folder: workbench {command} --dir FOLDER", file=sys.stderr)
    return 1


def _fault(error: OSError) -> str:
    exists = isinstance(error, FileExistsError)
    return "there is a file of that name" if exists else f"{error.filename}: {error.strerror}"


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port: 1 to 65535")
    return int(text)


def lab_command(folder: Path, port: int | None, browser: bool, notebook: str = "") -> list[str]:
    """The call that opens JupyterLab on a `notebook` in `folder`: by default on the map, or on the
    first of the lessons."""
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.resolve()}"]
    lessons = sorted(path.name for path in folder.glob("*.ipynb"))
    lessons.sort(key=lambda name: name != "index.ipynb")
    if first := notebook or next(iter(lessons), ""):
        command.append(f"--LabApp.default_url=/lab/tree/{first}")
    if port is not None:
        command.append(f"--ServerApp.port={port}")
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # in a container one is root, and Jupyter would refuse
    return command


def lessons_folder() -> Path:
    """Where the lessons lie: in the installed package, or beside it in a checkout."""
    package = Path(workbench.__file__).parent
    inside = package / "_lessons"
    return inside if inside.is_dir() else package.parent / "lessons"


def copy_lessons(folder: Path) -> Iterator[str]:
    """Copy every lesson that `folder` does not have; one line a lesson says what was done.

    A lesson that is there stays as it is: it holds the learner's work. OSError where the folder
    cannot be made or written; then each lesson is there whole or not at all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source = lessons_folder()
    for path in sorted(p for p in source.rglob("*") if p.is_file() and not _hidden(p, source)):
        target = folder / path.relative_to(source)
        if not target.exists():
            write_whole(target, path.read_bytes())  # half a lesson would be taken for your own
            yield f"copied  {target}"
        elif target.read_bytes() != path.read_bytes():
            yield f"kept    {target}: yours differs from the lesson and was not touched"


def _hidden(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).parts
    return any(part.startswith(".") or part in ("__pycache__", "my-work") for part in parts)


# --- open -----------------------------------------------------------------------------------------


def open_link(url: str, folder: Path, port: int | None, browser: bool) -> int:
    """Put a notebook with the lab of the link `url` into `folder`, and run JupyterLab on it."""
    try:
        workbench.open(url)
    except workbench.ScheduleError as error:
        print(error, file=sys.stderr)
        return 1
    try:
        notebook = write_notebook(url, folder)
    except OSError as error:
        return _refuse(f"cannot put a notebook into {folder}: {_fault(error)}", "open URL")
    print(f"made  {notebook}: run its cell (Shift+Enter)", flush=True)
    return run_jupyter(lab_command(folder, port, browser, notebook.name))


def write_notebook(url: str, folder: Path) -> Path:
    """A new notebook in `folder`, whose one cell opens the lab of `url`; OSError where it fails."""
    folder.mkdir(parents=True, exist_ok=True)
    names = (f"link-{k}.ipynb" for k in count(1))
    path = next(folder / name for name in names if not (folder / name).exists())
    text = "".join(url.split())  # as it is read: mail breaks long lines
    cell: dict[str, Any] = {
        "cell_type": "code",
        "id": "link",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": f"import workbench as wb\n\nlab = wb.lab(wb.open({text!r}))\nlab",
    }
    python = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = {"cells": [cell], "metadata": {"kernelspec": python}, "nbformat": 4, "nbformat_minor": 5}
    write_whole(path, json.dumps(made, indent=1) + "\n")
    return path


# --- play -----------------------------------------------------------------------------------------


def write_play(path: Path, pyodide: str) -> int:
    """Write a page that opens links to `path`, and say how links are made to it."""
    try:
        write_page(path, pyodide)
    except (Fail, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"made  {path} ({size_text(path.stat().st_size)}): put it on any web server")
    print(f'links to it: wb.lab(sch, address="https://…/{path.name}"), or any link\'s # behind it')
    return 0


# --- doctor ---------------------------------------------------------------------------------------


def print_doctor(as_json: bool) -> int:
    """Print what `doctor` finds; the exit status: 1 where a package that lessons need is missing.

    A GPU may be missing: kernels run on the emulator then.
    """
    report = doctor()
    print(json.dumps(report, indent=2) if as_json else doctor_text(report))
    return 1 if report["missing"] else 0


def doctor() -> dict[str, Any]:
    """Which device would be used and why, which packages are here, what is missing: plain data."""
    device, cpu = runtime.device(), runtime.cpu()
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    return {
        "workbench": workbench.__version__,
        "folder": str(Path(workbench.__file__).parent),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": {
            "runs on": device.which,
            "why": device.why,
            "missing": device.missing,
            "get it": device.how_to_get,
        },
        "cpu": {"runs on": cpu.which, "why": cpu.why, "get it": cpu.how_to_get},
        "packages": {name: None if name in missing else _version(name) for name in _PACKAGES},
        "missing": missing,
    }


def doctor_text(report: dict[str, Any]) -> str:
    """What `doctor` finds, for people."""
    lines = [
        f"workbench {report['workbench']} in {report['folder']}",
        f"Python {report['python']} on {report['system']}",
        "",
        *(f"{name + ':':<8} {text}" for name, text in report["device"].items() if text),
        "",
        'programs for the CPU (target="c"):',
        *(f"{name + ':':<8} {text}" for name, text in report["cpu"].items() if text),
        "",
        "packages:",
        *(f"  {name:<11} {found or 'missing'}" for name, found in report["packages"].items()),
    ]
    if report["missing"]:
        lines.append(f"get what is missing: pip install {' '.join(report['missing'])}")
    return "\n".join(lines)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
