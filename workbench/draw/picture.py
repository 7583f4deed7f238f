"""A picture: strips of SVG that wrap to the width at hand, a caption, and its table twin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from workbench.draw.svg import tag
from workbench.insight import Table


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn: strips side by side where there is room, else one below the other.

    `caption` is one sentence; `table` has the same facts; `kind` says where its numbers come from.
    """

    strips: tuple[str, ...]
    caption: str
    table: Table
    kind: str


def table_html(table: Table, caption: str = "") -> str:
    """A table with column heads; numbers are aligned to the right."""
    head = "".join(f'<th scope="col">{escape(c)}</th>' for c in table.columns)
    rows = "".join(f"<tr>{''.join(map(_entry, row))}</tr>" for row in table.rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _entry(value: str | int | float) -> str:
    if isinstance(value, str):
        return f"<td>{escape(value)}</td>"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return f'<td class="wb-num">{shown}</td>'


def picture_html(picture: Picture) -> str:
    """The picture with its caption and its table, without a script."""
    return (
        f'<figure class="wb-picture"><div class="wb-strips">{"".join(picture.strips)}</div>'
        f"<figcaption>{escape(picture.caption)} "
        f'<span class="wb-kind">{escape(picture.kind)}</span></figcaption>'
        f"<details><summary>the same as a table</summary>{table_html(picture.table)}</details>"
        "</figure>"
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
.wb-read { fill: #0072b2; fill-opacity: .7; stroke: #1f2328; stroke-dasharray: 4 2 }
.wb-read-1 { fill: #0072b2; fill-opacity: .3; stroke: #0072b2 }
.wb-read-2 { fill: #0072b2; fill-opacity: .14; stroke: #0072b2 }
.wb-write { fill: #d55e00; fill-opacity: .75; stroke: #1f2328 }
.wb-write-1 { fill: #d55e00; fill-opacity: .34; stroke: #d55e00 }
.wb-write-2 { fill: #d55e00; fill-opacity: .16; stroke: #d55e00 }
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
    """All strips below each other in one SVG file that needs no style sheet, on white."""
    sizes = [
        tuple(map(float, re.findall(r'(?:width|height)="([\d.]+)"', s)[:2])) for s in picture.strips
    ]
    gap, width = 6.0, max(w for w, _ in sizes) + 12
    parts, y = [], 6.0
    for strip, (_, height) in zip(picture.strips, sizes, strict=True):
        inner = strip.partition(">")[2].rpartition("</svg>")[0]
        parts.append(tag("g", {"transform": f"translate(6 {y:g})"}, inner))
        y += height + gap
    ground = tag("rect", {"width": width, "height": y, "class": "wb-ground"})
    size = {"width": width, "height": y, "viewBox": f"0 0 {width:g} {y:g}"}
    about = {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-label": title}
    return tag("svg", {**about, **size}, tag("style", None, STYLE), ground, *parts)
