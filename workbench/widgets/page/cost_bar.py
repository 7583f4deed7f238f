"""What a program takes by the model: one axis in microseconds, and what its time goes to."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import Any

from workbench import runtime
from workbench.diag import Fail
from workbench.draw import LONG, how_long
from workbench.insight import Modelled, Term
from workbench.insight.launched import UNHIDDEN, us_text
from workbench.ir import Block, PrimFunc
from workbench.runtime import Timing
from workbench.target import get, of_device
from workbench.widgets.page.at_place import touching
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.memo import memo, origin_of, sizes_told
from workbench.widgets.page.modelled_time import is_modelled, modelled_of
from workbench.widgets.page.names import Thing, buffers_of
from workbench.widgets.page.pictures import registers_of, roofline_of

NOTHING: dict[str, Any] = {"waits": "", "text": ""}
FARTHEST = 2  # times what else is on the axis; a guess beyond stands at its end
ROOM = 1.25  # times a guess: its words have room beyond its line
ADDS = (
    f"The time is that of the longest, {UNHIDDEN:.0%} of the others, not hidden behind it, "
    "and what a launch takes by itself. L1 and shared are one memory: their times add up."
)
PARTS = 4  # statements of a resource that are told


def shows_time(desk: Desk, *funcs: PrimFunc | None) -> bool:
    """Whether the lab shows modelled times, and that of one of the programs would not tell."""
    return desk.timed and not desk.hides("time", *funcs)


def is_seen(desk: Desk, func: PrimFunc) -> bool:
    """Whether the lab shows the time of `func`, and that was worked out."""
    return shows_time(desk, func) and is_modelled(desk.at(func), desk.gpu)


def seen_time(desk: Desk, func: PrimFunc) -> Modelled | None:
    """The modelled time of `func` that may be seen; None while it is not worked out, or is none."""
    found = _known(desk.at(func), desk.gpu) if is_seen(desk, func) else None
    return None if found is None or found.us is None else found


def shown_bar(
    desk: Desk,
    before: PrimFunc | None,
    after: PrimFunc,
    measured: float | None = None,
    guessed: float | None = None,
) -> dict[str, Any]:
    """The bar of `after`, with that of `before` behind it, as far as they are worked out.

    On it stands what was `measured`, in µs on such a GPU, else what was recorded, and what was
    `guessed`; the time before goes to the end where it is `beyond` the axis. `waits` is as that of
    costs. There is `text` where there is no time, and says why; nothing where there are no kernels,
    where no time is to be shown, or where it would answer the open question.
    """
    if not shows_time(desk, before, after):
        return NOTHING
    before, after = desk.at(before), desk.at(after)
    funcs = [after] if before is None else [before, after]
    if not all(is_modelled(func, desk.gpu) for func in funcs):
        slow = "time" in desk.slow
        text = "The time is modelled when asked." if slow else ""
        return {"waits": "asked" if slow else "soon", "text": text}
    now = _known(after, desk.gpu)
    if now is None:
        return NOTHING
    if now.us is None:
        return {"waits": "", "text": now.caption}
    was = None if before is None else _known(before, desk.gpu)
    built = [after] if before is None or was is None else [before, after]
    told = [registers_of(one, desk.gpu) for one in built]
    key = ("bar", desk.owner, before, measured, guessed, *told)
    return memo(after, key, lambda: _bar(desk, after, now, was, measured, guessed))


def _known(func: PrimFunc, gpu: str) -> Modelled | None:
    try:
        return modelled_of(func, gpu)
    except Fail:
        return None  # the strip of costs says why


def _bar(
    desk: Desk,
    func: PrimFunc,
    now: Modelled,
    was: Modelled | None,
    measured: float | None,
    guessed: float | None,
) -> dict[str, Any]:
    assert now.us is not None
    ghost = was.us if was is not None else None
    longest, *others = now.terms
    taken = ("measured", measured) if measured else ("recorded", _recorded(func, desk.gpu))
    lines = [
        ("longest", longest.resource, longest.us),
        ("taken", *taken),
        ("roof", "roof", _roof(func, desk.gpu)),
        *(("term", term.resource, term.us) for term in others),
    ]
    known = [(role, name, us) for role, name, us in lines if us]
    wide = _axis(max(now.us, *(us for _, _, us in known)))
    if guessed:
        wide = max(wide, ROOM * min(guessed, FARTHEST * wide))
        known.insert(0, ("guess", "your guess", guessed))
    beside = (("before", ghost), taken, ("guessed", guessed))
    said = "".join(f", {us_text(us)} {name}" for name, us in beside if us)
    sizes = sizes_told(func)
    return {
        "waits": "",
        "text": "",
        "us": us_text(now.us),
        "end": now.us / wide,
        "longest": longest.us / wide,
        "before": None if ghost is None else min(ghost / wide, 1.0),
        "beyond": ghost is not None and ghost > wide,
        "marks": [
            {"role": role, "at": min(us / wide, 1.0), "words": f"{name} {us_text(us)}"}
            for role, name, us in known
        ],
        "about": f"on {get(desk.gpu).title}{sizes and f', {sizes}'}{said}",
        "said": f"{now.caption.rstrip('.')}{said}.",
        "adds": ADDS,
        "kind": now.kind,
        "rows": [_row(desk, func, term, longest.us) for term in now.terms],
    }


def _axis(us: float) -> float:
    """How many µs an axis has that ends beyond `us`: 1, 2 or 5, times a power of ten.

    So steps that take about as long have the same one, and a µs is as long in both.
    """
    power = 10.0 ** floor(log10(us))
    return next(end * power for end in (1, 2, 5, 10) if us <= end * power)


def recorded_times(func: PrimFunc) -> tuple[Timing, ...]:
    """Every recorded time of the program; what is compiled for any size was not recorded."""
    return memo(
        func, "recorded", lambda: runtime.recorded.times(func) if origin_of(func) is func else ()
    )


def _recorded(func: PrimFunc, gpu: str) -> float | None:
    """The µs that the program took on such a GPU, as recorded last."""
    same = [t for t in recorded_times(func) if of_device(t.device).name == gpu]
    return max(same, key=lambda t: t.date).median * 1e6 if same else None


def _roof(func: PrimFunc, name: str) -> float | None:
    """The µs below which no schedule comes: all operations at the peak, every byte moved once.

    From the memory that the arrays stay in from run to run, as the model has it.
    """
    roofs, gpu = roofline_of(func, name), get(name)
    if roofs is None or gpu.l2_bytes is None or gpu.l2_bandwidth is None:
        return None
    speed = roofs.bandwidth if roofs.least_bytes > gpu.l2_bytes else gpu.l2_bandwidth
    return max(roofs.work / roofs.peak, roofs.least_bytes / speed) * 1e6


def _row(desk: Desk, func: PrimFunc, term: Term, longest: float) -> dict[str, Any]:
    """A resource: its time, as a share of the longest too, why, and the statements that ask.

    `share` percent of the hue fill it, as they fill what takes so long in a picture.
    """
    return {
        "name": term.resource,
        "us": us_text(term.us),
        "at": term.us / longest if longest else 0.0,
        "share": LONG[how_long(term.us, longest)].share,
        "much": term.much,
        "words": term.words,
        "parts": [
            {
                "text": part.statement,
                "us": us_text(part.us),
                "keys": statement_keys(desk, func, (part.statement,), part.buffer),
            }
            for part in term.parts[:PARTS]
        ],
    }


def block_of(func: PrimFunc, statement: str, buffer: str) -> Block | None:
    """The block that a statement of a kernel is of, one that loads or stores `buffer`.

    That is the block that writes what the statement stores, the last one where it loads something
    for that; where it stores a value kept of `buffer`, the block that reads this. None where
    statements stand in no block.
    """
    there = {one.name: one for one in buffers_of(func)}
    cell, _, value = statement.partition(" = ")
    if stored := there.get(cell.partition("[")[0]):
        blocks = [b for b in touching(func, stored) if any(r.buffer is stored for r in b.writes)]
        last = "[" in value
    else:
        blocks, last = touching(func, there[buffer]) if buffer in there else [], True
    return blocks[-1 if last else 0] if blocks else None


def statement_keys(desk: Desk, func: PrimFunc, statements: Sequence[str], buffer: str) -> str:
    """What statements of a kernel stand for in the program: their blocks and `buffer`, as keys."""
    func = origin_of(func)
    blocks = (block_of(func, statement, buffer) for statement in statements)
    things: list[Thing] = [*dict.fromkeys(block.id for block in blocks if block is not None)]
    things += [one for one in buffers_of(func) if one.name == buffer]
    return " ".join(desk.keys.of(thing) for thing in things)
