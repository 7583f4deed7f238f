"""What a picture waits for that there is not yet: the step that it names, as a form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.ir import PrimFunc
from workbench.verbs.primitive import REGISTRY
from workbench.widgets.page.desk import Desk

CALL = re.compile(r'\bsch\.(\w+)\("([^"]+)"')  # in the hint of a refusal
TAKE = re.compile(r"^Take `(\w+)` at `([^`]+)`", re.MULTILINE)  # in what is said of a pale picture


def act_of(pane: Mapping[str, Any] | None, func: PrimFunc, desk: Desk) -> dict[str, Any] | None:
    """The verb, and its place in `func`, that the hint of a refused picture calls, or a pale takes.

    None where nothing is missing, and where no verb is named at a place.
    """
    pane = pane or {}
    refused = pane.get("refusal")
    said = pane.get("full") or pane.get("caption", "")
    found = CALL.search(refused["hint"]) if refused else TAKE.search(said)
    if found is None or found[1] not in REGISTRY:
        return None
    verb, name = found.groups()
    about = desk.names(func).about
    place = next((key for key, thing in about.items() if thing["name"] == name), "")
    offered = desk.offered is None or verb in desk.offered
    return {"verb": verb, "place": place, "at": name, "offered": offered} if place else None
