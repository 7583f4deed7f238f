"""content: what makes two expressions the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from workbench.ir import (
    BinOp,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Const,
    Node,
    Ramp,
    Var,
    children,
    dtypes,
)

_COMMUTATIVE = frozenset({"+", "*", "min", "max", "==", "!=", "and", "or", "&", "|", "^"})


def content(e: Node, number: Callable[[Node], Hashable]) -> Hashable:
    """What makes two expressions the same, given what stands for the nodes below: numbers, say."""
    match e:
        case Var() | Buffer():
            return e
        case Const(value, kind):
            return "Const", repr(value), kind
        case BinOp(op, a, b) if op in _COMMUTATIVE and not dtypes.is_float(a.dtype):
            return op, frozenset((number(a), number(b)))
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
