"""kinds_of_requests: what all blocks, warps and turns ask by an access, the alike together.

Every block, warp and turn counts, and none is left to a sample. That many are alike makes it quick.
An address is a sum over digits of the loops around (see `emulate/kernels/affine.py`): what the
threads add to it, lane by lane, and what blocks and turns add, the same for all lanes. How many
sectors a request touches depends on the latter modulo a sector alone, and wavefronts only modulo a
word, since a shift by words renames the banks. So digits that no condition asks about are counted
by remainders. A condition is ``outer + own < 0``, of a part that is the same for all threads and
one that is a thread's own: it says the same of all blocks and turns whose part lies between the
same two of the threads' own, so a grid with a tail has two kinds of blocks, however many it has.
What is no such sum is looked at value by value; parts that share no digit are apart, and their
kinds multiply.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from math import gcd, prod
from typing import Any

import numpy as np

from workbench.arith import reads_memory
from workbench.emulate.kernels.affine import Digit, Digits, Form
from workbench.insight.accesses import Access
from workbench.insight.sectors import SECTOR
from workbench.insight.spread import value
from workbench.insight.warps import IDLE, in_warps, threads_of
from workbench.insight.wavefronts import WARP, WORD
from workbench.ir import (
    BinOp,
    Const,
    Expr,
    For,
    Kernel,
    Not,
    Ramp,
    Var,
    binary,
    dtypes,
    free_vars,
    once,
    walk_statements,
)

MOST = 1 << 22  # values, or lanes, that are looked at one by one for an access
GONE = -(1 << 63)  # the place of a lane that a condition lets sleep


class UnknownError(Exception):
    """The requests of an access are not known."""


@dataclass(frozen=True, slots=True)
class _Kinds:
    """The kinds of blocks and turns that some digits make.

    `places` has a row a kind, with what is added to the address of each thread in bytes, GONE where
    it sleeps; `shifts` is what is added for all, modulo the period; `times` how many are so. Of
    each kind `firsts` has one, by the value of each digit of blocks and turns.
    """

    places: Any
    shifts: Any
    times: Any
    firsts: Any

    def merged(self) -> _Kinds:
        """The same with each kind once, without those of which all threads sleep."""
        awake = (self.places != GONE).any(axis=1)
        rows = np.column_stack([self.places, self.shifts])[awake]
        first, kind = _alike(rows)
        times = np.zeros(len(first), dtype=np.int64)
        np.add.at(times, kind, self.times[awake])
        return _Kinds(rows[first, :-1], rows[first, -1], times, self.firsts[awake][first])


@dataclass(frozen=True, slots=True)
class Examples:
    """The different requests of an access, with one place of each.

    `table` has a row of 32 byte addresses a request, IDLE where a lane sleeps, up to shifts by
    sectors (global memory) or words (shared); `times` is how often each is made. Of the one that is
    told, `warps` is the number of the warp, `elements` that of the element of a strided vector, and
    `turns` those of the loops of blocks and turns around.
    """

    table: Any
    times: Any
    warps: Any
    elements: Any
    turns: Mapping[Var, Any]


def kinds_of_requests(kernel: Kernel, access: Access) -> tuple[Any, Any]:
    """The different requests of an access, and how often each is made: see `Examples`.

    Raises UnknownError where data or sizes decide, or there is too much to look at.
    """
    found = examples_of_requests(kernel, access)
    return found.table, found.times


def examples_of_requests(kernel: Kernel, access: Access) -> Examples:
    """The different requests of an access, and where one of each is made.

    Raises UnknownError where data or sizes decide, or there is too much to look at.
    """
    index = access.indices[0]
    asked = [index, *access.guards]
    if _varying(kernel) & {loop.var for loop in access.loops} or any(map(reads_memory, asked)):
        raise UnknownError
    period = WORD if access.buffer.scope == "shared" else SECTOR
    counter = _Counter(kernel, access, period)
    kinds = counter.kinds()
    places = np.where(kinds.places == GONE, 0, kinds.places) + kinds.shifts[:, None] + counter.own
    places -= places.min(axis=1, keepdims=True) // period * period
    size = dtypes.itemsize(access.buffer.type)
    if isinstance(index, Ramp):  # no element at a negative address, where the vector goes down
        places += period * size * max(0, -index.stride) * index.lanes
    table, each = in_warps(index, np.where(kinds.places == GONE, IDLE, places), size, WARP)
    awake = (table != IDLE).any(axis=1)
    kind, row = np.divmod(np.arange(len(table))[awake], each)
    element, warp = np.divmod(row, -(-counter.many // WARP))
    return Examples(
        table[awake],
        kinds.times[kind] * counter.outside,
        warp,
        element,
        counter.turns(kinds.firsts[kind]),
    )


@once
def _varying(kernel: Kernel) -> set[Var]:
    """The variables of the loops of which no number says how often they run."""
    loops = (node for node in walk_statements(kernel.body) if isinstance(node, For))
    return {loop.loop_var for loop in loops if not isinstance(loop.extent, Const)}


class _Counter:
    """The kinds of blocks and turns of one access.

    `own` is what each thread adds to the address, in bytes; `outside` how many blocks or turns
    there are that say nothing.
    """

    def __init__(self, kernel: Kernel, access: Access, period: int) -> None:
        self.period, self.size = period, dtypes.itemsize(access.buffer.type)
        self.threads = threads_of(kernel)
        self.many = prod(kernel.block)
        self.conditions = [_plain(part) for guard in access.guards for part in _parts(guard)]
        index = access.indices[0]
        self.base = index.base if isinstance(index, Ramp) else index
        self.digits = Digits({loop.var: loop.extent for loop in access.loops}, {})
        sides = [side for c in self.conditions if isinstance(c, BinOp) for side in (c.a, c.b)]
        self.digits.cut_for([self.base, *sides])
        blocks = prod(loop.extent for loop in access.loops if loop.role == "block")
        self.outside = prod(kernel.grid) // max(blocks, 1)
        self.form = self.digits.form(self.base)
        self.own = (self._of_threads(self.form) + self.form.const) * self.size
        # innermost first: what is told of a kind is the first in time, as far as one part says it
        order = [loop.var for loop in reversed(access.loops) if loop.var not in self.threads]
        self.order = [digit for var in order for digit in reversed(self.digits.of[var])]

    def turns(self, firsts: Any) -> dict[Var, Any]:
        """The number of each loop of blocks and turns, of the values of digits."""
        turns: dict[Var, Any] = {}
        for digit, first in zip(self.order, firsts.T, strict=True):
            turns[digit.var] = turns.get(digit.var, 0) + first * digit.stride
        return turns

    def kinds(self) -> _Kinds:
        """All blocks and turns, the alike together."""
        items: list[tuple[frozenset[Digit], list[Expr], bool]] = [
            (self._asked_by(condition), [condition], False) for condition in self.conditions
        ]
        if self.form.rest:
            wanted = frozenset(d for e, _ in self.form.rest for d in self._outer(free_vars(e)))
            items.append((wanted, [], True))
        items += [(frozenset([digit]), [], False) for digit in self._outer(self.digits.of)]
        every = list(_apart(items))
        parts = [part for part in every if not self._comes_round(*part)]
        alike = (part[0] for part in every if self._comes_round(*part))
        times = prod(digit.size for digits in alike for digit in digits)
        if not parts:
            none = (np.zeros((1, wide), np.int64) for wide in (self.many, len(self.order)))
            return _Kinds(next(none), np.zeros(1, np.int64), np.full(1, times), next(none))
        found = reduce(self._both, (self._part(*part) for part in parts))
        return replace(found, times=found.times * times)

    def _comes_round(self, digits: frozenset[Digit], conditions: list[Expr], rest: bool) -> bool:
        """Whether all values of some digits ask alike: they shift by whole periods."""
        return not conditions and not rest and self._round(digits) == 1

    def _both(self, a: _Kinds, b: _Kinds) -> _Kinds:
        """The kinds of two parts that have no digit in common."""
        if len(a.times) * len(b.times) * self.many > MOST:
            raise UnknownError
        one, other = a.places[:, None], b.places[None]
        places = np.where((one == GONE) | (other == GONE), GONE, one + other)
        return _Kinds(
            places.reshape(-1, self.many),
            ((a.shifts[:, None] + b.shifts) % self.period).reshape(-1),
            (a.times[:, None] * b.times).reshape(-1),
            (a.firsts[:, None] + b.firsts).reshape(len(a.times) * len(b.times), len(self.order)),
        ).merged()

    def _part(self, digits: frozenset[Digit], conditions: list[Expr], rest: bool) -> _Kinds:
        """The kinds that `digits` make, by `conditions` and what is not linear of the index."""
        every = prod(digit.size for digit in digits)
        number = every if conditions or rest else self._round(digits)
        if number > MOST:
            raise UnknownError
        left, values, shifts = np.arange(number), {}, np.zeros(number, np.int64)
        for digit in (d for d in self.order if d in digits):
            values[digit], left = left % digit.size, left // digit.size
            shifts += self.form.terms.get(digit, 0) * self.size * values[digit]
        shifts %= self.period
        told = [self._told(condition, values, number) for condition in conditions]
        if rest:
            told.append(self._rest(values, number))
        key = shifts
        for kind, places in told:
            key = key * len(places) + kind
        _, first, kind = np.unique(key, return_index=True, return_inverse=True)
        alike = (every - np.arange(number) - 1) // number + 1  # values that each stands for
        times = np.bincount(kind.reshape(-1), alike).astype(np.int64)
        if len(first) * self.many > MOST:
            raise UnknownError
        found = np.zeros((len(first), self.many), np.int64)
        for kind, places in told:
            added = places[kind[first]]
            found = np.where((found == GONE) | (added == GONE), GONE, found + added)
        firsts = np.zeros((len(first), len(self.order)), np.int64)
        for k, digit in enumerate(self.order):
            if digit in digits:
                firsts[:, k] = values[digit][first]
        return _Kinds(found, shifts[first], times, firsts).merged()

    def _round(self, digits: frozenset[Digit]) -> int:
        """After how many values of a digit its shifts come round; all values of several digits."""
        if len(digits) != 1:
            return prod(digit.size for digit in digits)
        (digit,) = digits
        step = self.form.terms.get(digit, 0) * self.size
        return min(digit.size, self.period // gcd(step, self.period))

    def _told(self, condition: Expr, values: Mapping[Digit, Any], number: int) -> tuple[Any, Any]:
        """Of each value of the digits which row it has of those that are given with it.

        In a row is 0 for a thread of which the condition holds, else GONE.
        """
        form = self._difference(condition)
        if form is None:
            rows = np.asarray(self._value(condition, values, number), bool)
            first, kind = _alike(np.packbits(rows, axis=1))
            return kind, np.where(rows[first], 0, GONE)
        own = self._of_threads(form)
        outer = np.full(number, form.const)
        for digit, factor in form.terms.items():
            outer += factor * values.get(digit, 0)  # type: ignore[arg-type]  # a Digit
        # of a thread it says the same of all that lie on one side of the thread's own part
        sides = np.unique(-own)
        side = np.searchsorted(sides, outer, "left") + np.searchsorted(sides, outer, "right")
        _, first, kind = np.unique(side, return_index=True, return_inverse=True)
        assert isinstance(condition, BinOp)
        holds = _HOLDS[condition.op](outer[first][:, None] + own)
        return kind.reshape(-1), np.where(holds, 0, GONE)

    def _rest(self, values: Mapping[Digit, Any], number: int) -> tuple[Any, Any]:
        """As `_told`, of what is not linear of the index; in a row are bytes."""
        rest = self.form.rest
        rows = sum(f * self._value(e, values, number).astype(np.int64) for e, f in rest) * self.size
        rows -= rows.min(axis=1, keepdims=True) // self.period * self.period
        first, kind = _alike(rows)
        return kind, rows[first]

    def _value(self, expr: Expr, values: Mapping[Digit, Any], number: int) -> Any:
        """`expr` for each value of the digits, a row each, and each thread."""
        if number * self.many > MOST:
            raise UnknownError
        env: dict[Var, Any] = dict(self.threads)
        for var in free_vars(expr) - env.keys():
            parts = (values.get(d, 0) * d.stride for d in self.digits.of[var])
            env[var] = np.asarray(sum(parts), np.int64).reshape(-1, 1)
        return np.broadcast_to(np.asarray(value(expr, env)), (number, self.many))

    def _difference(self, condition: Expr) -> Form | None:
        """The left side less the right one, if the condition compares sums of digits."""
        if not isinstance(condition, BinOp) or condition.op not in _HOLDS:
            return None
        if not condition.a.dtype.startswith("int"):
            return None
        form = self.digits.form(condition.a).plus(self.digits.form(condition.b).scaled(-1))
        return None if form.rest else form

    def _asked_by(self, condition: Expr) -> frozenset[Digit]:
        form = self._difference(condition)
        if form is None:
            return self._outer(free_vars(condition))
        return self._outer(self.digits.of) & form.terms.keys()

    def _outer(self, variables: Iterable[Var]) -> frozenset[Digit]:
        """The digits of those of `variables` that are no threads."""
        outer = (v for v in variables if v not in self.threads)
        return frozenset(d for v in outer for d in self.digits.of[v] if d.size != 1)

    def _of_threads(self, form: Form) -> Any:
        """What the digits of threads add to a form, thread by thread."""
        own = np.zeros(self.many, np.int64)
        for digit, factor in form.terms.items():
            if isinstance(digit, Digit) and digit.var in self.threads:
                own += factor * (self.threads[digit.var] // digit.stride % digit.size)
        return own


_HOLDS = {
    "<": lambda sums: sums < 0,
    "<=": lambda sums: sums <= 0,
    ">": lambda sums: sums > 0,
    ">=": lambda sums: sums >= 0,
    "==": lambda sums: sums == 0,
    "!=": lambda sums: sums != 0,
}
_NOT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _parts(guard: Expr) -> Iterator[Expr]:
    """What holds together where `guard` does."""
    if isinstance(guard, BinOp) and guard.op == "and":
        yield from _parts(guard.a)
        yield from _parts(guard.b)
    else:
        yield guard


def _plain(condition: Expr) -> Expr:
    """`condition` without a `not` in front of a comparison."""
    inner = condition.a if isinstance(condition, Not) else None
    if isinstance(inner, BinOp) and inner.op in _NOT:
        return binary(_NOT[inner.op], inner.a, inner.b)
    return condition


def _apart(
    items: Iterable[tuple[frozenset[Digit], list[Expr], bool]],
) -> list[tuple[frozenset[Digit], list[Expr], bool]]:
    """The items that share a digit put together."""
    groups: list[tuple[frozenset[Digit], list[Expr], bool]] = []
    for item in items:
        met = [group for group in groups if group[0] & item[0]]
        groups = [group for group in groups if not group[0] & item[0]]
        digits, conditions, rest = zip(item, *met, strict=True)
        groups.append((frozenset().union(*digits), [*chain(*conditions)], any(rest)))
    return groups


def _alike(rows: Any) -> tuple[Any, Any]:
    """Where each of the different rows stands first, and which of these each row is."""
    rows = np.ascontiguousarray(rows)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
    _, first, kind = np.unique(whole, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)
