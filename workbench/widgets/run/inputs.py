"""What a lab's programs run on: the learner's arrays, checked, and whole numbers for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from math import prod
from operator import mul
from typing import Any

import numpy as np

from workbench.diag import Fail, Refusal
from workbench.emulate.arrays import as_values
from workbench.emulate.memory import SMALL, free_memory
from workbench.emulate.sizes import sizes_of
from workbench.ir import Buffer, IRModule, PrimFunc, Sized, stores
from workbench.ir.dtypes import is_float

Array = np.ndarray[Any, Any]


def check_inputs(inputs: Mapping[str, Any] | None, reference: object, mod: IRModule) -> None:
    """Raise Fail for a name that is no parameter of `mod`, an array that does not fit its own, and
    a reference that is no function."""
    if reference is not None and not callable(reference):
        raise Fail(
            f"Can't open a lab with a {type(reference).__name__} as reference: it is no function",
            hint="give a function that takes the arrays of all parameters and writes the outputs",
        )
    if inputs is None:
        return
    if not isinstance(inputs, Mapping):
        raise Fail(
            f"Can't open a lab with a {type(inputs).__name__} as inputs",
            hint="give arrays by the names of parameters: inputs={"
            + ", ".join(f'"{p.name}": {p.name}' for p in mod.functions[0].params[:2])
            + "}",
        )
    params = [param for func in mod.functions for param in _sized(func, inputs)]
    for name, value in inputs.items():
        named = [param for param in params if param.name == name]
        if not named:
            there = ", ".join(dict.fromkeys(param.name for param in params))
            close = get_close_matches(str(name), there.split(", "), n=1)
            raise Fail(
                f"Can't open a lab with the input {name!r}: there is no parameter of that name",
                hint=(f'is it "{close[0]}"? ' if close else "") + f"there are: {there}",
            )
        _fit_one(named, value)


def _sized(func: PrimFunc, inputs: Mapping[str, Any]) -> Sequence[Buffer]:
    """The parameters of `func`, with the sizes that arrays tell. Raises Fail where they do not."""
    if not func.sizes:
        return func.params
    try:
        at = Sized(sizes_of(func, [inputs.get(param.name) for param in func.params]))
        made = [at.buffer(param) for param in func.params]
        empty = next((param.name for param in made if not prod(param.shape)), "")
        if not empty:
            return made
        told, hint = f"`{empty}` would have no cell", "give arrays with cells"
    except ZeroDivisionError:
        told, hint = "a size divides by 0", "give other arrays"
    except Refusal as refusal:
        told, hint = refusal.headline, refusal.hint
    raise Fail(f"Can't open a lab of {func.name} with these inputs: {told}", hint=hint)


def _fit_one(params: Sequence[Buffer], value: Any) -> None:
    """Raise Fail where `value` fits none of the parameters, one a function, of its name."""
    *others, last = params
    for param in others:
        with suppress(Fail):
            input_array(param, value)
            return
    input_array(last, value)


def arrays(func: PrimFunc, inputs: Mapping[str, Any]) -> list[Array]:
    """One fresh array a parameter, in order; outputs that `inputs` does not name are zeros.

    Raises Fail, before one is made, where there is no memory for them and for what is expected.
    """
    _check_fits(func)
    outputs = {store.buffer for store in stores(func.body)}
    made = []
    for seed, param in enumerate(func.params):
        if param.name in inputs:
            made.append(input_array(param, inputs[param.name]))
        elif param in outputs:
            made.append(np.zeros(param.shape, _numpy(param.dtype)))
        else:
            made.append(whole_numbers(param.shape, param.dtype, seed))
    return made


def _check_fits(func: PrimFunc) -> None:
    cells = [prod(param.shape) for param in func.params]
    sizes = [np.dtype(_numpy(param.dtype)).itemsize for param in func.params]
    need = 2 * sum(map(mul, cells, sizes)) + 8 * max(
        cells, default=0
    )  # whole numbers are drawn in 64 bits
    free = free_memory() if need > SMALL else None
    if free is not None and need > free:
        raise Fail(
            f"Can't run {func.name}: its arrays need {need:,} bytes of memory, {free:,} are free",
            hint="run the same steps on a program with smaller arrays",
        )


def input_array(param: Buffer, value: Any) -> Array:
    """A copy of `value` in the type of `param`: floats may be rounded, nothing else may change.

    Raises Fail where it is no array of that shape, or its values do not fit.
    """
    try:
        given = value if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    except Exception as error:  # a ragged list, an array on a GPU: whatever says so
        raise _unfit(param, f"it is no array: {str(error).partition(chr(10))[0]}") from None
    if isinstance(given, np.ma.MaskedArray):
        raise _unfit(
            param,
            "it is masked, and a kernel would read what the mask hides",
            f"fill in what is hidden: {param.name}.filled(0)",
        )
    if given.dtype.kind not in "biuf" and given.dtype.name != "bfloat16":
        raise _unfit(param, f"its type is {given.dtype}")
    if given.dtype == np.uint16 or given.dtype.name == "bfloat16":
        given = as_values(given, param.dtype)  # bit patterns, as a kernel takes them
    if given.shape != param.shape:
        raise _unfit(param, f"its shape is {given.shape}, not {param.shape}")
    with np.errstate(all="ignore"):
        made = given.astype(_numpy(param.dtype))
        kept = np.isfinite(made) == np.isfinite(given) if is_float(param.dtype) else made == given
    if not kept.all():
        first = tuple(int(i) for i in np.argwhere(~kept)[0])
        raise _unfit(
            param,
            f"{param.dtype} can't hold {given[first]}, at {first}",
            f"give values of {param.dtype}",
        )
    return made


def _unfit(param: Buffer, found: str, hint: str = "") -> Fail:
    shape = f"({', '.join(map(str, param.shape))}{',' if len(param.shape) == 1 else ''})"
    return Fail(
        f"Can't use the input `{param.name}`: {found}",
        hint=hint or f'give a NumPy array like np.zeros({shape}, "{_numpy(param.dtype)}")',
    )


def whole_numbers(shape: Sequence[int], dtype: str, seed: int) -> Array:
    """Small whole numbers that differ from cell to cell, so that sums are exact in any order."""
    values = np.random.default_rng(seed).integers(-8 if dtype[0] != "u" else 0, 9, size=shape)
    return values.astype(_numpy(dtype))


def _numpy(dtype: str) -> str:
    return "float32" if dtype == "bfloat16" else dtype
