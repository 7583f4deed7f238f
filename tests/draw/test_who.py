"""Who does what: words that fit their cells, colours that differ, a caption about one cell."""

from __future__ import annotations

import re
from itertools import groupby, pairwise, product

import pytest

import workbench as wb
from benchmarks.matmuls import blocking, matmul, naive
from tests.support.gpu_programs import VECTOR_ADD, add_in_blocks, parsed
from workbench import draw, insight, script
from workbench.draw import Picture
from workbench.draw.matrix import CLOCK, HIGH, WIDE
from workbench.draw.scene import Path, Rect, Scene, Words, width_of
from workbench.draw.who import labels_of
from workbench.insight import Cell, Table, Who
from workbench.ir import Buffer, PrimFunc, stores
from workbench.lesson.half_products import half_product, half_tiles

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
    found: dict[str, tuple[str, list[str]]] = {}
    for scene in picture.strips:
        for of, group in groupby(scene.shapes, lambda shape: shape.of):
            if not of.cells:
                continue
            shapes = list(group)
            (box,) = (s for s in shapes if isinstance(s, Rect) and s.width > 20)
            texts = [s for s in shapes if isinstance(s, Words)]
            assert all(width_of(s.label, s.role) <= box.width for s in texts)
            assert all("…" not in s.label for s in texts), "words are never cut"
            found[of.title.split(":")[0]] = (box.role, [s.label for s in texts])
    return found


def test_sixty_four_cells_each_say_when():
    picture = drawn(matmul(8))
    found = cells(picture)
    assert len(found) == 64
    assert found["C[0, 5]"][1] == ["t 40", "–47"]
    assert found["C[7, 7]"][1] == ["t 504", "–511"]
    (scene,) = picture.strips
    assert scene.words[1:17] == [*"01234567", *"01234567"], "of columns and rows"
    assert picture.caption == (
        "C[0, 5] is computed in time steps 40 to 47. “t 40–47” stands for time steps 40 to 47."
    )


@pytest.mark.parametrize("func", [matmul(8), matmul(5, 3, 4), blocks(2), blocks(4, 1)])
def test_a_matrix_is_seen_whole_and_its_words_keep_off_its_frames(func: PrimFunc):
    who = insight.who(func)
    (scene,) = draw.who_picture(who, {cell.index: "other" for cell in who.cells}).strips
    assert scene.width <= WIDE + 1 and scene.height <= HIGH
    for of, group in groupby(scene.shapes, lambda shape: shape.of):
        shapes = list(group)
        for box in (s for s in shapes if isinstance(s, Rect) and of.cells):
            texts = [s for s in shapes if isinstance(s, Words)]
            assert texts and all(width_of(s.label, s.role) <= box.width - 6 for s in texts)
    line = f"max-width: {scene.width + 1:g}px"
    assert line in draw.picture_html(draw.plain(drawn(func)))


def test_large_numbers_of_steps_stand_alone_below_one_clock():
    sch = wb.Schedule(matmul(8, 8, 32))
    sch.cache_write(sch.get_block("C"), 0, "local")
    found = cells(drawn(sch.func))
    assert found["C[0, 5]"][1] == ["2053"]


def test_short_words_are_explained_by_the_cell_of_the_caption():
    picture = drawn(blocks(2))
    assert cells(picture)["C[0, 5]"][1] == ["0,0"]
    assert "block (x=1, y=0)" in picture.strips[0].words, "over its cells"
    assert picture.caption == (
        "C[0, 5] is computed by block (x=1, y=0), thread (x=0, y=0), at time step 37. "
        "“0,0” stands for thread (x=0, y=0)."
    )


def test_the_caption_speaks_of_one_cell():
    before, now = insight.who(matmul(8)), insight.who(blocks(2))
    caption = draw.who_picture(now, labels_of(before)).caption
    assert "It was “time steps 40 to 47”." in caption
    assert set(re.findall(r"C\[\d, \d\]", caption)) == {"C[0, 5]"}
    asked = draw.who_picture(now, labels_of(before), asked=(3, 3)).caption
    assert set(re.findall(r"C\[\d, \d\]", asked)) == {"C[3, 3]"}


def test_four_blocks_are_like_the_squares_of_a_board():
    found = cells(drawn(blocks(2)))
    corners = ("C[0, 0]", "C[0, 7]", "C[7, 0]", "C[7, 7]")
    assert [found[name][0] for name in corners] == ["block-0", "block-1", "block-1", "block-0"]


def test_neighbours_among_many_blocks_differ():
    colours = {name: colour for name, (colour, _) in cells(drawn(blocks(4, 1))).items()}
    for y, x in product(range(0, 8, 2), repeat=2):
        for down, right in ((0, 2), (2, 0)):
            other = colours.get(f"C[{y + down}, {x + right}]")
            assert other != colours[f"C[{y}, {x}]"]


def test_gaps_are_where_the_block_changes_and_nowhere_else():
    for func, gaps in ((matmul(8), 0), (blocks(2), 1), (blocks(4, 1), 3)):
        (scene,) = drawn(func).strips
        boxes = [s for s in scene.shapes if isinstance(s, Rect) and s.of.cells]
        for side in (lambda s: s.x, lambda s: s.y):
            steps = [round(b - a, 3) for a, b in pairwise(sorted({side(s) for s in boxes}))]
            assert steps.count(min(steps)) == 7 - gaps and len(steps) == 7


def test_gaps_of_a_line_are_where_the_block_changes():
    picture = drawn(add_in_blocks(3, 6))
    steps = []
    for strip in picture.strips:
        at = [s.x for s in strip.shapes if isinstance(s, Rect) and s.of.cells and s.width > 20]
        steps += [b - a for a, b in pairwise(at)]
    assert len(steps) == 4 and len(set(steps)) == 2


def test_blocks_that_are_no_rectangles_are_named_in_their_cells():
    sch = wb.Schedule(matmul(4))
    i, j, _ = sch.get_loops("C")
    i_0, i_1 = sch.split(sch.fuse(i, j), [None, 6])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    found = cells(drawn(sch.func))
    assert found["C[1, 3]"][1] == ["block 1", "thread 1"]


def test_threads_that_compute_nothing_are_empty_frames():
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", "10")))
    i_0, i_1 = sch.split("i", [None, 4])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    who = insight.who(sch.func)
    assert [idle.label for idle in who.idle] == ["block 2, thread 2", "block 2, thread 3"]
    picture = draw.who_picture(who)
    boxes = [s for strip in picture.strips for s in strip.shapes if s.role == "idle"]
    assert [(box.of.block, box.of.thread) for box in boxes] == [
        ((2, 0, 0), (2, 0, 0)), ((2, 0, 0), (3, 0, 0))
    ]  # fmt: skip
    assert picture.caption.endswith("2 threads compute no cell of C.")
    words = [word for strip in picture.strips for word in strip.words]
    assert words.count("no cell") == 2 and "idle" not in words, "they may load"
    assert not insight.who(add_in_blocks(4, 8)).idle


def test_of_a_large_buffer_the_last_block_is_drawn_with_its_idle_threads():
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", "1000")))
    i_0, i_1 = sch.split("i", [None, 64])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    picture = drawn(sch.func)
    words = picture.strips[0].words
    at = words.index("block 15")
    assert words[at : at + 4] == [
        "block 15", "40 + 24 none", "C[960:1000]", "and 10 more before block 15"
    ]  # fmt: skip
    assert picture.caption.endswith("24 threads compute no cell of C.")
    assert (
        picture.table.columns[-1] == "threads without a cell" and picture.table.rows[-1][-1] == 24
    )


def test_of_too_many_blocks_to_list_the_last_is_known():
    who = insight.who(add_in_blocks(4, 1 << 12))
    assert who.left_out == 1024 - len(who.groups)
    assert who.groups[-1].label == "block 1023" and who.groups[-2].label == "block 254"


def test_of_more_blocks_than_have_cells_no_more_is_said_than_is_known():
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", "1000")))
    i_0, i_1 = sch.split("i", [400, 4])  # the last 150 blocks have nothing to do
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    picture = drawn(sch.func)
    (note,) = (words for words in picture.strips[0].words if words.startswith("and "))
    assert re.fullmatch(r"and up to \d+ more", note)
    assert picture.caption.endswith("600 threads compute no cell of C.")


def test_time_is_grey_with_a_clock_and_threads_have_no_hue():
    boxes = {role for role, _ in cells(drawn(matmul(8))).values()}
    assert boxes == {"time"}
    strip = drawn(matmul(8)).strips[0]
    assert strip.words.count(CLOCK) == 1, "for all of them"
    sch = wb.Schedule(parsed(VECTOR_ADD.replace("1024", "8")))
    sch.bind("i", "threadIdx.x")
    assert {role for role, _ in cells(drawn(sch.func)).values()} == {"thread"}


@pytest.mark.parametrize("func", [matmul(8), parsed(VECTOR_ADD.replace("1024", "8"))])
def test_a_cell_has_one_edge_and_right_corners_whether_chosen_or_changed(func: PrimFunc):
    """That which is asked about is chosen, those beside it have the edge of what came."""
    who = insight.who(func)
    asked, changed = who.cells[5].index, who.cells[6].index
    picture = draw.who_picture(who, {asked: "other", changed: "other"}, asked=asked)
    boxes = [s for strip in picture.strips for s in strip.shapes if isinstance(s, Rect)]
    assert len(boxes) == len(who.cells) and not any(box.round for box in boxes)
    roles = {tuple(start for start, _, _ in box.of.cells): box.role for box in boxes}
    assert (roles.pop(asked), roles.pop(changed)) == ("chosen", "came-time")
    assert {*roles.values()} == {"time"}


def test_cells_that_changed_keep_the_fill_of_their_block():
    who = insight.who(blocks(2))
    strips = draw.who_picture(who, {cell.index: "other" for cell in who.cells}).strips
    drawn = [s.role for strip in strips for s in strip.shapes if isinstance(s, Rect)]
    assert {*drawn} == {"came-block-0", "came-block-1"}
    for role in {*drawn}:
        now, plain = draw.ROLES[role], draw.ROLES[role.removeprefix("came-")]
        assert now.fill == plain.fill and now.wide == plain.wide and not now.dash


def test_groups_all_use_words_of_one_length():
    picture = drawn(matmul(60, 48, 40))
    words = [s.label for strip in picture.strips for s in strip.shapes if s.role == "strong"]
    assert words[:2] == [f"{CLOCK} t 0–1919", f"{CLOCK} t 1920–3839"]
    assert picture.caption.endswith("“t 0–1919” stands for time steps 0 to 1919.")
    told = [s.of.title for s in picture.strips[0].shapes if s.role == "time"]
    assert told[1] == "time steps 1920 to 3839: C[1, 0:48]", "told to who points at it"


def test_blocks_of_a_large_buffer_differ_from_those_beside_them():
    sch = naive(wb.Schedule(matmul(64)), 8)
    (scene,) = drawn(sch.func).strips
    colours = [s.role for s in scene.shapes if isinstance(s, Rect) and s.of.thread is None]
    assert len(colours) == 6
    assert all(a != b for a, b in pairwise(colours))
    assert all(a != b for a, b in zip(colours, colours[3:], strict=False)), "one above the other"


def told(scene: Scene) -> dict[str, str]:
    """The words of each stretch of cells, by its title."""
    found: dict[str, list[str]] = {}
    for shape in scene.shapes:
        if isinstance(shape, Words) and shape.role == "on":
            found.setdefault(shape.of.title, []).append(shape.label)
    return {title: " ".join(words) for title, words in found.items()}


def test_cells_of_a_row_one_after_the_other_are_told_once():
    ((spans,), (starts,)) = drawn(matmul(8)).low
    assert told(spans) == {
        f"C[{row}, 0:8]: time steps {64 * row} to {64 * row + 63}": f"{64 * row}–{64 * row + 63}"
        for row in range(8)
    }
    assert [*told(starts).values()] == [str(64 * row) for row in range(8)]
    assert told(starts).keys() == told(spans).keys()
    for scene in (spans, starts):
        heads = [s for s in scene.shapes if isinstance(s, Path) and s.role == "head"]
        assert [s.of.title for s in heads] == [*told(spans)], "an arrow through each row"
        cells = [s for s in scene.shapes if isinstance(s, Rect) and s.of.cells]
        assert cells[5].of.title == "C[0, 5]: time steps 40 to 47", "to who points at it"
        assert len(cells) == 64


def test_neighbours_of_one_thread_are_told_once_and_share_a_frame():
    """Blocks of 4 x 4 cells, threads of 2 x 2."""
    picture = drawn(blocks(2))
    (scene, *_) = picture.low[0]
    tiles = told(scene)
    assert len(tiles) == 16 and "C[0:2, 2:4]: thread (x=1, y=0)" in tiles
    assert set(tiles.values()) == {"0,0", "1,0", "0,1", "1,1"}
    full = cells(picture)
    boxes = [s for s in scene.shapes if isinstance(s, Rect) and s.of.cells]
    assert [(s.of.title.split(":")[0], s.role) for s in boxes] == [
        (name, role) for name, (role, _) in full.items()
    ]
    (first, second, third) = boxes[:3]
    assert first.x + first.width == second.x, "of one thread"
    assert second.x + second.width < third.x, "of another"
    heads = [s.label for s in scene.shapes if isinstance(s, Words) and s.role == "strong"]
    assert heads == [s.label for s in picture.strips[0].shapes if s.role == "strong"]


@pytest.mark.parametrize("func", [matmul(8), matmul(5, 3, 4), blocks(2), blocks(4, 1)])
def test_each_cell_is_in_one_stretch_whose_words_have_room(func: PrimFunc):
    who = insight.who(func)
    for scene, *_ in draw.who_picture(who).low:
        spans = {s.of for s in scene.shapes if isinstance(s, Words) and s.role == "on"}
        covered = [
            index for of in spans for index in product(*(range(a, a + n) for a, n, _ in of.cells))
        ]
        assert sorted(covered) == [cell.index for cell in who.cells]
        frames = {s.of.cells: s for s in scene.shapes if isinstance(s, Rect) and s.of.cells}
        for words in (s for s in scene.shapes if isinstance(s, Words) and s.role == "on"):
            (row, rows, _), (column, columns, _) = words.of.cells
            first = frames[(row, 1, 1), (column, 1, 1)]
            last = frames[(row + rows - 1, 1, 1), (column + columns - 1, 1, 1)]
            wide = width_of(words.label)
            left = words.x - wide / 2
            assert first.x < left and left + wide < last.x + last.width
            assert first.y < words.y - 9 and words.y < last.y + last.height


def test_threads_without_a_cell_are_small_frames_and_a_number_where_there_is_little_room():
    sch = wb.Schedule(matmul(8))
    blocking(sch, 2, 2, 3, 3, 4)
    picture = drawn(sch.func)
    (_, idle) = picture.low[0]
    number = sum(s.of.title.endswith(": no cell") for s in idle.shapes)
    assert number and idle.words == [f"{number} threads without a cell"]
    full = [s for strip in picture.strips[1:] for s in strip.shapes]
    assert {s.of.title for s in full if s.of.title} <= {s.of.title for s in idle.shapes}


def test_of_many_groups_few_are_drawn_where_there_is_little_room():
    picture = drawn(matmul(60, 48, 40))
    for (scene,), number in zip(picture.low, (8, 5, 3), strict=True):
        boxes = [s for s in scene.shapes if isinstance(s, Rect)]
        assert len(boxes) == number
        assert [s.of.title for s in boxes[:-1]] == [
            s.of.title for s in picture.strips[0].shapes if isinstance(s, Rect)
        ][: number - 1]
        assert boxes[-1].of.title.startswith("time steps 113280 to 115199: ")
        assert f"and {60 - number} more" in scene.words
        assert not [word for word in scene.words if "cells" in word]


def test_where_all_is_one_stretch_of_time_it_is_written_out():
    (scene,) = drawn(parsed(VECTOR_ADD)).strips
    assert scene.words == [f"{CLOCK} time steps 0 to 1023", "1,024 cells", "C[0:1024]"]


def test_blocks_without_threads_say_when_they_compute_their_cells():
    sch = wb.Schedule(parsed(VECTOR_ADD))
    i_0, i_1 = sch.split("i", [None, 128])
    sch.bind(i_0, "blockIdx.x")
    (scene,) = drawn(sch.func).strips
    assert scene.words[:3] == ["block 0", f"{CLOCK} t 0–127", "[0:128]"]
    sch.bind(i_1, "threadIdx.x")
    (scene,) = drawn(sch.func).strips
    assert scene.words[:3] == ["block 0", "128 cells", "[0:128]"]


def test_steps_of_time_are_written_out_in_the_first_picture():
    (scene, _) = drawn(parsed(VECTOR_ADD.replace("1024", "8"))).strips
    assert "time step 3" in scene.words


def test_what_is_inside_a_block_stands_below_all_blocks():
    sch = wb.Schedule(parsed(VECTOR_ADD))
    i_0, i_1 = sch.split("i", [None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    (scene,) = draw.picture_of(sch.func, "who").strips
    assert scene.width <= WIDE and scene.height <= HIGH + 1
    (head,) = (
        s
        for s in scene.shapes
        if isinstance(s, Words) and s.label == "for example, inside block 0:"
    )
    boxes = [s for s in scene.shapes if isinstance(s, Rect)]
    assert all((s.y > head.y) == (s.of.thread is not None) for s in boxes)
    assert {s.of.loops for s in boxes if s.y < head.y} == {("i_0",)}, "a click leads there"
    assert {s.of.loops for s in boxes if s.y > head.y} == {("i_1",)}
    assert all(not (s.y < head.y < s.y + s.height) for s in boxes)


def test_threads_inside_a_block_that_have_no_room_are_counted():
    sch = wb.Schedule(parsed(VECTOR_ADD))
    i_0, i_1 = sch.split("i", [None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    picture = draw.picture_of(sch.func, "who")
    assert picture.strips[0].words[-1] == "… thread 127: C[127]"
    for (scene,) in picture.low:
        inside = scene.words[scene.words.index("for example, inside block 0:") + 1 :]
        threads = [s.of.thread for s in scene.shapes if isinstance(s, Rect) and s.of.thread]
        (more,) = (word for word in inside if word.endswith(" more"))
        assert more.removeprefix("and ") == f"{128 - len(threads)} more"
        assert threads[-1] == (127, 0, 0) and threads[:-1] == [
            (k, 0, 0) for k in range(len(threads) - 1)
        ]


AGAIN = """
@T.prim_func
def main(A: T.Buffer((16, 12), "float32"), C: T.Buffer((16, 12), "float32")):
    for i, j in T.grid(16, 12):
        with T.block("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(4, thread="threadIdx.x"):
            for j in range(11):
                with T.block("C"):
                    vi = T.axis.spatial(16, b * 4 + t)
                    vj = T.axis.spatial(11, j)
                    C[vi, vj] = A[vi, vj]
"""


def test_what_is_inside_a_block_names_it_where_other_cells_are_of_no_block():
    picture = drawn(parsed(AGAIN))
    words = picture.strips[0].words
    assert "◷ t 0–11" in words and ", and again by 1 other thread." in picture.caption
    assert "for example, inside block 0:" in words


def test_what_fits_in_no_way_is_left_out():
    long = "thread (x=1000000, y=1000000)"
    made = Cell((0,), f"block 1, {long}", (0, 0), None, None, 1, (("block 1",), (long,)))
    who = Who("A_buffer_of_a_long_name", "global", (1,), ("block", "thread"), True, (made,), (),
              0, (), "", Table((), ()))  # fmt: skip
    picture = draw.who_picture(who)
    ((_, words),) = cells(picture).values()
    assert words == ["[0]", "block 1"]
    assert long in picture.strips[0].shapes[0].of.title, "told to who points at the cell"


def sums(func: PrimFunc) -> Buffer:
    """The fragments of the sums."""
    kept = (store.buffer for store in stores(func.body))
    return next(buffer for buffer in kept if buffer.is_fragment and buffer.dtype == "float32")


@pytest.mark.parametrize("kind", ["wmma", "mma"])
def test_a_call_of_a_warp_is_by_its_lanes_together_in_one_step(kind: str):
    """A block has two warps: each fills a column of two tiles of sums, and adds to it four times.

    Ahead of every two of these its threads fetch 16 cells of A and of B each, and ahead of every
    one its warps load two tiles of A and one of B.
    """
    func = half_tiles(half_product(32, 64, 64), kind, (32, 32), (1, 2), 32)
    whose = insight.who(func)
    assert draw.who_picture(whose).caption == (
        "C[0, 5] is computed by block (x=0, y=0), warp (y=0, z=0), 32 lanes together, "
        f"at time step {2 + 2 * (16 + 16) + 4 * (2 + 1 + 2)}."
    )
    assert [(group.label, group.cells, group.idle) for group in whose.groups] == [
        ("block (x=0, y=0)", 1024, 0),
        ("block (x=1, y=0)", 1024, 0),
    ]
    assert [(group.label, group.cells) for group in whose.zoom] == [
        ("warp (y=0, z=0)", 512),
        ("warp (y=0, z=1)", 512),
    ]
    assert whose.idle_left_out == 0
    own = insight.who(func, sums(func).name)
    assert [(group.label, group.cells) for group in own.zoom] == [
        (group.label, group.cells) for group in whose.zoom
    ]


def test_the_only_warp_of_a_block_has_no_number():
    """It clears sums, fetches 8 cells of A and of B, loads a tile of each, and multiplies."""
    func = half_tiles(half_product(16, 32, 16), "mma", (16, 16), (1, 1), 16)
    bound, text = r'T.thread_binding\(1, thread="threadIdx.[yz]"\)', script.show(func)
    whose = insight.who(script.parse(re.sub(bound, "range(1)", text)), sums(func).name)
    assert whose.cells[5].writers == 1 and {cell.label for cell in whose.cells} == {
        "block (x=0, y=0), one warp"
    }
    assert [(group.label, group.time) for group in whose.groups] == [
        ("block (x=0, y=0)", (19, 19)),
        ("block (x=1, y=0)", (19, 19)),
    ]
    assert whose.zoom == ()
