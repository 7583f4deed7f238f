"""Numbers of a program that can be taken hold of: the extents of loops that splits made."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.history.history import HistoryNode
from workbench.ir import Const, Var
from workbench.verbs.nest import divisors

MOST = 24
"""Values that one grip has at most, those nearest to its own."""


@dataclass(frozen=True)
class Grip:
    """A loop's extent, and the split that it comes from: the `step`-th on the way to the node.

    The loop is the `place`-th of those that it made; `ways` are its factors for each legal value.
    """

    step: int
    place: int
    value: int
    ways: dict[int, tuple[int | None, ...]]


def grip_of(node: HistoryNode, loop: Var) -> Grip | None:
    """What changes the extent of a loop of the program; None where no split with numbers made it.

    The other factors stay, but for the one that is worked out: where a split tells all of them, or
    leaves out this one, its neighbour is.
    """
    born = node.first_with(loop)
    step, parent = born.step, born.parent
    if step is None or parent is None or step.verb != "split" or loop not in born.keys:
        return None
    factors, place = dict(step.kwargs).get("factors"), born.keys.index(loop)
    loops = born.places[step.func].loops
    extents = [loops[key].extent for key in born.keys if isinstance(key, Var)]
    numbers = [int(extent.value) for extent in extents if isinstance(extent, Const)]
    if not isinstance(factors, tuple) or not len(factors) == len(numbers) == len(extents) > 1:
        return None  # of a size that is no number, or it left loops of one turn away
    hole = factors.index(None) if None in factors else place
    hole = (place + 1) % len(factors) if hole == place else hole
    known = divisors(numbers[place] * numbers[hole])
    at = known.index(numbers[place])
    near = known[max(0, at - MOST // 2) : at + MOST // 2]
    ways = {value: _with(numbers, place, value, hole) for value in near}
    return Grip(born.depth, place, numbers[place], ways)


def _with(numbers: list[int], place: int, value: int, hole: int) -> tuple[int | None, ...]:
    changed: list[int | None] = [*numbers]
    changed[place], changed[hole] = value, None
    return tuple(changed)
