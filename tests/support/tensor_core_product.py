"""Products of 32 x 32 on Tensor Cores, in all the ways that there are intrinsics for."""

from __future__ import annotations

from functools import cache

import workbench as wb
from workbench import script

SHORT = {  # in names of intrinsics
    "float16": "f16",
    "bfloat16": "bf16",
    "int8": "s8",
    "float32": "f32",
    "int32": "s32",
}
PRODUCT = """@T.prim_func
def main(
    A: T.Buffer((32, 32), "{of}"),
    B: T.Buffer((32, 32), "{of}"),
    C: T.Buffer((32, 32), "{dtype}"),
):
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = {start}
            C[vi, vj] = C[vi, vj] + {value}
"""

IN_PLACE = """@T.prim_func
def main(
    A: T.Buffer((32, 32), "float16"), B: T.Buffer((32, 32), "float16"),
    C: T.Buffer((32, 32), "float32")
):
    D = T.alloc_buffer((32, 32), scope="wmma.accumulator")
    for i_0 in T.thread_binding(2, thread="threadIdx.y"):
        for j_0, k_0, i_1, j_1, k_1 in T.grid(2, 2, 16, 16, 16):
            with T.block("D"):
                vi = T.axis.spatial(32, i_0 * 16 + i_1)
                vj = T.axis.spatial(32, j_0 * 16 + j_1)
                vk = T.axis.reduce(32, k_0 * 16 + k_1)
                with T.init():
                    D[vi, vj] = C[vi, vj]
                D[vi, vj] = D[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
        for j_0, i_1, j_1 in T.grid(2, 16, 16):
            with T.block("C"):
                vi = T.axis.spatial(32, i_0 * 16 + i_1)
                vj = T.axis.spatial(32, j_0 * 16 + j_1)
                C[vi, vj] = D[vi, vj]
"""


def product(
    dtype: str = "float32", trans: bool = False, pad: int = 0, of: str = "float16"
) -> wb.Schedule:
    """A product of a warp for each 16 x 16 of C, tensorized all but the sum."""
    a, b = "A[vi, vk]", "B[vj, vk]" if trans else "B[vk, vj]"
    value = f"{a} * {b}"
    if dtype != of:
        value = f'T.Cast("{dtype}", {a}) * T.Cast("{dtype}", {b})'
    text = PRODUCT.format(dtype=dtype, of=of, start=f"T.{dtype}(0)", value=value)
    sch = wb.Schedule(script.parse(text))
    shared = [sch.cache_read("C", name, "shared") for name in "AB"]
    parts = zip("AB", "ab", strict=True)
    fragments = [sch.cache_read("C", f"{n}_shared", f"wmma.matrix_{part}") for n, part in parts]
    out = sch.cache_write("C", 0, "wmma.accumulator")
    i, j = sch.get_loops(out)
    i_0, i_1 = sch.split(i, factors=[None, 16])
    j_0, j_1 = sch.split(j, factors=[None, 16])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.bind(i_0, "threadIdx.y")
    sch.bind(j_0, "threadIdx.z")
    sch.compute_at("C", j_0)
    i, j, k_all = sch.get_loops("C")[-3:]
    k_0, k_1 = sch.split(k_all, factors=[None, 16])
    sch.reorder(k_0, i, j, k_1)
    for block in (*fragments, *shared):
        sch.compute_at(block, k_0)
    for block in shared:
        if pad:
            sch.storage_align(block, 0, 0, 2 * pad, pad)
        cells = sch.fuse(*sch.get_loops(block)[-2:])
        _, y, z, x = sch.split(cells, factors=[None, 2, 2, 32])
        for loop, axis in ((y, "threadIdx.y"), (z, "threadIdx.z"), (x, "threadIdx.x")):
            sch.bind(loop, axis)
    sch.decompose_reduction("C", k_0)
    short = SHORT[dtype]
    tensorize(sch, "C_init", f"wmma_fill_16x16x16_{short}")
    tensorize(sch, "A_shared_wmma_matrix_a", f"wmma_load_16x16x16_{SHORT[of]}_a_shared")
    tensorize(sch, "C_wmma_accumulator", f"wmma_store_16x16x16_{short}_global")
    return sch


def tensorize(sch: wb.Schedule, block: str, name: str, loop: int = -2) -> None:
    """Let the intrinsic run the tile of the last loops around `block`."""
    sch.tensorize(sch.get_loops(block)[loop], name)


@cache
def whole(
    dtype: str = "float32", trans: bool = False, pad: int = 0, of: str = "float16"
) -> wb.Schedule:
    """All of it tensorized."""
    sch = product(dtype, trans, pad, of)
    short, out, how = SHORT[of], SHORT[dtype], "_trans" if trans else ""
    tensorize(sch, "B_shared_wmma_matrix_b", f"wmma_load_16x16x16_{short}_b{how}_shared")
    tensorize(sch, "C_update", f"wmma_sync_16x16x16_{short}{short}{out}{how}", -3)
    return sch


def in_place() -> wb.Schedule:
    """C + A B in C: sums begin with C's own values, loaded into fragments."""
    sch = wb.Schedule(script.parse(IN_PLACE))
    for name, part in (("A", "a"), ("B", "b")):
        near = sch.cache_read("D", name, "shared")
        held = sch.cache_read("D", f"{name}_shared", f"wmma.matrix_{part}")
        for block in (held, near):
            sch.compute_at(block, sch.get_loops("D")[2])
        cells = sch.fuse(*sch.get_loops(near)[-2:])
        _, y, x = sch.split(cells, factors=[None, 2, 32])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        tensorize(sch, f"{name}_shared_wmma_matrix_{part}", f"wmma_load_16x16x16_f16_{part}_shared")
    sch.decompose_reduction("D", sch.get_loops("D")[2])
    tensorize(sch, "D_init", "wmma_load_16x16x16_f32_c_global")
    tensorize(sch, "D_update", "wmma_sync_16x16x16_f16f16f32", -3)
    tensorize(sch, "C", "wmma_store_16x16x16_f32_global")
    return sch
