"""Programs with virtual threads, as a learner's steps leave them."""

from __future__ import annotations

import numpy as np

import workbench as wb
from tests.support.gpu_programs import parsed
from workbench import te
from workbench.ir import PrimFunc

MATMUL = """
@T.prim_func
def main(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32"),
         C: T.Buffer(({n}, {n}), "float32")):
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def strided_matmul(
    n: int = 32,
    block: int = 16,
    copies: tuple[int, int] = (2, 2),
    tile: int = 2,
    step: int = 8,
    axes: tuple[str, str] = ("vthread.y", "vthread.x"),
) -> wb.Schedule:
    """A product whose threads each own `copies` tiles of `tile` x `tile` cells, far apart."""
    sch = wb.Schedule(parsed(MATMUL.format(n=n)))
    far = sch.cache_write("C", 0, "local")
    i, j, k = sch.get_loops("C")
    i_0, i_v, i_1, i_2 = sch.split(i, [None, copies[0], block // copies[0] // tile, tile])
    j_0, j_v, j_1, j_2 = sch.split(j, [None, copies[1], block // copies[1] // tile, tile])
    k_0, k_1 = sch.split(k, [None, step])
    sch.reorder(i_0, j_0, i_v, j_v, i_1, j_1, k_0, k_1, i_2, j_2)
    for loop, axis in (
        (i_0, "blockIdx.y"), (j_0, "blockIdx.x"), (i_v, axes[0]), (j_v, axes[1]),
        (i_1, "threadIdx.y"), (j_1, "threadIdx.x"),
    ):  # fmt: skip
        sch.bind(loop, axis)
    sch.reverse_compute_at(far, j_1)
    for buffer in range(2):
        near = sch.cache_read("C", buffer, "shared")
        sch.compute_at(near, k_0)
        fetched = sch.fuse(*sch.get_loops(near)[-2:])
        threads = [block // copies[0] // tile, block // copies[1] // tile]
        _, y, x = sch.split(fetched, [None, *threads])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.compute_at(sch.cache_read("C", buffer, "local"), k_1)
    sch.decompose_reduction("C", k_0)
    return sch


def convolution(batch: int, in_channel: int, out_channel: int, in_size: int) -> PrimFunc:
    """TVM's tutorial on convolution: layout HWCN, 3 x 3 taps, a border of zeros."""
    data = te.placeholder((in_size, in_size, in_channel, batch), name="A")
    taps = te.placeholder((3, 3, in_channel, out_channel), name="W")
    padded = te.compute(
        (in_size + 2, in_size + 2, in_channel, batch),
        lambda yy, xx, cc, nn: te.if_then_else(
            te.all(yy >= 1, yy - 1 < in_size, xx >= 1, xx - 1 < in_size),
            data[yy - 1, xx - 1, cc, nn],
            0.0,
        ),
        name="Apad",
    )
    rc = te.reduce_axis((0, in_channel), name="rc")
    ry, rx = (te.reduce_axis((0, 3), name=name) for name in ("ry", "rx"))
    made = te.compute(
        (in_size, in_size, out_channel, batch),
        lambda yy, xx, ff, nn: te.sum(
            padded[yy + ry, xx + rx, rc, nn] * taps[ry, rx, rc, ff], axis=[ry, rx, rc]
        ),
        name="B",
    )
    return te.create_prim_func([data, taps, made])


def tutorial_steps(
    func: PrimFunc,
    threads: int = 8,
    tile: int = 8,
    step: int = 8,
    axes: tuple[str, str] = ("vthread", "vthread"),
) -> wb.Schedule:
    """The tutorial's schedule of `convolution`, on two axes of 2 virtual threads each."""
    sch = wb.Schedule(func)
    shared = [sch.cache_read("B", k, "shared") for k in range(2)]
    sch.compute_inline("Apad")
    local = [sch.cache_read("B", k, "local") for k in range(2)]
    far = sch.cache_write("B", 0, "local")
    hi, wi, fi, ni = sch.get_loops(far)
    bz = sch.fuse(hi, wi)
    by, tyz, ty, fi = sch.split(fi, [None, 2, threads, tile // 2])
    bx, txz, tx, ni = sch.split(ni, [None, 2, threads, tile // 2])
    sch.reorder(bz, by, bx, tyz, txz, ty, tx, fi, ni)
    for loop, axis in (
        (bz, "blockIdx.z"), (by, "blockIdx.y"), (bx, "blockIdx.x"), (tyz, axes[0]),
        (txz, axes[1]), (ty, "threadIdx.y"), (tx, "threadIdx.x"),
    ):  # fmt: skip
        sch.bind(loop, axis)
    sch.compute_at("B", tx)
    fi, ni, ry, rx, rc = sch.get_loops("B")[-5:]
    rco, rci = sch.split(rc, [None, step])
    sch.reorder(rco, ry, rx, rci, fi, ni)
    for near in local:
        sch.compute_at(near, rci)
    for near in shared:
        sch.compute_at(near, rx)
        ci, ni = sch.get_loops(near)[-2:]
        ty, ci = sch.split(ci, [threads, None])
        tx, ni, vector = sch.split(ni, [threads, None, 4])
        sch.reorder(ty, tx, ci, ni, vector)
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        sch.vectorize(vector)
    return sch


def convolved(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """What `convolution` makes of its data and taps."""
    size = a.shape[0]
    a = np.pad(a, ((1, 1), (1, 1), (0, 0), (0, 0)))
    taps = ((y, x) for y in range(3) for x in range(3))
    return sum(np.einsum("yxcn,cf->yxfn", a[y : y + size, x : x + size], w[y, x]) for y, x in taps)
