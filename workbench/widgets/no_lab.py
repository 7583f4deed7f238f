"""What stands for labs and views where widgets are not installed, as where notebooks are graded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.ir import IRModule, PrimFunc
from workbench.schedule import Schedule

if TYPE_CHECKING:
    from workbench.tuning import Tried


class NoLab:
    """The cursor of a lab that is not shown."""

    def __init__(self, schedule: Schedule) -> None:
        self.cursor = schedule.fork()

    def to_html(self, _: object, **__: object) -> NoLab:
        """Writes nothing, and says why."""
        return self

    def __repr__(self) -> str:
        return (
            "No lab here: anywidget is not installed (pip install anywidget, and restart the "
            "kernel). Steps as code, checks and kernels do without it."
        )


def lab(schedule: Schedule | PrimFunc | IRModule, **_: object) -> NoLab:
    """What `wb.lab` is where anywidget is not installed: it takes the same and shows a sentence."""
    return NoLab(schedule if isinstance(schedule, Schedule) else Schedule(schedule))


def watch(*_: object) -> None:
    """A search is not seen while it runs."""


def show_search(tried: Tried) -> None:
    """What a search tried, in a line."""
    print(repr(tried))
