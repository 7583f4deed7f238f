"""Exercises: solutions pass, every wrong answer is told why it is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from workbench import lesson, script
from workbench.diag import Fail
from workbench.lesson.exercise import NAMES
from workbench.schedule import Schedule


def bound(sch: Schedule, factors: list) -> None:
    (i,) = sch.get_loops(sch.get_blocks()[0])
    i_0, i_1 = sch.split(i, factors=factors)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")


def one_block(sch: Schedule) -> None:
    (i,) = sch.get_loops(sch.get_blocks()[0])
    sch.bind(i, "threadIdx.x")


def cached(sch: Schedule) -> None:
    bound(sch, [None, 128])
    block = sch.get_block("B")
    sch.compute_at(sch.cache_read(block, 0, "shared"), sch.get_loops(block)[-1])


def whole_cache(sch: Schedule) -> None:
    bound(sch, [None, 128])
    sch.cache_read(sch.get_block("B"), 0, "shared")


WRONG: list[tuple[str, str, Callable[[Schedule], None], str]] = [
    ("odd_vector", "nothing done", lambda sch: None, "same result"),
    ("odd_vector", "too few threads", lambda sch: bound(sch, [None, 8]), "whole warps"),
    ("odd_vector", "no whole warps", lambda sch: bound(sch, [8, 125]), "whole warps"),
    ("odd_vector", "one block", one_block, "several blocks"),
    ("odd_vector", "three blocks", lambda sch: bound(sch, [3, 352]), "several blocks"),
    ("odd_vector", "idle threads", lambda sch: bound(sch, [16, 128]), "few idle threads"),
    ("wide_window", "nothing done", lambda sch: None, "same result"),
    ("wide_window", "no cache", lambda sch: bound(sch, [None, 128]), "loads from global memory"),
    ("wide_window", "everybody fetches all", cached, "loads from global memory"),
    ("wide_window", "cache across kernels", whole_cache, "same result"),
]


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_reaches_every_goal(name: str):
    exercise = lesson.exercise(name)
    mine = exercise.schedule()
    exercise.solution(mine)
    report = exercise.check(mine)
    assert report, repr(report)
    assert repr(report).startswith(f"Solved: {exercise.name}. All ")


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_that_is_shown_runs(name: str):
    exercise = lesson.exercise(name)
    import workbench as wb

    scope = {"exercise": exercise, "wb": wb}
    exec(exercise.show_solution(), scope)
    assert exercise.check(scope["sch"])


@pytest.mark.parametrize(("name", "what", "steps", "missed"), WRONG, ids=[w[1] for w in WRONG])
def test_a_wrong_answer_misses_its_goal(name, what, steps, missed):
    exercise = lesson.exercise(name)
    mine = exercise.schedule()
    steps(mine)
    report = exercise.check(mine)
    assert not report and report.headline.startswith("Not yet: ")
    rows = {row.goal: row for row in report.rows}
    assert not rows[missed].ok, repr(report)
    assert rows[missed].found and rows[missed].say


def test_a_schedule_of_another_program_is_refused():
    exercise = lesson.exercise("odd_vector")
    other = lesson.exercise("wide_window").schedule()
    with pytest.raises(Fail) as refused:
        exercise.check(other)
    assert str(refused.value) == (
        "Can't check this schedule: it did not start from the exercise's program.\n"
        "do:    start with sch = exercise.schedule()"
    )


def test_a_wrong_result_is_found_by_the_inputs():
    """A program that computes something else, passed off as a schedule of the right one."""
    right = lesson.exercise("odd_vector").program
    text = script.show(right)
    for wrong in (
        text.replace("A[vi] + B[vi]", "A[vi] - B[vi]"),
        text.replace("A[vi] + B[vi]", "A[vi] + A[vi]"),
        text.replace("A[vi] + B[vi]", "A[999 - vi] + B[vi]"),
        text.replace("C[vi] = A", "C[999 - vi] = A"),
    ):
        assert wrong != text
        wrong = "\n".join(line for line in wrong.splitlines() if "T.reads" not in line)
        wrong = "\n".join(line for line in wrong.splitlines() if "T.writes" not in line)
        sch = Schedule(script.parse(wrong))
        bound(sch, [None, 128])
        assert lesson.check_result(sch.func, right)


def test_hints_say_more_and_more_and_then_no_more():
    exercise = lesson.exercise("wide_window")
    assert exercise.hint(1) != exercise.hint(2)
    with pytest.raises(Fail) as refused:
        exercise.hint(4)
    assert str(refused.value) == "Can't give hint 4: there are 3.\ndo:    ask for hint(1)"


def test_an_exercise_that_is_not_there():
    with pytest.raises(Fail) as refused:
        lesson.exercise("odd")
    assert str(refused.value) == (
        "Can't find the exercise 'odd'.\ndo:    there are: odd_vector, wide_window"
    )


def test_a_report_is_html_too():
    exercise = lesson.exercise("odd_vector")
    html = exercise.check(exercise.schedule())._repr_html_()
    assert "Not yet" in html and "<script" not in html
