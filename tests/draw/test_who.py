"""Who does what: words that fit their cells, colours that differ, a caption about one cell."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise, product

import pytest

import workbench as wb
from benchmarks.matmuls import blocking, matmul, naive
from workbench import draw, insight
from workbench.draw import Picture
from workbench.draw.svg import width_of
from workbench.draw.who import labels_of
from workbench.insight import Cell, Table, Who
from workbench.ir import PrimFunc

PHONE = 300.0  # px; two thirds of it are left of a screen of 360, and strips may shrink a little


def blocks(across: int, threads: int = 2) -> PrimFunc:
    """A product of 8 x 8 in `across` x `across` blocks."""
    sch = wb.Schedule(matmul(8))
    blocking(sch, 8 // across // threads, 8 // across // threads, threads, threads, 4)
    return sch.func


def drawn(func: PrimFunc) -> Picture:
    return draw.who_picture(insight.who(func))


def cells(picture: Picture) -> dict[str, tuple[str, list[str]]]:
    """Each cell by its name: its colour, and the words in it."""
    found = {}
    for strip in picture.strips:
        for group in ElementTree.fromstring(strip).iter("{http://www.w3.org/2000/svg}g"):
            rect = next(e for e in group if e.tag.endswith("rect"))
            room = float(rect.get("width", "0"))
            texts = [e for e in group if e.tag.endswith("text")]
            assert all(width_of(e.text, e.get("class", "")) <= room for e in texts)
            assert all("…" not in e.text for e in texts), "words are never cut"
            colour = re.search(r"wb-u\d|wb-box", rect.get("class", ""))[0]
            found[group.get("data-cell")] = (colour, [e.text for e in texts])
    return found


def test_sixty_four_cells_each_say_when():
    picture = drawn(matmul(8))
    found = cells(picture)
    assert len(found) == 64
    assert found["C[0, 5]"][1] == ["C[0, 5]", "t 40–47"]
    assert found["C[7, 7]"][1] == ["C[7, 7]", "t 504–511"]
    assert picture.across == 2 and len(picture.strips) == 16
    assert picture.caption == (
        "C[0, 5] is computed in time steps 40 to 47. “t 40–47” stands for time steps 40 to 47."
    )


@pytest.mark.parametrize("func", [matmul(8), matmul(5, 3, 4), blocks(2), blocks(4, 1)])
def test_strips_fit_a_phone_and_a_line_is_a_row(func: PrimFunc):
    picture = drawn(func)
    sizes = {float(re.search(r'width="([\d.]+)"', strip)[1]) for strip in picture.strips}
    assert len(sizes) == 1 and max(sizes) < PHONE
    rows = insight.who(func).shape[0]
    assert len(picture.strips) == rows * picture.across
    assert f"max-width: {max(sizes) * picture.across:g}px" in draw.picture_html(draw.plain(picture))
    spots, (width, _) = picture.spots()
    assert len({y for _, y in spots}) == rows and width == max(sizes) * picture.across + 12


def test_short_words_are_explained_by_the_cell_of_the_caption():
    picture = drawn(blocks(2))
    assert cells(picture)["C[0, 5]"][1] == ["C[0, 5]", "b 1,0", "th 0,0", "t 37"]
    assert picture.caption == (
        "C[0, 5] is computed by block (x=1, y=0), thread (x=0, y=0), at time step 37. "
        "“b 1,0” stands for block (x=1, y=0); “th 0,0” stands for thread (x=0, y=0); "
        "“t 37” stands for time step 37."
    )


def test_the_caption_speaks_of_one_cell():
    before, now = insight.who(matmul(8)), insight.who(blocks(2))
    caption = draw.who_picture(now, labels_of(before)).caption
    assert "It was “time steps 40 to 47”." in caption
    assert set(re.findall(r"C\[\d, \d\]", caption)) == {"C[0, 5]"}
    asked = draw.who_picture(now, labels_of(before), asked=(3, 3)).caption
    assert set(re.findall(r"C\[\d, \d\]", asked)) == {"C[3, 3]"}


def test_four_blocks_have_four_colours():
    found = cells(drawn(blocks(2)))
    corners = ("C[0, 0]", "C[0, 7]", "C[7, 0]", "C[7, 7]")
    assert len({found[name][0] for name in corners}) == 4


def test_neighbours_among_many_blocks_differ():
    colours = {name: colour for name, (colour, _) in cells(drawn(blocks(4, 1))).items()}
    for y, x in product(range(0, 8, 2), repeat=2):
        for down, right in ((0, 2), (2, 0), (2, 2), (2, -2)):
            other = colours.get(f"C[{y + down}, {x + right}]")
            assert other != colours[f"C[{y}, {x}]"]


def test_groups_all_use_words_of_one_length():
    picture = drawn(matmul(60, 48, 40))
    words = [e.text for s in picture.strips for e in ElementTree.fromstring(s).iter()
             if e.get("class") == "wb-strong"]  # fmt: skip
    assert words[:2] == ["t 0–1919", "t 1920–3839"]
    assert picture.caption.endswith("“t 0–1919” stands for time steps 0 to 1919.")
    assert "time steps 1920 to 3839: C[1, 0:48]" in picture.strips[1], "told to who points at it"


def test_blocks_of_a_large_buffer_differ_from_those_beside_them():
    sch = naive(wb.Schedule(matmul(64)), 8)
    strips = drawn(sch.func).strips[:16]
    colours = [re.search(r"wb-u\d", strip)[0] for strip in strips]
    assert all(a != b for a, b in pairwise(colours))
    assert all(a != b for a, b in zip(colours, colours[8:], strict=False)), "one above the other"


def test_what_fits_in_no_way_is_left_out():
    long = "thread (x=1000000, y=1000000)"
    made = Cell((0,), f"block 1, {long}", (0, 0), None, None, 1, (("block 1",), (long,)))
    who = Who("A_buffer_of_a_long_name", "global", (1,), ("block", "thread"), True, (made,), (),
              0, (), "", Table((), ()))  # fmt: skip
    picture = draw.who_picture(who)
    ((_, words),) = cells(picture).values()
    assert words == ["[0]", "block 1"]
    assert long in picture.strips[0], "told to who points at the cell"
