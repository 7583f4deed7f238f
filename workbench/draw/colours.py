"""Which role is drawn in which colour: one table, for light and dark, and its style sheet.

Blocks have a hue each, with their number in it; threads have none, they are told by number and
place. Time is grey. How often cells are touched is one hue, the more of it the more often. Reads
and writes are outlines of different patterns. A hatch is how it was before. Alarm is for faults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, log

BLOCKS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e6c200",
    "#56b4e9",
    "#8c510a",
    "#8a63d2",
)
HEAT, ALARM = "#d9480f", "#d32f2f"
HEATS = 10  # steps of the scale of heat
HEAT_STEP = 4  # each stands for so many times more than the one before

Theme = Mapping[str, str]
LIGHT: Theme = {"paper": "#ffffff", "ink": "#212121"}  # as JupyterLab has them
DARK: Theme = {"paper": "#212121", "ink": "#e2e2e2"}


@dataclass(frozen=True, slots=True)
class Mix:
    """`share` percent of a hue ("#rrggbb", "ink") in the colour of the theme named `ground`."""

    hue: str
    share: int = 100
    ground: str = "paper"

    def hex(self, theme: Theme) -> str:
        """The colour in `theme`."""
        pair = zip(_parts(self.hue, theme), _parts(self.ground, theme), strict=True)
        mixed = [round((a * self.share + b * (100 - self.share)) / 100) for a, b in pair]
        return "#" + "".join(f"{part:02x}" for part in mixed)

    def css(self) -> str:
        """The colour in whichever theme the page has."""
        hue, ground = (c if c[0] == "#" else f"var(--{c})" for c in (self.hue, self.ground))
        return hue if self.share == 100 else f"color-mix(in srgb, {hue} {self.share}%, {ground})"


def _parts(colour: str, theme: Theme) -> tuple[int, int, int]:
    text = theme.get(colour, colour)
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


@dataclass(frozen=True, slots=True)
class Look:
    """How a role is drawn; dashes in px. A hatched one has slanting lines over its fill."""

    fill: Mix | None = None
    stroke: Mix | None = None
    wide: float = 1.0
    dash: tuple[float, ...] = ()
    hatch: bool = False


PAPER, INK = Mix("paper"), Mix("ink")
QUIET, EDGE, FAINT = Mix("ink", 78), Mix("ink", 55), Mix("ink", 24)
WORDS: dict[str, Look] = {
    "words": Look(INK),
    "strong": Look(INK),
    "name": Look(INK),
    "code": Look(INK),
    "muted": Look(QUIET),
    # on what is drawn, which goes on beside the letters: with an edge of paper
    "on": Look(INK, PAPER, 4.0),
    "on-strong": Look(INK, PAPER, 4.0),
    "on-muted": Look(QUIET, PAPER, 4.0),
}
ROLES: dict[str, Look] = {
    "ground": Look(PAPER),
    "box": Look(PAPER, QUIET),
    "chip": Look(PAPER, QUIET),
    "room": Look(Mix("ink", 3), EDGE),
    "stored": Look(Mix("ink", 14)),
    "corridor": Look(Mix("ink", 10)),
    "soft": Look(Mix("ink", 6), EDGE),
    "grid": Look(None, FAINT, 0.5),
    "head": Look(QUIET),
    "thread": Look(PAPER, QUIET),
    "idle": Look(None, EDGE, 1.0, (1, 3)),
    "time": Look(Mix("ink", 10), EDGE),
    "clock": Look(None, QUIET, 1.2),
    "read": Look(None, INK, 1.6, (4, 2)),
    "write": Look(None, INK, 1.6),
    "both": Look(None, INK, 1.6, (8, 2, 2, 2)),
    "ghost": Look(None, EDGE, 1.0, (2, 2), hatch=True),
    "new": Look(None, INK, 2.6),
    "asked": Look(None, INK, 2.2, (5, 3)),
    "alarm": Look(Mix(ALARM, 16), Mix(ALARM, 75, "ink"), 2.0),
    **{f"block-{k}": Look(Mix(hue, 20), Mix(hue, 68, "ink")) for k, hue in enumerate(BLOCKS)},
    **{f"heat-{k}": Look(Mix(HEAT, 5 + 7 * k), Mix("ink", 60)) for k in range(HEATS)},
}


ALL = {**WORDS, **ROLES}


def heat(times: float) -> str:
    """The role of cells that are touched so many times each.

    The scale is the same for all programs, so that two pictures can be held against each other.

    >>> [heat(times) for times in (1, 130, 384, 16640)]
    ['heat-0', 'heat-4', 'heat-5', 'heat-8']
    """
    return f"heat-{min(ceil(round(log(max(times, 1), HEAT_STEP), 9)), HEATS - 1)}"


def times_each(number: float) -> str:
    """How often each cell is touched, as short as a label must be: × 128, × 2.95."""
    return f"× {number:,.0f}" if number >= 100 else f"× {number:.3g}"


def block_role(number: int) -> str:
    """The role of the block that is the `number`-th among those drawn."""
    return f"block-{number % len(BLOCKS)}"


def style_sheet(theme: Theme | None = None, within: str = "", roles: Iterable[str] = ALL) -> str:
    """The table as CSS classes: of `theme`, else of the page's own --ink and --paper.

    Of some `roles`, and `within` a selector, where the page may have others of these names.
    """
    rules = []
    for role in roles:
        look = ALL[role]
        said = {
            "fill": _said(look.fill, theme) if look.fill or look.stroke else "",
            "stroke": _said(look.stroke, theme) if look.stroke else "",
            "stroke-width": f"{look.wide:g}" if look.wide != 1 else "",
            "stroke-dasharray": " ".join(f"{part:g}" for part in look.dash),
            "stroke-linejoin": "round" if role in WORDS and look.stroke else "",
            "paint-order": "stroke" if role in WORDS and look.stroke else "",
        }
        body = "".join(f"  {key}: {value};\n" for key, value in said.items() if value)
        rules.append(f"{within}.wb-{role} {{\n{body}}}\n")
    return "".join(rules)


def _said(mix: Mix | None, theme: Theme | None) -> str:
    if mix is None:
        return "none"
    return mix.css() if theme is None else mix.hex(theme)
