"""A whole history as pages, every pane of every program, for a lab that works without Python."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from workbench.diag import Fail
from workbench.schedule import Schedule
from workbench.widgets.compare import comparison
from workbench.widgets.costs import count
from workbench.widgets.page import Desk, every_choice, every_view, page
from workbench.widgets.view import View


def whole(
    cursor: Schedule, view: View, desk: Desk, panes: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Traits: every page of the history of `cursor`, and what each step changed.

    Of the traits that are `known`, pages save work, and comparisons stay beside those of steps,
    but for those from before the question was answered.
    """
    compares = {
        name: made
        for name, made in known.items()
        if name.startswith(compare_trait("")) and made["open"] == desk.open
    }
    pages = {}
    for node in cursor.history:
        cursor.goto(node)
        if not desk.hides("counts", node.func, node.before):
            with suppress(Fail):  # the strip tells why
                count(node.func)
        name = page_trait(str(node.id))
        made = page(cursor, view, desk, known.get(name))
        chosen = made["shown"]
        for each in every_view(panes):
            made = page(cursor, each, desk, made)
        shown = made["shown"] | chosen
        for each in every_choice(made):
            made = page(cursor, each, desk, made)
        pages[name] = {**made, "shown": shown, "places": [], "offers": {}}
        if node.parent is not None:
            pair = compare_trait(f"{node.parent.id}:{node.id}")
            found = comparison(node.parent, node, view, desk)
            compares[pair] = {**compares.get(pair, {}), **found}
    return pages | compares


def page_trait(node: str) -> str:
    """The trait of the page of a node."""
    return f"page_{node}"


def compare_trait(pair: str) -> str:
    """The trait of the comparison of two nodes, "0:3"."""
    return f"compare_{pair.replace(':', '_')}"
