"""What a picture waits for that there is not yet: the step that it names, as a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.ir import PrimFunc
from workbench.widgets.page.desk import Desk


def act_of(pane: Mapping[str, Any] | None, func: PrimFunc, desk: Desk) -> dict[str, Any] | None:
    """The verb, and its place in `func`, that a refused picture, or a pale one, waits for.

    None where nothing is missing, and where no step at a place would do.
    """
    told = (pane or {}).get("act")
    if told is None:
        return None
    verb, place = told["verb"], [*desk.places(func)][told["place"]]
    offered = desk.offered is None or verb in desk.offered
    at = desk.names(func).about[place]["name"]
    return {"verb": verb, "place": place, "at": at, "offered": offered}
