"""Exercises: a program, goals that are measured, and hints."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import fill

from workbench.diag import Fail
from workbench.history.step import value_text
from workbench.ir import PrimFunc
from workbench.lesson import record
from workbench.lesson.checking import check_result
from workbench.lesson.goals import Measure
from workbench.lesson.report import Report, Row
from workbench.lesson.solutions import refuse_hidden, solution
from workbench.lesson.work import Work, find
from workbench.schedule import Schedule
from workbench.widgets.page.memo import build
from workbench.widgets.page.page import notes
from workbench.widgets.page.texts import as_code

WIDTH = 88  # letters of a line that a notebook shows whole beside its file browser


class Hint(str):
    """A text that a notebook shows as it reads, without quotes and with its lines broken."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Goal:
    """One thing to reach.

    `hint` says what to try while it is not reached: a text, or what makes one of the program.
    """

    measure: Measure
    hint: str | Callable[[PrimFunc], str]


@dataclass(frozen=True, slots=True)
class Exercise:
    """A task on `program`.

    `lesson` is the stem of the notebook that asks for it, `key` what its points are kept under.
    Printed, it is its task and its goals.

    >>> print(lesson.exercise("odd_vector").task.partition(".")[0])
    1000 is no multiple of 32
    """

    name: str
    key: str
    lesson: str
    task: str
    program: PrimFunc
    goals: tuple[Goal, ...]
    hints: tuple[str, ...]
    tolerance: float | None = 0.0  # of `check_result`: what a right result may differ by
    unscheduled: PrimFunc | None = None  # computes the same, for a result that is compared sooner

    @property
    def solution(self) -> Callable[[Schedule], None]:
        """What takes the steps of one answer on a schedule of the program.

        Raises Fail where the solutions are not here: they are not installed with the lessons.
        """
        return solution(self.key)

    @property
    def points(self) -> int:
        """The most that `check` gives: one for the result, one for each of the other goals."""
        return len(self._aims)

    @property
    def _aims(self) -> list[str]:
        return [RESULT, *self.aims]

    @property
    def result(self) -> str:
        """The first goal, the right result, which a lab ticks once a run there was right."""
        return RESULT

    @property
    def aims(self) -> list[str]:
        """The goals beside the right result, which a lab ticks."""
        return [goal.measure.aim for goal in self.goals]

    def reached(self, func: PrimFunc) -> list[tuple[bool, str]]:
        """For each of the `aims`, whether the kernels of `func` reach it, and what was found.

        A kernel that it is given with reaches none before a step is taken, as in `check`.
        """
        if not isinstance(func, PrimFunc):
            raise Fail(
                f"Can't look at a value of type {type(func).__name__}: it is no program",
                hint="pass the program of a schedule: exercise.reached(mine.func)",
            )
        if self._is_given(func):
            return [(False, FIRST)] * len(self.goals)
        try:
            build(func)
        except Fail as fail:
            return [(False, fail.headline)] * len(self.goals)
        rows = (_row(goal, func) for goal in self.goals)
        return [(row.ok is True, row.found) for row in rows]

    def _is_given(self, func: PrimFunc) -> bool:
        """Whether it is the program as it was given, with steps that make a kernel of it."""
        return self.unscheduled is not None and func is self.program

    def sooner(self, start: PrimFunc) -> PrimFunc:
        """A program that comes to what `start` comes to, without the steps that it is given with.

        By its meaning it runs in a tenth of the time: nothing is kept for each thread. `start`
        itself where it is not the exercise's program, or has no steps.
        """
        return self.unscheduled if self.unscheduled and self._is_given(start) else start

    def __str__(self) -> str:
        task = [fill(line, WIDTH) for line in self.task.splitlines()]
        aims = [f"  · {aim}" for aim in self._aims]
        return "\n".join([*task, "", "Goals, a point each:", *aims])

    def schedule(self) -> Schedule:
        """A fresh schedule of the program, marked "start".

        Labs on it keep its steps beside the notebook, in my-work.
        """
        schedule = Schedule(self.program)
        schedule.mark("start")
        schedule.history.kept_in = Path.cwd() / "my-work" / f"{self.lesson}_exercise.json"
        return schedule

    def check(self, work: object) -> Report:
        """How the program does that `work`, a schedule or a lab on one, stands at.

        First whether it computes the same, then the other goals; a wrong result is worth nothing.
        Of a schedule that stands at its start the steps are graded that a lab of the exercise has
        kept in its file. The report is a number from 0 to `points`, and says which steps were
        graded; where the lesson has a my-work folder, the most points are kept there. Raises and
        warns of nothing: what is wrong stands in the report.
        """
        report = self._checked(work)
        told = record.keep_points(self.lesson, self.key, int(report), self.points)
        return replace(report, notes=(*report.notes, told)) if told else report

    def _checked(self, work: object) -> Report:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # on stderr, it would cost all points
                found = find(work, self.program)
                return self._report(found)
        except Fail as fail:
            return self._failed(fail.headline, fail.hint)
        except Exception as error:  # a fault of ours: the grader still gets its number
            return self._failed(f"The check failed: {type(error).__name__}: {error}", "")

    def _report(self, work: Work) -> Report:
        func = work.schedule.func
        if self._is_given(func):  # which is right, and keeps to bounds
            return self._failed("it is as it was given", f"{FIRST[:1].upper()}{FIRST[1:]}.", work)
        wrong = check_result(func, self.unscheduled or self.program, self.tolerance)
        if wrong:
            return self._failed(wrong, WAIT, work)
        rows = (_row(goal, func) for goal in self.goals)
        said = (*([work.note] if work.note else []), *notes(func))
        right = Row(RESULT, True, "every cell agrees", CHECKED)
        return Report(self.name, (right, *rows), work.graded, work.steps, said)

    def _failed(self, found: str, say: str, work: Work | None = None) -> Report:
        """The report on a wrong result, or on what could not be looked at."""
        result, *later = self._aims
        rows = (Row(result, False, found, say), *map(Row, later))
        if work is None:
            return Report(self.name, rows)
        said = (work.note,) if work.note else ()
        return Report(self.name, rows, work.graded, work.steps, said)

    def hint(self, number: int = 1) -> Hint:
        """The hint with that number, as a notebook shows it; each says more than the one before.

        Raises Fail for a number that there is not.
        """
        last = len(self.hints)
        if not isinstance(number, int) or number not in range(1, last + 1):
            raise Fail(
                f"Can't give hint {value_text(number)}: there are {last}",
                hint=f"ask for 1 to {last}",
            )
        return Hint(fill(self.hints[number - 1], WIDTH))

    def show_solution(self) -> str:
        """The steps of one solution, as Python.

        Raises Fail where WORKBENCH_CLASS is set, to anything but 0, and where the solutions are
        not here.
        """
        refuse_hidden()
        schedule = self.schedule()
        self.solution(schedule)
        return f"mine = exercise.schedule()\n{as_code(schedule.trace)}"


RESULT = "the same result as before"
FIRST = "take a step first"
CHECKED = "Checked with numbers that differ from cell to cell, on an output full of wrong ones."
WAIT = "The other goals wait for this one: a fast wrong answer is worth nothing."


def _row(goal: Goal, func: PrimFunc) -> Row:
    aim = goal.measure.aim
    try:
        ok, found = goal.measure.found(func)
        hint = goal.hint if isinstance(goal.hint, str) else "" if ok else goal.hint(func)
    except Fail as fail:
        return Row(aim, False, fail.headline, fail.hint)
    return Row(aim, ok, found, goal.measure.why if ok else hint)


def exercise(name: str, variant: int = 1) -> Exercise:
    """The exercise of that name; others with such goals on other programs are its variants.

    Raises Fail for a name or a variant that there is not.

    >>> lesson.exercise("odd_vector", variant=2).points
    4
    """
    if name not in NAMES:
        raise Fail(f"Can't find the exercise {name!r}", hint=f"there are: {', '.join(NAMES)}")
    variants = import_module(f"workbench.lesson.exercises.{name}").EXERCISES
    if not isinstance(variant, int) or variant not in range(1, len(variants) + 1):
        raise Fail(
            f"Can't find variant {value_text(variant)} of {name!r}: there are {len(variants)}",
            hint=f"ask for 1 to {len(variants)}",
        )
    return _made(variants[variant - 1], name if variant == 1 else f"{name} {variant}")


@cache  # what is found out about its program serves the next check
def _made(make: Callable[[str], Exercise], key: str) -> Exercise:
    return make(key)


def variants(name: str) -> int:
    """How many variants the exercise of that name has."""
    return len(import_module(f"workbench.lesson.exercises.{name}").EXERCISES)


NAMES: Sequence[str] = (
    *("odd_vector", "wide_window", "few_loads", "small_tiles", "searched_tiles", "one_turn"),
    *("own_operator", "one_ahead", "seventh", "warp_tiles", "copies_ahead", "layer_tiles"),
)
