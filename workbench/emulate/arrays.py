"""The caller's arrays as flat cells of a program's parameters, checked and written back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from workbench.diag import Refusal, count_text
from workbench.emulate.numbers import numpy_type, round_bfloat16
from workbench.ir import Buffer, dtypes, plain_number

Array = np.ndarray[Any, Any]


class Arguments:
    """Flat arrays, one a parameter, that a run works on; `write_back` hands results to the caller.

    An array is used in place where its elements lie one after the other. bfloat16 comes as
    float32, as uint16 bit patterns, or as a type named "bfloat16" (ml_dtypes) of 2 bytes.
    Raises Refusal for a wrong number of arrays, a wrong shape or type, or an array that is
    written and overlaps another or is read-only.
    """

    def __init__(
        self, params: Sequence[Buffer], args: Sequence[Array], written: Collection[Buffer]
    ) -> None:
        if len(args) != len(params):
            names = ", ".join(p.name for p in params)
            raise Refusal(
                f"Can't run with {count_text(len(args), 'array')}: "
                f"the program has {len(params)} parameters",
                hint=f"give one array for each of {names}, in this order.",
            )
        args = [from_number(p, a) for p, a in zip(params, args, strict=True)]
        for param, array in zip(params, args, strict=True):
            _check(param, array, param in written)
        _check_overlap(params, args, written)
        values = [as_values(a, p.type) for p, a in zip(params, args, strict=True)]
        self.flat = [np.ascontiguousarray(v).reshape(-1) for v in values]
        self._written = [
            (p, a, f)
            for p, a, f in zip(params, args, self.flat, strict=True)
            if p in written and not np.may_share_memory(a, f)
        ]

    def write_back(self) -> None:
        """Copy results into those arrays of the caller that could not be used in place."""
        for param, array, flat in self._written:
            values = flat.reshape(param.shape)
            if param.type == "bfloat16" and array.dtype != np.float32:
                bits = (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
                array[...] = bits.view(array.dtype)
            else:
                array[...] = values


def from_number(param: Buffer, given: Any) -> Any:
    """A number given for a scalar parameter as an array, where its type holds it; else `given`."""
    kinds = (bool, int, float, np.generic)
    if not param.scalar or not isinstance(given, kinds):
        return given
    value = plain_number(given)
    if dtypes.is_float(param.type) and isinstance(value, (int, float)):
        return np.array(value, numpy_type(param.type))
    if dtypes.is_int(param.type) and isinstance(value, int) and not isinstance(value, bool):
        return np.array(value, param.type) if dtypes.fits(value, param.type) else given
    return np.array(value) if isinstance(value, bool) and param.type == "bool" else given


def _check(param: Buffer, array: Array, written: bool) -> None:
    if param.scalar and not isinstance(array, np.ndarray):
        raise Refusal(
            f"Can't run with {array!r} for {param.name}: the program says {param.type}",
            hint=f"give a number that {param.type} holds.",
        )
    if not isinstance(array, np.ndarray):
        raise Refusal(
            f"Can't run with a {type(array).__name__} for {param.name}: it is not a NumPy array",
            hint=f"give np.asarray(..., dtype={param.type!r}) of shape {param.shape}.",
        )
    if isinstance(array, np.ma.MaskedArray):
        raise Refusal(
            f"Can't run with a masked array for {param.name}: what the mask hides would be used",
            hint=f"fill in what is hidden: {param.name}.filled(0).",
        )
    if array.shape != param.shape:
        raise Refusal(
            f"Can't run with an array of shape {array.shape} for {param.name}: "
            f"the program says {param.shape}",
            hint=f"give {param.name} an array of shape {param.shape}.",
        )
    if not _takes(array.dtype, param.type):
        raise Refusal(
            f"Can't run with an array of {array.dtype} for {param.name}: "
            f"the program says {param.type}",
            hint=f"convert it first: {param.name}.astype({str(numpy_type(param.type))!r}).",
        )
    if written and not array.flags.writeable:
        raise Refusal(
            f"Can't write {param.name}: its array is read-only",
            hint="give an array that may be written, made before the call.",
        )


def _takes(array_type: np.dtype[Any], dtype: str) -> bool:
    if dtype == "bfloat16":
        two_bytes = array_type.itemsize == 2 and array_type.name == "bfloat16"
        return two_bytes or array_type in (np.dtype("float32"), np.dtype("uint16"))
    return array_type == np.dtype(dtype)


def _check_overlap(
    params: Sequence[Buffer], args: Sequence[Array], written: Collection[Buffer]
) -> None:
    for k, (param, array) in enumerate(zip(params, args, strict=True)):
        for other, other_array in zip(params[:k], args[:k], strict=True):
            if (param in written or other in written) and _overlap(array, other_array):
                raise Refusal(
                    f"Can't run with one memory for {other.name} and {param.name}: "
                    "the program writes one of them",
                    hint="give each parameter an array of its own.",
                )


def _overlap(a: Array, b: Array) -> bool:
    return np.may_share_memory(a, b) and np.shares_memory(a, b)


def as_values(array: Array, dtype: str) -> Array:
    """The values of a caller's array for a parameter of `dtype`: bfloat16, however it comes, as
    float32."""
    if dtype != "bfloat16":
        return array
    if array.dtype == np.float32:
        return round_bfloat16(array)
    bits = np.ascontiguousarray(array).view(np.uint16).astype(np.uint32) << np.uint32(16)
    return bits.view(np.float32)
