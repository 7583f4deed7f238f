"""What a check gives an autograder: a bare number, whatever the learner did; and why, to read."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter

import workbench as wb
from tests.lesson.test_exercises import bound, cached
from tests.widgets.programs import bind_both
from workbench import lesson, script
from workbench.lesson import Exercise
from workbench.lesson.exercise import NAMES, RESULT
from workbench.schedule import Schedule

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    """A folder of its own, as labs keep their steps in the one that the notebook runs in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def exercise() -> Exercise:
    return lesson.exercise("odd_vector")


def shown(report: object, precision: str | int | None = None) -> dict[str, str]:
    """What a notebook keeps of a cell's value."""
    formatter = DisplayFormatter()
    if precision is not None:
        formatter.formatters["text/plain"].float_precision = precision
    data, _ = formatter.format(report)
    return data


def another_program() -> Schedule:
    return lesson.exercise("wide_window").schedule()


@pytest.mark.parametrize("name", NAMES)
def test_a_solution_has_all_points_and_nothing_done_has_none(name: str):
    exercise = lesson.exercise(name)
    mine = exercise.schedule()
    assert shown(exercise.check(mine))["text/plain"] == "0.0"
    exercise.solution(mine)
    assert shown(exercise.check(mine))["text/plain"] == f"{exercise.points}.0"


def test_each_goal_that_is_reached_is_a_point(exercise: Exercise):
    mine = exercise.schedule()
    bound(mine, [None, 8])  # right, in 125 blocks with no idle thread, but no whole warps
    report = exercise.check(mine)
    assert float(report) == 3 < exercise.points == 4 and not report
    assert [row.ok for row in report.rows] == [True, False, True, True]


def test_the_number_is_bare_and_the_report_is_beside_it(exercise: Exercise):
    report = exercise.check(exercise.schedule())
    for precision in (None, 3, "%d", "%e"):  # as a learner's %precision sets it
        data = shown(report, precision)
        assert data["text/plain"] == repr(report) == "0.0"
    assert data["text/html"] == report._repr_html_()
    assert str(report) == f"{report}" and str(report).startswith("Not yet: 0 of 4 goals")


def test_a_report_is_copied_whole(exercise: Exercise):
    mine = exercise.schedule()
    exercise.solution(mine)
    report = exercise.check(mine)
    for other in (copy.copy(report), copy.deepcopy(report), pickle.loads(pickle.dumps(report))):
        assert (float(other), str(other), bool(other)) == (4, str(report), True)


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda: None, "Can't check NoneType: it is no schedule"),
        (lambda: 4.0, "Can't check float: it is no schedule"),
        (lambda: Schedule, "Can't check type: it is no schedule"),
        (another_program, "Can't check this schedule: it did not start from the exercise's"),
    ],
)
def test_what_cannot_be_checked_has_no_points_and_a_report(work, told: str, exercise: Exercise):
    report = exercise.check(work())
    assert repr(report) == "0.0" and told in str(report) and "exercise.schedule()" in str(report)


def test_a_fault_in_the_check_is_told_and_has_no_points(exercise: Exercise, monkeypatch):
    def broken(*_: object) -> str:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(sys.modules["workbench.lesson.exercise"], "check_result", broken)
    mine = exercise.schedule()
    exercise.solution(mine)
    report = exercise.check(mine)
    assert repr(report) == "0.0" and "The check failed: ZeroDivisionError: by zero" in str(report)


def test_a_wasteful_schedule_is_told_so_in_the_report_and_nowhere_else(capfd):
    """What stands on stderr costs all points."""
    exercise = lesson.exercise("wide_window")
    mine = exercise.schedule()
    cached(mine)
    with pytest.warns(wb.ScheduleWarning):
        wb.build(mine)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        report = exercise.check(mine)
    assert 0 < report < exercise.points and capfd.readouterr() == ("", "")
    assert (
        "Share the work: split `ax0`" in str(report)
        and "Share the work: split <code>ax0</code>" in report._repr_html_()
    )


# --- whose steps ----------------------------------------------------------------------------------


def test_steps_as_code_are_named(exercise: Exercise):
    mine = exercise.schedule()
    bound(mine, [None, 64])
    report = exercise.check(mine)
    assert str(report).splitlines()[-4:] == [
        "Graded: the 3 steps of your code.",
        "  1. split(i, factors=[None, 64])",
        '  2. bind(i_0, "blockIdx.x")',
        '  3. bind(i_1, "threadIdx.x")',
    ]


def clicked(exercise: Exercise, factors: str = "[None, 64]") -> Schedule:
    """The schedule of a notebook in which the steps were taken in a lab that is told no file."""
    mine = exercise.schedule()
    bind_both(wb.lab(mine), factors)
    return mine


CODE = """\
mine.goto("start")
block_C = mine.get_block("C")
(i,) = mine.get_loops(block_C)
i_0, i_1 = mine.split(i, factors=[None, 64])
mine.bind(i_0, "blockIdx.x")
mine.bind(i_1, "threadIdx.x")"""


def test_clicked_steps_are_kept_found_again_and_written_down_as_code(
    exercise: Exercise, folder: Path
):
    here = exercise.check(clicked(exercise))
    there = exercise.check(exercise.schedule())  # as in another session
    assert here and there and str(here) == str(there) and here.steps == CODE
    assert here.graded.startswith(
        "Graded: the 3 steps clicked in a lab and kept in my-work/01_vector_add_exercise.json. "
    )
    scope = {"mine": exercise.schedule()}
    exec(CODE, scope)
    assert exercise.check(scope["mine"]).graded == "Graded: the 3 steps of your code."


def test_the_lab_of_an_exercise_has_its_steps_as_the_lines_to_hand_in(exercise: Exercise):
    """The same that the check writes down; a lab of anything else has none."""
    lab = wb.lab(exercise.schedule())
    bind_both(lab, "[None, 64]")
    assert lab.session.page["taken"] == CODE == exercise.check(lab).steps
    lab.at = 0
    assert lab.session.page["taken"] == ""
    assert wb.lab(exercise.program).session.page["taken"] is None


def test_clicked_steps_are_not_found_where_only_the_notebook_is(
    exercise: Exercise, tmp_path_factory, monkeypatch
):
    clicked(exercise)
    monkeypatch.chdir(tmp_path_factory.mktemp("fresh"))
    report = exercise.check(exercise.schedule())
    assert repr(report) == "0.0" and "no lab has kept any in my-work/01_" in str(report)
    assert "the report then shows them as code" in str(report)


def test_steps_as_code_come_first(exercise: Exercise):
    """Also before better ones of a lab, which the report says."""
    clicked(exercise)
    mine = exercise.schedule()
    bound(mine, [3, 352])
    report = exercise.check(mine)
    assert not report and report.rows[1].found == "352 threads"
    assert report.notes[0].startswith("The lab's own steps, kept in my-work/")
    mine.goto("start")
    assert exercise.check(mine)
    bound(mine, [None, 64])
    assert exercise.check(mine).notes == ()


def test_a_lab_that_was_taken_back_to_the_start_has_no_steps(exercise: Exercise):
    mine = exercise.schedule()
    lab = wb.lab(mine)
    bind_both(lab, "[None, 64]")
    lab.at = 0
    report = exercise.check(mine)
    assert repr(report) == "0.0" and "json stands at its start" in str(report)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": "workbench-schedule"}', "\0"])
def test_a_damaged_file_is_told_and_costs_code_nothing(text: str, exercise: Exercise):
    mine = clicked(exercise)
    assert mine.history.kept_in is not None
    mine.history.kept_in.write_text(text)
    report = exercise.check(mine)
    assert repr(report) == "0.0" and "Can't read the steps kept in my-work/" in str(report)
    bound(mine, [None, 64])
    assert exercise.check(mine)


def test_steps_that_a_lab_took_beside_a_damaged_file_are_found(exercise: Exercise):
    """A lab may leave such a file alone, and keep its steps in another."""
    mine = exercise.schedule()
    assert mine.history.kept_in is not None
    mine.history.kept_in.parent.mkdir()
    mine.history.kept_in.write_text("{")
    bind_both(wb.lab(mine), "[None, 64]")
    assert exercise.check(mine) and exercise.check(exercise.schedule())


def test_a_file_of_another_program_holds_no_steps_of_this(exercise: Exercise):
    mine = exercise.schedule()
    other = another_program()
    bound(other, [None, 64])
    assert mine.history.kept_in is not None
    mine.history.kept_in.parent.mkdir()
    other.save(mine.history.kept_in)
    report = exercise.check(mine)
    assert repr(report) == "0.0" and "no lab has kept any" in str(report)


# --- where there are no widgets -------------------------------------------------------------------

BARE = """
import sys
class Wall:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in sys.stdlib_module_names | {"workbench", "numpy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Wall())
import workbench as wb
from workbench import lesson
exercise = lesson.exercise("odd_vector")
mine = exercise.schedule()
shown = wb.lab(mine, actions=["split"], panes=["who"], question=lesson.question("vector_2_4"))
print(shown)
print(repr(exercise.check(shown)), repr(exercise.check(mine)))
exec(exercise.show_solution())
mine.show()
print(repr(exercise.check(mine)))
print(lesson.compare({"mine": mine}).rows[0].name)
print(lesson.question("vector_2_4").judge(mine.func))
"""


@pytest.mark.lesson
def test_lessons_and_checks_need_numpy_and_nothing_else(exercise: Exercise):
    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", BARE],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(ROOT)},
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    said, before, *_, after, _, _ = run()
    assert said.startswith("No lab here: anywidget is not installed")
    assert (before, after) == ("0.0 0.0", "4.0")
    clicked(exercise)
    assert run()[1] == "4.0 4.0"


def test_the_result_is_worth_a_point_like_the_others(exercise: Exercise):
    assert str(exercise).count("\n  · ") == exercise.points and RESULT in str(exercise)


def test_exercises_that_share_a_file_are_each_found_again(exercise: Exercise):
    """Those of one lesson do: the last that was worked on stands first in it."""
    program = script.parse(script.show(exercise.program).replace("1000", "1001"))
    another = replace(exercise, program=program)
    clicked(exercise)
    clicked(another)
    assert exercise.check(exercise.schedule()) and another.check(another.schedule())
