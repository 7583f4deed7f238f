"""The who-does-what picture: cells of a buffer labelled by time step, block and thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from workbench.draw.colours import BLOCKS, block_role
from workbench.draw.picture import Picture
from workbench.draw.scene import (
    Rect,
    Scene,
    Shape,
    Stands,
    Words,
    dot,
    longest,
    path,
    slices,
    standing,
    width_of,
)
from workbench.insight import Cell, Group, Point, Turns, Who

CELLS = (46.0, 51.0, 60.0, 68.0, 77.0)  # px; eight of the narrowest make a line of a lab's pane
EDGE = 2.0  # px of a cell that no text takes
ROW, HEAD = 15.0, 20.0
GAP = 10.0  # px between cells of different blocks
CLOCK = 12.0  # px that the mark of time takes before its words
BOX = 148.0  # the width of a group of cells
ACROSS = 4  # cells in a strip: two strips make the eight of a small program, one fits a phone
MOST = 16  # groups, or threads with nothing to do, drawn before the rest is counted


def who_picture(
    who: Who,
    before: Mapping[tuple[int, ...], str] | None = None,
    asked: tuple[int, ...] | None = None,
    turns: Turns | None = None,
) -> Picture:
    """Who computes each cell: single cells where the buffer is small, else groups of cells.

    Cells whose label differs from `before` are drawn with a thick edge, and the caption says what
    one of them was; the cell `asked` about is ringed. Cells of different blocks stand apart;
    threads that compute none follow as empty frames. `turns` say which statement of the program
    the cells stand for, and which loops.
    """
    if not who.whole or not who.cells:
        return Picture(_groups(who), who.caption + _key(who), who.table, who.kind)
    changed = {c.index for c in who.cells if (before or {}).get(c.index, c.label) != c.label}
    look = _look(who, turns)
    strips = (*_strips(who, look, changed, asked), *_idle(who, look))
    caption = _caption(who, look, changed, before, asked)
    return Picture(strips, caption, who.table, who.kind, look.strips if look.matrix else 0)


def labels_of(who: Who) -> dict[tuple[int, ...], str]:
    """The label of each drawn cell, to compare a later picture with."""
    return {cell.index: cell.label for cell in who.cells}


@dataclass(frozen=True, slots=True)
class _Look:
    """How all cells are drawn: their width, which words at which length, their names and roles.

    A row has `columns` cells, in `strips` strips of `wide` of them.
    """

    width: float
    level: int
    fitting: tuple[int, ...]
    clock: int  # which of the words is a time; -1 if none
    beside: bool  # whether the mark of time has room beside them
    names: dict[Point, str]
    roles: dict[Point, str]
    matrix: bool
    columns: int
    wide: int
    rows: int  # of words in a cell
    turns: Turns | None

    @property
    def strips(self) -> int:
        return -(-self.columns // self.wide)

    @property
    def height(self) -> float:
        below = self.clock in self.fitting and not self.beside
        return HEAD + ROW * self.rows + 8 + CLOCK * below

    def words(self, forms: Sequence[Sequence[str]]) -> list[str]:
        """What a cell says, in as many words as fit all cells."""
        return [_form(forms[k], self.level) for k in self.fitting if k < len(forms)]


def _look(who: Who, turns: Turns | None) -> _Look:
    """The widest words that fit into every cell; what fits in no way is left out."""
    matrix = len(who.shape) > 1 and who.shape[-1] <= 2 * ACROSS
    matrix = matrix and len(who.cells) == prod(who.shape)
    parts = range(len(who.cells[0].forms))
    clock = parts[-1] if "time" in who.labels else -1
    levels = range(1 + max(len(part) for cell in who.cells for part in cell.forms))
    wide = {
        level: [max(_width(_form(cell.forms[part], level)) for cell in who.cells)
                for part in parts]
        for level in levels
    }  # fmt: skip
    tries = [(level, width) for level in levels for width in CELLS]
    if matrix and who.shape[-1] > ACROSS:  # rather shorter words than lines that wrap
        tries.sort(key=lambda one: (one[1], one[0]))
    level, width = next(
        ((lv, w) for lv, w in tries if max(wide[lv]) <= w - EDGE), (levels[-1], CELLS[-1])
    )
    fitting = tuple(k for k, needed in enumerate(wide[level]) if needed <= width - EDGE)
    beside = clock >= 0 and wide[level][clock] + CLOCK <= width - EDGE
    columns = who.shape[-1] if matrix else len(who.cells)
    return _Look(
        width, level, fitting, clock, beside, _names(who, width), _roles(who), matrix,
        columns, -(-columns // -(-columns // ACROSS)) if matrix else min(ACROSS, columns),
        max(sum(1 + _form(c.forms[k], level).count("\n") for k in fitting) for c in who.cells),
        turns,
    )  # fmt: skip


def _names(who: Who, width: float) -> dict[Point, str]:
    """The longest way to write the cells that fits all of them."""
    indices = {c.index: f"[{', '.join(map(str, c.index))}]" for c in who.cells}
    for names in ({index: f"{who.buffer}{text}" for index, text in indices.items()}, indices):
        if max(width_of(name, "name") for name in names.values()) <= width - EDGE:
            return names
    return dict.fromkeys(indices, "")


def _roles(who: Who) -> dict[Point, str]:
    """Blocks have colours; without them a cell is its thread's, which has none, or time's."""
    blocks = _colours([cell.block for cell in who.cells])
    plain = "thread" if "thread" in who.labels else "time" if "time" in who.labels else "box"
    return {c.index: blocks.get(c.block, plain) for c in who.cells}


def _colours(blocks: Sequence[Point | None]) -> dict[Point | None, str]:
    """A colour for each block: all differ up to eight, and beyond those side by side."""
    known = sorted({block for block in blocks if block is not None}, key=lambda p: p[::-1])
    if len(known) <= len(BLOCKS):
        return {block: block_role(k) for k, block in enumerate(known)}
    return {(x, y, z): block_role(x + 3 * y + 5 * z) for x, y, z in known}


def _form(forms: Sequence[str], level: int) -> str:
    """The words of that length; beyond the shortest, those in two lines if they are a span."""
    return forms[level] if level < len(forms) else forms[-1].replace("–", "\n–")


def _width(words: str) -> float:
    return max(map(width_of, words.split("\n")))


def _caption(
    who: Who,
    look: _Look,
    changed: set[Point],
    before: Mapping[tuple[int, ...], str] | None,
    asked: tuple[int, ...] | None,
) -> str:
    """All of one cell: the one asked about, else the one that stands for all, else a changed one.

    With what its short words stand for.
    """
    usual = who.cells[min(5, len(who.cells) - 1)]
    cell = next((c for c in who.cells if c.index == asked), usual)
    if changed and cell.index not in changed and cell.index != asked:
        cell = next(c for c in who.cells if c.index in changed)
    caption = who.told(cell)
    if cell.index in changed and before:
        caption += f" It was “{before[cell.index]}”."
    short = [
        f"“{''.join(words.splitlines())}” stands for {forms[0]}"
        for words, forms in zip(look.words(cell.forms), _fitting(look, cell), strict=True)
        if words != forms[0]
    ]
    caption += f" {'; '.join(short)}." if short else ""
    number = len(who.idle) + who.idle_left_out
    idle = "1 thread computes" if number == 1 else f"{number:,} threads compute"
    return caption + (f" {idle} no cell of {who.buffer}." if number else "")


def _fitting(look: _Look, cell: Cell) -> list[tuple[str, ...]]:
    return [cell.forms[k] for k in look.fitting]


def _key(who: Who) -> str:
    """What the short words of the groups stand for."""
    level = _level(who.groups[:MOST])
    if not who.groups or level in (0, None):
        return ""
    group = who.groups[0]
    return f" “{_form(group.forms, level)}” stands for {group.label}."


def _level(groups: Sequence[Group]) -> int | None:
    """The longest words for the groups that fit all of them; None if none do."""
    for level in range(max((len(group.forms) for group in groups), default=0)):
        forms = [_form(group.forms, level) for group in groups]
        if all(width_of(form, "strong") <= BOX - 10 for form in forms):
            return level
    return None


def _strips(
    who: Who, look: _Look, changed: set[Point], asked: tuple[int, ...] | None
) -> Iterator[Scene]:
    """The cells in the order of the buffer, with gaps where the block changes, and only there."""
    rows = [who.cells[k : k + look.columns] for k in range(0, len(who.cells), look.columns)]
    breaks = {c for row in rows for c in range(1, len(row)) if row[c].block != row[c - 1].block}
    starts = range(0, look.columns, look.wide)
    for r, row in enumerate(rows):
        above = rows[r - 1] if r else row
        y = GAP if any(a.block != b.block for a, b in zip(above, row, strict=True)) else 0.0
        for start in starts:
            shapes: list[Shape] = []
            x = 0.0
            for column, cell in enumerate(row[start : start + look.wide], start):
                shapes += _cell(who, look, cell, x, y)
                inset = 2.5
                for role, told in (("new", cell.index in changed), ("asked", cell.index == asked)):
                    if told:
                        shapes.append(_frame(look, x, y, inset, role))
                        inset += 3
                x += look.width + (GAP if column + 1 in breaks else 0)
            yield Scene(x, y + look.height, tuple(shapes))


def _cell(who: Who, look: _Look, cell: Cell, x: float, y: float) -> list[Shape]:
    name = f"{who.buffer}[{', '.join(map(str, cell.index))}]"
    middle = x + look.width / 2
    shapes: list[Shape] = [
        Rect(x + 1, y + 1, look.width - 2, look.height - 2, look.roles[cell.index], round=3),
        Words(look.names[cell.index], middle, y + 16, "name"),
    ]
    below = y + HEAD + 11
    for part, words in zip(look.fitting, look.words(cell.forms), strict=True):
        timed = part == look.clock
        if timed and look.beside:
            shapes += _clock(middle - _width(words) / 2, below - 4)
        for line in words.split("\n"):
            shapes.append(Words(line, middle + (timed and look.beside) * CLOCK / 2, below))
            below += ROW
        if timed and not look.beside:
            shapes += _clock(middle, below - 5)
    region = tuple((start, 1, 1) for start in cell.index)
    of = Stands(
        who.buffer, region, block=cell.block, thread=cell.thread,
        loops=look.turns.loops if look.turns else (),
        statement=look.turns.stage if look.turns else "", told=f"{name}: {cell.label}",
    )  # fmt: skip
    return standing(of, shapes)


def _frame(look: _Look, x: float, y: float, inset: float, role: str) -> Rect:
    """A frame inside the cell's own edge, so that nothing beside it covers a part."""
    size = look.width - 2 * inset, look.height - 2 * inset
    return Rect(x + inset, y + inset, *size, role, round=3)


def _clock(x: float, y: float) -> list[Shape]:
    """A small clock around (x, y): what is told beside it is a time."""
    hands = path("clock", ((x, y - 2.5), (x, y), (x + 2, y)))
    return [dot(x, y, 4.5, "clock"), hands]


def _idle(who: Who, look: _Look) -> Iterator[Scene]:
    """An empty frame for each thread that computes no cell."""
    shown = who.idle[:MOST]
    for k in range(0, len(shown), ACROSS):
        shapes: list[Shape] = []
        for column, idle in enumerate(shown[k : k + ACROSS]):
            x = column * look.width
            lines = look.words(idle.forms)
            box: list[Shape] = [
                Rect(x + 1, GAP + 1, look.width - 2, look.height - 2, "idle", round=3)
            ]
            box += [Words(line, x + look.width / 2, GAP + HEAD + 11 + ROW * row, "muted")
                    for row, line in enumerate(lines)]  # fmt: skip
            box.append(Words("idle", x + look.width / 2, GAP + 16, "muted"))
            of = Stands(block=idle.block, thread=idle.thread, told=f"{idle.label}: idle")
            shapes += standing(of, box)
        yield Scene(ACROSS * look.width, GAP + look.height, tuple(shapes))
    hidden = len(who.idle) - len(shown) + who.idle_left_out
    if hidden:
        yield _note(f"and {hidden:,} more threads that are idle")


def _groups(who: Who) -> tuple[Scene, ...]:
    drawn = _boxes(who, who.groups[:MOST], who.groups)
    hidden = len(who.groups) - min(len(who.groups), MOST) + who.left_out
    if hidden > 0:
        drawn.append(_note(f"and {hidden} more like these"))
    if who.zoom:
        drawn.append(_note(f"inside {who.groups[0].label}:"))
        drawn += _boxes(who, who.zoom[:ACROSS], who.zoom)
        if len(who.zoom) > ACROSS:
            drawn.append(_note(f"… {who.zoom[-1].label}: {region_text(who.buffer, who.zoom[-1])}"))
    return tuple(drawn)


def _boxes(who: Who, groups: Sequence[Group], of: Sequence[Group]) -> list[Scene]:
    colours = _colours([group.block for group in of])
    level = _level(groups)
    made = []
    for group in groups:
        label = "" if level is None else _form(group.forms, level)
        role = "thread" if group.thread else colours.get(group.block, "time")
        made.append(_group(who, group, label, role))
    return made


def _group(who: Who, group: Group, label: str, role: str) -> Scene:
    cells = "1 cell" if group.cells == 1 else f"{group.cells:,} cells"
    if not group.exact:
        cells += " within"
    region = region_text(who.buffer, group)
    regions = (region, region.removeprefix(who.buffer))
    timed = group.thread is None and group.block is None
    middle = BOX / 2 - 1
    shapes: list[Shape] = [
        Rect(1, 1, BOX - 4, 54, role, round=3),
        Words(label, middle + timed * CLOCK / 2, 16, "strong"),
        Words(cells, middle, 32, "muted"),
        Words(longest(regions, BOX - 8, "code"), middle, 48, "code"),
    ]
    if timed and label:
        shapes += _clock(middle - width_of(label, "strong") / 2, 12)
    told = f"{group.label}: {region}"
    of = Stands(who.buffer, group.region, block=group.block, thread=group.thread, told=told)
    return Scene(BOX, 57, tuple(standing(of, shapes)))


def _note(words: str) -> Scene:
    line = Words(words, 4, 16, "muted", "start")
    return Scene(max(width_of(words) + 8, BOX), 24, (line,))


def region_text(buffer: str, group: Group) -> str:
    """The cells of a group as one writes them: C[128:256], C[0:1024:256]."""
    return f"{buffer}[{slices(group.region)}]"
