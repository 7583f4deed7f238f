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
    about: dict[str, object] = {
        "data-name": of.buffer or None,
        "data-cell": f"{of.buffer}[{slices(of.cells)}]" if _still_cell(of) else None,
        "data-cells": slices(of.cells) or None,
        "data-block": _point(of.block),
        "data-thread": _point(of.thread),
        "data-loops": " ".join(of.loops) or None,
        "data-statement": of.statement or None,
    }
    title = tag("title", None, _escaped(of.told)) if of.told else ""
    return tag("g", about, inside, title)


def _still_cell(of: Stands) -> bool:
    """Whether it is one cell, the same for all selections."""
    return bool(of.cells) and not of.starts and all(count == 1 for _, count, _ in of.cells)


def _point(point: tuple[int, ...] | None) -> str | None:
    return None if point is None else ",".join(map(str, point))


def _shape(shape: Shape, number: int | None) -> str:
    match shape:
        case Words():
            return _words(shape, number)
        case Path():
            return _path(shape)
    box: dict[str, object] = {
        "x": shape.x, "y": shape.y, "width": shape.width, "height": shape.height,
        "class": f"wb-{shape.role}", "rx": shape.round or None,
        "data-slide": number,
    }  # fmt: skip
    lines = hatch(shape) if ROLES[shape.role].hatch else None
    return tag("rect", box) + (_path(lines) if lines else "")


def _words(words: Words, number: int | None) -> str:
    where: dict[str, object] = {
        "x": words.x, "y": words.y, "text-anchor": words.anchor, "class": f"wb-{words.role}",
        "data-slide": number,
    }  # fmt: skip
    return tag("text", where, _escaped(words.label))


def _path(path: Path) -> str:
    lines = ["L".join(f"{_number(x)} {_number(y)}" for x, y in line) for line in path.lines]
    return tag("path", {"d": "".join(f"M{line}" for line in lines), "class": f"wb-{path.role}"})


def _attribute(value: object) -> str:
    return _escaped(value) if isinstance(value, str) else _number(value)


@lru_cache(4096)
def _escaped(words: str) -> str:  # of few different words: kinds, names, anchors
    """`words` as XML can hold them: it knows no control characters, not even escaped."""
    return escape(visible(words))


def _number(value: object) -> str:
    """A float without needless digits: the text must not differ between machines."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
