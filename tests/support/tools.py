"""Programs outside Python that some tests need: found, or skipped with the reason in the summary."""

from __future__ import annotations

import os
import shutil

import pytest

NAMES = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "chrome"),
    "g++": ("g++",),
    "nvcc": ("nvcc",),
}


def find(tool: str) -> str | None:
    """The path of `tool`, from ``WORKBENCH_<TOOL>`` or the search path; None where there is none."""
    given = os.environ.get(f"WORKBENCH_{tool.upper().replace('+', 'P')}")
    if given:
        return given
    return next((path for name in NAMES[tool] if (path := shutil.which(name))), None)


def need(tool: str) -> str:
    """The path of `tool`; skips the test without it, or fails where ``WORKBENCH_REQUIRE`` names it."""
    path = find(tool)
    if path is not None:
        return path
    missing = f"{tool} is not installed; python3 run.py test gets it where it can"
    if tool in os.environ.get("WORKBENCH_REQUIRE", "").split(","):
        pytest.fail(missing)
    pytest.skip(missing)
