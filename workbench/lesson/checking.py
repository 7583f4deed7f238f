"""Whether a schedule still computes the same, on inputs chosen to catch what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt, prod
from typing import Any

import numpy as np

from workbench import emulate
from workbench.diag import Fail, count_text
from workbench.emulate.kernels.orders import Orders, race
from workbench.ir import BlockRealize, Const, PrimFunc, dtypes, once, stores, walk
from workbench.runtime import Built
from workbench.widgets.page.memo import build

Arrays = list[np.ndarray[Any, Any]]


def check_result(func: PrimFunc, start: PrimFunc, tolerance: float | None = 0.0) -> str:
    """Run the kernels of `func` on adversarial inputs; "" where all agree with `start`.

    Else one sentence: what could not be built, what the emulator refused, or the first wrong
    cell. Inputs: whole numbers that differ from cell to cell, a ramp (which shows a wrong index),
    large values of alternating sign (which show a cell added twice), and outputs that hold
    rubbish before the run (which show a cell that nothing wrote). Sums of products of two are
    exact on them; `tolerance` is what other values may differ by, None for the rounding of their
    type.

    >>> lesson.check_result(bound.func, add)
    ''
    """
    try:
        return check_kernels(build(func), start, tolerance)
    except Fail as fail:
        return fail.headline


def check_kernels(built: Built, start: PrimFunc, tolerance: float | None = 0.0) -> str:
    """As `check_result`, of what is built already. Raises EmulationError for a refusal."""
    for kind in ("whole numbers", "a ramp", "alternating large values"):
        wrong = _compare(built, start, kind, tolerance)
        if wrong:
            return wrong
    return ""


def check_reference(program: PrimFunc, reference: Callable[..., Any]) -> str:
    """Compare `program` with what `reference` makes of the same inputs; "" where they agree.

    `reference` takes the arguments that are only read, in their order, and returns the others: an
    array, or several in a tuple or list. Else one sentence: what is wrong, or the first wrong cell.
    """
    outputs = {store.buffer for store in stores(program.body)}
    arrays = [
        _rubbish(p.shape, p.dtype) if p in outputs else _values(_SMALL, p.shape, p.dtype, seed, 2)
        for seed, p in enumerate(program.params)
    ]
    given = [a.copy() for p, a in zip(program.params, arrays, strict=True) if p not in outputs]
    with np.errstate(all="ignore"):
        made = reference(*given)
        emulate.evaluate(program, arrays)
    wanted = list(made) if isinstance(made, (tuple, list)) else [made]
    pairs = [(p, a) for p, a in zip(program.params, arrays, strict=True) if p in outputs]
    if len(wanted) != len(pairs):
        returned, there = count_text(len(wanted), "array"), count_text(len(pairs), "output")
        return f"It returns {returned}, and the operator has {there}."
    for (param, got), want in zip(pairs, map(np.asarray, wanted), strict=True):
        if want.shape != got.shape:
            return f"It returns shape {want.shape}, and {param.name} has {got.shape}."
        wrong = emulate.first_wrong(param.name, param.dtype, got, want.astype(got.dtype))
        if wrong is not None:
            return f"It says {wrong.want} for {wrong.cell}, and the operator {wrong.got}."
    return ""


_SMALL = "whole numbers"


def _compare(built: Built, start: PrimFunc, kind: str, tolerance: float | None) -> str:
    given, wanted = _right(start, kind)
    arrays = [array.copy() for array in given]
    built.emulate(*arrays)
    for param, got, want in zip(start.params, arrays, wanted, strict=True):
        wrong = emulate.first_wrong(param.name, param.dtype, got, want, tolerance=tolerance)
        if wrong is not None:
            return f"With {kind} as input, {wrong.cell} is {wrong.got} and should be {wrong.want}."
    return ""


def race_of(built: Built, start: PrimFunc) -> Orders | None:
    """How two threads of a block race in the kernels of `built`, on whole numbers; see `race`."""
    given, _ = _right(start, _SMALL)
    return race(built.kernels, given, built.func.params)


@once  # of an exercise, which is checked again and again
def _right(start: PrimFunc, kind: str) -> tuple[Arrays, Arrays]:
    """Arguments of `start`, and what it makes of them. Nobody changes either."""
    outputs = {store.buffer for store in stores(start.body)}
    most = _most(start)
    given = [
        _rubbish(p.shape, p.dtype) if p in outputs else _values(kind, p.shape, p.dtype, seed, most)
        for seed, p in enumerate(start.params)
    ]
    wanted = [array.copy() for array in given]
    emulate.evaluate(start, wanted)
    return given, wanted


def _most(start: PrimFunc) -> int:
    """Up to where numbers may go so that float32 holds every sum of products of two exactly."""
    blocks = [node.block for node in walk(start.body) if isinstance(node, BlockRealize)]
    summed = [[i.dom.extent for i in b.iter_vars if i.kind == "reduce"] for b in blocks]
    longest = max(prod(int(e.value) for e in s if isinstance(e, Const)) for s in summed)
    return isqrt(2**24 // longest) if longest > 1 else 2**24


def _values(
    kind: str, shape: tuple[int, ...], dtype: str, seed: int, most: int
) -> np.ndarray[Any, Any]:
    """Values that float32 adds exactly, whatever the order."""
    flat = np.arange(prod(shape))
    large = min(4096, most // 2)
    made = {
        "whole numbers": np.random.default_rng(seed).integers(-9, 10, flat.size),
        "a ramp": (flat + seed) % most,
        "alternating large values": (large + flat % min(97, large)) * (1 - 2 * (flat % 2)),
    }[kind]
    if dtypes.is_int(dtype):
        made = made % 100
    return made.reshape(shape).astype(dtype)


def _rubbish(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    return np.full(shape, -77, dtype=dtype) if dtype[0] != "u" else np.full(shape, 77, dtype)
