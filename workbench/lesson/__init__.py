"""Lessons: predictions that the program itself decides, exercises checked on result and goal."""

from workbench.lesson.banks import Banks, banks
from workbench.lesson.begin import begin
from workbench.lesson.checking import check_result
from workbench.lesson.choosing import Choosing, four_kernels
from workbench.lesson.compare import Comparison, compare
from workbench.lesson.exercise import Exercise, Goal, exercise
from workbench.lesson.expect import Drawn, Expected, beside, expect, which_mattered
from workbench.lesson.fragments import Held, fragments
from workbench.lesson.goals import traffic
from workbench.lesson.half_products import by_calls, in_tiles
from workbench.lesson.machine import gpu
from workbench.lesson.mending import Mending, mending
from workbench.lesson.naive import naive
from workbench.lesson.predict import how_many_loads, how_often_used, loads_of, who_computes
from workbench.lesson.products import in_registers, in_shared
from workbench.lesson.questions import question
from workbench.lesson.quiz import Quiz, quiz
from workbench.lesson.report import Report
from workbench.lesson.review import Progress, Review, progress, review
from workbench.lesson.spaces import layer, tile_layer
from workbench.lesson.trials import Trials, recorded, trials
from workbench.lesson.why import Losses, why

__all__ = [
    "Banks",
    "Choosing",
    "Comparison",
    "Drawn",
    "Exercise",
    "Expected",
    "Goal",
    "Held",
    "Losses",
    "Mending",
    "Progress",
    "Quiz",
    "Report",
    "Review",
    "Trials",
    "banks",
    "begin",
    "beside",
    "by_calls",
    "check_result",
    "compare",
    "exercise",
    "expect",
    "four_kernels",
    "fragments",
    "gpu",
    "how_many_loads",
    "how_often_used",
    "in_registers",
    "in_shared",
    "in_tiles",
    "layer",
    "loads_of",
    "mending",
    "naive",
    "progress",
    "question",
    "quiz",
    "recorded",
    "review",
    "tile_layer",
    "traffic",
    "trials",
    "which_mattered",
    "who_computes",
    "why",
]
