"""Programs in a file whose annotations Python evaluates: it has no __future__ import."""

from workbench.script import T, ir_module

SIZE = 8
SHAPE = (SIZE, 4)


@T.prim_func
def scaled(A: T.Buffer((SIZE,), "float32"), B: T.Buffer[SIZE, "float32"]):
    for i in range(SIZE):
        with T.block("B"):
            vi = T.axis.spatial(SIZE, i)
            B[vi] = A[vi] * 2.0


@ir_module
class Module:
    @T.prim_func(private=True)
    def first(a: T.handle, B: T.Buffer[(SIZE, 4), "float32"]) -> None:
        A = T.match_buffer(a, SHAPE)
        for i, j in T.grid(SHAPE[0], SHAPE[1]):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]

    @T.prim_func
    def second(A: T.Buffer(SHAPE, "float32")):
        A[0, 0] = 1.0


def made(size, factor):
    """A program whose size is used in its annotations only, and whose factor in its body."""

    @T.prim_func
    def program(A: T.Buffer((size,), "float32"), B: T.Buffer((size, SIZE), "float32")):
        for i in range(8):
            with T.block("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = A[vi] * factor

    return program
