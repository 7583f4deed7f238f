"""choosing: kernels of one program of which one is right, and the others broken on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import Any

from workbench.diag import Fail
from workbench.history.step import value_text
from workbench.ir import PrimFunc
from workbench.lesson.checking import check_kernels, race_of
from workbench.lesson.exercise import WIDTH
from workbench.lesson.mending import Broken, Listing, numbered
from workbench.lesson.programs import window
from workbench.lesson.report import Report, Row
from workbench.lower import Fault
from workbench.runtime.building import break_it, build
from workbench.runtime.built import Built
from workbench.schedule import Schedule


@dataclass(frozen=True)
class Choosing:
    """Which of these kernels is right? Nothing is graded. Printed, it is its task.

    Of `faults`, of kernels by name, that of the right one is None.

    >>> print(lesson.four_kernels().task.partition(":")[0])
    One of these four kernels is right
    """

    task: str
    program: PrimFunc
    faults: Mapping[str, Fault | None]

    def __str__(self) -> str:
        return fill(self.task, WIDTH)

    @cached_property
    def _whole(self) -> Built:
        return build(self.program)

    def kernel(self, name: str) -> Built:
        """The kernel of that name. Raises Fail for a name that there is not."""
        if name not in tuple(self.faults):
            names = ", ".join(self.faults)
            raise Fail(f"Can't find the kernel {value_text(name)}", hint=f"there are: {names}")
        fault = self.faults[name]
        return break_it(self._whole, fault) if fault else self._whole

    def show(self) -> Listing:
        """All of them, each line with its number."""
        return Listing(
            "\n\n".join(f"{name}\n{numbered(self.kernel(name))}" for name in self.faults)
        )

    def repair(self, name: str) -> Any:
        """What is wrong with the kernel of that name, as `Mending.repair` shows it.

        Raises Fail for the right one. Where widgets are not installed, what `check` says of it.
        """
        self.kernel(name)  # or there is none of that name
        fault = self.faults[name]
        if fault is None:
            raise Fail(f"Can't mend {name}: nothing is wrong with it", hint="name another one")
        shown = Broken(self.program, _as_it_is, fault).view(name)
        return self.check(name) if shown is None else shown

    def check(self, name: object) -> Report:
        """Whether the kernel of that name is the right one, and what is wrong with another.

        Raises nothing: what is no name stands in the report.
        """
        goal = "name the kernel that is right"
        if not isinstance(name, str) or name not in self.faults:
            found = "no answer yet" if name == "" else f"there is no {value_text(name)}"
            return Report("four kernels", (Row(goal, False, found, self._names),))
        built = self.kernel(name)
        try:
            wrong = check_kernels(built, self.program).partition("\n")[0]
        except Fail as fail:
            wrong = fail.headline
        if not wrong:
            return Report("four kernels", (Row(goal, True, "every cell agrees"),))
        return Report("four kernels", (Row(goal, False, wrong, self._race(built)),))

    @property
    def _names(self) -> str:
        return f"Write one of {', '.join(map(value_text, self.faults))}."

    def _race(self, built: Built) -> str:
        try:
            return str(race_of(built, self.program) or "")
        except Fail:  # nothing of which two threads race
            return ""


def _as_it_is(program: PrimFunc) -> PrimFunc:
    return program


def four_kernels() -> Choosing:
    """Four kernels of a window sum that threads fetch together, of which one is right.

    >>> lesson.four_kernels().check("third").rows[0].ok
    False
    """
    sch = Schedule(window(1024, 3))
    outer, inner = sch.split("i", factors=[None, 128])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    copy = sch.cache_read("B", 0, "shared")
    sch.compute_at(copy, inner)
    _, lane = sch.split(sch.get_loops(copy)[-1], factors=[None, 128])
    sch.bind(lane, "threadIdx.x")
    return Choosing(
        task="One of these four kernels is right: the window sum of lesson 2, fetched together. In "
        "each of the others one thing is wrong. Which one would you let run?",
        program=sch.func,
        faults={
            "first": Fault("stride", 2),
            "second": None,
            "third": Fault("barrier"),
            "fourth": Fault("guard"),
        },
    )
