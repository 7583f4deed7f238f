"""The browser's part of the lab: modules in one scope, joined in this order."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

MODULES = (
    "dom.js",
    "code.js",
    "history.js",
    "actions.js",
    "pictures.js",
    "program.js",
    "questions.js",
    "run.js",
    "compare.js",
    "lab.js",
)
STYLES = ("theme.css", "lab.css", "program.css", "pictures.css")
STILL = ("theme.css", "pictures.css", "still.css")


@cache
def script() -> str:
    """The lab as one JavaScript module: a widget's code cannot import beside itself."""
    return "\n".join(_read(name) for name in MODULES)


@cache
def offline_script() -> str:
    """The lab's module and a model that lives in the page, in place of Python."""
    return script().replace("export default", "const widget =") + "\n" + _read("offline.js")


@cache
def style() -> str:
    """The style sheet."""
    return "\n".join(_read(name) for name in STYLES)


@cache
def still_style() -> str:
    """The style sheet of the page without a script."""
    return "\n".join(_read(name) for name in STILL)


def _read(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8")
