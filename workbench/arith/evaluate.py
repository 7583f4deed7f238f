"""The value of an integer expression for given values of its variables, in plain Python."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import singledispatch

from workbench.ir import BinOp, Call, Cast, Const, Expr, Not, Select, Var, dtypes

Env = Mapping[Var, int]

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    # what shifts too far has no value: any number will do, and a small one is soon made
    "<<": lambda a, b: a << b % 64,
    ">>": lambda a, b: a >> b % 64,
}

# int32 and int64 do not wrap: indices that overflow are wrong programs, as in C
_WRAPPING = frozenset({"int8", "int16", "uint8", "uint16", "uint32", "uint64"})


def evaluate(e: Expr, env: Env) -> int:
    """The value of `e` where its variables have the values in `env`; conditions give a bool.

    >>> i = Var("i")
    >>> evaluate(i * 4 + 3, {i: 2})
    11

    Raises KeyError for a variable that `env` lacks, ValueError for what has no value before the
    program runs: a load, a float.
    """
    return compiled(e)(env)


@singledispatch
def compiled(e: Expr) -> Callable[[Env], int]:
    """`e` as a Python function of the values of its variables."""
    raise ValueError(f"{type(e).__name__} has no value before the program runs")


@compiled.register
def _(e: Const) -> Callable[[Env], int]:
    if dtypes.is_float(e.type):
        raise ValueError("arith works on integers and conditions, not on floats")
    value = int(e.value) if dtypes.is_int(e.type) else bool(e.value)
    return lambda env: value


@compiled.register
def _(e: Var) -> Callable[[Env], int]:
    return lambda env: env[e]


@compiled.register
def _(e: BinOp) -> Callable[[Env], int]:
    a, b = compiled(e.a), compiled(e.b)
    if e.op == "and":
        return lambda env: a(env) and b(env)
    if e.op == "or":
        return lambda env: a(env) or b(env)
    if e.op not in OPERATORS:
        raise ValueError("arith works on integers and conditions, not on floats")
    apply = OPERATORS[e.op]
    if e.dtype in _WRAPPING:
        return lambda env: wrapped(apply(a(env), b(env)), e.dtype)
    if isinstance(e.b, Const):  # as most do: a call less at each point
        number, var = b({}), e.a
        if isinstance(var, Var):
            return lambda env: apply(env[var], number)
        return lambda env: apply(a(env), number)
    return lambda env: apply(a(env), b(env))


@compiled.register
def _(e: Not) -> Callable[[Env], int]:
    a = compiled(e.a)
    return lambda env: not a(env)


@compiled.register
def _(e: Cast) -> Callable[[Env], int]:
    value, kind = compiled(e.value), e.type
    if kind == "bool":
        return lambda env: bool(value(env))
    if not dtypes.is_int(kind):
        raise ValueError("arith works on integers and conditions, not on floats")
    return lambda env: wrapped(int(value(env)), kind)


@compiled.register
def _(e: Select) -> Callable[[Env], int]:
    return _choice(e.condition, e.true_value, e.false_value)


@compiled.register
def _(e: Call) -> Callable[[Env], int]:
    if e.op != "if_then_else":
        raise ValueError(f"{e.op} has no value before the program runs")
    return _choice(*e.args)


def _choice(condition: Expr, yes: Expr, no: Expr) -> Callable[[Env], int]:
    test, a, b = compiled(condition), compiled(yes), compiled(no)
    return lambda env: a(env) if test(env) else b(env)


def wrapped(value: int, dtype: str) -> int:
    """`value` as the integer type `dtype` holds it: its lowest bits."""
    bits = dtypes.BITS[dtype]
    value &= (1 << bits) - 1
    if dtype.startswith("int") and value >> (bits - 1):
        value -= 1 << bits
    return value
