"""conflicts: whether different threads of a block may meet in one cell of memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from workbench.access.accesses import Access
from workbench.arith import (
    POINTS,
    Simplifier,
    conjuncts,
    count_points,
    is_injective,
    points,
    ranges_of,
)
from workbench.arith.canonical import Digit, Sum
from workbench.arith.evaluate import compiled
from workbench.ir import BufferLoad, Call, Expr, For, Kernel, Var, free_vars, walk
from workbench.lower.known_bounds import Known, known_bounds

_GLANCE = 4  # how many values of each variable are tried first, to find a meeting fast

Point = tuple[int, ...]
Who = tuple[int | None, ...]  # of each thread index, its value; None where any of them


class Conflicts:
    """Answers for one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.known = known_bounds(kernel)
        self.simplifier = Simplifier(self.known)
        places = (var for axis, var in kernel.axes if axis.startswith("threadIdx"))
        self.threads = tuple(var for var in places if self.known[var][1] > 0)
        self.variables: dict[int, set[Var]] = {}  # of each base of digits

    def any(
        self,
        before: Collection[Access[For]],
        after: Collection[Access[For]],
        shared: int,
        loop: Var | None = None,
    ) -> bool:
        """Whether a thread's access `before` and another's `after` may reach one cell, one writing.

        Both are in the same iteration of their outermost `shared` loops, and in different ones of
        `loop`, if given. False is a proof.
        """
        pairs = [
            _Pair(self, a, b, shared, loop)
            for a in before
            for b in after
            if self.threads and a.buffer is b.buffer and (a.writes or b.writes)
        ]
        open_pairs = [pair for pair in pairs if not pair.apart() and not pair.same_thread()]
        if any(pair.meet(glance=True) for pair in open_pairs):
            return True
        return any(pair.meet(glance=False) for pair in open_pairs)


class _Pair:
    """Two accesses, their indices as sums, and which variables may differ between them."""

    def __init__(
        self, all: Conflicts, a: Access[For], b: Access[For], shared: int, loop: Var | None
    ) -> None:
        self.a, self.b, self.loop = a, b, loop
        self.known: Known = all.known
        self.simplifier = all.simplifier
        self.variables = all.variables
        self.threads = all.threads
        self.moving = {*all.threads, *_variables(a.loops[shared:]), *_variables(b.loops[shared:])}
        self.asked = {*all.threads} if loop is None else {*all.threads, loop}
        self.sums = [
            (self.simplifier.sum_of(x), self.simplifier.sum_of(y))
            for x, y in zip(a.indices, b.indices, strict=True)
        ]

    # --- proofs -----------------------------------------------------------------------------

    def apart(self) -> bool:
        """Whether in some dimension no index of one is an index of the other."""
        for x, y in self.sums:
            if self._still(x) == self._still(y):
                (low_x, high_x), (low_y, high_y) = self._reach(x), self._reach(y)
                if _below(high_x, low_y) or _below(high_y, low_x):
                    return True
        return False

    def same_thread(self) -> bool:
        """Whether one cell means one thread, or, of a loop's different iterations, the same one."""
        found: dict[int, set[Digit]] = {}
        for x, y in self.sums:
            self._add_equal_digits(x, y, found)
        equal = [self.simplifier.part(digit) for digits in found.values() for digit in digits]
        goals = [self.threads] if self.loop is None else [self.threads, (self.loop,)]
        for goal in goals:
            about = [part for part in equal if set(free_vars(part)) <= set(goal)]
            if about and is_injective(about, {var: self.known[var] for var in goal}) is True:
                return True
        return False

    def _add_equal_digits(self, x: Sum, y: Sum, found: dict[int, set[Digit]]) -> None:
        """Collect, by base, the digits that are equal wherever the indices `x` and `y` are.

        Digits that make up the whole of a base that is a sum tell that this sum is equal, too.
        """
        for digit in self._equal_digits(x, y):
            digits = found.setdefault(digit.base, set())
            if digit in digits:
                continue
            digits.add(digit)
            inner = self.simplifier.inner_sum(digit.base)
            if inner is not None and self._tell_whole(digits, self.simplifier.interval(inner)):
                self._add_equal_digits(inner, inner, found)

    def _tell_whole(self, digits: Collection[Digit], ends: tuple[int | None, int | None]) -> bool:
        """Whether a number between `ends` is known by these of its digits."""
        low, high = ends
        if low is None or high is None:
            return False
        base = Var("base")
        parts = [
            base // digit.lower if digit.upper is None else base % digit.upper // digit.lower
            for digit in digits
        ]
        return is_injective(parts, {base: (low, high)}) is True

    def _equal_digits(self, x: Sum, y: Sum) -> list[Digit]:
        """The digits of threads that are equal wherever the indices `x` and `y` are.

        Both are a sum of the same multiples of digits and of something smaller: a digit cannot
        differ if its multiple is larger than all that the smaller ones could make up for.
        """
        digits = self._digits(x, self.asked)
        private = self.moving - self.asked
        known = all(self._vars(digit).isdisjoint(private) for digit in digits)
        if not known or digits != self._digits(y, self.asked) or self._still(x) != self._still(y):
            return []
        (low_x, high_x), (low_y, high_y) = self._reach(x, digits), self._reach(y, digits)
        if low_x is None or high_x is None or low_y is None or high_y is None:
            return []
        spread = max(high_x, high_y) - min(low_x, low_y)
        equal: list[Digit] = []
        for digit, factor in sorted(digits.items(), key=lambda item: abs(item[1])):
            low, high = self.simplifier.interval(Sum({digit: 1}))
            if low is None or high is None:
                return []
            if abs(factor) > spread:
                equal.append(digit)
            else:
                equal.clear()
            spread += abs(factor) * (high - low)
        return equal

    def _vars(self, digit: Digit) -> set[Var]:
        found = self.variables.get(digit.base)
        if found is None:
            found = self.variables[digit.base] = set(free_vars(self.simplifier.base(digit)))
        return found

    def _digits(self, s: Sum, variables: Collection[Var]) -> dict[Digit, int]:
        """The digits of `s` that use any of `variables`."""
        return {d: f for d, f in s.digits.items() if not self._vars(d).isdisjoint(variables)}

    def _still(self, s: Sum) -> dict[Digit, int]:
        """The digits of `s` that are the same on both sides."""
        moving = self._digits(s, self.moving)
        return {d: f for d, f in s.digits.items() if d not in moving}

    def _reach(self, s: Sum, without: Collection[Digit] = ()) -> tuple[int | None, int | None]:
        """Between what `s` lies, leaving out what is the same on both sides and `without`."""
        moving = self._digits(s, self.moving)
        rest = {d: f for d, f in moving.items() if d not in without}
        return self.simplifier.interval(Sum(rest, s.const))

    # --- looking at points ------------------------------------------------------------------

    def meet(self, glance: bool) -> bool:
        """Whether the two reach one cell from different threads.

        At a glance, only over the first values of each variable, and False means "not seen".
        Else True also where there are too many points to look at, or indices that are not known.
        """
        involved = self._involved()
        try:
            before, after = (self._points(x, involved, glance) for x in (self.a, self.b))
        except ValueError:  # an index that is data
            return not glance
        if before is None or after is None:
            return not glance
        reached: dict[Point, set[Who]] = {}
        for cell, who in before:
            reached.setdefault(cell, set()).add(who)
        return any(
            self._different(who, other) for cell, who in after for other in reached.get(cell, ())
        )

    def _involved(self) -> set[Var]:
        """The variables, the same on both sides, that have a say in whether the two meet."""
        involved: set[Var] = set()
        for x, y in self.sums:
            still = [*self._still(x), *self._still(y)] if self._still(x) != self._still(y) else []
            moving = [*self._digits(x, self.moving), *self._digits(y, self.moving)]
            involved |= {var for digit in (*still, *moving) for var in self._vars(digit)}
        return involved - self.moving

    def _points(
        self, access: Access[For], involved: set[Var], glance: bool
    ) -> Iterator[tuple[Point, Who]] | None:
        """The cells that `access` reaches, each with who reaches it; None for too many."""
        asked = self.moving | involved
        conditions = [c for guard in access.guards for c in conjuncts(guard)]
        conditions = [c for c in conditions if _is_index(c) and set(free_vars(c)) <= asked]
        used = {v for e in (*access.indices, *conditions) for v in free_vars(e)} & asked
        ranges = ranges_of(used | involved, self.known)
        if glance:
            ranges = {v: values[:_GLANCE] for v, values in ranges.items()}
        elif count_points(ranges) > POINTS:
            return None
        still = {v: self.known[v][0] for e in access.indices for v in free_vars(e)}
        cells = [compiled(index) for index in (*access.indices, *involved)]
        holds = [compiled(condition) for condition in conditions]
        who = [*self.threads, *([] if self.loop is None else [self.loop])]

        def reached() -> Iterator[tuple[Point, Who]]:
            for point in islice(points(ranges), _GLANCE**3 if glance else None):
                env = {**still, **point}
                if all(test(env) for test in holds):
                    cell = tuple(at(env) for at in cells)
                    yield cell, tuple(env[v] if v in used else None for v in who)

        return reached()

    def _different(self, who: Who, other: Who) -> bool:
        """Whether these can be two threads, in two iterations of the loop; None is any value."""
        differ = [a is None or b is None or a != b for a, b in zip(who, other, strict=True)]
        threads = differ[: len(self.threads)]
        return any(threads) and (self.loop is None or differ[-1])


def _is_index(condition: Expr) -> bool:
    """Whether the condition is known before the program runs."""
    return not any(isinstance(node, (BufferLoad, Call)) for node in walk(condition))


def _variables(loops: Sequence[For]) -> list[Var]:
    return [loop.loop_var for loop in loops]


def _below(high: int | None, low: int | None) -> bool:
    return high is not None and low is not None and high < low
