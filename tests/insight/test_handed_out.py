"""Blocks in their places, held against an independent list scheduler."""

from __future__ import annotations

import json

import pytest

from tests.support.cases import seeds
from tests.support.list_scheduler import Grid, places, random_grid
from workbench.insight.handed_out import RUNS, HandedOut, exact, handed_out
from workbench.insight.track import Sort, Track


def made(grid: Grid) -> HandedOut:
    return handed_out(
        len(grid.classes), grid.multiprocessors, grid.room, grid.lengths, grid.classes,
        start=grid.start,
    )  # fmt: skip


def track_of(grid: Grid, found: HandedOut) -> Track:
    return Track(
        "multiprocessor", "block", grid.multiprocessors, grid.room, found.end, "µs",
        (found.shape,), found.spans, (Sort(("used",), "{running} of {all} blocks run"),),
    )  # fmt: skip


def differences(grid: Grid) -> list[int]:
    """The blocks that are elsewhere, or at other times, than the list scheduler has them."""
    track = track_of(grid, made(grid))
    spans = (track.span(one, k) for one in track.spans for k in range(one.count))
    every = {span.number: span[1:5] for span in spans}
    return [block for block, found in enumerate(places(grid)) if every.pop(block) != found]


@pytest.mark.parametrize("seed", seeds())
def test_blocks_are_where_a_list_scheduler_puts_them(seed: int):
    assert not differences(random_grid(seed))


def test_blocks_too_different_to_be_told_one_by_one_take_what_they_do_on_average():
    lengths = tuple(1 + 0.37 * k for k in range(64))
    classes = tuple(k * k % 64 for k in range(6000))
    found = made(Grid(132, 8, lengths, classes))
    assert found.alike and len(found.spans) == 1
    assert found.end == 6 * exact(sum(exact(lengths[k]) for k in classes) / 6000)


def test_what_is_told_one_by_one_has_at_most_64_kilobytes():
    grid = Grid(132, 8, (1 / 3, 200 / 3), tuple(k % 2 for k in range(RUNS)), 1 / 7)
    found = made(grid)
    assert len(found.spans) == RUNS and not found.alike
    assert len(json.dumps(track_of(grid, found).plain())) < 1 << 16
