"""What a lab shows of a program: its open panes, and what is chosen in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.codegen import LANGUAGES
from workbench.diag import Fail

PROGRAM_PANES = ("tensorir", "loops", *LANGUAGES, "code")
COST_PANES = ("sectors", "banks", "occupancy", "timeline", "roofline")
LATER_PANES = (*COST_PANES, "fragments")  # which a lab shows first where it is asked to
MACHINE_PANES = ("who", "memory", "tiles", "pipeline", *LATER_PANES)


@dataclass(frozen=True)
class View:
    """Which panes are open, and what is chosen in them."""

    program: str = "tensorir"
    machine: str = "who"
    buffer: str = ""
    access: str = ""  # whose requests are shown; the worst one where the program has no such one
    select: Mapping[str, int] = field(default_factory=dict)  # of tiles and requests; -1 is all
    level: str = ""  # of the tiling picture; the whole where it has no such one
    place: str = ""
    more: bool = False  # of the verbs
    guess: bool = False  # before the time of each step is shown


def read_view(data: Mapping[str, Any], place: str = "") -> View:
    """The view that the trait of a lab holds, at a place; what it holds besides is left out.

    Raises Fail for a pane that there is not, and for what cannot be chosen.
    """
    for key, there in (("program", PROGRAM_PANES), ("machine", MACHINE_PANES)):
        pane = data.get(key, there[0])
        if pane not in there:
            shown = repr(pane[:40]) if isinstance(pane, str) else f"a {type(pane).__name__}"
            raise Fail(
                f"Can't show {shown} of the {key}: there is no such pane",
                hint=f"there are: {', '.join(there)}",
            )
    select = data.get("select", {})
    plain = isinstance(select, Mapping) and all(type(n) is int for n in select.values())
    if not (
        plain
        and all(type(data.get(name, False)) is bool for name in ("more", "guess"))
        and all(type(data.get(name, "")) is str for name in ("buffer", "level", "access"))
    ):
        raise Fail(
            "Can't show that view: buffer, level and access are names, more and guess are True or "
            "False, and select has a whole number for each axis",
            hint="such as {'buffer': 'C', 'more': False, 'select': {'blockIdx.x': 3}}",
        )
    known = {key: data[key] for key in View.__dataclass_fields__ if key in data}
    return View(**{**known, "place": place})
