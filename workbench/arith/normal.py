"""Normal: integer expressions brought to sums of digits, and back."""

from __future__ import annotations

from functools import partial, reduce

from workbench.arith.canonical import (
    REASONED,
    Bounds,
    Digit,
    SizedEnds,
    Sum,
    by_sizes,
    divisor_candidates,
    join_digits,
)
from workbench.arith.content import content
from workbench.arith.interval import (
    Interval,
    add,
    bits,
    digit_interval,
    divided,
    either,
    hull,
    meet,
    products,
    scale,
)
from workbench.ir import (
    SHIFTS,
    BinOp,
    Call,
    Cast,
    Const,
    Expr,
    Node,
    Select,
    SizeVar,
    Var,
    binary,
    cast,
    const,
    dtypes,
    free_vars,
    in_width,
)

MOST = 2**30  # of a size, also where it is an int64: a tile behind the last fits in 32 bits
_EXTREMES_SPLIT = 3  # how many nested min/max an interval looks through; each doubles the work


class Normal:
    """Brings expressions to their normal form under one `dom`, and remembers what it has found."""

    def __init__(self, dom: Bounds) -> None:
        self.dom = dom
        self._sums: dict[Expr, Sum] = {}
        self._numbers: dict[object, int] = {}  # a part's content -> its number
        self._number_of: dict[Node, int] = {}
        self._parts: dict[int, Expr] = {}  # a number -> one expression with that content
        self._part_sums: dict[int, Sum] = {}  # for parts that are sums themselves
        self._intervals: dict[int, Interval] = {}
        self._variables: dict[int, frozenset[Var]] = {}
        self._cells: set[int] = set()  # those that are ``x % width`` of a width that sizes tell
        self.sized = False  # whether a size has been met, or a variable whose last value sizes tell

    def with_simple_parts(self, e: Expr) -> Expr:
        """`e` with its operands simplified, and what that decides decided."""
        raise NotImplementedError

    @property
    def asked(self) -> int:
        """Of how many expressions something is remembered."""
        return len(self._number_of) + len(self._sums)

    # --- numbering parts --------------------------------------------------------------------

    def number(self, e: Node) -> int:
        """The same number for expressions of the same content."""
        found = self._number_of.get(e)
        if found is None:
            key = content(e, self.number)
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

    def variables(self, number: int) -> frozenset[Var]:
        """The variables in part `number`."""
        if number not in self._variables:
            self._variables[number] = frozenset(free_vars(self._parts[number]))
        return self._variables[number]

    # --- to sums ----------------------------------------------------------------------------

    def sum_of(self, e: Expr) -> Sum:
        """The normal form of an int32 or int64 expression."""
        found = self._sums.get(e)
        if found is None:
            found = self._sums[e] = self.tidy(self._sum_of(e))
        return found

    def _sum_of(self, e: Expr) -> Sum:
        if isinstance(e, Const):
            return Sum({}, int(e.value))
        if isinstance(e, Var):
            low, high = self.dom.get(e, (0, 1))
            return Sum({}, low) if low == high else self._part(e)
        found = self._sum_of_two(e, e.op, e.a, e.b) if isinstance(e, BinOp) else None
        if found is not None:
            return found
        if isinstance(e, Cast) and e.value.dtype in REASONED and self._cast_keeps(e.type, e.value):
            return self.sum_of(e.value)
        simple = self.with_simple_parts(e)
        if isinstance(simple, (Const, Var)) or (simple is not e and isinstance(simple, BinOp)):
            return self.sum_of(simple)
        return self._part(simple)

    def _sum_of_two(self, e: BinOp, op: str, a: Expr, b: Expr) -> Sum | None:
        """The normal form of ``a op b``, where its operator has one."""
        if op in ("+", "-"):
            return self.sum_of(a).plus(self.sum_of(b), 1 if op == "+" else -1)
        if op == "*":
            return self._product(self.sum_of(a), self.sum_of(b), e.dtype)
        if op in ("//", "%"):
            divisor = self.sum_of(b)
            if not divisor.digits and divisor.const:
                divide = self.div if op == "//" else self.mod
                return divide(self.sum_of(a), divisor.const, e.dtype)
            simple = self.with_simple_parts(e)
            return self._divided_by_sizes(simple) if by_sizes(b) else self._part(simple)
        if op in ("min", "max"):
            return self._extreme(e, op, self.sum_of(a), self.sum_of(b))
        if isinstance(b, Const) and isinstance(b.value, int):
            return self._bitwise(e, op, a, b.value)
        return None

    def _bitwise(self, e: Expr, op: str, a: Expr, number: int) -> Sum | None:
        """What in two's complement is a product, a quotient, a remainder, or ``-x - 1``."""
        if op in SHIFTS and in_width(number, e.dtype):
            times = 1 << number
            return (
                self.sum_of(a).times(times)
                if op == "<<"
                else self.div(self.sum_of(a), times, e.dtype)
            )
        if op == "&" and number >= 0 and not number & (number + 1):
            return self.mod(self.sum_of(a), number + 1, e.dtype)
        if op == "^" and number == -1:
            return self.sum_of(a).times(-1).shifted(-1)
        return None

    def _product(self, a: Sum, b: Sum, dtype: str) -> Sum:
        if not b.digits:
            return a.times(b.const)
        if not a.digits:
            return b.times(a.const)
        times_a, times_b = a.factor(), b.factor()
        left = self.expr_of(a.over(times_a), dtype)
        right = self.expr_of(b.over(times_b), dtype)
        if self.number(left) > self.number(right):  # one order, so that i * j meets j * i
            left, right = right, left
        return self._part(binary("*", left, right)).times(times_a * times_b)

    def row_of(self, digit: Digit) -> tuple[Sum, Expr] | None:
        """`a` and `width` of a digit ``a * width`` where sizes tell the `width`, 0 or more."""
        part = self._parts[digit.base]
        if digit[1:] != (1, None) or not isinstance(part, BinOp) or part.op != "*":
            return None
        for a, width in ((part.a, part.b), (part.b, part.a)):
            low = self.interval(self.sum_of(width))[0] if by_sizes(width) else None
            if low is not None and low >= 0:
                return self.sum_of(a), width
        return None

    def rows(self, s: Sum, width: Expr) -> Sum:
        """`s` times `width`, each term by itself: so do rows cancel."""
        by = self.sum_of(width)
        result = by.times(s.const)
        for digit, factor in s.digits.items():
            result = result.plus(self._product(Sum({digit: 1}), by, width.dtype), factor)
        return self.tidy(result)

    # A division by a width that sizes tell has no value where that is 0: what is told of it, here
    # and of its ends, is told of the widths of at least 1.

    def _divided_by_sizes(self, e: Expr) -> Sum:
        """``(a * width + b) // width`` as ``a + b // width``, of which the last is 0 in a row."""
        if not isinstance(e, BinOp) or e.op not in ("//", "%"):
            return self.sum_of(e)
        row, rest = self._in_rows(self.sum_of(e.a), e.b)
        low, room = self.interval(rest)[0], self.interval(self.sum_of(e.b).plus(rest, -1))[0]
        nothing = not rest.digits and not rest.const
        if nothing or (low is not None and low >= 0 and room is not None and room >= 1):
            return row if e.op == "//" else rest
        if row.digits or row.const:
            left = self.sum_of(binary(e.op, self.expr_of(rest, e.dtype), e.b))
            return row.plus(left) if e.op == "//" else left
        part = self._part(e)
        if e.op == "%":
            self._cells |= {digit.base for digit in part.digits}
        return part

    def _in_rows(self, s: Sum, width: Expr) -> tuple[Sum, Sum]:
        """`s` as ``row * width + rest``, with all in `row` that is seen to be a multiple."""
        by, row = self.sum_of(width), Sum({})
        for digit, factor in s.digits.items():
            times, left = divmod(factor, by.factor())
            over = None if left else self._over(digit, by.over(by.factor()))
            if over is not None:
                row, s = row.plus(over, times), s.plus(Sum({digit: factor}), -1)
        for times in _whole_times(s, by):
            less = s.plus(by, -times)
            if len(less.digits) < len(s.digits):
                row, s = row.shifted(times), less
        return row, s

    def _over(self, digit: Digit, by: Sum) -> Sum | None:
        """A product divided by the sum `by`, which is one of its sides or a product of some."""
        part = self._parts[digit.base]
        if digit[1:] != (1, None) or not isinstance(part, BinOp) or part.op != "*":
            return None
        for one, other in ((part.a, part.b), (part.b, part.a)):
            if self.sum_of(other) == by:
                return self.sum_of(one)
        sides = _sides(part)
        for side in _sides(self.expr_of(by, part.dtype)):
            same = next((one for one in sides if self.number(one) == self.number(side)), None)
            if same is None:
                return None
            sides.remove(same)
        return self.sum_of(reduce(partial(binary, "*"), sides)) if sides else None

    def _whole_rows(self, s: Sum) -> Sum:
        """`s` with ``x // width * width + x % width`` as `x`, where sizes tell the width."""
        for cell, factor in s.digits.items():
            if cell.base not in self._cells or cell[1:] != (1, None):
                continue
            part = self._parts[cell.base]
            assert isinstance(part, BinOp)
            row = self.sum_of(BinOp("//", part.a, part.b))
            whole = self._product(row, self.sum_of(part.b), part.dtype).plus(Sum({cell: 1}))
            if all(s.digits.get(d) == f * factor for d, f in whole.digits.items()):
                return self.tidy(s.plus(whole, -factor).plus(self.sum_of(part.a), factor))
        return s

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
        if len(s.digits) < 2 and not self._cells and not self._part_sums:
            return s
        digits = join_digits(s.digits)
        result = s if digits is s.digits else self._opened(Sum(digits, s.const))
        if self._cells:
            result = self._whole_rows(result)
        for digit in list(result.digits) if self._part_sums else ():
            inner = self._part_sums.get(digit.base)
            if inner is None or digit not in result.digits:
                continue
            one = Digit(digit.base, 1, None)
            for times in _whole_times(result, inner):
                # x - x // 8 * 8 where x is a sum: see x as one part, then join
                whole = result.plus(inner, -times).plus(Sum({one: 1}), times)
                digits = join_digits(whole.digits)
                if one not in digits and len(digits) < len(result.digits):
                    result = Sum(digits, whole.const)
                    break
        return result

    def _opened(self, s: Sum) -> Sum:
        """`s` with parts that are sums, and are not divided any more, added in.

        So is ``(n * 4 + v) % 72``, come of digits that joined, as ``n % 18 * 4 + v``.
        """
        for digit, factor in s.digits.items():
            if digit.lower == 1 and digit.base in self._part_sums:
                inner = self._part_sums[digit.base]
                if digit.upper is not None:
                    inner = self.mod(inner, digit.upper, self._parts[digit.base].dtype)
                if digit not in inner.digits:
                    return self.tidy(s.plus(Sum({digit: -factor})).plus(inner, factor))
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
        digit = self._in_turns(inner, divisor, dtype) or self._quotient(inner, divisor, dtype)
        return self.tidy(result.plus(Sum({digit: 1})))

    def _in_turns(self, s: Sum, divisor: int, dtype: str) -> Digit | None:
        """``(n % 18 * 4 + v) // 9`` as ``(n * 4 + v) % 72 // 9``, a digit of what others are of.

        Where `v` is 0 … 3, and 72 a multiple of 9: so do the digits of a vector that was cut across
        the rows of a tile join again. None where it is no such sum.
        """
        for digit, factor in s.digits.items():
            whole = 0 if digit.upper is None or digit.lower > 1 else factor * digit.upper
            if factor == 1 or whole <= 0 or whole % divisor:
                continue
            rest = s.plus(Sum({digit: -factor}))
            low, high = self.interval(rest)
            if low is not None and low >= 0 and high is not None and high < factor:
                inner = rest.plus(self._base_sum(digit), factor)
                return Digit(self._sum_part(inner, dtype), divisor, whole)
        return None

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
        wider = self._without_turns(inner, divisor)
        if wider is not inner:
            return self.mod(wider, divisor, dtype)
        return self._inside(inner, divisor, dtype) or Sum(
            {self._remainder(inner, divisor, dtype): 1}
        )

    def _without_turns(self, s: Sum, divisor: int) -> Sum:
        """Of which the remainder is the same: ``n * 4`` for ``n % 18 * 4``, by 9."""
        for digit, factor in s.digits.items() if len(s.digits) > 1 else ():
            if digit.lower == 1 and digit.upper and not factor * digit.upper % divisor:
                s = s.plus(Sum({digit: -factor})).plus(self._base_sum(digit), factor)
        return s

    def _inside(self, s: Sum, divisor: int, dtype: str) -> Sum | None:
        """``(a * 3 + b) // 2 % 3`` as ``(a % 2 * 3 + b) // 2``; None where nothing comes of it."""
        digit = s.alone()
        if digit is None or digit.upper is not None or digit.base not in self._part_sums:
            return None
        whole = digit.lower * divisor
        base = self.mod(self._part_sums[digit.base], whole, dtype)
        if any(d.upper == whole and d.base in self._part_sums for d in base.digits):
            return None
        return self.div(base, digit.lower, dtype)

    def _coarse(self, s: Sum, step: int) -> tuple[Sum, Sum] | None:
        """`s` as ``coarse * step + fine`` with 0 <= fine < step; None where it is not so."""
        fine = Sum({d: f for d, f in s.digits.items() if f % step}, s.const % step)
        low, high = self.interval(fine)
        if low is None or high is None or low // step != high // step:
            return None
        coarse = Sum({d: f // step for d, f in s.digits.items() if f % step == 0}, s.const // step)
        return coarse.shifted(low // step), fine.shifted(-(low // step) * step)

    def _quotient(self, s: Sum, divisor: int, dtype: str) -> Digit:
        digit = s.alone()
        if digit is not None:
            lower = digit.lower * divisor
            if digit.upper is None or digit.upper % lower == 0:
                return Digit(digit.base, lower, digit.upper)
        return Digit(self._sum_part(s, dtype), divisor, None)

    def _remainder(self, s: Sum, divisor: int, dtype: str) -> Digit:
        digit = s.alone()
        if digit is not None:
            upper = digit.lower * divisor
            if digit.upper is None or digit.upper % upper == 0:
                return Digit(digit.base, digit.lower, upper)
        return Digit(self._sum_part(s, dtype), 1, divisor)

    # --- intervals --------------------------------------------------------------------------

    def interval(self, s: Sum, depth: int = _EXTREMES_SPLIT) -> Interval:
        """Between which values `s` lies."""
        result = self._plain_interval(s)
        if None in result or result[0] != result[1]:
            result = meet(result, self._quotients_interval(s))
            if self.sized:
                result = meet(result, self._interval_by_sizes(s))
        for digit, factor in s.digits.items() if depth else ():
            part = self._parts[digit.base]
            plain = digit.lower == 1 and digit.upper is None
            if plain and isinstance(part, BinOp) and part.op in ("min", "max"):
                rest = s.plus(Sum({digit: 1}), -factor)
                a, b = (
                    self.interval(self.tidy(rest.plus(self.sum_of(side), factor)), depth - 1)
                    for side in (part.a, part.b)
                )
                return meet(result, either(a, b, (part.op == "min") == (factor > 0)))
        return result

    def _quotients_interval(self, s: Sum) -> Interval:
        """As `interval`, where ``(x + 3) // 2 - x // 2`` counts as one: it is 1 or 2."""
        quotients = [d for d in s.digits if d.lower > 1 and d.upper is None]
        rest = s
        result: Interval = (0, 0)
        for k, high in enumerate(quotients):
            for low in quotients[k + 1 :]:
                factor = s.digits[high]
                both = high.lower == low.lower and s.digits[low] == -factor
                if not both or high not in rest.digits or low not in rest.digits:
                    continue
                gap = self.interval(
                    self.tidy(self._base_sum(high).plus(self._base_sum(low), -1)), 0
                )
                steps = (
                    None if gap[0] is None else gap[0] // high.lower,
                    None if gap[1] is None else -(-gap[1] // high.lower),
                )
                result = add(result, scale(steps, factor))
                rest = rest.plus(Sum({high: -factor, low: factor}))
        if rest is s:
            return None, None
        return add(result, self.interval(rest, 0))

    def _interval_by_sizes(self, s: Sum) -> Interval:
        """As `interval`, with variables at their ends told by sizes, which may cancel.

        So is ``i - n`` at most -1 where `i` goes on up to ``n - 1``.
        """
        ends = []
        for highest in (False, True):
            told = self.tidy(self._at_ends(s, highest))
            whole = self.tidy(self._undivided(told, highest))
            found = [self._plain_interval(one)[highest] for one in (told, whole)]
            known = [end for end in found if end is not None]
            ends.append((min if highest else max)(known, default=None))
        return ends[0], ends[1]

    def _plain_interval(self, s: Sum) -> Interval:
        """The interval of a sum, each digit by itself."""
        result: Interval = (s.const, s.const)
        for digit, factor in s.digits.items():
            result = add(result, scale(self._digit_interval(digit), factor))
        return result

    def _at_ends(self, s: Sum, highest: bool) -> Sum:
        """`s`, or more where its `highest` value is asked for, else less, told by sizes."""
        result = Sum({}, s.const)
        for digit, factor in s.digits.items():
            var = self._parts[digit.base]
            ends = self.dom.get(var) if isinstance(var, Var) else None
            row = self.row_of(digit)
            if row is not None:
                end = self._in_sizes(row[0], highest == (factor > 0))
                result = result.plus(self.rows(end, row[1]), factor)
            elif isinstance(var, BinOp) and var.op in ("//", "%") and by_sizes(var.b):
                result = result.plus(self._end_in_rows(digit, highest == (factor > 0)), factor)
            elif not isinstance(ends, SizedEnds) or digit.upper is not None:
                result = result.plus(Sum({digit: factor}))
            elif highest == (factor > 0):
                last = self.div(self.sum_of(ends.last), digit.lower, var.dtype)
                result = result.plus(last, factor)
            else:
                result = result.shifted(ends[0] // digit.lower * factor)
        return result

    def _in_sizes(self, s: Sum, highest: bool) -> Sum:
        """As `_at_ends`, with a number for what no size tells, where there is one."""
        told = self.tidy(self._at_ends(s, highest))
        result = Sum({}, told.const)
        for digit, factor in told.digits.items():
            end = self._digit_interval(digit)[highest == (factor > 0)]
            kept = end is None or by_sizes(self._parts[digit.base])
            result = result.plus(Sum({digit: 1}) if kept else Sum({}, end or 0), factor)
        return result

    def _end_in_rows(self, digit: Digit, highest: bool) -> Sum:
        """The end of ``x // width`` or ``x % width``, where whole rows hold `x`; else itself."""
        part, own = self._parts[digit.base], Sum({digit: 1})
        assert isinstance(part, BinOp)
        least = self.interval(self.sum_of(part.b))[0]
        if digit.upper is not None or least is None or least < 0:
            return own
        if part.op == "%":
            last = self.sum_of(part.b).shifted(-1) if highest else Sum({})
            return self.div(last, digit.lower, part.dtype)
        end = self.tidy(self._at_ends(self.sum_of(part.a), highest))
        row, rest = self._in_rows(end.shifted(1) if highest else end, part.b)
        low, high = self._plain_interval(rest)
        if highest and high is not None and high <= 0:  # x + 1 <= row * width
            return self.div(row.shifted(-1), digit.lower, part.dtype)
        if not highest and low is not None and low >= 0:
            return self.div(row, digit.lower, part.dtype)
        return own

    def _undivided(self, s: Sum, highest: bool) -> Sum:
        """`s`, or more or less, with ``x // 4 * 4`` as between ``x - 3`` and ``x``."""
        result = Sum({}, s.const)
        for digit, factor in s.digits.items():
            if digit.upper is not None or digit.lower == 1 or factor % digit.lower:
                result = result.plus(Sum({digit: factor}))
                continue
            times = factor // digit.lower
            result = result.plus(self._base_sum(digit), times)
            if highest != (times > 0):
                result = result.shifted(-times * (digit.lower - 1))
        return result

    def _base_sum(self, digit: Digit) -> Sum:
        """What a digit is a digit of, as a sum."""
        return self._part_sums.get(digit.base) or Sum({Digit(digit.base, 1, None): 1})

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
                told = isinstance(e, SizeVar) or isinstance(self.dom[e], SizedEnds)
                self.sized = self.sized or told
                return self.dom[e]
            case SizeVar():
                self.sized = True
                return 0, MOST
            case BinOp("min" | "max" as op, a, b):
                return either(self.expr_interval(a), self.expr_interval(b), op == "min")
            case BinOp("*", a, b) if e.dtype in REASONED:
                return products(self.expr_interval(a), self.expr_interval(b))
            case BinOp("//" | "%" as op, a, b) if e.dtype in REASONED:
                by = self.expr_interval(b)
                if by[0] == 0 and by_sizes(b):
                    by = 1, by[1]
                return divided(op, self.expr_interval(a), by)
            case BinOp("&" | "|" | "^" as op, a, b):
                return bits(op, self.expr_interval(a), self.expr_interval(b))
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
        return self.expr_interval(value) if self._cast_keeps(kind, value) else dtypes.limits(kind)

    def _cast_keeps(self, kind: str, value: Expr) -> bool:
        """Whether the type `kind` holds the integer `value`, whatever it is."""
        low, high = self.expr_interval(value)
        least, most = dtypes.limits(kind)
        return low is not None and high is not None and least <= low and high <= most

    # --- back to expressions ----------------------------------------------------------------

    def expr_of(self, s: Sum, dtype: str) -> Expr:
        """`s` written out: what is added first, in the order it came, then what is taken off.

        Where parts have another type than `dtype`, it is reckoned in int64, which holds each.
        """
        if any(self._parts[digit.base].dtype != dtype for digit in s.digits) and dtype != "int64":
            return cast(dtype, self.expr_of(s, "int64"))
        make = partial(const, dtype=dtype)
        plus = [(d, f) for d, f in s.digits.items() if f > 0]
        minus = [(d, f) for d, f in s.digits.items() if f < 0]
        constant = s.const
        result: Expr | None = None
        for digit, factor in plus:
            term = cast(dtype, self.part(digit))
            if factor != 1:
                term = binary("*", term, make(factor))
            result = term if result is None else binary("+", result, term)
        if result is None and (constant > 0 or not minus):
            result, constant = make(constant), 0
        for digit, factor in minus:
            if result is None:
                result = binary("*", cast(dtype, self.part(digit)), make(factor))
            else:
                term = cast(dtype, self.part(digit))
                result = binary("-", result, binary("*", term, make(-factor)))
        assert result is not None
        if not constant:
            return result
        if constant < 0:
            return binary("-", result, make(-constant))
        return binary("+", result, make(constant))

    def base(self, digit: Digit) -> Expr:
        """What `digit` is a digit of."""
        return self._parts[digit.base]

    def part(self, digit: Digit) -> Expr:
        """A digit as an expression."""
        part = self._parts[digit.base]
        if digit.upper is not None:
            part = binary("%", part, const(digit.upper, part.dtype))
        return part if digit.lower == 1 else binary("//", part, const(digit.lower, part.dtype))


def _sides(e: Expr) -> list[Expr]:
    """What `e` is the product of."""
    return [*_sides(e.a), *_sides(e.b)] if isinstance(e, BinOp) and e.op == "*" else [e]


def _whole_times(s: Sum, inner: Sum) -> list[int]:
    """How often `inner` may stand in `s`, going by the digits that both have."""
    found = (
        s.digits[d] // factor
        for d, factor in inner.digits.items()
        if d in s.digits and s.digits[d] % factor == 0
    )
    return list(dict.fromkeys(found))
