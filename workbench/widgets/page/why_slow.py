"""What a program loses its modelled time to, each with the verb that would help."""

from __future__ import annotations

from typing import Any

from workbench import insight
from workbench.diag import Fail
from workbench.insight import Fault, Why
from workbench.insight.launched import us_text
from workbench.ir import PrimFunc
from workbench.ir.places import places
from workbench.target import get
from workbench.widgets.page.cost_bar import block_of, shows_time, statement_keys
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.memo import build, is_known, memo, origin_of
from workbench.widgets.page.modelled_time import Registers
from workbench.widgets.page.names import buffers_of
from workbench.widgets.page.pictures import registers_of

FAULTS = 6  # that are told


def why_of(func: PrimFunc, gpu: str) -> Why:
    """What the modelled time is lost to, as `modelled_of` has it.

    Raises Fail where there is no valid kernel.
    """
    known, told = memo(func, _name(gpu), dict[Registers, Why]), registers_of(func, gpu)
    if told not in known:
        built = build(func, gpu)
        known[told] = insight.why(built.kernels, get(gpu), registers=told)
    return known[told]


def _name(gpu: str) -> str:
    return f"why on {gpu}"


def shown_why(desk: Desk, func: PrimFunc) -> dict[str, Any] | None:
    """The faults of `func`; None while nobody has looked for them, or they would tell."""
    shown, func = shows_time(desk, func), desk.at(func)
    if not shown or not is_known(func, _name(desk.gpu)):
        return None
    try:
        found = why_of(func, desk.gpu)
    except Fail:
        return None

    def make() -> dict[str, Any]:
        faults = [_fault(desk, func, fault) for fault in found.faults[:FAULTS]]
        return {"text": found.caption, "faults": faults}

    return memo(func, ("faults", desk.owner, registers_of(func, desk.gpu)), make)


def _fault(desk: Desk, func: PrimFunc, fault: Fault) -> dict[str, Any]:
    """A fault, where it is, and the form of the verb that would help, where its place is."""
    place = "" if fault.undo else place_of(desk, func, fault)
    return {
        "words": f"{fault.words[:1].upper()}{fault.words[1:]}.",
        "gain": us_text(fault.gain),
        "keys": statement_keys(desk, func, fault.statements or ("",), fault.buffer),
        "verb": fault.verb,
        "help": fault.help,
        "place": place,
        "at": fault.place if place else "",
        "offered": desk.offered is None or fault.verb in desk.offered,
    }


def place_of(desk: Desk, func: PrimFunc, fault: Fault) -> str:
    """The key of the loop or buffer that a fault names: of loops of one name, one of its block."""
    func = origin_of(func)
    known, statement = places(func), next(iter(fault.statements), "")
    block = block_of(func, statement, fault.buffer)
    around = known.loops_above(known.blocks[block.id]) if block else ()
    loops = (loop.loop_var for loop in (*around, *known.loops.values()))
    named = (one for one in (*loops, *buffers_of(func)) if one.name == fault.place)
    return next((desk.keys.of(one) for one in named), "")
