"""Arithmetic on NumPy arrays with the meaning that a GPU gives it: typed, wrapping, IEEE.

A value is an array or scalar of the NumPy type of its type; bfloat16 is float32 rounded to the
nearest bfloat16 after every operation. A multiplication and an addition are rounded apart; nvcc
fuses them into one ``fma`` where it can (``-fmad=false`` turns that off), which can change the
last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.ir import dtypes

Value = Any  # an array, or a scalar, of `numpy_type(dtype)`


def numpy_type(dtype: str) -> np.dtype[Any]:
    """The NumPy type that holds values of `dtype`."""
    return np.dtype("float32" if dtype == "bfloat16" else dtype)


def round_bfloat16(value: Value) -> Value:
    """float32 values rounded to the nearest bfloat16, ties to even; NaN stays NaN."""
    exact = np.asarray(value, dtype=np.float32)
    bits = exact.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    kept = (rounded & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(exact), exact, kept)


def round_to(value: Value, dtype: str) -> Value:
    """`value`, just computed, as a value of `dtype`."""
    return round_bfloat16(value) if dtype == "bfloat16" else value


def binary(op: str, a: Value, b: Value, dtype: str) -> Value:
    """`a op b` for operands of type `dtype`; the caller has made sure that no divisor is zero."""
    value = _BINARY[op](a, b)
    return round_to(value, dtype) if op in _ROUNDS else value


def _divide(a: Value, b: Value) -> Value:
    with np.errstate(all="ignore"):  # x / 0.0 is inf or NaN, as on a GPU
        return np.true_divide(a, b)


_ROUNDS = frozenset("+-*/")
_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divide,
    "//": np.floor_divide,
    "%": np.mod,
    "min": np.fmin,  # CUDA's fminf and fmaxf: a NaN loses against a number
    "max": np.fmax,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": np.left_shift,  # the caller has made sure that the type has more bits
    ">>": np.right_shift,
}


def convert(value: Value, source: str, target: str) -> Value:
    """`value` of type `source` as `target`: floats to integers as CUDA's ``cvt.rzi`` does.

    Rounds towards zero, saturates, and makes 0 of NaN; integers wrap around.
    """
    if target == "bool":
        return np.not_equal(value, 0)
    if dtypes.is_float(source) and dtypes.is_int(target):
        return _float_to_int(np.asarray(value), target)
    return round_to(np.asarray(value).astype(numpy_type(target)), target)


def _float_to_int(value: np.ndarray, target: str) -> np.ndarray:
    limits = np.iinfo(target)
    wide = np.trunc(value.astype(np.float64))
    # float(limits.max) may round up past the type: those lanes are set from the limit itself
    inside = np.where((wide > limits.min) & (wide < float(limits.max)), wide, 0)
    result = inside.astype(target)
    result = np.where(wide >= float(limits.max), limits.max, result)
    return np.where(wide <= limits.min, limits.min, result).astype(target)


def reinterpret(value: Value, source: str, target: str) -> Value:
    """The bits of `value` of type `source` as a `target`."""
    bits = np.asarray(value)
    if source == "bfloat16":
        bits = (bits.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    if target == "bfloat16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return bits.view(numpy_type(target))


def maths(name: str, args: list[Value], dtype: str) -> Value:
    """The function `name` of `workbench.ir.MATHS` of values of type `dtype`."""
    return round_to(np.asarray(_MATHS[name](*args), dtype=numpy_type(dtype)), dtype)


def _rsqrt(x: Value) -> Value:
    return np.asarray(1, dtype=np.asarray(x).dtype) / np.sqrt(x)


def _exp10(x: Value) -> Value:
    return np.power(np.asarray(10, dtype=np.asarray(x).dtype), x)


def _round(x: Value) -> Value:
    """To the nearest whole number, halves away from zero as in C; NumPy rounds them to even."""
    whole = np.trunc(x)
    next_one = whole + np.copysign(np.ones_like(whole), x)
    return np.where(np.abs(x - whole) >= 0.5, next_one, whole)


def _sigmoid(x: Value) -> Value:
    one = np.asarray(1, dtype=np.asarray(x).dtype)
    return one / (one + np.exp(-x))


def _erf(x: Value) -> Value:
    array = np.asarray(x)
    values = [math.erf(v) for v in array.astype(np.float64).ravel().tolist()]
    return np.array(values).reshape(array.shape)


_MATHS: dict[str, Callable[..., Value]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": _exp10,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "sigmoid": _sigmoid,
    "erf": _erf,
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": _round,
    "nearbyint": np.rint,
    "pow": np.power,
    "atan2": np.arctan2,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "copysign": np.copysign,
}
