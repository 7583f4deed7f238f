"""Numbers of a program at other values on a saved page: each is tried ahead, and can be held there.

A page has no Python to take a step again. So each value that is asked for is tried before the page
is written, as a drag in a lab does it: with the steps after the split taken again, and numbers that
are tied to it following. Nothing of it is in the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any, SupportsIndex, TypeAlias

from workbench.diag import Fail, Refusal
from workbench.history.history import HistoryNode
from workbench.schedule.find import Finder, name_in
from workbench.widgets.ask.session import Session
from workbench.widgets.ask.trying import Trying
from workbench.widgets.page.grips import Grip, grip_of
from workbench.widgets.page.page import every_view

NO_VERBS = ()  # a page splits nothing anew
_SUCH_AS = 'such as to_html(path, vary={"i_2": [4, 8, 16]})'
MOST = 16  # tried programs on a page: each takes about as much of it as one of the history

Vary: TypeAlias = "Mapping[str, Iterable[SupportsIndex]]"
"""By the name of a loop, how often it is to run instead."""

Held: TypeAlias = "dict[str, tuple[Grip, list[int]]]"
"""By the key of a loop, what changes how often it runs, and the values that are tried."""


def held(session: Session, vary: Vary) -> Held:
    """The numbers of the program that is shown, each with other values than its own.

    Raises Fail for a loop that there is not, or whose number no split made, for what is no value of
    it, and for more than `MOST` values.
    """
    if not isinstance(vary, Mapping):
        raise Fail("Can't vary that: it takes the values of a loop by its name", hint=_SUCH_AS)
    node = session.history[session.at]
    found: Held = {}
    for name, values in vary.items():
        key, grip = _grip(session, node, name)
        numbers = _whole(name, values)
        for value in numbers:
            if value not in grip.ways:
                known = ", ".join(map(str, grip.ways))
                raise Fail(
                    f"Can't vary `{name}`: it cannot run {value} times",
                    hint=f"choose of {known}",
                )
        found[key] = grip, sorted({*numbers} - {grip.value})
    many = sum(len(values) for _, values in found.values())
    if many > MOST:
        raise Fail(
            f"Can't try {many} programs for a page: it has room for {MOST}",
            hint="leave some of the values out",
        )
    return found


def _whole(name: str, values: object) -> list[int]:
    """The values of a loop as Python's numbers, whoever's they are: NumPy's, too."""
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise Fail(f"Can't vary `{name}`: {values!r} is no list of numbers", hint=_SUCH_AS)
    found = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):
            raise Fail(
                f"Can't vary `{name}`: a loop runs a whole number of times, not {value!r}",
                hint=_SUCH_AS,
            )
        found.append(index(value))
    return found


def _grip(session: Session, node: HistoryNode, name: object) -> tuple[str, Grip]:
    """The key of the loop of that name, and what changes its number."""
    try:
        _, loop = Finder(node, node.func, "vary").loop(name)
    except Refusal as refused:
        raise Fail(refused.headline, detail=refused.detail, hint=refused.hint) from None
    grip = grip_of(node, loop.loop_var, NO_VERBS)
    if grip is not None:
        return session.desk.keys.of(loop.loop_var), grip
    loops = [var for var in node.places[node.func_name].loops if grip_of(node, var, NO_VERBS)]
    there = dict.fromkeys(name_in([node.places[node.func_name]], var) for var in loops)
    raise Fail(
        f"Can't vary `{name}`: no split made it, with numbers",
        hint=f"there are: {', '.join(there)}" if there else "split it first",
    )


def tries(session: Session, numbers: Held) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `trying.js` shows of the program at other values, and the pictures that it names.

    `grips` are what can be held, as a page has them, and `made` has for each, by its value, what
    would be: the steps in words, the `texts` and `pictures` of all panes, costs; or why not.
    """
    pictures: dict[str, Any] = {}
    made: dict[str, dict[str, Any]] = {}
    trying = Trying(session.desk)  # that of the lab goes on with what a browser tries there
    node = session.history[session.at]
    views = [*every_view(session.state["setup"]["panes"])]
    for key, (_, values) in numbers.items():
        made[key] = {}
        for value in values:
            asked = {"place": key, "value": value}
            told = trying.every(session.cursor, node, views, asked)
            for pane, picture in told.get("pictures", {}).items():
                name = f"tried:{key}={value}:{pane}"
                pictures[name], told["pictures"][pane] = picture, name
            made[key][str(value)] = told
    grips = {
        key: {
            "value": grip.value,
            "values": sorted([grip.value, *values]),
            "step": node.after(grip.step).id,
        }
        for key, (grip, values) in numbers.items()
        if grip.step is not None  # as in all that are held here
    }
    return {"grips": grips, "made": made}, pictures
