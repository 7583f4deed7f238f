"""How a schedule refuses, and how a build scolds."""

from __future__ import annotations

from workbench.diag import Fail


class ScheduleError(Fail, RuntimeError):
    """A step that a schedule does not take: impossible, or not keeping the program's meaning.

    >>> try:
    ...     sch.split("i", factors=[2, 3])
    ... except wb.ScheduleError as error:
    ...     print(error.headline)
    ...     print(error.hint)
    Can't split `i`: [2, 3] covers 6 of 8 iterations.
    write None for the factor that should be worked out
    """

    at: tuple[object, ...] = ()
    """The loops, blocks and other parts of the program that are marked in it."""


class NotThere(ScheduleError):
    """A step of a trace that works on what the program does not have: its `kind` and `name`."""

    kind: str = ""
    name: str = ""


class UnknownVerb(ScheduleError, AttributeError):
    """A name that a schedule does not have: an attribute is not there, so `hasattr` is false."""


class ScheduleWarning(UserWarning):
    """A program that is right but wastes time or memory; raised by `build` only.

    >>> import warnings
    >>> i_0, i_1 = sch.split("i", [2, 4])
    >>> sch.bind(i_0, "blockIdx.x")
    >>> sch.bind(i_1, "threadIdx.x")
    >>> copy = sch.cache_read("B", 0, "shared")
    >>> sch.compute_at(copy, i_1)  # each thread fetches what all of them read
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     _ = wb.build(sch)
    >>> print(str(said[0].message).splitlines()[0])
    4 threads each load the same 4 elements into A_shared.
    """
