"""Pictures that know where their shapes are for other selections: as if drawn anew for each."""

from __future__ import annotations

import random

import pytest

from tests.draw.sliding import PROGRAMS, alike, drawn, other, sliders
from workbench import draw
from workbench.draw.scene import placed


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
    forms = [form for slide in told["strips"][0].values() for form in slide.get("forms", ())]
    assert forms and all(len(form) == 4 for form in forms)
