"""Random tracks: spans by digits, waves of blocks and loop nests, with marks."""

from __future__ import annotations

import random

from workbench.insight.track import Dim, Sort, Spans, Track


def random_track(seed: int) -> Track:
    """A few loop nests for all rows, one after the other; times are no round numbers."""
    rng = random.Random(seed)
    rows, places, length = rng.randint(1, 5), rng.randint(1, 3), 0.0
    shapes: list[tuple[Dim, ...]] = []
    spans: list[Spans] = []
    marks: list[Spans] = []
    for sort in range(rng.randint(1, 3)):
        dims, stride = [Dim(rows, row=1), Dim(places, place=1)], rng.uniform(0.1, 2)
        taken = stride * rng.choice((0.5, 1.0))
        for k in range(rng.randint(1, 3)):
            turns = rng.randint(1, 4)
            dims.append(Dim(turns, start=stride, name=f"k_{k}"))
            stride *= turns * rng.choice((1.0, 1.25))
        every = rows * places
        for dim in dims[2:]:
            every *= dim.extent
        count = rng.randint(1, every)
        spans.append(Spans(100 * sort, count, 0, 0, length, taken, sort, len(shapes)))
        marks.append(Spans(sort, dims[2].extent, 0, 0, length, 0.0, 0, len(shapes) + 1))
        shapes += [tuple(dims), (dims[2],)]
        length += stride
    sorts = tuple(
        Sort(("used",), f"{{running}} of {{all}} in turn {{k_0}} of sort {k}, {{waiting}} wait")
        for k in range(len(spans))
    )
    return Track(
        "warp", "turn", rows, places, length, "µs", tuple(shapes), tuple(spans), sorts, "barrier",
        tuple(marks),
    )  # fmt: skip
