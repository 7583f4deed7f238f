"""What mypy and pyright see of a user's script: nothing where it is right, each line that is not.

`script.py` is right, and runs; each wrong line of `wrong.py` is marked.
"""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import workbench as wb
from docs.stubs import stubs, verbs
from workbench.verbs.primitive import REGISTRY

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHECKERS = {
    "mypy": ("--strict", "--config-file=mypy.ini", f"--cache-dir={ROOT / '.mypy_cache' / 'user'}"),
    "pyright": ("--pythonpath", sys.executable),
}
# No call of a user has one of their types, and mypy would take half of its time for them.
MYPY_INI = """\
[mypy]
[mypy-IPython.*,PIL.*,anyio.*,anywidget.*,matplotlib.*,psygnal.*,tornado.*,traitlets.*,zmq.*]
follow_imports = skip
follow_imports_for_stubs = True
"""


@pytest.mark.tool
@pytest.mark.parametrize("checker", CHECKERS)
def test_a_checker_finds_what_is_wrong_and_nothing_else(checker: str, tmp_path: Path):
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed: pip install {checker}")
    for name in ("script.py", "wrong.py"):
        (tmp_path / name).write_text((HERE / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(MYPY_INI, encoding="utf-8")
    call = [sys.executable, "-m", checker, *CHECKERS[checker], "script.py", "wrong.py"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
    errors = re.findall(r"(\w+\.py):(\d+)(?::\d+)?(?: -|:) error", done.stdout)
    lines = (HERE / "wrong.py").read_text(encoding="utf-8").splitlines()
    wrong = {("wrong.py", str(k)) for k, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert set(errors) == wrong, done.stdout + done.stderr


@pytest.mark.tool
def test_the_script_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(HERE / "script.py"))
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize("path", stubs(), ids=lambda path: path.name)
def test_a_stub_is_up_to_date(path: Path):
    assert path.read_text(encoding="utf-8") == stubs()[path], "run python -m docs.stubs"


def test_every_public_name_is_seen():
    tree = ast.parse(Path(wb.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    seen = {node.names[0].asname for node in imports if len(node.names) == 1}
    assert {name for name in wb.__all__ if name != "__version__"} <= seen


def test_a_verb_returns_what_it_declares():
    for name, verb in verbs().items():
        for example in REGISTRY[name].examples:
            func = wb.script.parse(example.before)
            made = eval(example.call, {"sch": wb.Schedule(func)})
            kind = type(made).__name__ if made is not None else "None"
            kind = f"list[{type(made[0]).__name__}]" if kind == "list" else kind
            assert kind in verb.__signature__.return_annotation.split(" | "), example.call


def test_the_types_that_a_caller_sees():
    sch = wb.Schedule
    assert str(sch.split.__signature__) == (
        "(self, loop: 'LoopHandle | str', factors: 'Sequence[int | None]', "
        "preserve_unit_iters: 'bool' = True, disable_predication: 'bool' = False) "
        "-> 'list[LoopHandle]'"
    )
    assert str(sch.fuse.__signature__).startswith("(self, *loops: 'LoopHandle | str', ")
    assert str(sch.add_unit_loop.__signature__) == (
        "(self, block_or_loop: 'BlockHandle | LoopHandle | str') -> 'LoopHandle'"
    )
