"""The lessons under Google Colab's packages, without a browser: ``python -m tests.colab.run``.

Makes an environment of Python 3.13 with the versions of pins.txt, which is kept in .venv-colab;
builds the wheel; lets the lessons' first cell install it there; and runs the tests of the lessons
and of the lab on that wheel, away from the sources.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PINS = HERE / "pins.txt"
FOLDER = ROOT / ".venv-colab"
PYTHON = FOLDER / "bin" / "python"
VERSION = "3.13"  # of Colab's Python
BESIDE = (
    "hypothesis>=6.100",
    "nbclient>=0.10",
    "pytest>=8.2",
)  # what the tests need and Colab does not have
FIRST = ("tests/colab/first_cell.py",)  # leaves ours installed, which the others then import
THEN = (
    "tests/lessons",
    "tests/lesson/test_predictions.py",
    "tests/widgets/test_lab.py",
    "tests/widgets/keep/test_saved.py",
)


def main(chosen: Sequence[str]) -> int:
    """Make the environment, build the wheel, run the tests; the exit status is theirs."""
    python = find_python()
    if python is None:
        print(f"no Python {VERSION} here, which is what Colab has", file=sys.stderr)
        return 1
    make_environment(python)
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        return test(wheel, Path(folder) / "away", chosen)


def find_python() -> str | None:
    """A Python of Colab's version: this one, one on the search path, or one of pyenv's."""
    return next((str(path) for path in _candidates() if _is_colabs(path)), None)


def _candidates() -> Iterator[str | Path]:
    yield sys.executable
    if found := shutil.which(f"python{VERSION}"):
        yield found
    yield from sorted(Path.home().glob(f".pyenv/versions/{VERSION}.*/bin/python"))


def _is_colabs(python: str | Path) -> bool:
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == VERSION


def make_environment(python: str) -> None:
    """Make .venv-colab hold the pinned versions, once for each list of them."""
    stamp = FOLDER / "installed"
    wanted = hashlib.sha256(PINS.read_bytes() + repr(BESIDE).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"setting up {FOLDER} (once; about a minute) …", flush=True)
    subprocess.run([python, "-m", "venv", "--clear", FOLDER], check=True)
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    # What is not compiled here is compiled when it is first imported; most never is.
    subprocess.run([*pip, "--no-compile", "--requirement", PINS, *BESIDE], check=True)
    stamp.write_text(wanted)


def build_wheel(folder: Path) -> Path:
    """Build our wheel into `folder`."""
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", folder, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test(wheel: Path, away: Path, chosen: Sequence[str]) -> int:
    """Run the tests where `workbench` can only be what the first cell has installed.

    Those behind the first cell's may be `chosen` by pytest's arguments.
    """
    for name in ("benchmarks", "lessons", "tests"):
        shutil.copytree(ROOT / name, away / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", away)
    # The old packages warn when they are imported; inside the lessons, warnings are errors.
    pytest = [PYTHON, "-m", "pytest", "-q", "--disable-warnings", "--override-ini=filterwarnings="]
    environment = os.environ | {"WORKBENCH_WHEEL": str(wheel)}
    environment.pop("PYTHONPATH", None)
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"):
        environment.pop(name, None)  # nothing was compiled when it was installed
    for tests in (FIRST, (*THEN, *chosen)):
        done = subprocess.run([*pytest, *tests], cwd=away, env=environment, check=False)
        if done.returncode != 0:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
