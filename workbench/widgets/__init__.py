"""Views over a schedule's history: pages of plain data, and the lab that shows them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from workbench.widgets import no_lab

if TYPE_CHECKING:
    from workbench.widgets.page.question import Question as Question
    from workbench.widgets.page.question import Verdict as Verdict
    from workbench.widgets.run.libraries import vendor_of as vendor_of
    from workbench.widgets.search import show_search as show_search
    from workbench.widgets.search import watch as watch
    from workbench.widgets.widget import Lab as Lab
    from workbench.widgets.widget import lab as lab

__all__ = ["Lab", "Question", "Verdict", "lab", "show_search", "vendor_of", "watch"]

# Where each name lives. Modules are loaded at the first use of a name: anywidget and NumPy are
# heavy, and a browser's Python may have neither.
_HOME = {
    "Lab": "widget",
    "Question": "page.question",
    "Verdict": "page.question",
    "lab": "widget",
    "show_search": "search",
    "vendor_of": "run.libraries",
    "watch": "search",
}


if not TYPE_CHECKING:  # or it would take every name for one that is there

    def __getattr__(name: str) -> object:
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module 'workbench.widgets' has no attribute {name!r}")
        try:
            module = import_module(f"workbench.widgets.{home}")
        except ModuleNotFoundError as missing:
            if name == "Lab" or missing.name != "anywidget":
                raise
            return getattr(no_lab, name)
        return getattr(module, name)
