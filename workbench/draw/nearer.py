"""The pictures of a block in time, a row a warp, and of one warp at one of its requests."""

from __future__ import annotations

from math import prod

from workbench.diag import count_text
from workbench.draw.picture import Picture
from workbench.draw.requests import SCOPES, covered_request, requests_picture
from workbench.draw.rows import rows_scene
from workbench.insight import BlockTime, Table, WarpTime
from workbench.insight.block_time import place_of
from workbench.insight.track import Track

LENGTHS = (
    "Lengths are modelled: a clock for each instruction of a warp and each wavefront of its "
    "requests, with nobody else there; what it waits for values is left out."
)
LEFT_OUT = "Waiting for memory is left out."
OWN = "The order of statements, their turns and the barriers are the kernel's own, by its text."
ASKED = "Lanes, addresses and the order of requests are the kernel's own, by its text."


def block_picture(time: BlockTime, block: int) -> Picture:
    """The warps of a block: which statement each is in, and where it waits for the others."""
    track = time.warps
    return Picture(
        (rows_scene(track, track.opens),),
        _block_caption(time),
        _block_table(time),
        "modelled",
        full=f"Block {block:,}: {_block_caption(time)}\n{OWN} {LENGTHS}",
        track=track,
        about="lengths; order and barriers: the kernel's own",
    )


def _block_caption(time: BlockTime) -> str:
    """How many barriers there are, what takes most of the clocks, and what these are not."""
    barriers = sum(spans.count for spans in time.warps.marks)
    said = count_text(barriers, "barrier") if barriers else "No barrier"
    clocks = _clocks(time)
    if not clocks:
        return f"{said}."
    longest = max(clocks, key=lambda name: clocks[name])
    most = f"{clocks[longest] / time.warps.length:.0%} of the clocks in {longest}"
    return f"{said}; {most}. {LEFT_OUT}"


def _clocks(time: BlockTime) -> dict[str, int]:
    """The clocks of each statement, of the warp that takes it longest; barriers are left out."""
    track, found = time.warps, dict[str, int]()
    for number, sort in enumerate(track.sorts):
        rows: dict[int, float] = {}
        for spans in (spans for spans in track.spans if spans.sort == number):
            each = spans.count // _rows(track, spans.shape)
            rows[spans.row] = rows.get(spans.row, 0.0) + spans.length * each
        if sort.statement and rows:
            clocks = found.get(sort.statement, 0) + round(max(rows.values()))
            found[sort.statement] = clocks
    return found


def _rows(track: Track, shape: int) -> int:
    return prod(dim.extent for dim in track.shapes[shape] if dim.row)


def _block_table(time: BlockTime) -> Table:
    """Each statement of the program with its turns and clocks."""
    rows = [
        (name, clocks, f"{clocks / time.warps.length:.1%}")
        for name, clocks in _clocks(time).items()
    ]
    return Table(("block of the program", "clocks of a warp", "of the block's time"), tuple(rows))


def warp_picture(time: WarpTime, block: int, warp: int, clock: int | None = None) -> Picture:
    """A warp of a block clock by clock, and the request that it makes at a `clock`.

    Where it makes none there, it is the one before; without a clock the first of those that take
    most beyond need.
    """
    track, at = time.track, time.track.opens if clock is None else float(clock)
    made = request_at(time, block, warp, at)
    below = made.strips[0] if made else covered_request("banks", "no request")
    words = made.caption if made else "It asks memory for nothing, or data decide for what."
    table = made.table if made else Table(("lane",), ())
    who = f"Warp {warp:,} of block {block:,}"
    full = [f"{who}.", made.full if made else words, f"{ASKED} {LENGTHS}"]
    return Picture(
        (rows_scene(track, at), below),
        words,
        table,
        "modelled",
        full="\n".join(full),
        track=track,
        about="clocks; lanes and addresses: the kernel's own",
        low=made.low if made else (),  # without the row, which a page plays
    )


def request_at(time: WarpTime, block: int, warp: int, clock: float) -> Picture | None:
    """The picture of the request that a warp makes at a clock; None where there is none."""
    found = time.request_at(clock)
    requests = time.requests.get(found[0]) if found else None
    if found is None or requests is None:
        return None
    kernel = requests.kernel
    there = zip(("blockIdx.x", "blockIdx.y", "blockIdx.z"), place_of(kernel, block), strict=True)
    at = {**dict(there), "warp": warp, **found[1].digits}
    select = {axis: at.get(axis, 0) for axis in requests.axes}
    name = next(name for name, scope in SCOPES.items() if scope == requests.access.buffer.scope)
    return requests_picture(name, [requests], [], select)
