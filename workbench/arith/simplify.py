"""simplify: the same value in fewer words, for all values that the variables can have."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import gcd

from workbench.arith.canonical import (
    REASONED,
    Bounds,
    Digit,
    Interval,
    Sum,
    add,
    digit_interval,
    divisor_candidates,
    hull,
    join_digits,
    meet,
    scale,
)
from workbench.arith.evaluate import wrapped
from workbench.ir import (
    COMPARISONS,
    LOGICAL,
    BinOp,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    Not,
    Ramp,
    Select,
    Var,
    binary,
    children,
    const,
    dtypes,
    rebuild,
)
from workbench.ir.nodes import Node

_EXTREMES_SPLIT = 3  # how many nested min/max an interval looks through; each doubles the work
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def simplify(e: Expr, dom: Bounds | None = None) -> Expr:
    """`e` rewritten as short as we can, equal for all values of its variables in `dom`.

    >>> i, j = Var("i"), Var("j")
    >>> from workbench import script
    >>> script.expr_text(simplify((i * 4 + j) // 4, {j: (0, 3)}))
    'i'

    A result that is no shorter is not taken, so text that the learner wrote stays as it is.
    """
    return Simplifier(dom or {}).simplify(e)


class Simplifier:
    """Simplifies expressions under one `dom`; keeps what it has found out, so reuse it."""

    def __init__(self, dom: Bounds) -> None:
        self.dom = dom
        self._simple: dict[Expr, Expr] = {}
        self._sums: dict[Expr, Sum] = {}
        self._numbers: dict[object, int] = {}  # a part's content -> its number
        self._number_of: dict[Node, int] = {}
        self._parts: dict[int, Expr] = {}  # a number -> one expression with that content
        self._part_sums: dict[int, Sum] = {}  # for parts that are sums themselves
        self._intervals: dict[int, Interval] = {}

    # --- choosing ---------------------------------------------------------------------------

    def simplify(self, e: Expr) -> Expr:
        """The shortest of what we know to be equal to `e`; `e` itself where nothing is shorter."""
        found = self._simple.get(e)
        if found is None:
            found = self._simple[e] = self._simplified(e)
        return found

    def _simplified(self, e: Expr) -> Expr:
        if isinstance(e, Const):
            return e
        if isinstance(e, Var):
            low, high = self.dom.get(e, (0, 1))
            return const(low, e.type) if low == high and dtypes.is_int(e.type) else e
        plain = self._with_simple_parts(e)
        if e.dtype in REASONED and isinstance(e, (BinOp, Select, Call)):
            other = self.expr_of(self.sum_of(e), e.dtype)
            return other if cost(other) < cost(plain) else plain
        if isinstance(plain, BinOp) and plain.op in COMPARISONS and plain.a.dtype in REASONED:
            other = self._comparison(plain)
            return other if cost(other) < cost(plain) else plain
        return plain

    def _with_simple_parts(self, e: Expr) -> Expr:
        """`e` with its operands simplified, and what that decides decided."""
        simple: Expr = rebuild(e, lambda n: self.simplify(n) if isinstance(n, Expr) else n)
        match simple:
            case BinOp(op, a, b) if e.dtype in REASONED or e.dtype == "bool":
                if op in LOGICAL and self.number(a) == self.number(b):
                    return a
                if op in ("//", "%") and isinstance(b, Const) and b.value == 0:
                    return simple
                return binary(op, a, b)
            case Not(Const(value=value)):
                return const(not value, "bool")
            case Not(Not(a)):
                return a
            case Not(BinOp(op, a, b)) if op in COMPARISONS and not dtypes.is_float(a.dtype):
                return self.simplify(BinOp(_NEGATED[op], a, b))
            case Select(Const(value=value), yes, no):
                return yes if value else no
            case Call("if_then_else", (Const(value=value), yes, no)):
                return yes if value else no
            case Cast(type=kind, value=Const() as inner) if kind != "bool":
                return _folded_cast(simple, kind, inner)
        return simple

    # --- numbering parts --------------------------------------------------------------------

    def number(self, e: Node) -> int:
        """The same number for expressions of the same content."""
        found = self._number_of.get(e)
        if found is None:
            key = _content(e, self.number)
            found = self._number_of[e] = self._numbers.setdefault(key, len(self._numbers))
        return found

    def _part(self, e: Expr) -> Sum:
        """`e`, which we do not look into, as a sum of itself."""
        number = self.number(e)
        self._parts.setdefault(number, e)
        return Sum({Digit(number, 1, None): 1})

    def _sum_part(self, s: Sum, dtype: str) -> int:
        """The number of a sum that stands below a division."""
        key = ("sum", frozenset(s.digits.items()), s.const, dtype)
        number = self._numbers.setdefault(key, len(self._numbers))
        if number not in self._part_sums:
            self._part_sums[number] = s
            self._parts[number] = self.expr_of(s, dtype)
        return number

    def inner_sum(self, number: int) -> Sum | None:
        """The sum that part `number` is, where it is one."""
        return self._part_sums.get(number)

    # --- to sums ----------------------------------------------------------------------------

    def sum_of(self, e: Expr) -> Sum:
        """The normal form of an int32 or int64 expression."""
        found = self._sums.get(e)
        if found is None:
            found = self._sums[e] = self.tidy(self._sum_of(e))
        return found

    def _sum_of(self, e: Expr) -> Sum:
        match e:
            case Const(value=value):
                return Sum({}, int(value))
            case Var():
                low, high = self.dom.get(e, (0, 1))
                return Sum({}, low) if low == high else self._part(e)
            case BinOp("+" | "-" as op, a, b):
                return self.sum_of(a).plus(self.sum_of(b), 1 if op == "+" else -1)
            case BinOp("*", a, b):
                return self._product(e, self.sum_of(a), self.sum_of(b))
            case BinOp("//" | "%" as op, a, b):
                divisor = self.sum_of(b)
                if divisor.digits or not divisor.const:
                    return self._part(self._with_simple_parts(e))
                divide = self.div if op == "//" else self.mod
                return divide(self.sum_of(a), divisor.const, e.dtype)
            case BinOp("min" | "max" as op, a, b):
                return self._extreme(e, op, self.sum_of(a), self.sum_of(b))
        simple = self._with_simple_parts(e)
        if isinstance(simple, (Const, Var)) or (simple is not e and isinstance(simple, BinOp)):
            return self.sum_of(simple)
        return self._part(simple)

    def _product(self, e: Expr, a: Sum, b: Sum) -> Sum:
        if not b.digits:
            return a.times(b.const)
        if not a.digits:
            return b.times(a.const)
        left, right = self.expr_of(a, e.dtype), self.expr_of(b, e.dtype)
        if self.number(left) > self.number(right):  # one order, so that i * j meets j * i
            left, right = right, left
        return self._part(binary("*", left, right))

    def _extreme(self, e: Expr, op: str, a: Sum, b: Sum) -> Sum:
        low, high = self.interval(self.tidy(a.plus(b, -1)))
        if low is not None and low >= 0:
            return b if op == "min" else a
        if high is not None and high <= 0:
            return a if op == "min" else b
        left, right = self.expr_of(a, e.dtype), self.expr_of(b, e.dtype)
        return self._part(BinOp(op, left, right))

    def tidy(self, s: Sum) -> Sum:
        """`s` with digits joined where that makes them fewer."""
        digits = join_digits(s.digits)
        result = s if digits is s.digits else self._opened(Sum(digits, s.const))
        for digit in list(result.digits):
            inner = self._part_sums.get(digit.base)
            if inner is None or digit not in result.digits:
                continue
            for times in _whole_times(result, inner):
                # x - x // 8 * 8 where x is a sum: see x as one part, then join
                whole = result.plus(inner, -times).plus(Sum({Digit(digit.base, 1, None): 1}), times)
                joined = self._opened(Sum(join_digits(whole.digits), whole.const))
                if len(joined.digits) < len(result.digits):
                    result = joined
                    break
        return result

    def _opened(self, s: Sum) -> Sum:
        """`s` with parts that are sums, and are not divided any more, added in."""
        for digit, factor in s.digits.items():
            if digit.lower == 1 and digit.upper is None and digit.base in self._part_sums:
                rest = {d: f for d, f in s.digits.items() if d != digit}
                inner = self._part_sums[digit.base]
                return self.tidy(Sum(rest, s.const).plus(inner, factor))
        return s

    # --- division ---------------------------------------------------------------------------

    def div(self, s: Sum, divisor: int, dtype: str) -> Sum:
        """``s // divisor``."""
        if divisor < 0:
            return self.div(s.times(-1), -divisor, dtype)
        whole = {d: f // divisor for d, f in s.digits.items() if f % divisor == 0}
        rest = {d: f for d, f in s.digits.items() if f % divisor}
        quotient, remainder = divmod(s.const, divisor)
        result, inner = Sum(whole, quotient), Sum(rest, remainder)
        low, high = self.interval(inner)
        if low is not None and high is not None and low // divisor == high // divisor:
            return result.shifted(low // divisor)
        for step in divisor_candidates(rest.values(), divisor):
            found = self._coarse(inner, step)
            if found is not None:
                return self.tidy(result.plus(self.div(found[0], divisor // step, dtype)))
        return self.tidy(result.plus(Sum({self._quotient(inner, divisor, dtype): 1})))

    def mod(self, s: Sum, divisor: int, dtype: str) -> Sum:
        """``s % divisor``."""
        if divisor < 0:
            return self.mod(s.times(-1), -divisor, dtype).times(-1)
        rest = {d: f for d, f in s.digits.items() if f % divisor}
        inner = Sum(rest, s.const % divisor)
        low, high = self.interval(inner)
        if low is not None and high is not None and low // divisor == high // divisor:
            return inner.shifted(-(low // divisor) * divisor)
        for step in divisor_candidates(rest.values(), divisor):
            found = self._coarse(inner, step)
            if found is not None:
                coarse = self.mod(found[0], divisor // step, dtype).times(step)
                return self.tidy(coarse.plus(found[1]))
        return Sum({self._remainder(inner, divisor, dtype): 1})

    def _coarse(self, s: Sum, step: int) -> tuple[Sum, Sum] | None:
        """`s` as ``coarse * step + fine`` with 0 <= fine < step; None where it is not so."""
        fine = Sum({d: f for d, f in s.digits.items() if f % step}, s.const % step)
        low, high = self.interval(fine)
        if low is None or high is None or low // step != high // step:
            return None
        coarse = Sum({d: f // step for d, f in s.digits.items() if f % step == 0}, s.const // step)
        return coarse.shifted(low // step), fine.shifted(-(low // step) * step)

    def _quotient(self, s: Sum, divisor: int, dtype: str) -> Digit:
        digit = _alone(s)
        if digit is not None:
            lower = digit.lower * divisor
            if digit.upper is None or digit.upper % lower == 0:
                return Digit(digit.base, lower, digit.upper)
        return Digit(self._sum_part(s, dtype), divisor, None)

    def _remainder(self, s: Sum, divisor: int, dtype: str) -> Digit:
        digit = _alone(s)
        if digit is not None:
            upper = digit.lower * divisor
            if digit.upper is None or digit.upper % upper == 0:
                return Digit(digit.base, digit.lower, upper)
        return Digit(self._sum_part(s, dtype), 1, divisor)

    # --- intervals --------------------------------------------------------------------------

    def interval(self, s: Sum, depth: int = _EXTREMES_SPLIT) -> Interval:
        """Between which values `s` lies."""
        result: Interval = (s.const, s.const)
        for digit, factor in s.digits.items():
            result = add(result, scale(self._digit_interval(digit), factor))
        for digit, factor in s.digits.items() if depth else ():
            part = self._parts[digit.base]
            plain = digit.lower == 1 and digit.upper is None
            if plain and isinstance(part, BinOp) and part.op in ("min", "max"):
                rest = s.plus(Sum({digit: 1}), -factor)
                a, b = (
                    self.interval(self.tidy(rest.plus(self.sum_of(side), factor)), depth - 1)
                    for side in (part.a, part.b)
                )
                return meet(result, _either(a, b, (part.op == "min") == (factor > 0)))
        return result

    def _digit_interval(self, digit: Digit) -> Interval:
        base = self._intervals.get(digit.base)
        if base is None:
            if digit.base in self._part_sums:
                base = self.interval(self._part_sums[digit.base])
            else:
                base = self._part_interval(self._parts[digit.base])
            self._intervals[digit.base] = base
        return digit_interval(base, digit.lower, digit.upper)

    def expr_interval(self, e: Expr) -> Interval:
        """Between which values the integer or condition `e` lies."""
        if e.dtype in REASONED:
            return self.interval(self.sum_of(e))
        return self._part_interval(e)

    def _part_interval(self, e: Expr) -> Interval:
        match e:
            case Const(value=value) if not dtypes.is_float(e.type):
                return int(value), int(value)
            case Var() if e in self.dom:
                return self.dom[e]
            case BinOp("min" | "max" as op, a, b):
                return _either(self.expr_interval(a), self.expr_interval(b), op == "min")
            case BinOp("*", a, b) if e.dtype in REASONED:
                return _corners(self.expr_interval(a), self.expr_interval(b))
            case BinOp("//" | "%" as op, a, b) if e.dtype in REASONED:
                return _divided(op, self.expr_interval(a), self.expr_interval(b))
            case Select(_, yes, no) | Call("if_then_else", (_, yes, no)):
                return hull(self.expr_interval(yes), self.expr_interval(no))
            case Cast(type=kind, value=value) if dtypes.is_int(kind):
                return self._cast_interval(kind, value)
        if e.dtype == "bool":
            return 0, 1
        return None, None

    def _cast_interval(self, kind: str, value: Expr) -> Interval:
        if dtypes.is_float(value.dtype):
            return None, None
        inner = self.expr_interval(value)
        limits = type_limits(kind)
        fits = None not in inner and limits[0] <= inner[0] and inner[1] <= limits[1]  # type: ignore[operator]
        return inner if fits else limits

    # --- back to expressions ----------------------------------------------------------------

    def expr_of(self, s: Sum, dtype: str) -> Expr:
        """`s` written out: what is added first, in the order it came, then what is taken off."""
        make = partial(const, dtype=dtype)
        plus = [(d, f) for d, f in s.digits.items() if f > 0]
        minus = [(d, f) for d, f in s.digits.items() if f < 0]
        constant = s.const
        result: Expr | None = None
        for digit, factor in plus:
            term = binary("*", self.part(digit), make(factor))
            result = term if result is None else binary("+", result, term)
        if result is None and (constant > 0 or not minus):
            result, constant = make(constant), 0
        for digit, factor in minus:
            if result is None:
                result = binary("*", self.part(digit), make(factor))
            else:
                result = binary("-", result, binary("*", self.part(digit), make(-factor)))
        assert result is not None
        if constant < 0:
            return binary("-", result, make(-constant))
        return binary("+", result, make(constant))

    def part(self, digit: Digit) -> Expr:
        """A digit as an expression."""
        base = self._parts[digit.base]
        if digit.upper is None:
            return binary("//", base, const(digit.lower, base.dtype))
        rest = binary("%", base, const(digit.upper, base.dtype))
        return binary("//", rest, const(digit.lower, base.dtype))

    # --- comparisons ------------------------------------------------------------------------

    def _comparison(self, e: BinOp) -> Expr:
        """A comparison decided where the two sides' bounds decide it, else divided through."""
        if e.op in (">", ">="):
            turned = self._comparison(BinOp(_FLIPPED[e.op], e.b, e.a))
            return _flipped(turned)
        difference = self.tidy(self.sum_of(e.a).plus(self.sum_of(e.b), -1))
        low, high = self.interval(difference)
        if e.op in ("==", "!="):
            return self._equality(e, difference, low, high)
        if e.op == "<=":  # a <= b is a - b - 1 < 0 between integers
            difference, low, high = difference.shifted(-1), _minus_one(low), _minus_one(high)
        if high is not None and high < 0:
            return const(True, "bool")
        if low is not None and low >= 0:
            return const(False, "bool")
        for step in _steps(difference):
            found = self._coarse(difference, step)
            if found is not None:
                difference = found[0]
                break
        if e.op == "<=":
            difference = difference.shifted(1)
        return self._written(e.op, difference, e.a.dtype)

    def _equality(self, e: BinOp, difference: Sum, low: int | None, high: int | None) -> Expr:
        never = (low is not None and low > 0) or (high is not None and high < 0)
        steps = _steps(difference)
        if steps and all(f % steps[-1] == 0 for f in difference.digits.values()):
            never = never or difference.const % steps[-1] != 0
        if never or low == high == 0:
            return const((e.op == "==") != never, "bool")
        return self._written(e.op, difference, e.a.dtype)

    def _written(self, op: str, difference: Sum, dtype: str) -> Expr:
        """``difference op 0`` with nothing negative on either side."""
        left = Sum({d: f for d, f in difference.digits.items() if f > 0}, max(difference.const, 0))
        right = left.plus(difference, -1)
        return binary(op, self.expr_of(left, dtype), self.expr_of(right, dtype))


_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}


def cost(e: Expr) -> int:
    """How long `e` reads: its operands, operators and brackets."""
    match e:
        case Const(value=value):
            return 2 if not isinstance(value, bool) and value < 0 else 1
        case BinOp(op, a, b):
            level = _PRECEDENCE.get(op, 0)
            brackets = (_level(a) < level) + (level > 0 and _level(b) <= level)
            return 1 + cost(a) + cost(b) + brackets
    return 1 + sum(cost(child) for child in children(e) if isinstance(child, Expr))


def _level(e: Expr) -> int:
    return _PRECEDENCE.get(e.op, 3) if isinstance(e, BinOp) else 3


def _content(e: Node, number: Callable[[Node], int]) -> object:
    """What makes two expressions the same, given the numbers of the nodes below."""
    match e:
        case Var() | Buffer():
            return e
        case Const(value, kind):
            return "Const", repr(value), kind
        case BinOp(op):
            label: object = op
        case Cast(kind):
            label = kind
        case Call(op, _, kind):
            label = op, kind
        case Ramp(_, stride, lanes):
            label = stride, lanes
        case Broadcast(_, lanes):
            label = lanes
        case _:
            label = None
    return type(e).__name__, label, tuple(number(child) for child in children(e))


def _alone(s: Sum) -> Digit | None:
    """The digit that is all there is of `s`."""
    if len(s.digits) == 1 and not s.const:
        ((digit, factor),) = s.digits.items()
        return digit if factor == 1 else None
    return None


def _whole_times(s: Sum, inner: Sum) -> list[int]:
    """How often `inner` may stand in `s`, going by the digits that both have."""
    found = (
        s.digits[d] // factor
        for d, factor in inner.digits.items()
        if d in s.digits and s.digits[d] % factor == 0
    )
    return list(dict.fromkeys(found))


def _steps(s: Sum) -> list[int]:
    """The numbers by which it may help to divide a comparison through, largest first."""
    factors = [abs(f) for f in s.digits.values()]
    return sorted({*factors, gcd(*factors)} - {0, 1}, reverse=True)


def _either(a: Interval, b: Interval, smaller: bool) -> Interval:
    """Where the smaller, or the larger, of a value in `a` and one in `b` lies."""
    outer, inner = hull(a, b), meet(a, b)
    if smaller:
        highs = [end for end in (a[1], b[1]) if end is not None]
        return outer[0], min(highs, default=None)
    return inner[0], outer[1]


def _corners(a: Interval, b: Interval) -> Interval:
    """The products of one from `a` and one from `b`."""
    if None in a or None in b:
        return None, None
    products = [x * y for x in a for y in b]  # type: ignore[operator]
    return min(products), max(products)


def _divided(op: str, a: Interval, b: Interval) -> Interval:
    """``a // b`` or ``a % b`` for a divisor known to be positive."""
    if b[0] is None or b[0] <= 0:
        return None, None
    if op == "%":
        return 0, None if b[1] is None else b[1] - 1
    if None in a or b[1] is None:
        return None, None
    quotients = [x // y for x in a for y in b]  # type: ignore[operator]
    return min(quotients), max(quotients)


def type_limits(dtype: str) -> tuple[int, int]:
    """The lowest and highest value of an integer type."""
    bits = dtypes.BITS[dtype]
    if dtype.startswith("uint"):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def _minus_one(end: int | None) -> int | None:
    return None if end is None else end - 1


def _flipped(e: Expr) -> Expr:
    return binary(_FLIPPED[e.op], e.b, e.a) if isinstance(e, BinOp) else e


def _folded_cast(e: Expr, kind: str, inner: Const) -> Expr:
    if not dtypes.is_int(kind) or dtypes.is_float(inner.type):
        return e
    return const(wrapped(int(inner.value), kind), kind)
