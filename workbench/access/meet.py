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
   its remainders (GCD test). Where a guard stops a sum of loops, the sum is as good as a loop: one
   access that is injective in these does not meet itself.
4. Points. Within `arith.POINTS` of each side, all cells of one are noted with who is there, and
   those of the other are held against these notes: no pair is left out. Variables that stand still
   and cancel have one value: the cells of both sides move alike with them (but for what is divided
   by, where a value that it never has could be 0). Left out with them are the guards that they
   decide; where that lets the two meet, all is looked at with all variables. A few points are tried
   before step 3: most that meets is seen there.

So `Never` is a proof for any size, or by exhaustion, and `Meets` has two real iterations. A guard
that data decide counts as holding, so that what only it keeps apart is `Unknown`. Of a load, what
stands still is the same on both sides, but where its buffer is `changing` between them.

The names of others: dependence distance and direction for `lags`, Banerjee's bounds and GCD test
(U. Banerjee, Dependence Analysis for Supercomputing, 1988; R. Allen and K. Kennedy, Optimizing
Compilers for Modern Architectures, 2001, chapter 3); exact, by elimination: W. Pugh, The Omega
Test, Supercomputing 1991; S. Verdoolaege, isl, ICMS 2010, which our tests hold this against. What
is ordered by happens-before (L. Lamport, 1978) is not asked here at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from heapq import merge
from itertools import product, repeat
from math import prod
from operator import add
from typing import NamedTuple, TypeAlias

from workbench import arith
from workbench.access.accesses import Access
from workbench.access.counters import one_to_one
from workbench.access.facts import facts, follows, skips
from workbench.arith.canonical import Sum
from workbench.arith.evaluate import Env, compiled
from workbench.arith.radix import Fixed
from workbench.ir import (
    BinOp,
    Buffer,
    BufferLoad,
    Expr,
    For,
    Node,
    Var,
    free_vars,
    rebuild,
    substitute,
    walk,
)

_GLANCE = 4  # how many values of each variable are tried first, to find a meeting fast


Side: TypeAlias = Access[For]


@dataclass(frozen=True, slots=True)
class Never:
    """No cell is touched by both: a proof."""


@dataclass(frozen=True, slots=True)
class Lags:
    """Where both touch a cell, the turns of a loop are apart by one of these numbers: a proof."""

    lags: Set[int]


class Touch(NamedTuple):
    """A cell that `side` touches in an iteration.

    `still` are the values there of what is the same on both sides, `who` of what is asked for.
    """

    still: tuple[int, ...]
    who: tuple[int, ...]
    cell: tuple[int, ...]
    env: Env
    side: Side

    @property
    def text(self) -> str:
        """The cell as people write it."""
        return f"{self.side.buffer.name}[{', '.join(map(str, self.cell))}]"


@dataclass(frozen=True, slots=True)
class Meets:
    """Two iterations that touch one cell."""

    first: Touch
    second: Touch


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
    not at the same of three copies. What is in a buffer that is `changing`, since it is written
    between or around the two, may be another value at each load.
    """

    known: arith.Simplifier
    own: Set[Var]
    differ: tuple[tuple[Expr, ...], ...] = ()
    changing: Set[Buffer] = frozenset()


def meet(sides: Iterable[tuple[Side, Side]], question: Question) -> Answer:
    """Whether the two accesses of a pair may touch one cell, of any pair of one buffer."""
    pairs = [pair for pair in _pairs(sides, question) if not pair.far()]
    for pair in pairs:  # what meets is mostly seen at a glance, where proofs go through all steps
        answer = pair.look(glance=True)
        if not isinstance(answer, Never):
            return answer
    for pair in pairs:
        answer = Never() if pair.kept_apart() else pair.look(glance=False)
        if not isinstance(answer, Never):
            return answer
    return Never()


def open_pairs(sides: Iterable[tuple[Side, Side]], question: Question) -> list[Pair]:
    """The pairs that are not proved never to meet, no point looked at."""
    return [p for p in _pairs(sides, question) if not p.far() and not p.kept_apart()]


def _pairs(sides: Iterable[tuple[Side, Side]], question: Question) -> Iterator[Pair]:
    return (Pair(a, b, question) for a, b in sides if a.buffer is b.buffer)


def look(pairs: Collection[Pair]) -> Answer:
    """Whether any of `pairs` meets, their points looked at."""
    for glance in (True, False):
        for pair in pairs:
            answer = pair.look(glance)
            if not isinstance(answer, Never):
                return answer
    return Never()


def lags(sides: Iterable[tuple[Side, Side]], question: Question) -> Lags | Unknown:
    """How many turns of a loop, of which alone is asked, are between two that touch one cell.

    A number is the turn of the first of a pair less that of the second; none where none meets.
    """
    between: set[int] = set()
    for pair in open_pairs(sides, replace(question, differ=())):
        answer = pair.lags(question.differ)
        if isinstance(answer, Unknown):
            return answer
        between |= answer.lags
    return Lags(between)


class Pair:
    """Two accesses of one buffer, and what is asked of them."""

    def __init__(self, a: Side, b: Side, question: Question) -> None:
        a, b, question = _with_variables(a, b, question)
        self.a, self.b, self.question = a, b, question
        self.known = question.known
        indices = zip(a.indices, a.sizes, b.indices, b.sizes, strict=True)
        self.sums = [(self.known.sum_of(x), m, self.known.sum_of(y), n) for x, m, y, n in indices]

    # --- proofs for any size ----------------------------------------------------------------

    def far(self) -> bool:
        """Whether bounds or digits prove that they never meet."""
        below = any(self._below(*one) for one in self.sums)
        return below or self._digits_tell() or self._never_runs() or self._copies_tell()

    def kept_apart(self) -> bool:
        """Whether guards or remainders prove it, which takes longer."""
        return self._guards_tell() or self._cell_tells()

    def _never_runs(self) -> bool:
        """Whether one of them stands in a loop of no turns."""
        around = {loop.loop_var for loop in (*self.a.loops, *self.b.loops)}
        around |= self.question.own & (self.a.variables() | self.b.variables())
        ends = (self.known.dom.get(var, (0, 0)) for var in around)
        return any(low > high for low, high in ends)

    def _copies_tell(self) -> bool:
        """Whether remainders keep indices apart that are told by what is the same on both sides.

        As copies that a pipeline uses in turn: ``(k - 1) % 2`` and ``k % 2``.
        """
        a, b, own = self.a, self.b, self.question.own
        return any(
            own.isdisjoint((*free_vars(x), *free_vars(y))) and skips(x - y, m, n, self.known)
            for x, m, y, n in zip(a.indices, a.sizes, b.indices, b.sizes, strict=True)
            if x is not y
        )

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
        both = {digit: f for digit, f in x.digits.items() if y.digits.get(digit) == f}
        own = self.question.own
        return Sum({d: f for d, f in both.items() if own.isdisjoint(self.known.variables(d.base))})

    def _digits_tell(self) -> bool:
        """Whether equal indices make all the same of a group that must differ."""
        if not self.question.differ:
            return False
        same = Fixed(self.known, self.question.own)
        for x, m, y, n in self.sums:
            same.add(x, y, m, n)
        return any(_tells(same, group) for group in self.question.differ)

    def _guards_tell(self) -> bool:
        """Whether guards or remainders keep the indices of some dimension apart."""
        fresh: dict[Var, Expr] = {}
        dom = dict(self.known.dom)
        for var in self.b.variables() & self.question.own:
            new = fresh[var] = Var(var.name, var.type)
            if var in dom:
                dom[new] = dom[var]
        known = arith.Simplifier(dom)
        held = facts([*self.a.guards, *(substitute(guard, fresh) for guard in self.b.guards)])
        sides = zip(self.a.indices, self.a.sizes, self.b.indices, self.b.sizes, strict=True)
        for x, m, index, n in sides:
            y = substitute(index, fresh)
            if follows(y - x - m, held, known) or follows(x - y - n, held, known):
                return True
            if skips(x - y, m, n, known):
                return True
        return False

    def _cell_tells(self) -> bool:
        """Whether the cell of one access tells all that moves it, as far as guards let it count.

        ``i * 100 + k * 16 + j`` does where ``k * 16 + j < 100``, which no guard says of one loop.
        """
        a, dom = self.a, self.known.dom
        moving = a.cell_variables() & self.question.own
        named = any(set(group) <= moving for group in self.question.differ)
        if a is not self.b or not a.guards or not named or set(a.sizes) != {1}:
            return False
        if not moving <= dom.keys():
            return False
        own = {v: dom[v] for v in moving}
        return one_to_one(a.indices, own, {**dom}, arith.joined(a.guards))

    # --- looking at points ------------------------------------------------------------------

    def look(self, glance: bool) -> Answer:
        """Whether the two meet; at a glance, over the first values only, `Never` is "not seen"."""
        sides = _Look(self.a, self.question), _Look(self.b, self.question)
        for still in self._ways()[: 1 if glance else 2]:
            try:
                here, there = (side.rows(still, glance) for side in sides)
            except _NotBoundedError as missing:
                return Never() if glance else Unknown(str(missing))
            mine = _Notes()
            its = mine if self.a is self.b else _Notes()
            ways = [(here, mine, its), (there, its, mine)]
            meeting = _first(ways[:1] if self.a is self.b else ways, self.question)
            if meeting is None:
                return Never()
            if not any(side.leaves_out(still) for side in sides):
                one, other = meeting
                return Meets(one, other) if one.side is self.a else Meets(other, one)
        return Never() if glance else Unknown("data may keep the two apart")

    def lags(self, differ: tuple[tuple[Expr, ...], ...]) -> Lags | Unknown:
        """By how much the only value of `differ` differs where the two meet."""
        answer: Lags | Unknown = Unknown("")
        question = replace(self.question, differ=differ)
        sides = _Look(self.a, question), _Look(self.b, question)
        for still in self._ways():
            turns: tuple[dict[object, set[int]], ...] = {}, {}
            try:
                for side, noted in zip(sides, turns, strict=True):
                    for row in side.rows(still, each=True):
                        noted.setdefault((row.still, row.cell), set()).add(*row.who)
            except _NotBoundedError as missing:
                return answer if isinstance(answer, Lags) else Unknown(str(missing))
            before, after = turns
            both = before.keys() & after.keys()
            answer = Lags({lag for key in both for lag in _differences(before[key], after[key])})
            if not any(side.leaves_out(still) for side in sides):
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
        moving |= dict.fromkeys(_divisors((*self.a.indices, *self.b.indices)))
        own = self.question.own
        used = (self.a.variables() | self.b.variables()) - own
        return [v for v in moving if v not in own], [v for v in self.known.dom if v in used]


def _with_variables(a: Side, b: Side, question: Question) -> tuple[Side, Side, Question]:
    """The same with a variable, which has no bounds, for each load of what is changing."""
    if not question.changing:
        return a, b, question
    loads: dict[Var, None] = {}

    def visit(node: Node) -> Node:
        if isinstance(node, BufferLoad) and node.buffer in question.changing:
            loads[var := Var(node.buffer.name, node.dtype)] = None
            return var
        return rebuild(node, visit)

    def told(side: Side) -> Side:
        indices, guards = (tuple(map(visit, each)) for each in (side.indices, side.guards))
        return replace(side, indices=indices, guards=guards)  # type: ignore[arg-type]

    one = told(a)
    other = one if a is b else told(b)
    if not loads:
        return a, b, question
    return one, other, replace(question, own={*question.own, *loads})


def _divisors(indices: Iterable[Expr]) -> Iterator[Var]:
    """The variables that `indices` divide by, for which no 0 may stand."""
    for node in (n for index in indices for n in walk(index)):
        if isinstance(node, BinOp) and node.op in ("//", "%"):
            yield from free_vars(node.b)


def _differences(before: Set[int], after: Set[int]) -> Collection[int]:
    if len(before) * len(after) > arith.POINTS:
        return range(min(before) - max(after), max(before) - min(after) + 1)
    return {one - other for one in before for other in after}


def _tells(same: Fixed, group: Sequence[Expr]) -> bool:
    """Whether what is the same makes all of `group` the same."""
    digits = (digit for e in group for digit in same.known.sum_of(e).digits)
    if not any(map(same.moves, digits)):
        return True
    used = {v for e in group for v in free_vars(e)}
    dom = {v: same.known.dom[v] for v in used if v in same.known.dom}
    about = [part for part in same.parts() if used.issuperset(free_vars(part))]
    return bool(about) and len(dom) == len(used) and arith.is_injective(about, dom) is True


def decided_by_data(e: Expr) -> bool:
    """Whether what is in memory, or what is called, says what `e` is."""
    try:
        compiled(e)
    except ValueError:
        return True
    return False


# --- points ---------------------------------------------------------------------------------------


class _NotBoundedError(Exception):
    """What keeps points from being looked at."""


_Notes = dict[object, dict[tuple[int, ...], Touch]]  # who is at a cell


class _Look:
    """One side of a question, looked at point by point."""

    def __init__(self, side: Side, question: Question) -> None:
        self.side, self.own, self.dom = side, question.own, question.known.dom
        self.asked = [e for group in question.differ for e in group]
        self.guards = [one for guard in side.guards for one in arith.conjuncts(guard)]

    def conditions(self, still: Collection[Var]) -> list[Expr]:
        """What of the guards is known before the program runs, told in what is looked at."""
        known = {*self.own, *still} & self.dom.keys()
        here = [one for one in self.guards if known.issuperset(free_vars(one))]
        return [one for one in here if not decided_by_data(one)]

    def leaves_out(self, still: Collection[Var]) -> bool:
        """Whether some guard is not looked at."""
        return len(self.conditions(still)) < len(self.guards)

    def rows(
        self, still: Sequence[Var], glance: bool = False, each: bool = False, most: int = 0
    ) -> Iterator[Touch]:
        """What is touched, in the order of the values of `still` and of what is asked for.

        What is asked for by itself and not used here has two values, unless `each` is wanted: one
        of the two is not that of the other side. With `most`, only so many points are looked at.
        """
        conditions = self.conditions(still)
        used = {v for e in (*self.side.indices, *conditions) for v in free_vars(e)} & self.own
        named = dict.fromkeys(v for e in self.asked for v in free_vars(e))
        order = dict.fromkeys([*still, *named, *(v for v in self.dom if v in used)])
        try:
            ranges = arith.ranges_of([*order, *(used - order.keys())], self.dom)
            table = arith.Table([*still, *self.asked, *self.side.indices], conditions)
        except KeyError as missing:
            raise _NotBoundedError(f"`{missing.args[0].name}` has no bounds") from None
        except ValueError:
            raise _NotBoundedError("what is in memory says which cell it is") from None
        for var in () if each else named.keys() - used:
            if not any(var in free_vars(e) for e in self.asked if e is not var):
                ranges[var] = ranges[var][:2]
        if glance:
            ranges, most = {v: values[:_GLANCE] for v, values in ranges.items()}, _GLANCE**3
        turns = arith.count_points({v: r for v, r in ranges.items() if len(r) > 2 or v in used})
        cells = prod(self.side.sizes) * (min(turns, most) if glance else turns)
        if cells > arith.POINTS and (glance or not most):
            raise _NotBoundedError(f"{cells:,} cells are too many to look at")
        return self._cells(table.rows(ranges, self._cancels(), most or None), len(still))

    def _cancels(self) -> Env:
        """A value for what stands still and cancels."""
        return {v: self.dom.get(v, (0, 0))[0] for e in self.side.indices for v in free_vars(e)}

    def _cells(self, rows: Iterator[tuple[Env, tuple[int, ...]]], still: int) -> Iterator[Touch]:
        steps = [*product(*map(range, self.side.sizes))]
        start = still + len(self.asked)
        for env, values in rows:
            same, who, corner = values[:still], values[still:start], values[start:]
            for step in steps:
                cell = tuple(map(add, corner, step)) if len(steps) > 1 else corner
                yield Touch(same, who, cell, env, self.side)


def _first(
    ways: Sequence[tuple[Iterator[Touch], _Notes, _Notes]], question: Question
) -> tuple[Touch, Touch] | None:
    """The first meeting of rows with those that were noted before them where they are looked for.

    Of each way come its rows, where they are noted, and where others are looked for.
    """
    tagged = [zip(rows, repeat(noted), repeat(others)) for rows, noted, others in ways]
    alone = len(tagged) == 1
    for row, noted, others in tagged[0] if alone else merge(*tagged, key=lambda one: one[0][:2]):
        place = row.still, row.side.buffer, row.cell
        noted.setdefault(place, {}).setdefault(row.who, row)
        for other in others.get(place, {}).values():
            if _differ(row.who, other.who, question):
                return other, row
    return None


def _differ(one: Sequence[int], other: Sequence[int], question: Question) -> bool:
    """Whether in each group one value at least is another."""
    start = 0
    for group in question.differ:
        end = start + len(group)
        if one[start:end] == other[start:end]:
            return False
        start = end
    return True


def first_meeting(loop: For, sides: Sequence[Side], dom: arith.Bounds) -> Meets | None:
    """The first two turns of `loop` in which `sides` are at one cell, of those looked at.

    In the order in which they run, for an example that people can follow: in one turn of the loops
    around, the loops inside afresh in each of the two.
    """
    own = {loop.loop_var} | {each.loop_var for side in sides for each in side.loops}
    question = Question(arith.Simplifier(dom), own, ((loop.loop_var,),))
    used = {v for side in sides for v in side.variables()} - own
    still, notes = [v for v in dom if v in used], _Notes()
    rows = (_Look(side, question).rows(still, most=arith.POINTS) for side in sides)
    meeting = _first([(row, notes, notes) for row in rows], question)
    return None if meeting is None else Meets(*meeting)
