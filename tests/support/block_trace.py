"""What is told of the warps of a block, held against a trace of every thread, in order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

from tests.support.warp_trace import BARRIER, thread_traces
from workbench.insight.block_time import BlockTime, block_time
from workbench.insight.lane_terms import ELEMENT
from workbench.insight.track import Span, Track
from workbench.insight.wavefronts import WARP
from workbench.ir import Barrier, IfThenElse, Kernel, walk

Done = tuple[object, tuple[int, ...], int, int]
"""What a thread did: the load or store, or BARRIER; turns and element; the byte address."""


def check_block_time(kernel: Kernel) -> int:
    """Lanes, masks, addresses, barriers and their order are those of each thread.

    How many accesses were compared. Those that data decide are left out.
    """
    time = block_time(kernel)
    rows = [[*in_order(time, warp)] for warp in range(time.warps.rows)]
    check_times(time, rows)
    by_data = {_node(time, n) for n, one in enumerate(time.asked) if one.address is None}
    met = all(isinstance(one, Barrier) is False for one in _chosen(kernel))
    wanted = {(block, n): _told(noted, by_data, met) for block, n, noted in thread_traces(kernel)}
    for block in product(*map(range, kernel.grid)):
        for warp, row in enumerate(rows):
            for lane, did in enumerate(_lanes(time, row, block, warp, by_data, met)):
                assert did == wanted.get((block, warp * WARP + lane), []), (block, warp, lane)
    return sum(map(len, wanted.values()))


def in_order(time: BlockTime, warp: int) -> Iterator[tuple[Span, bool]]:
    """All that a warp does, one after the other, and whether it waits."""
    waits = {n for n, sort in enumerate(time.warps.sorts) if "idle" in sort.roles}
    does = [(span, False) for span in every(time.requests) if span.row == warp]
    stands = [(s, True) for s in every(time.warps) if s.row == warp and s.sort in waits]
    yield from sorted([*does, *stands], key=lambda pair: pair[0].start)


def every(track: Track) -> Iterator[Span]:
    """All spans of a track, one by one."""
    for spans in track.spans:
        for k in range(spans.count):
            yield track.span(spans, k)


def check_times(time: BlockTime, rows: list[list[tuple[Span, bool]]]) -> None:
    """Each warp does one thing at a time, without a gap; all leave a barrier together."""
    for row in rows:
        ends = [0.0, *(span.end for span, _ in row)]
        assert [span.start for span, _ in row] == ends[:-1]
        assert ends[-1] <= time.warps.length
    left = [[span.end for span, waits in row if waits] for row in rows]
    assert all(one == left[0] for one in left)
    for before, after in pairwise(left[0]):
        arrived = [next(s for s, w in row if w and s.end == after).start for row in rows]
        assert before <= max(arrived) < after
    assert max((row[-1][0].end for row in rows if row), default=0) == time.warps.length


def _chosen(kernel: Kernel) -> Iterator[Any]:
    """What stands in a branch."""
    for branch in walk(kernel.body):
        if isinstance(branch, IfThenElse):
            yield from walk(branch)


def _node(time: BlockTime, number: int) -> tuple[object, object]:
    access = time.issued[number].access
    return access.store, access.node


def _told(noted: list[Any], by_data: set[Any], met: bool) -> list[Done]:
    """What a thread did of what is told, each once; barriers by number."""
    kept, barriers = dict[Done, None](), 0
    for place, when, address in noted:
        if place is BARRIER:
            barriers += 1
        if met if place is BARRIER else place not in by_data and _is_far(place):
            kept[place, when[0], barriers if place is BARRIER else when[1], address] = None
    return [*kept]


def _is_far(place: Any) -> bool:
    return place[1].buffer.scope != "local"


def _lanes(
    time: BlockTime,
    row: list[tuple[Span, bool]],
    block: tuple[int, ...],
    warp: int,
    by_data: set[Any],
    met: bool,
) -> list[list[Done]]:
    """What each lane of a warp does, as it is told."""
    found: list[dict[Done, None]] = [{} for _ in range(WARP)]
    barriers = 0
    threads = time.kernel.block
    there = threads[0] * threads[1] * threads[2] - warp * WARP
    for span, waits in row:
        if waits:
            barriers += 1
            for lane in range(min(there, WARP) if met else 0):
                found[lane][BARRIER, _turns(span), barriers, 0] = None
            continue
        place, issue = _node(time, span.sort), time.issued[span.sort]
        if issue.computes or place in by_data:
            continue
        x, y, z = block
        lanes = time.asked[span.sort].lanes((x, y, z), threads, warp, span.digits)
        for lane, address in enumerate(lanes):
            if address is not None:
                element = span.digits.get(ELEMENT, 0)
                found[lane][place, _turns(span), element, address] = None
    return [[*one] for one in found]


def _turns(span: Span) -> tuple[int, ...]:
    """The turns of the loops around, outermost first: digits go the other way."""
    return tuple(n for name, n in reversed(span.digits.items()) if name != ELEMENT)
