"""What each pipeline that a form proposes costs: bytes of shared memory against barriers a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench import insight
from workbench.diag import Fail
from workbench.ir import PrimFunc, Var
from workbench.ir.places import places
from workbench.runtime.building import REFUSED
from workbench.schedule import Schedule
from workbench.script.writer import string
from workbench.verbs.primitive import REGISTRY
from workbench.widgets.page.at_place import verdicts
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.memo import FIRST, build, memo
from workbench.widgets.page.question import UNTIL

ASYNC = "nvidia/a100"  # the first GPU that has asynchronous copies


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
    apart = bool(choice.get("async_stages"))
    try:
        lowered = build(made, ASYNC if apart else FIRST).lowered
    except Fail as fail:
        return f"No kernel yet: {fail.headline.removeprefix(REFUSED)}"
    text = memo(made, ("ahead", loop), lambda: insight.ahead(made, lowered, loop).words)
    return text + (f"; on GPUs from sm_80 on, as wb.build(sch, target={string(ASYNC)})" * apart)


def _taken(func: PrimFunc, loop: Var, choice: Mapping[str, Any]) -> PrimFunc:
    return REGISTRY["pipeline"].take(func, places(func).loops[loop], **choice).func
