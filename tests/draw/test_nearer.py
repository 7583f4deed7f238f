"""A block and a warp in time, without a script: what is drawn is what runs in the window shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.gpu_programs import add_in_blocks, blocked_matmul, parsed
from workbench import draw, insight
from workbench.draw import Rect, Words
from workbench.draw.rows import rows_scene
from workbench.lower import lower
from workbench.target import get


def picture(select: dict[str, Any]) -> draw.Picture:
    return draw.picture_of(blocked_matmul(), "timeline", select=select)


def test_what_is_drawn_is_what_runs_in_the_window():
    func = blocked_matmul()
    (kernel,) = lower(func, get("cuda")).kernels
    track = insight.block_time(kernel, func).warps
    for t in (0.0, 2000.0, track.length):
        start = min(t // track.window * track.window, track.length - track.window)
        every = [track.span(spans, k) for spans in track.spans for k in range(spans.count)]
        there = [s for s in every if s.end > start and s.start <= start + track.window]
        scene = rows_scene(track, t)
        boxes = [shape for shape in scene.shapes if isinstance(shape, Rect) and shape.of.title]
        assert not any(box.of.title.startswith(",") for box in boxes)
        said = [re.sub(r",(?=\d{3})", "", box.of.title).split(", from ")[1] for box in boxes]
        assert said == [f"{s.start:.0f} to {s.end:.0f}" for s in there]
        now = [box.of.statement for box in boxes if box.role == "heat-6"]
        assert now == [track.sorts[s.sort].statement for s in track.running(t) if s.sort < 5]
        assert all(box.x > 0 and box.x + box.width <= scene.width for box in boxes)


def test_a_block_says_what_takes_its_time():
    made = picture({"block": 5})
    left_out = "Waiting for memory is left out."
    assert made.caption == f"16 barriers; 77% of the clocks in C_update. {left_out}"
    assert made.about == "lengths; order and barriers: the kernel's own"
    assert [row[0] for row in made.table.rows] == [
        "C_init", "A_shared", "B_shared", "C_update", "C_local"
    ]  # fmt: skip
    assert sum(float(row[2].rstrip("%")) for row in made.table.rows) < 100  # the rest is waited for
    assert made.full.startswith("Block 5: 16 barriers")
    alone = draw.picture_of(add_in_blocks(), "timeline", select={"block": 0})
    assert alone.caption == f"No barrier; 100% of the clocks in C. {left_out}"


def test_a_warp_shows_the_request_at_a_clock():
    first, then = picture({"block": 5, "warp": 0}), picture({"block": 5, "warp": 0, "clock": 40})
    assert first.caption == "Each of 4,096 reads of A_shared: 4 wavefronts, 1 would do."
    assert then.caption == "Each of 256 reads of A: 8 sectors, the least."
    rows, lanes = then.strips
    names = [s.label for s in rows.shapes if isinstance(s, Words) and s.anchor == "end"]
    assert names == ["A", "A_shared", "B", "B_shared", "C", "computes", "waits"]
    lines = {s.of.served for s in lanes.shapes if s.of.served}
    assert lines == {str(k) for k in range(1, 9)}  # eight rows of A, each a line
    assert then.about == "clocks; lanes and addresses: the kernel's own"
    (thin,) = first.low  # the same wavefronts where there is no room
    marks = [{s.of for s in scene.shapes if s.of.served} for scene in (first.strips[1], *thin)]
    assert marks[0] == marks[1] and not then.low


IDLE_WARP = """
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in T.thread_binding(40, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(32, i)
            T.where(i < 32)
            B[v] = A[v] + T.float32(1)
"""


def test_a_warp_that_does_nothing_has_a_row_that_says_so():
    """Of 40 threads the last 8, the whole of warp 1, are beyond the 32 cells."""
    made = draw.picture_of(parsed(IDLE_WARP), "timeline", select={"block": 0, "warp": 1})
    assert made.caption == "It asks memory for nothing, or data decide for what."
    assert made.track is not None and made.track.names == ("nothing",)
    rows, _ = made.strips
    assert not [s for s in rows.shapes if s.of.title]
    assert [s.label for s in rows.shapes if isinstance(s, Words) and s.anchor == "end"] == [
        "nothing"
    ]
    busy = draw.picture_of(parsed(IDLE_WARP), "timeline", select={"block": 0, "warp": 0})
    assert busy.track is not None and busy.track.names == ("A", "B", "computes")


@pytest.mark.parametrize(
    "select, said",
    [
        ({"block": 16}, "block runs from 0 to 15, not to 16; choose one of these values"),
        ({"kernel": 1}, "kernel runs from 0 to 0, not to 1; choose one of these values"),
        ({"k_0": 1}, "a timeline has no axis 'k_0'; it has: kernel, block, warp, clock"),
        ({"block": (1, 2)}, "block takes a whole number, not (1, 2); 0 is the first"),
        ({"warp": 1}, "warp runs from 0 to 0, not to 1; choose one of these values"),
    ],
)
def test_what_there_is_not_is_refused(select: dict[str, Any], said: str):
    with pytest.raises(ValueError) as refused:
        picture(select)
    assert str(refused.value) == said
