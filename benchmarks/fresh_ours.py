"""From a fresh process to the CUDA text of a program of the course, by the workbench."""

import sys

import workbench as wb
from workbench import Schedule, T, te


def window_sum() -> Schedule:
    """The window sum of the course, with its cooperative fetch."""

    @T.prim_func
    def main(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")) -> None:
        for i in T.grid(1024):
            with T.block("C"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] + A[vi + 1] + A[vi + 2]

    sch = wb.Schedule(main)
    block = sch.get_block("C")
    (i,) = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, 128])
    sch.bind(i0, "blockIdx.x")
    sch.bind(i1, "threadIdx.x")
    shared = sch.cache_read(block, 0, "shared")
    sch.compute_at(shared, i1)
    _, lane = sch.split(sch.get_loops(shared)[-1], [None, 128])
    sch.bind(lane, "threadIdx.x")
    return sch


def matmul() -> Schedule:
    """The product of matrices of the course, blocked in shared memory."""

    @T.prim_func
    def main(
        A: T.Buffer((1024, 1024), "float32"),
        B: T.Buffer((1024, 1024), "float32"),
        C: T.Buffer((1024, 1024), "float32"),
    ) -> None:
        for i, j, k in T.grid(1024, 1024, 1024):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    sch = wb.Schedule(main)
    block = sch.get_block("C")
    result = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    i0, i1, i2 = sch.split(i, [None, 8, 8])
    j0, j1, j2 = sch.split(j, [None, 8, 8])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2)
    sch.reverse_compute_at(result, j1)
    sch.bind(i0, "blockIdx.y")
    sch.bind(j0, "blockIdx.x")
    sch.bind(sch.fuse(i1, j1), "threadIdx.x")
    for which in (0, 1):
        shared = sch.cache_read(block, which, "shared")
        sch.compute_at(shared, k0)
        _, lane, vector = sch.split(sch.fuse(*sch.get_loops(shared)[-2:]), [None, 64, 4])
        sch.vectorize(vector)
        sch.bind(lane, "threadIdx.x")
    sch.decompose_reduction(block, k0)
    return sch


def convolution() -> Schedule:
    """The convolution of TVM's tutorial, 14 x 14 pictures in layout HWCN, in 44 steps from te."""
    a = te.placeholder((14, 14, 256, 256), name="A")
    w = te.placeholder((3, 3, 256, 512), name="W")
    padded = te.compute(
        (16, 16, 256, 256),
        lambda y, x, c, n: te.if_then_else(
            te.all(y >= 1, y < 15, x >= 1, x < 15), a[y - 1, x - 1, c, n], 0.0
        ),
        name="P",
    )
    rc, ry, rx = (te.reduce_axis((0, n), k) for n, k in ((256, "rc"), (3, "ry"), (3, "rx")))
    made = te.compute(
        (14, 14, 512, 256),
        lambda y, x, f, n: te.sum(padded[y + ry, x + rx, rc, n] * w[ry, rx, rc, f], [rc, ry, rx]),
        name="B",
    )
    sch = wb.Schedule(te.create_prim_func([a, w, made]))
    shared = [sch.cache_read("B", k, "shared") for k in range(2)]
    sch.compute_inline("P")
    local = [sch.cache_read("B", k, "local") for k in range(2)]
    out = sch.cache_write("B", 0, "local")
    y, x, f, n = sch.get_loops("B")[:4]
    block_z = sch.fuse(y, x)
    (by, f), (bx, n) = (sch.split(loop, [None, 64]) for loop in (f, n))
    (vy, f), (vx, n) = (sch.split(loop, [2, None]) for loop in (f, n))
    (ty, f), (tx, n) = (sch.split(loop, [8, None]) for loop in (f, n))
    sch.reorder(block_z, by, bx, vy, vx, ty, tx, f, n)
    axes = ("blockIdx.z", "blockIdx.y", "blockIdx.x", "vthread", "vthread", "threadIdx.y",
            "threadIdx.x")  # fmt: skip
    for loop, axis in zip((block_z, by, bx, vy, vx, ty, tx), axes, strict=True):
        sch.bind(loop, axis)
    sch.reverse_compute_at(out, tx)
    c_0, c_1 = sch.split(rc.name, [None, 8])
    sch.reorder(c_0, "ry", "rx", c_1, f, n)
    for near in local:
        sch.compute_at(near, c_1)
    for near in shared:
        sch.compute_at(near, "rx")
        *_, rows, columns = sch.get_loops(near)
        ty, _ = sch.split(rows, [8, None])
        tx, columns = sch.split(columns, [8, None])
        columns, lanes = sch.split(columns, [None, 4])
        sch.reorder(ty, tx, columns, lanes)
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        sch.vectorize(lanes)
    sch.decompose_reduction("B", c_0)
    sch.unroll(f)
    return sch


PROGRAMS = {"window sum": window_sum, "matrix multiply": matmul, "convolution": convolution}

print(wb.build(PROGRAMS[sys.argv[1]](), target="cuda").source)
