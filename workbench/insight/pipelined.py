"""Pipelined: a pipeline turn by turn, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from workbench.diag import count_text


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """Statement `number` of a pipeline: its blocks, its name, and the stage that it runs in.

    Of bare stores `blocks` are the buffers that they write. The last one gives it its name, as in
    what is refused; parts of an inner pipeline are named after that.
    """

    number: int
    name: str
    blocks: tuple[str, ...]
    stage: int


@dataclass(frozen=True, slots=True)
class Use:
    """That a statement reads or writes a buffer: which of its `copies`, counted from 0."""

    buffer: str
    writes: bool
    copy: int
    copies: int

    @property
    def words(self) -> str:
        """Such as "writes A_shared (copy 1 of 2)"."""
        of = f" (copy {self.copy} of {self.copies})" if self.copies > 1 else ""
        return f"{'writes' if self.writes else 'reads'} {self.buffer}{of}"


class Moment(NamedTuple):
    """A place in time: the rows of a turn run one after the other."""

    turn: int
    row: int


@dataclass(frozen=True, slots=True)
class Run:
    """A statement in one of its turns: it works on `iteration`, the value of the loop."""

    at: Moment
    iteration: int
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """All threads of a block wait ahead of a run, or `within` it; or for copies, see `groups`.

    Each thread waits until all its groups of copies are there but the last `groups`.
    """

    at: Moment
    within: bool
    groups: int | None = None

    @property
    def for_copies(self) -> bool:
        return self.groups is not None

    @property
    def words(self) -> str:
        """Such as "before", "before, for copies but the last 2 groups"."""
        words = "within" if self.within else "before"
        if self.groups is None:
            return words
        return f"{words}, for copies but the last {count_text(self.groups, 'group')}"


@dataclass(frozen=True, slots=True)
class Flight:
    """Data of an iteration on its way to `buffer`, from the run that asks to the first use.

    Or, where `waited`, to the wait of its thread ahead of that run. None in between waits for it.
    """

    buffer: str
    iteration: int
    begins: Moment
    ends: Moment
    waited: bool = False

    @property
    def words(self) -> str:
        """Such as "A_local of 3"."""
        return f"{self.buffer} of {self.iteration}"


@dataclass(frozen=True, slots=True)
class Pipelined:
    """A loop whose statements run in turns of their own.

    `rows` are the statements in the order of a turn. Turns are counted from 0, `count` in all; of
    these `turns` are shown, and what is told is of them. `waits` is None where no kernel tells.
    The loop counts `iterations` from `first`; where `most`, no more than so many.
    """

    loop: str
    first: int
    iterations: int
    most: bool
    rows: tuple[Row, ...]
    turns: tuple[int, ...]
    runs: tuple[Run, ...]
    flights: tuple[Flight, ...]
    waits: tuple[Wait, ...] | None

    @property
    def depth(self) -> int:
        """The last stage: how many turns the prologue has, and the epilogue."""
        return max(row.stage for row in self.rows)

    @property
    def count(self) -> int:
        return self.iterations + self.depth

    def part(self, turn: int) -> str:
        """Of which part of the loop's turns it is one."""
        if turn < self.depth:
            return "prologue"
        return "body" if turn < self.iterations else "epilogue"
