"""Races: who touched which cell of a buffer since the last barrier."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from workbench.ir import BufferLoad, BufferStore

Lanes: TypeAlias = "tuple[Any, Any]"
"""The accesses of one execution: (cells, owners), one element an active lane."""

NOBODY, MANY = -1, -2
MIXED = -3  # several statements wrote the cell


@dataclass(frozen=True, slots=True)
class Visit:
    """One access as lanes make it: `key` tells equal ones, `lanes` enumerates it when asked."""

    key: Hashable
    node: BufferLoad | BufferStore
    lanes: Callable[[], Lanes]

    @property
    def writes(self) -> bool:
        """Whether it is a store."""
        return isinstance(self.node, BufferStore)


class Race(Exception):
    """Two lanes met on `cell`; `first` and `second` are (owner, node)."""

    def __init__(
        self,
        watch: Watch,
        cell: int,
        first: tuple[int, BufferLoad | BufferStore],
        second: tuple[int, BufferLoad | BufferStore],
    ) -> None:
        super().__init__(cell, first, second)
        self.watch = watch
        self.cell, self.first, self.second = cell, first, second


@dataclass(frozen=True, slots=True)
class Overlap:
    """Lanes that write what another lane has written too: allowed while all write the same bits.

    `extra` counts the writes that change nothing then: all but those of each cell's first writer.
    `again` marks, among all cells, those that another lane wrote in an earlier execution (None:
    no such cell), `shared` those that several lanes write.
    """

    extra: int
    again: Any
    shared: Any


@dataclass(slots=True)
class _Place:
    """A point in the tree of all orders in which accesses came after a barrier."""

    visit: Visit | None = None
    before: _Place | None = None
    after: dict[Hashable, _Place] = field(default_factory=dict)
    verdict: Overlap | None = None
    passed: Callable[[Any, Any], Any] | None = None  # a barrier of some blocks, not an access


class Watch:
    """Judges each access to one buffer against those since the last barrier.

    A verdict depends only on which accesses came before, so each is worked out once: the places of
    the tree remember it. Only for a new access are the cells of all those before it listed again.
    """

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._root = _Place()
        self._place = self._root
        self._here: dict[Hashable, Overlap | None] = {}
        self._shown: _Place | None = None  # the place whose accesses the shadows hold
        self._writer = self._reader = self._statement = self._first = np.empty(0, np.int64)

    def barrier(self) -> None:
        """Start afresh: what comes now is ordered after all that came before."""
        if self._place is not self._root:
            self._place, self._here = self._root, {}

    def barrier_of(self, key: Hashable, passed: Callable[[Any, Any], Any]) -> None:
        """A barrier that some blocks meet; `passed` says it of (cells, owners)."""
        place = self._place.after.get(key)
        if place is None:
            place = _Place(None, self._place, passed=passed)
            self._place.after[key] = place
        self._place, self._here = place, {}

    def meet(
        self,
        key: Hashable,
        node: BufferLoad | BufferStore,
        lanes: Callable[[], Lanes],
    ) -> Overlap | None:
        """Judge the access `node`: None where it meets nobody; see `Visit`. Raises Race."""
        if key in self._here:
            verdict = self._here[key]
            if verdict is None or verdict.again is verdict.shared:
                return verdict
            # once more: now every cell that lanes share has been written before
            verdict = Overlap(verdict.extra, verdict.shared, verdict.shared)
            self._here[key] = verdict
            return verdict
        place = self._place.after.get(key)
        if place is None:
            place = self._examine(Visit(key, node, lanes))
            self._place.after[key] = place
        self._place = place
        self._here[key] = place.verdict
        return place.verdict

    def written(self) -> Any:
        """The cells that something wrote since the last barrier."""
        if self._shown is not self._place:
            self._show()
        return self._writer != NOBODY

    def _examine(self, visit: Visit) -> _Place:
        if self._shown is not self._place:
            self._show()
        cells, owners = visit.lanes()
        place = _Place(visit, self._place)
        if visit.writes:
            place.verdict = self._write(visit, cells, owners)
        else:
            self._read(visit, cells, owners)
        self._shown = place
        return place

    def _show(self) -> None:
        self._writer = np.full(self._cells, NOBODY, dtype=np.int64)
        self._reader = self._writer.copy()
        self._statement = self._writer.copy()
        self._first = self._writer.copy()
        self._shown = self._root
        for place in self._path():
            if place.visit is None:
                self._forget(place)
                continue
            cells, owners = place.visit.lanes()
            if place.visit.writes:
                self._write(place.visit, cells, owners)
            else:
                self._read(place.visit, cells, owners)
        self._shown = self._place

    def _forget(self, barrier: _Place) -> None:
        assert barrier.passed is not None
        for table in (self._writer, self._reader, self._first):
            cells = np.flatnonzero(table != NOBODY)
            table[cells[barrier.passed(cells, table[cells])]] = NOBODY

    def _path(self) -> list[_Place]:
        path: list[_Place] = []
        place = self._place
        while place.before is not None:
            path.append(place)
            place = place.before
        return path[::-1]

    def _read(self, visit: Visit, cells: Any, owners: Any) -> None:
        writer = self._writer[cells]
        bad = (writer != NOBODY) & (writer != owners)
        if bad.any():
            raise self._race(visit, cells, owners, bad, writes_only=True)
        _note(self._reader, cells, owners)

    def _write(self, visit: Visit, cells: Any, owners: Any) -> Overlap | None:
        reader, writer = self._reader[cells], self._writer[cells]
        bad = (reader != NOBODY) & (reader != owners)
        if bad.any():
            raise self._race(visit, cells, owners, bad, writes_only=False)
        number = id(visit.node)
        again = (writer != NOBODY) & (writer != owners)
        other = again & (self._statement[cells] != number)
        if other.any():
            raise self._race(visit, cells, owners, other, writes_only=True)
        self._statement[cells] = np.where(
            (writer != NOBODY) & (self._statement[cells] != number), MIXED, number
        )
        new = self._first[cells] == NOBODY
        self._first[cells[new]] = owners[new]
        many = _note(self._writer, cells, owners)
        if not many.any():
            return None
        extra = int((self._first[cells] != owners).sum())
        return Overlap(extra, self._table(cells[again]), self._table(cells[many]))

    def _table(self, cells: Any) -> Any:
        """`cells` marked among all; None for none."""
        if not len(cells):
            return None
        table = np.zeros(self._cells, dtype=bool)
        table[cells] = True
        return table

    def _race(self, visit: Visit, cells: Any, owners: Any, bad: Any, *, writes_only: bool) -> Race:
        lane = int(np.argmax(bad))
        return self.conflict(visit, int(cells[lane]), int(owners[lane]), writes_only=writes_only)

    def other(self, cell: int, owner: int) -> int | None:
        """Someone else who wrote `cell` since the last barrier; None where nobody did."""
        for place in self._path():
            if place.visit is not None and place.visit.writes:
                cells, owners = place.visit.lanes()
                found = np.flatnonzero((cells == cell) & (owners != owner))
                if len(found):
                    return int(owners[found[0]])
        return None

    def conflict(self, visit: Visit, cell: int, owner: int, *, writes_only: bool) -> Race:
        """The race of `visit` by `owner` on `cell` with whoever else touched the cell."""
        visits = [place.visit for place in self._path()]
        for earlier in [*visits, visit]:
            if earlier is None or (writes_only and not earlier.writes):
                continue
            cells, owners = earlier.lanes()
            found = np.flatnonzero((cells == cell) & (owners != owner))
            if len(found):
                return Race(self, cell, (int(owners[found[0]]), earlier.node), (owner, visit.node))
        raise AssertionError("a race has two sides")


def _note(table: Any, cells: Any, owners: Any) -> Any:
    """Note `owners` at `cells` of `table`, MANY where there are more; which lanes that are."""
    before = table[cells]
    table[cells] = owners
    many = (table[cells] != owners) | ((before != NOBODY) & (before != owners))
    if many.any():
        shared = np.zeros(len(table), dtype=bool)
        shared[cells[many]] = True
        many = shared[cells]
        table[cells[many]] = MANY
    return many
