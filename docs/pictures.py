"""Draws the README's pictures with the workbench's own code: ``python -m docs.pictures``."""

from __future__ import annotations

from pathlib import Path

import workbench as wb
from workbench import draw, insight, script
from workbench.ir import PrimFunc

PROGRAM = """
@T.prim_func
def add(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = A[vi] + B[vi]
"""


def pictures() -> dict[str, str]:
    """Each picture of the README as SVG text, by name."""
    func = script.parse(PROGRAM)
    assert isinstance(func, PrimFunc)
    sch = wb.Schedule(func)
    before = _who(sch.func, "Before: each cell of C is computed at its own time step")
    outer, inner = sch.split("i", factors=[2, 3])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    after = _who(sch.func, "After: each cell of C is computed by its own block and thread")
    return {"six_cells_before": before, "six_cells_after": after}


def _who(func: PrimFunc, title: str) -> str:
    return draw.standalone_svg(draw.who_picture(insight.who(func, "C")), title)


if __name__ == "__main__":
    folder = Path(__file__).parent / "img"
    for name, svg in pictures().items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
