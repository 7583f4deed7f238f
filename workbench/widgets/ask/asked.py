"""What the browser sends, read with care: anything may stand in a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.diag import Fail
from workbench.widgets.page.view import View, read_view

CHOSEN: Mapping[str, type] = {"at": int, "against": int, "place": str, "view": dict}
"""The traits that the browser may set."""

LONGEST = 500  # characters of what is typed into a form


def chosen(state: Mapping[str, Any], view: Mapping[str, Any]) -> dict[str, Any]:
    """What the browser chose, of what it may choose; a view keeps of `view` what it does not say.

    Raises Fail for what is no choice.
    """
    known = state if isinstance(state, Mapping) else {}
    choice = {name: part(known, name, kind) for name, kind in CHOSEN.items() if name in known}
    if "view" in choice:
        given = {
            key: choice["view"][key] for key in View.__dataclass_fields__ if key in choice["view"]
        }
        choice["view"] = {**view, **given}
        read_view(choice["view"])
    return choice


def part(message: Mapping[str, Any], key: str, kind: type) -> Any:
    """What stands under `key`. Raises Fail where that is missing or of another kind."""
    value = message.get(key) if isinstance(message, Mapping) else None
    if type(value) is not kind:
        raise Fail(
            f"Can't read what the page sent: {key} is {type(value).__name__}, not {kind.__name__}",
            hint="reload the page; the history is kept",
        )
    return value


def typed(message: Mapping[str, Any]) -> dict[str, str | bool]:
    """What stands in the fields of a form. Raises Fail for what cannot be typed or ticked."""
    given = part({"args": {}, **message}, "args", dict)
    for name, value in given.items():
        if not isinstance(value, (str, bool)):
            part(given, name, str)
    return given


def too_long(args: Mapping[str, str | bool]) -> Fail | None:
    """The refusal of a text in `args` that has more characters than a step may be asked by."""
    for name, value in args.items():
        if isinstance(value, str) and len(value) > LONGEST:
            return Fail(
                f"Can't take {name[:40]}: it has {len(value):,} characters",
                hint=f"type at most {LONGEST:,}",
            )
    return None
