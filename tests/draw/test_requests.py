"""Pictures of one request: each box and each word is held against what is worked out on paper."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.draw.test_pictures import PHONE
from tests.insight.test_served import SHARED
from tests.lower.test_findings import transposed
from tests.support.gpu_programs import parsed
from workbench import draw, script
from workbench.diag import Fail
from workbench.draw.banks import banks_scene, runs_text
from workbench.draw.scene import Path, Rect, Scene, Words, width_of
from workbench.draw.sectors import sectors_scene
from workbench.insight import Requests, requests_of
from workbench.ir import PrimFunc
from workbench.lower import lower
from workbench.target import get

SERVED = ("served", "beyond", "thin-served", "thin-beyond", "chosen")


def program(cell: str, **given: object) -> PrimFunc:
    usual = {"threads": 32, "dtype": "float32", "vector": 1, "guard": "i >= 0"}
    func = script.parse(SHARED.format(cell=cell, **usual | given))
    assert isinstance(func, PrimFunc)
    return func


def request(scope: str, cell: str, **given: object) -> Requests:
    """The reads of shared or global memory."""
    found, _ = requests_of(lower(program(cell, **given), get("cuda")).kernels, scope)
    return next(one for one in found if one.kind == "read")


def banks(cell: str, chosen: int | None = None, **given: object) -> Scene:
    one = request("shared", cell, **given)
    return banks_scene(one, one.lanes(one.worst), chosen)


def sectors(cell: str, chosen: int | None = None, **given: object) -> Scene:
    one = request("global", cell, **given)
    return sectors_scene(one, one.lanes(one.worst), chosen)


def boxes(scene: Scene) -> list[tuple[str, tuple[int, ...]]]:
    rects = (shape for shape in scene.shapes if isinstance(shape, Rect))
    return [(rect.role, rect.of.lanes) for rect in rects if rect.role in SERVED]


def test_rows_are_wavefronts_and_those_beyond_need_are_filled():
    scene = banks("i * 32", threads=4)
    assert boxes(scene) == [("served", (0,)), *(("beyond", (k,)) for k in (1, 2, 3))]
    numbers = [s for s in scene.shapes if isinstance(s, Words) and s.role == "strong"]
    assert [words.label for words in numbers] == ["1", "2", "3", "4"]
    rects = [s for s in scene.shapes if isinstance(s, Rect) and s.role in SERVED]
    assert len({rect.x for rect in rects}) == 1, "all in one column"
    assert "idle: 4–31" in scene.words


def test_a_broadcast_is_one_box_with_its_lanes():
    scene = banks("i // 8 * 33", threads=16)
    assert boxes(scene) == [("served", tuple(range(8))), ("served", tuple(range(8, 16)))]
    title = "wavefront 1: bank 1: lanes 8–15, byte 132 of S"
    assert title in {s.of.title for s in scene.shapes}


def test_lanes_stand_in_one_line_where_boxes_are_narrow():
    """32 boxes side by side: of numbers of two digits every other one has room."""
    scene = banks("i")
    lines = [s for s in scene.shapes if isinstance(s, Words) and s.of.lanes]
    assert [s.label for s in lines] == [str(k) for k in (*range(10), *range(11, 32, 2))]
    assert len({s.y for s in lines}) == 1
    many = banks("i // 8 * 8 + i % 8 // 4").words  # four lanes a box, two boxes side by side
    assert "×4" in many and not any("+" in words for words in many)


def test_a_vector_is_one_box_over_its_banks_and_groups_are_told():
    scene = banks("i * 4", vector=4, threads=16)
    rects = [s for s in scene.shapes if isinstance(s, Rect) and s.role in SERVED]
    assert [rect.of.lanes for rect in rects] == [(k,) for k in range(16)]
    wide = {round(rect.width + 1, 3) for rect in rects}
    assert wide == {round(4 * (332 - 44 - 4) / 32, 3)}
    assert [w for w in scene.words if w.startswith("lanes")] == ["lanes 0–7", "lanes 8–15"]


def test_thin_wavefronts_are_the_same_with_words_at_every_eighth():
    one = request("shared", "i * 32")
    full, thin = (banks_scene(one, one.lanes(one.worst), thin=thin) for thin in (False, True))
    assert full.scrolls and not thin.scrolls and full.height > 600
    assert thin.height < 172, "as high as the lowest panes of the lessons"
    told = [(role.removeprefix("thin-"), lanes) for role, lanes in boxes(thin)]
    assert told == boxes(full) and len(told) == 32
    assert [s.of.title for s in full.shapes if s.role in SERVED] == [
        s.of.title for s in thin.shapes if s.role in SERVED
    ]
    numbers = [s for s in thin.shapes if isinstance(s, Words) and s.role == "strong"]
    assert [s.label for s in numbers] == ["1", "9", "17", "25"]
    assert all(b.y - a.y >= 14 for a, b in pairwise(numbers)), "and words do not meet"
    lanes = [s.label for s in thin.shapes if isinstance(s, Words) and s.of.lanes]
    assert lanes == ["← lane 0", "← lane 8", "← lane 16", "← lane 24"]


def test_thin_wavefronts_of_lanes_that_go_together_stand_together():
    one = request("shared", "i * 32", vector=4, threads=16)
    thin = banks_scene(one, one.lanes(one.worst), thin=True)
    tops = [s.y for s in thin.shapes if isinstance(s, Rect) and s.role in SERVED]
    apart = {round(b - a, 2) for a, b in pairwise(tops)}
    assert len(apart) == 2, "from one to the next, and from eight lanes to the next eight"
    assert not any(word.startswith("lanes") for word in thin.words)


def test_the_lane_that_is_chosen_stands_out():
    assert ("chosen", (2,)) in boxes(banks("i", 2, threads=4))
    scene = sectors("i", 2, threads=4)
    assert [s.of.lanes for s in scene.shapes if s.role == "chosen"] == [(2,), (2,)]
    assert [s.role for s in scene.shapes if isinstance(s, Path) and s.of.lanes == (2,)] == [
        "chosen-joined"
    ]


@pytest.mark.parametrize(
    "cell, dtype",
    [("i", "float32"), ("i", "int8"), ("i * 8", "float32"), ("i // 2", "int8"), ("0", "float32")],
)
def test_each_lane_that_is_awake_is_in_a_box_and_words_stay_apart(cell: str, dtype: str):
    scene = banks(cell, dtype=dtype)
    assert {lane for _, those in boxes(scene) for lane in those} == set(range(32))
    assert scene.width < PHONE
    lines = [s for s in scene.shapes if isinstance(s, Words) and s.of.lanes and s.anchor == "start"]
    edges = [s for s in scene.shapes if isinstance(s, Rect) and s.role in SERVED]
    for words in lines:
        end = words.x + width_of(words.label)
        beside = [r for r in edges if r.y <= words.y <= r.y + r.height and r.x > words.x]
        assert end <= min((r.x for r in beside), default=scene.width), words.label


def test_sectors_are_told_and_what_is_unused_is_hollow():
    scene = sectors("i * 16", threads=4)
    unused = [s for s in scene.shapes if isinstance(s, Rect) and s.role == "unused"]
    used = [s for s in scene.shapes if isinstance(s, Rect) and s.role == "used"]
    assert len(unused) == len(used) == 4
    assert [s.of.title for s in unused][1] == "bytes 64 to 95 of A: 4 bytes wanted"
    assert "4 sectors, 1 needed" in scene.words and "idle: 4–31" in scene.words
    assert {"64", "128", "192"} <= set(scene.words), "where memory goes on"


def test_sectors_that_follow_each_other_can_be_told_apart_and_light_up_alone():
    """Each fourth number: 4 bytes of each 16, so that what is used begins where a sector does."""
    scene = sectors("i * 4", threads=16)
    edges = [s for s in scene.shapes if isinstance(s, Rect) and s.role == "unused"]
    gaps = [b.x - (a.x + a.width) for a, b in pairwise(edges)]
    assert gaps == pytest.approx([1.5] * 7)
    assert {s.of.served for s in edges} == {"1", "2"}, "lines of four sectors"
    assert not any(s.of.iteration for s in scene.shapes), "by which more than one would light up"
    assert len({s.of.lanes for s in edges}) == 8


def test_a_line_goes_from_each_lane_to_its_bytes():
    scene = sectors("i", threads=8)
    links = {s.of.lanes: s for s in scene.shapes if isinstance(s, Path) and s.role == "joined"}
    assert set(links) == {(k,) for k in range(8)}
    (box,) = (s for s in scene.shapes if isinstance(s, Rect) and s.role == "unused")
    for (lane,), link in links.items():
        ((_, end),) = link.lines
        assert end[0] == pytest.approx(box.x + (lane + 0.5) * box.width / 8)


# --- the pictures of a program --------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiled() -> PrimFunc:
    return blocking_with_shared(wb.Schedule(matmul(64)), 2, 2, 4, 4, 8).func


def test_it_opens_at_the_worst_request_of_all(tiled: PrimFunc):
    picture = draw.picture_of(tiled, "banks")
    found, _ = requests_of(lower(tiled, get("cuda")).kernels, "shared")
    worst = max(found, key=lambda one: one.excess)
    assert picture.caption.startswith(f"Each of {worst.count:,} {worst.kind}s of {worst.buffer}: ")
    assert all(len(draw.picture_of(tiled, name).caption) <= 80 for name in draw.SCOPES)
    assert worst.text in picture.full


def test_caption_of_one_that_is_not_the_worst_says_so():
    func = program("i + i // 32 * i * 31", threads=64)
    assert draw.picture_of(func, "banks", buffer="S").caption == (
        "The worst of 2 writes of S: 32 wavefronts, 1 would do."
    )
    other = draw.picture_of(func, "banks", select={"warp": 0})
    assert other.caption == "This write of S: 1 wavefront, the least; the worst: 32."
    assert other.full.splitlines()[1] == "At warp = 0 of 2:"


def test_the_table_says_the_same_lane_by_lane():
    picture = draw.picture_of(program("i * 32", threads=3), "banks")
    assert picture.table.rows[:4] == (
        (0, "0,0,0", 0, "0", "1"),
        (1, "1,0,0", 128, "0", "2"),
        (2, "2,0,0", 256, "0", "3"),
        (3, "", "", "idle", ""),
    )
    far = draw.picture_of(program("i * 4", threads=3, vector=4), "sectors", buffer="A")
    assert [row[2:] for row in far.table.rows[:4]] == [
        (0, "0"), (16, "0"), (32, "1"), ("", "idle"),
    ]  # fmt: skip


def test_without_shared_memory_it_says_what_would_be_there():
    text = SHARED.replace(', scope="shared"', ', scope="local"')
    func = script.parse(text.format(cell="i", threads=4, dtype="int8", vector=1, guard="i >= 0"))
    picture = draw.picture_of(func, "banks")
    assert picture.caption.startswith("No warp reads or writes shared memory; cache_read")
    assert "none" in picture.strips[0].words and picture.table.rows == ()
    assert "?" not in picture.strips[0].words, "no question keeps it back"
    assert draw.plain(picture)["table"] == "", "a table without rows says nothing"


def test_what_data_decide_is_left_out_and_said():
    func = script.parse("""
@T.prim_func
def main(A: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        C[i] = A[A[i] % 32]
""")
    picture = draw.picture_of(func, "sectors")
    assert picture.full.splitlines()[-1] == "Left out: A[A[i] % 32]."
    assert picture.caption.endswith("sectors, the least. Not counted: A[A[i] % 32].")


@pytest.mark.parametrize(
    "select, said",
    [
        ({"access": 7}, "access runs from 0 to 1, not to 7; choose one of these values"),
        ({"k": 1}, "the program has no axis 'k'; it has: blockIdx.x, "),
        ({"thread": 32}, "threadIdx.x runs from 0 to 31, not to 32; choose"),
    ],
)
def test_what_there_is_not_cannot_be_chosen(select: dict[str, int], said: str):
    with pytest.raises(ValueError) as refused:
        draw.picture_of(program("i"), "banks", select=select)
    assert str(refused.value).startswith(said)


def test_without_a_kernel_it_says_why():
    func = script.parse("""
@T.prim_func
def main(A: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    for i in range(32):
        C[i] = A[i]
""")
    with pytest.raises(Fail) as refused:
        draw.picture_of(func, "banks")
    assert str(refused.value) == (
        "Can't draw what kernels cost: no loop of `C` is bound to blocks or threads, so no GPU "
        "thread runs it.\n"
        "found: a GPU runs what is bound to blockIdx and threadIdx\n"
        'do:    bind one: sch.bind("i", "threadIdx.x")'
    )


def test_of_a_program_that_no_build_takes_it_says_why():
    with pytest.raises(Fail) as refused:
        draw.picture_of(transposed(1).func, "occupancy")
    assert str(refused.value) == (
        "Can't draw what kernels cost: `ax0_ax1_fused_2` can't be a vector: storage_align leaves "
        "rows of A_shared 33 cells apart.\n"
        "found: a vector of 4 starts at a multiple of 4 cells, and the second row starts at 33\n"
        "do:    storage_align with an offset that is a multiple of 4, or no vectorize"
    )


def test_runs_of_numbers():
    rng = random.Random(0)
    for _ in range(50):
        numbers = sorted(rng.sample(range(32), rng.randint(1, 32)))
        back = []
        for part in runs_text(numbers).split():
            first, _, last = part.partition("–")
            back += range(int(first), int(last or first) + 1)
        assert back == numbers


def test_a_block_in_which_no_lane_asks_is_told_so():
    """The third block has nothing to do."""
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((96,), "float32"), B: T.Buffer((96,), "float32")):
    for b in T.thread_binding(3, thread="blockIdx.x"):
        for i in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(96, b * 32 + i)
                T.where(b < 2)
                B[v] = A[v]
""")
    there, nobody = (
        draw.picture_of(func, "sectors", select={"access": 0, "blockIdx.x": block})
        for block in (1, 2)
    )
    assert there.caption == "Each of 2 reads of A: 4 sectors, the least."
    assert nobody.caption == "No lane asks here; the worst read of A: 4 sectors."
