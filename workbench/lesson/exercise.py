"""Exercises: a program, goals that are measured, hints, and a solution that is tested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module

from workbench.diag import Fail
from workbench.ir import PrimFunc, structural_equal
from workbench.lesson.checking import check_result
from workbench.lesson.goals import Measure
from workbench.schedule import Schedule
from workbench.widgets import Lab


@dataclass(frozen=True, slots=True)
class Goal:
    """One thing to reach.

    `hint` says what to try while it is not reached: a text, or what makes one of the program.
    """

    measure: Measure
    hint: str | Callable[[PrimFunc], str]


@dataclass(frozen=True, slots=True)
class Row:
    """One goal and how the schedule does on it; `ok` is None where that is not known yet."""

    goal: str
    ok: bool | None = None
    found: str = ""
    say: str = ""

    @property
    def head(self) -> str:
        """The goal with its sign."""
        return f"{'·' if self.ok is None else '✓' if self.ok else '✕'} {self.goal}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found; true where every goal is reached."""

    exercise: str
    rows: tuple[Row, ...]

    def __bool__(self) -> bool:
        return all(row.ok for row in self.rows)

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        done = sum(row.ok is True for row in self.rows)
        if self:
            return f"Solved: {self.exercise}. All {done} goals are reached."
        return f"Not yet: {done} of {len(self.rows)} goals are reached."

    def __repr__(self) -> str:
        lines = [self.headline]
        for row in self.rows:
            lines.append(f"  {row.head}: {row.found}" if row.found else f"  {row.head}")
            lines += [f"      {row.say}"] if row.say else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(f"<li>{_html(row)}</li>" for row in self.rows)
        return f'<p><b>{escape(self.headline)}</b></p><ul style="list-style:none">{rows}</ul>'


def _html(row: Row) -> str:
    found = f": {escape(row.found)}" if row.found else ""
    return f"<b>{escape(row.head)}</b>{found}" + (f"<br>{escape(row.say)}" if row.say else "")


@dataclass(frozen=True, slots=True)
class Exercise:
    """A task on `program`; `solution` takes the steps of one answer on a schedule of it.

    Printed, it is its task and its goals.
    """

    name: str
    task: str
    program: PrimFunc
    goals: tuple[Goal, ...]
    hints: tuple[str, ...]
    solution: Callable[[Schedule], None]

    def __str__(self) -> str:
        aims = [RESULT, *(goal.measure.aim for goal in self.goals)]
        return "\n".join([self.task, "", "Goals:", *(f"  · {aim}" for aim in aims)])

    def schedule(self) -> Schedule:
        """A fresh schedule of the program."""
        return Schedule(self.program)

    def check(self, work: Schedule | Lab) -> Report:
        """How the program does that `work` stands at: whether it computes the same, then the goals.

        Raises Fail where `work` started from another program.
        """
        schedule = work.cursor if isinstance(work, Lab) else work
        if not structural_equal(schedule.history.root.func, self.program):
            raise Fail(
                "Can't check this schedule: it did not start from the exercise's program",
                hint="start with sch = exercise.schedule()",
            )
        wrong = check_result(schedule.func, self.program)
        if wrong:
            later = (Row(goal.measure.aim) for goal in self.goals)
            return Report(self.name, (Row(RESULT, False, wrong, WAIT), *later))
        rows = (_row(goal, schedule.func) for goal in self.goals)
        return Report(self.name, (Row(RESULT, True, "every cell agrees", CHECKED), *rows))

    def hint(self, number: int = 1) -> str:
        """The hint with that number; each says more than the one before."""
        if not 1 <= number <= len(self.hints):
            raise Fail(
                f"Can't give hint {number}: there are {len(self.hints)}", hint="ask for hint(1)"
            )
        return self.hints[number - 1]

    def show_solution(self) -> str:
        """The steps of one solution, as Python."""
        schedule = self.schedule()
        self.solution(schedule)
        return schedule.trace.as_python("exercise.program")


RESULT = "the same result as before"
CHECKED = "Checked with numbers that differ from cell to cell, and rubbish in the output."
WAIT = "The other goals wait for this one: a fast wrong answer is worth nothing."


def _row(goal: Goal, func: PrimFunc) -> Row:
    aim = goal.measure.aim
    try:
        ok, found = goal.measure.found(func)
        hint = goal.hint if isinstance(goal.hint, str) else "" if ok else goal.hint(func)
    except Fail as fail:
        return Row(aim, False, fail.headline, fail.hint)
    return Row(aim, ok, found, goal.measure.why if ok else hint)


def exercise(name: str) -> Exercise:
    """The exercise of that name. Raises Fail for a name that there is not."""
    if name not in NAMES:
        raise Fail(f"Can't find the exercise {name!r}", hint=f"there are: {', '.join(NAMES)}")
    found = import_module(f"workbench.lesson.exercises.{name}").EXERCISE
    assert isinstance(found, Exercise)
    return found


NAMES: Sequence[str] = ("odd_vector", "wide_window", "few_loads", "small_tiles")
