"""Who computes the cells of a small matrix: rows and columns as they are, blocks as they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from workbench.draw.colours import BLOCKS, block_role
from workbench.draw.scene import Rect, Scene, Shape, Stands, Words, width_of
from workbench.insight import Cell, Point, Turns, Who

WIDE, HIGH = 332.0, 288.0  # px; a phone is as wide, and a pane of a small lab as high
MOST = 8  # columns, and rows, that fit it
WIDEST = 77.0  # px of a cell
HEADS = 15.0  # px of the numbers of rows and columns, and of a block's words
LINE, EDGE = 14.0, 8.0  # px of a line in a cell; what stays free of its width
GAP = 8.0  # px between cells of different blocks
CLOCK = "◷"  # before or below what is a time: a letter goes with its words, however they scale


@dataclass(frozen=True)
class Matrix:
    """How the cells are drawn: which of their parts are said in them (`said`), in how few words.

    Where each block is a rectangle, its words stand over it, `titled`, and not in its cells.
    `rows` and `columns` are those before which other blocks begin. `forms` are those of the labels
    of its cells, each once, and `parts` what each part of them is of.
    """

    who: Who
    forms: frozenset[tuple[tuple[str, ...], ...]]
    parts: Sequence[str]
    said: tuple[int, ...]
    level: int
    titled: bool
    rows: frozenset[int]
    columns: frozenset[int]
    roles: Mapping[Point, str]
    turns: Turns | None

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.who.shape
        return rows, columns

    @cached_property
    def width(self) -> float:
        """That of a cell."""
        columns = self.shape[1]
        return min((WIDE - HEADS - GAP * len(self.columns)) / columns, WIDEST)

    @cached_property
    def height(self) -> float:
        """That of a cell."""
        lines = (sum(1 + w.count("\n") for w in words) for words in self._different())
        return LINE * max(1, *lines) + 6

    @property
    def bottom(self) -> float:
        """Where all of it ends."""
        titles = (HEADS + 2) * (len(self.rows) + 1) if self.titled else GAP * len(self.rows)
        return HEADS + titles + self.height * self.shape[0] + 1

    def _different(self) -> Iterator[list[str]]:
        """What is said in cells that say different things."""
        for of in self.forms:
            yield [self._form(of[part], part) for part in self.said]

    def words(self, cell: Cell) -> list[str]:
        """What is said in a cell."""
        return [self._form(cell.forms[part], part) for part in self.said]

    def whole(self, cell: Cell) -> list[str]:
        """The same in full."""
        return [cell.forms[part][0] for part in self.said]

    def _form(self, forms: tuple[str, ...], part: int) -> str:
        """In fewer words at a higher level, at last in numbers, a span of them in two lines."""
        if self.level < len(forms):
            return forms[self.level]
        number = forms[-1].rpartition(" ")[2]
        what, beyond = self.parts[part], self.level > len(forms)
        alone = self.titled or "block" not in self.who.labels
        if (what == "thread" and alone) or (what == "time" and beyond):
            return number.replace("–", "\n–")
        return forms[-1].replace("–", "\n–")

    def fits(self) -> bool:
        """Whether all words have room in their cells, and the cells in the picture."""
        room = self.width - EDGE
        for words in self._different():
            for line in "\n".join(words).split("\n"):
                if width_of(line) > room:
                    return False
        return self.bottom <= HIGH


def matrix_of(who: Who, roles: Mapping[Point, str], turns: Turns | None) -> Matrix | None:
    """How to draw the cells as a matrix; None where they are none, or it would not fit.

    What it takes too much room to say in the cells is left out, the times first.
    """
    if len(who.shape) != 2 or not 0 < max(who.shape) <= MOST or min(who.shape) < 2:
        return None
    if len(who.cells) != who.shape[0] * who.shape[1]:
        return None
    rows, columns = _borders(who)
    titled = "block" in who.labels and _rectangles(who, rows, columns)
    forms, parts = frozenset(cell.forms for cell in who.cells), parts_of(who)
    sayable = [k for k, label in enumerate(parts) if not (titled and label == "block")]
    longest = max(len(form) for of in forms for form in of)
    made = Matrix(who, forms, parts, (), 0, titled, rows, columns, roles, turns)
    for count in range(len(sayable), 0, -1):
        for level in range(longest + 2):
            tried = replace(made, said=tuple(sayable[:count]), level=level)
            if tried.fits():
                return tried
    return made if titled else None


def parts_of(who: Who) -> list[str]:
    """What each part of a cell's label is of."""
    return [part for part in ("block", "thread", "time") if part in who.labels]


def _borders(who: Who) -> tuple[frozenset[int], frozenset[int]]:
    """Rows and columns before which, somewhere, another block begins."""
    at = {cell.index: cell.block for cell in who.cells}
    rows, columns = (range(size) for size in who.shape)
    return (
        frozenset(b for a, b in pairwise(rows) if any(at[a, c] != at[b, c] for c in columns)),
        frozenset(b for a, b in pairwise(columns) if any(at[r, a] != at[r, b] for r in rows)),
    )


def _rectangles(who: Who, rows: frozenset[int], columns: frozenset[int]) -> bool:
    """Whether each part between these borders is one block, and each block is one part."""
    parts = {_part(cell.index, rows, columns): cell.block for cell in who.cells}
    whole = all(cell.block == parts[_part(cell.index, rows, columns)] for cell in who.cells)
    return whole and len(set(parts.values())) == len(parts)


def _part(index: Point, rows: frozenset[int], columns: frozenset[int]) -> tuple[int, int]:
    return sum(index[0] >= r for r in rows), sum(index[1] >= c for c in columns)


def matrix_scene(matrix: Matrix, changed: set[Point], asked: Point | None) -> Scene:
    """The cells between the numbers of their rows and columns.

    Those that are `changed` have the edge of what came, the one `asked` about is chosen.
    """
    xs, ys = cell_spots(matrix)
    shapes: list[Shape] = [*heads_of(matrix, xs, ys)]
    for cell in matrix.who.cells:
        row, column = cell.index
        role = cell_role(matrix.roles[cell.index], cell.index in changed, cell.index == asked)
        shapes += _cell(matrix, cell, xs[column], ys[row], role)
    return Scene(xs[-1] + matrix.width + 1, matrix.bottom, tuple(shapes))


def heads_of(matrix: Matrix, xs: Sequence[float], ys: Sequence[float]) -> Iterator[Words]:
    """The numbers of columns and rows, which begin at `xs` and `ys`, and what blocks are."""
    if "time" in matrix.who.labels:
        yield Words(CLOCK, HEADS / 2, HEADS - 4, "muted")
    middle, half = matrix.width / 2, matrix.height / 2
    of = Stands(key="numbers")  # of columns and rows, which move with these
    yield from (Words(str(c), x + middle, HEADS - 4, "muted", of=of) for c, x in enumerate(xs))
    yield from (Words(str(r), HEADS / 2, y + half + 4, "muted", of=of) for r, y in enumerate(ys))
    if matrix.titled:
        yield from _titles(matrix, xs, ys)


CAME = {
    "box": "came-box",
    "thread": "came-thread",
    "time": "came-time",
    **{block_role(k): f"came-{block_role(k)}" for k in range(len(BLOCKS))},
}


def cell_role(plain: str, new: bool, asked: bool) -> str:
    """A cell has one edge: of the chosen one, which is asked about, else of what came, or its own.

    `plain` is its role in a picture that no step came before.
    """
    if asked:
        return "chosen"
    return CAME[plain] if new else plain


def cell_spots(matrix: Matrix) -> tuple[list[float], list[float]]:
    """Where columns and rows begin, with a gap, or a block's words, where another block does."""
    x, y = HEADS, HEADS + (HEADS if matrix.titled else 0.0)
    xs, ys = [], []
    for column in range(matrix.shape[1]):
        x += GAP if column in matrix.columns else 0
        xs.append(x)
        x += matrix.width
    for row in range(matrix.shape[0]):
        if row in matrix.rows:
            y += HEADS + 2 if matrix.titled else GAP
        ys.append(y)
        y += matrix.height
    return xs, ys


def _titles(matrix: Matrix, xs: Sequence[float], ys: Sequence[float]) -> Iterator[Words]:
    """Over each block which it is, all in words of one length."""
    part = matrix.parts.index("block")
    ends = sorted({*matrix.columns, matrix.shape[1]})
    room = {
        start: xs[end - 1] + matrix.width - xs[start]
        for start, end in zip([0, *ends], ends, strict=False)
    }
    corners = [
        c for c in matrix.who.cells if c.index[0] in {0, *matrix.rows} and c.index[1] in room
    ]
    forms = {c.index: (*c.forms[part], c.forms[part][-1].rpartition(" ")[2]) for c in corners}
    level = next(
        (
            k
            for k in range(max(map(len, forms.values())))
            if all(
                width_of(of[min(k, len(of) - 1)], "strong") <= room[index[1]]
                for index, of in forms.items()
            )
        ),
        -1,
    )
    for (row, column), of in forms.items():
        words = of[min(level, len(of) - 1)]
        key = f"over {row}, {column}"
        yield Words(words, xs[column] + 1, ys[row] - 4, "strong", "start", Stands(key=key))


def _cell(matrix: Matrix, cell: Cell, x: float, y: float, role: str) -> list[Shape]:
    name = f"{matrix.who.buffer}[{', '.join(map(str, cell.index))}]"
    of = stands_for(matrix.who, cell, matrix.turns, f"{name}: {cell.label}")
    wide, high = matrix.width, matrix.height
    lines = [line for words in matrix.words(cell) for line in words.split("\n")]
    box = Rect(x + 1, y + 1, wide - 2, high - 2, role, of)
    return [
        box,
        *(Words(line, x + wide / 2, y + LINE * (k + 1), of=of) for k, line in enumerate(lines)),
    ]


def stands_for(who: Who, cell: Cell, turns: Turns | None, title: str) -> Stands:
    """What a cell stands for, the statement and loops that write it among that."""
    region = tuple((start, 1, 1) for start in cell.index)
    return Stands(
        who.buffer,
        region,
        block=cell.block,
        thread=cell.thread,
        title=title,
        loops=turns.loops if turns else (),
        statement=turns.stage if turns else "",
    )
