"""lanes: a buffer and its copies on the way to the threads, and what moves between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from workbench.insight.memory import At, BufferUse, Memory


@dataclass(frozen=True, slots=True)
class Band:
    """Data on its way in a lane, between two of its buffers or a buffer and where it is used.

    `far` and `near` number the buffers of the lane from the device on; what is used comes after
    the last. `load` is data on its way to a thread. `reuse` is loads of a cell by one owner, 0.0
    of stores. `before` are the bytes of the step before, None where they are the same. `at` is the
    loop in whose turns a copy is filled, or written back; None of what is used.
    """

    buffer: str
    stages: str
    far: int
    near: int
    load: bool
    bytes: int
    reuse: float
    before: int | None
    at: At | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """A buffer with its copies nearer to the threads, and at which level each lies."""

    uses: tuple[BufferUse, ...]
    levels: tuple[int, ...]
    bands: tuple[Band, ...]


def lanes_of(memory: Memory, before: Memory | None = None) -> list[Lane]:
    """The buffers that are copies of each other, together, and what moves in each lane."""
    uses = {use.buffer: use for level in memory.levels for use in level.buffers}
    depth = {use.buffer: k for k, level in enumerate(memory.levels) for use in level.buffers}
    lanes = []
    for names in memory.lanes:
        copies = tuple(uses[name] for name in names)
        bands = tuple(_bands(memory, copies, before))
        lanes.append(Lane(copies, tuple(depth[name] for name in names), bands))
    return lanes


def _bands(memory: Memory, uses: Sequence[BufferUse], before: Memory | None) -> Iterator[Band]:
    """What is moved from copy to copy, then what is used of each and stored to it otherwise."""
    loads = {use.buffer: use.load_bytes for use in uses}
    stores = {use.buffer: use.store_bytes for use in uses}
    old = _changes(memory, uses, before)
    for (far, outer), inner in zip(enumerate(uses), uses[1:], strict=False):
        for source, target in ((outer, inner), (inner, outer)):
            ends = (source.buffer, target.buffer)
            flows = [f for f in memory.flows if f.copies and (f.source, f.target) == ends]
            if not flows:
                continue
            load = source is outer
            loads[source.buffer] -= sum(flow.bytes for flow in flows)
            stores[target.buffer] -= sum(flow.stored for flow in flows)
            yield Band(
                outer.buffer,
                ", ".join(flow.stage for flow in flows),
                far,
                far + 1,
                load,
                sum(flow.bytes if load else flow.stored for flow in flows),
                flows[0].reuse if load else 0.0,
                old.pop((outer.buffer, load), None),
                flows[0].at if len({flow.at for flow in flows}) == 1 else None,
            )
    for far, use in enumerate(uses):
        for load, size in ((True, loads[use.buffer]), (False, stores[use.buffer])):
            if size > 0:
                reuse, was = use.used if load else 0.0, old.pop((use.buffer, load), None)
                stages = ", ".join(_using(memory, use, load))
                yield Band(use.buffer, stages, far, len(uses), load, size, reuse, was)


def _using(memory: Memory, use: BufferUse, load: bool) -> Iterator[str]:
    """The blocks that load a buffer, or store it, and do not just copy it within its lane."""
    ways = [flow for flow in memory.flows if use.buffer == (flow.source if load else flow.target)]
    copying = {flow.stage for flow in ways if flow.copies}
    copying -= {flow.stage for flow in ways if not flow.copies}
    return (name for name in (use.loaders if load else use.storers) if name not in copying)


def _changes(
    memory: Memory, uses: Sequence[BufferUse], before: Memory | None
) -> dict[tuple[str, bool], int]:
    """The bytes loaded (True) and stored of each buffer before, where these were others."""
    was, now = _moved(before) if before else {}, _moved(memory)
    keys = [(use.buffer, load) for use in uses for load in (True, False)]
    return {key: was[key] for key in keys if key in was and was[key] not in (0, now[key])}


def _moved(memory: Memory) -> dict[tuple[str, bool], int]:
    """The bytes loaded (True) and stored of each buffer, but for what bands of others show.

    What a copy nearer to the threads gives back, or gets, is shown as its buffer's farther away.
    """
    moved: dict[tuple[str, bool], int] = {}
    for use in (use for level in memory.levels for use in level.buffers):
        moved |= {(use.buffer, True): use.load_bytes, (use.buffer, False): use.store_bytes}
    pairs = {pair for names in memory.lanes for pair in pairwise(names)}
    for flow in filter(lambda flow: flow.copies, memory.flows):
        if (flow.target, flow.source) in pairs:
            moved[flow.source, True] -= flow.bytes
        elif (flow.source, flow.target) in pairs:
            moved[flow.target, False] -= flow.stored
    return moved
