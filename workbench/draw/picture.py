"""A picture: strips of SVG that wrap to the width at hand, a caption, and its table twin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from workbench.diag import prose
from workbench.draw.svg import tag
from workbench.insight import KIND_WORDS, Table

MARGIN = 6.0  # px around the strips and between their lines
LEAST = 0.8  # of its natural width: a strip of a line is not drawn smaller while it can wrap
# In a cell, which is narrow: a number with its sign and unit, "12/8", "H200"; not in "&#x27;".
_NUMBER = re.compile(
    r"(?<![\w#])(?:[-+−]|× )?[A-Z]?\d(?:[\w.,:/]*\w)?%?(?:\N{NO-BREAK SPACE}[\w/]+)?"
)


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn: strips side by side where there is room, else one below the other.

    `caption` says what is seen; `table` has the same facts; `kind` says where its numbers come
    from. `across` strips make a line of their own, in which they shrink a little rather than
    wrap; 0 where as many stand beside each other as there is room for.
    """

    strips: tuple[str, ...]
    caption: str
    table: Table
    kind: str
    across: int = 0

    @property
    def line_style(self) -> str:
        """The CSS of the strips' container where `across` strips make a line, else nothing."""
        if not self.across:
            return ""
        width = _size(self.strips[0])[0]
        return f"--strip: {width * LEAST:g}px; max-width: {width * self.across:g}px"

    def spots(self) -> tuple[list[tuple[float, float]], tuple[float, float]]:
        """Where each strip stands, the lines below each other; and the size of it all."""
        spots, wide, y = [], 0.0, MARGIN
        for start in range(0, len(self.strips), self.across or 1):
            sizes = [_size(strip) for strip in self.strips[start : start + (self.across or 1)]]
            x = MARGIN
            for width, _ in sizes:
                spots.append((x, y))
                x += width
            wide = max(wide, x + MARGIN)
            y += max(height for _, height in sizes) + MARGIN
        return spots, (wide, y)


def _size(strip: str) -> tuple[float, float]:
    """The natural width and height of a strip."""
    width, height = map(float, re.findall(r'(?:width|height)="([\d.]+)"', strip)[:2])
    return width, height


def table_html(table: Table, caption: str = "") -> str:
    """A table with column heads; numbers are aligned to the right."""
    head = "".join(f'<th scope="col">{prose(c)}</th>' for c in table.columns)
    rows = "".join(f"<tr>{''.join(map(_entry, row))}</tr>" for row in table.rows)
    title = f"<caption>{prose(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


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
        "strips": list(picture.strips),
        "caption": picture.caption,
        "table": table_html(picture.table),
        "line": picture.line_style,
        "kind": picture.kind,
        "about": KIND_WORDS[picture.kind],
    }


def picture_html(picture: Mapping[str, Any]) -> str:
    """A picture, as plain data, with its caption and its table, without a script."""
    line = f' style="{picture["line"]}"' if picture["line"] else ""
    return (
        f'<figure class="wb-picture"><div class="wb-strips"{line}>{"".join(picture["strips"])}'
        f"</div><figcaption>{prose(picture['caption'])}\n"
        f'<span class="wb-kind">{escape(picture["kind"])}</span> '
        f'<span class="wb-about">{escape(picture["about"])}</span></figcaption>'
        f"<details><summary>the same as a table</summary>{picture['table']}</details></figure>"
    )


STYLE = """
text { font: 11px system-ui, sans-serif; fill: #1f2328 }
.wb-cell-name, .wb-code-text { font-family: ui-monospace, monospace; font-weight: 600 }
.wb-muted, .wb-head { fill: #57606a }
.wb-box { fill: #fff; stroke: #57606a }
.wb-soft { fill: #eef1f4; stroke: #8c959f }
.wb-arrow { stroke: #57606a; fill: none }
.wb-grid { stroke: #b6bec6; stroke-width: .5; fill: none }
.wb-dot { fill: #1f2328; stroke: #fff }
.wb-guide { stroke-dasharray: 2 3 }
.wb-read { fill: #4798c6; stroke: #1f2328; stroke-dasharray: 4 2 }
.wb-read-1 { fill: #a2c8df; stroke: #0072b2 }
.wb-read-2 { fill: #cadeea; stroke: #0072b2 }
.wb-write { fill: #dc8a49; stroke: #1f2328 }
.wb-write-1 { fill: #e6c2a6; stroke: #d55e00 }
.wb-write-2 { fill: #eadbcf; stroke: #d55e00 }
.wb-both { fill: #47b79a; stroke: #1f2328; stroke-dasharray: 8 2 2 2 }
.wb-both-1 { fill: #a2d6cb; stroke: #009e73 }
.wb-both-2 { fill: #cae5e1; stroke: #009e73 }
.wb-u0 { fill: #dbe9f6; stroke: #0072b2 }
.wb-u1 { fill: #fbe3d3; stroke: #d55e00 }
.wb-u2 { fill: #d9f0e6; stroke: #00795b }
.wb-u3 { fill: #f3e0ec; stroke: #a8487e }
.wb-u4 { fill: #fdf3cf; stroke: #8a6d00 }
.wb-u5 { fill: #e1f2fb; stroke: #2a7ba6 }
.wb-u6 { fill: #eaeaea; stroke: #444 }
.wb-u7 { fill: #e9e1f5; stroke: #6a4fa0 }
.wb-new { stroke-width: 2.5 }
.wb-asked { fill: none; stroke: #1f2328; stroke-width: 2.5; stroke-dasharray: 5 3 }
.wb-ground { fill: #fff }
"""


def standalone_svg(picture: Picture, title: str) -> str:
    """All lines of strips in one SVG file that needs no style sheet, on white."""
    spots, (width, height) = picture.spots()
    parts = [
        tag("g", {"transform": f"translate({x:g} {y:g})"},
            strip.partition(">")[2].rpartition("</svg>")[0])
        for strip, (x, y) in zip(picture.strips, spots, strict=True)
    ]  # fmt: skip
    ground = tag("rect", {"width": width, "height": height, "class": "wb-ground"})
    size = {"width": width, "height": height, "viewBox": f"0 0 {width:g} {height:g}"}
    about = {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-label": title}
    return tag("svg", {**about, **size}, tag("style", None, STYLE), ground, *parts)
