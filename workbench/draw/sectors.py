"""The scene of sectors: 32 lanes above the bytes fetched for them, what is unused hollow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from workbench.diag import count_text
from workbench.draw.banks import runs_text
from workbench.draw.scene import (
    Rect,
    Scene,
    Shape,
    Stands,
    Words,
    longest,
    path,
    standing,
    width_of,
)
from workbench.insight.requests import Lanes, Requests
from workbench.insight.sectors import SECTOR
from workbench.insight.served import Sector, sectors_of
from workbench.insight.wavefronts import LINE, WARP

WIDE, LEFT = 332.0, 44.0  # px of the scene, which fits a phone; what stands left of lanes and bytes
LANES, TICK = 18.0, 7.0  # px: where the lanes' ticks begin, and their size
RULER, HIGH = 132.0, 26.0  # px: where the bytes are, and how high they are drawn
WIDEST = 40.0  # px of a sector
NEXT, GAP = 1.5, 4.0  # px between two that follow each other in memory, and between others
LEAST = 2.5  # px of bytes that are used
END = RULER + HIGH + 42  # px, with the addresses and the count


def sectors_scene(requests: Requests, lanes: Lanes, chosen: int | None = None) -> Scene:
    """The lanes of a request, a line from each to the bytes that it wants, and their sectors.

    Sectors are 32 bytes; those that follow each other in memory stand close together. The lane
    that is `chosen` stands out.
    """
    sectors = sectors_of(lanes)
    places = _places(sectors)
    shapes = [*_heads(), *_ruler(requests, sectors, places)]
    for lane in sorted(range(WARP), key=lambda lane: lane == chosen):  # it lies above the others
        shapes += _lane(requests, lanes, lane, places, lane == chosen)
    shapes += _count(lanes)
    return Scene(WIDE, END, tuple(shapes), free=True)


def covered_sectors(said: str = "?") -> Scene:
    """The lanes alone, and what is `said` of what they want."""
    box = Rect(LEFT, RULER, WIDE - LEFT - 2, HIGH, "idle")
    ticks = [Rect(_tick(lane), LANES, TICK, TICK, "served") for lane in range(WARP)]
    mark = Words(said, (LEFT + WIDE) / 2, RULER + HIGH / 2 + 4)
    return Scene(WIDE, RULER + HIGH + 2, (*_heads(), *ticks, box, mark), free=True)


def _heads() -> Iterator[Shape]:
    yield Words("lane", 0, LANES - 5, "muted", "start")
    for lane in (*range(0, WARP, 8), WARP - 1):
        yield Words(str(lane), _tick(lane) + TICK / 2, LANES - 5, "muted")
    yield Words("bytes", 0, RULER + HIGH / 2 + 4, "muted", "start")


def _tick(lane: int) -> float:
    return LEFT + lane * (WIDE - LEFT - TICK - 5) / (WARP - 1)


Places = Mapping[int, tuple[float, float]]
"""Where each sector begins, and how many px it is wide."""


def _places(sectors: Sequence[Sector]) -> Places:
    gaps = [NEXT if b.number == a.number + 1 else GAP for a, b in pairwise(sectors)]
    wide = min((WIDE - LEFT - 2 - sum(gaps)) / max(len(sectors), 1), WIDEST)
    places: dict[int, tuple[float, float]] = {}
    x = LEFT
    for sector, gap in zip(sectors, [*gaps, 0.0], strict=False):  # without any, no gap either
        places[sector.number] = (x, wide)
        x += wide + gap
    return places


def _ruler(requests: Requests, sectors: Sequence[Sector], places: Places) -> Iterator[Shape]:
    """Each sector with the bytes that are wanted of it, and where memory goes on, its address."""
    free, lines = 0.0, dict.fromkeys(sector.number * SECTOR // LINE for sector in sectors)
    served = {line: str(number) for number, line in enumerate(lines, 1)}  # one after the other
    for sector in sectors:
        x, wide = places[sector.number]
        used = sum(end - start for start, end in sector.wanted)
        start = sector.number * SECTOR
        title = (
            f"bytes {start:,} to {start + SECTOR - 1:,} of {requests.buffer}: {used} bytes wanted"
        )
        drawn: list[Shape] = [Rect(x, RULER, wide, HIGH, "unused")]
        drawn += [
            Rect(x + a * wide / SECTOR, RULER, max((b - a) * wide / SECTOR, LEAST), HIGH, "used")
            for a, b in sector.wanted
        ]
        line = served[start // LINE]
        of = Stands(requests.buffer, title=title, lanes=sector.lanes, served=line)
        yield from standing(of, drawn)
        label = f"{start:,}"
        if sector.number - 1 not in places and x >= free and x + width_of(label) <= WIDE:
            yield Words(label, x, RULER + HIGH + 13, "muted", "start")
            free = x + width_of(label) + 8


def _lane(
    requests: Requests, lanes: Lanes, lane: int, places: Places, chosen: bool
) -> Iterator[Shape]:
    x, start = _tick(lane), lanes.addresses[lane]
    if start is None:
        title = f"lane {lane} is idle"
        yield Rect(x, LANES, TICK, TICK, "idle", Stands(title=title, lanes=(lane,)))
        return
    end = start + lanes.bytes_per_lane
    left, right = _px(start, places), _px(end - 1, places) + places[(end - 1) // SECTOR][1] / SECTOR
    thread = ",".join(map(str, lanes.threads[lane] or ()))
    title = f"lane {lane}, thread {thread}: bytes {start:,} to {end - 1:,} of {requests.buffer}"
    of = Stands(
        requests.buffer,
        thread=lanes.threads[lane],
        title=title,
        lanes=(lane,),
    )
    line = ((x + TICK / 2, LANES + TICK), ((left + right) / 2, RULER))
    drawn: list[Shape] = [
        Rect(x, LANES, TICK, TICK, "chosen" if chosen else "served"),
        path("chosen-joined" if chosen else "joined", line),
    ]
    if chosen:
        drawn.append(Rect(left, RULER, right - left, HIGH, "chosen"))
    yield from standing(of, drawn)


def _px(byte: int, places: Places) -> float:
    x, wide = places[byte // SECTOR]
    return x + byte % SECTOR * wide / SECTOR


def _count(lanes: Lanes) -> Iterator[Shape]:
    idle = [lane for lane, address in enumerate(lanes.addresses) if address is None]
    y = END - 8
    if idle:
        said = longest((f"idle: {runs_text(idle)}", f"{len(idle)} idle"), 130)
        yield Words(said, LEFT, y, "muted", "start")
    yield Words(
        f"{count_text(lanes.cost, 'sector')}, {lanes.least} needed", WIDE - 2, y, "strong", "end"
    )
