"""Odd programs by family: what people write besides one perfect nest a block.

Each is small enough to be run by its terms. Names say what is odd; a family is what a verb may get
wrong in the same way. Sizes are small, and not all alike, so that a mistaken axis shows.
"""

from __future__ import annotations

from textwrap import indent

from workbench.ir import PrimFunc
from workbench.script import parse

_TYPES = {"f": "float32", "i": "int32", "b": "int8"}


def _buffer(spec: str) -> str:
    """``A[4, 6]f`` as a parameter; float32 where no letter follows."""
    name, _, rest = spec.partition("[")
    shape, _, letter = rest.partition("]")
    return f'{name}: T.Buffer(({shape},), "{_TYPES[letter or "f"]}")'


def _text(params: str, body: str, alloc: str = "") -> str:
    """A whole program of its parameters, its own buffers, and its statements."""
    signature = ", ".join(_buffer(spec) for spec in params.split("; "))
    lines = []
    for spec in filter(None, alloc.split("; ")):
        spec, _, scope = spec.partition(" @")
        name, _, kind = _buffer(spec).partition(": T.Buffer(")
        where = f', scope="{scope}"' if scope else ""
        lines.append(f"{name} = T.alloc_buffer({kind[:-1]}{where})")
    inside = indent("\n".join([*lines, body.strip("\n")]), "    ")
    return f"@T.prim_func\ndef main({signature}):\n{inside}\n"


REFILLED = {  # a buffer that is filled anew in each turn of an outer loop
    "row turned round": _text(
        "A[3, 4]; B[3, 4]",
        """
for r in range(3):
    for i in range(4):
        with T.block("t"):
            vr, vi = T.axis.remap("SS", [r, i])
            t[vi] = A[vr, vi] * 2.0
    for i in range(4):
        with T.block("B"):
            vr, vi = T.axis.remap("SS", [r, i])
            B[vr, vi] = t[3 - vi]
""",
        "t[4]",
    ),
    "row sum then scaled": _text(
        "A[3, 4]; B[3, 4]",
        """
for r in range(3):
    for k in range(4):
        with T.block("s"):
            vr, vk = T.axis.remap("SR", [r, k])
            with T.init():
                s[0] = 0.0
            s[0] = s[0] + A[vr, vk]
    for i in range(4):
        with T.block("B"):
            vr, vi = T.axis.remap("SS", [r, i])
            B[vr, vi] = A[vr, vi] * s[0]
""",
        "s[1]",
    ),
    "two rows kept": _text(
        "A[4, 5]; B[4, 5]",
        """
for r in range(4):
    for i in range(5):
        with T.block("t"):
            vr, vi = T.axis.remap("SS", [r, i])
            t[vr % 2, vi] = A[vr, vi] + 1.0
    for i in range(5):
        with T.block("B"):
            vr, vi = T.axis.remap("SS", [r, i])
            B[vr, vi] = t[vr % 2, vi] * 2.0
""",
        "t[2, 5]",
    ),
    "read before refilled": _text(
        "A[4, 3]; B[4, 3]",
        """
for i in range(3):
    with T.block("start"):
        vi = T.axis.spatial(3, i)
        t[vi] = 0.0
for r in range(4):
    for i in range(3):
        with T.block("B"):
            vr, vi = T.axis.remap("SS", [r, i])
            B[vr, vi] = t[vi]
    for i in range(3):
        with T.block("t"):
            vr, vi = T.axis.remap("SS", [r, i])
            t[vi] = A[vr, vi] * 3.0
""",
        "t[3]",
    ),
    "a column of a tile": _text(
        "A[4, 6]; B[4, 6]",
        """
for r, c in T.grid(2, 3):
    for i, j in T.grid(2, 2):
        with T.block("t"):
            vr = T.axis.spatial(4, r * 2 + i)
            vc = T.axis.spatial(6, c * 2 + j)
            t[vr % 2, vc % 2] = A[vr, vc]
    for i, j in T.grid(2, 2):
        with T.block("B"):
            vr = T.axis.spatial(4, r * 2 + i)
            vc = T.axis.spatial(6, c * 2 + j)
            B[vr, vc] = t[vc % 2, vr % 2] + 1.0
""",
        "t[2, 2]",
    ),
}

OVER_TIME = {  # one block feeds the next turn of another
    "heat in time": _text(
        "A[8]; B[8]",
        """
for i in range(8):
    with T.block("load"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for t in range(3):
    for i in range(6):
        with T.block("new"):
            vt, vi = T.axis.remap("SS", [t, i])
            n[vi + 1] = B[vi] + B[vi + 1] + B[vi + 2]
    for i in range(6):
        with T.block("old"):
            vt, vi = T.axis.remap("SS", [t, i])
            B[vi + 1] = n[vi + 1] * 0.5
""",
        "n[8]",
    ),
    "running sum": _text(
        "A[6]; O[7]",
        """
with T.block("first"):
    O[0] = 0.0
for j in range(6):
    with T.block("next"):
        vj = T.axis.spatial(6, j)
        O[vj + 1] = O[vj] + A[vj]
""",
    ),
    "recurrence along rows": _text(
        "A[4, 5]; O[4, 6]",
        """
for i in range(4):
    with T.block("first"):
        vi = T.axis.spatial(4, i)
        O[vi, 0] = 1.0
for i, j in T.grid(4, 5):
    with T.block("next"):
        vi, vj = T.axis.remap("SS", [i, j])
        O[vi, vj + 1] = O[vi, vj] * A[vi, vj] + 1.0
""",
    ),
    "two states": _text(
        "A[5]; O[5]",
        """
with T.block("start"):
    s[0] = 0.0
for k in range(5):
    with T.block("step"):
        vk = T.axis.spatial(5, k)
        s[0] = s[0] * 2.0 + A[vk]
    with T.block("out"):
        vk = T.axis.spatial(5, k)
        O[vk] = s[0]
""",
        "s[1]",
    ),
    "power of a matrix": _text(
        "A[3, 3]; B[3, 3]",
        """
for i, j in T.grid(3, 3):
    with T.block("start"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj]
for t in range(2):
    for i, j, k in T.grid(3, 3, 3):
        with T.block("square"):
            vt, vi, vj, vk = T.axis.remap("SSSR", [t, i, j, k])
            with T.init():
                P[vi, vj] = 0.0
            P[vi, vj] = P[vi, vj] + B[vi, vk] * A[vk, vj]
    for i, j in T.grid(3, 3):
        with T.block("back"):
            vt, vi, vj = T.axis.remap("SSS", [t, i, j])
            B[vi, vj] = P[vi, vj]
""",
        "P[3, 3]",
    ),
}

PARTS = {  # writers of a part, and readers of all
    "every second": _text(
        "A[4]; B[8]; C[8]",
        """
for i in range(8):
    with T.block("zero"):
        vi = T.axis.spatial(8, i)
        B[vi] = 0.0
for i in range(4):
    with T.block("even"):
        vi = T.axis.spatial(4, i)
        B[vi * 2] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi] + 1.0
""",
    ),
    "two halves": _text(
        "A[8]; C[8]",
        """
for i in range(4):
    with T.block("low"):
        vi = T.axis.spatial(4, i)
        t[vi] = A[vi] * 2.0
for i in range(4):
    with T.block("high"):
        vi = T.axis.spatial(4, i)
        t[vi + 4] = A[vi + 4] * 3.0
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = t[7 - vi]
""",
        "t[8]",
    ),
    "concatenation": _text(
        "A[3, 2]; B[3, 4]; C[3, 6]",
        """
for i, j in T.grid(3, 2):
    with T.block("left"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj]
for i, j in T.grid(3, 4):
    with T.block("right"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj + 2] = B[vi, vj]
""",
    ),
    "border kept": _text(
        "A[6, 6]; B[6, 6]",
        """
for i, j in T.grid(4, 4):
    with T.block("inside"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi + 1, vj + 1] = A[vi, vj + 1] + A[vi + 2, vj + 1] + A[vi + 1, vj] + A[vi + 1, vj + 2]
""",
    ),
    "a window of an argument": _text(
        "A[10]; B[4]",
        """
for i in range(4):
    with T.block("t"):
        vi = T.axis.spatial(4, i)
        t[vi] = A[vi * 2 + 1]
for i in range(4):
    with T.block("B"):
        vi = T.axis.spatial(4, i)
        B[vi] = t[vi] * 2.0
""",
        "t[4]",
    ),
}

CONDITIONAL = {  # stores that leave cells alone
    "if positive": _text(
        "A[6]; B[6]",
        """
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial(6, i)
        T.reads(A[vi])
        T.writes(B[vi])
        if A[vi] > 0.0:
            B[vi] = A[vi]
""",
    ),
    "if inside": _text(
        "A[6]; B[6]",
        """
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial(6, i)
        T.reads(A[vi])
        T.writes(B[vi])
        if vi < 4:
            B[vi] = A[vi] + 1.0
""",
    ),
    "where": _text(
        "A[10]; B[10]",
        """
for i_0, i_1 in T.grid(3, 4):
    with T.block("B"):
        vi = T.axis.spatial(10, i_0 * 4 + i_1)
        T.where(i_0 * 4 + i_1 < 10)
        B[vi] = A[vi] * 2.0
""",
    ),
    "lower triangle": _text(
        "A[5, 5]; B[5, 5]",
        """
for i, j in T.grid(5, 5):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.where(j <= i)
        B[vi, vj] = A[vj, vi]
""",
    ),
    "one of two": _text(
        "A[6]; B[6]; C[6]",
        """
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial(6, i)
        T.reads(A[vi])
        T.writes(B[vi], C[vi])
        if A[vi] > 0.0:
            B[vi] = A[vi]
        else:
            C[vi] = A[vi]
""",
    ),
}
REDUCTIONS = {  # that are not plain
    "backwards": _text(
        "A[4, 6]; C[4]",
        """
for i, k in T.grid(4, 6):
    with T.block("C"):
        vi = T.axis.spatial(4, i)
        vk = T.axis.reduce(6, 5 - k)
        with T.init():
            C[vi] = 0.0
        C[vi] = C[vi] + A[vi, vk]
""",
    ),
    "starts at two": _text(
        "A[4, 6]; C[4]",
        """
for i, k in T.grid(4, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 2.0
        C[vi] = C[vi] + A[vi, vk]
""",
    ),
    "goes on with the argument": _text(
        "A[4, 6]; C[4]",
        """
for i, k in T.grid(4, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        C[vi] = C[vi] + A[vi, vk]
""",
    ),
    "subtracts": _text(
        "A[4, 6]; C[4]",
        """
for i, k in T.grid(4, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0.0
        C[vi] = C[vi] - A[vi, vk]
""",
    ),
    "reads its neighbour": _text(
        "A[4, 6]; C[5]",
        """
for i, k in T.grid(4, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        T.reads(A[vi, vk], C[4])
        T.writes(C[vi])
        with T.init():
            C[vi] = 0.0
        C[vi] = C[vi] + A[vi, vk] * C[4]
""",
    ),
    "maximum": _text(
        "A[4, 6]; C[4]",
        """
for i, k in T.grid(4, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(-3e38)
        C[vi] = T.max(C[vi], A[vi, vk])
""",
    ),
    "product of two axes": _text(
        "A[3, 4, 5]; C[3]",
        """
for i, k, l in T.grid(3, 4, 5):
    with T.block("C"):
        vi, vk, vl = T.axis.remap("SRR", [i, k, l])
        with T.init():
            C[vi] = 1.0
        C[vi] = C[vi] * A[vi, vk, vl]
""",
    ),
    "tail": _text(
        "A[4, 7]; C[4]",
        """
for i, k_0, k_1 in T.grid(4, 2, 4):
    with T.block("C"):
        vi = T.axis.spatial(4, i)
        vk = T.axis.reduce(7, k_0 * 4 + k_1)
        T.where(k_0 * 4 + k_1 < 7)
        with T.init():
            C[vi] = 0.0
        C[vi] = C[vi] + A[vi, vk]
""",
    ),
}

FAMILIES = {
    "refilled": REFILLED,
    "over time": OVER_TIME,
    "parts": PARTS,
    "conditional": CONDITIONAL,
    "reductions": REDUCTIONS,
}


def program(family: str, name: str) -> PrimFunc:
    """That program, read anew."""
    result = parse(FAMILIES[family][name])
    assert isinstance(result, PrimFunc)
    return result
