"""Every public name is there, and one whose package is missing says how to get it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import workbench as wb

WITHOUT = """
import sys
sys.modules[{package!r}] = None
import workbench as wb
try:
    wb.{name}
except ModuleNotFoundError as missing:
    print(missing)
"""


@pytest.mark.parametrize("name", wb.__all__)
def test_a_public_name_is_there(name: str):
    module = getattr(wb, name)
    if name in wb._ROOMS:
        assert module.__file__.endswith("__init__.py")  # an empty folder would be a module, too


def test_no_other_name_is_there():
    with pytest.raises(AttributeError, match="module 'workbench' has no attribute 'shedule'"):
        wb.shedule


@pytest.mark.parametrize(
    ("name", "package"),
    [("lesson", "numpy"), ("EmulationError", "numpy")],
)
def test_a_missing_package_is_named(name: str, package: str):
    code = WITHOUT.format(name=name, package=package)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    told = f"wb.{name} needs {package}, which is not installed: pip install {package}\n"
    assert (done.stdout, done.stderr) == (told, "")
