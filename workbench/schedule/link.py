"""Opening a link: its steps are checked and taken again, nothing in it is run."""

from __future__ import annotations

from workbench.diag import Fail
from workbench.history.link import read_link, refused
from workbench.schedule.load import from_data
from workbench.schedule.schedule import Schedule


def open(url: str) -> Schedule:
    """The schedule that `lab.link()` made `url` of, standing where the lab stood.

    It has the steps that lead there, with their names; a whole link does, or what begins with its
    ``#``. Reading it runs no code from it: it holds a program's text, which is parsed, and at most
    500 steps, each checked before it is taken, in at most 256 KiB. Raises ScheduleError where
    it is no link of this version, part of it is missing, or its program or a step is refused.

    >>> wb.open(wb.lab(sch).link())
    <Schedule of add at step 0: start>
    """
    data = read_link(url)
    try:
        return from_data(data)
    except Fail as error:
        raise refused(error) from None
