"""Two tensor intrinsics that every machine has, to learn on: ``dot4`` and ``outer4x4``."""

from __future__ import annotations

_DOT4 = """@T.prim_func
def dot4(
    A: T.Buffer((4,), "float32", offset_factor=1),
    B: T.Buffer((4,), "float32", offset_factor=1),
    C: T.Buffer((1,), "float32", offset_factor=1),
):
"""
_OUTER4X4 = """@T.prim_func
def outer4x4(
    A: T.Buffer((4, 1), "float32", offset_factor=1),
    B: T.Buffer((1, 4), "float32", offset_factor=1),
    C: T.Buffer((4, 4), "float32", offset_factor=1),
):
"""

TEXTS: dict[str, tuple[str, str]] = {
    "dot4": (
        f"""{_DOT4}
    for k in range(4):
        with T.block("dot"):
            vk = T.axis.reduce(4, k)
            C[0] = C[0] + A[vk] * B[vk]
""",
        f"""{_DOT4}
    total = T.alloc_buffer((1,), scope="local")
    total[0] = C[0]
    for k in T.unroll(4):
        total[0] = total[0] + A[k] * B[k]
    C[0] = total[0]
""",
    ),
    "outer4x4": (
        f"""{_OUTER4X4}
    for i, j in T.grid(4, 4):
        with T.block("outer"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C[vi, vj] + A[vi, 0] * B[0, vj]
""",
        f"""{_OUTER4X4}
    row = T.alloc_buffer((4,), scope="local")
    for j in T.unroll(4):
        row[j] = B[0, j]
    for i in T.unroll(4):
        for j in T.unroll(4):
            C[i, j] = C[i, j] + A[i, 0] * row[j]
""",
    ),
}
"""By name, the text of the description and that of the implementation."""
