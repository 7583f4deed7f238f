"""Programs that no verb makes in this form: they come from text, or from several verbs together."""

from tests.schedule.programs import MATMUL, TWO, VECTOR, WINDOW

__all__ = ["MATMUL", "TWO", "VECTOR", "WINDOW"]

BARE = """
@T.prim_func
def main(A: T.Buffer((1,), "float32")):
    with T.block("A"):
        T.reads()
        T.writes(A[0])
        A[0] = T.float32(1)
"""

BIG_BLOCK = """
@T.prim_func
def main(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.y"):
        for j in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
"""

BIG_GRID = """
@T.prim_func
def main(A: T.Buffer((70000,), "float32"), B: T.Buffer((70000,), "float32")):
    for i in T.thread_binding(70000, thread="blockIdx.y"):
        with T.block("B"):
            vi = T.axis.spatial(70000, i)
            B[vi] = A[vi]
"""

TWO_SIZES = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((4,), "float32")):
    for r in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for j in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("C"):
                vj = T.axis.spatial(4, j)
                C[vj] = A[vj]
"""

NESTED = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
"""

BOUND_REDUCTION = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for k in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
"""

VECTOR_REDUCTION = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        for k in T.vectorized(4):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
"""

GLOBAL_COUNT = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for t in T.thread_binding(4, thread="threadIdx.x"):
            for k in range(8):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
"""

SIBLINGS = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), scope="local")
    for r in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("C"):
                vj = T.axis.spatial(8, j)
                C[vj] = B[vj]
"""

SIBLINGS_SHIFTED = SIBLINGS.replace("C[vj] = B[vj]", "C[vj] = B[7 - vj]")

BIG_TILE = """
@T.prim_func
def main(A: T.Buffer((65536,), "float32"), B: T.Buffer((65536,), "float32")):
    for i in range(65536):
        with T.block("B"):
            vi = T.axis.spatial(65536, i)
            B[vi] = A[vi]
"""

REPEATED_WRITE = """
@T.prim_func
def main(
    A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4, 8), "float32")
):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi, 0]
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]
"""
