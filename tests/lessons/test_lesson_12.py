"""Lesson 12: what its words say is what its programs and its record have."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat
import pytest

import workbench as wb
from workbench import lesson, tuning
from workbench.lesson import spaces
from workbench.lesson.goals import counts
from workbench.lesson.quizzes import QUIZZES
from workbench.lesson.trials import lines_of
from workbench.tuning import Ended

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


DEPTHS = (4, 8, 16, 32)


def written(ended: Ended) -> str:
    """The tiles of a candidate as the lesson writes them."""
    channels, rows, columns, depth = ended.trial.decisions
    return f"{channels}, {rows}, {columns}, {DEPTHS[depth]}"


def test_the_fastest_tiles_are_told_after_the_trials_and_by_no_count():
    """Neither a lab nor a question has them ahead; what is said of them is counted and recorded."""
    cells = nbformat.read(LESSON, as_version=4).cells
    at = next(k for k, one in enumerate(cells) if one.id == "fastest-why")
    assert "run-beside" in [one.id for one in cells[:at]]
    by_tiles = {written(one): one for one in lines_of(LESSON.stem).ended}
    fastest = min(by_tiles, key=lambda tiles: by_tiles[tiles].seconds)
    ahead = "".join(one.source for one in cells[:at])
    assert fastest not in ahead and fastest not in QUIZZES["12_wins"].made()[0].choices
    said = cells[at].source
    first, other = re.findall(r"`(\(.+?)`", said)
    assert first == fastest
    for tiles in (first, other):
        sch = wb.Schedule(lesson.layer())
        lesson.tile_layer(sch, *ast.literal_eval(tiles))
        loads = counts(sch.func).loads_per_output
        assert loads is not None and f"{loads:.0f}" in said
        assert f"{by_tiles[tiles].seconds * 1e6:.0f} µs" in said


def test_what_is_said_of_a_point_is_seen_in_the_picture():
    by = tuning.Replayed(lines_of(LESSON.stem))
    best = wb.tune(
        lesson.layer(),
        space=spaces.layer_tiles,
        target="nvidia/h100",
        trials=5,
        per_batch=5,
        measurer=by,
    )
    far = max(best.tried.lines.ended, key=lambda one: one.seconds / (one.trial.predicted or 1))
    predicted, seconds = far.trial.predicted, far.seconds
    assert predicted is not None
    told = f"Trial {far.trial.number}: {predicted * 1e6:.0f} µs predicted, {seconds * 1e6:.0f} "
    assert told in source("predicted-ask")
