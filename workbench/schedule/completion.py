"""In IPython and notebooks, names of loops and blocks complete inside calls: ``sch.split("<Tab>``.

IPython asks a matcher with the text before the cursor; it is entered when a schedule is made.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from workbench.history.errors import ScheduleError
from workbench.ir import PrimFunc
from workbench.ir.places import places
from workbench.schedule.find import loop_name


class Cursor(Protocol):
    """What is asked of a schedule: the program in which names are looked up."""

    @property
    def func(self) -> PrimFunc:
        """The function that is worked on."""


_STRING = r""""[^"\n]*"|'[^'\n]*'"""
# `sch.split(`, whole arguments with at most one bracket in another, then a text that is begun
_CALL = re.compile(
    rf"""(?<![\w.])(\w+)\.(\w+)\(((?:[^()"'#]|{_STRING}|\([^()]*\))*)["']([^"'\n]*)$"""
)
_WHOLE = re.compile(rf"{_STRING}|\([^()]*\)|\[[^\[\]]*\]")
_BLOCK_BY_NAME = ("get_block", "get_sblock", "get_blocks")


def names_at(
    text: str, namespace: Mapping[str, Any], kind: type[Cursor]
) -> tuple[str, dict[str, str]]:
    """What is begun at the end of `text`, and the names that it may become, each with its kind.

    No names but in a call of a method of a schedule, of type `kind`, that `namespace` has by name.
    """
    call = _CALL.search(text)
    schedule = namespace.get(call[1]) if call else None
    if call is None or not isinstance(schedule, kind):
        return "", {}
    wanted = _wanted(type(schedule), call[2], _WHOLE.sub("x", call[3]))
    names = {name: of for name, of in _names(schedule).items() if of in wanted}
    return call[4], {name: of for name, of in names.items() if name.startswith(call[4])}


def _wanted(kind: type[Cursor], method: str, arguments: str) -> set[str]:
    """Whether the argument of a method that comes after `arguments` is a loop, a block or both."""
    function = getattr(kind, method, None)
    if method.startswith("_") or not inspect.isfunction(function):
        return set()
    if method in _BLOCK_BY_NAME:
        return {"block"}
    params = list(inspect.signature(function).parameters.values())[1:]
    before = arguments.partition("[")[0]  # of a list, where it begins
    by_name = re.search(r"(\w+)\s*=\s*$", before)
    if by_name:
        chosen = [p for p in params if p.name == by_name[1]]
    else:
        in_place = [p for p in params if p.kind is p.POSITIONAL_OR_KEYWORD]
        rest = [p for p in params if p.kind is p.VAR_POSITIONAL]
        chosen = in_place[before.count(",") :][:1] or rest
    types = "".join(str(p.annotation) for p in chosen)
    return {of for of in ("loop", "block") if f"{of.title()}Handle" in types}


def _names(schedule: Cursor) -> dict[str, str]:
    """The names of the loops and blocks of the program, each with which it is."""
    try:
        func = schedule.func
    except ScheduleError:  # it is not said which function names are looked up in
        return {}
    known = places(func)
    loops = {loop_name(func, loop): "loop" for loop in known.loops.values()}
    return loops | {realize.block.name: "block" for realize in known.blocks.values()}


_NAME = "workbench_names"


def complete_in_ipython(kind: type[Cursor]) -> None:
    """Let a running IPython complete the names in calls of `kind`, a class of schedules."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    matchers = getattr(getattr(shell, "Completer", None), "custom_matchers", None)
    if matchers is not None and not any(getattr(m, "__name__", "") == _NAME for m in matchers):
        matcher = _matcher(shell, kind)
        matcher.__name__ = _NAME
        matchers.append(matcher)


def _matcher(shell: Any, kind: type[Cursor]) -> Any:
    """What IPython asks for names, in the form that its version takes."""
    try:
        from IPython.core.completer import SimpleCompletion, context_matcher
    except ImportError:  # before 8.6, as Colab has it

        def older(token: str) -> list[str]:
            begun, names = names_at(shell.Completer.text_until_cursor, shell.user_ns, kind)
            return [token.removesuffix(begun) + name for name in names]

        return older

    @context_matcher()
    def newer(context: Any) -> Any:
        lines = [*context.full_text.split("\n")[: context.cursor_line], context.text_until_cursor]
        begun, names = names_at("\n".join(lines), shell.user_ns, kind)
        completions = [SimpleCompletion(text=name, type=of) for name, of in names.items()]
        # of what is in quotes IPython would otherwise offer files
        return {"completions": completions, "matched_fragment": begun, "suppress": bool(names)}

    return newer
