"""Lesson 12: what its words say is what its programs and its record have."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

from workbench import lesson

LESSON = Path(__file__).parents[2] / "lessons" / "12_auto_scheduling.ipynb"


def source(cell: str) -> str:
    """What stands in the cell of that id."""
    cells = nbformat.read(LESSON, as_version=4).cells
    return next(one.source for one in cells if one.id == cell)


@pytest.mark.parametrize(
    ("cell", "variant", "missed"),
    [
        ("exercise-start", 1, ["at most 4.00 µs"]),
        ("code-start", 2, ["at least 32 blocks", "at most 6.50 µs"]),
    ],
)
def test_the_example_of_an_exercise_leaves_something_to_do(
    cell: str, variant: int, missed: list[str]
):
    exercise = lesson.exercise("layer_tiles", variant=variant)
    *_, example = source(cell).splitlines()
    sch = exercise.schedule()
    lesson.tile_layer(sch, *ast.literal_eval("(" + example.partition(", ")[2]))
    reached = exercise.reached(sch.func)
    left = [aim for aim, (ok, _) in zip(exercise.aims, reached, strict=True) if not ok]
    assert [aim[: len(begin)] for aim, begin in zip(left, missed, strict=True)] == missed
