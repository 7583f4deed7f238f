"""Lessons: predictions that the program itself decides, exercises checked on result and goal."""

from workbench.lesson.begin import begin
from workbench.lesson.checking import check_result
from workbench.lesson.exercise import Exercise, Goal, Report, exercise
from workbench.lesson.predict import how_many_loads, loads_of, who_computes

__all__ = [
    "Exercise",
    "Goal",
    "Report",
    "begin",
    "check_result",
    "exercise",
    "how_many_loads",
    "loads_of",
    "who_computes",
]
