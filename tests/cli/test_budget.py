"""run.py test --budget: what each test takes of the processor, and what is too much."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.tool
TESTS = """
import subprocess, sys, time
import pytest

BUSY = "import time; end = time.process_time() + 0.3\\nwhile time.process_time() < end: pass"


def test_short():
    exec(BUSY)


def test_idle():
    time.sleep(0.5)


@pytest.mark.fuzz
def test_marked():
    exec(BUSY)


def test_in_another_process():
    subprocess.run([sys.executable, "-c", BUSY], check=True)
"""


@pytest.mark.parametrize(("most", "status"), [(0.2, 1), (10, 0)])
def test_what_is_unmarked_and_takes_long_fails(tmp_path: Path, most: float, status: int):
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = fuzz: long\n")
    limit = f"import tests.support.budget as b; b.MOST = {most}; import pytest, sys"
    call = f"{limit}; sys.exit(pytest.main(['-p', 'tests.support.budget', {str(tmp_path)!r}]))"
    done = subprocess.run([sys.executable, "-c", call], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == status, done.stdout
    listed = [line.split() for line in done.stdout.splitlines() if "::" in line]
    names = [name.rpartition("::")[2] for *_, name in listed if name]
    assert {"test_short", "test_marked", "test_in_another_process"} <= set(names)
    assert "test_idle" not in names
    over = {name.rpartition("::")[2] for word, *_, name in listed if word == "above"}
    assert over == ({"test_short", "test_in_another_process"} if status else set())
