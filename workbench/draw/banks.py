"""The scene of banks: a column for each, a row for each wavefront, in each box the lanes served."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from workbench.draw.scene import (
    Rect,
    Scene,
    Shape,
    Stands,
    Words,
    longest,
    path,
    width_of,
)
from workbench.insight.requests import Lanes, Requests
from workbench.insight.served import Wavefront, wavefronts_of
from workbench.insight.wavefronts import BANKS

WIDE, LEFT = 332.0, 44.0  # px of the scene, which fits a phone; what stands left of the banks
HEAD, LINE = 18.0, 13.0  # px of the numbers of the banks; of a line of words
APART, AIR = 3.0, 1.5  # px between wavefronts; of a letter's own that is blank, and between words
THIN, CLOSE = 4.0, 0.5  # px of a wavefront without words of its own, and between two of these
THIN_ROLES = {"served": "thin-served", "beyond": "thin-beyond"}
EVERY = 36.0  # px from one of these that is told to the next, at least
MARKED = (0, 8, 16, 24, 31)  # banks that are told by number


BEYOND = "Brown boxes are wavefronts beyond the fewest that their bytes need."


@dataclass(frozen=True, slots=True)
class _Grid:
    """Where banks stand in a scene that is so many px wide, and whether its wavefronts are thin."""

    wide: float
    thin: bool = False

    @property
    def high(self) -> float:
        """How high a wavefront is."""
        return THIN if self.thin else LINE + 3

    @property
    def pitch(self) -> float:
        """From one wavefront to the next."""
        return self.high + (CLOSE if self.thin else APART)

    @property
    def each(self) -> float:
        """How wide a bank is."""
        return (self.wide - LEFT - 4) / BANKS

    def x(self, bank: int) -> float:
        return LEFT + bank * self.each


def banks_scene(
    requests: Requests,
    lanes: Lanes,
    chosen: int | None = None,
    wide: float = WIDE,
    thin: bool = False,
) -> Scene:
    """Who is served in which wavefront of a request, its lanes that go together after each other.

    Boxes beyond the wavefronts that the words need, were they spread over the banks, are filled as
    heat is; the lane that is `chosen` stands out. Idle lanes come last. The scene is `wide` px.
    Where it is `thin` all of it is seen at once, and of some wavefronts the words.
    """
    grid = _Grid(wide, thin)
    shapes = [*_heads(grid)]
    number, y, told = 0, HEAD + (THIN if thin else 0), 0.0
    for first, rows in groupby(wavefronts_of(lanes), key=lambda row: row.first):
        these = [*rows]
        last = these[0].last
        if thin:
            y += APART if number else 0
        elif last - first + 1 < len(lanes.addresses):
            shapes.append(Words(f"lanes {first}–{last}", LEFT, y + LINE - 2, "muted", "start"))
            y += LINE + 3
        for row in these:
            number += 1
            is_told = not thin or number == 1 or y - told >= EVERY
            told = y if is_told else told
            shapes += _row(requests, lanes, row, (number, is_told), y, chosen, grid)
            y += grid.pitch
    idle = [lane for lane, address in enumerate(lanes.addresses) if address is None]
    if idle:
        shapes += _idle(idle, y)
        y += LINE + 6
    return Scene(wide, y + 1, tuple(shapes), scrolls=not thin, free=True)


def covered_banks(said: str = "?") -> Scene:
    """The banks alone, and what is `said` of who asks them."""
    grid = _Grid(WIDE)
    box = Rect(LEFT, HEAD, BANKS * grid.each, 2 * LINE, "idle")
    mark = Words(said, grid.x(BANKS // 2), HEAD + LINE + 4)
    return Scene(WIDE, HEAD + 2 * LINE + 2, (*_heads(grid), box, mark), free=True)


def _heads(grid: _Grid) -> Iterator[Shape]:
    yield Words("bank", 0, HEAD - 6, "muted", "start")
    for bank in MARKED:
        yield Words(str(bank), grid.x(bank) + grid.each / 2, HEAD - 6, "muted")


def _row(
    requests: Requests,
    lanes: Lanes,
    row: Wavefront,
    which: tuple[int, bool],
    y: float,
    chosen: int | None,
    grid: _Grid,
) -> list[Shape]:
    """The boxes of a wavefront, below their words; `which` is its number and whether it has any."""
    boxes = [*_boxes(row)]
    (number, is_told), x, high = which, grid.x, grid.high
    ends = [x(start) for start, _, _ in boxes[1:]] + [x(BANKS)]
    lines = [((x(bank), y), (x(bank), y + high)) for bank in range(BANKS + 1)]
    across = [((LEFT, at), (x(BANKS), at)) for at in (y, y + high)]
    shapes: list[Shape] = [path("grid", *lines, *across)]
    if is_told:
        shapes.append(Words(str(number), LEFT - 8, y + high / 2 + 4, "strong", "end"))
    words: list[Words] = []
    free = 0.0
    for box, end in zip(boxes, ends, strict=True):
        start, count, those = box
        of = _stands(requests, lanes, number, box)
        role = "served" if row.needed else "beyond"
        role = "chosen" if chosen in those else THIN_ROLES[role] if grid.thin else role
        rect = Rect(x(start) + 0.5, y + 0.5, count * grid.each - 1, high - 1, role, of)
        shapes.append(rect)
        if is_told and (said := _said(those, rect, end, free, grid)):
            words.append(said._replace(of=of))
            free = _right(said) + (AIR if said.role == "on" else 0)
    return [*shapes, *words]


def _said(lanes: Sequence[int], box: Rect, end: float, free: float, grid: _Grid) -> Words | None:
    """The lanes of a box in it or, up to `end`, beside it, where its row is `free` for them.

    No words are in what is thin.
    """
    left, wide = box.x - 0.5, box.width + 1
    label, inside = _label(lanes, 0 if grid.thin else wide, end - left - wide - 4)
    told = width_of(label)
    begins = left + wide / 2 - told / 2 if inside else left + wide + 3
    if (inside and grid.thin) or begins < free or begins + told > grid.wide:
        return None
    role = "on" if told > wide + AIR or not inside else "words"
    y = box.y + box.height / 2 + 3
    return Words(
        label, left + wide / 2 if inside else begins, y, role, "middle" if inside else "start"
    )


def _right(words: Words) -> float:
    """Where words end."""
    wide = width_of(words.label)
    return words.x + (wide / 2 if words.anchor == "middle" else wide)


Box = tuple[int, int, tuple[int, ...]]
"""Neighbouring banks that serve the same lanes: the first, how many, and the lanes."""


def _boxes(row: Wavefront) -> Iterator[Box]:
    banks = sorted(row.banks)
    start = 0
    for end in range(1, len(banks) + 1):
        first, bank = banks[start], banks[end] if end < len(banks) else -1
        if bank != first + end - start or row.banks[bank] != row.banks[first]:
            yield first, end - start, row.banks[first]
            start = end


def _label(lanes: Sequence[int], box: float, beside: float) -> tuple[str, bool]:
    """The lanes of a box in as many words as there is room for: in it, or `beside` it, up to the
    next, with an arrow to it, since they run over banks that do not serve them.

    The bool says whether they belong in it: their last form does even where it is too wide, and
    stands over the boxes around it wherever these leave it room.
    """
    every, runs = " ".join(map(str, lanes)), runs_text(lanes)
    if line := longest((every, runs), box):
        return line, True
    unit = "lane" if len(lanes) == 1 else "lanes"
    forms = [f"← {unit} {every}", f"← {unit} {runs}", f"← {every}", f"← {runs}"]
    if line := longest([*forms, f"← {len(lanes)} {unit}"], beside):
        return line, False
    return every if len(lanes) == 1 else f"×{len(lanes)}", True


def runs_text(numbers: Sequence[int]) -> str:
    """Numbers that grow, those that follow each other as a span.

    >>> runs_text((0, 1, 2, 3, 8, 10, 11))
    '0–3 8 10 11'
    """
    said: list[str] = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        said += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run)
    return " ".join(said)


def _stands(requests: Requests, lanes: Lanes, wavefront: int, box: Box) -> Stands:
    start, count, those = box
    banks = f"bank {start}" if count == 1 else f"banks {start}–{start + count - 1}"
    who = f"lane {those[0]}" if len(those) == 1 else f"lanes {runs_text(those)}"
    address = lanes.addresses[those[0]]
    one = len({lanes.addresses[lane] for lane in those}) == 1
    where = f", byte {address:,} of {requests.buffer}" if one else f" of {requests.buffer}"
    return Stands(
        requests.buffer,
        thread=lanes.threads[those[0]] if len(those) == 1 else None,
        title=f"wavefront {wavefront}: {banks}: {who}{where}",
        lanes=those,
        served=str(wavefront),
    )


def _idle(lanes: Sequence[int], y: float) -> Iterator[Shape]:
    said = f"idle: {runs_text(lanes)}"
    yield Rect(LEFT, y + 1, min(width_of(said) + 8, WIDE - LEFT), LINE + 3, "idle")
    yield Words(said, LEFT + 4, y + LINE, "muted", "start")
