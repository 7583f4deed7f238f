"""A scene as SVG text, coloured by the classes of its roles."""

from __future__ import annotations

from functools import lru_cache
from html import escape

from workbench.diag import visible
from workbench.draw.colours import HUES, ROLES, style_sheet
from workbench.draw.hatch import hatch
from workbench.draw.scene import (
    BOLD,
    FONT,
    NOTHING,
    Forms,
    Path,
    Rect,
    Scene,
    Shape,
    Spot,
    Stands,
    Words,
    moving,
    slices,
)


def svg(scene: Scene, label: str | None = None) -> str:
    """A drawing of the scene's size; without a label it is hidden from screen readers."""
    return tag("svg", _about_drawing(scene, label), drawn(scene))


def drawings(forms: Forms) -> list[str]:
    """The drawings of each form, none but the first shown until a script finds another needed."""
    first, *lower = forms
    made = [svg(scene) for scene in first]
    for number, scenes in enumerate(lower, 1):
        more = {"data-low": number, "style": "display:none"}
        made += [tag("svg", _about_drawing(scene, None) | more, drawn(scene)) for scene in scenes]
    return made


def svg_in_text(scene: Scene, label: str | None = None) -> str:
    """The same in the colour of the words around it, whatever page it stands on.

    It has its style with it, and its natural size: a notebook shrinks what does not say so.
    """
    about = _about_drawing(scene, label)
    size = f"max-width:none;width:{about['width']}px;height:{about['height']}px"
    hues = "".join(f";--{name}:light-dark({','.join(pair)})" for name, pair in HUES.items())
    own = f"{size};--ink:currentColor;--paper:transparent{hues}"
    style = {"class": "wb-in-text", "style": own}
    within = ".wb-in-text "
    sheet = f"{within}text {{ font-size: {FONT}px }}\n"
    sheet += "".join(f"{within}.wb-{role} {{ font-weight: 600 }}\n" for role in BOLD)
    sheet += style_sheet(None, within, dict.fromkeys(shape.role for shape in scene.shapes))
    return tag("svg", {**about, **style}, tag("style", None, sheet), drawn(scene))


def _about_drawing(scene: Scene, label: str | None) -> dict[str, object]:
    hidden = {"aria-hidden": "true"} if label is None else {"role": "img", "aria-label": label}
    wide, high = map(_number, (scene.width, scene.height))
    size = {"width": wide, "height": high, "viewBox": f"0 0 {wide} {high}"}
    flags = ("scrolls", "free", "joint")
    marks = {f"data-{flag}": getattr(scene, flag) for flag in flags}
    said = {name: "" for name, there in marks.items() if there}
    return {"xmlns": "http://www.w3.org/2000/svg", **size, **said, **hidden}


def drawn(scene: Scene) -> str:
    """What is in the drawing; shapes that stand for one thing are one group.

    Those that slide have a number, by which `slides` tells where to.
    """
    made: list[str] = []
    of, group = NOTHING, list[str]()
    for number, shape in enumerate(scene.shapes):
        if shape.of is not of and shape.of != of:
            made.append(_group(of, "".join(group)))
            of, group = shape.of, []
        group.append(_shape(number, shape))
    return "".join(made) + _group(of, "".join(group))


def tag(name: str, attributes: dict[str, object] | None = None, *children: str) -> str:
    """An element; attributes that are None are left out, the others escaped."""
    given = "".join(
        [
            f' {key}="{_attribute(value)}"'
            for key, value in (attributes or {}).items()
            if value is not None
        ]
    )
    return f"<{name}{given}>{''.join(children)}</{name}>"


def _group(of: Stands, inside: str) -> str:
    if not inside or of == NOTHING:
        return inside
    about, title = _about(of)
    return f"<g{about}>{inside}{title}</g>"


# Pictures of neighbouring steps and selections have most of their marks in common.
_MARKS = 1 << 13


@lru_cache(_MARKS)
def _about(of: Stands) -> tuple[str, str]:
    """The attributes and the title of a group that stands for something."""
    name, cells = _escaped(of.buffer), slices(of.cells)
    about = (
        ("name", name),
        ("cell", f"{name}[{cells}]" if _still_cell(of) else ""),
        ("cells", cells),
        ("block", _point(of.block)),
        ("thread", _point(of.thread)),
        ("loops", _escaped(" ".join(of.loops))),
        ("statement", _escaped(of.statement)),
        ("iteration", _escaped(of.iteration)),
        ("lanes", " ".join(map(str, of.lanes))),
        ("served", _escaped(of.served)),
        ("key", _escaped(of.key)),
    )
    lines = "\n".join(map(_escaped, of.title.splitlines()))
    title = f"<title>{lines}</title>" if lines else ""
    return "".join([f' data-{key}="{value}"' for key, value in about if value]), title


def _still_cell(of: Stands) -> bool:
    """Whether it is one cell, the same for all selections."""
    return bool(of.cells) and not of.starts and all(count == 1 for _, count, _ in of.cells)


def _point(point: tuple[int, ...] | None) -> str:
    return ",".join(map(str, point or ()))


def _shape(number: int, shape: Shape) -> str:
    if isinstance(shape, Path):
        return _path(shape.lines, shape.role)
    slide = f' data-slide="{number}"' if moving(shape) else ""
    if isinstance(shape, Words):
        where, words = _words(*shape[:5])
        short = f' data-short="{_escaped(shape.short)}"' if shape.short else ""
        return f"<text {where}{slide}{short}>{words}</text>"
    rounded = _rounded(shape) if shape.round else ""
    drawn = f"<rect {_rect(*shape[:5])}{rounded}{slide}></rect>"
    return drawn + _path(*hatch(shape)[:2]) if ROLES[shape.role].hatch else drawn


def _rounded(rect: Rect) -> str:
    """The radius of its corners, and whether it is a disc, which stays one when it is stretched."""
    disc = ' data-disc=""' if 2 * rect.round >= min(rect.width, rect.height) else ""
    return f' rx="{rect.round:.6g}"{disc}'


@lru_cache(_MARKS)
def _words(label: str, x: float, y: float, role: str, anchor: str) -> tuple[str, str]:
    where = f'x="{x:.6g}" y="{y:.6g}" text-anchor="{anchor}" class="wb-{role}"'
    return where, _escaped(label)


@lru_cache(_MARKS)
def _rect(x: float, y: float, wide: float, high: float, role: str) -> str:
    edges = f'x="{x:.6g}" y="{y:.6g}" width="{wide:.6g}" height="{high:.6g}"'
    return f'{edges} class="wb-{role}"'


@lru_cache(1 << 10)  # mostly grids
def _path(lines: tuple[tuple[Spot, ...], ...], role: str) -> str:
    drawn = ["L".join([f"{x:.6g} {y:.6g}" for x, y in line]) for line in lines]
    return f'<path d="M{"M".join(drawn)}" class="wb-{role}"></path>'


def _attribute(value: object) -> str:
    return _escaped(value) if isinstance(value, str) else _number(value)


@lru_cache(4096)
def _escaped(words: str) -> str:  # of few different words: kinds, names, anchors
    """`words` as XML can hold them: it knows no control characters, not even escaped."""
    return escape(visible(words))


def _number(value: object) -> str:
    """A float without needless digits: the text must not differ between machines."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
