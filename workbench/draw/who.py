"""The who-does-what picture: cells of a buffer labelled by time step, block and thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from workbench.diag import count_text
from workbench.draw.colours import block_role
from workbench.draw.matrix import (
    CLOCK,
    EDGE,
    WIDE,
    Matrix,
    cell_role,
    matrix_of,
    matrix_scene,
    stands_for,
)
from workbench.draw.nest import Nest, nest_of, nest_scene
from workbench.draw.picture import Picture
from workbench.draw.scene import (
    Rect,
    Scene,
    Shape,
    Stands,
    Words,
    longest,
    slices,
    standing,
    width_of,
)
from workbench.draw.stretches import stretched_scenes
from workbench.insight import Cell, Group, Point, Turns, Who
from workbench.insight.who_groups import MOST_GROUPS

CELLS = (46.0, 51.0, 60.0, 70.0, 82.0)  # px
ROW, HEAD = 15.0, 22.0
FRAMES = 12.0  # px that two frames take of a cell's width
GAP = 10.0  # px between cells of different blocks
MARK = width_of(f"{CLOCK} ")  # px that the mark of time takes before its words
BOX, NOTE = 57.0, 24.0  # the heights of a group of cells, and of a line of words
COUNT = 16.0  # of how many cells a group has
FRAME = 12.0  # px of a thread without a cell, where there are few words
ACROSS = 4  # cells in a strip: two strips make the eight of a small program, one fits a phone
ROWS, ROWS_ABOVE = 4, 2  # of groups; above the threads of one of them. Others are counted
FEW = 8, 5, 3  # groups in panes that are small

NO_LOOPS: Mapping[str, Sequence[str]] = {}


def who_picture(
    who: Who,
    before: Mapping[tuple[int, ...], str] | None = None,
    asked: tuple[int, ...] | None = None,
    turns: Turns | None = None,
    loops: Mapping[str, Sequence[str]] = NO_LOOPS,
) -> Picture:
    """Who computes each cell: single cells where the buffer is small, else groups of cells.

    Cells whose label differs from `before` have the edge of what came, and the caption says what
    one of them was; the cell `asked` about is chosen. Cells of different blocks stand apart, as do
    those of turns of a loop around others; threads that compute none follow as empty frames.
    `turns` say which statement of the program the cells stand for, and which loops; `loops` are
    those that each axis is bound to, by its name, which groups stand for.
    """
    if not who.whole or not who.cells:
        caption = who.caption + _key(who) + _resting(who)
        of = {unit: _bound(unit, turns, loops) for unit in ("block", "thread")}
        low = tuple((_groups(who, of, few),) for few in FEW)
        return Picture((_groups(who, of, None),), caption, who.table, who.kind, low=low)
    changed = {c.index for c in who.cells if (before or {}).get(c.index, c.label) != c.label}
    roles = _roles(who)
    matrix = matrix_of(who, roles, turns)
    if matrix is not None:
        caption = _caption(who, matrix, changed, before, asked)
        scene = matrix_scene(matrix, changed, asked)
        stretched = stretched_scenes(matrix, changed, asked) if matrix.said else ()
        told = tuple((one, *_few_idle(who)) for one in stretched)
        return Picture((scene, *_idle(who)), caption, who.table, who.kind, 1, low=told)
    nest = nest_of(who, turns, loops)
    if nest is not None:
        caption = _caption(who, nest, changed, before, asked) + nest.legend
        scene = nest_scene(nest, roles, changed, asked)
        return Picture((scene, *_idle(who)), caption, who.table, who.kind)
    look = _look(who, roles, turns)
    strips = (*_strips(who, look, changed, asked), *_idle(who))
    return Picture(strips, _caption(who, look, changed, before, asked), who.table, who.kind)


def labels_of(who: Who) -> dict[tuple[int, ...], str]:
    """The label of each drawn cell, to compare a later picture with."""
    return {cell.index: cell.label for cell in who.cells}


@dataclass(frozen=True, slots=True)
class _Look:
    """How cells in a line are drawn: their width, which words at which length, names and roles."""

    width: float
    level: int
    fitting: tuple[int, ...]
    clock: int  # which of the words is a time; -1 if none
    beside: bool  # whether the mark of time has room beside them
    names: dict[Point, str]
    roles: dict[Point, str]
    rows: int  # of words in a cell
    turns: Turns | None

    @property
    def height(self) -> float:
        below = self.clock in self.fitting and not self.beside
        return HEAD + ROW * self.rows + 8 + ROW * below

    def words(self, cell: Cell) -> list[str]:
        """What a cell says, in as many words as fit all cells."""
        return [_form(cell.forms[k], self.level) for k in self.fitting]

    def whole(self, cell: Cell) -> list[str]:
        """The same in full."""
        return [cell.forms[k][0] for k in self.fitting]


def _look(who: Who, roles: dict[Point, str], turns: Turns | None) -> _Look:
    """The widest words that fit into every cell; what fits in no way is left out."""
    parts = range(len(who.cells[0].forms))
    clock = parts[-1] if "time" in who.labels else -1
    levels = range(1 + max(len(part) for cell in who.cells for part in cell.forms))

    def widest(part: int, level: int) -> float:
        return max(_width(_form(cell.forms[part], level)) for cell in who.cells)

    wide = {level: [widest(part, level) for part in parts] for level in levels}
    tries = ((level, width) for level in levels for width in CELLS)
    level, width = next(
        ((lv, w) for lv, w in tries if max(wide[lv]) <= w - FRAMES), (levels[-1], CELLS[-1])
    )
    fitting = tuple(k for k, needed in enumerate(wide[level]) if needed <= width - FRAMES)
    beside = clock >= 0 and wide[level][clock] + MARK <= width - FRAMES
    rows = max(sum(1 + _form(c.forms[k], level).count("\n") for k in fitting) for c in who.cells)
    return _Look(width, level, fitting, clock, beside, _names(who, width), roles, rows, turns)


def _names(who: Who, width: float) -> dict[Point, str]:
    """The longest way to write the cells that fits all of them."""
    indices = {c.index: f"[{', '.join(map(str, c.index))}]" for c in who.cells}
    for names in ({index: f"{who.buffer}{text}" for index, text in indices.items()}, indices):
        if max(width_of(name, "name") for name in names.values()) <= width - FRAMES:
            return names
    return dict.fromkeys(indices, "")


def _roles(who: Who) -> dict[Point, str]:
    """Blocks have colours; without them a cell is its thread's, which has none, or time's."""
    plain = "thread" if "thread" in who.labels else "time" if "time" in who.labels else "box"
    return {c.index: block_role(sum(c.block)) if c.block else plain for c in who.cells}


def _form(forms: Sequence[str], level: int) -> str:
    """The words of that length; beyond the shortest, those in two lines if they are a span."""
    return forms[level] if level < len(forms) else forms[-1].replace("–", "\n–")


def _width(words: str) -> float:
    return max(map(width_of, words.split("\n")))


def _caption(
    who: Who,
    look: _Look | Matrix | Nest,
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
    caption = who.sentence(cell)
    if cell.index in changed and before:
        caption += f" It was “{before[cell.index]}”."
    short = [
        f"“{''.join(words.splitlines())}” stands for {full}"
        for words, full in zip(look.words(cell), look.whole(cell), strict=True)
        if words != full
    ]
    caption += f" {'; '.join(short)}." if short else ""
    return caption + _resting(who)


def _resting(who: Who) -> str:
    """How many threads compute no cell, in a sentence: they may load all the same."""
    number = len(who.idle) + who.idle_left_out
    idle = "1 thread computes" if number == 1 else f"{number:,} threads compute"
    return f" {idle} no cell of {who.buffer}." if number else ""


def _key(who: Who) -> str:
    """What the short words of the groups stand for."""
    columns = _columns(who)
    level = _level(_drawn(who, columns), WIDE / columns - EDGE)
    if not who.groups or level in (0, None):
        return ""
    group = who.groups[0]
    return f" “{_form(group.forms, level)}” stands for {group.label}."


def _level(groups: Sequence[Group], room: float) -> int | None:
    """The longest words for the groups that fit all of them into that; None if none do."""
    for level in range(max((len(group.forms) for group in groups), default=0)):
        forms = [_form(group.forms, level) for group in groups]
        if all(width_of(form, "strong") <= room for form in forms):
            return level
    return None


def _strips(
    who: Who, look: _Look, changed: set[Point], asked: tuple[int, ...] | None
) -> Iterator[Scene]:
    """The cells in the order of the buffer, with gaps where the block changes, and only there."""
    for start in range(0, len(who.cells), ACROSS):
        shapes: list[Shape] = []
        x, before = 0.0, who.cells[start].block
        for cell in who.cells[start : start + ACROSS]:
            x += GAP if cell.block != before else 0
            before = cell.block
            role = cell_role(look.roles[cell.index], cell.index in changed, cell.index == asked)
            shapes += _cell(who, look, cell, x, role)
            x += look.width
        following = who.cells[start + ACROSS : start + ACROSS + 1]
        x += GAP if following and following[0].block != before else 0
        yield Scene(x, look.height, tuple(shapes), free=True)


def _cell(who: Who, look: _Look, cell: Cell, x: float, role: str) -> list[Shape]:
    name = f"{who.buffer}[{', '.join(map(str, cell.index))}]"
    middle = x + look.width / 2
    shapes: list[Shape] = [
        Rect(x + 1, 1, look.width - 2, look.height - 2, role),
        Words(look.names[cell.index], middle, 18, "name"),
    ]
    below = HEAD + 11
    for part, words in zip(look.fitting, look.words(cell), strict=True):
        timed = part == look.clock
        for line in (f"{CLOCK} {words}" if timed and look.beside else words).split("\n"):
            shapes.append(Words(line, middle, below))
            below += ROW
        if timed and not look.beside:
            shapes.append(Words(CLOCK, middle, below))
    return standing(stands_for(who, cell, look.turns, f"{name}: {cell.label}"), shapes)


def _idle(who: Who) -> Iterator[Scene]:
    """An empty frame for each thread that computes no cell: a line of them, the rest counted."""
    if not who.idle:
        return
    parts = [("no cell", *(forms[-1] for forms in idle.forms)) for idle in who.idle]
    wide = max(width_of(words) for lines in parts for words in lines) + EDGE
    high, across = ROW * max(map(len, parts)) + 8, int(WIDE // wide)
    shapes: list[Shape] = []
    for column, (idle, lines) in enumerate(zip(who.idle[:across], parts, strict=False)):
        x = column * wide
        box: list[Shape] = [Rect(x + 1, GAP + 1, wide - 2, high - 2, "idle")]
        box += [
            Words(line, x + wide / 2, GAP + ROW * (row + 1) + 1, "muted")
            for row, line in enumerate(lines)
        ]
        of = Stands(block=idle.block, thread=idle.thread, title=f"{idle.label}: no cell")
        shapes += standing(of, box)
    yield Scene(min(len(parts), across) * wide, GAP + high, tuple(shapes), free=True)
    hidden = max(len(parts) - across, 0) + who.idle_left_out
    if hidden:
        note = _note(f"and {hidden:,} more threads without a cell", 0)
        yield Scene(width_of(note.label) + 8, NOTE, (note,))


def _few_idle(who: Who) -> Iterator[Scene]:
    """A small frame for each of them, and how many there are."""
    number = len(who.idle) + who.idle_left_out
    if not number:
        return
    note = _note(f"{count_text(number, 'thread')} without a cell", FRAME)
    shapes: list[Shape] = [note]
    for column, idle in enumerate(who.idle[: int(WIDE // FRAME)]):
        of = Stands(block=idle.block, thread=idle.thread, title=f"{idle.label}: no cell")
        shapes.append(Rect(column * FRAME + 1, 1, FRAME - 2, FRAME - 2, "idle", of))
    yield Scene(WIDE, FRAME + NOTE, tuple(shapes), free=True)


def _bound(unit: str, turns: Turns | None, loops: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The loops of blocks or threads that the cells are in, that along x last."""
    around = turns.loops if turns else ()
    names = (name for axis in "zyx" for name in loops.get(f"{unit}Idx.{axis}", ()))
    return tuple(name for name in names if name in around)


Loops: TypeAlias = Mapping[str, tuple[str, ...]]
"""The loops of the program that a "block" and a "thread" are turns of."""


def _groups(who: Who, of: Loops, few: int | None) -> Scene:
    """Boxes side by side, and below them the threads of the first of them, all in one drawing.

    Where they are `few`, with few words.
    """
    columns = _columns(who)
    drawn = _drawn(who, columns, few)
    hidden, more = _rest(who.groups, who.left_out, drawn)
    if not few and "up to" not in more:
        more = f"{more} before {drawn[-1].label}"
    shapes, y = _boxes(who, drawn, columns, 0.0, of, few, more if few and hidden else "")
    if hidden and not few:
        shapes, y = [*shapes, _note(more, y)], y + NOTE
    if who.zoom:
        around = (one.label for one in who.groups if one.block == who.zoom[0].block)
        shapes.append(_note(f"for example, inside {next(around, 'the first block')}:", y))
        threads, last, rest = who.zoom[:columns], who.zoom[-1], ""
        is_cut = len(who.zoom) > columns
        if is_cut and few and columns > 2:  # of two none makes room
            threads = (*who.zoom[: columns - 2], last)
            _, rest = _rest(who.zoom, who.zoom_left_out, threads)
        inside, y = _boxes(who, threads, columns, y + NOTE, of, few, rest)
        shapes += inside
        if is_cut and not few:
            shapes.append(_note(f"… {last.label}: {region_text(who.buffer, last)}", y))
            y += NOTE
    return Scene(WIDE, y, tuple(shapes), free=True)


def _rest(groups: Sequence[Group], left_out: int, drawn: Sequence[Group]) -> tuple[int, str]:
    """How many of them, and of those that are not listed, are not drawn, and that in words."""
    hidden = len(groups) - len(drawn) + left_out
    up_to = "up to " if left_out and len(groups) < MOST_GROUPS else ""  # some have no cell
    return hidden, f"and {up_to}{hidden:,} more"


def _drawn(who: Who, columns: int, few: int | None = None) -> Sequence[Group]:
    """The groups that are drawn: the first, and the last, which may be unlike them."""
    most = few or columns * (ROWS_ABOVE if who.zoom else ROWS)
    if len(who.groups) <= most:
        return who.groups
    return (*who.groups[: most - 1], who.groups[-1])


def _columns(who: Who) -> int:
    """As many boxes beside each other as what is said of each has room; no more than there are."""
    most = max(len(who.groups), len(who.zoom))
    for columns in range(min(most, ACROSS), 2, -1):
        shown, room = (*_drawn(who, columns), *who.zoom[:columns]), WIDE / columns - EDGE
        narrow = all(width_of(region_text("", group), "code") <= room for group in shown)
        counted = all(_cells(who, group, room) for group in shown)
        if narrow and counted and _level(shown, room) is not None:
            return columns
    return 2


def _boxes(
    who: Who,
    groups: Sequence[Group],
    columns: int,
    y: float,
    of: Loops,
    few: int | None,
    more: str = "",
) -> tuple[list[Shape], float]:
    """A box for each, from `y` on, and where they end; no two blocks side by side are alike.

    Ahead of the last there is a place for how many `more` there are, if that is told.
    """
    wide, high = WIDE / columns, BOX - (COUNT if few else 0)
    level = _level(groups, wide - EDGE)
    regions = [region_text(who.buffer, group) for group in groups]
    if any(width_of(region, "code") > wide - EDGE for region in regions):
        regions = [region.removeprefix(who.buffer) for region in regions]
    places = [(k % columns * wide, y + k // columns * high) for k in range(len(groups) + 1)]
    end = y + -(-(len(groups) + bool(more)) // columns) * high
    shapes: list[Shape] = []
    if more:
        x, top = places.pop(-2)
        said = longest((more,), wide - 4) or more.removeprefix("and ")
        shapes.append(Words(said, x + wide / 2, top + high / 2 + 4, "muted"))
    for k, (group, (x, top)) in enumerate(zip(groups, places, strict=False)):
        label = "" if level is None else _form(group.forms, level)
        unit = "thread" if group.thread else "block" if group.block else ""
        role = block_role(k) if unit == "block" else unit or "time"
        cells = "" if few else _cells(who, group, wide - EDGE)
        box = Rect(x, top, wide, high, role)
        shapes += _group(who, group, (label, cells, regions[k]), box, of.get(unit, ()))
    return shapes, end


def _group(
    who: Who, group: Group, says: tuple[str, str, str], box: Rect, loops: tuple[str, ...]
) -> list[Shape]:
    """A box with its label, how many cells it has, and which they are, as far as these are told."""
    label, cells, region = says
    timed = group.thread is None and group.block is None
    wide, middle = box.width, box.x + box.width / 2
    lines = [(f"{CLOCK} {label}" if timed and label else label, "strong")]
    lines += [(cells, "muted")] if cells else []
    lines += [(longest([region], wide - EDGE, "code"), "code")]
    shapes: list[Shape] = [
        Rect(box.x + 1, box.y + 1, wide - 4, box.height - 3, box.role),
        *(
            Words(words, middle, box.y + COUNT * (k + 1), role)
            for k, (words, role) in enumerate(lines)
        ),
    ]
    words = f"{group.label}: {region_text(who.buffer, group)}"
    of = Stands(
        who.buffer, group.region, block=group.block, thread=group.thread, loops=loops, title=words
    )
    return standing(of, shapes)


def _cells(who: Who, group: Group, room: float) -> str:
    """How many cells a group has, and how many threads none; "" where that has no room.

    Of a block that has no threads yet, when it computes them.
    """
    cells = count_text(group.cells, "cell") + ("" if group.exact else " within")
    first, last = group.time
    if group.block is not None and "thread" not in who.labels and first < last:
        steps = f"{CLOCK} t {first}–{last}"
        return longest((f"{cells}, {steps}", steps, cells), room, "muted")
    none = f"{group.idle:,} none"
    forms = (f"{cells} + {none}", f"{group.cells:,} + {none}") if group.idle else (cells,)
    return longest(forms, room, "muted")


def _note(words: str, y: float) -> Words:
    return Words(words, 4, y + 16, "muted", "start")


def region_text(buffer: str, group: Group) -> str:
    """The cells of a group as one writes them: C[128:256], C[0:1024:256]."""
    return f"{buffer}[{slices(group.region)}]"
