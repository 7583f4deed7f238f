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
                B[vi] = B[vi] - A[vi, vk]
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

SPREAD_OVER_BLOCKS = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((16, 8), "float32")):
    B_shared = T.alloc_buffer((16, 8), scope="shared")
    for i_0 in T.thread_binding(2, thread="blockIdx.x"):
        for i_1 in T.thread_binding(8, thread="threadIdx.x"):
            for j in T.thread_binding(8, thread="blockIdx.y"):
                with T.block("B"):
                    vi = T.axis.spatial(16, i_0 * 8 + i_1)
                    vj = T.axis.spatial(8, j)
                    B_shared[vi, vj] = A[vj // 2]
            for ax in range(8):
                with T.block("B_shared"):
                    v0 = T.axis.spatial(16, i_0 * 8 + i_1)
                    v1 = T.axis.spatial(8, ax)
                    B[v0, v1] = B_shared[v0, v1]
"""

TAILS = """
@T.prim_func
def main(A: T.Buffer((10, 5), "float32"), B: T.Buffer((10, 5), "float32")):
    A_shared = T.alloc_buffer((10, 5), scope="shared")
    for i_0 in T.thread_binding(4, thread="blockIdx.y"):
        for i_1 in T.thread_binding(4, thread="threadIdx.x"):
            for f_0 in range(4):
                for f_1 in T.thread_binding(4, thread="threadIdx.x"):
                    with T.block("A_shared"):
                        v0 = T.axis.spatial(10, i_0 * 3 + (f_0 * 4 + f_1) // 5)
                        v1 = T.axis.spatial(5, (f_0 * 4 + f_1) % 5)
                        T.where(i_0 * 3 + (f_0 * 4 + f_1) // 5 < 10 and f_0 * 4 + f_1 < 15)
                        A_shared[v0, v1] = A[v0, v1]
            for r, j in T.grid(3, 2):
                with T.block("B"):
                    vi = T.axis.spatial(10, i_0 * 3 + r)
                    vj = T.axis.spatial(5, i_1 * 2 + j)
                    T.where(i_0 * 3 + r < 10 and i_1 * 2 + j < 5)
                    B[vi, vj] = A_shared[vi, {}]
"""

FETCHED_IN_TAILS = TAILS.format("vj")

FETCHED_BACKWARDS = TAILS.format("4 - vj")

FETCHED_BY_ONE_BLOCK = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 8), "float32")):
    A_shared = T.alloc_buffer((8,), scope="shared")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for f in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("A_shared"):
                v0 = T.axis.spatial(8, f)
                T.where(i == 0)
                A_shared[v0] = A[v0]
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A_shared[vj]
"""
