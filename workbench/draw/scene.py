"""A picture as data: rectangles, paths and words, each with a role and what it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import NamedTuple, TypeAlias

from workbench.insight import Digit, Point, Region

FONT = 12  # px; the smallest words of a picture at its natural size

# Widths in parts of an em: those of DejaVu Sans, which is wider than most system fonts.
_EM = 20.5
_LETTERS = {
    "ijl'": 6,
    "I": 6,
    " ,./:;|\\": 7,
    "ft()[]-·": 8,
    'r"*`!': 9,
    "_–“”": 11,
    "csz?": 11,
    "kvxyLF": 12,
    "aegohnpqubdETPSJ$0123456789YZ{}": 13,
    "ABCKRVX": 14,
    "GDHNOQU&": 16,
    "+<=>~^#→←×›": 17,
    "wM": 18,
    "%mW@…": 20,
}
_WIDTHS = {letter: wide for letters, wide in _LETTERS.items() for letter in letters}
_OTHER, _MONO, _BOLD = 20, 0.605, 1.12
MONO = ("name", "code")
BOLD = ("strong", "on-strong")

Spot: TypeAlias = tuple[float, float]


class Form(NamedTuple):
    """A number for each selection: base + the sum of factor · digit, not outside low to high.

    `terms` pairs digits of axes, mostly all of an axis, with factors.
    """

    base: float
    terms: tuple[tuple[Digit, float], ...] = ()
    low: float = -inf
    high: float = inf

    def at(self, select: Mapping[str, int]) -> float:
        """Its value for a selection, which has a value for each axis of the terms."""
        total = self.base
        for digit, factor in self.terms:
            total += factor * digit.of(select)
        return min(max(total, self.low), self.high)


class Stands(NamedTuple):
    """What a shape stands for: as much of this as it has.

    `cells` are a region of `buffer`, which begins at `starts` for other selections; `block` and
    `thread` are (x, y, z); `loops` names loops of the program and `statement` a block of it;
    `title` says it in words. What is of one `iteration` of a pipeline lights up together, as does
    what is of one of the `lanes` of a warp; `served` is the wavefront, or the line of memory, that
    a box of lanes is of. The `key` is the same for the same thing in other
    pictures: what came of another, or lies within it, has the key of that, ">" and its own.
    """

    buffer: str = ""
    cells: Region = ()
    starts: tuple[Form, ...] = ()
    block: Point | None = None
    thread: Point | None = None
    loops: tuple[str, ...] = ()
    statement: str = ""
    title: str = ""
    iteration: str = ""
    lanes: tuple[int, ...] = ()
    served: str = ""
    key: str = ""


NOTHING = Stands()


class Rect(NamedTuple):
    """A rectangle, px from the scene's upper left corner; `round` is the radius of its corners.

    `slide` are its edges for other selections: left, top, right, bottom.
    """

    x: float
    y: float
    width: float
    height: float
    role: str
    of: Stands = NOTHING
    round: float = 0.0
    slide: tuple[Form, Form, Form, Form] | None = None


class Path(NamedTuple):
    """Straight lines from spot to spot; filled where its role says so."""

    lines: tuple[tuple[Spot, ...], ...]
    role: str
    of: Stands = NOTHING


class Words(NamedTuple):
    """A line of words whose baseline starts, ends or is centred (`anchor`) at (x, y).

    For other selections `slide` is where, and `parts` are the words, with forms for their numbers.
    Of a scene that is drawn smaller than it is the `short` words are shown.
    """

    label: str
    x: float
    y: float
    role: str = "words"
    anchor: str = "middle"
    of: Stands = NOTHING
    slide: tuple[Form, Form] | None = None
    parts: tuple[str | Form, ...] = ()
    short: str = ""


Shape: TypeAlias = Rect | Path | Words


@dataclass(frozen=True, slots=True)
class Field:
    """A rectangle of cells that can be pointed at: left, top, right, bottom in px.

    Forms say all else: `row` and `column` of the cell at digits of the spot ("x", "y"); of these
    ("row", "column") the `axes` in whose turn `statement` touches it, the boxes to `mark` in the
    drawing, and the `words` that say it. `loops` are those that the statement is in.
    """

    edges: tuple[float, float, float, float]
    row: Form
    column: Form
    axes: tuple[tuple[str, Form], ...]
    marks: tuple[tuple[Form, Form, Form, Form], ...]
    words: tuple[str | Form, ...]
    of: Stands


@dataclass(frozen=True, slots=True)
class Scene:
    """A drawing of a natural size in px; what comes later lies above what comes before.

    Where it is `still` it is for one selection alone, though others of its picture slide. Where it
    `scrolls` it is read row by row, or strip by strip: a pane that has no room for its words shows
    a part of it. Where its proportions are `free` they mean nothing: it may be stretched. Scenes
    that are `joint` go on in each other: in a row they have one scale.
    """

    width: float
    height: float
    shapes: tuple[Shape, ...]
    fields: tuple[Field, ...] = ()
    still: bool = False
    scrolls: bool = False
    free: bool = False
    joint: bool = False

    @property
    def words(self) -> list[str]:
        """All that is written in it, in drawing order."""
        return [shape.label for shape in self.shapes if isinstance(shape, Words)]


Forms: TypeAlias = "Sequence[Sequence[Scene]]"
"""The strips of a picture, then the same ever again, each time with fewer words."""


def moving(shape: Shape) -> bool:
    """Whether it is elsewhere, or stands for or says something else, for other selections."""
    if isinstance(shape, Path):
        return False
    if shape.slide is not None or shape.of.starts:
        return True
    return isinstance(shape, Words) and bool(shape.parts)


def placed(scene: Scene, select: Mapping[str, int]) -> Scene:
    """The scene with what slides where another selection has it."""
    return replace(scene, shapes=tuple(_placed(shape, select) for shape in scene.shapes))


def _placed(shape: Shape, select: Mapping[str, int]) -> Shape:
    if shape.of.starts:
        pairs = zip(shape.of.starts, shape.of.cells, strict=True)
        cells = tuple((round(start.at(select)), n, step) for start, (_, n, step) in pairs)
        shape = shape._replace(of=shape.of._replace(cells=cells))
    if isinstance(shape, Rect) and shape.slide is not None:
        left, top, right, bottom = (edge.at(select) for edge in shape.slide)
        return shape._replace(x=left, y=top, width=right - left, height=bottom - top)
    if isinstance(shape, Words) and shape.parts:
        shape = shape._replace(label=worded(shape.parts, select))
    if isinstance(shape, Words) and shape.slide is not None:
        x, y = (form.at(select) for form in shape.slide)
        return shape._replace(x=x, y=y)
    return shape


def worded(parts: Sequence[str | Form], select: Mapping[str, int]) -> str:
    """Words with the numbers that their forms have for a selection."""
    return "".join(p if isinstance(p, str) else f"{p.at(select):.0f}" for p in parts)


def sliding(
    edges: tuple[Form, Form, Form, Form],
    select: Mapping[str, int],
    role: str,
    of: Stands = NOTHING,
) -> Rect:
    """A rectangle where `select` has it, which slides with other selections."""
    left, top, right, bottom = [edge.at(select) for edge in edges]
    slide = edges if any(edge.terms for edge in edges) else None
    return Rect(left, top, right - left, bottom - top, role, of, 0.0, slide)


def standing(of: Stands, shapes: Iterable[Shape]) -> list[Shape]:
    """`shapes`, those that stand for nothing else yet standing for `of`."""
    return [s._replace(of=of) if s.of is NOTHING else s for s in shapes]


def path(role: str, *lines: Sequence[Spot]) -> Path:
    """Lines that each go from spot to spot."""
    return Path(tuple(map(tuple, lines)), role)


def dot(x: float, y: float, radius: float, role: str) -> Rect:
    """A disc around (x, y)."""
    return Rect(x - radius, y - radius, 2 * radius, 2 * radius, role, round=radius)


@lru_cache(4096)
def width_of(label: str, role: str = "words") -> float:
    """How many px `label` takes in the style of `role`, at most, in a common font."""
    if role in MONO:
        return len(label) * _MONO * FONT
    wide = sum(_WIDTHS.get(letter, _OTHER) for letter in label) * FONT / _EM
    return wide * _BOLD if role in BOLD else wide


def fit(label: str, width: float, role: str = "words") -> str:
    """`label`, cut with an ellipsis where it is wider than `width` px."""
    if width_of(label, role) <= width:
        return label
    cut = next(
        (n for n in range(len(label) - 1, 1, -1) if width_of(label[:n] + "…", role) <= width), 1
    )
    return label[:cut] + "…"


def lines_of(parts: Iterable[str], width: float, role: str = "words") -> list[str]:
    """Words in lines that are no wider than `width`, broken between `parts`, else inside of one.

    >>> lines_of(("A", "_shared", "_local"), 60, "name")
    ['A_shared', '_local']
    """
    lines = [""]
    for part in parts:
        if lines[-1] and width_of(lines[-1] + part, role) > width:
            lines.append("")
        lines[-1] += part
        while width_of(lines[-1], role) > width and len(lines[-1]) > 1:
            line = lines[-1]
            fits = (n for n in range(len(line) - 1, 1, -1) if width_of(line[:n], role) <= width)
            cut = next(fits, 1)
            lines[-1:] = [line[:cut], line[cut:]]
    return lines


def name_lines(name: str, width: float, role: str = "name") -> list[str]:
    """A name in lines that are no wider than `width`, broken ahead of "_" if it can be."""
    return lines_of(name_parts(name), width, role)


def name_parts(name: str) -> list[str]:
    """The parts of a name that stay in one line if they can."""
    return re.findall(r"_*[^_]+|_+", name)


def longest(forms: Sequence[str], width: float, role: str = "words") -> str:
    """The first of `forms`, the longest first, that is not wider than `width`; "" if none is."""
    return next((form for form in forms if width_of(form, role) <= width), "")


def cell_parts(of: Stands) -> list[str | Form]:
    """`slices` of the cells, with forms for the numbers that other selections change."""
    parts: list[str | Form] = []
    for start, (_, count, step) in zip(of.starts, of.cells, strict=True):
        parts += [", "] if parts else []
        stop = start._replace(base=start.base + (count - 1) * step + 1)
        parts += [start] if count == 1 else [start, ":", stop]
        parts += [f":{step}"] if count > 1 and step != 1 else []
    return parts


def slices(region: Region) -> str:
    """The cells of a region as one writes them in Python, without the name: 128:256, 0."""
    return ", ".join(_slice(*dim) for dim in region)


def _slice(start: int, count: int, step: int) -> str:
    if count == 1:
        return str(start)
    stop = start + (count - 1) * step + 1
    return f"{start}:{stop}" + (f":{step}" if step != 1 else "")
