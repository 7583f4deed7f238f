"""Pictures that know where their shapes are for other selections: as if drawn anew for each."""

from __future__ import annotations

import random

import pytest

from benchmarks.matmuls import small_branches
from tests.draw.sliding import PROGRAMS, alike, drawn, other, sliders
from workbench import draw, insight, script
from workbench.draw.scene import placed
from workbench.ir import PrimFunc


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_slides_is_where_it_is_drawn_anew(name: str):
    rng = random.Random(name)
    slid = 0
    for select in sliders(PROGRAMS[name](), rng, 20):
        for k, picture in enumerate(drawn(PROGRAMS[name](), select)):
            if picture.slides is None:
                continue
            assert [axis for axis, _ in picture.slides] == list(select)
            there = other(picture, rng)
            anew = drawn(PROGRAMS[name](), there)[k]
            assert anew.slides == picture.slides
            for strip, fresh in zip(picture.strips, anew.strips, strict=True):
                assert alike(placed(strip, there), fresh) == []
            slid += 1
    assert slid > 3 or name == "tail"


def test_beside_the_step_before_too_it_is_where_it_is_drawn_anew():
    """Where a step gave blocks other cells, what is hatched may be there for one, or elsewhere."""
    rng = random.Random(0)
    slid = 0
    for node in small_branches().history:
        for select in sliders(node.func, rng, 4 if node.parent else 0):
            picture = draw.picture_of(node.func, "tiles", select=select, before=node.before)
            there = other(picture, rng)
            if not there:
                continue
            anew = draw.picture_of(node.func, "tiles", select=there, before=node.before)
            for strip, fresh in zip(picture.strips, anew.strips, strict=True):
                assert alike(placed(strip, there), fresh) == []
            slid += 1
    assert slid > 30


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
    """A tail is cut where the buffer ends; which thread has no work depends on the block."""
    whole, near = drawn(PROGRAMS["tail"](), {"blockIdx.x": 1})
    assert whole.slides is None and near.slides is None
    assert draw.plain(near)["slides"] is None
    assert drawn(PROGRAMS["tail"](), {})[0].slides == ()


def test_a_form_is_plain_data():
    picture = drawn(PROGRAMS["blocked"](), {"blockIdx.x": 1, "blockIdx.y": 2})[0]
    told = draw.plain(picture)["slides"]
    assert told["axes"] == [["blockIdx.x", 4], ["blockIdx.y", 4]]
    numbers = [n for slide in told["strips"][0].values() for n in slide.get("forms", ())]
    assert set(numbers) < set(range(len(told["forms"])))
    digits = [k for form in told["forms"] for k in form[3::2]]
    assert set(digits) == set(range(len(told["digits"])))
