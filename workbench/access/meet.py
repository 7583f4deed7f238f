"""meet: whether two accesses may be at one cell, and how many turns of a loop apart.

Two accesses meet where the indices of both are equal for some values of their variables: a system
of equations between integers, with the bounds of loops and the guards as inequalities (Presburger
arithmetic). Dependence analysis asks it, and so do data races and barriers. What differs from asker
to asker is a `Question`: which variables each side has for itself, and what must not be the same on
both sides, as the loop whose turns are to run at once, or the threads.

The answer comes from the first step that has one, the cheap ones first. Each is a proof by itself,
of fewer constraints than there are, so that what it rules out is ruled out:

1. Bounds. In some dimension, all indices of one side are below those of the other (Banerjee's
   inequalities). What stands still and is the same on both sides is left out of both.
2. Digits. Equal indices make parts of the variables equal: `arith.radix` says which. Where these
   tell all that must differ, no meeting is left.
3. Guards and remainders. With variables of its own for one side, the difference of two indices is
   a sum like any other: that it is too large is proved from the guards of both, or it skips 0 by
   its remainders (GCD test).
4. Points. Within `arith.POINTS` of each side, all cells of one are noted with who is there, and
   those of the other are held against these notes: no pair is left out. Variables that stand still
   and cancel have one value: the cells of both sides move alike with them. Left out with them are
   the guards that they decide; where that lets the two meet, all is looked at with all variables.

So `Never` is a proof for any size, or by exhaustion, and `Meets` has two real iterations. A guard
that data decide counts as holding, so that what only it keeps apart is `Unknown`. Of a load, what
stands still is taken to be the same on both sides.

The names of others: dependence distance and direction for `lags`, Banerjee's bounds and GCD test
(U. Banerjee, Dependence Analysis for Supercomputing, 1988; R. Allen and K. Kennedy, Optimizing
Compilers for Modern Architectures, 2001, chapter 3); exact, by elimination: W. Pugh, The Omega
Test, Supercomputing 1991; S. Verdoolaege, isl, ICMS 2010, which our tests hold this against. What
is ordered by happens-before (L. Lamport, 1978) is not asked here at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

from workbench import arith
from workbench.access.accesses import Access
from workbench.access.facts import facts, follows, skips
from workbench.arith.canonical import Sum
from workbench.arith.evaluate import Env, compiled
from workbench.arith.radix import Fixed
from workbench.ir import Expr, For, Var, free_vars, substitute

_GLANCE = 4  # how many values of each variable are tried first, to find a meeting fast

Cell = tuple[int, ...]
Who = tuple[int, ...]  # the values of all that the question names


@dataclass(frozen=True, slots=True)
class Never:
    """No cell is touched by both: a proof."""


@dataclass(frozen=True, slots=True)
class Lags:
    """Where both touch a cell, the turns of a loop are apart by one of these numbers: a proof."""

    lags: Set[int]


@dataclass(frozen=True, slots=True)
class Meets:
    """Two iterations that touch one cell."""

    first: Env
    second: Env
    cell: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is proved, and no meeting is seen; `why` says what is not bounded."""

    why: str


Answer: TypeAlias = Never | Meets | Unknown


@dataclass(frozen=True, slots=True)
class Question:
    """Which variables have values of their own on each side, and what is not the same on both.

    All variables but `own` have one value on both sides, which `known` may bound. In each group of
    `differ`, at least one expression is not the same: ``(i,)`` are different turns of a loop,
    ``(tx, ty)`` different threads, ``(tx // 32,)`` different warps, and ``(i % 3,)`` turns that are
    not at the same of three copies.
    """

    known: arith.Simplifier
    own: Set[Var]
    differ: tuple[tuple[Expr, ...], ...] = ()

    def asked(self) -> list[Expr]:
        """All that the question names, group by group."""
        return [e for group in self.differ for e in group]


Side: TypeAlias = Access[For]


def meet(sides: Iterable[tuple[Side, Side]], question: Question) -> Answer:
    """Whether the two accesses of a pair may touch one cell, of any pair of one buffer."""
    return look(open_pairs(sides, question))


def open_pairs(sides: Iterable[tuple[Side, Side]], question: Question) -> list[Pair]:
    """The pairs that are not proved never to meet, no point looked at."""
    pairs = (Pair(a, b, question) for a, b in sides if a.buffer is b.buffer)
    return [pair for pair in pairs if not pair.apart()]


def look(pairs: Collection[Pair]) -> Answer:
    """Whether any of `pairs` meets, their points looked at."""
    for glance in (True, False):
        for pair in pairs:
            answer = pair.look(glance)
            if not isinstance(answer, Never):
                return answer
    return Never()


def lags(
    sides: Iterable[tuple[Side, Side]], var: Var, own: Set[Var], dom: arith.Bounds
) -> Lags | Unknown:
    """How many turns of the loop of `var` are between two that touch one cell.

    A number is the turn of the first of a pair less that of the second; none where none meets.
    """
    question = Question(arith.Simplifier(dom), own | {var}, ((var,),))
    together = Question(question.known, question.own)
    between: set[int] = set()
    for pair in open_pairs(sides, together):
        answer = Pair(pair.a, pair.b, question).lags()
        if isinstance(answer, Unknown):
            return answer
        between |= answer.lags
    return Lags(between)


class Pair:
    """Two accesses of one buffer, and what is asked of them."""

    def __init__(self, a: Side, b: Side, question: Question) -> None:
        self.a, self.b, self.question = a, b, question
        self.known = question.known
        indices = zip(a.indices, a.sizes, b.indices, b.sizes, strict=True)
        self.sums = [(self.known.sum_of(x), m, self.known.sum_of(y), n) for x, m, y, n in indices]

    # --- proofs for any size ----------------------------------------------------------------

    def apart(self) -> bool:
        """Whether they are proved never to meet."""
        return (
            any(self._below(*one) for one in self.sums)
            or self._digits_tell()
            or self._never_runs()
            or self._kept_apart()
        )

    def _never_runs(self) -> bool:
        """Whether one of them stands in a loop of no turns."""
        around = {loop.loop_var for loop in (*self.a.loops, *self.b.loops)} | self.question.own
        ends = (self.known.dom.get(var, (0, 0)) for var in around)
        return any(low > high for low, high in ends)

    def _below(self, x: Sum, m: int, y: Sum, n: int) -> bool:
        """Whether `m` indices from `x` on and `n` from `y` on have no number in common."""
        still = self._still(x, y)
        (low_x, high_x), (low_y, high_y) = (
            self.known.interval(side.plus(still, -1)) for side in (x, y)
        )
        return (high_x is not None and low_y is not None and high_x + m <= low_y) or (
            high_y is not None and low_x is not None and high_y + n <= low_x
        )

    def _still(self, x: Sum, y: Sum) -> Sum:
        """What both sums have, and what is the same on both sides."""
        return Sum({
            digit: factor for digit, factor in x.digits.items()
            if y.digits.get(digit) == factor
            and self.question.own.isdisjoint(self.known.variables(digit.base))
        })  # fmt: skip

    def _digits_tell(self) -> bool:
        """Whether equal indices make all the same of a group that must differ."""
        if not self.question.differ:
            return False
        same = Fixed(self.known, self.question.own)
        for x, m, y, n in self.sums:
            same.add(x, y, m, n)
        return any(_tells(same, group) for group in self.question.differ)

    def _kept_apart(self) -> bool:
        """Whether guards or remainders keep the indices of some dimension apart."""
        fresh: dict[Var, Expr] = {}
        dom = dict(self.known.dom)
        for var in self.b.variables() & self.question.own:
            new = fresh[var] = Var(var.name, var.type)
            if var in dom:
                dom[new] = dom[var]
        known = facts([*self.a.guards, *(substitute(guard, fresh) for guard in self.b.guards)])
        for x, m, index, n in zip(
            self.a.indices, self.a.sizes, self.b.indices, self.b.sizes, strict=True
        ):
            y = substitute(index, fresh)
            if follows(y - x - m, known, dom) or follows(x - y - n, known, dom):
                return True
            if skips(x - y, m, n, dom):
                return True
        return False

    # --- looking at points ------------------------------------------------------------------

    def look(self, glance: bool) -> Answer:
        """Whether the two meet; at a glance, over the first values only, `Never` is "not seen"."""
        for still in self._ways()[: 1 if glance else 2]:
            try:
                meeting = self._meeting(still, glance)
            except _NotBoundedError as missing:
                return Never() if glance else Unknown(str(missing))
            if meeting is None:
                return Never()
            if not self._leaves_out(still):
                return meeting
        return Never() if glance else Unknown("data may keep the two apart")

    def lags(self) -> Lags | Unknown:
        """By how much the only value that is asked for differs where the two meet."""
        answer: Lags | Unknown = Unknown("")
        for still in self._ways():
            try:
                before, after = (self._turns(side, still) for side in (self.a, self.b))
            except _NotBoundedError as missing:
                return answer if isinstance(answer, Lags) else Unknown(str(missing))
            both = before.keys() & after.keys()
            answer = Lags({lag for key in both for lag in _differences(before[key], after[key])})
            if not self._leaves_out(still):
                break
        return answer

    def _ways(self) -> tuple[list[Var], list[Var]]:
        """The variables that stand still: those that do not cancel, and all that are used."""
        moving: dict[Var, None] = {}
        for x, _, y, _ in self.sums:
            still = self._still(x, y).digits
            for digit in (*x.digits, *y.digits):
                if digit not in still:
                    moving |= dict.fromkeys(self.known.variables(digit.base))
        used = dict.fromkeys(v for side in (self.a, self.b) for v in _used(side))
        own = self.question.own
        return [v for v in moving if v not in own], [v for v in used if v not in own]

    def _meeting(self, still: list[Var], glance: bool) -> Meets | None:
        """The first meeting that is seen."""
        notes: dict[Cell, dict[Who, Env]] = {}
        for place, who, env in self._rows(self.a, still, glance):
            notes.setdefault(place, {}).setdefault(who, env)
        for place, who, env in self._rows(self.b, still, glance):
            for other, there in notes.get(place, {}).items():
                if self._differ(other, who):
                    return Meets(there, env, cell_text(self.a, place[len(still) :]))
        return None

    def _turns(self, side: Side, still: list[Var]) -> dict[Cell, set[int]]:
        """For each cell, the values of what is asked for."""
        turns: dict[Cell, set[int]] = {}
        for place, (turn,), _ in self._rows(side, still, False):
            turns.setdefault(place, set()).add(turn)
        return turns

    def _differ(self, one: Who, other: Who) -> bool:
        """Whether in each group one value at least is another."""
        start = 0
        for group in self.question.differ:
            end = start + len(group)
            if one[start:end] == other[start:end]:
                return False
            start = end
        return True

    def _rows(self, side: Side, still: list[Var], glance: bool) -> Iterator[tuple[Cell, Who, Env]]:
        """Each cell, behind the values of what stands `still`; who is there; and the iteration.

        What the question names and `side` does not use has all values; two of them are enough where
        it is asked for by itself, for one of two is not that of the other side.
        """
        asked, conditions = self.question.asked(), self._conditions(side, still)
        dom, rank = self.known.dom, len(still) + len(side.indices)
        used = dict.fromkeys(still)
        used |= {v: None for e in (*side.indices, *conditions) for v in free_vars(e)
                 if v in self.question.own}  # fmt: skip
        named = dict.fromkeys(v for e in asked for v in free_vars(e) if v not in used)
        try:
            ranges = arith.ranges_of([*used, *named], dom)
            table = arith.Table([*still, *side.indices, *asked], conditions)
        except KeyError as missing:
            raise _NotBoundedError(f"`{missing.args[0].name}` has no bounds") from None
        except ValueError:
            raise _NotBoundedError("what is in memory says which cell it is") from None
        for var in named:
            if sum(var in free_vars(e) for e in asked if e is not var) == 0:
                ranges[var] = ranges[var][:2]
        turns = arith.count_points({v: r for v, r in ranges.items() if len(r) > 2 or v in used})
        if glance:
            ranges = {v: values[:_GLANCE] for v, values in ranges.items()}
        elif turns * prod(side.sizes) > arith.POINTS:
            raise _NotBoundedError(f"{turns * prod(side.sizes):,} cells are too many to look at")
        cancels = {v: dom.get(v, (0, 0))[0] for e in side.indices for v in free_vars(e)}
        steps = [*product(*map(range, side.sizes))]
        for env, values in table.rows(ranges, cancels, _GLANCE**3 if glance else None):
            place, who = values[:rank], values[rank:]
            corner = place[len(still) :]
            for step in steps:
                cell = (c + d for c, d in zip(corner, step, strict=True))
                yield (*place[: len(still)], *cell), who, env

    def _conditions(self, side: Side, still: Collection[Var]) -> list[Expr]:
        """What of the guards is known before the program runs, told in what is looked at."""
        known = {*self.question.own, *still} & self.known.dom.keys()
        return [
            one for guard in side.guards for one in arith.conjuncts(guard)
            if known.issuperset(free_vars(one)) and not decided_by_data(one)
        ]  # fmt: skip

    def _leaves_out(self, still: Collection[Var]) -> bool:
        """Whether some guard is not looked at."""
        return any(
            len(self._conditions(side, still)) < len(arith.conjuncts(arith.joined(side.guards)))
            for side in (self.a, self.b)
        )


class _NotBoundedError(Exception):
    """What keeps points from being looked at."""


def _tells(same: Fixed, group: Sequence[Expr]) -> bool:
    """Whether what is the same makes all of `group` the same."""
    digits = (digit for e in group for digit in same.known.sum_of(e).digits)
    if not any(map(same.moves, digits)):
        return True
    used = {v for e in group for v in free_vars(e)}
    dom = {v: same.known.dom[v] for v in used if v in same.known.dom}
    about = [part for part in same.parts() if used.issuperset(free_vars(part))]
    return bool(about) and len(dom) == len(used) and arith.is_injective(about, dom) is True


def _used(side: Side) -> Iterator[Var]:
    return (v for e in (*side.indices, *side.guards) for v in free_vars(e))


def _differences(before: Set[int], after: Set[int]) -> Collection[int]:
    if len(before) * len(after) > arith.POINTS:
        return range(min(before) - max(after), max(before) - min(after) + 1)
    return {one - other for one in before for other in after}


def decided_by_data(e: Expr) -> bool:
    """Whether what is in memory, or what is called, says what `e` is."""
    try:
        compiled(e)
    except ValueError:
        return True
    return False


def cell_text(side: Side, place: Cell) -> str:
    """A cell of the buffer of `side` as people write it."""
    return f"{side.buffer.name}[{', '.join(map(str, place))}]"


# --- an example to show ---------------------------------------------------------------------------


def first_meeting(loop: For, sides: Sequence[Side], dom: arith.Bounds) -> Meets | None:
    """The first two turns of `loop` in which `sides` are at one cell, of those looked at.

    In the order in which they run, for an example that people can follow: in one turn of the loops
    around, the loops inside afresh in each of the two.
    """
    inside = {each.loop_var for side in sides for each in side.loops}
    used = {v for side in sides for v in side.variables() if v in dom and v is not loop.loop_var}
    around = arith.ranges_of([v for v in dom if v in used - inside], dom)
    turns = arith.ranges_of([loop.loop_var], dom)
    ways = []
    for side in sides:
        own = arith.ranges_of([v for v in dom if v in inside & used & side.variables()], dom)
        ways.append((side, own, arith.Table(side.indices, side.guards)))
    left = arith.POINTS
    for outer in arith.points(around, left):
        seen: dict[tuple[object, Cell], Env] = {}
        for turn in arith.points(turns, left):
            for side, own, table in ways:
                meeting = _seen(table.rows(own, {**outer, **turn}, left), side, loop.loop_var, seen)
                if meeting is not None:
                    return meeting
                left -= min(left, arith.count_points(own))
            if left <= 0:
                return None
    return None


def _seen(
    rows: Iterator[tuple[Env, Cell]], side: Side, var: Var, seen: dict[tuple[object, Cell], Env]
) -> Meets | None:
    """The first of `rows` at a cell that was `seen` at another value of `var`; notes the others."""
    for env, corner in rows:
        for step in product(*map(range, side.sizes)):
            place = tuple(c + d for c, d in zip(corner, step, strict=True))
            before = seen.setdefault((side.buffer, place), env)
            if before[var] != env[var]:
                return Meets(before, env, cell_text(side, place))
    return None
