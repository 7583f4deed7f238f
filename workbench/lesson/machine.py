"""A GPU in small, as a model: which block runs on which multiprocessor, and when.

Blocks are handed out as `insight.handed_out` says. A real GPU promises no order, and its blocks
take as long as their loads do: the model is for the idea that a launch is a queue, and measures
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from workbench.diag import Fail, count_text
from workbench.draw import svg_in_text, warps_scene
from workbench.insight import WARP, Track
from workbench.insight.handed_out import HandedOut, handed_out
from workbench.insight.track import Dim, Sort, Spans
from workbench.lesson import record

SAYS = "{running} of {all} blocks run, {waiting} wait, {done} done"
# Of a block's threads and a multiprocessor's room no GPU has more; the rest can be seen so far.
MOST = {"blocks": 10_000, "threads": 1024, "multiprocessors": 200, "room": 32, "steps": 1000}


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


def placed(blocks: int, machine: Machine) -> HandedOut:
    """When and where each of `blocks` runs."""
    return handed_out(blocks, machine.multiprocessors, machine.room, (float(machine.steps),))


def track_of(blocks: int, machine: Machine) -> Track:
    """The launch in time, a step of the model as its unit."""
    found = placed(blocks, machine)
    turns = Dim(found.shape[-1].extent, start=float(machine.steps))
    return Track(
        "multiprocessor", "block", machine.multiprocessors, machine.room, found.end, "steps",
        (found.shape, (turns,)), found.spans, (Sort(("block-1",), SAYS, now="heat-6"),),
        "wave", (Spans(0, turns.extent, 0, 0, 0.0, 0.0, shape=1),), source="time",
        tick=float(machine.steps),
    )  # fmt: skip


def start_of(block: int, blocks: int, machine: Machine) -> str:
    """When a block starts, in words."""
    track = track_of(blocks, machine)
    return f"time {track.span(track.spans[0], block).start:g}"


def length(blocks: int, machine: Machine) -> str:
    """How long the launch takes, in words."""
    return f"{placed(blocks, machine).end:g} steps"


def idle_lanes(threads: int) -> str:
    """How many lanes of a block's warps have no thread, in words."""
    return f"{-threads % WARP} lanes"


@dataclass(frozen=True, repr=False)
class Text:
    """A text that a notebook shows as it is."""

    text: str

    def __repr__(self) -> str:
        return self.text


def gpu(
    blocks: int = 8,
    threads: int = 64,
    guess: int | None = None,
    lesson: str | None = None,
    **machine: int,
) -> Any:
    """A player of a launch of so many blocks of `threads` on a `Machine`, in small.

    It plays once one has said when the block `guess` starts, where that is given; the first guess
    is kept beside the notebook of the `lesson` of that name. Where widgets are not installed, it is
    what happens at each time, in words. Raises Fail where there is no such block, and for numbers
    that no launch has.

    >>> _ = lesson.gpu(blocks=8, threads=64, multiprocessors=2, room=1)
    """
    has = Machine(**machine)
    _check({"blocks": blocks, "threads": threads, **asdict(has)})
    if guess is not None and not 0 <= guess < blocks:
        raise Fail(
            f"Can't ask when block {guess} starts: the launch has blocks 0 to {blocks - 1}",
            hint="name one of them, or leave `guess` out",
        )
    room = "room for one block each" if has.room == 1 else f"room for {has.room} blocks each"
    on = count_text(has.multiprocessors, "multiprocessor")
    name = f"{count_text(blocks, 'block')} of {count_text(threads, 'thread')} on {on}, {room}"
    track = track_of(blocks, has)
    try:
        player = import_module("workbench.widgets.small.player")  # loads anywidget: heavy
    except ModuleNotFoundError as missing:
        if missing.name not in ("anywidget", "traitlets"):
            raise
        return Text("\n".join([name, *told(track)]))
    asked = None if guess is None else asked_of(track, guess, has)
    kept = None
    if asked is not None and lesson is not None:
        kept = Guess(record.file_of(lesson), f"when block {guess} of {name} starts", track.length)
        asked["given"] = kept.given
    about = f"A block has {count_text(-(-threads // WARP), 'warp')}."
    lanes = svg_in_text(warps_scene(threads), f"{about} {idle_lanes(threads)} have no thread.")
    return player.Player(name, track.plain(), told(track), lanes, asked, kept and kept.keep)


@dataclass(frozen=True)
class Guess:
    """A time that a learner guesses, from 0 to the `most`: the first is kept in `file`."""

    file: Path
    key: str
    most: float

    @property
    def given(self) -> int | None:
        """What was guessed; None where nothing was, and for what is no guess."""
        kept = record.read(self.file)["guesses"].get(self.key)
        time = kept.get("time") if isinstance(kept, dict) else None
        return time if type(time) is int and 0 <= time <= self.most else None

    def keep(self, time: int) -> str:
        """Keep the guess, if it is the first; returns what is to be told of that."""
        try:
            return record.note(self.file, "guesses", self.key, {"time": time}, first=True)
        except (OSError, Fail) as error:
            why = getattr(error, "strerror", "") or str(error)
            return f"The guess could not be kept: {why}."


def _check(numbers: Mapping[str, object]) -> None:
    for name, number in numbers.items():
        most = MOST[name]
        if type(number) is not int or not 1 <= number <= most:
            raise Fail(
                f"Can't launch with {name}={number!r}: it is a whole number from 1 to {most:,}",
                hint=f"give it another number, or leave `{name}` out",
            )


def told(track: Track) -> list[str]:
    """What goes on from each time on at which something begins or ends, in words."""
    times = [0.0]
    while times[-1] < track.length:
        times.append(track.later(times[-1]))
    return [f"{words[:1].upper()}{words[1:]}." for words in map(track.told, times)]


def asked_of(track: Track, block: int, machine: Machine) -> dict[str, Any]:
    """What is asked of a block ahead of playing, when it starts, and why then."""
    span = track.span(track.spans[0], block)
    takes = count_text(machine.steps, "step")
    before = block - machine.multiprocessors * machine.room
    why = f"Until then all places are taken, and block {before} is the first to leave one."
    told = f"Block {block} starts at time {span.start:g}, on multiprocessor {span.row}."
    return {
        "text": f"A block takes {takes}. When does block {block} start? Move the time there.",
        "at": span.start,
        "told": f"{told} {why if before >= 0 else 'It finds room at once.'}",
    }
