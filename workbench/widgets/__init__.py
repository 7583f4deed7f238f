"""Views over a schedule's history: pages of plain data, and the lab that shows them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from workbench.widgets import no_lab
from workbench.widgets.page.question import Question, Verdict

if TYPE_CHECKING:
    from workbench.widgets.widget import Lab as Lab
    from workbench.widgets.widget import lab as lab

__all__ = ["Lab", "Question", "Verdict", "lab"]


if not TYPE_CHECKING:  # or it would take every name for one that is there

    def __getattr__(name: str) -> object:
        if name not in ("Lab", "lab"):
            raise AttributeError(f"module 'workbench.widgets' has no attribute {name!r}")
        try:
            widget = import_module("workbench.widgets.widget")  # loads anywidget: heavy
        except ModuleNotFoundError as missing:
            if name == "Lab" or missing.name != "anywidget":
                raise
            return no_lab.lab
        return getattr(widget, name)
