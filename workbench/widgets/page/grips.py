"""Numbers of a program that can be taken hold of: the extents of loops, which splits make."""

from __future__ import annotations

from collections.abc import Sequence
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
    With None for `step` no split made it: a new one would, whose inner loop has the value.
    """

    step: int | None
    place: int
    value: int
    ways: dict[int, tuple[int | None, ...]]


def grip_of(node: HistoryNode, loop: Var, offered: Sequence[str] | None = None) -> Grip | None:
    """What changes the extent of a loop of the program; None where it has no number to change.

    The other factors stay, but for the one that is worked out: where a split tells all of them, or
    leaves out this one, its neighbour is. A loop that no split made is split, where that is
    `offered`.
    """
    born = node.first_with(loop)
    step, parent = born.step, born.parent
    if step is None or parent is None or step.verb != "split" or loop not in born.keys:
        return _of_new(node, loop) if offered is None or "split" in offered else None
    factors, place = dict(step.kwargs).get("factors"), born.keys.index(loop)
    loops = born.places[step.func].loops
    extents = [loops[key].extent for key in born.keys if isinstance(key, Var)]
    numbers = [int(extent.value) for extent in extents if isinstance(extent, Const)]
    if not isinstance(factors, tuple) or not len(factors) == len(numbers) == len(extents) > 1:
        return None  # of a size that is no number, or it left loops of one turn away
    hole = factors.index(None) if None in factors else place
    hole = (place + 1) % len(factors) if hole == place else hole
    known = _near(divisors(numbers[place] * numbers[hole]), numbers[place])
    ways = {value: _with(numbers, place, value, hole) for value in known}
    return Grip(born.depth, place, numbers[place], ways)


def _of_new(node: HistoryNode, loop: Var) -> Grip | None:
    """A split that there is not yet: its inner loop has what divides the extent, or a power of two.

    Where that does not divide it, the last turn of the outer loop does less.
    """
    found = node.places[node.func_name].loops.get(loop)
    if found is None or found.kind != "serial" or not isinstance(found.extent, Const):
        return None
    extent = int(found.extent.value)
    if extent < 2:
        return None  # nothing to share out
    powers = (1 << k for k in range(1, (extent - 1).bit_length()))
    known = _near(sorted({*divisors(extent), *powers} - {1}), extent)
    return Grip(None, 1, extent, {value: (None, value) for value in known})


def _near(values: Sequence[int], own: int) -> Sequence[int]:
    at = values.index(own)
    return values[max(0, at - MOST // 2) : at + MOST // 2]


def _with(numbers: list[int], place: int, value: int, hole: int) -> tuple[int | None, ...]:
    changed: list[int | None] = [*numbers]
    changed[place], changed[hole] = value, None
    return tuple(changed)
