"""A whole history as pages, every pane of every program, for a lab that works without Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from workbench.diag import Fail
from workbench.history.history import History, HistoryNode
from workbench.schedule import Schedule
from workbench.widgets.ask.steps import stand
from workbench.widgets.page.compare import compare_trait, comparison, functions
from workbench.widgets.page.costs import count
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.page import every_view, node_picture, page, page_trait
from workbench.widgets.page.pictures import selection_of, slid_pane, slides_to
from workbench.widgets.page.view import View
from workbench.widgets.still.in_time import levels_in_time


def whole(
    cursor: Schedule,
    view: View,
    desk: Desk,
    panes: Mapping[str, Any],
    known: Mapping[str, Any],
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Traits: every page of the history of `cursor`, and what each step, or drag, changed.

    Of the traits that are `known`, pages save work, and comparisons stay beside those of steps,
    but for those from before the question was answered.
    """
    compares = {
        name: made
        for name, made in known.items()
        if name.startswith(compare_trait("")) and _is_still(name, made, cursor.history, desk)
    }
    view = replace(view, place="")  # what can be done there is not offered without Python
    pages = {}
    for done, node in enumerate(cursor.history):
        progress(done, len(cursor.history))
        stand(cursor, node)
        if not desk.hides("counts", node.func, node.before):
            with suppress(Fail):  # the strip tells why
                count(desk.at(node.func), desk.counted)
        name = page_trait(str(node.id))
        made = page(cursor, view, desk, known.get(name))
        chosen = made["shown"]
        for each in every_view(panes):
            made = page(cursor, each, desk, made)
        shown = made["shown"] | chosen
        pictures = {**made["pictures"], **_chosen(made, desk, node)}
        if not desk.hides("counts", node.func, desk.before(node)):
            made["nearer"], pictured = levels_in_time(node, desk)
            pictures |= pictured
        pages[name] = {**made, "pictures": pictures, "shown": shown, "places": [], "offers": {}}
        drag = desk.dragged.get(node.id)
        for before in (node.parent, drag and drag.start):
            if before is None:
                continue
            pair = compare_trait(f"{before.id}:{node.id}")
            compared = comparison(before, node, view, desk)
            compares[pair] = {**compares.get(pair, {}), **compared}
    return pages | compares


def _is_still(name: str, made: Mapping[str, Any], history: History, desk: Desk) -> bool:
    """Whether a comparison hides what the open questions want hidden, and no more."""
    a, b = (history[int(number)] for number in name.removeprefix(compare_trait("")).split("_"))
    return bool(made["open"] == desk.waiting(*functions(a, b)))


def _chosen(made: Mapping[str, Any], desk: Desk, node: HistoryNode) -> dict[str, dict[str, Any]]:
    """Every picture that can be chosen on a page where all panes are `made`.

    One that slides has the same shapes for many values of its axes: it is drawn for one of them.
    """
    pictures = dict(made["pictures"])
    stops = [stop for axis in made["axes"] for stop in axis["stops"]]
    levels = [level for level in made["levels"] if level["picture"]]
    accesses = [one for found in made["requests"].values() for one in found]
    costs = [cost for one in accesses for cost in one["costs"] or [one]]
    for choice in (*made["buffers"], *stops, *levels, *costs):
        name = choice["picture"]
        if name in pictures:
            continue
        tiles = selection_of(name) if name.startswith("tiles:") else {}
        like = next((one for one in pictures.values() if tiles and slides_to(one, tiles)), None)
        pictures[name] = (
            slid_pane(name, desk.at(node.func), like) if like else node_picture(name, desk, node)
        )
    return pictures
