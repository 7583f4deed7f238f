"""The picture of a pipeline: where its cells stand, what they say, and that they fit a phone."""

from __future__ import annotations

import random
from itertools import combinations, pairwise

import pytest

import workbench as wb
from tests.draw.test_pictures import PHONE
from tests.lower.test_pipelines import INNER, noted, of_one_thread, prefetching, reversed_rows
from tests.support.cases import seeds
from tests.support.gpu_programs import VECTOR_ADD, parsed
from tests.support.random_pipelines import random_pipeline
from workbench import draw
from workbench.diag import Fail
from workbench.draw.scene import Rect, Scene, Words, width_of
from workbench.ir import PrimFunc
from workbench.lesson.half_products import half_product, half_tiles, under_way


def cells(scene: Scene) -> dict[tuple[str, str], Rect]:
    """The cells of a strip, by statement and iteration."""
    found = {}
    for shape in scene.shapes:
        if isinstance(shape, Rect) and shape.of.statement and shape.of.iteration:
            found[shape.of.statement, shape.of.iteration] = shape
    return found


def strip(func: PrimFunc, before: PrimFunc | None = None) -> Scene:
    (found,) = draw.picture_of(func, "pipeline", before=before).strips
    return found


def prefetched() -> wb.Schedule:
    sch = prefetching(32)
    sch.pipeline("k_0", stages=[0, 1, 0, 1, 2], order=[0, 3, 1, 4, 2])
    return sch


def test_an_iteration_goes_through_the_turns_from_left_to_right():
    drawn = cells(strip(prefetched().func))
    names = ("A_local", "A_shared", "C_update")
    row = [drawn[name, "k_0 = 1"] for name in names]
    assert all(a.x < b.x for a, b in pairwise(row))
    assert drawn["A_local", "k_0 = 2"].x == drawn["A_shared", "k_0 = 1"].x, "in one turn"
    assert [drawn[name, "k_0 = 1"].role for name in names] == ["block-1", "block-1", "thread"]


def test_it_says_which_copy_and_where_threads_wait():
    scene = strip(reversed_rows(noted([0, 2])))
    words = [words for words in scene.words if words[0] in "→←"]
    assert words == ["→0", "→1", "→2", "←0", "→0", "←1", "→2", "←0", "←1", "←2"]
    waits = [s.of.title for s in scene.shapes if "wait" in s.of.title]
    assert waits == [
        *(f"turn {turn}: all threads of a block wait ahead of S" for turn in (2, 3, 11)),
        "turn 12: all threads of a block wait ahead of B",
    ]
    assert [w for w in scene.words if w in ("prologue", "body", "epilogue", "…")] == [
        "prologue", "body", "epilogue", "…",
    ]  # fmt: skip


def test_what_is_on_its_way_has_a_bar_from_its_fetch_to_its_use():
    scene = strip(prefetched().func)
    drawn = cells(scene)
    title = "k_0 = 1: on the way from turn 1 to turn 2; A_local, B_local for B_shared"
    first, second = (s for s in scene.shapes if isinstance(s, Rect) and s.of.title == title)
    fetch, use = drawn["A_local", "k_0 = 1"], drawn["B_shared", "k_0 = 1"]
    assert fetch.y < first.y < fetch.y + fetch.height and first.x < second.x
    assert use.y < second.y + second.height < use.y + use.height


def test_the_step_before_is_dashed_and_in_brackets():
    sch = prefetching(32)
    before = sch.func
    sch.pipeline("k_0", stages=[0, 0, 0, 0, 1], order=[0, 3, 1, 4, 2])
    scene = strip(sch.func, before)
    ghosts = [shape for shape in scene.shapes if shape.role == "ghost"]
    assert [ghost.of.title for ghost in ghosts] == ["C_update of 0, the step before"]
    assert [w for w in scene.words if w[0] == "("] == ["(0)", "(1)", "(2)", "(7)"]
    assert not [s for s in strip(sch.func, sch.func).shapes if s.role == "ghost"]


def test_of_pipelines_in_each_other_the_outer_one_comes_first():
    func = of_one_thread(INNER, OUTER=noted([0, 1, 1, 1]), INNER=noted([0, 1]))
    strips = draw.picture_of(func, "pipeline").strips
    assert [scene.words[0] for scene in strips] == ["turn of k", "turn of j"]


@pytest.mark.parametrize("seed", seeds(3))
def test_it_fits_a_phone_and_no_words_leave_their_cell(seed: int):
    func = random_pipeline(random.Random(seed))
    try:
        strips = draw.picture_of(func, "pipeline", before=func).strips
    except Fail:
        return
    for scene in strips:
        assert scene.width < PHONE
        boxes = [*cells(scene).values()]
        assert not any(over(a, b) for a, b in combinations(boxes, 2))
        for words in (s for s in scene.shapes if isinstance(s, Words)):
            assert words.x + width_of(words.label, words.role) / 2 < PHONE or words.anchor == "end"
        written = [s for s in scene.shapes if isinstance(s, Words) and s.of.iteration]
        assert all(width_of(s.label, s.role) <= boxes[0].width + 2 for s in written)


def over(a: Rect, b: Rect) -> bool:
    apart = a.x + a.width <= b.x or b.x + b.width <= a.x
    return not (apart or a.y + a.height <= b.y or b.y + b.height <= a.y)


def test_without_one_there_are_pale_turns_of_what_could_be_one():
    with_copies = strip(prefetched().func)
    picture = draw.picture_of(prefetching(32).func, "pipeline")
    assert picture.caption.startswith("No loop of the program")
    (pale,) = picture.strips
    (row,) = picture.table.rows
    assert pale.words == str(row[1]).split("; ") == list(dict.fromkeys(pale.words))
    boxes = [s for s in pale.shapes if isinstance(s, Rect)]
    assert {box.role for box in boxes} == {"corridor"}, "ink 8 %"
    (copied,) = {box.height for box in cells(with_copies).values()}
    assert {box.height for box in boxes} == {copied}, "as high as rows of copies will be"
    rows = [[box for box in boxes if box.y == y] for y in sorted({box.y for box in boxes})]
    assert len(rows) == len(pale.words) and {len(row) for row in rows} == {8}
    inside = pale.width - max(box.x + box.width for box in boxes)
    assert inside >= 0 and not any(over(a, b) for a, b in pairwise(boxes))


def test_where_no_loop_could_be_one_there_are_words_alone():
    picture = draw.picture_of(parsed(VECTOR_ADD), "pipeline")
    assert picture.strips == () and "First fetch into a loop" in picture.caption


def test_while_a_question_is_open_it_names_statements_alone():
    ((covered,),) = draw.covered_of(prefetched().func, "pipeline", draw.Source())
    names = ["A_local", "A_shared", "B_local", "B_shared", "C_update"]
    assert covered.words == [word for name in names for word in (name, "?")]


def test_a_dashed_line_is_a_wait_for_copies_and_ends_their_bar():
    scene = strip(reversed_rows(noted([0, 1], None, software_pipeline_async_stages=[0])))
    waits = [shape.of.title for shape in scene.shapes if shape.role == "asked"]
    assert waits[0] == (
        "turn 1: each thread waits for its copies, but the last 0 groups, ahead of S"
    )
    bars = [s for s in scene.shapes if isinstance(s, Rect) and s.role == "time"]
    assert bars[0].of.title.endswith("from turn 0 to the wait in turn 1; S for S")


@pytest.mark.parametrize("stages", [[0, 1], [0, 3]])
def test_copies_on_their_way_are_in_a_figure(stages: list[int]):
    pytest.importorskip("matplotlib")
    sch = wb.Schedule(reversed_rows(noted(stages, None, software_pipeline_async_stages=[0])))
    assert sch.figure("pipeline").axes


def test_names_of_statements_are_whole_and_end_where_the_cells_begin():
    func = half_tiles(half_product(32, 32, 128), "mma", (32, 32), (1, 2), 32)
    picture = draw.picture_of(under_way(func, 3, ahead=True), "pipeline")
    for scene in picture.strips:
        names = [s for s in scene.shapes if isinstance(s, Words) and s.anchor == "end"]
        left = min(s.x for s in scene.shapes if isinstance(s, Rect))
        assert all(s.x < left and width_of(s.label, s.role) <= s.x for s in names if s.x < left)
    shown = {words for scene in picture.strips for words in scene.words}
    assert {"A_shared_warp", "B_shared_warp", "C_update", "turn of k_1"} <= shown
    assert not any("…" in words for words in shown)
