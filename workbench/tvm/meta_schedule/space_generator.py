"""Spaces: tvm.meta_schedule.space_generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.schedule import Schedule
from workbench.tuning import Refused
from workbench.tvm.not_carried import refusing

__all__ = ["ScheduleFn"]


class ScheduleFn:
    """The space of a function that takes steps on a schedule, with sampled choices.

    It may return the schedule, or nothing, but no list of several.
    """

    def __init__(self, sch_fn: Callable[[Schedule], Any]) -> None:
        self.sch_fn = sch_fn
        self.__name__ = getattr(sch_fn, "__name__", "space")
        self.__wrapped__ = sch_fn  # whose text a record tells it by

    def __call__(self, sch: Schedule) -> Schedule:
        """Take the steps."""
        made = self.sch_fn(sch)
        if made is not None and not isinstance(made, Schedule):
            raise Refused(
                "The space makes several schedules at once",
                hint="let it return one, and choose between ways by sch.sample_categorical",
            )
        return made or sch


__getattr__ = refusing(__name__)
