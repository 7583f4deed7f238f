"""How long an expression reads."""

from __future__ import annotations

from workbench.ir import BinOp, Const, Expr, children

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
