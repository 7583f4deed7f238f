"""The who-does-what picture: cells of a buffer labelled by time step, block and thread."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.draw.picture import Picture
from workbench.draw.svg import fit, picture, rect, slices, tag, text, title
from workbench.insight import Cell, Group, Who

CELL, ROW, HEAD = 73.0, 15.0, 20.0
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

    Cells whose label differs from `before` are drawn with a thick edge and named in the caption;
    the cell `asked` about is ringed.
    """
    if who.whole:
        strips, note = _cells(who, before or {}, asked)
    else:
        strips, note = _groups(who), ""
    return Picture(strips, who.caption + note, who.table, who.kind)


def labels_of(who: Who) -> dict[tuple[int, ...], str]:
    """The label of each drawn cell, to compare a later picture with."""
    return {cell.index: cell.label for cell in who.cells}


def _cells(
    who: Who, before: Mapping[tuple[int, ...], str], asked: tuple[int, ...] | None
) -> tuple[tuple[str, ...], str]:
    across = who.shape[-1] if len(who.shape) > 1 and who.shape[-1] <= 2 * ACROSS else ACROSS
    lines = max((len(_lines(cell)) for cell in who.cells), default=1)
    strips = tuple(
        _strip(who, who.cells[k : k + across], lines, before, asked)
        for k in range(0, len(who.cells), across)
    )
    changed = [c for c in who.cells if before.get(c.index, c.label) != c.label]
    if not changed:
        return strips, ""
    first = next((c for c in changed if c.index == asked), changed[0])
    name = f"{who.buffer}[{', '.join(map(str, first.index))}]"
    return strips, f" {name} was “{before[first.index]}” and is now “{first.label}”."


def _lines(cell: Cell) -> list[str]:
    return cell.label.split(", ")


def _strip(
    who: Who,
    cells: tuple[Cell, ...],
    lines: int,
    before: Mapping[tuple[int, ...], str],
    asked: tuple[int, ...] | None,
) -> str:
    height = HEAD + ROW * lines + 8
    drawn = []
    for k, cell in enumerate(cells):
        x = 2 + k * CELL
        new = before.get(cell.index, cell.label) != cell.label
        name = f"{who.buffer}[{', '.join(map(str, cell.index))}]"
        parts = [
            rect(
                x + 1, 2, CELL - 4, height, f"wb-cell {_colour(cell.block)}{' wb-new' * new}", rx=3
            ),
            text(name, x + CELL / 2 - 1, 16, "wb-cell-name"),
        ]
        parts += [
            text(fit(line, CELL - 6, 5.6), x + CELL / 2 - 1, HEAD + 10 + ROW * row)
            for row, line in enumerate(_lines(cell))
        ]
        if cell.index == asked:
            parts.append(rect(x - 1, 0, CELL, height + 4, "wb-asked", rx=5))
        parts.append(title(f"{name}: {cell.label}"))
        drawn.append(tag("g", {"data-cell": name, "data-name": who.buffer}, *parts))
    return picture(len(cells) * CELL + 2, height + 5, *drawn)


def _colour(block: tuple[int, ...] | None, order: int | None = None) -> str:
    """A colour for each block, on top of the label that names it."""
    if block is None:
        return "wb-box" if order is None else f"wb-u{order % COLOURS}"
    return f"wb-u{sum(block) % COLOURS}"


def _groups(who: Who) -> tuple[str, ...]:
    drawn = [_group(who, g, k) for k, g in enumerate(who.groups[:MOST])]
    hidden = len(who.groups) - len(drawn) + who.left_out
    if hidden > 0:
        drawn.append(_note(f"and {hidden} more like these"))
    if who.zoom:
        drawn.append(_note(f"inside {who.groups[0].label}:"))
        drawn += [_group(who, g, k) for k, g in enumerate(who.zoom[:ACROSS])]
        if len(who.zoom) > ACROSS:
            drawn.append(_note(f"… {who.zoom[-1].label}: {region_text(who.buffer, who.zoom[-1])}"))
    return tuple(drawn)


def _group(who: Who, group: Group, order: int) -> str:
    cells = "1 cell" if group.cells == 1 else f"{group.cells:,} cells"
    if not group.exact:
        cells += " within"
    parts = [
        rect(1, 1, BOX - 4, 54, f"wb-cell {_colour(group.block, order)}", rx=3),
        text(fit(group.label, BOX - 8), BOX / 2, 16, "wb-strong"),
        text(cells, BOX / 2, 31, "wb-muted"),
        text(fit(region_text(who.buffer, group), BOX - 8, 6.6), BOX / 2, 47, "wb-code-text"),
    ]
    return picture(BOX, 57, *parts)


def _note(words: str) -> str:
    width = max(len(words) * 6.2 + 8, BOX)
    return picture(width, 24, text(words, 4, 16, "wb-muted", anchor="start"))


def region_text(buffer: str, group: Group) -> str:
    """The cells of a group as one writes them: C[128:256], C[0:1024:256]."""
    return f"{buffer}[{slices(group.region)}]"
