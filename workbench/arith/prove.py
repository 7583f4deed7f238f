"""What is certain about integer expressions: bounds, proofs, equality, linearity."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from threading import local

from workbench.arith.canonical import REASONED, Bounds, SizedEnds, Sum, by_sizes
from workbench.arith.normal import MOST
from workbench.arith.simplify import Simplifier
from workbench.ir import (
    COMPARISONS,
    TRUE,
    BinOp,
    BufferLoad,
    Const,
    Expr,
    For,
    Not,
    Size,
    Var,
    binary,
    cast,
    const,
    free_vars,
    walk,
)

MOST_ASKED = 1 << 14  # expressions: what was found out of them is forgotten then


class _Anywhere(local):
    """What a thread has found out that holds whatever values variables have.

    Of one thread: two that number parts at a time would give different ones the same number.
    """

    def __init__(self) -> None:
        self.known = Simplifier({})


_ANYWHERE = _Anywhere()


def anywhere() -> Simplifier:
    """What is known already of expressions whatever values variables have.

    Proofs ask the same without bounds again and again. It answers yes, no and numbers alone: how an
    expression is written may depend on what was asked before.
    """
    if _ANYWHERE.known.asked > MOST_ASKED:
        _ANYWHERE.known = Simplifier({})
    return _ANYWHERE.known


def _under(dom: Bounds | None) -> Simplifier:
    return Simplifier(dom) if dom else anywhere()


def bounds(e: Expr, dom: Bounds) -> tuple[int, int] | None:
    """Inclusive ends between which `e` lies for all values in `dom`; None where one is unknown.

    >>> i = Var("i")
    >>> bounds(i * 4 + 3, {i: (0, 7)})
    (3, 31)
    """
    low, high = _under(dom).expr_interval(e)
    return None if low is None or high is None else (low, high)


def prove(cond: Expr, dom: Bounds) -> bool:
    """Whether `cond` holds for all values in `dom`. False also where we cannot tell.

    >>> i, j = Var("i"), Var("j")
    >>> prove(i * 4 + j < 32, {i: (0, 7), j: (0, 3)})
    True
    """
    return proved(cond, _under(dom))


def proved(cond: Expr, known: Simplifier) -> bool:
    """As `prove`, with what `known` has found out of other conditions."""
    if isinstance(cond, BinOp) and cond.op in COMPARISONS and cond.a.dtype in REASONED:
        holds = known.decided(cond)
        if holds is not None or known.is_plain(cond.a, cond.b):
            return holds is True
    cond = known.simplify(cond)
    match cond:
        case Const(value=value):
            return bool(value)
        case BinOp("and", a, b):
            return proved(a, known) and proved(b, known)
        case BinOp("or", a, b):
            return proved(a, known) or proved(b, known)
        case Not(BinOp("or", a, b)):
            return proved(Not(a), known) and proved(Not(b), known)
        case Not(BinOp("and", a, b)):
            return proved(Not(a), known) or proved(Not(b), known)
    return False


def equal(a: Expr, b: Expr, dom: Bounds | None = None) -> bool:
    """Whether `a` and `b` are proved to be the same number for all values in `dom`.

    >>> i = Var("i")
    >>> equal(i // 8 * 8 + i % 8, i)
    True
    """
    return a is b or same(a, b, _under(dom))


def same(a: Expr, b: Expr, known: Simplifier) -> bool:
    """As `equal`, with what `known` has found out of others."""
    return a.dtype == b.dtype and (
        known.number(a) == known.number(b) or proved(BinOp("==", a, b), known)
    )


def loop_bounds(loops: Iterable[For], dom: Bounds | None = None) -> dict[Var, tuple[int, int]]:
    """The values that each loop variable takes, outer loops first; `dom` bounds other variables.

    A loop whose ends are not known is left out. A loop that never runs is (low, low - 1) or less.
    """
    known = dict(dom or {})
    found: dict[Var, tuple[int, int]] = {}
    for loop in loops:
        if isinstance(loop.min, Const) and isinstance(loop.extent, Const):
            first, count = int(loop.min.value), int(loop.extent.value)
            found[loop.loop_var] = known[loop.loop_var] = (first, first + count - 1)
            continue
        within = Simplifier(known)
        low, _ = within.expr_interval(loop.min)
        _, high = within.expr_interval(loop.min + loop.extent - 1)
        if low is not None and high is not None:
            ends = ends_of(loop.min, loop.extent, low, high)
            found[loop.loop_var] = known[loop.loop_var] = ends
    return found


def ends_of(first: Expr, extent: Expr, low: int, high: int) -> tuple[int, int]:
    """The values `low … high` of a range, with its last one where sizes alone tell it.

    Then `low` is its first one.
    """
    if isinstance(first, Const) and by_sizes(extent):
        return SizedEnds(low, high, first + extent - 1)
    return low, high


def up_to(size: Size, dtype: str = "int32") -> tuple[int, int]:
    """The values of an index into a dimension of that `size`."""
    if not isinstance(size, Expr):
        return 0, size - 1
    most = bounds(size, {})
    return ends_of(const(0, dtype), cast(dtype, size), 0, most[1] - 1 if most else MOST)


def is_index(e: Expr, size: Size, dom: Bounds) -> bool:
    """Whether `e` is proved to be an index into a dimension of that `size`."""
    known = _under(dom)
    return proved(e >= 0, known) and proved(e < size, known)


def last_of(ends: tuple[int, int]) -> Size:
    """The highest value between `ends`: a number, or what sizes tell."""
    return ends.last if isinstance(ends, SizedEnds) else ends[1]


def reads_memory(e: Expr) -> bool:
    """Whether what is in memory decides the value of `e`."""
    return any(isinstance(node, BufferLoad) for node in walk(e))


def conjuncts(condition: Expr) -> list[Expr]:
    """The conditions that `condition` joins with "and"; none where it is always true."""
    if isinstance(condition, BinOp) and condition.op == "and":
        return [*conjuncts(condition.a), *conjuncts(condition.b)]
    return [] if isinstance(condition, Const) and condition.value is True else [condition]


def joined(conditions: Iterable[Expr]) -> Expr:
    """One condition that holds where all of `conditions` do."""
    found: Expr = TRUE
    for condition in conditions:
        found = binary("and", found, condition)
    return found


def narrow(dom: Bounds, cond: Expr) -> dict[Var, tuple[int, int]]:
    """`dom` where `cond` holds: what ``i < 10`` or ``4 <= i and …`` say of single variables.

    An empty interval (low above high) means that `cond` never holds.
    """
    narrowed = dict(dom)
    for one in conjuncts(cond):  # each by itself: of hundreds, all would be simplified for each
        _narrow(narrowed, one)
    return narrowed


def _narrow(dom: dict[Var, tuple[int, int]], cond: Expr) -> None:
    match Simplifier(dom).simplify(cond):
        case BinOp("and", a, b):
            _narrow(dom, a)
            _narrow(dom, b)
        case BinOp("<" | "<=" | ">" | ">=" | "==" as op, a, b) if a.dtype in REASONED:
            difference = linear(a - b, free_vars(a - b))
            if difference is None or not isinstance(difference[1], Const):
                return  # not affine, or a load without variables is in it
            factors, rest = difference[0], difference[1]
            for var, factor in factors.items():
                if var in dom:
                    dom[var] = _narrowed(dom, var, factor, factors, int(rest.value), op)


def _narrowed(
    dom: Bounds, var: Var, factor: int, factors: dict[Var, int], rest: int, op: str
) -> tuple[int, int]:
    """The values of `var` for which ``sum of factors + rest op 0`` can hold."""
    low, high = dom[var]
    if any(v not in dom for v in factors):
        return low, high
    others = [sorted((f * dom[v][0], f * dom[v][1])) for v, f in factors.items() if v is not var]
    least = rest + sum(o[0] for o in others)
    most = rest + sum(o[1] for o in others)
    tops = {"<": -1 - least, "<=": -least, "==": -least}  # factor * var <= top
    floors = {">": 1 - most, ">=": -most, "==": -most}  # factor * var >= floor
    for limit, is_top in ((tops.get(op), True), (floors.get(op), False)):
        if limit is None:
            continue
        if is_top == (factor > 0):
            high = min(high, limit // factor)
        else:
            low = max(low, -(-limit // factor))
    return low, high


def linear(e: Expr, variables: Collection[Var]) -> tuple[dict[Var, int], Expr] | None:
    """`e` as factors of `variables` and the rest, which uses none of them; None where it is not so.

    >>> i, j = Var("i"), Var("j")
    >>> linear(i * 4 + j, [i])[0][i]
    4
    """
    known = anywhere()
    total = known.sum_of(e)
    factors: dict[Var, int] = {}
    rest = Sum({}, total.const)
    for digit, factor in total.digits.items():
        part = known.part(digit)
        if isinstance(part, Var) and part in variables:
            factors[part] = factor
        elif any(var in variables for var in free_vars(part)):
            return None
        else:
            rest = rest.plus(Sum({digit: factor}))
    if rest.digits:  # written as `e` is, whatever was asked before
        known = Simplifier({})
        moving = known.sum_of(e).digits.items()
        kept = {d: f for d, f in moving if known.part(d) not in factors}
        rest = Sum(kept, total.const)
    return factors, known.expr_of(rest, e.dtype)
