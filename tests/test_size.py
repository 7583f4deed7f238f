"""Small files, small functions, short lines; the exceptions are named here with their reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAX_FILE, MAX_FUNCTION, MAX_LINE = 400, 50, 100

LONG_FILES = {
    "workbench/ir/nodes.py": "every kind of node stands in one file, to be read as a grammar",
}
LONG_FUNCTIONS: dict[str, str] = {}

PYTHON = sorted(
    path
    for folder in ("workbench", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
    if "_lessons" not in path.parts
) + sorted(ROOT.glob("*.py"))
SOURCES = (
    PYTHON
    + sorted((ROOT / "workbench").rglob("*.js"))
    + sorted((ROOT / "workbench").rglob("*.css"))
)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> dict[str, int]:
    """How many lines each function of a file takes, its docstring left out."""
    tree = ast.parse(path.read_text())
    return {
        f"{name(path)}::{node.name}": lines(node) - docstring_lines(node)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return lines(node.body[0]) if ast.get_docstring(node) is not None else 0


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_files_are_short(path: Path):
    lines = len(path.read_text().splitlines())
    assert lines <= MAX_FILE or name(path) in LONG_FILES, f"{name(path)} has {lines} lines"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_lines_are_short(path: Path):
    long = [k for k, line in enumerate(path.read_text().splitlines(), 1) if len(line) > MAX_LINE]
    assert not long, f"{name(path)}: longer than {MAX_LINE} columns: lines {long}"


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_functions_are_short(path: Path):
    long = {f: n for f, n in functions(path).items() if n > MAX_FUNCTION}
    assert not set(long) - set(LONG_FUNCTIONS), long


def test_exceptions_are_still_needed():
    lengths = {name(p): len(p.read_text().splitlines()) for p in SOURCES}
    assert all(lengths.get(f, 0) > MAX_FILE for f in LONG_FILES), LONG_FILES
    sizes = {f: n for p in PYTHON for f, n in functions(p).items()}
    assert all(sizes.get(f, 0) > MAX_FUNCTION for f in LONG_FUNCTIONS), LONG_FUNCTIONS
