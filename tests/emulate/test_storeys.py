"""The storeys of the emulator: each file knows only those named before it."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2] / "workbench/emulate"
ROOM = "workbench.emulate."
ORDER = (
    "errors", "numbers", "arrays", "sizes", "expressions", "memory", "compare",
    "kernels.affine", "kernels.loops", "kernels.plan", "kernels.maps", "kernels.copies",
    "kernels.shadow", "kernels.report", "kernels.record", "kernels.launch", "kernels.races",
    "kernels.lanes", "kernels.machine", "kernels.need", "kernels.run",
    "kernels.orders",
    "programs.order", "programs.large", "programs.cells", "programs.evaluate", "sample",
)  # fmt: skip


def imported(path: Path) -> list[str]:
    """What a file imports of this room, as "memory.Memo", or "kernels.report" for a file."""
    nodes = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom))
    names = (f"{node.module}.{alias.name}" for node in nodes for alias in node.names)
    return [name.removeprefix(ROOM) for name in names if name.startswith(ROOM)]


def test_every_file_has_its_place():
    files = (path.relative_to(ROOT).with_suffix("") for path in ROOT.rglob("*.py"))
    assert {".".join(f.parts) for f in files if f.name != "__init__"} == set(ORDER)


def test_a_file_knows_only_those_before_it():
    for place, name in enumerate(ORDER):
        for module in imported(ROOT / (name.replace(".", "/") + ".py")):
            above = [other for other in ORDER[place:] if f"{module}.".startswith(f"{other}.")]
            assert not above, f"{name} imports {module}"
