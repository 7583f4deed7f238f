"""The scalar types of a program and the rules by which they meet.

A type is its name, a plain string, as in TVM: ``"float32"``, ``"int32"``, ``"bool"``.
"""

from __future__ import annotations

from functools import cache

BITS = {
    "bool": 8,  # one byte in memory, as in CUDA
    "int8": 8,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "uint8": 8,
    "uint16": 16,
    "uint32": 32,
    "uint64": 64,
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float64": 64,
}

_OF_32_BITS = {"float": "float32", "int": "int32", "uint": "uint32"}


def named(dtype: str) -> str:
    """The type of that name; as in TVM, of 32 bits where its name has no number.

    Raises ValueError for what is no type of numbers.
    """
    name = _OF_32_BITS.get(dtype, dtype)
    if name not in BITS:
        raise ValueError(f"{dtype!r} is no type of numbers; these are: {', '.join(BITS)}")
    return name


def itemsize(dtype: str) -> int:
    """Bytes that one element of `dtype` takes in memory."""
    return BITS[dtype] // 8


@cache
def limits(dtype: str) -> tuple[int, int]:
    """The lowest and highest value of an integer type."""
    if dtype.startswith("uint"):
        return 0, 2 ** BITS[dtype] - 1
    return -(2 ** (BITS[dtype] - 1)), 2 ** (BITS[dtype] - 1) - 1


def all_ones(dtype: str) -> int:
    """The integer of this type in which every bit is set."""
    low, high = limits(dtype)
    return -1 if low else high


@cache
def is_int(dtype: str) -> bool:
    """Whether `dtype` is a signed or unsigned integer (bool is not)."""
    return dtype.startswith(("int", "uint"))


@cache
def is_float(dtype: str) -> bool:
    """Whether `dtype` is a floating-point type."""
    return dtype.startswith(("float", "bfloat"))


def fits(value: int, dtype: str) -> bool:
    """Whether the integer type `dtype` holds `value`."""
    low, high = limits(dtype)
    return low <= value <= high


def join(a: str, b: str) -> str | None:
    """The type in which operands of types `a` and `b` meet, or None where a cast must be written.

    TVM's rule (``BinaryOpMatchTypes``): integers widen to floats and to wider integers,
    floats widen to wider floats; bool widens to whatever it meets.
    """
    if a == b:
        return a
    if a == "bool" or b == "bool":
        return b if a == "bool" else a
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    if is_float(a):
        if BITS[a] == BITS[b]:  # float16 with bfloat16: neither holds the other
            return None
        return a if BITS[a] > BITS[b] else b
    if a.startswith("int") != b.startswith("int"):
        return None
    return a if BITS[a] > BITS[b] else b
