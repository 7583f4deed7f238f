"""Pictures: what they say, that their strips fit a phone, that odd names do no harm."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import product

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul, naive
from workbench import draw, insight
from workbench.draw.sheets import regions
from workbench.draw.svg import fit, longest, width_of
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


def words(strips: tuple[str, ...]) -> list[str]:
    """The texts of a picture, in drawing order; also shows that the SVG is well-formed."""
    texts = []
    for strip in strips:
        tree = ElementTree.fromstring(strip)
        texts += [e.text or "" for e in tree.iter() if e.tag.endswith("}text")]
    return texts


def widths(strips: tuple[str, ...]) -> list[float]:
    return [float(re.search(r'width="([\d.]+)"', strip)[1]) for strip in strips]


def test_cells_are_labelled_with_who_computes_them():
    picture = draw.who_picture(who(lambda i: f"block {i // 4}, thread {i % 4}"))
    texts = words(picture.strips)
    at = texts.index("C[5]")
    assert texts[at : at + 3] == ["C[5]", "block 1", "thread 1"]
    assert len(picture.strips) == 2 and max(widths(picture.strips)) < PHONE


def test_a_changed_cell_is_told_in_the_caption_and_drawn_thick():
    before = labels_of(who(lambda i: f"time step {i}"))
    now = who(lambda i: f"block {i // 4}, thread {i % 4}")
    picture = draw.who_picture(now, before, asked=(5,))
    assert picture.caption == ("C[5] is computed by block 1, thread 1. It was “time step 5”.")
    assert sum(strip.count("wb-new") for strip in picture.strips) == 8
    assert sum(strip.count("wb-asked") for strip in picture.strips) == 1


def test_nothing_is_thick_where_nothing_changed():
    now = who(lambda i: f"time step {i}")
    picture = draw.who_picture(now, labels_of(now))
    assert "wb-new" not in "".join(picture.strips)
    assert picture.caption == "C[5] is computed by time step 5."


def test_large_buffers_are_drawn_in_groups_and_the_rest_is_counted():
    groups = tuple(
        Group(f"block {b}", (0, 0), (b, 0, 0), None, ((b * 128, 128, 1),), True, 128,
              (f"block {b}",))
        for b in range(40)
    )  # fmt: skip
    picture = draw.who_picture(who(str, whole=False, groups=groups))
    texts = words(picture.strips)
    assert {"block 0", "128 cells", "C[0:128]", "and 24 more like these"} <= set(texts)
    assert max(widths(picture.strips)) < PHONE


def test_a_step_and_a_box_are_told():
    region = ((0, 4, 256), (2, 1, 1))
    group = Group("thread 0", (0, 3), None, (0, 0, 0), region, False, 4, ("thread 0",))
    texts = words(draw.who_picture(who(str, whole=False, groups=(group,))).strips)
    assert region_text("C", group) == "C[0:769:256, 2]"
    assert "4 cells within" in texts


def memory() -> Memory:
    a = BufferUse("A", "float32", (1027,), "input", 4108, 1040, 0, 4160, 0, 1.0)
    b = BufferUse("B", "float32", (1024,), "output", 4096, 0, 1024, 0, 4096, 0.0)
    shared = BufferUse("A_shared", "float32", (130,), "intermediate", 520, 3072, 1040, 0, 0, 2.95)
    levels = (
        Level("global", "grid", 8204, None, 1040, 1024, 4160, 4096, (a, b)),
        Level("shared", "block", 520, 49152, 3072, 1040, 12288, 4160, (shared,)),
        Level("local", "thread", 0, None, 0, 0, 0, 0, ()),
    )
    flows = (
        Flow("A_shared", "A", "A_shared", "global", "shared", 1040, 4160),
        Flow("C", "A_shared", "B", "shared", "global", 3072, 12288),
    )
    return Memory(levels, flows, "A crosses once.", Table(("buffer",), (("A",),)))


def test_memory_says_where_buffers_live_and_what_crosses():
    picture = draw.memory_picture(memory())
    texts = words(picture.strips)
    at = texts.index("shared memory")
    assert texts[at : at + 3] == ["shared memory", "one for each block", "520 B of 48 KiB"]
    at = texts.index("registers")
    assert texts[at : at + 3] == ["registers", "(local memory)", "one for each thread"]
    assert "520 B of 48 KiB" in texts
    assert "① A → A_shared: 1,040 elements, 4.1 KiB" in texts
    assert "no buffer here" in texts
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
    assert "reads A[128:258]: 130 cells, 384 times in all" in texts
    assert "writes B[128:256]: 128 cells, each once" in texts
    legend, a, b = picture.strips
    assert words((legend,)) == ["block 1", "reads", "writes"]
    assert '"wb-read"' in a and '"wb-write"' in b
    assert max(widths(picture.strips)) < PHONE


def test_a_two_dimensional_buffer_is_a_sheet_and_an_untouched_one_says_so():
    touch = Touch("C", "write", ((0, 64, 1), (64, 64, 1)), True, 4096, 4096, 1.0)
    tiles = Tiles(
        (),
        (Tile("C", "global", (128, 256), (touch,), None, touch), Tile("D", "global", (4, 4), ())),
        "One tile.",
        Table(("buffer",), ()),
    )
    _, first, second = draw.tiles_picture(tiles).strips
    assert "writes C[0:64, 64:128]: 4,096 cells, each once" in words((first,))
    assert "not touched by this selection" in words((second,))


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


def test_tables_align_numbers():
    html = draw.table_html(Table(("what", "n"), (("loads", 3072),)), "counts")
    assert html == (
        '<table><caption>counts</caption><thead><tr><th scope="col">what</th>'
        '<th scope="col">n</th></tr></thead><tbody><tr><td>loads</td>'
        '<td class="wb-num">3,072</td></tr></tbody></table>'
    )


def test_cuts_and_widths():
    assert fit("a long label", 37.0) == "a lo…" and fit("short", 100.0) == "short"
    assert width_of("wide", "wb-strong") > width_of("wide") > width_of("fit") > 0
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
        assert texts == [*words(picture.strips), picture.caption]
        marks = ("<rect", "<circle", "<path")
        shapes = sum(strip.count(mark) for strip in picture.strips for mark in marks)
        assert len(figure.axes[0].patches) == shapes


def matmul_tiles(sch: wb.Schedule, *selections: dict[str, int]) -> list[Tiles]:
    return [insight.tiles(sch.func, select) for select in selections]


def blocked(size: int) -> wb.Schedule:
    sch = wb.Schedule(matmul(size))
    blocking_with_shared(sch, 8, 8, 8, 8, 8)
    return sch


def boxes(strip: str, kind: str) -> list[tuple[float, float, float, float]]:
    found = re.findall(rf'<rect ([^>]*) class="{kind}"', strip)
    return [tuple(map(float, re.findall(r'"([-\d.]+)"', one))) for one in found]


def test_a_product_is_three_linked_sheets_with_nested_selections():
    sch = naive(wb.Schedule(matmul(16)), 4)
    block, thread = {"blockIdx.x": 1, "blockIdx.y": 2}, {"threadIdx.x": 2, "threadIdx.y": 1}
    *outer, inner = matmul_tiles(sch, block, block | thread, block | thread | {"k": 5})
    (sheets,) = draw.tiles_picture(inner, outer).strips
    assert words((sheets,)) == [
        *("block (1, 2)", "thread (2, 1)", "k = 5", "reads", "writes", "reads and writes"),
        *("A", "B", "C"),
        "A[9, 5] (global) is read",
        "4 times by block (1, 2), once by thread (2, 1)",
        "B[5, 6] (global) is read",
        "4 times by block (1, 2), once by thread (2, 1)",
        "C[9, 6] (global) is written",
        "17 times by block (1, 2), once at k = 5",
    ]
    _, row, column = boxes(sheets, "wb-read-2")  # the first is the legend's
    (tile,) = boxes(sheets, "wb-both-2")
    assert (row[1], row[3]) == (tile[1], tile[3]), "rows of A and of C stand in line"
    assert (column[0], column[2]) == (tile[0], tile[2]), "so do columns of B and of C"
    assert max(widths((sheets,))) < PHONE


def test_a_small_part_of_large_matrices_is_enlarged_where_it_is_copied_to():
    sch = blocked(1024)
    block, step = {"blockIdx.x": 3, "blockIdx.y": 2}, {"k_0": 40}
    outer, inner, around = matmul_tiles(
        sch, block, block | {"threadIdx.x": 21} | step, block | step
    )
    strips = draw.tiles_picture(inner, [outer], around).strips
    assert len(strips) == 2 and max(widths(strips)) < PHONE
    assert words((strips[1],))[:7] == [
        "enlarged: block (3, 2), k_0 = 40",
        *("A_shared", "B_shared", "C_local"),
        "A_shared[144, 320] (shared) is read",
        "64 times by block (3, 2),",
        "8 times by thread 21, k_0 = 40",
    ]
    *_, tile = boxes(strips[1], "wb-both-1")
    assert tile[2:] == (132.0, 132.0), "the block's tile fills the enlarged sheet"


def test_matrices_that_no_sum_links_stand_alone():
    sch = wb.Schedule(matmul(16))
    tiles = insight.tiles(sch.func, {"i": 3})
    alone = Tiles(tiles.axes[:2], tiles.tiles, tiles.caption, tiles.table)
    assert len(draw.tiles_picture(tiles).strips) == 1
    assert len(draw.tiles_picture(alone).strips) == 4
    assert "reads A[3, 0:16]: 16 cells, each 16 times" in words(draw.tiles_picture(alone).strips)


def test_cells_that_lie_apart_are_drawn_apart():
    touch = Touch("A", "read", ((0, 2, 8), (0, 4, 1)), True, 8, 8, 1.0)
    tiles = Tiles((), (Tile("A", "global", (16, 16), (touch,)),), "Two rows.", Table((), ()))
    assert len(boxes(draw.tiles_picture(tiles).strips[1], "wb-read")) == 2


def tile(buffer: str, *touches: Touch) -> Tile:
    found = {touch.access: touch for touch in touches}
    return Tile(buffer, "global", (8, 8), touches, found.get("read"), found.get("write"))


def test_what_is_read_and_written_has_a_look_and_a_legend_of_its_own():
    read = Touch("S", "read", ((0, 4, 1), (0, 8, 1)), True, 32, 32, 1.0, True)
    write = Touch("C", "write", ((2, 4, 1), (0, 8, 2)), True, 32, 32, 1.0, True)
    alone = Tiles((), (tile("A", read), tile("B", write)), "Apart.", Table((), ()))
    both = Tiles((), (tile("S", read, write),), "One.", Table((), ()))
    legend, *_ = draw.tiles_picture(alone).strips
    assert words((legend,)) == ["the whole program", "reads", "writes"]
    legend, sheet = draw.tiles_picture(both).strips
    assert words((legend,)) == ["the whole program", "reads", "writes", "reads and writes"]
    assert len(boxes(sheet, "wb-read")) == 1
    assert {box[1] for box in boxes(sheet, "wb-both")} == {22 + 2 * 132 / 8}
    assert {box[3] for box in boxes(sheet, "wb-both")} == {2 * 132 / 8}, "rows 2 and 3"


def test_spans_share_the_cells_of_both():
    for a, b in product(((0, 4, 1), (2, 5, 2), (1, 3, 3), (9, 1, 1)), repeat=2):
        one, other = (set(range(s, s + n * step, step)) for s, n, step in (a, b))
        touches = [Touch("", kind, (span, (0, 1, 1)), True, 1, 1, 1.0)
                   for kind, span in (("read", a), ("write", b))]  # fmt: skip
        shared = [region[0] for kind, region in regions(touches) if kind == "both"]
        got = {s + k * step for s, n, step in shared for k in range(n)}
        assert got == one & other


def test_a_write_after_the_steps_is_told_but_not_drawn_as_done():
    sch = blocked(1024)
    block, step = {"blockIdx.x": 0, "blockIdx.y": 0}, {"k_0": 5}
    outer, inner = matmul_tiles(sch, block, block | step)
    strip, _ = draw.tiles_picture(inner, [outer], inner).strips
    said = words((strip,))
    at = said.index("C[0, 0] (global) is written")
    assert said[at + 1] == "once by block (0, 0), after the loop over k_0"
    assert boxes(strip, "wb-write-1")[-1][2] > 0 and len(boxes(strip, "wb-write")) == 2, "legend"


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
