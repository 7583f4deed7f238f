"""The rooms of the widgets, one above the other: each knows only those named before it."""

from __future__ import annotations

from tests.test_layers import ROOT, imports

ROOM = ROOT / "widgets"
ORDER = (
    *("static", "page", "run", "keep", "ask", "still", "play", "threads", "small", "no_lab"),
    *("widget", "search"),
)


def test_every_room_has_its_place():
    here = {path.stem for path in ROOM.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert here - {"__init__", "__pycache__"} == set(ORDER)


def test_a_room_knows_only_those_before_it():
    for path in ROOM.rglob("*.py"):
        room = path.relative_to(ROOM).with_suffix("").parts[0]
        if room == "__init__":
            continue
        known = {f"workbench.widgets.{name}" for name in ORDER[: ORDER.index(room) + 1]}
        used = (module for module, _ in imports(path) if module.startswith("workbench.widgets."))
        above = [module for module in used if ".".join(module.split(".")[:3]) not in known]
        assert not above, f"{path.relative_to(ROOM)} imports {above}"
