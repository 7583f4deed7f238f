"""points: iterations looked at one by one, where nothing is proved for all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod

from workbench.arith.canonical import Bounds
from workbench.arith.evaluate import Env, compiled
from workbench.ir import Expr, Var

# How many points a question may look at: some tens of milliseconds. It counts points and no time,
# so that a history replays alike on every machine.
POINTS = 20_000

Ranges = Mapping[Var, Sequence[int]]


def ranges_of(variables: Collection[Var], dom: Bounds) -> dict[Var, range]:
    """The values of each of `variables`. Raises KeyError for one that `dom` does not bound."""
    return {v: range(dom[v][0], dom[v][1] + 1) for v in variables}


def count_points(ranges: Ranges) -> int:
    """How many assignments `points` goes through."""
    return prod(len(values) for values in ranges.values())


def points(ranges: Ranges, most: int | None = None) -> Iterator[dict[Var, int]]:
    """Every assignment of a value to each variable, those of the last one next to each other.

    With `most`, the first so many of them.
    """
    each = (values[:most] for values in ranges.values())  # a product keeps them all in memory
    variables = tuple(ranges)
    for values in islice(product(*each), most):
        yield dict(zip(variables, values))  # noqa: B905  (as many; asked at each point)


class Table:
    """What expressions come to at points where conditions hold; each is compiled once.

    Whoever looks at iterations one by one does it through `rows`: bound the work first, with
    ``count_points(ranges) <= POINTS`` or with `most`.

    >>> i, j = Var("i"), Var("j")
    >>> table = Table([i * 2 + j], [i < j])
    >>> [values for _, values in table.rows({j: range(3)}, {i: 0})]
    [(1,), (2,)]

    Raises ValueError for what has no value before the program runs: a load, a float.
    """

    def __init__(self, exprs: Sequence[Expr], conditions: Sequence[Expr] = ()) -> None:
        self._exprs = [compiled(e) for e in exprs]
        self._conditions = [compiled(e) for e in conditions]

    def rows(
        self, ranges: Ranges, around: Env | None = None, most: int | None = None
    ) -> Iterator[tuple[Env, tuple[int, ...]]]:
        """Each point where the conditions hold, in order, and the values of the expressions there.

        A condition is asked where those before it hold; points at which something is divided by 0
        are left out. `around` has values that stay. With `most`, only so many points are looked at.
        Raises KeyError for a variable that has no value.
        """
        still = {v: (value,) for v, value in (around or {}).items() if v not in ranges}
        for env in points({**still, **ranges}, most):
            try:
                for holds in self._conditions:
                    if not holds(env):
                        break
                else:
                    yield env, tuple([value(env) for value in self._exprs])
            except ZeroDivisionError:  # nothing runs there: a program that divides by 0 is none
                continue
