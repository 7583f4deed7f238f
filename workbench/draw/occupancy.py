"""The picture of occupancy: a multiprocessor as four bars of blocks, and the waves of a launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from workbench.diag import count_text, size_text
from workbench.draw.picture import Picture
from workbench.draw.scene import Rect, Scene, Shape, Stands, Words, longest, standing, width_of
from workbench.insight import Limit, Occupancy, Table
from workbench.insight.occupancy import Span
from workbench.target import get

WIDE = 332.0  # px of a strip, which fits a phone
LINE, BAR, APART = 15.0, 16.0, 8.0  # px: words over a bar, the bar, and what is between bars
CELL, NUMBERS = 12.0, 26.0  # px: the height of a multiprocessor in a wave; of the wave's number
LOWEST = 2.0  # px of blocks on a multiprocessor
NAMES = {"blocks": "block slots", "bytes of shared memory": "shared memory"}
LAUNCH = "blocks of the launch"
NONE = "How many blocks a multiprocessor holds is not known of this GPU."
LEGEND = "Each bar is all that a multiprocessor has of one thing, each box what a block takes of it"
KEY = "filled: blocks that are there; hollow: room for more"
FORMS = range(3)  # the first with all words; the others without the key, each with shorter words


def occupancy_picture(found: Sequence[Occupancy | None]) -> Picture:
    """A strip for each kernel: what its blocks take of a multiprocessor, and in which waves.

    Before a compiler has told registers, a block takes at least what is drawn of them, and at most
    what is dotted.
    """
    known = [one for one in found if one is not None]
    if not known:
        return Picture((), NONE, Table(("kernel",), ()), "modelled")
    strips, *low = (
        tuple(_strip(one, len(known) > 1, one is known[-1], form) for one in known)
        for form in FORMS
    )
    tight = min(known, key=lambda one: one.fraction)
    rows = tuple((one.kernel, *row) for one in known for row in one.table.rows)
    table = Table(("kernel", *known[0].table.columns), rows)
    full = "\n".join([*(one.caption for one in known), f"{LEGEND}; {KEY}."])
    return Picture(strips, _caption(tight), table, "modelled", full=full, low=tuple(low))


def covered_occupancy() -> Scene:
    """The bars alone, and "?" for what blocks take of them."""
    shapes: list[Shape] = []
    for k, name in enumerate(("warps", "block slots", "shared memory", "registers")):
        y = k * (LINE + BAR + APART)
        shapes += [
            Words(name, 1, y + LINE - 4, "words", "start"),
            Rect(1, y + LINE, WIDE - 2, BAR, "idle"),
            Words("?", WIDE / 2, y + LINE + BAR - 4),
        ]
    return Scene(WIDE, 4 * (LINE + BAR + APART), tuple(shapes), free=True)


def _caption(one: Occupancy) -> str:
    low, high = (f"{100 * part:.2g}%" if part < 0.01 else f"{part:.0%}" for part in one.fraction)
    full = low if low == high else f"{low} to {high}"
    why = f"limited by {NAMES.get(one.limited_by, one.limited_by)}"
    if not one.limited_by:
        why = "a compiler decides"
    elif one.limited_by == LAUNCH:  # whether that is a fault the waves tell
        why = f"{count_text(one.blocks, 'block')} for {one.multiprocessors} multiprocessors"
    used, lanes = one.lanes
    idle = f"{lanes - used} of {lanes} lanes have no thread; " if used < lanes else ""
    return f"{idle}{get(one.target).title}: {full} of its warps are there; {why}."


def _strip(one: Occupancy, named: bool, last: bool, form: int) -> Scene:
    shapes: list[Shape] = []
    y = 0.0
    if named:
        shapes.append(Words(one.kernel, 1, LINE - 3, "name", "start"))
        y += LINE + 3
    for limit in one.limits:
        shapes += _bar(one, limit, y, form)
        y += LINE + BAR + APART
    if one.waves[0]:
        for shape, bottom in _waves(one, y, form):
            shapes.append(shape)
            y = max(y, bottom)
    if last and form == FORMS[0]:
        shapes.append(Words(KEY, 1, y + LINE - 2, "muted", "start"))
        y += LINE
    return Scene(WIDE, y + 2, tuple(shapes), free=True)


def residents(one: Occupancy) -> Span:
    """How many blocks the fullest multiprocessor holds at once: surely, and at most."""
    low, high = zip(one.room, map(ceil, one.blocks_per_sm), strict=True)
    return min(low), min(high)


def _bar(one: Occupancy, limit: Limit, y: float, form: int) -> Iterator[Shape]:
    """What blocks take of one resource: of those that are there, and of those that have room."""
    limiting = one.limited_by == limit.resource
    name = NAMES.get(limit.resource, limit.resource)
    label, role = (f"{name}: the limit", "strong") if limiting else (name, "words")
    yield Words(label, 1, y + LINE - 4, role, "start")
    room = WIDE - width_of(label, role) - 6
    needed = longest([*_needed(one, limit)][form:], room, "muted")
    yield Words(needed, WIDE - 1, y + LINE - 4, "muted", "end")
    low, high = sorted(limit.needed)
    y += LINE
    wide, (there, most) = (WIDE - 2) * low / limit.available, residents(one)
    shapes: list[Shape] = [Rect(1, y, WIDE - 2, BAR, "room")]
    if high != low:
        end = min((WIDE - 2) * high / limit.available * there, WIDE - 2)
        shapes.append(Rect(1, y, end, BAR, "idle"))
    for k in range(max(limit.blocks) if high == low else there):
        role = "used" if k < there else "unused"
        if k < there or wide >= 2:
            shapes.append(Rect(1 + k * wide, y + 1, max(wide - 0.5, 0.5), BAR - 2, role))
    room_text, are = _counted(limit.blocks, "block"), "is" if most == 1 else "are"
    title = f"{name}: room for {room_text}, {_span((there, most))} {are} there"
    yield from standing(Stands(title=title), shapes)


def _needed(one: Occupancy, limit: Limit) -> Iterator[str]:
    """What a block takes, in ever fewer words, and what of it is not as a program has it."""
    told = size_text if "bytes" in limit.resource else "{:,}".format
    low, high = (told(end) for end in sorted(limit.needed))
    needed = low if low == high else f"{low} to {high}"
    of, used, partly, more = f"of {told(limit.available)}", one.lanes, "", needed
    if limit.resource == "warps" and used[0] < used[1]:
        partly = f"{used[0]} of {used[1]} lanes; "
    elif limit.resource == "registers":
        more = f"{needed} ({_span(one.registers)} a thread)"
    elif limit.reserved:
        more = f"{told(limit.needed[0] - limit.reserved)} + {told(limit.reserved)} reserved"
    yield f"{partly}a block takes {more} {of}"
    yield f"{partly}{more} {of}"
    yield f"{partly}{needed} {of}"


def _span(span: tuple[int, int]) -> str:
    low, high = sorted(span)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _counted(span: Span, noun: str) -> str:
    low, high = span
    return count_text(low, noun) if low == high else f"{_span(span)} {noun}s"


def _waves(one: Occupancy, y: float, form: int) -> Iterator[tuple[Shape, float]]:
    """The first wave and the last: a box a multiprocessor, filled as far as it has blocks."""
    count, room = one.multiprocessors, one.room[0]
    low, high = (max(ceil(round(n, 9)), 1) for n in one.waves)
    waves, blocks = _counted((low, high), "wave"), count_text(one.blocks, "block")
    heads = [f"{blocks} on {count} multiprocessors: {waves}", f"{blocks}: {waves}"]
    head = longest(heads[min(form, 1) :], WIDE, "words")
    yield Words(head, 1, y + LINE - 4, "words", "start"), y + LINE
    y += LINE
    for wave in sorted({0, (high if low == high else 1) - 1}):
        left = one.blocks - wave * count * room
        yield from ((shape, y + CELL + 4) for shape in _wave(count, room, wave, left, y))
        y += CELL + 4


def _wave(count: int, room: int, wave: int, left: int, y: float) -> Iterator[Shape]:
    """The multiprocessors of a wave in which so many blocks are `left`, with those that they take.

    Blocks are handed out in turn, one each.
    """
    wide = (WIDE - NUMBERS - 1) / count
    placed = min(left, count * room)
    shapes: list[Shape] = [Words(f"{wave + 1:,}", NUMBERS - 4, y + CELL - 2, "muted", "end")]
    for number in range(count):
        blocks = placed // count + (number < placed % count)
        high = max(CELL * min(blocks / room, 1), LOWEST)
        x = NUMBERS + number * wide
        if blocks:
            shapes.append(Rect(x, y + CELL - high, wide, high, "used"))
        shapes.append(Rect(x, y, wide, CELL, "grid"))
    busy = min(placed, count)
    title = f"wave {wave + 1}: {busy} of {count} multiprocessors work"
    yield from standing(Stands(title=title), shapes)
