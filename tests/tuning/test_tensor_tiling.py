"""Products for Tensor Cores in the ready space: what is one, and that its candidates are right."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import seeds
from workbench import script, target, te, tuning
from workbench.ir import Block, PrimFunc
from workbench.te import topi
from workbench.tuning.product import product_of
from workbench.tuning.tensor_tiling import tensor_product

H100, T4 = target.get("nvidia/h100"), target.get("nvidia/tesla-t4")


SIZES = {"m": 32, "n": 48, "k": 64}


def product(
    dtype: str = "float16",
    out: str = "float32",
    a: str = "mk",
    b: str = "kn",
    batch: int = 0,
    sizes: Mapping[str, int] = SIZES,
) -> PrimFunc:
    """A product whose operands lie as `a` and `b` say, each with an axis `batch` ahead, if any."""
    apart = (batch,) if batch else ()
    A, B = (
        te.placeholder((*apart, *(sizes[axis] for axis in axes)), name=name, dtype=dtype)
        for name, axes in (("A", a), ("B", b))
    )
    k = te.reduce_axis((0, sizes["k"]), name="k")

    def value(*place):
        *ahead, m, n = place
        at = {"m": m, "n": n, "k": k}
        factors = (X[(*ahead, *(at[axis] for axis in axes))] for X, axes in ((A, a), (B, b)))
        x, y = (f if out == dtype else f.astype(out) for f in factors)
        return te.sum(x * y, axis=k)

    return te.create_prim_func(
        [A, B, te.compute((*apart, sizes["m"], sizes["n"]), value, name="C")]
    )


def convolution(relu: bool = False) -> PrimFunc:
    """3 x 3 taps over padded pictures, channels last; 64 pixels."""
    data = te.placeholder((1, 8, 8, 16), name="data", dtype="float16")
    taps = te.placeholder((3, 3, 16, 32), name="taps", dtype="float16")
    made = topi.nn.conv2d_nhwc(data, taps, 1, 1, dilation=1, out_dtype="float32")
    return te.create_prim_func([data, taps, topi.nn.relu(made) if relu else made])


PROGRAMS = {
    "halves": product(),
    "sums of halves": product(out="float16"),
    "by columns": product(a="km", b="nk"),
    "B by columns": product(b="nk"),
    "A by columns": product(a="km"),
    "many": product(batch=3),
    "bfloat16": product("bfloat16"),
    "bytes": product("int8", "int32"),
    "bytes, B by columns": product("int8", "int32", b="nk"),
    "bytes by columns": product("int8", "int32", a="km", b="nk"),
    "tails": product(sizes={"m": 25, "n": 30, "k": 40}),
    "a tail of rows": product(b="nk", sizes={"m": 40, "n": 32, "k": 32}),
    "convolution": convolution(),
    "convolution and ReLU": convolution(relu=True),
}


def arguments(func: PrimFunc, rng: np.random.Generator) -> list[np.ndarray]:
    """Small whole numbers, whose sums are exact in any order."""
    types = {"bfloat16": "float32"}
    return [rng.integers(-2, 3, p.shape).astype(types.get(p.dtype, p.dtype)) for p in func.params]


def check(func: PrimFunc, gpu: target.Target, seed: int) -> str:
    """What refused the candidate that `seed` draws; "" where it computes what `func` does."""
    found = tuning.candidate(func, tuning.ready(gpu), gpu, (), Random(seed))
    if found.reason:
        return found.reason
    given = arguments(func, np.random.default_rng(seed))
    expected = [array.copy() for array in given]
    wb.build(wb.Schedule(func), target="c")(*expected)
    assert found.kernel
    found.kernel(*given)
    assert all(map(np.array_equal, given, expected)), found.decisions
    assert any(step.verb == "tensorize" for step in found.schedule.trace.steps)
    return ""


@pytest.mark.fuzz
@pytest.mark.parametrize("name", PROGRAMS)
def test_candidates_are_right(name):
    """As all programs here have tiles for a warp, none is refused but for what was drawn for it."""
    refused = [check(PROGRAMS[name], H100, seed) for seed in seeds(first=1)[::10]]
    assert not any(refused), refused


@pytest.mark.fuzz
@pytest.mark.parametrize("name", ["halves", "B by columns", "convolution"])
def test_candidates_by_wmma_are_right(name):
    """Of a GPU that has no mma.sync."""
    assert not any(check(PROGRAMS[name], T4, seed) for seed in seeds(first=2)[::10])


def block_of(func: PrimFunc, name: str = "C") -> Block:
    sch = wb.Schedule(func)
    found = sch.get(sch.get_block(name))
    assert isinstance(found, Block)
    return found


def test_a_convolution_is_a_product():
    """Rows are pixels, columns filters, and taps and channels are summed over."""
    found = product_of(block_of(convolution(), "conv2d_nhwc"))
    assert found is not None
    assert found.sizes == (64, 32, 144)
    assert not found.plain
    assert found.terms_last(0)
    assert not found.terms_last(1)


TEXT = """
@T.prim_func
def main(A: T.Buffer((32, 32), "float16"), B: T.Buffer((32, 32), "float16"),
         C: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
"""
OTHERS = {
    "starts at one": ("T.float32(0)", "T.float32(1)"),
    "one buffer twice": ("B[vk, vj]", "A[vk, vj]"),
    "a difference": ("= C[vi, vj] +", "= C[vi, vj] -"),
    "a sum of both": (" * ", " + "),
    "one row": ("A[vi, vk]", "A[0, vk]"),
    "terms of A alone": ("B[vk, vj]", "B[0, vj]"),
    "a maximum": ("C[vi, vj] + T.Cast", "T.max(C[vi, vj], T.float32(0)) + T.Cast"),
    "three factors": ("B[vk, vj])", "B[vk, vj]) * T.float32(2)"),
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_what_is_no_product(change):
    func = script.parse(TEXT)
    assert product_of(block_of(func)) is not None
    func = script.parse(TEXT.replace(*change))
    assert product_of(block_of(func)) is None


def test_loops_in_another_order_are_taken():
    """Which loop is a row's is told by the iterators, not by where it stands."""
    text = TEXT.replace("for i, j, k in T.grid(32, 32, 32)", "for k, j, i in T.grid(32, 32, 32)")
    assert check(script.parse(text), H100, 3) == ""


@pytest.mark.parametrize(
    ("func", "gpu"),
    [
        (product(), "nvidia/tesla-p100"),  # has no Tensor Cores
        (product("bfloat16"), "nvidia/tesla-t4"),
        (product("int8", "int32"), "nvidia/tesla-t4"),  # wmma of bytes asks for other rows
        (product("float32"), "nvidia/h100"),  # by TF32 the sums would be others
        (product(sizes={"m": 7, "n": 32, "k": 32}), "nvidia/h100"),  # most would be filled up
    ],
)
def test_what_a_gpu_has_no_tiles_for_is_tiled_as_ever(func, gpu):
    on = target.get(gpu)
    assert tensor_product(block_of(func), on) is None
