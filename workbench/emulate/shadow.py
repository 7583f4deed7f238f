"""Shadow: who wrote and who read each cell of a buffer, and what a further access means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from workbench.ir import BufferLoad, BufferStore

Access: TypeAlias = "BufferLoad | BufferStore"

NOBODY = -1
FEW = 16  # cells are cleared one by one where less than one in so many was touched


class Race(Exception):
    """Two lanes met on `cell`; `first` and `second` are (owner, access)."""

    def __init__(self, cell: int, first: tuple[int, Access], second: tuple[int, Access]) -> None:
        super().__init__(cell, first, second)
        self.cell, self.first, self.second = cell, first, second


class Marked:
    """A set of cells: marks between the lowest and the highest."""

    def __init__(self, cells: Any) -> None:
        self._low = int(cells.min())
        self._marks = np.zeros(int(cells.max()) - self._low + 1, dtype=bool)
        self._marks[cells - self._low] = True
        self.nbytes = self._marks.nbytes

    def among(self, cells: Any) -> Any:
        """Which of `cells` are in the set."""
        at = cells - self._low
        inside = (at >= 0) & (at < len(self._marks))
        return inside & self._marks[np.where(inside, at, 0)]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Lanes that write what another lane has written too: allowed while all write the same bits.

    `extra` counts the writes that change nothing then: all but those of each cell's first writer.
    `again` are the cells that another lane wrote in an earlier execution (None: no such cell),
    `shared` those that several lanes write.
    """

    extra: int
    again: Marked | None
    shared: Marked

    @property
    def nbytes(self) -> int:
        """What both sets take."""
        return self.shared.nbytes + (0 if self.again is None else self.again.nbytes)

    def once_more(self) -> Overlap:
        """What the same lanes do when they write again: each shared cell was written before."""
        if self.again is self.shared:
            return self
        return Overlap(self.extra, self.shared, self.shared)


class Shadow:
    """The writers and readers of the cells 0 to `cells` since the shadow was last cleared.

    An owner is a number below `owners`; at most `accesses` loads and stores are told apart. A
    cell costs as few bytes as hold these numbers, for each of what has come up: writers, readers,
    a second writer or reader, a second statement. With `window` the tables cover the cells
    between the first and the last that was touched, else all.
    """

    def __init__(self, cells: int, owners: int, accesses: int, *, window: bool = False) -> None:
        self._cells = cells
        self._owner = np.min_scalar_type(-owners)
        number = np.min_scalar_type(-accesses)
        self._writers, self._readers = (_Touches(self._owner, number) for _ in range(2))
        self._low = 0
        self._window = window
        self._touched: list[Any] | None = [] if window else None  # None: too many, or no window
        self._count = 0  # of what is in the list, and of its arrays
        self._resize(0 if window else cells)

    def judge(self, node: Access, cells: Any, owners: Any) -> Overlap | None:
        """Note that `owners` touch `cells`, one a lane; None where nobody writes what others do.

        Raises Race where two owners meet on a cell that one of them writes; those that write it
        by one and the same statement overlap instead.
        """
        if not len(cells):
            return None
        slots, owners = self._slots(cells), owners.astype(self._owner)
        if isinstance(node, BufferStore):
            return self._write(node, cells, slots, owners)
        bad = self._writers.others(slots, owners)
        if bad.any():
            raise self._race(self._writers, node, cells, owners, bad)
        self._readers.note(node, slots, owners)
        return None

    def _write(self, node: BufferStore, cells: Any, slots: Any, owners: Any) -> Overlap | None:
        bad = self._readers.others(slots, owners)
        if bad.any():
            raise self._race(self._readers, node, cells, owners, bad)
        again = self._writers.others(slots, owners)
        if again.any():
            other = again & self._writers.by_another(node, slots)
            if other.any():
                raise self._race(self._writers, node, cells, owners, other)
        many = self._writers.note(node, slots, owners)
        if many is None:
            return None
        extra = int((self._writers.first[slots] != owners).sum())
        return Overlap(extra, Marked(cells[again]) if again.any() else None, Marked(cells[many]))

    def _race(self, met: _Touches, node: Access, cells: Any, owners: Any, bad: Any) -> Race:
        lane = int(np.argmax(bad))
        cell, owner = int(cells[lane]), int(owners[lane])
        first = met.other(cell - self._low, owner)
        assert first is not None, "a race has two sides"
        return Race(cell, first, (owner, node))

    def other_writer(self, cell: int, owner: int) -> int | None:
        """Someone else who wrote `cell`; None where nobody did."""
        slot = cell - self._low
        found = self._writers.other(slot, owner) if 0 <= slot < self._writers.size else None
        return None if found is None else found[0]

    def written(self) -> Any:
        """The cells that something wrote, marked among all of a shadow without a window."""
        return self._writers.first != NOBODY

    def forget(self, passed: Callable[[Any, Any], Any]) -> None:
        """Forget those of whom `passed`, called with cells and owners, says so."""
        for touches in (self._writers, self._readers):
            touches.forget(lambda slots, owners: passed(slots + self._low, owners))

    def clear(self) -> None:
        """Forget everything."""
        for touches in (self._writers, self._readers):
            touches.clear(self._touched)
        self._touched, self._count = [] if self._window else None, 0

    # --- the window ------------------------------------------------------------------------------

    def _slots(self, cells: Any) -> Any:
        """Where the tables hold `cells`; they are made longer where needed."""
        low, high = int(cells.min()), int(cells.max()) + 1
        if low < self._low or high > self._low + self._writers.size:
            self._reach(low, high)
        slots = cells - self._low if self._low else cells
        if self._touched is not None:
            self._touched.append(slots)
            self._count += len(slots) + FEW
            if FEW * self._count > self._writers.size:
                self._touched = None
        return slots

    def _reach(self, low: int, high: int) -> None:
        size = self._writers.size
        if self._touched == []:  # nothing is noted: the window may lie anywhere
            self._low = min(low, self._cells - size)
            if high > self._low + size:
                self._low = low
                self._resize(high - low)
            return
        start, end = min(low, self._low), max(high, self._low + size)
        more = min(self._cells, max(end - start, 2 * size))  # doubled: each cell moves but rarely
        start = max(0, end - more) if start < self._low else min(start, self._cells - more)
        self._resize(more, self._low - start)
        self._low, self._touched = start, None

    def _resize(self, size: int, shift: int | None = None) -> None:
        for touches in (self._writers, self._readers):
            touches.resize(size, shift)


class _Touches:
    """Who touched each slot: the first owner, the first one after it who is another, and how.

    Tables are made when they are first needed; node tables hold the place in `_nodes` of the
    access by which an owner came, and 0 for the only one while there is one.
    """

    def __init__(self, owner: Any, number: Any) -> None:
        self.size = 0
        self._types = {
            "first": owner, "second": owner, "first node": number, "second node": number,
            "mixed": np.dtype(bool),
        }  # fmt: skip
        self._tables: dict[str, Any] = {}
        self._nodes: dict[Access, int] = {}

    @property
    def first(self) -> Any:
        """The first owner to touch each slot, or NOBODY."""
        return self._table("first")

    def others(self, slots: Any, owners: Any) -> Any:
        """The lanes at whose slot somebody else was."""
        found = np.zeros(len(slots), dtype=bool)
        for name in ("first", "second"):
            if name in self._tables:
                who = self._tables[name][slots]
                found |= (who != NOBODY) & (who != owners)
        return found

    def by_another(self, node: Access, slots: Any) -> Any:
        """The lanes at whose slot not all that touched it was `node`."""
        number = self._number(node)
        if "first node" not in self._tables:
            return np.bool_(number != 0)
        return self._tables["mixed"][slots] | (self._tables["first node"][slots] != number)

    def note(self, node: Access, slots: Any, owners: Any) -> Any:
        """Note `owners` at `slots`; the lanes at whose slot there are several, None for none."""
        number, first = self._number(node), self.first
        new = first[slots] == NOBODY
        _put(first, slots, owners, new)
        if len(self._nodes) > 1:
            mixed, nodes = self._table("mixed"), self._table("first node")
            mixed[slots] = ~new & (mixed[slots] | (nodes[slots] != number))
            _put(nodes, slots, number, new)
        apart = first[slots] != owners
        if "second" not in self._tables and not apart.any():
            return None
        second = self._table("second")
        late = apart & (second[slots] == NOBODY)
        _put(second, slots, owners, late)
        if len(self._nodes) > 1:
            _put(self._table("second node"), slots, number, late)
        many = second[slots] != NOBODY
        return many if many.any() else None

    def other(self, slot: int, owner: int) -> tuple[int, Access] | None:
        """Somebody else who touched `slot`, and by what; None where nobody did."""
        nodes = list(self._nodes)
        for name in ("first", "second"):
            table = self._tables.get(name)
            if table is not None and table[slot] not in (NOBODY, owner):
                how = self._tables.get(f"{name} node")
                return int(table[slot]), nodes[0 if how is None else int(how[slot])]
        return None

    def forget(self, passed: Callable[[Any, Any], Any]) -> None:
        for name in ("first", "second"):
            if name in self._tables:
                table = self._tables[name]
                slots = np.flatnonzero(table != NOBODY)
                table[slots[passed(slots, table[slots])]] = NOBODY

    def clear(self, slots: list[Any] | None) -> None:
        """Forget what was noted at `slots`; None: everywhere."""
        for name, table in self._tables.items():
            for some in [...] if slots is None else slots:
                table[some] = self._empty(name)

    def resize(self, size: int, shift: int | None) -> None:
        """Have `size` slots; what was noted moves up by `shift`, None: there is nothing noted."""
        old, self.size = self._tables, size
        self._tables = {}
        if shift is not None:
            for name, table in old.items():
                self._table(name)[shift : shift + len(table)] = table

    def _number(self, node: Access) -> int:
        return self._nodes.setdefault(node, len(self._nodes))

    def _table(self, name: str) -> Any:
        if name not in self._tables:
            self._tables[name] = np.full(self.size, self._empty(name), self._types[name])
        return self._tables[name]

    def _empty(self, name: str) -> int:
        return NOBODY if name in ("first", "second") else 0


def _put(table: Any, slots: Any, values: Any, where: Any) -> None:
    """Write `values` to `slots` in the lanes `where`; of two lanes at one slot, the first's."""
    if not where.all():
        if not where.any():
            return
        slots, values = slots[where], values if np.ndim(values) == 0 else values[where]
    table[slots[::-1]] = values if np.ndim(values) == 0 else values[::-1]
