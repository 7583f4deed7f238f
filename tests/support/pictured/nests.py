"""The heads of rows and columns of a nest, and its lines of time, against what threads do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from tests.support.pictured.log import Cell, Event, ProgramLog
from tests.support.pictured.names import shapes_of, words_of
from tests.support.pictured.tally import Rule, Tally
from workbench.draw import Picture, Rect, Words
from workbench.draw.scene import Path
from workbench.ir import For

AXIS = r"(?P<unit>block|thread)|(?P<axis>(?:block|thread)Idx\.[xyz]) =|(?P<loop>\w+) ="
HEAD = re.compile(rf"(?:{AXIS})?(?: ?(?P<turn>\d+))?")

Owners = Callable[[Cell], list[Event]]
"""The stores that a cell is told of."""


def is_head(words: Words) -> bool:
    """Whether words stand for a turn of a loop, beside cells or over them."""
    return bool(words.of.loops) and not words.of.buffer and not words.of.title


def check_nest(tally: Tally, log: ProgramLog, picture: Picture, owners: Owners) -> None:
    """Each head is that of its row or column; lines go through the cells of a thread in time."""
    boxes = [s for s in shapes_of(picture) if isinstance(s, Rect) and s.of.cells and s.of.title]
    heads = [words for words in words_of(picture) if is_head(words)]
    for words in heads:
        check = partial(_head, tally, log, words, boxes, owners)
        rules: list[Rule] = [(HEAD.pattern, check)]
        tally.read(words.label, rules)
    lines = [s for s in shapes_of(picture) if isinstance(s, Path) and s.role == "clock"
             and s.of.key == "line of time"]  # fmt: skip
    if heads:
        _lines(tally, lines, boxes, owners)


def _head(
    tally: Tally,
    log: ProgramLog,
    words: Words,
    boxes: Sequence[Rect],
    owners: Owners,
    said: re.Match[str],
) -> None:
    (name,) = words.of.loops
    if said["loop"]:
        tally.same("names of loops at heads", said["loop"], name)
    if said["unit"] or said["axis"]:
        axes = {loop.thread for loop in log.loops if loop.loop_var.name == name}
        told = said["axis"] or said["unit"]
        there = any(axis and axis.startswith(told) for axis in axes)
        tally.same("axes of loops at heads", there, True, words.label)
    if said["turn"] is None:
        return
    row = [b for b in boxes if b.y < words.y < b.y + b.height]
    column = [b for b in boxes if abs(b.x + b.width / 2 - words.x) < 0.01]
    beside = row or column
    turns = {
        _turn(log, event, name)
        for box in beside
        for event in owners(tuple(start for start, *_ in box.of.cells))
    }
    tally.same("turns of loops at heads", turns, {int(said["turn"])}, words.label)


def _turn(log: ProgramLog, event: Event, name: str) -> int | None:
    """Which turn of the loop of that name an event is in: of what it is bound to, else its own."""
    nests = log.around.get(event.stage, [])
    loops: list[For] = [x for nest in nests for x in nest if x.loop_var.name == name]
    for thread in (loop.thread for loop in loops if loop.thread and "Idx" in loop.thread):
        place: Cell = getattr(event, thread.partition("Idx")[0])
        return place["xyz".index(thread[-1])]
    return next((k for var, k in event.loops if var.name == name), None)


def _lines(tally: Tally, lines: Sequence[Path], boxes: Sequence[Rect], owners: Owners) -> None:
    threads: dict[object, list[tuple[int, Cell]]] = {}
    for box in boxes:
        index = tuple(start for start, *_ in box.of.cells)
        event = owners(index)[-1]
        threads.setdefault((event.block, event.thread), []).append((event.time, index))
    wanted = [[at for _, at in sorted(own)] for own in threads.values() if len(own) > 1]
    through = [list(_through(line, boxes)) for line in lines]
    tally.same("cells on lines of time", sorted(through), sorted(wanted))


def _through(line: Path, boxes: Sequence[Rect]) -> Iterator[Cell]:
    """The cells that a line crosses from side to side, in their order."""
    for (x, y), (to, below) in zip(line.lines[0], line.lines[0][1:], strict=False):
        if y != below:
            continue
        for box in sorted(boxes, key=lambda box: box.x):
            middle = box.x + box.width / 2
            if x <= middle <= to and box.y < y < box.y + box.height:
                yield tuple(start for start, *_ in box.of.cells)
