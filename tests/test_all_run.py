"""Nothing in the tests lies there unused: each function runs, and each file is read."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = HERE.parent / "benchmarks"
RUN_BY_NAME = ("scores.py", "first_cell.py")  # tests under the packages of others
# What a function's line says, behind the end of a decorator, if it has one.
FUNCTION = re.compile(r"^(@.*\n|\)\n)?( *)(?:async )?def (\w+)", re.MULTILINE)
NAME = re.compile(r"\w+")


@cache
def texts() -> dict[Path, str]:
    """The modules of the tests."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(HERE.rglob("*.py"))}


def words() -> Counter[str]:
    """How often each word comes in them, and in the benchmarks, which use what is in support."""
    beside = (path.read_text(encoding="utf-8") for path in BENCHMARKS.glob("*.py"))
    return Counter(word for text in (*texts().values(), *beside) for word in NAME.findall(text))


def test_every_test_is_found_and_every_other_function_is_used():
    """One with a decorator is used by that, and a method perhaps by a class of others."""
    assert len(texts()) > 200
    count = words()
    for path, text in texts().items():
        found = path.name.startswith("test_") or path.name in RUN_BY_NAME
        for decorated, inside, name in FUNCTION.findall(text):
            where = f"{path.relative_to(HERE)}: {name}"
            if name.startswith("test_"):
                assert found and not inside, f"{where} is no test that pytest finds"
            elif not (inside or decorated or name.startswith("pytest_")):
                assert count[name] > 1, f"{where} is used nowhere"


def test_every_other_file_is_read_by_a_test():
    """A test names it or its folder, or the folder belongs to the module of that name."""
    code = "\n".join(texts().values())
    for path in HERE.rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            names = (path.name, path.parent.name, f"_on_cpu{path.suffix}")
            named = any(f'{name}"' in code for name in names)
            assert named or path.parent.with_suffix(".py") in texts(), path.relative_to(HERE)
