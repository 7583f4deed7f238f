"""What tests of a lesson's labs and schedules leave out of its cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import workbench.lesson


@contextmanager
def without_tables() -> Iterator[None]:
    """Quizzes are not asked, and no costs listed: that takes most of the time of a lesson's cells.

    Their own tests hold them, in `tests/lesson`, and the run of each whole lesson.
    """
    with pytest.MonkeyPatch.context() as change:
        for listed in ("quiz", "compare", "why"):
            change.setattr(workbench.lesson, listed, lambda *_, **__: None)
        yield
