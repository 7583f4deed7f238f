"""What tests of a lesson's labs and schedules leave out of its cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import workbench.lesson


@contextmanager
def without_quizzes() -> Iterator[None]:
    """Quizzes are not asked: to decide them takes half the time of a lesson's cells.

    `tests/lesson/test_quiz.py` holds them, and the run of each whole lesson.
    """
    with pytest.MonkeyPatch.context() as change:
        change.setattr(workbench.lesson, "quiz", lambda name: None)
        yield
