"""What a program loses its modelled time to, each with the verb that would help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench import draw, insight
from workbench.diag import Fail
from workbench.insight import Fault, Why
from workbench.insight.launched import us_text
from workbench.ir import PrimFunc
from workbench.target import get
from workbench.widgets.page.cost_bar import key_of, most_registers, shows_time, statement_keys
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.memo import build, is_known, memo
from workbench.widgets.page.names import Names

FAULTS = 6  # that are told


def why_of(func: PrimFunc) -> Why:
    """What the modelled time is lost to. Raises Fail where there is no valid kernel."""

    def make() -> Why:
        built = build(func, draw.GPU)
        return insight.why(built.kernels, get(draw.GPU), registers=most_registers(func))

    return memo(func, "why", make)


def shown_why(desk: Desk, func: PrimFunc) -> dict[str, Any] | None:
    """The faults of `func`; None while nobody has looked for them, or they would tell."""
    if not shows_time(desk, func) or not is_known(func, "why"):
        return None
    try:
        found = why_of(func)
    except Fail:
        return None

    def make() -> dict[str, Any]:
        names = desk.names(func)
        faults = [_fault(names, func, fault, desk.offered) for fault in found.faults[:FAULTS]]
        return {"text": found.caption, "faults": faults}

    return memo(func, ("faults", desk.owner), make)


def _fault(
    names: Names, func: PrimFunc, fault: Fault, offered: Sequence[str] | None
) -> dict[str, Any]:
    """A fault, where it is, and the form of the verb that would help, where its place is."""
    place = key_of(names, "loop", fault.place) or key_of(names, "buffer", fault.place)
    return {
        "words": f"{fault.words[:1].upper()}{fault.words[1:]}.",
        "gain": us_text(fault.gain),
        "keys": statement_keys(names, func, fault.statement, fault.buffer),
        "verb": fault.verb,
        "place": place,
        "at": fault.place if place else "",
        "offered": offered is None or fault.verb in offered,
    }
