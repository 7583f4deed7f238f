"""A scene as SVG text, coloured by the classes of its roles."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from itertools import groupby

from workbench.diag import visible
from workbench.draw.colours import ROLES
from workbench.draw.hatch import hatch
from workbench.draw.scene import NOTHING, Path, Scene, Shape, Stands, Words, moving, slices


def svg(scene: Scene, label: str | None = None) -> str:
    """A drawing of the scene's size; without a label it is hidden from screen readers."""
    hidden = {"aria-hidden": "true"} if label is None else {"role": "img", "aria-label": label}
    wide, high = map(_number, (scene.width, scene.height))
    size = {"width": wide, "height": high, "viewBox": f"0 0 {wide} {high}"}
    return tag("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, **hidden}, drawn(scene))


def drawn(scene: Scene) -> str:
    """What is in the drawing; shapes that stand for one thing are one group.

    Those that slide have a number, by which `slides` tells where to.
    """
    numbered = enumerate(scene.shapes)
    return "".join(
        _group(of, "".join(_shape(shape, k if moving(shape) else None) for k, shape in shapes))
        for of, shapes in groupby(numbered, lambda pair: pair[1].of)
    )


def tag(name: str, attributes: dict[str, object] | None = None, *children: str) -> str:
    """An element; attributes that are None are left out, the others escaped."""
    given = "".join(
        [f' {key}="{_attribute(value)}"' for key, value in (attributes or {}).items()
         if value is not None]
    )  # fmt: skip
    return f"<{name}{given}>{''.join(children)}</{name}>"


def _group(of: Stands, inside: str) -> str:
    if of == NOTHING:
        return inside
    name, cells = _escaped(of.buffer), slices(of.cells)
    about = "".join(
        f' data-{key}="{value}"'
        for key, value in (
            ("name", name),
            ("cell", f"{name}[{cells}]" if _still_cell(of) else ""),
            ("cells", cells),
            ("block", _point(of.block)),
            ("thread", _point(of.thread)),
            ("loops", _escaped(" ".join(of.loops))),
            ("statement", _escaped(of.statement)),
        )
        if value
    )
    title = f"<title>{_escaped(of.told)}</title>" if of.told else ""
    return f"<g{about}>{inside}{title}</g>"


def _still_cell(of: Stands) -> bool:
    """Whether it is one cell, the same for all selections."""
    return bool(of.cells) and not of.starts and all(count == 1 for _, count, _ in of.cells)


def _point(point: tuple[int, ...] | None) -> str:
    return ",".join(map(str, point or ()))


def _shape(shape: Shape, number: int | None) -> str:
    slide = "" if number is None else f' data-slide="{number}"'
    match shape:
        case Words(label=label, x=x, y=y, role=role, anchor=anchor):
            where = f'x="{x:.6g}" y="{y:.6g}" text-anchor="{anchor}"'
            return f'<text {where} class="wb-{role}"{slide}>{_escaped(label)}</text>'
        case Path():
            return _path(shape)
    x, y, wide, high, role = shape[:5]
    edges = f'x="{x:.6g}" y="{y:.6g}" width="{wide:.6g}" height="{high:.6g}"'
    rounded = f' rx="{shape.round:.6g}"' if shape.round else ""
    lines = _path(hatch(shape)) if ROLES[role].hatch else ""
    return f'<rect {edges} class="wb-{role}"{rounded}{slide}></rect>{lines}'


def _path(path: Path) -> str:
    lines = ["L".join([f"{x:.6g} {y:.6g}" for x, y in line]) for line in path.lines]
    return f'<path d="M{"M".join(lines)}" class="wb-{path.role}"></path>'


def _attribute(value: object) -> str:
    return _escaped(value) if isinstance(value, str) else _number(value)


@lru_cache(4096)
def _escaped(words: str) -> str:  # of few different words: kinds, names, anchors
    """`words` as XML can hold them: it knows no control characters, not even escaped."""
    return escape(visible(words))


def _number(value: object) -> str:
    """A float without needless digits: the text must not differ between machines."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
