"""Races: each access judged against those before it, between the blocks and inside them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from workbench.emulate.memo import ENTRY, MOST, Memo
from workbench.emulate.shadow import Access, Overlap, Shadow

Lanes: TypeAlias = "Callable[[], tuple[Any, Any]]"
"""Lists the lanes of one execution when asked: (cells, owners), one element an active lane."""


class Crossing:
    """Judges the accesses of all blocks of a launch to one buffer: nothing orders blocks."""

    def __init__(self, cells: int, blocks: int, accesses: int) -> None:
        self.shadow = Shadow(cells, blocks, accesses)
        self.start()

    def start(self) -> None:
        """Other blocks come: no access is what it was."""
        self._here: Memo[Overlap | None] = Memo()

    def meet(self, key: Hashable, node: Access, lanes: Lanes) -> Overlap | None:
        """Judge the access `node` of these blocks; see `Shadow.judge`. Raises Race."""
        if key in self._here:
            verdict = self._here[key]
            if verdict is not None:
                verdict = self._here[key] = verdict.once_more()
            return verdict
        verdict = self.shadow.judge(node, *lanes())
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
        self.barrier()

    def barrier(self) -> None:
        """Start afresh: what comes now is ordered after all that came before."""
        self._path = [self._root]
        self._here: dict[Hashable, Overlap | None] = {}

    def barrier_of(self, key: Hashable, passed: Callable[[Any, Any], Any]) -> None:
        """A barrier that some blocks meet; `passed` says it of (cells, owners)."""
        self._go(key, lambda shadow: shadow.forget(passed), 0)
        self._here = {}

    def meet(self, key: Hashable, node: Access, lanes: Lanes, size: int) -> Overlap | None:
        """Judge the access `node`; see `Shadow.judge`. Raises Race.

        To remember `lanes` takes `size` bytes.
        """
        if key in self._here:
            verdict = self._here[key]
            if verdict is not None:
                verdict = verdict.once_more()
        else:
            verdict = self._go(key, lambda shadow: shadow.judge(node, *lanes()), size)
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
