"""In CI, real autograders give the lessons' exercises their scores."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.grading import run


@pytest.mark.tool
def test_autograders_score_the_exercises():
    if not os.environ.get("CI"):
        pytest.skip("takes some minutes; runs in CI, and by python -m tests.grading.run")
    done = subprocess.run([sys.executable, "-m", "tests.grading.run"], cwd=run.ROOT)
    assert done.returncode == 0, "see above what failed"
