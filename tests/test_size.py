"""Short functions and short lines: a file is as long as its idea, a function is not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAX_FUNCTION, MAX_LINE = 50, 100

PYTHON = sorted(
    path
    for folder in ("workbench", "tests", "benchmarks", "solutions")
    for path in (ROOT / folder).rglob("*.py")
    if "_lessons" not in path.parts
) + sorted(ROOT.glob("*.py"))
SOURCES = (
    PYTHON
    + sorted((ROOT / "workbench").rglob("*.js"))
    + sorted((ROOT / "workbench").rglob("*.css"))
)


def long_lines(path: Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    numbered = enumerate(path.read_text().splitlines(), 1)
    return [f"{name}:{k}" for k, line in numbered if len(line) > MAX_LINE]


def long_functions(path: Path) -> list[str]:
    """Where a function takes too many lines, its docstring left out."""
    name = path.relative_to(ROOT).as_posix()
    return [
        f"{name}:{node.lineno} {node.name}"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and lines(node) - docstring_lines(node) > MAX_FUNCTION
    ]


def lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return lines(node.body[0]) if ast.get_docstring(node) is not None else 0


def test_lines_are_short():
    assert len(SOURCES) > 200
    long = [place for path in SOURCES for place in long_lines(path)]
    assert not long, long


FOLDERS = sorted({path.relative_to(ROOT).parts[:-1][:2] for path in PYTHON})


@pytest.mark.parametrize("folder", FOLDERS, ids="/".join)
def test_functions_are_short(folder: tuple[str, ...]):
    files = [path for path in PYTHON if path.relative_to(ROOT).parts[:-1][:2] == folder]
    long = [place for path in files for place in long_functions(path)]
    assert files and not long, long
