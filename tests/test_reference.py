"""The reference is what docstrings say, and they say of each public name what a user needs."""

from __future__ import annotations

import ast
import doctest
import inspect
import textwrap
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from docs.reference import OF_ONE, OF_TWO, PATH, public, reference, scene
from docs.stubs import prose

NAMES = {name: value for names in public().values() for name, value in names.items()}
VERBS = public()["Verbs"]
# What only a function makes: its example is that function's.
MADE_BY = {
    "emulate.EmulationError": "wb.EmulationError",
    "emulate.Expected": "emulate.expected",
    "emulate.Record": "emulate.run",
    "emulate.RedundantWrites": "emulate.run",
    "emulate.Wrong": "emulate.first_wrong",
    "lesson.Banks": "lesson.banks",
    "lesson.Comparison": "lesson.compare",
    "lesson.Drawn": "lesson.beside",
    "lesson.Expected": "lesson.expect",
    "lesson.Held": "lesson.fragments",
    "lesson.Losses": "lesson.why",
    "lesson.Goal": "lesson.Exercise",
    "lesson.Progress": "lesson.progress",
    "lesson.Quiz": "lesson.quiz",
    "lesson.Report": "lesson.Exercise",
    "lesson.Review": "lesson.review",
    "lesson.Trials": "lesson.trials",
}
SHOWN = [name for name in NAMES if name not in MADE_BY]
RUN = [name for name in SHOWN if name not in VERBS]  # verbs: tests/verbs/test_examples.py
SLOW = pytest.param("sch.figure", marks=pytest.mark.tool)  # loads matplotlib


def doc_of(value: Any) -> str:
    return inspect.getdoc(type(value) if value is wb.T else value) or ""


def test_the_reference_is_up_to_date():
    assert PATH.read_text(encoding="utf-8") == reference(), "run python -m docs.reference"


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_says_what_its_name_does(name: str):
    said = prose(doc_of(NAMES[name]))
    assert said.endswith(".") and said != inspect.getdoc(object)
    assert "`For`" not in said and "Edit" not in said  # a user passes and gets handles


@pytest.mark.parametrize("name", SHOWN)
def test_a_docstring_has_an_example(name: str):
    assert ">>> " in doc_of(NAMES[name])


def test_what_a_function_makes_has_its_example_there():
    assert set(MADE_BY) <= set(NAMES) and set(MADE_BY.values()) <= set(SHOWN)


@pytest.mark.parametrize("name", [SLOW if name == "sch.figure" else name for name in RUN])
@pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")
def test_an_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(doc_of(NAMES[name]), scene(), name, "", 0)
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(example, out=printed.append).failed == 0, "".join(printed)


@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_a_function_of_numbers_makes_an_element(name: str):
    function, tensor = getattr(wb.te, name), scene()["X"]
    count = len(inspect.signature(function).parameters)
    assert count == (1 if name in OF_ONE else 2) and "\n" not in doc_of(function)
    made = wb.te.compute((8, 8), lambda i, j: function(*[tensor[i, j]] * count))
    wb.te.create_prim_func([tensor, made])


# What a refusal that is made elsewhere becomes.
CALLED = {"as_error": "ScheduleError", "_unknown": "ScheduleError", "bad_file": "ScheduleError"}
CALLED |= {"_refused": "ScheduleError", "_refusal": "Fail", "explain": "EmulationError"}
CALLED |= {"_misuse": "EmulationError", "_explain_error": "EmulationError"}
CALLED |= {"_tell_difference": "EmulationError", "bad_record": "RecordError"}
CALLED |= {"_wrong": "TvmRecordError"}


def raised_in(value: Any) -> set[str]:
    """The errors that the body of a function raises by name."""
    function = value.fget if isinstance(value, property) else value
    function = getattr(function, "__func__", function)
    if not inspect.isfunction(function) or function.__code__.co_filename.startswith("<"):
        return set()
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    called = [call.func for call in calls if isinstance(call, ast.Call)]
    names = [name.id for name in called if isinstance(name, ast.Name)]
    return {CALLED.get(name, name) for name in names}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in VERBS])
def test_a_docstring_names_the_errors_that_are_raised(name: str):
    said = doc_of(NAMES[name])
    assert {error for error in raised_in(NAMES[name]) if error not in said} == set()


def test_what_takes_arrays_and_what_tells_times_says_so():
    seconds = [name for name in NAMES if name.startswith("timing.")]
    for name in (*seconds, "kernel.time", "wb.runtime.Timing"):
        assert "econds" in doc_of(NAMES[name])
    for name, value in NAMES.items():
        named = inspect.signature(value).parameters if inspect.isfunction(value) else ()
        if name not in VERBS and {"arrays", "args"} & set(named) and name[:3] not in ("sch", "te."):
            assert "array" in doc_of(value) or "Array" in doc_of(value), name
