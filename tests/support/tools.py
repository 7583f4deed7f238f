"""What some tests need besides Python: found, or skipped with the reason."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from run import CHROMIUM, PYODIDE_FOLDER

NAMES = {
    "chromium": CHROMIUM,
    "g++": ("g++",),
    "nvcc": ("nvcc",),
}


def find(tool: str) -> str | None:
    """The path of `tool`: what ``WORKBENCH_<TOOL>`` says, else the first on the search path."""
    given = os.environ.get(f"WORKBENCH_{tool.upper().replace('+', 'P')}")
    if given:
        return given
    return next((path for name in NAMES[tool] if (path := shutil.which(name))), None)


def need(tool: str) -> str:
    """The path of `tool`; without it the test is skipped, or fails if `WORKBENCH_REQUIRE` asks."""
    path = find(tool)
    if path is None:
        missing = f"{tool} is not installed"
        if tool != "nvcc":  # which comes from NVIDIA
            missing += "; python3 run.py test gets it where it can"
        _miss(tool, missing)
    return path


def need_pyodide() -> Path:
    """What `need` is for other tools, for the folder of a browser's Python."""
    folder = Path(os.environ.get("WORKBENCH_PYODIDE", PYODIDE_FOLDER))
    if not (folder / "pyodide.mjs").exists():
        _miss("pyodide", "npm's pyodide is not here; python3 run.py test gets it where npm is")
    return folder


def need_opencl() -> None:
    """What `need` is for other tools, for a device that runs OpenCL.

    A PoCL that is older than the processor may not know how to compile for it.
    """
    try:
        import pyopencl

        devices = [device for one in pyopencl.get_platforms() for device in one.get_devices()]
        context = pyopencl.Context(devices[:1])
        pyopencl.Program(context, "kernel void nothing() {}").build(cache_dir=False)
    except Exception as error:  # no package, no driver behind it, or none for this processor
        lines = [line for line in str(error).splitlines() if line.strip()]
        reason = next((line.strip() for line in lines if "error:" in line), "".join(lines[:1]))
        _miss("opencl", f'no OpenCL is here: pip install ".[opencl]" ({reason})')


def need_cc() -> None:
    """What `need` is for other tools, for a C compiler."""
    from workbench import runtime  # on Colab the first cell brings it, once tests have begun

    if runtime.cpu().compiler is None:
        _miss("cc", 'no C compiler is here: pip install ".[cpu]"')


def _miss(tool: str, missing: str) -> NoReturn:
    if tool in os.environ.get("WORKBENCH_REQUIRE", "").split(","):
        pytest.fail(missing)
    pytest.skip(missing)
