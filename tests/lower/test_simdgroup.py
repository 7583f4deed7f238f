"""Matrices of a SIMD group: a product in Metal's text, and on the emulator."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import workbench as wb
from tests.support.tensor_core_product import PRODUCT, tensorize
from workbench import script

HELD = "metal.simdgroup"


@cache
def product() -> wb.Schedule:
    """A product of 16 x 16 x 32 in halves, of columns of B, a SIMD group for each 8 x 16 of C."""
    half = {"dtype": "float16", "of": "float16", "start": "T.float16(0)"}
    text = PRODUCT.format(**half, value="A[vi, vk] * B[vj, vk]")
    text = text.replace("(32, 32)", "(16, 32)").replace("(32, 32, 32)", "(16, 16, 32)")
    sch = wb.Schedule(script.parse(text.replace("C: T.Buffer((16, 32)", "C: T.Buffer((16, 16)")))
    shared = [sch.cache_read("C", name, "shared") for name in "AB"]
    held = [sch.cache_read("C", f"{name}_shared", HELD) for name in "AB"]
    sch.transform_layout(held[1], ("write", 0), "lambda j, k: (k, j)")
    out = sch.cache_write("C", 0, HELD)
    i, j = sch.get_loops(out)
    i_0, i_1 = sch.split(i, factors=[None, 8])
    j_0, j_1 = sch.split(j, factors=[None, 8])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.bind(i_0, "threadIdx.y")
    sch.compute_at("C", i_0)
    i, j, k = sch.get_loops("C")[-3:]
    j_0, j_1 = sch.split(j, factors=[None, 8])
    k_0, k_1 = sch.split(k, factors=[None, 8])
    sch.reorder(k_0, j_0, i, j_1, k_1)
    for block in held:
        sch.compute_at(block, k_0)
    for block in shared:
        sch.compute_at(block, k_0)
        cells = sch.fuse(*sch.get_loops(block)[-2:])
        _, y, x = sch.split(cells, factors=[None, 2, 32])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    sch.decompose_reduction("C", k_0)
    sch.split(sch.get_loops("B_shared_metal_simdgroup")[-2], factors=[None, 8])
    tensorize(sch, "B_shared_metal_simdgroup", "simdgroup_load_8x8x8_f16_shared_trans")
    tensorize(sch, "A_shared_metal_simdgroup", "simdgroup_load_8x8x8_f16_shared")
    tensorize(sch, "C_init", "simdgroup_make_filled_8x8x8_f16")
    tensorize(sch, "C_update", "simdgroup_multiply_accumulate_8x8x8_f16", -3)
    tensorize(sch, "C_metal_simdgroup", "simdgroup_store_8x8x8_f16_global")
    return sch


CALLS = """
A_shared_metal_simdgroup[1];
B_shared_metal_simdgroup[2];
C_metal_simdgroup[2];
C_metal_simdgroup[ax1_0_init] = make_filled_simdgroup_matrix<half, 8, 8>(half(0.0f));
load(A_shared_metal_simdgroup[0], &A_shared[ax0_0 * 64], 8);
load(B_shared_metal_simdgroup[ax0_0_1], &B_shared[ax0_0_1 * 64], 8, ulong2(0, 0), true);
multiply_accumulate(C_metal_simdgroup[ax1_0], A_shared_metal_simdgroup[0],
    B_shared_metal_simdgroup[ax1_0], C_metal_simdgroup[ax1_0]);
store(C_metal_simdgroup[ax1_0], &C[ax0_0 * 128 + ax1_0 * 8], 16);
"""


def test_a_product_is_right_and_told_in_metal():
    sch, rng = product(), np.random.default_rng(0)
    a, b, c = (rng.integers(-3, 4, p.shape).astype(p.dtype) for p in sch.func.params)
    kernel = wb.build(sch, target="metal")
    kernel.emulate(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.T.astype("float32"))
    lines = [line.strip() for line in kernel.source.splitlines() if "simdgroup" in line]
    told = [re.sub(r"^simdgroup_(half8x8 )?", "", line) for line in lines]
    assert " ".join(told) == " ".join(CALLS.split())


def test_other_gpus_have_no_such_matrices():
    with pytest.raises(wb.ScheduleError) as error:
        wb.build(product(), target="nvidia/h200")
    assert (
        error.value.headline == "Can't build this: NVIDIA H200 SXM has no matrices of a SIMD group."
    )
    assert error.value.hint.startswith("build it for a GPU of Apple's, target='metal'")
