"""points: iterations looked at one by one, where nothing is proved for all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product
from math import prod

from workbench.arith.canonical import Bounds
from workbench.ir import Var

# How many points a question may look at: some tens of milliseconds. It counts points and no time,
# so that a history replays alike on every machine.
POINTS = 20_000

Ranges = Mapping[Var, range]


def ranges_of(variables: Collection[Var], dom: Bounds) -> dict[Var, range]:
    """The values of each of `variables`. Raises KeyError for one that `dom` does not bound."""
    return {v: range(dom[v][0], dom[v][1] + 1) for v in variables}


def count_points(ranges: Ranges) -> int:
    """How many assignments `points` goes through."""
    return prod(len(values) for values in ranges.values())


def points(ranges: Ranges) -> Iterator[dict[Var, int]]:
    """Every assignment of a value to each variable, those of the last one next to each other."""
    for values in product(*ranges.values()):
        yield dict(zip(ranges, values, strict=True))
