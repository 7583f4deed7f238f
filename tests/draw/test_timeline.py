"""The picture of a launch in time."""

from __future__ import annotations

from dataclasses import replace

from tests.insight.test_residence import elementwise
from workbench import draw
from workbench.draw.colours import busy_role
from workbench.draw.scene import Path
from workbench.draw.timeline import ACROSS, LEFT, WIDE, track_scene
from workbench.insight import WARP
from workbench.insight.track import Dim, Sort, Spans, Track


def test_what_has_run_runs_and_will_run_lie_where_they_are_in_time():
    shape = (Dim(2, row=1), Dim(3, start=4.0))
    track = Track(
        "multiprocessor", "block", 2, 1, 12.0, "steps", (shape,), (Spans(0, 5, 0, 0, 0.0, 4.0),),
        (Sort(("block-0",), "{running} run"),),
    )  # fmt: skip
    scene = track_scene(track, 6.0)
    ends = {
        shape.role: sorted({round((x - LEFT) / ACROSS * 12, 1) for x, _ in line})
        for shape in scene.shapes
        if isinstance(shape, Path) and shape.role in ("busy-10", "now-10", "stored")
        for line in shape.lines
    }
    assert ends["busy-10"][0] == 0 and ends["now-10"][0] == 4 and ends["now-10"][-1] == 6
    assert ends["stored"][0] == 8 and scene.width == WIDE
    assert scene.words[-1] == "10 steps"
    assert track_scene(replace(track, length=1.0), 0.5).words[-1] == "1 step"


def test_of_thin_rows_it_is_seen_how_many_places_are_in_use():
    assert [busy_role("now", used, 10) for used in (1, 2, 10)] == ["now-1", "now-2", "now-10"]
    picture = draw.picture_of(elementwise(8 * WARP, (None, WARP)).func, "timeline")
    roles = {shape.role for shape in picture.strips[0].shapes}
    assert {"now-1", "now-10"} <= roles  # one of 32 places, and of the first row enlarged, its one
    assert picture.caption == "8 of about 4,224 places · tail none · 0.095% of warps"
    assert picture.full.endswith(" µs: 8 of 8 blocks run, 0 done.")


def test_it_says_that_the_order_of_blocks_is_a_model():
    """Where one asks what the picture rests on, in its words and below it."""
    picture = draw.picture_of(elementwise(8 * WARP, (None, WARP)).func, "timeline")
    assert picture.about == (
        "order, places and times of blocks: here they start strictly in the order of their "
        "numbers, which no GPU promises"
    )
    assert f"Modelled are {picture.about}." in picture.full
