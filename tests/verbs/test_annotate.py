"""annotate: what a note may be, and that it is carried wherever programs and steps go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.schedule.programs import VECTOR
from workbench import script
from workbench.ir import structural_equal

NOTES = [
    (True, "True"),
    ([], "[]"),
    ([1, "two", 0.5], '[1, "two", 0.5]'),
    ({}, "{}"),
    ({"b": [1, "x"], "a": 2}, '{"a": 2, "b": [1, "x"]}'),
    ({"x y": 'q"z'}, r'{"x y": "q\"z"}'),
]


@pytest.mark.parametrize(("note", "text"), NOTES)
def test_a_note_is_printed_read_saved_and_taken_off(note: Any, text: str, tmp_path: Path):
    sch = wb.Schedule(script.parse(VECTOR))
    plain = sch.func
    sch.annotate("i", "note", note)
    sch.annotate("B", "note", note)
    shown = script.show(sch.func)
    assert f'annotations={{"note": {text}}}' in shown
    assert f'T.block_attr({{"note": {text}}})' in shown
    assert structural_equal(script.parse(shown), sch.func)

    sch.save(tmp_path / "noted.json")
    loaded = wb.load(tmp_path / "noted.json")
    assert loaded.trace == sch.trace
    assert script.show(loaded.func) == shown
    assert text in sch.trace.as_python()

    sch.unannotate("i", "note")
    sch.unannotate("B", "note")
    assert structural_equal(sch.func, plain)


def test_notes_that_differ_are_different_programs():
    def noted(note: Any) -> wb.Schedule:
        sch = wb.Schedule(script.parse(VECTOR))
        sch.annotate("i", "note", note)
        return sch

    func = noted({"a": 1, "b": [2]}).func
    assert structural_equal(func, noted({"b": [2], "a": 1}).func)
    for other in ({"a": 1}, {"a": True, "b": [2]}, {"a": 1, "b": 2}, ["a", 1, "b"]):
        assert not structural_equal(func, noted(other).func)


def test_notes_in_a_text_may_be_deeper():
    text = VECTOR.replace("range(8)", 'T.serial(8, annotations={"n": {"a": [{"b": [[1]]}]}})')
    func = script.parse(text)
    assert text != VECTOR
    assert 'annotations={"n": {"a": [{"b": [[1]]}]}}' in script.show(func)
