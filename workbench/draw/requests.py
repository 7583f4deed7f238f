"""The pictures of one request of a warp: banks of shared memory, sectors of global memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.diag import count_text
from workbench.draw.banks import BEYOND, banks_scene, covered_banks
from workbench.draw.picture import Picture
from workbench.draw.scene import Scene
from workbench.draw.sectors import covered_sectors, sectors_scene
from workbench.insight import (
    Kind,
    Lanes,
    Requests,
    Selection,
    Table,
    sectors_of,
    wavefronts_of,
    worst_of,
)

MOST = 80  # letters of a caption
SCOPES = {"banks": "shared", "sectors": "global"}
"""The memory that each of the pictures is of."""


@dataclass(frozen=True, slots=True)
class _Words:
    """How a picture says what is asked."""

    unit: str
    kind: Kind
    none: str
    legend: str


_OF = {
    "banks": _Words(
        "wavefront",
        "modelled",
        "No warp reads or writes shared memory; cache_read copies a buffer there.",
        "Columns are the 32 banks, rows wavefronts by number, one after the other; at a box stand "
        f"the lanes that its bank serves in that wavefront. {BEYOND}",
    ),
    "sectors": _Words(
        "sector",
        "counted",
        "No warp reads or writes global memory.",
        "A line goes from each lane to the bytes that it wants; boxes are sectors of 32 bytes, "
        "hollow where they are fetched and not used.",
    ),
}


def requests_picture(
    name: str, found: Sequence[Requests], left_out: Sequence[str], select: Selection
) -> Picture:
    """One request of those `found`, as "banks" or "sectors": the one that `select` has.

    "access" there is the number of one of them; without it, it is the one whose requests take most
    beyond need. What else is not chosen is where its worst request is. `left_out` are accesses that
    data or sizes decide. Raises ValueError for an axis or a value that there is not.
    """
    words = _OF[name]
    if not found:
        caption = f"Data or sizes decide: {', '.join(left_out)}." if left_out else words.none
        said = "data decide" if left_out else "none"
        return Picture((covered_request(name, said),), caption, Table(("lane",), ()), words.kind)
    rest = {axis: value for axis, value in select.items() if axis != "access"}
    number = select.get("access", worst_of(found))
    if number not in range(len(found)):
        last = len(found) - 1
        raise ValueError(
            f"access runs from 0 to {last}, not to {number}; choose one of these values"
        )
    requests = found[number]  # type: ignore[index]  # it is one of the range
    at, lane = requests.chosen(rest)
    lanes = requests.lanes(at)
    scene = (banks_scene if name == "banks" else sectors_scene)(requests, lanes, lane)
    low = ((banks_scene(requests, lanes, lane, thin=True),),) if name == "banks" else ()
    caption = _caption(requests, lanes, at, words)
    full = [caption, _where(requests, at), f"{requests.text}.", _alike(requests, words)]
    full += [words.legend, *([f"Left out: {', '.join(left_out)}."] if left_out else [])]
    table = _banks_table(lanes) if name == "banks" else _sectors_table(lanes)
    if left_out:
        caption = _beside(caption, left_out)
    return Picture((scene,), caption, table, words.kind, full="\n".join(full), low=low)


def covered_request(name: str, said: str = "?") -> Scene:
    """Banks or lanes alone, and what is `said` in the place of what is asked."""
    return (covered_banks if name == "banks" else covered_sectors)(said)


def access_name(requests: Requests) -> str:
    """Which access it is, as far as a word says it: read A_shared."""
    return f"{requests.kind} {requests.buffer}"


def _caption(requests: Requests, lanes: Lanes, at: Mapping[str, int], words: _Words) -> str:
    """What the request takes, in one line."""
    takes = count_text(lanes.cost, words.unit)
    takes += ", the least" if lanes.cost == lanes.least else f", {lanes.least} would do"
    one, many = f"{requests.kind} of {requests.buffer}", f"{requests.kind}s of {requests.buffer}"
    if not lanes.cost:
        worst = f"the worst {one}: {count_text(requests.worst_cost, words.unit)}"
        forms = [f"No lane asks here; {worst}.", "No lane asks here."]
    elif requests.count == 1:
        forms = [f"The only {one}: {takes}.", f"The only one: {takes}."]
    elif requests.alike == requests.count:
        forms = [f"Each of {requests.count:,} {many}: {takes}.", f"Each: {takes}."]
    elif at == requests.worst:
        forms = [f"The worst of {requests.count:,} {many}: {takes}.", f"The worst: {takes}."]
    else:
        forms = [f"This {one}: {takes}; the worst: {requests.worst_cost}.", f"This one: {takes}."]
    return next((form for form in forms if len(form) <= MOST), forms[-1])


def _beside(caption: str, left_out: Sequence[str]) -> str:
    """The caption, with what no request is shown of, in so many words as fit."""
    forms = [f"{caption} Not counted: {', '.join(left_out)}.", f"{caption} Not all are counted."]
    return next((form for form in forms if len(form) <= MOST), caption)


def _where(requests: Requests, at: Mapping[str, int]) -> str:
    """When the request is made."""
    said = ", ".join(f"{axis} = {value:,} of {requests.axes[axis]:,}" for axis, value in at.items())
    return f"At {said}:" if said else "The only request:"


def _alike(requests: Requests, words: _Words) -> str:
    takes = count_text(requests.worst_cost, words.unit)
    return f"{requests.alike:,} of {requests.count:,} requests take {takes}."


def _banks_table(lanes: Lanes) -> Table:
    """Each lane with its banks and its wavefronts."""
    whose: dict[int, list[tuple[int, int]]] = {}
    for number, row in enumerate(wavefronts_of(lanes), 1):
        for bank, those in row.banks.items():
            for lane in those:
                whose.setdefault(lane, []).append((bank, number))
    rows = [
        (*who, _numbers({b for b, _ in whose[lane]}), _numbers({n for _, n in whose[lane]}))
        if lane in whose
        else (*who, "idle", "")
        for lane, who in enumerate(_who(lanes))
    ]
    return Table(("lane", "thread", "first byte", "banks", "wavefronts"), tuple(rows))


def _sectors_table(lanes: Lanes) -> Table:
    """Each lane with the sectors that it touches, numbered from the start of the buffer."""
    sectors = sectors_of(lanes)
    rows = [
        (*who, _numbers({s.number for s in sectors if lane in s.lanes}) or "idle")
        for lane, who in enumerate(_who(lanes))
    ]
    return Table(("lane", "thread", "first byte", "sectors"), tuple(rows))


def _who(lanes: Lanes) -> list[tuple[int, str, int | str]]:
    """Each lane with its thread and its address."""
    pairs = enumerate(zip(lanes.threads, lanes.addresses, strict=True))
    return [
        (lane, "" if thread is None else ",".join(map(str, thread)), "" if a is None else a)
        for lane, (thread, a) in pairs
    ]


def _numbers(numbers: set[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))
