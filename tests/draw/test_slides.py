"""Pictures that know where their shapes are for other selections: as if drawn anew for each."""

from __future__ import annotations

import random

import pytest

from benchmarks.matmuls import small_branches
from tests.draw.sliding import PROGRAMS, TURNED, alike, drawn, other, sliders
from tests.support.gpu_programs import parsed
from workbench import draw, insight, script
from workbench.draw.scene import placed, worded
from workbench.ir import PrimFunc


@pytest.mark.fuzz
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_slides_is_where_it_is_drawn_anew(name: str):
    rng = random.Random(name)
    slid = 0
    for select in sliders(PROGRAMS[name](), rng, 20):
        for k, picture in enumerate(drawn(PROGRAMS[name](), select)):
            if picture.slides is None:
                continue
            assert [axis for axis, *_ in picture.slides] == list(select)
            there = other(picture, rng)
            anew = drawn(PROGRAMS[name](), there)[k]
            assert anew.slides == picture.slides
            for strip, fresh in zip(picture.strips, anew.strips, strict=True):
                assert alike(placed(strip, there), fresh) == []
            slid += 1
    assert slid > 3


@pytest.mark.fuzz
def test_beside_the_step_before_too_it_is_where_it_is_drawn_anew():
    """Where a step gave blocks other cells, what is hatched may be there for one, or elsewhere."""
    rng = random.Random(0)
    slid = 0
    for node in small_branches().history:
        for select in sliders(node.func, rng, 2 if node.parent else 0):
            picture = draw.picture_of(node.func, "tiles", select=select, before=node.before)
            there = other(picture, rng)
            if not there:
                continue
            anew = draw.picture_of(node.func, "tiles", select=there, before=node.before)
            for strip, fresh in zip(picture.strips, anew.strips, strict=True):
                assert strip.still == fresh.still
                assert strip.still or alike(placed(strip, there), fresh) == []
            slid += 1
    assert slid > 60


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_known_of_another_selection_is_as_if_looked_at_anew(name: str):
    rng = random.Random(name)
    func = PROGRAMS[name]()
    for select in sliders(func, rng, 10):
        found = insight.tiles(func, select)
        fresh = script.parse(func.script())
        assert isinstance(fresh, PrimFunc)
        assert found == insight.tiles(fresh, select)


def test_the_views_of_a_lesson_slide():
    """What lesson 4 drags: a block, a thread, a step."""
    chosen = {"blockIdx.x": 1, "blockIdx.y": 2, "threadIdx.x": 21, "k_0": 4}
    views = drawn(PROGRAMS["blocked"](), chosen)
    assert [view.slides is not None for view in views] == [True, True, False, True]


def test_what_more_than_moves_asks_python():
    """Where an index is no sum, its cells go apart as they please with another block."""
    func = parsed(TURNED.format(index="(vi + vj) * 5 % 16"))
    whole, near = drawn(func, {"blockIdx.x": 1})
    assert whole.slides is None and near.slides is None
    assert draw.plain(near)["slides"] is None
    assert drawn(func, {})[0].slides == ()


def test_what_is_no_sum_slides_by_a_table_over_one_axis():
    picture = drawn(PROGRAMS["turned"](), {"blockIdx.x": 1})[0]
    assert picture.slides == (("blockIdx.x", 0, 16),)
    assert [worded(parts, {"blockIdx.x": 4}) for *_, parts in picture.cells] == [
        "A[4, 0:12]", "B[4, 0:12]",
    ]  # fmt: skip
    tables = [told for _, *told in draw.plain(picture)["slides"]["digits"] if len(told) == 1]
    assert tables == [[[5 * i % 16 for i in range(16)]]]


def test_what_is_cut_slides_as_far_as_it_is_cut_alike():
    """The last block has less to do; which of its threads have none is another picture again."""
    func = PROGRAMS["tail"]()

    def slides(**chosen: int) -> object:
        return drawn(func, {f"{axis}Idx.x": at for axis, at in chosen.items()})[0].slides

    assert slides(block=3) == (("blockIdx.x", 0, 7),)
    assert slides(block=7) == (("blockIdx.x", 7, 8),)
    assert slides(thread=3) == (("threadIdx.x", 0, 104),)
    assert slides(block=3, thread=110) == (("blockIdx.x", 0, 7), ("threadIdx.x", 0, 128))
    assert slides(block=7, thread=3) == (("blockIdx.x", 7, 8), ("threadIdx.x", 0, 104))
    assert slides(block=7, thread=110) == (("blockIdx.x", 7, 8), ("threadIdx.x", 104, 128))


def test_a_buffer_of_three_dimensions_slides():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((4, 8, 16), "float32"), B: T.Buffer((4, 8, 16), "float32")):
    for i, j, k in T.grid(4, 8, 16):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk]
""")
    picture = drawn(func, {"i": 2, "k": 5})[0]
    assert [worded(parts, {"i": 1, "k": 4}) for *_, parts in picture.cells] == [
        "A[1, 0:8, 4]", "B[1, 0:8, 4]",
    ]  # fmt: skip


def test_a_form_is_plain_data():
    picture = drawn(PROGRAMS["blocked"](), {"blockIdx.x": 1, "blockIdx.y": 2})[0]
    told = draw.plain(picture)["slides"]
    assert told["axes"] == [["blockIdx.x", 0, 4], ["blockIdx.y", 0, 4]]
    numbers = [n for slide in told["strips"][0].values() for n in slide.get("forms", ())]
    assert set(numbers) < set(range(len(told["forms"])))
    digits = [k for form in told["forms"] for k in form[3::2]]
    assert set(digits) == set(range(len(told["digits"])))
