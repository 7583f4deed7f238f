"""Colab's packages suffice. That the lessons run on them, run.py tries, each week."""

from __future__ import annotations

import subprocess
import sys
import tomllib

from packaging.requirements import Requirement

from tests.colab import run

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
