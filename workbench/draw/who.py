"""The who-does-what picture: cells of a buffer labelled by time step, block and thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from workbench.draw.picture import Picture
from workbench.draw.svg import longest, picture, rect, slices, tag, text, title, width_of
from workbench.insight import Cell, Group, Point, Who

CELLS = (57.0, 63.0, 71.0, 77.0)  # px; eight of the narrowest make a line of a lab's pane
EDGE = 7.0  # px of a cell that no text takes
ROW, HEAD = 15.0, 20.0
BOX = 148.0  # the width of a group of cells
ACROSS = 4  # cells in a strip: two strips make the eight of a small program, one fits a phone
COLOURS = 8
MOST = 16  # groups drawn before the rest is counted


def who_picture(
    who: Who,
    before: Mapping[tuple[int, ...], str] | None = None,
    asked: tuple[int, ...] | None = None,
) -> Picture:
    """Who computes each cell: single cells where the buffer is small, else groups of cells.

    Cells whose label differs from `before` are drawn with a thick edge, and the caption says what
    one of them was; the cell `asked` about is ringed.
    """
    if not who.whole or not who.cells:
        return Picture(_groups(who), who.caption + _key(who), who.table, who.kind)
    changed = [c for c in who.cells if (before or {}).get(c.index, c.label) != c.label]
    look = _look(who)
    across = who.shape[-1] if look.matrix else ACROSS
    wide = -(-across // -(-across // ACROSS))  # even strips, none of more than ACROSS cells
    strips = tuple(
        _strip(who, who.cells[line + k : line + min(k + wide, across)], wide, look, changed, asked)
        for line in range(0, len(who.cells), across)
        for k in range(0, across, wide)
        if line + k < len(who.cells)
    )
    lines = -(-across // wide) if look.matrix else 0
    return Picture(strips, _caption(who, look, changed, before, asked), who.table, who.kind, lines)


def labels_of(who: Who) -> dict[tuple[int, ...], str]:
    """The label of each drawn cell, to compare a later picture with."""
    return {cell.index: cell.label for cell in who.cells}


@dataclass(frozen=True, slots=True)
class _Look:
    """How all cells are drawn: their width, what each says, how each is named."""

    width: float
    lines: dict[Point, list[str]]
    names: dict[Point, str]
    colours: dict[Point, str]
    matrix: bool


def _look(who: Who) -> _Look:
    """The widest words that fit into every cell; what fits in no way is left out."""
    matrix = len(who.shape) > 1 and who.shape[-1] <= 2 * ACROSS
    matrix = matrix and len(who.cells) == prod(who.shape)
    levels = range(max(len(part) for cell in who.cells for part in cell.forms))
    wide = {
        level: [max(width_of(_form(cell.forms[part], level)) for cell in who.cells)
                for part in range(len(who.cells[0].forms))]
        for level in levels
    }  # fmt: skip
    tries = [(level, width) for level in levels for width in CELLS]
    if matrix and who.shape[-1] > ACROSS:  # rather shorter words than lines that wrap
        tries.sort(key=lambda one: (one[1], one[0]))
    level, width = next(
        ((lv, w) for lv, w in tries if max(wide[lv]) <= w - EDGE), (levels[-1], CELLS[-1])
    )
    fitting = [k for k, needed in enumerate(wide[level]) if needed <= width - EDGE]
    lines = {c.index: [_form(c.forms[k], level) for k in fitting] for c in who.cells}
    indices = {c.index: f"[{', '.join(map(str, c.index))}]" for c in who.cells}
    names = {index: f"{who.buffer}{text}" for index, text in indices.items()}
    for short in (indices, dict.fromkeys(indices, "")):
        if max(width_of(name, "wb-cell-name") for name in names.values()) > width - EDGE:
            names = short
    blocks = _colours([cell.block for cell in who.cells])
    colours = {c.index: blocks.get(c.block, "wb-box") for c in who.cells}
    return _Look(width, lines, names, colours, matrix)


def _form(forms: Sequence[str], level: int) -> str:
    return forms[min(level, len(forms) - 1)]


def _caption(
    who: Who,
    look: _Look,
    changed: Sequence[Cell],
    before: Mapping[tuple[int, ...], str] | None,
    asked: tuple[int, ...] | None,
) -> str:
    """All of one cell: the one asked about, else the one that stands for all, else a changed one.

    With what its short words stand for.
    """
    usual = who.cells[min(5, len(who.cells) - 1)]
    cell = next((c for c in who.cells if c.index == asked), usual)
    if changed and cell not in changed and cell.index != asked:
        cell = changed[0]
    caption = who.told(cell)
    if cell in changed and before:
        caption += f" It was “{before[cell.index]}”."
    drawn = look.lines[cell.index]
    short = [
        f"“{line}” stands for {forms[0]}"
        for line in drawn
        for forms in cell.forms
        if line in forms and line != forms[0]
    ]
    return caption + (f" {'; '.join(short)}." if short else "")


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
        if all(width_of(form, "wb-strong") <= BOX - 10 for form in forms):
            return level
    return None


def _strip(
    who: Who,
    cells: Sequence[Cell],
    wide: int,
    look: _Look,
    changed: Sequence[Cell],
    asked: tuple[int, ...] | None,
) -> str:
    height = HEAD + ROW * max(len(lines) for lines in look.lines.values()) + 8
    middle = look.width / 2 - 0.5
    drawn = []
    for k, cell in enumerate(cells):
        x = 1.5 + k * look.width
        name = f"{who.buffer}[{', '.join(map(str, cell.index))}]"
        kind = f"wb-cell {look.colours[cell.index]}{' wb-new' * (cell in changed)}"
        parts = [
            rect(x + 1, 2, look.width - 3, height, kind, rx=3),
            text(look.names[cell.index], x + middle, 16, "wb-cell-name"),
        ]
        parts += [
            text(line, x + middle, HEAD + 10 + ROW * row)
            for row, line in enumerate(look.lines[cell.index])
        ]
        if cell.index == asked:
            parts.append(rect(x - 0.5, 0.5, look.width, height + 3, "wb-asked", rx=5))
        parts.append(title(f"{name}: {cell.label}"))
        drawn.append(tag("g", {"data-cell": name, "data-name": who.buffer}, *parts))
    return picture(wide * look.width + 2, height + 5, *drawn)


def _colours(places: Sequence[Point | None]) -> dict[Point | None, str]:
    """A colour for each block or thread: all differ up to eight, and beyond those side by side."""
    known = sorted({place for place in places if place is not None}, key=lambda p: p[::-1])
    if len(known) <= COLOURS:
        return {place: f"wb-u{k}" for k, place in enumerate(known)}
    return {(x, y, z): f"wb-u{(x + 3 * y + 5 * z) % COLOURS}" for x, y, z in known}


def _groups(who: Who) -> tuple[str, ...]:
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


def _boxes(who: Who, groups: Sequence[Group], of: Sequence[Group]) -> list[str]:
    colours = _colours([group.thread or group.block for group in of])
    level = _level(groups)
    return [
        _group(
            who,
            group,
            "" if level is None else _form(group.forms, level),
            colours.get(group.thread or group.block, f"wb-u{k % COLOURS}"),
        )
        for k, group in enumerate(groups)
    ]


def _group(who: Who, group: Group, label: str, colour: str) -> str:
    cells = "1 cell" if group.cells == 1 else f"{group.cells:,} cells"
    if not group.exact:
        cells += " within"
    region = region_text(who.buffer, group)
    regions = (region, region.removeprefix(who.buffer))
    parts = [
        rect(1, 1, BOX - 4, 54, f"wb-cell {colour}", rx=3),
        text(label, BOX / 2 - 1, 16, "wb-strong"),
        text(cells, BOX / 2 - 1, 31, "wb-muted"),
        text(longest(regions, BOX - 8, "wb-code-text"), BOX / 2 - 1, 47, "wb-code-text"),
        title(f"{group.label}: {region}"),
    ]
    return picture(BOX, 57, *parts)


def _note(words: str) -> str:
    return picture(max(width_of(words) + 8, BOX), 24, text(words, 4, 16, "wb-muted", "start"))


def region_text(buffer: str, group: Group) -> str:
    """The cells of a group as one writes them: C[128:256], C[0:1024:256]."""
    return f"{buffer}[{slices(group.region)}]"
