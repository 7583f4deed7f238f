"""sum, max and min: over reduction axes, or of two values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from workbench.ir import Const, Expr, ExprLike, Var, as_expr, binary, cast, const, dtypes
from workbench.te.functions import if_then_else
from workbench.te.tensor import Axis, Combiner, Reduction, TupleReduction

# The largest finite value of each type (IEEE 754; bfloat16: float32's exponent, 7 bits of fraction)
_LARGEST = {
    "float16": 65504.0,
    "bfloat16": (2 - 2**-7) * 2.0**127,
    "float32": (2 - 2**-23) * 2.0**127,
    "float64": (2 - 2**-52) * 2.0**1023,
}
_START = {"+": 0, "*": 1, "and": True, "or": False}

Over = Axis | Sequence[Axis] | ExprLike


def sum(
    expr: ExprLike, axis: Over, where: ExprLike | None = None, init: ExprLike | None = None
) -> Expr:
    """The sum of `expr` over `axis`; with an expression in the place of axes, of the two.

    Only what meets the condition `where` is added. Raises ValueError for `init`, which TVM 0.27
    drops without a word, as it drops `where`.

    >>> te.compute((8,), lambda i: te.sum(X[i, k], axis=k))
    Tensor('compute', (8,), 'float32')
    """
    return reduced("+", expr, axis, where, init)


def max(
    expr: ExprLike, axis: Over, where: ExprLike | None = None, init: ExprLike | None = None
) -> Expr:
    """The largest `expr` over `axis`; with an expression in the place of axes, of the two.

    >>> te.compute((8,), lambda i: te.max(X[i, k], axis=k))
    Tensor('compute', (8,), 'float32')
    """
    return reduced("max", expr, axis, where, init)


def min(
    expr: ExprLike, axis: Over, where: ExprLike | None = None, init: ExprLike | None = None
) -> Expr:
    """The smallest `expr` over `axis`; with an expression in the place of axes, of the two.

    >>> te.compute((8,), lambda i: te.min(X[i, k], axis=k))
    Tensor('compute', (8,), 'float32')
    """
    return reduced("min", expr, axis, where, init)


def reduced(
    op: Literal["+", "*", "max", "min", "and", "or"],
    expr: ExprLike,
    axis: Over,
    where: ExprLike | None = None,
    init: ExprLike | None = None,
) -> Expr:
    """`expr` combined by `op` over `axis`, or with `axis` where that is a value."""
    name = "sum" if op == "+" else op
    if init is not None:
        raise ValueError(f"{name} takes no init=: combine it in a tensor that reads this one")
    if isinstance(axis, Axis) and axis.kind == "reduce":
        axis = (axis,)
    if not isinstance(axis, Sequence):
        if where is not None:
            raise ValueError(f"{name} of two values takes no where=: it goes with axes")
        return binary(op, expr, axis)
    value = as_expr(expr)
    if where is not None:  # what changes nothing is combined in the place of what is left out
        value = if_then_else(where, value, identity(op, value.dtype))
    return Reduction(op, value, _axes(name, axis))


def _axes(name: str, axis: Sequence[Axis]) -> tuple[Axis, ...]:
    axes = tuple(axis)
    for each in axes:
        if not isinstance(each, Axis) or each.kind != "reduce":
            raise TypeError(f"{name} goes over axes made by reduce_axis, not over {each!r}")
    if len(set(axes)) < len(axes) or not axes:
        raise ValueError(f"{name} goes over at least one axis, and over each once")
    return axes


def comm_reducer(
    fcombine: Callable[[Any, Any], Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """A function that reduces a value, or several at once, over axes. As TVM's ``te.comm_reducer``.

    `fcombine` makes of two values, or tuples of them, a third one, and `fidentity` of their types
    what to start from. The function made takes values and axes, and gives what ``compute`` makes a
    tensor each of. Whether the order counts is seen by the verbs, which TVM takes on trust.

    Raises ValueError or TypeError for what is no tuple of as many values.

    >>> def combine(x, y):
    ...     return x[0] + y[0], x[1] * y[1]
    >>> def start(s, t):
    ...     return te.const(0, s), te.const(1, t)
    >>> pair = te.comm_reducer(combine, start)
    >>> total, product = te.compute((8,), lambda i: pair((X[i, k], X[i, k]), axis=k))
    >>> total.shape
    (8,)
    """

    def reducer(
        expr: ExprLike | Sequence[ExprLike],
        axis: Axis | Sequence[Axis],
        where: ExprLike | None = None,
        init: ExprLike | None = None,
    ) -> Expr | tuple[Expr, ...]:
        if where is not None or init is not None:
            raise ValueError(f"{name} takes no where= or init=: choose by select inside")
        alone = not isinstance(expr, Sequence)
        if isinstance(expr, Sequence) and len(expr) < 2:
            raise TypeError(f"{name} reduces one value, or a tuple of two or more")
        given_values = expr if isinstance(expr, Sequence) else (expr,)
        values = tuple(as_expr(value) for value in given_values)
        axes = _axes(name, (axis,) if isinstance(axis, Axis) else axis)
        types = [value.dtype for value in values]
        lhs, rhs = (
            tuple(Var(f"{side}{k}", dtype) for k, dtype in enumerate(types)) for side in "xy"
        )
        made = _single(name, fcombine, *lhs, *rhs) if alone else fcombine(lhs, rhs)
        started = (fidentity(*types),) if alone else fidentity(*types)
        for given in (made, started):
            if not isinstance(given, Sequence) or len(given) != len(values):
                raise ValueError(f"{name} combines {len(values)} values, and starts from as many")
        starts = zip(types, started, strict=True)
        combiner = Combiner(
            name,
            lhs,
            rhs,
            tuple(cast(dtype, as_expr(v)) for dtype, v in zip(types, made, strict=True)),
            tuple(v if isinstance(v, Expr) else const(v, dtype) for dtype, v in starts),
        )
        parts = tuple(TupleReduction(values, axes, combiner, k) for k in range(len(values)))
        return parts[0] if alone else parts

    return reducer


def _single(name: str, fcombine: Callable[[Any, Any], Any], lhs: Var, rhs: Var) -> tuple[Any]:
    """What `fcombine` makes of two values, refused where it takes tuples of them."""
    try:
        return (fcombine(lhs, rhs),)
    except TypeError as error:
        raise TypeError(f"{name} does not combine single values: {error}") from error


def identity(op: str, dtype: str) -> Const:
    """What combining starts from: the value of `dtype` that changes no other."""
    if op in _START:
        return const(_START[op], dtype)
    if dtypes.is_float(dtype):
        return const(_LARGEST[dtype] * (-1 if op == "max" else 1), dtype)
    low, high = dtypes.limits(dtype)
    return const(low if op == "max" else high, dtype)


def min_value(dtype: str) -> Const:
    """The lowest value of `dtype`, of floats the lowest that is finite.

    >>> te.min_value("int8").value
    -128
    """
    return identity("max", dtype)


def max_value(dtype: str) -> Const:
    """The highest value of `dtype`, of floats the highest that is finite.

    >>> te.max_value("int8").value
    127
    """
    return identity("min", dtype)
