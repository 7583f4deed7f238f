"""Where a lesson's schedule starts: the same history again when its cell runs again."""

from __future__ import annotations

from weakref import WeakValueDictionary

from workbench import script
from workbench.ir import PrimFunc
from workbench.schedule import Schedule

_begun: WeakValueDictionary[str, Schedule] = WeakValueDictionary()  # kept by the notebook's names


def begin(program: PrimFunc) -> Schedule:
    """A schedule of `program`, standing at its start, which is marked "start".

    As long as the notebook holds the schedule of an equal program, that one is returned: a cell
    that runs again keeps the steps taken and the marks that later cells go to.

    >>> sch = lesson.begin(add)
    >>> sch.node.mark
    'start'
    """
    text = script.show(program)
    schedule = _begun.get(text)
    if schedule is None:
        schedule = _begun[text] = Schedule(program)
    schedule.goto(schedule.history.root)
    schedule.mark("start")
    return schedule
