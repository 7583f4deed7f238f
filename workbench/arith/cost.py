"""How long an expression reads."""

from __future__ import annotations

from workbench.ir import BinOp, Const, Expr, children

_PRECEDENCE = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "//": 6, "%": 6}


def cost(e: Expr) -> int:
    """How long `e` reads: its operands, operators and brackets; worked out once."""
    try:
        return e._cost
    except AttributeError:
        reads = _cost(e)
        object.__setattr__(e, "_cost", reads)
        return reads


def _cost(e: Expr) -> int:
    match e:
        case Const(value=value):
            return 2 if not isinstance(value, bool) and value < 0 else 1
        case BinOp(op, a, b):
            level = _PRECEDENCE.get(op, 0)
            brackets = (_level(a) < level) + (level > 0 and _level(b) <= level)
            return 1 + cost(a) + cost(b) + brackets
    return 1 + sum(cost(child) for child in children(e) if isinstance(child, Expr))


def _level(e: Expr) -> int:
    return _PRECEDENCE.get(e.op, 7) if isinstance(e, BinOp) else 7
