"""From a fresh process to the CUDA text of a program of the course, by the workbench."""

import sys

import workbench as wb
from workbench import Schedule, T


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


def tutorial() -> Schedule:
    """TVM's tutorial on convolution, from compute expressions on, in all its steps."""
    from benchmarks.convolutions import convolution, tutorial  # te: a cost of this one alone

    made: Schedule = tutorial(wb.Schedule(convolution()))
    return made


PROGRAMS = {"window sum": window_sum, "matrix multiply": matmul, "convolution": tutorial}

print(wb.build(PROGRAMS[sys.argv[1]](), target="cuda").source)
