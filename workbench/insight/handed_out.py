"""handed_out: in which place of which multiprocessor each block of a launch runs, and when.

Blocks are handed out in the order of their numbers, each to the place that is free first; of places
that are free at once, a first place of each multiprocessor comes before any second one. A block
keeps its place to its end. This is the model of a launch as a queue: a GPU promises no order.

Where all blocks take equally long, all places get free together, so that block ``b`` is in turn
``b // (M · R)``, in place ``b // M % R`` of multiprocessor ``b % M``: one `Spans`, however many
blocks there are. Else blocks are placed one by one, and those that start together, side by side,
are told as one.

Times are rounded to 2^-20 of their unit, so that sums and multiples of them are exact: a block that
follows another starts just when that ends, however it is worked out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from workbench.insight.track import Dim, Spans

GRAIN = 1 << 20
CLASSES = 64  # of blocks that take equally long
RUNS = 1_000  # of blocks that are told as one, at most 64 bytes each


class Stay(NamedTuple):
    """A block's stay in a place of a multiprocessor, from `start` up to `end`."""

    block: int
    multiprocessor: int
    place: int
    start: float
    end: float


class HandedOut(NamedTuple):
    """The spans of blocks, with the shape that they are of, the first of a track; and the end.

    `alike` says that blocks were too many different ones to be told one by one, so that each takes
    as long as they do on average.
    """

    spans: tuple[Spans, ...]
    shape: tuple[Dim, ...]
    end: float
    alike: bool = False


def handed_out(
    blocks: int,
    multiprocessors: int,
    room: int,
    lengths: Sequence[float],
    classes: Sequence[int] = (),
    *,
    start: float = 0.0,
    sort: int = 0,
    shape: int = 0,
) -> HandedOut:
    """The blocks of a launch on `multiprocessors` with `room` for so many each, from `start` on.

    A block takes as long as its class says: `lengths` has at most `CLASSES`, `classes` that of each
    block, all 0 where it is empty. Spans are of a `sort` and of a `shape` of their track.
    """
    assert room and multiprocessors and len(lengths) <= CLASSES
    lengths, start = [exact(length) for length in lengths], exact(start)
    used = {lengths[number] for number in set(classes)} or {lengths[0]}
    if len(used) == 1:
        return _in_turns(blocks, multiprocessors, room, used.pop(), start, sort, shape)
    side = (Dim(multiprocessors, row=1),)
    spans = list[Spans]()
    end = start
    for run in _runs(stays(classes, lengths, multiprocessors, room, start)):
        if len(spans) == RUNS:
            mean = exact(sum(lengths[number] for number in classes) / blocks)
            made = _in_turns(blocks, multiprocessors, room, mean, start, sort, shape)
            return made._replace(alike=True)
        first, last = run
        count, length = last.block - first.block + 1, first.end - first.start
        row, place = first.multiprocessor, first.place
        spans.append(Spans(first.block, count, row, place, first.start, length, sort, shape))
        end = max(end, first.end)
    return HandedOut(tuple(spans), side, end)


def exact(time: float) -> float:
    """A time rounded so that sums of such are exact."""
    return round(time * GRAIN) / GRAIN


def stays(
    classes: Sequence[int],
    lengths: Sequence[float],
    multiprocessors: int,
    room: int,
    start: float = 0.0,
) -> Iterator[Stay]:
    """When and where each block runs, in the order of their numbers."""
    places = [(start, place, sm) for place in range(room) for sm in range(multiprocessors)]
    heapify(places)
    for block, number in enumerate(classes):
        begins, place, sm = heappop(places)
        ends = begins + lengths[number]
        yield Stay(block, sm, place, begins, ends)
        heappush(places, (ends, place, sm))


def _in_turns(
    blocks: int, multiprocessors: int, room: int, length: float, start: float, sort: int, shape: int
) -> HandedOut:
    turns = -(-blocks // (multiprocessors * room))
    dims = (Dim(multiprocessors, row=1), Dim(room, place=1), Dim(turns, start=length))
    spans = Spans(0, blocks, 0, 0, start, length, sort, shape)
    return HandedOut((spans,), dims, start + turns * length)


def _runs(stays: Iterator[Stay]) -> Iterator[tuple[Stay, Stay]]:
    """The first and last of stays that start and end together, on one multiprocessor after the
    other, in the same place of each."""
    first = last = next(stays, None)
    for stay in stays:
        assert first is not None and last is not None
        if stay == last._replace(block=stay.block, multiprocessor=last.multiprocessor + 1):
            last = stay
            continue
        yield first, last
        first = last = stay
    if first is not None and last is not None:
        yield first, last
