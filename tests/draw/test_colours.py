"""The table of colours: what is read stands out, in light and dark; no hue says two things."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from colorsys import rgb_to_hls
from itertools import combinations, pairwise
from math import dist
from pathlib import Path

import pytest

from workbench.draw.colours import (
    BLOCKS,
    DARK,
    HEATS,
    HUES,
    LIGHT,
    ROLES,
    WORDS,
    Theme,
    heat,
    how_long,
    style_sheet,
)

DRAW = Path(__file__).parents[2] / "workbench" / "draw"
STATIC = Path(__file__).parents[2] / "workbench" / "widgets" / "static"
SHEETS = sorted(STATIC.glob("*.css")) + sorted((STATIC.parent / "small").glob("*.css"))
FILLED = [role for role, look in ROLES.items() if look.fill]
# small marks in the colour of words; thin rows of places; bands, beside which words stand
BEHIND_NO_WORDS = {"head", "used"} | {
    role for role in ROLES if role.startswith(("busy", "now", "long"))
}


def parts(colour: str) -> tuple[float, float, float]:
    return tuple(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))


def light_of(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((light_of(a), light_of(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(params=[LIGHT, DARK], ids=["light", "dark"])
def theme(request: pytest.FixtureRequest) -> Theme:
    return request.param


def test_words_can_be_read_on_all_that_is_filled(theme):
    for role in set(FILLED) - BEHIND_NO_WORDS:
        ground = ROLES[role].fill.hex(theme)
        assert contrast(ground, WORDS["words"].fill.hex(theme)) >= 4.5, role
        quiet = contrast(ground, WORDS["muted"].fill.hex(theme))
        assert quiet >= 4.5 or role.startswith("heat"), role


def test_edges_stand_out_from_the_paper(theme):
    for role, look in ROLES.items():
        if look.stroke and role != "grid":
            assert contrast(look.stroke.hex(theme), theme["paper"]) >= 3.0, role


def test_reads_and_writes_have_no_hue_and_differ_in_pattern(theme):
    for role in ("read", "write", "both", "thread", "time", "clock", "ghost", "idle"):
        for mix in (ROLES[role].fill, ROLES[role].stroke):
            assert mix is None or len(set(parts(mix.hex(theme)))) == 1, f"{role} is grey"
    assert len({ROLES[role].dash for role in ("read", "write", "both")}) == 3
    assert [role for role, look in ROLES.items() if look.hatch] == ["ghost"]


def test_heat_is_one_hue_that_grows(theme):
    fills = [ROLES[f"heat-{k}"].fill.hex(theme) for k in range(HEATS)]
    far = [contrast(fill, theme["paper"]) for fill in fills]
    assert all(a < b for a, b in pairwise(far)) and far[-1] > 2.3
    hues = [rgb_to_hls(*parts(fill))[0] * 360 for fill in fills[2:]]
    assert max(hues) - min(hues) < 12


def test_what_takes_longest_stands_out_from_its_ground(theme):
    fills = [ROLES[f"long-{k}"].fill.hex(theme) for k in range(1, 11)]
    for ground in (theme["paper"], ROLES["room"].fill.hex(theme)):
        far = [contrast(fill, ground) for fill in fills]
        assert all(a < b for a, b in pairwise(far)) and far[-1] >= 3
    assert how_long(7, 7) == "long-10" and how_long(0, 7) == how_long(0, 0) == "long-1"


def test_what_runs_stands_out_more_than_what_has_run(theme):
    def far(role: str) -> float:
        return contrast(ROLES[role].fill.hex(theme), theme["paper"])

    assert far("now-1") > far("busy-10"), "however many places are in use"
    assert far("heat-6") > far("block-1")


def test_blocks_beside_each_other_differ_and_have_no_hue(theme):
    fills = [parts(ROLES[f"block-{k}"].fill.hex(theme)) for k in range(len(BLOCKS))]
    assert all(len(set(fill)) == 1 for fill in fills)
    assert abs(fills[0][0] - fills[1][0]) > 0.06


SEEN = {  # by Machado, Oliveira and Fernandes, 2009: without long, and without middle waves
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}


def oklab(colour: str, eyes: str) -> tuple[float, ...]:
    """The colour as someone sees it: lightness and two axes of hue, times 100."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts(colour)]
    seen = times(SEEN[eyes], linear)
    cones = times(
        (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        ),
        seen,
    )
    axes = (
        (0.2104542553, 0.7936177850, -0.0040720468),
        (1.9779984951, -2.4285922050, 0.4505937099),
        (0.0259040371, 0.7827717662, -0.8086757660),
    )
    return tuple(100 * x for x in times(axes, [max(c, 0) ** (1 / 3) for c in cones]))


def times(rows: Iterable[Sequence[float]], column: Sequence[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, column, strict=True)) for row in rows]


@pytest.mark.parametrize("eyes", SEEN)
def test_all_eyes_tell_the_hues_apart(theme, eyes: str):
    for a, b in combinations(HUES, 2):
        assert dist(oklab(theme[a], eyes), oklab(theme[b], eyes)) >= 6, (a, b)
    for name in HUES:
        assert 4 <= contrast(theme[name], theme["paper"]) <= 9, name


def test_the_numbers_of_the_lesson_do_not_look_the_same():
    """384 loads of 130 cells, 16,640 of them, 130 of them; and the bare counts."""
    assert len({heat(loads / 130) for loads in (384, 16_640, 130)}) == 3
    assert len({heat(loads) for loads in (384, 16_640, 130)}) == 3
    assert [heat(times) for times in (0, 1, 2, 4, 5, 1e12)] == [
        *("heat-0", "heat-0", "heat-1", "heat-1", "heat-2", "heat-9")
    ]


def test_each_role_is_drawn():
    code = "".join(path.read_text() for path in DRAW.glob("*.py") if path.name != "colours.py")
    alone = {role for role in ROLES if not role[-1].isdigit()} - {"alarm"}  # faults have no picture
    assert {role for role in alone if f'"{role}"' not in code and f"wb-{role}" not in code} == set()


def test_the_lab_has_the_table():
    """Made with `python -c "from workbench.draw.colours import *; print(style_sheet())"`."""
    assert style_sheet() in (STATIC / "pictures.css").read_text()


def test_the_lab_has_the_hues():
    sheet = (STATIC / "theme.css").read_text()
    for name, (light, dark) in HUES.items():
        for told in (f"light-dark({light}, {dark})", light, dark):
            assert f"  --{name}: {told};\n" in sheet


def test_no_role_has_the_name_of_something_else_in_the_lab():
    """A class of one name would be drawn, and found, as both."""
    sheets = [path for path in STATIC.glob("*.css") if path.name != "pictures.css"]
    classes = {name for path in sheets for name in re.findall(r"\.wb-([\w-]+)", path.read_text())}
    assert classes & {*ROLES, *WORDS} == set()


SHARES, LINES, SIZES = {4, 8, 16, 55, 78, 100}, {0, 0.5, 1, 1.5, 2}, {12, 13, 15, 20}
# the striped frame of what is broken on purpose; an indent, which has no letters; a page's own ink
FRAME, INDENT, OWN = "6px", "50%", {"#eee", "#999"}


def test_ink_and_lines_of_pictures_are_those_of_the_table():
    looks = [look for role, look in ROLES.items() if not role.startswith("busy-")]  # a scale
    mixes = [mix for look in looks for mix in (look.fill, look.stroke) if mix]
    assert {mix.share for mix in mixes if mix.hue == "ink"} <= SHARES
    assert {look.wide for look in looks} <= LINES
    assert {look.wide for look in WORDS.values() if look.stroke} == {3}, "the edge of paper"


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.name)
def test_colours_sizes_and_lines_of_the_lab_are_those_of_the_table(sheet: Path):
    code = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
    code = code.replace(style_sheet(), "")  # which the test above holds
    edges = re.findall(r"(?:border|outline)(?:-(?!radius|offset)[a-z]+)*: ([\d.]+)(?:px)?\b", code)
    assert {float(wide) for wide in edges if f"{wide}px" != FRAME} <= LINES
    strokes = re.findall(r"stroke-width: (?:calc\()?([\d.]+)", code)
    assert {float(wide) for wide in strokes} <= LINES | {3}, "3 around words"
    sizes = re.findall(r"font(?:-size)?: (?:calc\([^;]*?)?([\d.]+(?:px|em|%))", code)
    assert {float(size.removesuffix("px")) for size in sizes if size not in (INDENT, "0")} <= SIZES
    assert {int(share) for share in re.findall(r"font-weight: (\d+)", code)} <= {400, 600}
    colours = set(re.findall(r"#[0-9a-f]{3,8}\b", code))
    assert colours <= OWN | {hue for pair in HUES.values() for hue in pair}
