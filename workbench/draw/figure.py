"""A picture as a matplotlib figure: the strips' shapes drawn with the style of a single file."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING, Any

from workbench.draw.picture import MARGIN, STYLE, Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 96.0  # a CSS px is 1/96 inch: shapes and letters keep their proportions
CAPTION = 34.0  # px below the strips

Style = dict[str, str]
_PLAIN_TEXT: Any = {"parse_math": False}  # a name may hold the sign that formulas stand between


def figure(picture: Picture) -> Figure:
    """The picture as a figure of its natural size, its lines below each other, its caption last.

    Raises ImportError where matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    trees = [ElementTree.fromstring(strip) for strip in picture.strips]
    spots, (width, bottom) = picture.spots()
    height = bottom + CAPTION
    made = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    axes = made.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)  # y grows downwards, as in SVG
    axes.set_axis_off()
    for tree, (x, y) in zip(trees, spots, strict=True):
        _draw(axes, tree, x, y)
    axes.text(MARGIN, bottom + 4, picture.caption, fontsize=8, va="top", wrap=True, **_PLAIN_TEXT)
    return made


def _draw(axes: Axes, tree: ElementTree.Element, x: float, y: float) -> None:
    from matplotlib.patches import Circle, PathPatch, Rectangle
    from matplotlib.path import Path

    for element in tree.iter():
        style = _style(element)
        paint: Any = {"facecolor": style["fill"], "edgecolor": style["stroke"]}
        match element.tag.rpartition("}")[2]:
            case "rect":
                corner = (x + _number(element, "x"), y + _number(element, "y"))
                size = (_number(element, "width"), _number(element, "height"))
                wide = float(style["stroke-width"])
                axes.add_patch(Rectangle(corner, *size, linewidth=wide * 0.75, **paint))
            case "circle":
                middle = (x + _number(element, "cx"), y + _number(element, "cy"))
                axes.add_patch(Circle(middle, _number(element, "r"), zorder=3, **paint))
            case "text":
                _write(axes, element, x, y, style)
            case "path" if element.get("class", "") in ("wb-arrow", "wb-head"):
                axes.add_patch(PathPatch(Path(_points(element, x, y)), zorder=2, **paint))


def _write(axes: Axes, element: ElementTree.Element, x: float, y: float, style: Style) -> None:
    anchors = {"middle": "center", "start": "left", "end": "right"}
    axes.text(
        x + _number(element, "x"),
        y + _number(element, "y"),
        element.text or "",
        fontsize=7.5,
        ha=anchors[element.get("text-anchor", "start")],
        family="monospace" if "monospace" in style["font-family"] else "sans-serif",
        weight="bold" if style["font-weight"] == "600" else "normal",
        color=style["fill"],
        zorder=4,
        **_PLAIN_TEXT,
    )


def _points(element: ElementTree.Element, x: float, y: float) -> list[tuple[float, float]]:
    """The corners of an arrow or of its head."""
    numbers = list(map(float, re.findall(r"-?[\d.]+", element.get("d", ""))))
    return [(x + a, y + b) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]


def _number(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name, "0"))


_PLAIN: Style = {
    "fill": "none",
    "stroke": "none",
    "stroke-width": "1",
    "font-family": "sans-serif",
    "font-weight": "400",
}


def _style(element: ElementTree.Element) -> Style:
    """What the style sheet of a single file says of the element's classes."""
    made = dict(_PLAIN, fill="#1f2328") if element.tag.endswith("text") else dict(_PLAIN)
    for name in element.get("class", "").split():
        made |= {k: v for k, v in _RULES.get(name, {}).items() if k in made}
    return made


def _rules() -> dict[str, Style]:
    """The style sheet as classes and what each sets."""
    made: dict[str, Style] = {}
    for selectors, body in re.findall(r"([^{}]+)\{([^}]*)\}", STYLE):
        pairs = dict(part.split(":", 1) for part in body.split(";") if ":" in part)
        rule = {key.strip(): value.strip() for key, value in pairs.items()}
        for selector in selectors.split(","):
            made.setdefault(selector.strip().lstrip("."), {}).update(rule)
    return made


_RULES = _rules()
