"""A whole history as pages, every pane of every program, for a lab that works without Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.schedule import Schedule
from workbench.widgets.compare import comparison
from workbench.widgets.page import Desk, every_choice, every_view, page
from workbench.widgets.view import View


def whole(
    cursor: Schedule, view: View, desk: Desk, panes: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    """Traits: every page of the history of `cursor`, and what each step changed.

    `known` are pages by their node, "3", which saves work, and comparisons by their two, "0:3".
    """
    compares = {pair: made for pair, made in known.items() if ":" in pair}
    pages = {}
    for node in cursor.history:
        cursor.goto(node)
        made = page(cursor, view, desk, known.get(str(node.id)))
        for each in every_view(panes):
            made = page(cursor, each, desk, made)
        for each in every_choice(made):
            made = page(cursor, each, desk, made)
        pages[str(node.id)] = {**made, "offers": {}}
        if node.parent is not None:
            pair = f"{node.parent.id}:{node.id}"
            found = comparison(node.parent, node, view, desk)
            compares[pair] = {**compares.get(pair, {}), **found}
    traits = {page_trait(key): made for key, made in pages.items()}
    return traits | {compare_trait(pair): made for pair, made in compares.items()}


def page_trait(node: str) -> str:
    """The trait of the page of a node."""
    return f"page_{node}"


def compare_trait(pair: str) -> str:
    """The trait of the comparison of two nodes, "0:3"."""
    return f"compare_{pair.replace(':', '_')}"
