"""Colab's packages suffice, and in CI the lessons run on them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.colab import run
from tests.support.every import EVERY

PINS = {
    line.split("==")[0]: line.split("==")[1]
    for line in run.PINS.read_text().splitlines()
    if not line.startswith("#")
}
PROJECT = tomllib.loads((run.ROOT / "pyproject.toml").read_text())["project"]


def test_nothing_on_colab_needs_an_upgrade():
    wanted = [Requirement(text) for text in PROJECT["optional-dependencies"]["lab"]]
    checked = [x.name for x in wanted if x.name != "jupyterlab"]  # Colab has a page of its own
    assert checked == ["numpy", "pygments", "matplotlib", "ipywidgets", "anywidget"]
    for requirement in wanted:
        if requirement.name in checked:
            assert PINS[requirement.name] in requirement.specifier, str(requirement)
    assert PROJECT["dependencies"] == []  # so that the first cell's --no-deps leaves nothing out


def test_tests_begin_where_the_workbench_is_not_yet():
    """The first cell's, on Colab, install it."""
    code = "import sys; sys.modules['workbench'] = None; import tests.conftest"
    subprocess.run([sys.executable, "-c", code], cwd=run.ROOT, check=True)


@pytest.mark.tool
def test_the_lessons_run_under_colabs_packages():
    if not os.environ.get("CI"):
        pytest.skip("takes a minute; runs in CI, and by python -m tests.colab.run")
    if run.find_python() is None:
        pytest.skip(f"no Python {run.VERSION} here, which is what Colab has")
    few = () if EVERY else ("-k", "test_lab or runs_from_top and (01 or 06)")
    done = subprocess.run([sys.executable, "-m", "tests.colab.run", *few], cwd=run.ROOT)
    assert done.returncode == 0, "see above what failed"
