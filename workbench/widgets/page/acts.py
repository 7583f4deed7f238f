"""What a picture waits for that there is not yet: the step that its refusal names, as a form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.ir import PrimFunc
from workbench.verbs.primitive import REGISTRY
from workbench.widgets.page.desk import Desk

CALL = re.compile(r'\bsch\.(\w+)\("([^"]+)"')


def act_of(pane: Mapping[str, Any] | None, func: PrimFunc, desk: Desk) -> dict[str, Any] | None:
    """The verb, and its place in `func`, of the first call in the hint of a refused picture.

    None where there is a picture, and where the hint has no call of a verb at a place.
    """
    refused = (pane or {}).get("refusal")
    found = CALL.search(refused["hint"]) if refused else None
    if found is None or found[1] not in REGISTRY:
        return None
    verb, name = found.groups()
    about = desk.names(func).about
    place = next((key for key, thing in about.items() if thing["name"] == name), "")
    offered = desk.offered is None or verb in desk.offered
    return {"verb": verb, "place": place, "at": name, "offered": offered} if place else None
