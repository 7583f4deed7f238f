"""Which role is drawn in which colour: one table, for light and dark, and its style sheet.

There are four hues. `who` is what is chosen, a block, a thread, a cell, with all that goes with it;
`much` how often, how long; `came` what is new, or would be; `fault` what is wrong. All else is ink,
more or less of it: blocks alternate like the squares of a board, with their number in them, threads
are told by number and place. Reads and writes are outlines of different patterns. A hatch is how it
was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, log, sqrt

BLOCKS = (4, 16)  # percent of ink, by turns
HEATS = 10  # steps of the scale of heat
TENTHS = 10
HEAT_STEP = 4  # each stands for so many times more than the one before

Theme = Mapping[str, str]
HUES = {  # light and dark; in the eyes of all, each differs from the others
    "who": ("#00796b", "#4fd1b8"),
    "much": ("#b36b00", "#b8781f"),
    "came": ("#1f5fd0", "#7fb0ff"),
    "fault": ("#c4262e", "#ff7a70"),
}
# paper and ink as JupyterLab has them
LIGHT: Theme = {"paper": "#ffffff", "ink": "#212121", **{n: hue[0] for n, hue in HUES.items()}}
DARK: Theme = {"paper": "#212121", "ink": "#e2e2e2", **{n: hue[1] for n, hue in HUES.items()}}


@dataclass(frozen=True, slots=True)
class Mix:
    """`share` percent of one colour of a theme ("ink", "who") in another, its `ground`."""

    hue: str
    share: int = 100
    ground: str = "paper"

    def hex(self, theme: Theme) -> str:
        """The colour in `theme`."""
        pair = zip(_parts(theme[self.hue]), _parts(theme[self.ground]), strict=True)
        mixed = [round((a * self.share + b * (100 - self.share)) / 100) for a, b in pair]
        return "#" + "".join(f"{part:02x}" for part in mixed)

    def css(self) -> str:
        """The colour in whichever theme the page has."""
        hue, ground = f"var(--{self.hue})", f"var(--{self.ground})"
        return hue if self.share == 100 else f"color-mix(in srgb, {hue} {self.share}%, {ground})"


def _parts(colour: str) -> tuple[int, int, int]:
    """The red, green and blue of "#rrggbb"."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


@dataclass(frozen=True, slots=True)
class Look:
    """How a role is drawn; dashes in px. A hatched one has slanting lines over its fill."""

    fill: Mix | None = None
    stroke: Mix | None = None
    wide: float = 1.0
    dash: tuple[float, ...] = ()
    hatch: bool = False


# Ink is full, or one of these shares; lines are so wide, and so is the edge of words.
PALE, LIGHT_INK, FAINT, EDGE, QUIET = (Mix("ink", share) for share in (4, 8, 16, 55, 78))
GRID_LINE, LINE, REGION, FOCUS, HALO = 0.5, 1.0, 1.5, 2.0, 3.0  # px
PAPER, INK, CAME = Mix("paper"), Mix("ink"), Mix("came")
# how long it takes, of what takes longest, whose fill is all of the hue: no words stand on it
LONG = {f"long-{k}": Mix("much", 10 + 9 * k) for k in range(1, TENTHS + 1)}
WORDS: dict[str, Look] = {
    "words": Look(INK),
    "strong": Look(INK),
    "name": Look(INK),
    "code": Look(INK),
    "muted": Look(QUIET),
    # on what is drawn, which goes on beside the letters: with an edge of paper
    "on": Look(INK, PAPER, HALO),
    "on-strong": Look(INK, PAPER, HALO),
    "on-muted": Look(QUIET, PAPER, HALO),
}
ROLES: dict[str, Look] = {
    "ground": Look(PAPER),
    "box": Look(PAPER, QUIET),
    "chip": Look(PAPER, QUIET),
    "room": Look(PALE, EDGE),
    "stored": Look(FAINT),
    "corridor": Look(LIGHT_INK),
    "soft": Look(PALE, EDGE),
    "grid": Look(None, FAINT, GRID_LINE),
    "head": Look(QUIET),
    "thread": Look(PAPER, QUIET),
    "idle": Look(None, EDGE, LINE, (1, 3)),
    "time": Look(LIGHT_INK, EDGE),
    "clock": Look(None, QUIET),
    "read": Look(None, INK, REGION, (4, 2)),
    "write": Look(None, INK, REGION),
    "both": Look(None, INK, REGION, (8, 2, 2, 2)),
    "ghost": Look(None, EDGE, LINE, (2, 2), hatch=True),
    "new": Look(None, INK, FOCUS),
    "asked": Look(None, INK, FOCUS, (5, 3)),
    # what a warp asks: served as it must be, served beyond need, fetched and not used
    "served": Look(FAINT, EDGE),
    "used": Look(EDGE),
    "beyond": Look(Mix("much", 40), EDGE),
    "thin-served": Look(FAINT),  # without edges, which would be all that is seen of it
    "thin-beyond": Look(Mix("much", 40)),
    "unused": Look(PAPER, EDGE),
    "joined": Look(None, EDGE),
    "chosen": Look(Mix("who", 24), Mix("who"), FOCUS),
    "chosen-both": Look(Mix("who", 24), Mix("who"), FOCUS, (8, 2, 2, 2)),
    "chosen-joined": Look(None, Mix("who"), FOCUS),
    "failed": Look(None, Mix("fault"), REGION),
    "alarm": Look(Mix("fault", 16), Mix("fault"), FOCUS),
    **{f"block-{k}": Look(Mix("ink", share), EDGE) for k, share in enumerate(BLOCKS)},
    # cells that something else computes than in the step before, filled as they would be
    "came-box": Look(PAPER, CAME),
    "came-thread": Look(PAPER, CAME),
    "came-time": Look(LIGHT_INK, CAME),
    **{f"came-block-{k}": Look(Mix("ink", share), CAME) for k, share in enumerate(BLOCKS)},
    # rows of places, of which so many tenths are in use: were, and are now, which stands out more
    **{f"busy-{k}": Look(Mix("ink", 4 + 2 * k)) for k in range(1, TENTHS + 1)},
    **{f"now-{k}": Look(Mix("much", 44 + 5 * k)) for k in range(1, TENTHS + 1)},
    **{f"heat-{k}": Look(Mix("much", 5 + 7 * k), EDGE) for k in range(HEATS)},
    **{role: Look(mix, EDGE) for role, mix in LONG.items()},
}


ALL = {**WORDS, **ROLES}


def heat(times: float) -> str:
    """The role of cells that are touched so many times each.

    The scale is the same for all programs, so that two pictures can be held against each other.

    >>> [heat(times) for times in (1, 130, 384, 16640)]
    ['heat-0', 'heat-4', 'heat-5', 'heat-8']
    """
    return f"heat-{min(ceil(round(log(max(times, 1), HEAT_STEP), 9)), HEATS - 1)}"


def how_long(us: float, longest: float) -> str:
    """The role of what takes so many µs where the longest takes `longest`.

    By the root of its share: a third is seen apart from next to nothing, and from all.

    >>> [how_long(us, 100) for us in (0, 4, 25, 100)]
    ['long-1', 'long-2', 'long-5', 'long-10']
    """
    share = us / longest if longest else 0.0
    return f"long-{min(max(ceil(round(TENTHS * sqrt(share), 9)), 1), TENTHS)}"


def times_each(number: float) -> str:
    """How often each cell is touched, as short as a label must be: × 128, × 2.95."""
    return f"× {number:,.0f}" if number >= 100 else f"× {number:.3g}"


def busy_role(kind: str, used: int, places: int) -> str:
    """The role of a row in which so many of its places are in use: "busy-2", "now-10"."""
    return f"{kind}-{ceil(round(TENTHS * used / places, 9))}"


def block_role(number: int) -> str:
    """The role of the block with that number; those beside each other differ."""
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
