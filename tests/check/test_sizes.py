"""What is proved of a small program is proved of a large one: no verdict depends on the extents."""

from __future__ import annotations

import pytest

from tests.support.gpu_programs import parsed
from workbench.check import refuse_conflict
from workbench.diag import Refusal
from workbench.ir import For, walk

# statements, and the loops whose iterations may be done at once
PROGRAMS = {
    "copy": ("for i, j in T.grid({n}, {n}):\n    M[i, j] = P[i, j]", "ij"),
    "turned": ("for i, j in T.grid({n}, {n}):\n    M[j, i] = P[i, j]", "ij"),
    "flat": ("for i, j in T.grid({n}, {n}):\n    F[i * {n} + j] = P[i, j]", "ij"),
    "and back": ("for i in range({n} * {n}):\n    M[i // {n}, i % {n}] = F[i]", "i"),
    "diagonals": ("for i, j in T.grid({n}, {n}):\n    D[i + j] = P[i, j]", "j"),
    "all to one": ("for i, j in T.grid({n}, {n}):\n    D[i // 2] = P[i, j]", ""),
    "rows, left to right": ("for i, j in T.grid({n}, {n}):\n    M[i, j + 1] = M[i, j]", "i"),
    "rows, upwards": ("for i, j in T.grid({n}, {n}):\n    M[i + 1, j] = M[i, j]", "j"),
    "the halves exchanged": ("for i in range({n} // 2):\n    D[i] = D[{n} - 1 - i]", "i"),
    "more than a half": ("for i in range({n} // 2 + 1):\n    D[i] = D[{n} - 1 - i]", ""),
    "even from odd": ("for i in range({n}):\n    D[i * 2] = D[i * 2 + 1]", "i"),
    "even from even": ("for i in range({n}):\n    D[i * 2] = D[i * 2 + 2]", ""),
    "in turn": (
        "for t, i in T.grid({n}, {n} - 1):\n    W[(t + 1) % 2, i] = W[t % 2, i + 1]", "i"),
    "not in turn": (
        "for t, i in T.grid({n}, {n} - 1):\n    W[(t + 2) % 2, i] = W[t % 2, i + 1]", ""),
    "in turn, from the last": (
        "for t, i in T.grid({n}, {n} - 1):\n    W[1 - t % 2, i] = W[t % 2, i + 1]", "i"),
    "tiles with a tail": (
        "for i, j in T.grid({n} // 3 + 1, 3):\n    if i * 3 + j < {n}:\n"
        "        D[i * 3 + j] = D[i * 3 + j] + D[i * 3 + j + {n}]", "ij"),
    "a step of a tree": (
        "for s, i in T.grid(3, {n}):\n    if i < {n} // (s + 2):\n"
        "        D[i] = D[i] + D[i + {n} // (s + 2)]", "i"),
    "a sum": ("for i, j in T.grid({n}, {n}):\n    D[i] = D[i] + P[i, j]", "i"),
    "bins of each row": ("for i, j in T.grid({n}, {n}):\n    M[i, N[i, j]] = M[i, N[i, j]] + 1.0",
                         "i"),
    "two statements": (
        "for i in range({n}):\n    for j in range({n}):\n        M[i, j] = P[i, j]\n"
        "    for j in range({n}):\n        P[i, j] = M[i, {n} - 1 - j]", "ij"),
    "two rows": (
        "for i in range({n}):\n    for j in range({n}):\n        M[i, j] = P[i, j]\n"
        "    for j in range({n}):\n        P[i, j] = M[i + 1, j]", "j"),
}  # fmt: skip
HEAD = """
@T.prim_func
def main(P: T.Buffer(({n} + 1, {n} + 1), "float32"), M: T.Buffer(({n} + 1, {n} + 1), "float32"),
         F: T.Buffer(({n} * {n},), "float32"), D: T.Buffer((2 * {n} + 2,), "float32"),
         W: T.Buffer((2, {n}), "float32"), N: T.Buffer(({n}, {n}), "int32")):
"""


@pytest.mark.parametrize("n", [4, 50, 1024])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_size_decides_nothing(name: str, n: int):
    text, wanted = PROGRAMS[name]
    func = parsed(HEAD.format(n=n) + "    " + text.format(n=n).replace("\n", "\n    "))
    for doers in ("threads", "lanes", "iterations"):
        found: set[str] = set()
        refused: set[str] = set()
        for loop in (one for one in walk(func.body) if isinstance(one, For)):
            try:
                refuse_conflict(func, loop, "Can't", doers)  # type: ignore[arg-type]
                found.add(loop.loop_var.name)
            except Refusal:
                refused.add(loop.loop_var.name)
        assert "".join(sorted(found - refused)) == wanted, doers
