"""How a schedule refuses, and how a build scolds."""

from __future__ import annotations

from workbench.diag import Fail


class ScheduleError(Fail, RuntimeError):
    """A step that a schedule does not take: impossible, or not keeping the program's meaning."""


class UnknownVerb(ScheduleError, AttributeError):
    """A name that a schedule does not have: an attribute is not there, so `hasattr` is false."""


class ScheduleWarning(UserWarning):
    """A program that is right but wastes time or memory; raised by `build` only."""
