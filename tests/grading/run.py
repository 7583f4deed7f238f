"""The lessons under nbgrader and otter-grader, each week: ``python -m tests.grading.run``.

Makes an environment with the versions of pins.txt, which is kept in .venv-grading, and runs the
tests of the scores: there the graders execute notebooks, here the notebooks are made.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PINS = HERE / "pins.txt"
FOLDER = ROOT / ".venv-grading"
# jsonschema does without it, and each of the graders' processes would take a second to import it.
SLOW = "rfc3987-syntax"
PYTHON = FOLDER / "bin" / "python"


def main() -> int:
    """Make the environment and run the tests; the exit status is theirs."""
    make_environment()
    pytest = [sys.executable, "-m", "pytest", "-q", HERE / "scores.py"]
    return subprocess.run(pytest, cwd=ROOT, check=False).returncode


def make_environment() -> None:
    """Make .venv-grading hold the pinned graders, once for each list of them."""
    stamp = FOLDER / "installed"
    wanted = hashlib.sha256(PINS.read_bytes() + SLOW.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"setting up {FOLDER} (once; a minute or two) …", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", FOLDER], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", PYTHON]
    # What is not compiled here is compiled when it is first imported; most never is.
    install = [*pip, "install", "--quiet", "--no-compile", "--requirement", PINS]
    subprocess.run(install, check=True)
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", SLOW], check=True)
    stamp.write_text(wanted)


if __name__ == "__main__":
    sys.exit(main())
