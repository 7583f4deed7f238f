"""Whether a schedule still computes the same, on inputs chosen to catch what is wrong."""

from __future__ import annotations

import warnings
from math import isqrt, prod
from typing import Any

import numpy as np

from workbench import emulate, runtime
from workbench.diag import Fail
from workbench.ir import BlockRealize, Const, PrimFunc, dtypes, stores, walk
from workbench.runtime import Built

Arrays = list[np.ndarray[Any, Any]]


def check_result(func: PrimFunc, start: PrimFunc) -> str:
    """Run the kernels of `func` on adversarial inputs; "" where all agree with `start`.

    Else one sentence: what could not be built, what the emulator refused, or the first wrong
    cell. Inputs: whole numbers that differ from cell to cell, a ramp (which shows a wrong index),
    large values of alternating sign (which show a cell added twice), and outputs that hold
    rubbish before the run (which show a cell that nothing wrote).
    """
    try:
        built = _build(func)
        for kind in ("whole numbers", "a ramp", "alternating large values"):
            wrong = _compare(built, start, kind)
            if wrong:
                return wrong
    except Fail as fail:
        return fail.headline
    return ""


def _build(func: PrimFunc) -> Built:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # wasteful is judged by the goals
        return runtime.build(func, "cuda")


def _compare(built: Built, start: PrimFunc, kind: str) -> str:
    outputs = {store.buffer for store in stores(start.body)}
    most = _most(start)
    arrays = [
        _rubbish(p.shape, p.dtype) if p in outputs else _values(kind, p.shape, p.dtype, seed, most)
        for seed, p in enumerate(start.params)
    ]
    wanted = [array.copy() for array in arrays]
    emulate.evaluate(start, wanted)
    built.emulate(*arrays)
    for param, got, want in zip(start.params, arrays, wanted, strict=True):
        wrong = emulate.first_wrong(param.name, param.dtype, got, want, tolerance=0.0)
        if wrong is not None:
            return f"With {kind} as input, {wrong.cell} is {wrong.got} and should be {wrong.want}."
    return ""


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
