"""Pictures: what they say, that their strips fit a phone, that odd names do no harm."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from workbench import draw
from workbench.draw.scene import Path, Rect, Scene, fit, longest, width_of
from workbench.draw.svg import svg, svg_in_text
from workbench.draw.tiles import _times
from workbench.draw.who import labels_of, region_text
from workbench.insight import (
    Axis,
    BufferUse,
    Cell,
    Flow,
    Group,
    Level,
    Memory,
    Table,
    Tile,
    Tiles,
    Touch,
    Who,
)

PHONE = 334.0  # px; what JupyterLab leaves of a screen of 360


def cells(label) -> tuple[Cell, ...]:
    return tuple(
        Cell((i,), label(i), (i, i), None, None, 1, tuple((x,) for x in label(i).split(", ")))
        for i in range(8)
    )


def who(label, whole: bool = True, groups: tuple[Group, ...] = ()) -> Who:
    table = Table(("cell", "computed by"), tuple((f"C[{i}]", label(i)) for i in range(8)))
    return Who(
        buffer="C",
        scope="global",
        shape=(8,) if whole else (1024,),
        labels=("block", "thread"),
        whole=whole,
        cells=cells(label) if whole else (),
        groups=groups,
        left_out=0,
        zoom=groups[:6],
        caption="Groups of cells.",
        table=table,
    )


def words(strips: tuple[Scene, ...]) -> list[str]:
    """The texts of a picture, in drawing order; also shows that its SVG is well-formed."""
    texts = []
    for strip in strips:
        tree = ElementTree.fromstring(svg(strip))
        texts += [e.text or "" for e in tree.iter() if e.tag.endswith("}text")]
    assert texts == [label for strip in strips for label in strip.words]
    return texts


def widths(strips: tuple[Scene, ...]) -> list[float]:
    return [strip.width for strip in strips]


def roles(strips: tuple[Scene, ...]) -> list[str]:
    return [shape.role for strip in strips for shape in strip.shapes]


def test_cells_are_labelled_with_who_computes_them():
    picture = draw.who_picture(who(lambda i: f"block {i // 4}, thread {i % 4}"))
    texts = words(picture.strips)
    at = texts.index("C[5]")
    assert texts[at : at + 3] == ["C[5]", "block 1", "thread 1"]
    assert len(picture.strips) == 2 and max(widths(picture.strips)) < PHONE


def test_a_changed_cell_is_told_in_the_caption_and_by_its_edge():
    before = labels_of(who(lambda i: f"time step {i}"))
    now = who(lambda i: f"block {i // 4}, thread {i % 4}")
    picture = draw.who_picture(now, before, asked=(5,))
    assert picture.caption == ("C[5] is computed by block 1, thread 1. It was “time step 5”.")
    came = [role for role in roles(picture.strips) if role.startswith("came")]
    assert len(came) == 7 and roles(picture.strips).count("chosen") == 1


def test_no_edge_says_that_something_came_where_nothing_changed():
    now = who(lambda i: f"time step {i}")
    picture = draw.who_picture(now, labels_of(now))
    assert not any(role.startswith("came") for role in roles(picture.strips))
    assert picture.caption == "C[5] is computed by time step 5."


def test_large_buffers_are_drawn_in_groups_and_the_rest_is_counted():
    groups = tuple(
        Group(f"block {b}", (0, 0), (b, 0, 0), None, ((b * 128, 128, 1),), True, 128,
              (f"block {b}",))
        for b in range(40)
    )  # fmt: skip
    picture = draw.who_picture(who(str, whole=False, groups=groups))
    texts = words(picture.strips)
    assert {"block 0", "128 cells", "C[0:128]", "and 34 more before block 39"} <= set(texts)
    assert max(widths(picture.strips)) < PHONE


def test_a_step_and_a_box_are_told():
    region = ((0, 4, 256), (2, 1, 1))
    group = Group("thread 0", (0, 3), None, (0, 0, 0), region, False, 4, ("thread 0",))
    texts = words(draw.who_picture(who(str, whole=False, groups=(group,))).strips)
    assert region_text("C", group) == "C[0:769:256, 2]"
    assert "4 cells within" in texts


def memory() -> Memory:
    a = BufferUse("A", "float32", (1027,), "input", 4108, 1040, 0, 4160, 0, 1.0, 0.0)
    b = BufferUse("B", "float32", (1024,), "output", 4096, 0, 1024, 0, 4096, 0.0, 0.0)
    shared = BufferUse(
        "A_shared", "float32", (130,), "intermediate", 520, 3072, 1040, 12288, 4160, 2.95, 2.95
    )
    levels = (
        Level("global", "grid", 8204, None, 1040, 1024, 4160, 4096, (a, b)),
        Level("shared", "block", 520, 49152, 3072, 1040, 12288, 4160, (shared,)),
        Level("local", "thread", 0, None, 0, 0, 0, 0, ()),
    )
    flows = (
        Flow("A_shared", "A", "A_shared", "global", "shared", 1040, 4160, True, 4160, 1.0),
        Flow("C", "A_shared", "B", "shared", "global", 3072, 12288),
    )
    lanes = (("A", "A_shared"), ("B",))
    return Memory(levels, flows, lanes, "A crosses once.", Table(("buffer",), (("A",),)))


def test_memory_says_where_buffers_live_and_what_crosses():
    picture = draw.memory_picture(memory())
    texts = words(picture.strips)
    at = texts.index("block")
    assert texts[at : at + 3] == ["block", "shared memory", "520 B of 48 KiB"]
    at = texts.index("thread")
    assert texts[at : at + 3] == ["thread", "registers", "unused"]
    assert {"↓ 4.1 KiB", "↓ 12 KiB", "× 2.95", "↑ 4 KiB"} <= set(texts)
    assert max(widths(picture.strips)) < PHONE


def test_tiles_mark_reads_and_writes_differently():
    touch = Touch("A_shared", "read", ((128, 130, 1),), True, 130, 384, 2.95)
    store = Touch("C", "write", ((128, 128, 1),), True, 128, 128, 1.0)
    tiles = Tiles(
        (Axis("blockIdx.x", "block", 8, 1),),
        (
            Tile("A", "global", (1027,), (touch,), touch),
            Tile("B", "global", (1024,), (store,), None, store),
        ),
        "Block 1.",
        Table(("buffer",), ()),
    )
    picture = draw.tiles_picture(tiles)
    texts = words(picture.strips)
    assert texts[:3] == ["↗ reads", "↘ writes", "both"], "levels are named beside the picture"
    assert {"↗ × 2.95", "↘ × 1"} <= set(texts), "printed on the regions"
    whole = picture.strips[0]
    said = {shape.of.title for shape in whole.shapes}
    assert "A is read 2.95 times on average by the block" in said
    assert "B is written once by the block" in said
    drawn = [(s.of.buffer, s.role) for s in whole.shapes if s.role in ("read", "chosen")]
    assert drawn[-2:] == [("A", "read"), ("B", "chosen")], "the block's own"
    assert max(widths(picture.strips)) < PHONE


def test_text_is_escaped_everywhere():
    nasty = '<script>alert("1")</script>'
    picture = draw.who_picture(who(lambda i: nasty))
    page = draw.picture_html(draw.plain(picture)) + draw.standalone_svg(picture, nasty)
    assert "<script" not in page


def test_a_standalone_picture_needs_no_style_sheet():
    picture = draw.who_picture(who(lambda i: f"time step {i}"))
    svg = draw.standalone_svg(picture, "eight cells")
    tree = ElementTree.fromstring(svg)
    assert tree.get("role") == "img" and tree.get("aria-label") == "eight cells"
    assert "http://www.w3.org/2000/svg" in svg and "url(" not in svg
    used = {shape.get("class") for shape in tree.iter()} - {None}
    assert set(re.findall(r"^\.(\S+) \{\n", svg, re.MULTILINE)) == used, "of it and no other"


def test_a_disc_is_marked_in_xml():
    disc = Rect(0.0, 0.0, 9.0, 9.0, "time", round=4.5)
    made = svg_in_text(Scene(20.0, 10.0, (disc,)), "a disc")
    (rect,) = ElementTree.fromstring(made).iter("{http://www.w3.org/2000/svg}rect")
    assert rect.get("data-disc") == ""


def test_a_drawing_in_text_has_the_colour_of_its_words():
    made = svg_in_text(Scene(20.0, 10.0, (Rect(0.0, 0.0, 9.5, 9.0, "time"),)), "a time")
    tree = ElementTree.fromstring(made)
    assert (tree.get("width"), tree.get("aria-label")) == ("20", "a time")
    assert "--ink:currentColor" in tree.get("style", "") and "url(" not in made
    sheet = tree.find("{http://www.w3.org/2000/svg}style")
    rules = re.findall(r"^(\S+) (\S+) \{", sheet.text, re.MULTILINE)
    assert rules == [
        (".wb-in-text", of) for of in ("text", ".wb-strong", ".wb-on-strong", ".wb-time")
    ]


def test_tables_align_numbers():
    html = draw.table_html(Table(("what", "n"), (("loads", 3072),)), "counts")
    assert html == (
        '<table><caption>counts</caption><thead><tr><th scope="col">what</th>'
        '<th scope="col">n</th></tr></thead><tbody><tr><td>loads</td>'
        '<td class="wb-num">3,072</td></tr></tbody></table>'
    )


def test_cuts_and_widths():
    assert fit("a long label", 37.0) == "a lo…" and fit("short", 100.0) == "short"
    assert width_of("wide", "strong") > width_of("wide") > width_of("fit") > 0
    assert longest(("time step 5", "t 5"), 30.0) == "t 5" and longest(("t 5",), 5.0) == ""


def test_a_picture_is_a_figure_with_the_same_words():
    matplotlib = pytest.importorskip("matplotlib")
    assert matplotlib.get_backend()
    for picture in (
        draw.who_picture(who(lambda i: f"block {i // 4}, thread {i % 4}")),
        draw.memory_picture(memory()),
    ):
        figure = draw.figure(picture)
        texts = [text.get_text() for text in figure.axes[0].texts]
        assert texts[: -len(picture.caption_lines(picture.spots()[1][0]))] == words(picture.strips)
        shapes = [s for strip in picture.strips for s in strip.shapes if isinstance(s, Rect | Path)]
        assert len(figure.axes[0].patches) == len(shapes)


def test_on_average_only_where_cells_differ():
    even = Touch("C", "write", ((0, 1, 1), (0, 1, 1)), True, 1, 9, 9.0, True)
    uneven = Touch("C", "read", ((0, 2, 1), (0, 1, 1)), True, 2, 9, 4.5)
    assert [_times(touch) for touch in (even, uneven)] == [
        "9 times",
        "4.5 times on average",
    ]


def test_a_number_of_a_cell_stays_whole_with_its_sign_and_unit():
    cells = ("12/8", "1.5 µs … 12 µs", "-2,032 (× 0.339)", "H200", "A[0:128]", "it's `i`", "i_0")
    html = draw.table_html(Table(("what",), tuple((cell,) for cell in cells)))
    whole = re.findall(r'<span class="wb-whole">(.*?)</span>', html)
    space = "\N{NO-BREAK SPACE}"
    assert whole == [
        *("12/8", f"1.5{space}µs", f"12{space}µs", "-2,032", "× 0.339", "H200", "0:128")
    ]
    assert "<td>it&#x27;s <code>i</code></td>" in html


def test_pictures_look_the_same_whatever_their_shapes_stand_for():
    def look(*shapes: draw.Rect | draw.Words, high: float = 40, low: Scene | None = None) -> str:
        strips, lows = (Scene(90, high, shapes),), ((low,),) if low else ()
        seen = draw.Picture(strips, "seen", Table(("a",), ()), "counted", low=lows)
        return draw.plain(seen)["look"]

    box, words = Rect(1, 2, 30, 20, "read"), draw.Words("A", 5, 12)
    form = draw.Form(1.0)
    other = box._replace(of=draw.Stands(buffer="B", title="else"), slide=(form, form, form, form))
    assert look(box, words) == look(other, words._replace(parts=("A",)))
    told_apart = [
        look(box, words),
        look(words, box),
        look(box),
        look(box._replace(x=2), words),
        look(box._replace(role="write"), words),
        look(box, words._replace(label="B")),
        look(box, words._replace(short="a")),
        look(box, words, high=41),
        look(box, words, low=Scene(90, 20, (box,))),
    ]
    assert len({*told_apart}) == len(told_apart)


def test_pictures_without_shapes_look_as_they_say():
    one, same, other = (
        draw.plain(draw.Picture((), said, Table(("a",), ()), "counted"))["look"]
        for said in ("no kernel", "no kernel", "no loop")
    )
    assert one == same != other
