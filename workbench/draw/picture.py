"""A picture: scenes that wrap to the width at hand, a caption, and its table twin."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from html import escape
from math import isfinite
from pathlib import Path as File
from typing import Any, TypeAlias

from workbench.diag import Act, Fail, prose, visible
from workbench.draw.colours import ALL, LIGHT, style_sheet
from workbench.draw.scene import (
    FONT,
    NOTHING,
    Field,
    Form,
    Forms,
    Path,
    Scene,
    Shape,
    Words,
    cell_parts,
    moving,
    width_of,
)
from workbench.draw.svg import drawings, drawn, tag
from workbench.history.write_whole import write_whole
from workbench.insight import KIND_WORDS, Digit, Table, Track, Values

Parts: TypeAlias = tuple[str | Form, ...]

MARGIN = 6.0  # px around the strips and between their lines
LEAST = 300.0  # px of a file: a caption is as wide, so that a line has several words
HEAD = 18.0  # px of the name of a level over its strip
# In a cell, which is narrow: a number with its sign and unit, "12/8", "H200"; not in "&#x27;".
_NUMBER = re.compile(
    r"(?<![\w#])(?:[-+−]|× )?[A-Z]?\d(?:[\w.,:/]*\w)?%?(?:\N{NO-BREAK SPACE}[\w/]+)?"
)


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn: strips side by side where there is room, else one below the other.

    `caption` says what is seen; `table` has the same facts; `kind` says where its numbers come
    from. `across` strips make a line of their own; 0 where as many stand beside each other as
    there is room for. `slides` are the axes, each with the values for which the strips know where
    their shapes are; None where only Python knows. `levels` names the strips
    where these are one thing, nearer and nearer. `follow` is what the caption's first line says for
    other selections, and `cells`, by row and column, what the table does. `full` says all that is
    seen, where the caption is one short line. What has a `track` is drawn at one of its times, and
    a script shows the others. Where there is nothing yet to draw, `act` is the step that changes
    that. `low` is the same, each time with fewer words, for panes in which these would meet, or
    take the room of what is drawn. `amount` is the end of the caption that says how much: it is
    seen whole.
    """

    strips: tuple[Scene, ...]
    caption: str
    table: Table
    kind: str
    across: int = 0
    slides: Values | None = None
    levels: tuple[str, ...] = ()
    follow: Parts = ()
    cells: tuple[tuple[int, int, Parts], ...] = ()
    full: str = ""
    track: Track | None = None
    about: str = ""
    amount: str = ""
    act: Act | None = None
    low: tuple[tuple[Scene, ...], ...] = ()

    @property
    def forms(self) -> Forms:
        """Its strips, and those of its lower forms."""
        return (self.strips, *self.low)

    @property
    def line_style(self) -> str:
        """The CSS of the strips' container where `across` strips make a line, else nothing."""
        if not self.across:
            return ""
        return f"max-width: {sum(strip.width for strip in self.strips[: self.across]) + 1:g}px"

    @property
    def heads(self) -> list[str]:
        """What stands over each strip where they are levels of one thing and more than one."""
        return list(self.levels) if len(self.levels) > 1 else []

    def spots(self) -> tuple[list[tuple[float, float]], tuple[float, float]]:
        """Where each strip stands, the lines below each other; and the size of it all.

        What is narrow leaves room beside it for a line of its caption.
        """
        spots, wide, y = [], 0.0, MARGIN
        head = HEAD if self.heads else 0.0
        for start in range(0, len(self.strips), self.across or 1):
            line = self.strips[start : start + (self.across or 1)]
            x = MARGIN
            for strip in line:
                spots.append((x, y + head))
                x += strip.width
            wide = max(wide, x + MARGIN)
            y += head + max(strip.height for strip in line) + (0 if self.across else MARGIN)
        return spots, (max(wide, LEAST), y + (MARGIN if self.across else 0))

    def caption_lines(self, width: float) -> list[str]:
        """The caption broken into lines that are no wider than `width` px, between words."""
        lines = []
        for line in self.caption.splitlines():
            row = ""
            for word in line.split(" "):
                longer = f"{row} {word}" if row else word
                if row and width_of(longer) > width - 2 * MARGIN:
                    lines.append(row)
                    longer = word
                row = longer
            lines.append(row)
        return lines


@lru_cache(1 << 8)  # many steps leave what is counted as it was
def table_html(table: Table, caption: str = "") -> str:
    """A table with column heads; numbers are aligned to the right."""
    head = "".join(f'<th scope="col">{prose(c)}</th>' for c in table.columns)
    rows = "".join(f"<tr>{''.join(map(_entry, row))}</tr>" for row in table.rows)
    title = f"<caption>{prose(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


@lru_cache(1 << 13, typed=True)  # of the tables of many steps: threads and blocks, regions of cells
def _entry(value: str | int | float) -> str:
    if isinstance(value, str):
        return f"<td>{_NUMBER.sub(_whole, prose(value))}</td>"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return f'<td class="wb-num">{shown}</td>'


def _whole(number: re.Match[str]) -> str:
    """It stays on its line; a short one does so by itself."""
    text = number.group()
    return f'<span class="wb-whole">{text}</span>' if len(text) > 1 else text


def plain(picture: Picture) -> dict[str, Any]:
    """The picture as plain data: markup, texts, and `line`, the CSS of the strips' container."""
    return {
        "strips": drawings(picture.forms),
        "caption": picture.caption,
        "amount": picture.amount,
        "full": picture.full,
        "table": table_html(picture.table) if picture.table.rows else "",
        "line": picture.line_style,
        "kind": picture.kind,
        "about": picture.about or KIND_WORDS[picture.kind],
        "levels": list(picture.levels),
        "slides": slides(picture),
        "fields": fields(picture),
        "track": picture.track.plain() if picture.track else None,
        "look": look(picture),
    }


def look(picture: Picture) -> str:
    """What is seen of it, in short: the same for two pictures whose shapes look the same.

    What these stand for may have other names, and may slide elsewhere.
    """
    track = picture.track and picture.track.plain()
    forms = [[*map(_seen, form)] for form in picture.forms]
    seen = repr((forms, track)) if picture.strips else picture.caption
    return blake2b(seen.encode(), digest_size=8).hexdigest()


def _seen(strip: Scene) -> tuple[object, ...]:
    bare = (shape._replace(of=NOTHING) for shape in strip.shapes)
    still = (shape if isinstance(shape, Path) else shape._replace(slide=None) for shape in bare)
    shapes = tuple(s._replace(parts=()) if isinstance(s, Words) else s for s in still)
    return strip.width, strip.height, shapes


def slides(picture: Picture) -> dict[str, Any] | None:
    """Where its shapes are for other selections, as `scene.js` reads it; None where they stay.

    `axes` are the names of what is chosen, with the first of its values and the end of these,
    `digits` numbers that these have: [axis, stride, size] or [axis, table]; `forms` are [base, low,
    high, digit, factor, digit, factor, …]. All else names digits and forms by number. Of each strip
    there are the shapes that slide, by number: edges or a spot, words as parts, and which cells
    these are; None where it stays. `caption` is its first line, `table` has [row, column, parts].
    """
    if not picture.slides:
        return None
    numbers = _Numbers()
    strips = [None if strip.still else _slides(strip, numbers) for strip in picture.strips]
    return {
        "axes": [list(values) for values in picture.slides],
        "strips": strips,
        "caption": numbers.parts(picture.follow),
        "table": [[row, column, numbers.parts(parts)] for row, column, parts in picture.cells],
        **numbers.numbered,
    }


def fields(picture: Picture) -> dict[str, Any] | None:
    """What can be pointed at in each strip, as `scene.js` reads it; None where nothing can."""
    if not any(strip.fields for strip in picture.strips):
        return None
    numbers = _Numbers()
    strips = [[_field(field, numbers) for field in strip.fields] for strip in picture.strips]
    return {"strips": strips, **numbers.numbered}


class _Numbers:
    """Forms and their digits by number: each is told once, for shapes share most of theirs."""

    def __init__(self) -> None:
        self._digits: dict[Digit, int] = {}
        self._forms: dict[Form, int] = {}

    @property
    def numbered(self) -> dict[str, list[list[Any]]]:
        """The digits and the forms told so far, in the order of their numbers."""
        digits = [
            [digit.axis, list(digit.table)]
            if digit.table
            else [digit.axis, digit.stride, digit.size]
            for digit in self._digits
        ]
        return {"digits": digits, "forms": [self._flat(form) for form in self._forms]}

    def _flat(self, form: Form) -> list[Any]:
        flat: list[Any] = [form.base]
        flat += [end if isfinite(end) else None for end in (form.low, form.high)]
        for digit, factor in form.terms:
            flat += (self._digits[digit], factor)
        return flat

    def form(self, form: Form) -> int:
        """The number of a form."""
        number = self._forms.get(form)
        if number is None:
            number = self._forms[form] = len(self._forms)
            for digit, _ in form.terms:
                self._digits.setdefault(digit, len(self._digits))
        return number

    def parts(self, parts: Sequence[str | Form]) -> list[str | int]:
        """Words as they are, and forms by their numbers."""
        return [part if isinstance(part, str) else self.form(part) for part in parts]


def _field(field: Field, numbers: _Numbers) -> dict[str, Any]:
    return {
        "edges": list(field.edges),
        "row": numbers.form(field.row),
        "column": numbers.form(field.column),
        "axes": [[name, numbers.form(form)] for name, form in field.axes],
        "marks": [[numbers.form(edge) for edge in edges] for edges in field.marks],
        "words": numbers.parts(field.words),
        "name": field.of.buffer,
        "statement": field.of.statement,
        "loops": list(field.of.loops),
    }


def _slides(strip: Scene, numbers: _Numbers) -> dict[str, Any]:
    """What slides of a strip, by the number of the shape."""
    shapes = enumerate(strip.shapes)
    return {str(k): _slide(shape, numbers) for k, shape in shapes if moving(shape)}


def _slide(shape: Shape, numbers: _Numbers) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if not isinstance(shape, Path) and shape.slide is not None:
        made["forms"] = [numbers.form(form) for form in shape.slide]
    if isinstance(shape, Words) and shape.parts:
        made["parts"] = numbers.parts(shape.parts)
    if shape.of.starts:
        made["cells"] = numbers.parts(cell_parts(shape.of))
    return made


def picture_html(picture: Mapping[str, Any]) -> str:
    """A picture, as plain data, with its caption and its table, without a script."""
    line = f' style="{picture["line"]}"' if picture["line"] else ""
    caption = "\n".join(map(prose, (picture["full"] or picture["caption"]).splitlines()))
    strips, levels = picture["strips"], picture["levels"]
    if len(levels) > 1:
        strips = [
            f"<div><b>{escape(n)}</b><br>{s}</div>" for n, s in zip(levels, strips, strict=True)
        ]
    return (
        f'<figure class="wb-picture"><div class="wb-strips"{line}>{"".join(strips)}'
        f"</div><figcaption>{caption}\n"
        f'<span class="wb-kind">{escape(picture["kind"])}</span> '
        f'<span class="wb-about">{escape(picture["about"])}</span></figcaption>'
        f"<details><summary>the same as a table</summary>{picture['table']}</details></figure>"
    )


def heads(picture: Picture) -> list[Words]:
    """The names of its levels, each over its strip."""
    spots, _ = picture.spots()
    return [
        Words(name, x + MARGIN, y - 5, "strong", "start")
        for name, (x, y) in zip(picture.heads, spots, strict=False)
    ]


STYLE = (
    f"text {{ font: {FONT}px system-ui, sans-serif }}\n"
    ".wb-name, .wb-code { font-family: ui-monospace, monospace }\n"
    ".wb-name, .wb-code, .wb-strong, .wb-on-strong { font-weight: 600 }\n"
)


LINE = 18.0  # px of a line of the caption


def standalone_svg(picture: Picture, title: str, caption: bool = False) -> str:
    """All lines of strips in one SVG file that needs no style sheet, on white.

    Words are text, to be searched and set in another font. With `caption`, that stands below them.
    """
    spots, (width, height) = picture.spots()
    parts = [
        tag("g", {"transform": f"translate({x:g} {y:g})"}, drawn(strip))
        for strip, (x, y) in zip(picture.strips, spots, strict=True)
    ]
    words = heads(picture)
    if caption:
        below = caption_words(picture)
        words, height = words + below, height + LINE * len(below) + MARGIN
    parts += [drawn(Scene(width, height, (one,))) for one in words]
    ground = tag("rect", {"width": width, "height": height, "class": "wb-ground"})
    size = {"width": width, "height": height, "viewBox": f"0 0 {width:g} {height:g}"}
    about = {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-label": title}
    inside = "".join([ground, *parts])
    roles = [role for role in ALL if f'class="wb-{role}"' in inside]
    style = tag("style", None, STYLE + style_sheet(LIGHT, roles=roles))
    return tag("svg", {**about, **size}, style, inside)


def write_svg(picture: Picture, path: str | File) -> None:
    """Write the picture with its caption to the SVG file `path`, for paper.

    Raises Fail for a name that does not end with .svg, NotWritten, an OSError, where that fails.
    """
    name = visible(File(path).name)
    if not name.lower().endswith(".svg"):
        raise Fail(
            f"Can't write the picture to {name[:60]!r}: it is written as SVG",
            hint="end the name with .svg; without path=, .savefig(…) of what is returned writes "
            "other kinds",
        )
    write_whole(path, standalone_svg(picture, picture.full or picture.caption, caption=True))


def caption_words(picture: Picture) -> list[Words]:
    """The lines of its caption, below its strips."""
    _, (width, bottom) = picture.spots()
    return [
        Words(line, MARGIN, bottom + LINE * (k + 0.75), anchor="start")
        for k, line in enumerate(picture.caption_lines(width))
    ]
