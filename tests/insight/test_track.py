"""Tracks: what runs at a time by digits, held against all spans, one by one."""

from __future__ import annotations

import json
import random

import pytest

from tests.support.cases import seeds
from tests.support.random_tracks import random_track
from workbench.insight.track import Dim, Sort, Spans, Track


@pytest.mark.parametrize("seed", seeds())
def test_what_runs_and_comes_next_is_what_all_spans_say(seed: int):
    track = random_track(seed)
    every = [track.span(one, k) for one in track.spans for k in range(one.count)]
    marks = [track.span(one, k).start for one in track.marks for k in range(one.count)]
    events = sorted({t for span in every for t in (span.start, span.end)})
    rng = random.Random(seed)
    for t in [*rng.sample(events, min(len(events), 5)), rng.uniform(0, track.length)]:
        assert list(track.running(t)) == [span for span in every if span.start <= t < span.end]
        for spans in track.spans:
            own = [track.span(spans, k) for k in range(spans.count)]
            assert track.started(spans, t) == sum(span.start <= t for span in own)
            assert track.ended(spans, t) == sum(span.end <= t for span in own)
        assert track.later(t) == min((e for e in events if e > t), default=track.length)
        assert track.earlier(t) == max((e for e in events if e < t), default=0.0)
        assert track.next_mark(t) == min((m for m in marks if m > t), default=track.length)
        assert track.last_mark(t) == max((m for m in marks if m < t), default=0.0)


def test_words_say_what_runs_and_in_which_turn():
    loop = (Dim(4, row=1), Dim(128, start=2.0, name="k_0"))
    steps = (Spans(0, 512, 0, 0, 1.0, 1.5), Spans(0, 512, 0, 0, 2.5, 0.5, sort=1))
    sorts = (Sort(("used",), "{running} warps sum, k_0 = {k_0}"), Sort(("idle",), "{running} wait"))
    track = Track("warp", "turn", 4, 1, 258.0, "clocks", (loop,), steps, sorts)
    assert track.told(0.5) == "modelled 0.5 clocks: nothing runs"
    assert track.told(81.25) == "modelled 81.3 clocks: 4 warps sum, k_0 = 40"
    assert track.told(82.75) == "modelled 82.8 clocks: 4 wait"
    assert track.told(258.0) == "modelled 258 clocks: all is done"


def test_a_track_is_as_small_for_a_million_turns_as_for_four():
    def turned(turns: int) -> Track:
        loop = (Dim(132, row=1), Dim(turns, start=0.25))
        return Track(
            "row", "block", 132, 1, turns / 4, "µs", (loop,),
            (Spans(0, 132 * turns, 0, 0, 0.0, 0.25),), (Sort(("used",), "{running} of {all} run"),),
        )  # fmt: skip

    few, many = turned(4), turned(1 << 30)
    assert many.told(2.0**27) == "modelled 134,217,728 µs: 132 of 141,733,920,768 run"
    numbers = 3 * len(str(132 << 30))
    assert len(json.dumps(many.plain())) < len(json.dumps(few.plain())) + numbers
