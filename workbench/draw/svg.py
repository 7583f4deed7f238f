"""SVG as text: elements, escaped labels, and the sizes that every picture shares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape

from workbench.diag import visible
from workbench.insight import Region

FONT = 11  # px; the smallest text of a picture at its natural size

# Widths in parts of an em: those of DejaVu Sans, which is wider than most system fonts.
_EM = 20.5
_LETTERS = {
    "ijl'": 6, "I": 6, " ,./:;|\\": 7, "ft()[]-·": 8, "r\"*`!": 9, "_–“”": 11, "csz?": 11,
    "kvxyLF": 12, "aegohnpqubdETPSJ$0123456789YZ{}": 13, "ABCKRVX": 14, "GDHNOQU&": 16,
    "+<=>~^#→×": 17, "wM": 18, "%mW@…": 20,
}  # fmt: skip
_WIDTHS = {letter: wide for letters, wide in _LETTERS.items() for letter in letters}
_OTHER, _MONO, _BOLD = 20, 0.605, 1.12
MONO = ("wb-cell-name", "wb-code-text")


def tag(name: str, attributes: dict[str, object] | None = None, *children: str) -> str:
    """An element; attributes that are None are left out, the others escaped."""
    given = "".join(
        [f' {key}="{_attribute(value)}"' for key, value in (attributes or {}).items()
         if value is not None]
    )  # fmt: skip
    return f"<{name}{given}>{''.join(children)}</{name}>"


def text(label: str, x: float, y: float, kind: str = "", anchor: str = "middle") -> str:
    """A label whose baseline starts, ends or is centred at (x, y)."""
    where: dict[str, object] = {"x": x, "y": y, "text-anchor": anchor, "class": kind or None}
    return tag("text", where, _escaped(label))


def rect(x: float, y: float, width: float, height: float, kind: str, **more: object) -> str:
    """A box; `kind` is its CSS class."""
    size: dict[str, object] = {"x": x, "y": y, "width": width, "height": height, "class": kind}
    return tag("rect", {**size, **more})


def picture(width: float, height: float, *children: str, label: str | None = None) -> str:
    """A drawing of a natural size in px; without a label it is hidden from screen readers."""
    hidden = {"aria-hidden": "true"} if label is None else {"role": "img", "aria-label": label}
    size = {"width": width, "height": height, "viewBox": f"0 0 {_number(width)} {_number(height)}"}
    return tag("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, **hidden}, *children)


def title(words: str) -> str:
    """What a mouse that rests on the element is told."""
    return tag("title", None, _escaped(words))


@lru_cache(4096)
def width_of(label: str, kind: str = "") -> float:
    """How many px `label` takes in the style `kind`, at most, in a common font."""
    if kind in MONO:
        return len(label) * _MONO * FONT
    wide = sum(_WIDTHS.get(letter, _OTHER) for letter in label) * FONT / _EM
    return wide * _BOLD if kind == "wb-strong" else wide


def fit(label: str, width: float, kind: str = "") -> str:
    """`label`, cut with an ellipsis where it is wider than `width` px."""
    if width_of(label, kind) <= width:
        return label
    cut = next((n for n in range(len(label) - 1, 1, -1)
                if width_of(label[:n] + "…", kind) <= width), 1)  # fmt: skip
    return label[:cut] + "…"


def longest(forms: Sequence[str], width: float, kind: str = "") -> str:
    """The first of `forms`, the longest first, that is not wider than `width`; "" if none is."""
    return next((form for form in forms if width_of(form, kind) <= width), "")


def slices(region: Region) -> str:
    """The cells of a region as one writes them in Python, without the name: 128:256, 0."""
    return ", ".join(_slice(*dim) for dim in region)


def _slice(start: int, count: int, step: int) -> str:
    if count == 1:
        return str(start)
    stop = start + (count - 1) * step + 1
    return f"{start}:{stop}" + (f":{step}" if step != 1 else "")


def _attribute(value: object) -> str:
    return _escaped(value) if isinstance(value, str) else _number(value)


@lru_cache(4096)
def _escaped(words: str) -> str:  # of few different words: kinds, names, anchors
    """`words` as XML can hold them: it knows no control characters, not even escaped."""
    return escape(visible(words))


def _number(value: object) -> str:
    """A float without needless digits: the text must not differ between machines."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
