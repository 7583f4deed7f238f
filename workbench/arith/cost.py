"""How long an expression reads."""

from __future__ import annotations

from workbench.ir import BinOp, Const, Expr, children

_PRECEDENCE = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "//": 6, "%": 6}


def cost(e: Expr, known: dict[Expr, int] | None = None) -> int:
    """How long `e` reads: its operands, operators and brackets; `known` remembers parts."""
    known = {} if known is None else known
    found = known.get(e)
    if found is None:
        found = known[e] = _cost(e, known)
    return found


def _cost(e: Expr, known: dict[Expr, int]) -> int:
    match e:
        case Const(value=value):
            return 2 if not isinstance(value, bool) and value < 0 else 1
        case BinOp(op, a, b):
            level = _PRECEDENCE.get(op, 0)
            brackets = (_level(a) < level) + (level > 0 and _level(b) <= level)
            return 1 + cost(a, known) + cost(b, known) + brackets
    return 1 + sum(cost(child, known) for child in children(e) if isinstance(child, Expr))


def _level(e: Expr) -> int:
    return _PRECEDENCE.get(e.op, 7) if isinstance(e, BinOp) else 7
