"""Draws the pictures of README and of the lessons' map: ``python -m docs.pictures``."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from workbench import draw, insight, script
from workbench.ir import PrimFunc

PROGRAM = """
@T.prim_func
def add(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32"), C: T.Buffer((N,), "float32")):
    for i in range(N):
        with T.block("C"):
            vi = T.axis.spatial(N, i)
            C[vi] = A[vi] + B[vi]
"""
ROOT = Path(__file__).parents[1]


def pictures() -> dict[str, str]:
    """Each picture as SVG text, by its file: the README's, and the map's, of lesson 1's program."""
    return {
        f"{folder}/{name}_{when}.svg": svg
        for folder, name, factors in (
            ("docs/img", "six_cells", (2, 3)),
            ("lessons/img", "eight_cells", (2, 4)),
        )
        for when, svg in _added(*factors).items()
    }


def _added(blocks: int, threads: int) -> dict[str, str]:
    """Who adds which cells, "before" they are shared out to threads of blocks, and "after"."""
    func = script.parse(PROGRAM.replace("N", str(blocks * threads)))
    assert isinstance(func, PrimFunc)
    sch = wb.Schedule(func)
    before = _who(sch.func, "Before: each cell of C is computed at its own time step")
    outer, inner = sch.split("i", factors=[blocks, threads])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    after = _who(sch.func, "After: each cell of C is computed by its own block and thread")
    return {"before": before, "after": after}


def _who(func: PrimFunc, title: str) -> str:
    return draw.standalone_svg(draw.who_picture(insight.who(func, "C")), title)


if __name__ == "__main__":
    for name, svg in pictures().items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(svg, encoding="utf-8")
