"""A picture as a matplotlib figure, in the colours of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.draw.colours import LIGHT, ROLES, WORDS, Look, Mix
from workbench.draw.hatch import hatch
from workbench.draw.picture import LINE, MARGIN, Picture, caption_words, heads
from workbench.draw.scene import BOLD, FONT, MONO, Path, Rect, Scene, Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 96.0  # a CSS px is 1/96 inch: shapes and letters keep their proportions
POINT = 0.75  # of a px
_PLAIN_TEXT: Any = {"parse_math": False}  # a name may hold the sign that formulas stand between


def figure(picture: Picture) -> Figure:
    """The picture as a figure of its natural size, its lines below each other, its caption last.

    Raises ImportError where matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    spots, (width, bottom) = picture.spots()
    caption = caption_words(picture)
    height = bottom + LINE * len(caption) + MARGIN
    made = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    axes = made.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)  # y grows downwards, as in SVG
    axes.set_axis_off()
    for scene, (x, y) in zip(picture.strips, spots, strict=True):
        _draw(axes, scene, x, y)
    for words in heads(picture) + caption:
        _write(axes, words, 0, 0, 0)
    return made


def _draw(axes: Axes, scene: Scene, x: float, y: float) -> None:
    for order, shape in enumerate(scene.shapes):
        match shape:
            case Words():
                _write(axes, shape, x, y, order)
            case Path():
                _path(axes, shape, x, y, order)
            case Rect():
                _rect(axes, shape, x, y, order)


def _rect(axes: Axes, rect: Rect, x: float, y: float, order: int) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    look = ROLES[rect.role]
    corner = (x + rect.x, y + rect.y)
    if rect.round:
        style: Any = f"round,pad=0,rounding_size={rect.round:g}"
        box: Any = FancyBboxPatch(
            corner, rect.width, rect.height, boxstyle=style, **_paint(look, order)
        )
    else:
        box = Rectangle(corner, rect.width, rect.height, **_paint(look, order))
    axes.add_patch(box)
    if look.hatch:
        _path(axes, hatch(rect), x, y, order)


def _path(axes: Axes, path: Path, x: float, y: float, order: int) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Lines

    spots = [(x + a, y + b) for line in path.lines for a, b in line]
    codes = [
        Lines.MOVETO if k == 0 else Lines.LINETO for line in path.lines for k in range(len(line))
    ]
    axes.add_patch(PathPatch(Lines(spots, codes), **_paint(ROLES[path.role], order)))


def _paint(look: Look, order: int) -> dict[str, Any]:
    dash = (0, tuple(part / look.wide for part in look.dash))  # matplotlib's are in line widths
    return {
        "facecolor": _hex(look.fill),
        "edgecolor": _hex(look.stroke),
        "zorder": order,
        "linewidth": look.wide * POINT,
        "linestyle": dash if look.dash else "-",
    }


def _hex(mix: Mix | None) -> str:
    return "none" if mix is None else mix.hex(LIGHT)


def _write(axes: Axes, words: Words, x: float, y: float, order: int) -> None:
    from matplotlib.patheffects import withStroke

    anchors = {"middle": "center", "start": "left", "end": "right"}
    look = WORDS[words.role]
    stroke: Any = {"linewidth": look.wide * POINT, "foreground": _hex(look.stroke)}
    edge = [withStroke(**stroke)] if look.stroke else None
    axes.text(
        x + words.x,
        y + words.y,
        words.label,
        fontsize=FONT * POINT,
        ha=anchors[words.anchor],
        family="monospace" if words.role in MONO else "sans-serif",
        weight="bold" if words.role in (*MONO, *BOLD) else "normal",
        color=_hex(look.fill),
        path_effects=edge,
        zorder=order,
        **_PLAIN_TEXT,
    )
