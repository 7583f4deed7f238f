"""Lesson 5: what it tells of its search, and an exercise that its own space does not answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

import workbench as wb
from workbench import lesson, tuning
from workbench.draw import time_text
from workbench.lesson import spaces
from workbench.lesson.exercises.searched_tiles import H100, SIZES
from workbench.lesson.goals import microseconds
from workbench.lesson.programs import product
from workbench.lesson.trials import lines_of

FIVE = "05_let_the_machine_search"
NOTEBOOK = Path(__file__).parents[2] / "lessons" / f"{FIVE}.ipynb"


def quiet(progress: tuning.Progress) -> None:
    """Tell nothing."""


@pytest.mark.lesson
def test_what_the_lesson_tells_of_its_search_is_so():
    """Its recorded search once more: how many were ranked, what each batch came to, how far off."""
    cells = {cell.id: cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells}
    told = cells["beside-why"]
    func = replace(product(1024, 1024, 1024), name="matmul_1024")
    best = wb.tune(
        func,
        space=spaces.five_numbers,
        target=H100,
        trials=20,
        per_batch=5,
        measurer=tuning.Replayed(lines_of(FIVE)),
        progress=quiet,
    )
    tried = best.tried
    ended, refused, ranked = tried.lines.ended, len(tried.lines.refused), tried.search.lowered
    assert f"chose {refused + ranked} candidates for its {len(ended)} trials" in told
    assert f"refused {refused}, and the model ranked the other {ranked}" in told
    us = [one.seconds * 1e6 for one in ended]
    assert f"first five took {min(us[:5]):.0f} to {max(us[:5]):.0f} µs" in told
    first = us.index(min(us[:5]))
    made = [one for one in ended[5:10] if one.trial.parents]
    assert len(made) == 3 and {one.trial.parents for one in made} == {(first,)}
    second = min(ended[5:10], key=lambda one: one.seconds)
    assert (
        not second.trial.parents
        and f"one of two new ones took {time_text(second.seconds)}"[:-3] in told
    )
    won = tried.best
    assert won is not None and won.trial.batch == 2
    assert (
        won.trial.parents == (second.trial.number,)
        and f"took {us[won.trial.number]:.1f} µs, its best" in told
    )
    ratios = [one.seconds / one.trial.predicted for one in ended if one.trial.predicted]
    assert f"others up to {max(ratios) - 1:.0%}".replace("%", " %") in told
    assert 1 - min(ratios) == pytest.approx(1 / 8, abs=0.01) and "an eighth less" in told
    for number in (10, 11):
        assert ended[number].trial.predicted < won.trial.predicted
    assert f"took {us[10]:.0f} and {us[11]:.0f} µs" in told
    every = lines_of(FIVE).ended
    slowest = max(one.seconds for one in every)
    assert f"the slowest of the {len(every)} candidates takes {slowest * 1e3:.1f} ms" in told
    assert f"the slowest trial here {max(us):.0f} µs" in told


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_exercise_asks_for_what_the_lesson_s_space_has_not(size):
    """All five numbers of its best candidate stand at an end of their lists, or next to one."""
    sizes, least, most = size
    best = []
    for threads in ((8, 8), (8, 16), (16, 8)):
        sch = wb.Schedule(product(*sizes))
        lesson.in_shared(sch, (2, 2), threads, 32)
        best.append(microseconds(sch.func, H100))
    assert least <= min(best) < least + 0.1 and most < least


def own(sch: wb.Schedule) -> None:
    """The lesson's space with other numbers, as the last hint has it."""

    def one_of(*numbers: int) -> int:
        return sch.sample_categorical(numbers, probs=[1 / len(numbers)] * len(numbers))

    tile = one_of(1, 2, 4), one_of(1, 2, 4)
    threads = one_of(8, 16, 32), one_of(8, 16, 32)
    depth = one_of(16, 32, 64, 128)
    for side in (0, 1):
        fetched = tile[side] * threads[side] * depth
        tuning.require(fetched % (4 * threads[0] * threads[1]) == 0, "not shared out")
    lesson.in_shared(sch, tile, threads, depth)


@pytest.mark.lesson
@pytest.mark.parametrize("space, points", [(spaces.five_numbers, 2), (own, 3)])
def test_twenty_trials_are_enough_in_a_space_that_suits_and_in_no_other(space, points: int):
    exercise = lesson.exercise("searched_tiles")
    mine = exercise.schedule()
    found = wb.tune(mine.func, space=space, target=H100, trials=20, per_batch=5, progress=quiet,
                    measurer=tuning.ByModel(wb.target.get(H100)))  # fmt: skip
    mine.take(found.trace)
    assert int(exercise.check(mine)) == points
