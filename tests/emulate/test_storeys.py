"""The storeys of the emulator: each file knows only those named before it."""

from __future__ import annotations

from tests.test_layers import ROOT, imports

ROOM = "workbench.emulate."
ORDER = (
    "errors", "numbers", "arrays", "expressions", "memory", "compare",
    "kernels.affine", "kernels.loops", "kernels.plan", "kernels.maps", "kernels.shadow",
    "kernels.report", "kernels.record", "kernels.launch", "kernels.races", "kernels.lanes",
    "kernels.machine", "kernels.need", "kernels.run",
    "programs.order", "programs.large", "programs.evaluate", "sample",
)  # fmt: skip


def test_every_file_has_its_place():
    files = (
        f.relative_to(ROOT / "emulate").with_suffix("") for f in (ROOT / "emulate").rglob("*.py")
    )
    assert {".".join(f.parts) for f in files if f.name != "__init__"} == set(ORDER)


def test_a_file_knows_only_those_before_it():
    for place, name in enumerate(ORDER):
        path = ROOT / "emulate" / (name.replace(".", "/") + ".py")
        inner = [m.removeprefix(ROOM) for m, _ in imports(path) if m.startswith(ROOM)]
        for module in inner:  # "memory.Memo", or "kernels.report" itself
            above = [other for other in ORDER[place:] if f"{module}.".startswith(f"{other}.")]
            assert not above, f"{name} imports {module}"
