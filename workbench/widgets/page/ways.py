"""What each pipeline that a form proposes costs: bytes of shared memory against barriers a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench import draw, insight
from workbench.diag import Fail
from workbench.ir import PrimFunc, Var
from workbench.ir.places import places
from workbench.schedule import Schedule
from workbench.verbs.primitive import REGISTRY
from workbench.widgets.page.at_place import verdicts
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.memo import build, memo
from workbench.widgets.page.question import UNTIL


def told(cursor: Schedule, place: str, desk: Desk) -> list[str]:
    """A line for each pipeline that is possible at the loop `place`, in the order of the form."""
    loop = desk.keys.thing(place)
    found = verdicts(cursor, place, desk, ["pipeline"])
    choices = [choice for verdict in found for choice in verdict.choices]
    return [_line(cursor.func, loop, c, desk) for c in choices if isinstance(loop, Var)]


def _line(func: PrimFunc, loop: Var, choice: Mapping[str, Any], desk: Desk) -> str:
    made = memo(func, ("pipeline", loop, str(choice)), lambda: _taken(func, loop, choice))
    if desk.hides("counts", func, made):
        return UNTIL
    try:
        text = memo(made, ("ahead", loop), lambda: _costs(made, loop))
    except Fail as fail:
        return f"No kernel yet: {fail.headline}"
    if choice.get("async_stages"):
        text += '; on GPUs from sm_80 on, as wb.build(sch, target="nvidia/a100")'
    return text


def _taken(func: PrimFunc, loop: Var, choice: Mapping[str, Any]) -> PrimFunc:
    return REGISTRY["pipeline"].take(func, places(func).loops[loop], **choice).func


def _costs(func: PrimFunc, loop: Var) -> str:
    lowered = draw.lowered_of(func)  # asynchronous copies need another GPU
    return insight.ahead(func, lowered or build(func).lowered, loop).words
