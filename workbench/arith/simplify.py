"""simplify: the same value in fewer words, for all values that the variables can have."""

from __future__ import annotations

from math import gcd

from workbench.arith.canonical import REASONED, Bounds, Sum
from workbench.arith.cost import cost
from workbench.arith.evaluate import wrapped
from workbench.arith.normal import Normal
from workbench.ir import (
    COMPARISONS,
    LOGICAL,
    BinOp,
    Call,
    Cast,
    Const,
    Expr,
    Not,
    Select,
    Var,
    binary,
    const,
    dtypes,
    rebuild,
)

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_ORDER = {"<": (True, True), "<=": (True, False), ">": (False, True), ">=": (False, False)}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def simplify(e: Expr, dom: Bounds | None = None) -> Expr:
    """`e` rewritten as short as we can, equal for all values of its variables in `dom`.

    >>> i, j = Var("i"), Var("j")
    >>> from workbench import script
    >>> script.expr_text(simplify((i * 4 + j) // 4, {j: (0, 3)}))
    'i'

    A result that is no shorter is not taken, so text that the learner wrote stays as it is.
    """
    return e if isinstance(e, Const) else Simplifier(dom or {}).simplify(e)


class Simplifier(Normal):
    """Simplifies expressions under one `dom`; keeps what it has found out, so reuse it."""

    def __init__(self, dom: Bounds) -> None:
        super().__init__(dom)
        self._simple: dict[Expr, Expr] = {}

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
        plain = self.with_simple_parts(e)
        if e.dtype in REASONED and isinstance(e, (BinOp, Select, Call)):
            other = self.expr_of(self.sum_of(e), e.dtype)
            return other if cost(other) < cost(plain) else plain
        if isinstance(plain, BinOp) and plain.op in COMPARISONS and plain.a.dtype in REASONED:
            other = self._comparison(plain)
            return other if cost(other) < cost(plain) else plain
        return plain

    def with_simple_parts(self, e: Expr) -> Expr:
        """`e` with its operands simplified, and what that decides decided."""
        if isinstance(e, BinOp):
            left, right = self.simplify(e.a), self.simplify(e.b)
            simple: Expr = e if left is e.a and right is e.b else BinOp(e.op, left, right)
        else:
            simple = rebuild(e, lambda n: self.simplify(n) if isinstance(n, Expr) else n)
        match simple:
            case BinOp(op, a, b) if e.dtype in REASONED or e.dtype == "bool":
                if op in LOGICAL and self.number(a) == self.number(b):
                    return a
                if op in ("//", "%") and isinstance(b, Const) and b.value == 0:
                    return simple
                folded = binary(op, a, b)
                same = isinstance(folded, BinOp) and folded.a is a and folded.b is b
                return simple if same else folded
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

    # --- comparisons ------------------------------------------------------------------------

    def difference(self, a: Expr, b: Expr) -> Sum | None:
        """``a - b`` in normal form; None for types that we do not reason about."""
        if a.dtype not in REASONED or b.dtype not in REASONED:
            return None
        return self._gap(a, b)

    def decided(self, e: BinOp) -> bool | None:
        """What a comparison of integers is, where a - b tells; None where it does not."""
        if e.op not in _ORDER:
            return self._equality(e.op, self._gap(e.a, e.b))
        less, strictly = _ORDER[e.op]
        low, high = self.interval(self._gap(e.a, e.b) if less else self._gap(e.b, e.a))
        if high is not None and (high < 0 or (high == 0 and not strictly)):
            return True
        return False if low is not None and (low > 0 or (low == 0 and strictly)) else None

    def _gap(self, a: Expr, b: Expr) -> Sum:
        return self.tidy(self.sum_of(a).plus(self.sum_of(b), -1))

    def is_plain(self, a: Expr, b: Expr) -> bool:
        """Whether a - b is of variables and their digits alone: shorter sides tell no more."""
        return all(isinstance(self.base(digit), Var) for digit in self._gap(a, b).digits)

    def _comparison(self, e: BinOp) -> Expr:
        """A comparison decided where the two sides' bounds decide it, else divided through."""
        if e.op in (">", ">="):
            turned = self._comparison(BinOp(_FLIPPED[e.op], e.b, e.a))
            return _flipped(turned)
        holds = self.decided(e)
        if holds is not None:
            return const(holds, "bool")
        difference = self._gap(e.a, e.b)
        if e.op in ("==", "!="):
            return self._written(e.op, difference, e.a.dtype)
        if e.op == "<=":  # a <= b is a - b - 1 < 0 between integers
            difference = difference.shifted(-1)
        for step in _steps(difference):
            found = self._coarse(difference, step)
            if found is not None:
                difference = found[0]
                break
        if e.op == "<=":
            difference = difference.shifted(1)
        return self._written(e.op, difference, e.a.dtype)

    def _equality(self, op: str, gap: Sum) -> bool | None:
        """Whether ``gap op 0`` holds, by the ends of `gap` and by what divides its terms."""
        low, high = self.interval(gap)
        never = (low is not None and low > 0) or (high is not None and high < 0)
        steps = _steps(gap)
        if steps and all(f % steps[-1] == 0 for f in gap.digits.values()):
            never = never or gap.const % steps[-1] != 0
        return (op == "==") != never if never or low == high == 0 else None

    def _written(self, op: str, difference: Sum, dtype: str) -> Expr:
        """``difference op 0`` with nothing negative on either side."""
        left = Sum({d: f for d, f in difference.digits.items() if f > 0}, max(difference.const, 0))
        right = left.plus(difference, -1)
        return binary(op, self.expr_of(left, dtype), self.expr_of(right, dtype))


def _steps(s: Sum) -> list[int]:
    """The numbers by which it may help to divide a comparison through, largest first."""
    factors = [abs(f) for f in s.digits.values()]
    return sorted({*factors, gcd(*factors)} - {0, 1}, reverse=True)


def _flipped(e: Expr) -> Expr:
    return binary(_FLIPPED[e.op], e.b, e.a) if isinstance(e, BinOp) else e


def _folded_cast(e: Expr, kind: str, inner: Const) -> Expr:
    if not dtypes.is_int(kind) or dtypes.is_float(inner.type):
        return e
    return const(wrapped(int(inner.value), kind), kind)
