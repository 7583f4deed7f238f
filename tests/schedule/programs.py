"""The small programs that the tests of schedules start from."""

from __future__ import annotations

VECTOR = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)
"""

MATMUL = """
@T.prim_func
def main(
    A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")
):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

WINDOW = """
@T.prim_func
def main(A: T.Buffer((19,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
"""

TWO = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + T.float32(1)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * T.float32(2)
"""

SHIFTED = """
@T.prim_func
def main(A: T.Buffer((9,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((9,))
    for i in range(9):
        with T.block("B"):
            vi = T.axis.spatial(9, i)
            B[vi] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(8, i - 1)
            T.where(1 <= i)
            C[vi] = B[vi] + B[vi + 1]
"""

TRIANGLE = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in range(i + 1):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
"""

SCAN = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(7, 8):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 1, vj] = A[vi, vj] + A[vi + 1, vj]
"""

SAME_CELL = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi // 2, vj] = A[vi, vj]
"""

HORNER = """
@T.prim_func
def main(A: T.Buffer((4, 4), "float32"), B: T.Buffer((1,), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] * T.float32(2) + A[vi, vj]
"""

REPEATED = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
    for r, k in T.grid(2, 4):
        with T.block("B"):
            vk = T.axis.reduce(4, k)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vk]
"""

BACKWARDS = """
@T.prim_func
def main(A: T.Buffer((4, 4), "float32"), B: T.Buffer((1,), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi = T.axis.reduce(4, i)
            vj = T.axis.reduce(4, 3 - j)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vi, vj]
"""

MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def first(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]

    @T.prim_func
    def second(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for x in range(4):
            with T.block("D"):
                vx = T.axis.spatial(4, x)
                B[vx] = A[vx]
"""

SAME_NAME = TWO.replace('T.block("C")', 'T.block("B")')
