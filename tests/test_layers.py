"""The walls between the rooms: imports point one way, and the core needs nothing but Python."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "workbench"

_BASE = {"diag", "ir", "arith", "script"}
_LOWERED = _BASE | {"target", "access", "intrin", "check", "lower"}
_SCHEDULED = {"verbs", "history", "schedule"}
_RUN = _LOWERED | _SCHEDULED | {"codegen", "emulate", "insight"}
MAY_IMPORT: dict[str, set[str]] = {
    "diag": set(),
    "ir": {"diag"},
    "arith": {"diag", "ir"},
    "script": {"diag", "ir", "arith"},
    "te": _BASE,
    "target": {"diag"},
    "access": {"ir", "arith"},
    "intrin": _BASE | {"access"},
    "check": _BASE | {"target", "access"},
    "verbs": _BASE | {"target", "access", "intrin", "check"},
    "history": _BASE | {"verbs"},
    "schedule": {"diag", "ir", "script", "check", "verbs", "history"},
    "lower": _BASE | {"target", "access", "intrin", "check"},
    "codegen": _LOWERED,
    "emulate": _LOWERED - {"access"},  # which it is to witness against
    "insight": _LOWERED | {"emulate"},
    "runtime": _RUN - {"insight"},
    "tuning": _RUN | {"runtime"},
    "draw": _RUN | {"runtime", "tuning"},
    "widgets": _RUN | {"te", "runtime", "tuning", "draw"},
    "lesson": _RUN | {"te", "runtime", "tuning", "draw", "widgets"},
    "tvm": _RUN | {"te", "runtime", "tuning"},
}
# Loaded where they are used and nowhere else; NumPy only by the rooms that run something.
LAZY = {"cupy", "matplotlib", "IPython", "pygments"}
NUMPY_ROOMS = {"emulate", "insight", "runtime", "tuning", "draw", "widgets", "lesson", "tvm", "te"}
WIDGET_ROOMS = {"widgets"}
# A schedule draws itself, a search draws and shows itself; the verbs are discovered by the registry
# that they import. Nothing else of ours is imported inside a function.
LATE = {
    ("schedule/schedule.py", "draw"),
    ("tuning/tried.py", "draw"),
    ("tuning/tried.py", "widgets"),
    ("verbs/primitive.py", "verbs"),
}

FILES = sorted(ROOT.rglob("*.py"))
ROOM_FILES = [f for f in FILES if f.parent != ROOT]


@cache
def named(path: Path) -> list[tuple[str, str]]:
    """Every module that `path` imports by its full name, and when: "top", "later" or "types"."""
    tree = ast.parse(path.read_text())
    when = dict.fromkeys(map(id, tree.body), "top")
    for branch in ast.walk(tree):
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING":
            when |= dict.fromkeys(map(id, ast.walk(branch)), "types")
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, when.get(id(node), "later")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the full name"
            assert node.module is not None
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [(name, when.get(id(node), "later")) for name in names]
    return found


def imports(path: Path) -> list[tuple[str, bool]]:
    """What of that is loaded when the code runs, and whether at the top of the module."""
    return [(name, when == "top") for name, when in named(path) if when != "types"]


def room_of(module: str) -> str | None:
    """The room of a module of ours ("workbench.ir.nodes" is in "ir"); None for any other."""
    parts = module.split(".")
    return parts[1] if parts[0] == "workbench" and len(parts) > 1 else None


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_room_has_its_place():
    rooms = {f.relative_to(ROOT).parts[0] for f in ROOM_FILES if "_lessons" not in f.parts}
    assert rooms <= set(MAY_IMPORT), "a new room: say in MAY_IMPORT what it may import"


def test_the_walls_have_no_loop():
    done: set[str] = set()
    while len(done) < len(MAY_IMPORT):
        ready = {room for room, below in MAY_IMPORT.items() if below <= done} - done
        assert ready, f"these import each other: {sorted(set(MAY_IMPORT) - done)}"
        done |= ready


def upward(path: Path) -> list[str]:
    """What a file imports, if only for types, from where its room may not.

    The package itself is the front door, above all rooms.
    """
    room = path.relative_to(ROOT).parts[0]
    allowed = MAY_IMPORT[room] | {None, room, "version"}
    return [
        f"{relative(path)} is in {room}, which may not import {module}"
        for module, _ in named(path)
        if (target := room_of(module)) not in allowed and (relative(path), target) not in LATE
    ]


def circle(files: list[Path]) -> list[str]:
    """Files of a room that name each other, if only for types or inside a function."""
    paths = {".".join(f.relative_to(ROOT.parent).with_suffix("").parts): f for f in files}
    modules = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    below = TopologicalSorter[str]()
    for module, path in modules.items():
        names = (name for name, _ in named(path))
        others = {name if name in modules else name.rpartition(".")[0] for name in names}
        below.add(module, *(others & modules.keys() - {module}))
    try:
        below.prepare()
    except CycleError as error:
        return [f"a circle: {' -> '.join(error.args[1])}"]
    return []


def late(path: Path) -> list[str]:
    """What a file imports of ours inside a function."""
    return [
        f"{relative(path)} imports {module} inside a function"
        for module, at_top in imports(path)
        if not at_top and room_of(module) and (relative(path), room_of(module)) not in LATE
    ]


def heavy(path: Path) -> list[str]:
    """Which packages a file imports at its top that are to be loaded where they are used."""
    room = path.relative_to(ROOT).parts[0]
    banned = set(LAZY)
    if room not in NUMPY_ROOMS:
        banned |= {"numpy"}
    if room not in WIDGET_ROOMS:
        banned |= {"anywidget", "ipywidgets", "traitlets"}
    top = {module.split(".")[0] for module, at_top in imports(path) if at_top}
    return [f"{relative(path)} imports {module} at its top" for module in sorted(top & banned)]


@pytest.mark.parametrize("part", sorted({path.relative_to(ROOT).parts[0] for path in FILES}))
def test_imports_keep_to_the_walls(part: str):
    """Of a room, or of a file beside the rooms."""
    files = [path for path in FILES if path.relative_to(ROOT).parts[0] == part]
    wrong = [fault for path in files if path in ROOM_FILES for fault in upward(path)]
    wrong += [fault for path in files for fault in late(path) + heavy(path)]
    wrong += circle(files)
    assert not wrong, wrong


def test_exceptions_are_still_needed():
    found = {
        (relative(f), room_of(m)) for f in ROOM_FILES for m, at_top in imports(f) if not at_top
    }
    assert found >= LATE, f"no longer needed: {LATE - found}"


CORE_ONLY = """
import sys
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in sys.stdlib_module_names | {"workbench"}:
            raise ImportError(f"the core imported {name}")
sys.meta_path.insert(0, Wall())
import workbench
rooms = "diag ir arith script te target check verbs history schedule lower codegen runtime"
for room in rooms.split():
    getattr(workbench, room)
print("walled")
"""


def test_the_core_needs_only_the_standard_library():
    done = subprocess.run(
        [sys.executable, "-c", CORE_ONLY], capture_output=True, text=True, cwd=ROOT.parent
    )
    assert (done.stdout, done.returncode) == ("walled\n", 0), done.stderr
