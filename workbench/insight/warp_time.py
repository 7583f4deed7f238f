"""warp_time: one warp of a block, clock by clock: a row a buffer, a span a wavefront."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod

from workbench.insight.block_time import BlockTime
from workbench.insight.lane_terms import Asked
from workbench.insight.requests import Requests, requests_of, worst_of
from workbench.insight.served import wavefronts_of
from workbench.insight.track import Dim, Moment, Sort, Span, Spans, Track
from workbench.insight.warp_steps import Issue

SEEN = 32.0  # clocks that are seen at once, at least
CLOCKS_A_SECOND = 3  # while it plays: what changes faster is not seen, but flashes
PART = "wavefront"  # the digit of a wavefront, or of a line of 128 bytes
COMPUTES, WAITS, NOTHING = "computes", "waits", "nothing"
BEYOND = ("beyond",)


@dataclass(frozen=True, slots=True)
class WarpTime:
    """What one warp does: which of `issued` each sort is, and what it asks for by it.

    In the rows of `track`, each by its name, are the buffers in memory, then what is computed, and
    where the warp waits; of a warp that does nothing a row says so. A request is as many spans as
    it takes wavefronts, or lines. Both are None for a sort that asks for nothing, and `asked` where
    data decide.
    """

    track: Track
    issued: tuple[Issue | None, ...]
    asked: tuple[Asked | None, ...]
    requests: Mapping[Issue, Requests]

    def request_at(self, t: Moment) -> tuple[Issue, Span] | None:
        """The request that is made at `t`, else the one before, else the first; None: none is.

        Its first span, with the turns of the loops around.
        """
        made = [
            (self.track.span(spans, max(self.track.started(spans, t) - 1, 0)), spans)
            for spans in self.track.spans
            if self.issued[spans.sort] is not None
        ]
        before = [(span.start, k) for k, (span, _) in enumerate(made) if span.start <= t]
        if not made:
            return None
        k = max(before)[1] if before else min((s.start, k) for k, (s, _) in enumerate(made))[1]
        span = made[k][0]
        issue = self.issued[span.sort]
        assert issue is not None
        part = span.digits.get(PART, 1) - 1
        return issue, span._replace(start=span.start - part * (span.end - span.start))

    def worst(self) -> Moment:
        """When that access is made first whose requests take most beyond need together."""
        starts: dict[Issue, float] = {}
        for spans in self.track.spans:
            issue = self.issued[spans.sort]
            if issue is not None:
                starts[issue] = min(starts.get(issue, spans.start), spans.start)
        known = [issue for issue in starts if issue in self.requests]
        if not known:
            return min(starts.values(), default=0.0)
        return starts[known[worst_of([self.requests[issue] for issue in known])]]


def warp_time(time: BlockTime, warp: int) -> WarpTime:
    """Warp number `warp` of a block. Raises ValueError where there is no such warp."""
    if warp not in range(time.warps.rows):
        last = time.warps.rows - 1
        raise ValueError(f"warp runs from 0 to {last}, not to {warp}; choose one of these values")
    told = {
        one.access: one for s in ("shared", "global") for one in requests_of([time.kernel], s)[0]
    }
    requests = {
        issue: told[issue.access]
        for issue in time.issued
        if not issue.computes and issue.access in told
    }
    return _Rows(time, warp, requests).made()


class _Rows:
    """Puts the spans of a warp into the rows of its buffers."""

    def __init__(self, time: BlockTime, warp: int, requests: Mapping[Issue, Requests]) -> None:
        self.time, self.warp, self.requests = time, warp, requests
        self.shapes: dict[tuple[Dim, ...], int] = {}
        self.sorts: list[Sort] = []
        self.issued: list[Issue | None] = []
        self.asked: list[Asked | None] = []
        self.names: dict[str, int] = {}
        self.known: dict[int, tuple[int, int]] = {}  # the sorts here of each sort there

    def made(self) -> WarpTime:
        """The warp with all that it does."""
        spans, track = [*self.single()], self.time.requests
        waits = [*self.waits()]
        if not self.names:
            self.row(NOTHING)
        marks = tuple(self.in_row(self.time.warps, one, 0) for one in self.time.warps.marks)
        longest = max((one.length for one in self.time.requests.spans), default=1.0)
        window = min(max(SEEN, 2 * longest), track.length)
        made = replace(
            track,
            row="buffer",
            thing="request",
            rows=len(self.names),
            names=tuple(self.names),
            shapes=tuple(self.shapes),
            spans=(*spans, *waits),
            sorts=tuple(self.sorts),
            marks=marks,
            window=window,
            seconds=window / CLOCKS_A_SECOND,
            nearer="",
        )
        found = WarpTime(made, tuple(self.issued), tuple(self.asked), self.requests)
        return replace(found, track=replace(made, opens=found.worst()))

    def single(self) -> Iterator[Spans]:
        """Its requests, wavefront by wavefront, and its operations."""
        track = self.time.requests
        mine = [
            (one, self.time.issued[one.sort]) for one in track.spans if self.is_mine(track, one)
        ]
        for issue in (issue for _, issue in mine if not issue.computes):
            self.row(issue.access.buffer.name)
        for one, issue in mine:
            if not issue.computes:
                yield from self.request(one, issue)
                continue
            if one.sort not in self.known:
                number = self.sort(track.sorts[one.sort])
                self.known[one.sort] = number, number
            sort, _ = self.known[one.sort]
            yield replace(self.in_row(track, one, self.row(COMPUTES)), sort=sort)

    def request(self, one: Spans, issue: Issue) -> Iterator[Spans]:
        """A request in wavefronts, or lines, as they come: those it needs, and those beyond."""
        parts, first = int(one.length), 0
        needed = self.needed(issue, parts)
        if one.sort not in self.known:
            self.known[one.sort] = self.sorts_of(one.sort, parts, all(needed))
        row = self.row(issue.access.buffer.name)
        for is_needed, same in groupby(needed):
            count = len([*same])
            dims = [Dim(count, start=1.0, name=PART, least=first + 1)] if parts > 1 else []
            alone = self.in_row(self.time.requests, one, row, dims)
            sort = self.known[one.sort][0 if is_needed else 1]
            yield replace(alone, start=one.start + first, length=1.0, sort=sort)
            first += count

    def needed(self, issue: Issue, parts: int) -> list[bool]:
        """Whether each wavefront of a request is needed, by the worst of its access.

        Of a line that holds too little, its picture says so.
        """
        known = self.requests.get(issue)
        if known is None or issue.access.buffer.scope != "shared":
            return [True] * parts
        found = [row.needed for row in wavefronts_of(known.lanes(known.worst))]
        return (found + [False] * parts)[:parts]

    def sorts_of(self, number: int, parts: int, alike: bool) -> tuple[int, int]:
        """The sorts of what a request needs, and of what it takes beyond that."""
        issue, sort = self.time.issued[number], self.time.requests.sorts[number]
        part = "wavefront" if issue.access.buffer.scope == "shared" else "line"
        if parts > 1:
            head, *turns = sort.says.split(",", 1)
            says = ",".join([f"{head}, {part} {{{PART}}} of {parts}", *turns])
            sort = sort._replace(says=says)
        asked = self.time.asked[number]
        told = asked if asked.address is not None else None
        first = self.sort(sort, issue, told)
        return first, first if alike else self.sort(sort._replace(roles=BEYOND), issue, told)

    def sort(self, sort: Sort, issue: Issue | None = None, asked: Asked | None = None) -> int:
        """The number of a sort that is entered."""
        self.sorts.append(sort._replace(label="", now="chosen"))
        self.issued.append(issue)
        self.asked.append(asked)
        return len(self.sorts) - 1

    def waits(self) -> Iterator[Spans]:
        """Where it waits for the other warps."""
        track = self.time.warps
        last = len(track.sorts) - 1
        mine = [one for one in track.spans if one.sort == last and self.is_mine(track, one)]
        if mine:
            says = "waits at barrier {mark} of {marks}"
            row, sort = self.row(WAITS), self.sort(track.sorts[last]._replace(says=says))
            yield from (replace(self.in_row(track, one, row), sort=sort) for one in mine)

    def row(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def is_mine(self, track: Track, spans: Spans) -> bool:
        rows = prod(dim.extent for dim in track.shapes[spans.shape] if dim.row)
        return spans.row <= self.warp < spans.row + rows

    def in_row(
        self, track: Track, spans: Spans, row: int, inside: list[Dim] | None = None
    ) -> Spans:
        """The spans of this warp alone, in a row; `inside` are more digits, faster than others."""
        dims = (*(inside or ()), *(dim for dim in track.shapes[spans.shape] if not dim.row))
        shape = self.shapes.setdefault(dims, len(self.shapes))
        return replace(spans, count=prod(d.extent for d in dims), row=row, shape=shape)
