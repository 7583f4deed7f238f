"""Writes what type checkers and editors see of names made at run time: ``python -m docs.stubs``.

Two files: the verbs of a schedule, as their own functions declare them, and the words of T.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.script import namespace

MADE = '"""{} Written by ``python -m docs.stubs``; a test holds it up to date."""\n'
WIDTH = 100


def stubs() -> dict[Path, str]:
    """The text of each stub file, by its path."""
    methods = Path(inspect.getfile(wb.Schedule)).with_name("methods.pyi")
    words = Path(inspect.getfile(namespace)).with_name("words.pyi")
    return {methods: _methods(), words: _words()}


def verbs() -> dict[str, Callable[..., Any]]:
    """The verbs by name, as methods of a schedule."""
    return {name: m for name, m in vars(wb.Schedule).items() if hasattr(m, "__signature__")}


def prose(doc: str) -> str:
    """A docstring without its examples."""
    return doc.partition(">>>")[0].rstrip()


def _methods() -> str:
    handles = (wb.schedule.BlockHandle, wb.schedule.LoopHandle)
    lines = [
        MADE.format("The verbs of a schedule, as methods."),
        "from collections.abc import Callable, Mapping, Sequence",
        "from typing import Any\n",
        *(f"from {handle.__module__} import {handle.__name__}" for handle in handles),
        "\nclass Verbs:",
        *(_method(name, method) for name, method in verbs().items()),
    ]
    return "\n".join(lines)


def _method(name: str, method: Callable[..., Any]) -> str:
    params = [_param(param) for param in inspect.signature(method).parameters.values()]
    returned = inspect.signature(method).return_annotation
    line = f"def {name}({', '.join(params)}) -> {returned}:"
    if len(line) > WIDTH - 4:
        listed = "".join(f"\n    {param}," for param in params)
        line = f"def {name}({listed}\n) -> {returned}:"
    doc = prose(method.__doc__ or "")
    end = '\n"""' if "\n" in doc else '"""'
    text = f"{line}\n" + textwrap.indent(f'"""{doc}{end}', "    ") + "\n"
    return textwrap.indent(text, "    ")


def _param(param: inspect.Parameter) -> str:
    if param.annotation is param.empty:
        return param.name
    star = "*" if param.kind is param.VAR_POSITIONAL else ""
    default = "" if param.default is param.empty else f" = {param.default!r}"
    return f"{star}{param.name}: {param.annotation}{default}"


def _words() -> str:
    lines = [
        MADE.format("The words of T."),
        f"from {namespace.__name__} import Word\n",
        "class WordsOfT:",
        *(f"    {word}: Word" for word in namespace.WORDS),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
