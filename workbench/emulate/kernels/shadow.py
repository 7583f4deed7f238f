"""Shadow: who wrote and who read each cell of a buffer, and what a further access means.

A race is two lanes that touch one cell, one of them writing, with no barrier between. That is seen
without a list of all accesses, from two names a cell for writers and two for readers. Say that the
owners `first` and `second` are the first two different ones that wrote the cell. A new access of
owner `o` meets another writer if and only if one of the two is there and not `o`: where only `o`
wrote, `first` is `o` and `second` nobody; where somebody else did, he is one of the two, or both of
them are others. The same holds for readers. So what is kept a cell does not grow, and no race is
missed or made up. Owners are threads between two barriers (`Watch`), and blocks over a whole launch
(`Crossing`), since nothing orders blocks. Several writers of one cell by one and the same store are
an overlap, not yet a race: whether they write equal bits is seen from the values.

A verdict depends on nothing but which accesses came since the last barrier, each told by a key:
the statement, its mask, and the turn of the serial loops in its index. A kernel's loops bring the
same sequences again and again. So the sequences seen form a tree, whose places remember the
verdicts, and the shadow is filled only for a sequence that leaves the tree, by doing again what
leads there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from workbench.emulate.expressions import Site
from workbench.emulate.memory import ENTRY, MOST, Memo
from workbench.ir import BufferStore

Lanes: TypeAlias = Callable[[], tuple[Any, Any]]
"""Lists the lanes of one execution when asked: (cells, owners), one element an active lane."""

NOBODY = -1
FEW = 16  # cells are cleared one by one where less than one in so many was touched


class Race(Exception):
    """Two lanes met on `cell`; `first` and `second` are (owner, access)."""

    def __init__(self, cell: int, first: tuple[int, Site], second: tuple[int, Site]) -> None:
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

    def judge(self, site: Site, cells: Any, owners: Any) -> Overlap | None:
        """Note that `owners` touch `cells`, one a lane; None where nobody writes what others do.

        Raises Race where two owners meet on a cell that one of them writes; those that write it
        by one and the same statement overlap instead.
        """
        if not len(cells):
            return None
        slots, owners = self._slots(cells), owners.astype(self._owner)

        def refuse(met: _Touches, bad: Any) -> None:
            if bad.any():
                lane = int(np.argmax(bad))
                first = met.find_other(int(slots[lane]), int(owners[lane]))
                assert first is not None, "a race has two sides"
                raise Race(int(cells[lane]), first, (int(owners[lane]), site))

        if not isinstance(site, BufferStore):
            refuse(self._writers, self._writers.meets_others(slots, owners))
            self._readers.note(site, slots, owners)
            return None
        refuse(self._readers, self._readers.meets_others(slots, owners))
        again = self._writers.meets_others(slots, owners)
        if again.any():
            refuse(self._writers, again & self._writers.meets_another_site(site, slots))
        many = self._writers.note(site, slots, owners)
        if many is None:
            return None
        extra = int((self._writers.first[slots] != owners).sum())
        return Overlap(extra, Marked(cells[again]) if again.any() else None, Marked(cells[many]))

    def other_writer(self, cell: int, owner: int) -> int | None:
        """Someone else who wrote `cell`; None where nobody did."""
        slot = cell - self._low
        if not 0 <= slot < self._writers.size:
            return None
        other = self._writers.find_other(slot, owner)
        return None if other is None else other[0]

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

    Tables are made when they are first needed; site tables hold the place in `_sites` of the
    access by which an owner came, and 0 for the only one while there is one.
    """

    def __init__(self, owner: Any, number: Any) -> None:
        self.size = 0
        self._types = {
            "first": owner, "second": owner, "first site": number, "second site": number,
            "mixed": np.dtype(bool),
        }  # fmt: skip
        self._tables: dict[str, Any] = {}
        self._sites: dict[Site, int] = {}

    @property
    def first(self) -> Any:
        """The first owner to touch each slot, or NOBODY."""
        return self._table("first")

    def meets_others(self, slots: Any, owners: Any) -> Any:
        """The lanes at whose slot somebody else was."""
        others = np.zeros(len(slots), dtype=bool)
        for name in ("first", "second"):
            if name in self._tables:
                who = self._tables[name][slots]
                others |= (who != NOBODY) & (who != owners)
        return others

    def meets_another_site(self, site: Site, slots: Any) -> Any:
        """The lanes at whose slot not all that touched it was `site`."""
        number = self._number_of(site)
        if "first site" not in self._tables:
            return np.bool_(number != 0)
        return self._tables["mixed"][slots] | (self._tables["first site"][slots] != number)

    def note(self, site: Site, slots: Any, owners: Any) -> Any:
        """Note `owners` at `slots`; the lanes at whose slot there are several, None for none."""
        number, first = self._number_of(site), self.first
        new = first[slots] == NOBODY
        _put(first, slots, owners, new)
        if len(self._sites) > 1:
            mixed, sites = self._table("mixed"), self._table("first site")
            mixed[slots] = ~new & (mixed[slots] | (sites[slots] != number))
            _put(sites, slots, number, new)
        apart = first[slots] != owners
        if "second" not in self._tables and not apart.any():
            return None
        second = self._table("second")
        late = apart & (second[slots] == NOBODY)
        _put(second, slots, owners, late)
        if len(self._sites) > 1:
            _put(self._table("second site"), slots, number, late)
        many = second[slots] != NOBODY
        return many if many.any() else None

    def find_other(self, slot: int, owner: int) -> tuple[int, Site] | None:
        """Somebody else who touched `slot`, and by what; None where nobody did."""
        sites = list(self._sites)
        for name in ("first", "second"):
            table = self._tables.get(name)
            if table is not None and table[slot] not in (NOBODY, owner):
                how = self._tables.get(f"{name} site")
                return int(table[slot]), sites[0 if how is None else int(how[slot])]
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

    def _number_of(self, site: Site) -> int:
        return self._sites.setdefault(site, len(self._sites))

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


# --- verdicts, worked out once each ---------------------------------------------------------------


class Crossing:
    """Judges the accesses of all blocks of a launch to one buffer: nothing orders blocks."""

    def __init__(self, cells: int, blocks: int, accesses: int) -> None:
        self.shadow = Shadow(cells, blocks, accesses)
        self.start()

    def start(self) -> None:
        """Other blocks come: no access is what it was."""
        self._here: Memo[Overlap | None] = Memo()

    def judge(self, key: Hashable, site: Site, lanes: Lanes) -> Overlap | None:
        """Judge the access `site` of these blocks; see `Shadow.judge`. Raises Race."""
        if key in self._here:
            verdict = self._here[key]
            if verdict is not None:
                verdict = self._here[key] = verdict.once_more()
            return verdict
        verdict = self.shadow.judge(site, *lanes())
        self._here.keep(key, verdict, 0 if verdict is None else verdict.nbytes)
        return verdict


@dataclass(slots=True)
class _Place:
    """A point in the tree of all orders in which accesses came after a barrier.

    `redo` does to a shadow what the access did that leads here from the place before.
    """

    redo: Callable[[Shadow], Overlap | None]
    verdict: Overlap | None = None
    after: dict[Hashable, _Place] = field(default_factory=dict)


class Watch:
    """Judges each access of some threads to one buffer against those since the last barrier.

    A verdict depends only on which accesses came before, so each is worked out once: the places of
    the tree remember it. Only for a new access does the shadow see all those before it again.
    Where remembering would take too much room, all is forgotten but the shadow itself.
    """

    def __init__(self, shadow: Shadow) -> None:
        self._shadow = shadow
        self.start()

    def start(self) -> None:
        """Other threads come: no access is what it was."""
        self._root = _Place(lambda shadow: None)
        self._kept = 0
        self._shown: _Place | None = None  # the place whose accesses the shadow holds
        self.pass_barrier()

    def pass_barrier(self) -> None:
        """Start afresh: what comes now is ordered after all that came before."""
        self._path = [self._root]
        self._here: dict[Hashable, Overlap | None] = {}

    def pass_barrier_of(self, key: Hashable, passed: Callable[[Any, Any], Any]) -> None:
        """A barrier that some blocks meet; `passed` says it of (cells, owners)."""
        self._go(key, lambda shadow: shadow.forget(passed), 0)
        self._here = {}

    def judge(self, key: Hashable, site: Site, lanes: Lanes, size: int) -> Overlap | None:
        """Judge the access `site`; see `Shadow.judge`. Raises Race.

        To remember `lanes` takes `size` bytes.
        """
        if key in self._here:
            verdict = self._here[key]
            if verdict is not None:
                verdict = verdict.once_more()
        else:
            verdict = self._go(key, lambda shadow: shadow.judge(site, *lanes()), size)
        self._here[key] = verdict
        return verdict

    def other_writer(self, cell: int, owner: int) -> int | None:
        """Someone else who wrote `cell` since the last barrier; None where nobody did."""
        self._show()
        return self._shadow.other_writer(cell, owner)

    def _go(
        self, key: Hashable, redo: Callable[[Shadow], Overlap | None], size: int
    ) -> Overlap | None:
        """Go on to the place after this one that `key` leads to; the verdict there."""
        place = self._path[-1].after.get(key)
        if place is None:
            self._show()
            place = _Place(redo, redo(self._shadow))
            self._kept += ENTRY + size + (place.verdict.nbytes if place.verdict else 0)
            if self._kept > MOST:
                self._root.after.clear()
                self._path, self._here, self._kept = [place], {}, 0
            else:
                self._path[-1].after[key] = place
                self._path.append(place)
            self._shown = place
        else:
            self._path.append(place)
        return place.verdict

    def _show(self) -> None:
        if self._shown is self._path[-1]:
            return
        self._shadow.clear()
        for place in self._path:
            place.redo(self._shadow)
        self._shown = self._path[-1]
