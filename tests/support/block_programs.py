"""Programs of two or three stages, for tests of the primitives that move blocks."""

DEAD = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = A[vj] + 1.0
"""

FLAT = """\
@T.prim_func
def main(A: T.Buffer((24,), "float32"), C: T.Buffer((24,), "float32")):
    B = T.alloc_buffer((4, 6), "float32")
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi * 6 + vj] * 2.0
    for i in range(24):
        with T.block("C"):
            vi = T.axis.spatial(24, i)
            C[vi] = B[vi // 6, vi % 6] + 1.0
"""

FORK = """\
@T.prim_func
def main(
    A: T.Buffer((16,), "float32"),
    C: T.Buffer((16,), "float32"),
    D: T.Buffer((16,), "float32"),
):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + 1.0
    for k in range(16):
        with T.block("D"):
            vk = T.axis.spatial(16, k)
            D[vk] = B[vk] - 1.0
"""

JOIN = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    E = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vb = T.axis.spatial(16, i)
            B[vb] = A[vb] * 2.0
        with T.block("E"):
            ve = T.axis.spatial(16, 15 - i)
            E[ve] = A[ve] * 3.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + E[vj]
"""

OBLONG_MATMUL = """\
@T.prim_func
def main(
    A: T.Buffer((6, 8), "float32"),
    B: T.Buffer((8, 6), "float32"),
    C: T.Buffer((6, 6), "float32"),
):
    for i, j, k in T.grid(6, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

MATMUL_RELU = """\
@T.prim_func
def main(
    A: T.Buffer((6, 8), "float32"),
    B: T.Buffer((8, 6), "float32"),
    D: T.Buffer((6, 6), "float32"),
):
    C = T.alloc_buffer((6, 6), "float32")
    for i, j, k in T.grid(6, 6, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(6, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""

OVERWRITTEN = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for j in range(16):
        with T.block("W"):
            vj = T.axis.spatial(16, j)
            A[vj] = 0.0
    for k in range(16):
        with T.block("C"):
            vk = T.axis.spatial(16, k)
            C[vk] = B[vk] + A[vk]
"""

PARTIAL = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for j in range(8):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + 1.0
"""

SELF = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = C[vi] + A[vi]
"""

SPREAD = """\
@T.prim_func
def main(
    A: T.Buffer((16, 4), "float32"),
    C: T.Buffer((16, 4), "float32"),
    D: T.Buffer((16, 4), "float32"),
):
    B = T.alloc_buffer((16, 4), "float32")
    for i, i1 in T.grid(16, 4):
        with T.block("B"):
            v0, v1 = T.axis.remap("SS", [i, i1])
            B[v0, v1] = A[v0, v1] * 2.0
    for o in range(16):
        for j in range(4):
            with T.block("C"):
                v0, v1 = T.axis.remap("SS", [o, j])
                C[v0, v1] = B[v0, v1] + 1.0
        for k in range(4):
            with T.block("D"):
                v0, v1 = T.axis.remap("SS", [o, k])
                D[v0, v1] = B[v0, v1] - 1.0
"""

SUM = """\
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), D: T.Buffer((6,), "float32")):
    C = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
    for j in range(6):
        with T.block("D"):
            vj = T.axis.spatial(6, j)
            D[vj] = C[vj] * 2.0
"""

TWO_D = """\
@T.prim_func
def main(A: T.Buffer((12, 10), "float32"), C: T.Buffer((12, 10), "float32")):
    B = T.alloc_buffer((12, 10), "float32")
    for i, j in T.grid(12, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(12, 10):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
"""

TWO_STAGES = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + 1.0
"""

STAGED_WINDOW = """\
@T.prim_func
def main(A: T.Buffer((18,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((18,), "float32")
    for i in range(18):
        with T.block("B"):
            vi = T.axis.spatial(18, i)
            B[vi] = A[vi] * 2.0
    for j in range(16):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            C[vj] = B[vj] + B[vj + 1] + B[vj + 2]
"""
