"""A GPU in small, as a model: which block runs on which multiprocessor, and when.

Blocks are handed out in the order of their numbers, each to the multiprocessor that has room
first; one that has room never waits. A real GPU promises no order, and its blocks take as long as
their loads do: the model is for the idea that a launch is a queue, and measures nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from importlib import import_module
from typing import Any

from workbench.draw import Scene, machine_scene, svg_in_text

WARP = 32  # threads that run in step


@dataclass(frozen=True, slots=True)
class Machine:
    """So many multiprocessors, with room for so many blocks each; a block takes `steps`."""

    multiprocessors: int = 2
    room: int = 1
    steps: int = 4


@dataclass(frozen=True, slots=True)
class Launch:
    """So many blocks on so many multiprocessors, with room for so many each."""

    blocks: int
    multiprocessors: int
    room: int = 1

    @property
    def machine(self) -> Machine:
        return Machine(self.multiprocessors, self.room)


@dataclass(frozen=True, slots=True)
class Stay:
    """A block's stay on a multiprocessor, in one of its places, from `start` up to `end`."""

    block: int
    multiprocessor: int
    place: int
    start: int
    end: int


def stays(blocks: int, machine: Machine) -> list[Stay]:
    """When and where each of `blocks` runs."""
    places = [(0, p, m) for p in range(machine.room) for m in range(machine.multiprocessors)]
    heapify(places)
    runs = []
    for block in range(blocks):
        start, place, multiprocessor = heappop(places)
        end = start + machine.steps
        runs.append(Stay(block, multiprocessor, place, start, end))
        heappush(places, (end, place, multiprocessor))
    return runs


def start_of(block: int, blocks: int, machine: Machine) -> str:
    """When a block starts, in words."""
    return f"time {stays(blocks, machine)[block].start}"


def length(blocks: int, machine: Machine) -> str:
    """How long the launch takes, in words."""
    return f"{max(stay.end for stay in stays(blocks, machine))} steps"


def warps(threads: int) -> list[tuple[int, int]]:
    """The first and last thread of each warp of a block."""
    return [(k, min(k + WARP, threads) - 1) for k in range(0, threads, WARP)]


def idle_lanes(threads: int) -> str:
    """How many lanes of a block's warps have no thread, in words."""
    return f"{len(warps(threads)) * WARP - threads} lanes"


@dataclass(frozen=True, repr=False)
class Text:
    """A text that a notebook shows as it is."""

    text: str

    def __repr__(self) -> str:
        return self.text


def gpu(blocks: int = 8, threads: int = 64, **machine: int) -> Any:
    """A player of a launch of so many blocks of `threads` on a `Machine`, in small.

    Where widgets are not installed, its sentences, one for each time.

    >>> _ = lesson.gpu(blocks=8, threads=64, multiprocessors=2, room=1)
    """
    has = Machine(**machine)
    drawn = frames(blocks, threads, has)
    room = "room for one block each" if has.room == 1 else f"room for {has.room} blocks each"
    name = f"{blocks} blocks of {threads} threads on {has.multiprocessors} multiprocessors, {room}"
    try:
        player = import_module("workbench.widgets.small.player")  # loads anywidget: heavy
    except ModuleNotFoundError as missing:
        if missing.name not in ("anywidget", "traitlets"):
            raise
        return Text("\n".join([name, *(sentence for _, sentence in drawn)]))
    return player.Player(name, drawn)


# --- the picture ----------------------------------------------------------------------------------


def frames(blocks: int, threads: int, machine: Machine) -> list[tuple[str, str]]:
    """The machine at each time, drawn as SVG, with one sentence that says the same."""
    runs = stays(blocks, machine)
    last = max(stay.end for stay in runs)
    return [
        (svg_in_text(_frame(runs, threads, machine, t)), _sentence(runs, t))
        for t in range(last + 1)
    ]


def _sentence(runs: Sequence[Stay], t: int) -> str:
    waiting, running, done = _sorted(runs, t)
    said = [
        f"{word} {', '.join(str(stay.block) for stay in group)}"
        for word, group in (("running", running), ("waiting", waiting), ("done", done))
        if group
    ]
    return f"Time {t}: blocks {'; '.join(said)}."


def _sorted(runs: Sequence[Stay], t: int) -> tuple[list[Stay], list[Stay], list[Stay]]:
    """Who waits, runs, and is done at time `t`."""
    waiting = [stay for stay in runs if t < stay.start]
    running = [stay for stay in runs if stay.start <= t < stay.end]
    return waiting, running, [stay for stay in runs if stay.end <= t]


def _frame(runs: Sequence[Stay], threads: int, machine: Machine, t: int) -> Scene:
    waiting, running, done = _sorted(runs, t)
    return machine_scene(
        t,
        [stay.block for stay in waiting],
        {(stay.multiprocessor, stay.place): stay.block for stay in running},
        [stay.block for stay in done],
        (machine.multiprocessors, machine.room),
        warps(threads),
    )
