"""The tiling picture: true proportions, four levels, how often each cell is touched."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul, naive
from tests.support.gpu_programs import parsed, window_steps
from workbench import draw, insight
from workbench.draw.layout import HIGH
from workbench.draw.scene import Rect, Scene, Words, width_of
from workbench.draw.sheets import CHOSEN, MOST_BOXES, SEEN, Sheet, regions, whole
from workbench.insight import Table, Tile, Tiles, Touch
from workbench.ir import PrimFunc


def blocked(size: int) -> PrimFunc:
    sch = wb.Schedule(matmul(size))
    return blocking_with_shared(sch, 8, 8, 8, 8, 8).func


def kept() -> PrimFunc:
    return blocking(wb.Schedule(matmul(64)), 2, 2, 4, 4, 4, keep=True).func


def one_thread_a_cell() -> PrimFunc:
    return naive(wb.Schedule(matmul(16)), 4).func


def tall() -> PrimFunc:
    """A product whose sums are far longer than its sides."""
    return naive(wb.Schedule(matmul(32, 48, 2048)), 4).func


def view(func: PrimFunc, level: str = "whole", **select: object) -> Scene:
    (scene,) = draw.picture_of(func, "tiles", select=select, level=level).strips
    return scene


def told(scene: Scene) -> str:
    """What is said of each buffer where its name is pointed at."""
    return "\n".join(dict.fromkeys(shape.of.title for shape in scene.shapes if shape.of.title))


def rects(scene: Scene, buffer: str, *roles: str) -> list[Rect]:
    return [s for s in scene.shapes
            if isinstance(s, Rect) and s.of.buffer == buffer and s.role in roles]  # fmt: skip


def test_a_product_is_three_linked_sheets_with_nested_selections():
    scene = view(one_thread_a_cell(), block=(1, 2), thread=(2, 1), k=5)
    assert [word for word in scene.words if "×" not in word][:3] == ["↗ reads", "↘ writes", "both"]
    assert "A is read 4 times by the block, once by the thread" in told(scene)
    assert "C is written 17 times by the block, once by the step" in told(scene)
    (row, *_), (column, *_) = rects(scene, "A", "read"), rects(scene, "B", "read")
    tile, *_ = rects(scene, "C", "chosen-both")
    assert (row.y, row.height) == (tile.y, tile.height), "rows of A and of C stand in line"
    assert (column.x, column.width) == (tile.x, tile.width), "so do columns of B and of C"


def test_a_number_says_whose_it_is_where_a_thread_is_chosen_in_its_block():
    """And stands beside what is touched, where the thread's cells are to be seen."""
    func = one_thread_a_cell()
    assert "↗ × 4" in view(func, block=(1, 2)).words
    scene = view(func, block=(1, 2), thread=(2, 1))
    assert "block ↗ × 4" in scene.words and "↗ × 4" not in scene.words
    (block, *_) = rects(scene, "A", "read")
    said = next(s for s in scene.shapes if isinstance(s, Words) and s.label == "block ↗ × 4")
    assert said.short == "↗ × 4", "where sheets are small words would meet"
    assert not block.y < said.y < block.y + block.height


def test_words_too_long_for_a_sheet_are_short_on_it():
    tile = insight.tiles(one_thread_a_cell(), {"block": (1, 2)}).tiles[0]
    for wide, said in ((200, "block ↗ × 4"), (60, "↗ × 4"), (20, None)):
        sheet = Sheet(0, 0, wide, 60, whole(tile), {"blockIdx.x": 1, "blockIdx.y": 2})
        found = sheet.label("block ↗ × 4", regions(tile), short="↗ × 4")
        assert [words.label for words in found] == ([said] if said else [])


def test_a_sheet_of_four_dimensions_says_what_lies_in_it_and_in_how_many_planes():
    text = """
    @T.prim_func
    def main(A: T.Buffer((6, 6, 8, 8), "float32"), B: T.Buffer((4, 4, 8, 8), "float32")):
        for y, x, c, n, dy, dx in T.grid(4, 4, 8, 8, 3, 3):
            with T.block("B"):
                vy, vx, vc, vn, r, s = T.axis.remap("SSSSRR", [y, x, c, n, dy, dx])
                with T.init():
                    B[vy, vx, vc, vn] = T.float32(0)
                B[vy, vx, vc, vn] = B[vy, vx, vc, vn] + A[vy + r, vx + s, vc, vn]
    """
    sch = wb.Schedule(parsed(text))
    sch.bind("y", "blockIdx.x")
    scene = view(sch.func, block=1)
    labels = [s.label for s in scene.shapes if isinstance(s, Words) and s.of.buffer]
    assert labels == ["A 18 of 6×6 of 8×8", "↗ × 2", "B 4 of 4×4 of 8×8", "↗ × 9"]
    assert "its sheet shows the last two of 4 dimensions" in told(scene)


def test_a_small_part_of_large_matrices_is_enlarged_where_it_is_copied_to():
    func, chosen = blocked(1024), {"block": (3, 2), "thread": 21, "k_0": 40}
    strips = draw.picture_of(func, "tiles", select=chosen).strips
    assert len(strips) == 4, "whole, block, thread, registers"
    words = strips[1].words
    assert {"A_shared ↗ × 64", "B_shared ↗ × 64", "C_local ↗ × 8"} <= set(words)
    assert "A_shared is read 64 times by the block, 8 times by the thread" in told(strips[1])
    (sheet,) = rects(strips[1], "C_local", "soft")
    assert sheet.width == sheet.height > 60, "the block's tile fills the enlarged sheet"


def test_levels_are_those_of_the_selection():
    func = kept()
    inner = insight.tiles(func, {"block": (1, 2), "thread": (1, 1)})
    assert draw.levels_of(inner) == ["whole", "block", "thread", "registers"]
    assert draw.levels_of(insight.tiles(func, {"block": (1, 2)})) == ["whole", "block"]
    assert draw.levels_of(insight.tiles(func, {})) == ["whole"]
    scene = view(func, "registers", block=(1, 2), thread=(1, 1))
    assert {s.of.buffer for s in scene.shapes} - {""} == {"A_local", "B_local", "C_local"}
    with pytest.raises(ValueError, match="no level 'thread' here; there are: whole, block"):
        view(func, "thread", block=(1, 2))


def test_a_picture_of_all_levels_names_each():
    picture = draw.picture_of(kept(), "tiles", select={"block": (1, 2), "thread": (1, 1)})
    page = draw.picture_html(draw.plain(picture))
    named = re.findall(r"<b>(\w+)</b><br><svg", page)
    assert named == ["whole", "block", "thread", "registers"]


def every_view(func: PrimFunc, **select: object) -> list[Scene]:
    inner = insight.tiles(func, select)
    return [view(func, level, **select) for level in draw.levels_of(inner)]


VIEWS = {
    "blocked 1024": lambda: every_view(blocked(1024), block=(3, 2), thread=21, k_0=40),
    "blocked 64": lambda: every_view(blocked(64), block=(0, 0), thread=5),
    "one thread a cell": lambda: every_view(one_thread_a_cell(), block=(1, 2), thread=(2, 1), k=5),
    "kept": lambda: every_view(kept(), block=(1, 2), thread=(1, 1)),
    "tall": lambda: every_view(tall(), block=(1, 2), thread=(2, 1)),
    "window": lambda: [
        scene for f in window_steps().values() for scene in every_view(f, block=1, thread=5)
    ],
}


@pytest.fixture(scope="module", params=VIEWS)
def scenes(request: pytest.FixtureRequest) -> list[Scene]:
    return VIEWS[request.param]()


def test_a_tile_is_never_a_sliver_nor_a_wall(scenes: list[Scene]):
    for scene in scenes:
        boxes = [s for s in scene.shapes if isinstance(s, Rect) and s.of.buffer]
        outlines = [s for s in boxes if s.role in ("read", "write", "both", *CHOSEN.values())]
        assert outlines and all(min(s.width, s.height) >= SEEN - 1e-9 for s in outlines)
        for buffer in {s.of.buffer for s in outlines}:
            assert sum(s.of.buffer == buffer for s in outlines) <= 4 * MOST_BOXES
        sheets = {s.of.buffer: s for s in boxes if s.role == "soft"}
        for shape in outlines:
            sheet = sheets[shape.of.buffer]
            assert sheet.x <= shape.x + 1e-6 and sheet.y <= shape.y + 1e-6
            assert shape.x + shape.width <= sheet.x + sheet.width + 1e-6
            assert shape.y + shape.height <= sheet.y + sheet.height + 1e-6


def test_words_fit_the_strip(scenes: list[Scene]):
    for scene in scenes:
        for words in (s for s in scene.shapes if isinstance(s, Words)):
            wide = width_of(words.label, words.role)
            left = words.x - {"start": 0.0, "middle": wide / 2}[words.anchor]
            assert left >= 0 and left + wide <= scene.width + 1, words.label
            assert 8 < words.y < scene.height


def test_a_strip_is_seen_whole_in_the_pane_of_a_small_lab(scenes: list[Scene]):
    for scene in scenes:
        assert scene.height <= HIGH + 4


def test_sheets_have_true_proportions():
    scene = view(tall(), block=(1, 2))
    a, b = (rects(scene, name, "soft")[0] for name in "AB")
    assert a.width / a.height == pytest.approx(a.width / 8), "32 rows of 2,048 would not be seen"
    scene = view(blocked(128), "block", block=(0, 0), k_0=1)
    a, b, c = (rects(scene, n, "soft")[0] for n in ("A_shared", "B_shared", "C_local"))
    assert (a.height / a.width, b.width / b.height, c.width / c.height) == (8, 8, 1)


def test_loads_of_a_cell_are_printed_and_do_not_look_the_same():
    """384 loads of 130 cells, 16,640, and 130."""
    steps = window_steps()
    seen = {}
    for name, buffer in (("bound", "A"), ("shared", "A"), ("cooperative", "A")):
        scene = view(steps[name], block=1)
        fills = [s.role for s in rects(scene, buffer, *draw.ROLES) if "heat" in s.role]
        seen[name] = fills[-1], next(w for w in scene.words if w.startswith("↗ ×"))
    assert seen == {
        "bound": ("heat-1", "↗ × 2.95"),
        "shared": ("heat-4", "↗ × 128"),
        "cooperative": ("heat-0", "↗ × 1"),
    }


def test_the_step_before_is_hatched_where_it_was():
    sch = wb.Schedule(matmul(32))
    wide = naive(sch.fork(), 8).func
    small = naive(sch.fork(), 4).func
    picture = draw.picture_of(small, "tiles", select={"block": (1, 1)}, before=wide, level="whole")
    (ghost,) = rects(picture.strips[0], "C", "ghost")
    (now,) = rects(picture.strips[0], "C", "chosen-both")
    assert ghost.width == 2 * now.width
    same = draw.picture_of(small, "tiles", select={"block": (1, 1)}, before=small, level="whole")
    assert not rects(same.strips[0], "C", "ghost")


INLINED = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] + T.float32(1)
    for i in range(4):
        with T.block("C"):
            v = T.axis.spatial(4, i)
            C[v] = B[v] * T.float32(2)
"""


def test_what_is_hatched_stands_for_no_block_that_is_gone():
    sch = wb.Schedule(parsed(INLINED))
    before = sch.func
    sch.compute_inline("B")
    scene = draw.picture_of(sch.func, "tiles", before=before, level="whole").strips[0]
    (ghost,) = rects(scene, "A", "ghost")
    assert (ghost.of.cells, ghost.of.statement) == (((0, 8, 1),), "")
    wide, small = (naive(wb.Schedule(matmul(32)), n).func for n in (8, 4))
    scene = draw.picture_of(small, "tiles", select={"block": (1, 1)}, before=wide).strips[0]
    assert {ghost.of.statement for ghost in rects(scene, "C", "ghost")} == {"C_update"}


@pytest.mark.parametrize("make", [one_thread_a_cell, kept, tall])
@pytest.mark.parametrize("thread", [{}, {"thread": 1}], ids=["block", "thread"])
def test_how_often_a_chosen_tile_is_written_stands_in_words(make: Callable[[], PrimFunc], thread):
    """Its fill is that of what is chosen: the number stands on it, or over its sheet."""
    strips = draw.picture_of(make(), "tiles", select={"block": (0, 0), **thread}).strips
    shapes = [shape for strip in strips for shape in strip.shapes]
    chosen = {s.of.buffer for s in shapes if isinstance(s, Rect) and s.role in CHOSEN.values()}
    times = re.compile(r"[↘↗] × [\d.,]+")
    said = {s.of.buffer for s in shapes if isinstance(s, Words) and times.search(s.label)}
    assert chosen - {""} and chosen - {""} <= said


def test_what_a_chosen_block_or_thread_writes_is_drawn_as_chosen_and_its_reads_dashed():
    for level in ("whole", "block", "thread"):
        scene = view(blocked(64), level, block=(0, 0), thread=5)
        found = {s.role for s in scene.shapes if isinstance(s, Rect) and s.of.buffer}
        assert "chosen" in found and "read" in found and not {"write", "both"} & found
        legend = [s.role for s in scene.shapes if s.of.key == "legend" and isinstance(s, Rect)]
        assert legend[:3] == ["read", "chosen", "chosen-both"], "as they are drawn here"
    where = rects(view(blocked(64), "whole", block=(0, 0)), "C", "chosen")
    assert len(where) == 1, "one edge, and no fill below it"
    turns = draw.picture_of(matmul(16), "tiles", select={"i": 3}).strips[0]
    assert not rects(turns, "C", *CHOSEN.values()), "a turn of a loop is nobody"
    assert rects(turns, "C", "both")


def test_matrices_that_no_sum_links_stand_alone():
    tiles = insight.tiles(matmul(16), {"i": 3})
    alone = Tiles(tiles.axes[:2], tiles.tiles, tiles.caption, tiles.table)
    linked, apart = (draw.tiles_picture(one).strips[0] for one in (tiles, alone))
    y = {name: rects(apart, name, "soft")[0].y for name in "ABC"}
    assert y["A"] == y["B"] < y["C"], "beside each other, and below, as large as fits"
    assert rects(linked, "A", "soft")[0].x < rects(linked, "C", "soft")[0].x


def test_cells_that_lie_apart_are_drawn_apart_until_they_are_too_many():
    for count, boxes in ((2, 2), (8, 8), (64, 1)):
        touch = Touch("A", "read", ((0, count, 8), (0, 4, 1)), True, 8, 8, 1.0)
        tile = Tile("A", "global", (8 * count, 16), (touch,))
        tiles = Tiles((), (tile,), "Rows.", Table((), ()))
        assert len(rects(draw.tiles_picture(tiles).strips[0], "A", "read")) == boxes


def tile(buffer: str, *touches: Touch) -> Tile:
    found = {touch.access: touch for touch in touches}
    return Tile(buffer, "global", (8, 8), touches, found.get("read"), found.get("write"))


def test_what_is_read_and_written_has_an_outline_of_its_own():
    read = Touch("S", "read", ((0, 4, 1), (0, 8, 1)), True, 32, 32, 1.0, True)
    write = Touch("C", "write", ((2, 4, 1), (0, 8, 2)), True, 32, 32, 1.0, True)
    both = Tiles((), (tile("S", read, write),), "One.", Table((), ()))
    (scene,) = draw.tiles_picture(both).strips
    (sheet,) = rects(scene, "S", "soft")
    cell = sheet.height / 8
    assert len(rects(scene, "S", "read")) == 1
    found = {(box.y - sheet.y, box.height) for box in rects(scene, "S", "both")}
    assert found == {(2 * cell, 2 * cell)}, "rows 2 and 3"


def test_spans_share_the_cells_of_both():
    for a, b in product(((0, 4, 1), (2, 5, 2), (1, 3, 3), (9, 1, 1)), repeat=2):
        one, other = (set(range(s, s + n * step, step)) for s, n, step in (a, b))
        touches = [Touch("", kind, (span, (0, 1, 1)), True, 1, 1, 1.0)
                   for kind, span in (("read", a), ("write", b))]  # fmt: skip
        found = regions(tile("S", *touches))
        shared = [region[0] for kind, _, region in found if kind == "both"]
        got = {s + k * step for s, n, step in shared for k in range(n)}
        assert got == one & other


def test_a_write_after_the_steps_is_told_but_not_drawn_as_done():
    scene = view(blocked(1024), block=(0, 0), k_0=5)
    assert "C is written once by the block, after the loop over k_0" in told(scene)
    assert len(rects(scene, "C", "chosen")) == 1


def test_what_is_not_touched_says_so():
    tiles = Tiles((), (Tile("D", "global", (4, 4), ()),), "None.", Table((), ()))
    assert told(draw.tiles_picture(tiles).strips[0]) == "D is not touched by this selection"


def test_a_program_with_a_sum_in_no_buffer_of_two_dimensions():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((4, 8, 16), "float32"), B: T.Buffer((), "float32")):
    for i, j, k in T.grid(4, 8, 16):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("RRR", [i, j, k])
            with T.init():
                B[()] = T.float32(0)
            B[()] = B[()] + A[vi, vj, vk]
""")
    scene = view(func, i=2)
    assert {s.of.buffer for s in scene.shapes} >= {"A", "B"}


IN_PLANES = """
@T.prim_func
def main(A: T.Buffer((4, 8, 8), "float32")):
    for t in T.thread_binding(8, thread="blockIdx.x"):
        for p, j in T.grid({count}, 8):
            with T.block("A"):
                vp, vi, vj = T.axis.remap("SSS", [p, t, j])
                A[vp + 1, vi, vj] = A[0, vi, vj] * T.float32(2)
"""


@pytest.mark.parametrize(
    ("count", "title", "near"),
    [
        (1, "A 2 of 4 of 8×8", "A ↗ × 1 in 2 of 4"),  # one is read, another one is written
        (2, "A 3 of 4 of 8×8", "A ↗ × 2 in 3 of 4"),
        (3, "A 4 of 8×8", "A ↗ × 3"),
    ],
)
def test_planes_are_those_of_all_that_is_touched(count: int, title: str, near: str) -> None:
    func = parsed(IN_PLANES.format(count=count))
    made = draw.picture_of(func, "tiles", select={"block": 2})
    titles = [words.label for strip in made.strips for words in strip.shapes
              if isinstance(words, Words) and words.role == "strong"]  # fmt: skip
    assert titles == [title, near]


BARE = """
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32"),
         C: T.Buffer((8, 16), "float32")):
    for i in range(8):
        for j in range(16):
            B[i, j] = A[i, j] * T.float32(2)
        for j in range(4):
            C[i, j] = B[i, j] + A[i, 15 - j]
"""


def test_loops_of_one_name_around_statements_in_no_block_are_told_apart_by_what_they_store():
    func = parsed(BARE)
    axes = {axis.key: axis.extent for axis in insight.axes(func)}
    assert axes == {"i": 8, "j of B": 16, "j of C": 4}
    caption = draw.picture_of(func, "tiles", select={"j of C": 2}).caption
    assert caption.splitlines() == [
        "With j of C = 2:",
        "A: reads one column (8 cells), each once.",
        "B: reads one column (8 cells), each once; written before the loop over j of C.",
        "C: writes one column (8 cells), each once.",
    ]
    assert [one["label"] for one in wb.lab(wb.Schedule(func)).session.page["places"]] == [
        "loop i", "loop j of B", "loop j of C"
    ]  # fmt: skip
