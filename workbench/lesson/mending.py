"""mending: kernels that are broken on purpose; what the emulator finds leads to what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from importlib import import_module
from textwrap import fill
from typing import Any

from workbench import script
from workbench.diag import Fail, Refusal, count_text
from workbench.draw import orders_picture, plain
from workbench.emulate import EmulationError
from workbench.emulate.kernels.report import Met
from workbench.history.step import value_text
from workbench.ir import Barrier, PrimFunc, Stmt, WaitGroup, walk_statements
from workbench.lesson import record
from workbench.lesson.checking import check_kernels, race_of
from workbench.lesson.exercise import WIDTH, Hint
from workbench.lesson.report import Report, Row
from workbench.lesson.solutions import mends, refuse_hidden
from workbench.lower import Fault, gaps, missing, put_ahead, waits
from workbench.runtime.building import break_it, build, with_kernels
from workbench.runtime.built import Built

WAYS = (
    '("barrier", line), ("wait", line, groups), both ahead of that line, or ("copies", name, count)'
)


@dataclass(frozen=True)
class Broken:
    """A kernel of what `schedule` makes of `start`, with one thing taken away."""

    start: PrimFunc
    schedule: Callable[[PrimFunc], PrimFunc]
    fault: Fault
    target: str = "cuda"
    _put: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @cached_property
    def whole(self) -> Built:
        """The kernel as it was."""
        return build(self.schedule(self.start), self.target)

    @cached_property
    def kernel(self) -> Built:
        """The kernel that is given."""
        return break_it(self.whole, self.fault)

    @cached_property
    def missing(self) -> Stmt | None:
        """The barrier or wait that was taken away; None where it was something else."""
        return missing(self.whole.lowered, self.fault)

    @cached_property
    def puts(self) -> Mapping[str, Stmt]:
        """What can be put into a gap, by its text: a barrier; where copies are waited for, a wait,
        too, that leaves as many under way as any of the kernel, or fewer."""
        if self.missing is None:
            return {}
        body = self.whole.kernels[0].body
        left = [one.count for one in walk_statements(body) if isinstance(one, WaitGroup)]
        found = [Barrier(), *(WaitGroup(count) for count in range(max(left, default=-1) + 1))]
        return {script.show(one).strip(): one for one in found}

    def seen(self, line: int | None, put: str) -> dict[str, Any]:
        """What is seen with one of `puts` ahead of a line of the kernel, or as it is."""
        made = self.kernel if line is None else self._with(self.puts[put], line)
        fail: EmulationError | None = None
        try:
            wrong = check_kernels(made, self.start)
        except EmulationError as error:
            wrong, fail = error.headline, error
        said = "" if wrong else self._right(made, line, self.puts.get(put))
        both = race_of(made, self.start) if fail and isinstance(fail.refusal, Met) else None

        def shown(at: int) -> int:
            """A line of what was run, as one of the kernel that is shown, which has no mend."""
            return at - (line is not None and at > line)

        spans = script.show_spans(made.kernels[0]).spans
        places = fail.refusal.at if fail and fail.refusal else ()
        lit = [shown(spans[place].line) for place in places if place in spans]
        if both is not None:
            first, second = (replace(act, line=shown(act.line)) for act in both.acts)
            both = replace(both, acts=(first, second))
        return {
            "ok": not wrong,
            "said": wrong or said,
            "detail": fail.detail if fail else "",
            "lit": lit,
            "picture": plain(orders_picture(both)) if both is not None else None,
        }

    def view(self, name: str) -> Any:
        """The kernel with its gaps, under a name, mended as it was when it was shown last; None
        where widgets are not installed."""
        try:
            view = import_module("workbench.widgets.small.repair")  # loads anywidget: heavy
        except ModuleNotFoundError as absent:
            if absent.name not in ("anywidget", "traitlets"):
                raise
            return None
        wrong = self.kernel.lowered.fault
        told = wrong if len(self.puts) < 2 else "a barrier or a wait for copies is missing"

        def look(line: int | None, put: str) -> dict[str, Any]:
            self._put.update(choice=line, put=put)
            return self.seen(line, put)

        return view.RepairView(
            f"{name}: broken on purpose, {told}",
            script.show(self.kernel.kernels[0]).splitlines(),
            gaps(self.kernel.lowered) if self.puts else (),
            tuple(self.puts),
            look,
            **self._put,
        )

    def _right(self, made: Built, line: int | None, put: Stmt | None) -> str:
        """What is said of a kernel that was mended and is right."""
        often, least = (waits(one.kernels[0].body) for one in (made, self.whole))
        said = f"Right, with {count_text(often, 'wait')} a block"
        if often != least:
            return f"{said}: {least} would do."
        beyond = isinstance(put, WaitGroup) and self.beyond(("wait", line, put.count))
        return f"{said}, but {beyond}." if beyond else f"{said}."

    def beyond(self, mend: object) -> str:
        """What is said of a mend, right, that waits for more copies than it has to: where as many
        are left under way as by what is missing, the kernel is right as well. "" of any other.
        """
        match mend, self.missing:
            case ["wait", int(line), int(groups)], WaitGroup(count) if groups < count:
                if not _wrong(self, self._with(WaitGroup(count), line)):
                    return f"it leaves {groups} under way where {count_text(count, 'group')} may be"
        return ""

    def mended(self, mend: object) -> Built:
        """The kernel with what `mend` says put in. Raises Fail for what is no mend of it."""
        match mend:
            case ["barrier", int(line)]:
                return self._with(Barrier(), line)
            case ["wait", int(line), int(groups)] if groups >= 0:
                return self._with(WaitGroup(groups), line)
            case ["copies", str(name), int(count)]:
                return self._with_copies(name, count)
        raise Fail(f"Can't mend a kernel with {value_text(mend)}", hint=f"write one of {WAYS}")

    def _with(self, new: Stmt, line: int) -> Built:
        try:
            return with_kernels(self.kernel, put_ahead(self.kernel.lowered, line, new))
        except Refusal as refusal:
            raise Fail(refusal.headline, hint=refusal.hint) from None

    def _with_copies(self, name: str, count: int) -> Built:
        if self.fault.kind == "copy" and name == self.fault.buffer and count == 2:
            return self.whole
        raise Fail(
            f"Can't mend it with {count} copies of {name}",
            hint="name a buffer of which it has too few, and the least number that does",
        )


class Listing(str):
    """Lines whose columns count: a notebook scrolls them, for broken ones have carets below others.

    >>> Listing("1 < 2")
    1 < 2
    """

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x: auto"><pre style="{_COLUMNS}">{escape(self)}</pre></div>'


def numbered(built: Built) -> str:
    """The text of the only kernel, each line with its number."""
    (kernel,) = built.kernels
    lines = enumerate(script.show(kernel).splitlines(), 1)
    return "\n".join(f"{number:>4} | {line}" for number, line in lines)


_COLUMNS = "font-family: monospace; white-space: pre; width: max-content"


@dataclass(frozen=True)
class Mending:
    """An exercise on broken kernels, by name. Printed, it is its task and what to write.

    >>> print(lesson.mending("three_kernels").task.partition(":")[0])
    Each of these kernels had one thing taken away
    """

    key: str
    lesson: str
    task: str
    kernels: Mapping[str, Broken]
    hints: tuple[str, ...]

    @property
    def points(self) -> int:
        """The most that `check` gives: one for each kernel."""
        return len(self.kernels)

    def __str__(self) -> str:
        aims = [f"  · {self._aim(name)}" for name in self.kernels]
        return "\n".join([fill(self.task, WIDTH), "", "Goals, a point each:", *aims])

    def _aim(self, name: str) -> str:
        return f"{name}: right, and no thread waits more often, or for more copies, than before"

    def kernel(self, name: str) -> Built:
        """The broken kernel of that name. Raises Fail for a name that there is not."""
        return self._named(name).kernel

    def _named(self, name: str) -> Broken:
        if name not in tuple(self.kernels):
            names = ", ".join(self.kernels)
            raise Fail(f"Can't find the kernel {name!r}", hint=f"there are: {names}")
        return self.kernels[name]

    def show(self, name: str) -> Listing:
        """The kernel of that name, each line with its number."""
        return Listing(numbered(self.kernel(name)))

    def finding(self, name: str, mend: object = None) -> str:
        """What the emulator says of a kernel, as it is or with a `mend`; "" where all is right."""
        asked = self._named(name)
        return _wrong(asked, asked.kernel if mend is None else asked.mended(mend))

    def findings(self) -> Listing:
        """What the emulator says of each kernel, as it is, below its name."""
        return Listing("\n\n".join(f"{name}\n{self.finding(name)}" for name in self.kernels))

    def orders(self, name: str, mend: object = None) -> Listing:
        """A race of that kernel in both orders of its threads, with what each leads to.

        "" where no two threads of a block race, or where only a copy does, which arrives whenever
        it does.
        """
        asked = self._named(name)
        made = asked.kernel if mend is None else asked.mended(mend)
        try:
            found = race_of(made, asked.start)
        except Fail:
            found = None
        return Listing(found or "")

    def repair(self, name: str) -> Any:
        """The kernel of that name with a choice of all places where what is missing can be put.

        Each choice runs it again, and shows a race in both orders, the lines of both threads lit.
        A second copy goes nowhere between lines: of that, what is found is shown. Where widgets are
        not installed, what `orders` tells.
        """
        shown = self._named(name).view(name)
        return self.orders(name) if shown is None else shown

    def check(self, given: object) -> Report:
        """How far `given`, a dictionary with a mend for each kernel by its name, gets.

        Each is put in, and the kernel emulated. As `Exercise.check`: a number for a grader, and the
        most points are kept. Raises nothing: what is wrong stands in the report.
        """
        found = given if isinstance(given, Mapping) else {}
        rows = tuple(self._row(name, found.get(name)) for name in self.kernels)
        notes = [
            f"There is no kernel {value_text(one)}." for one in found if one not in self.kernels
        ]
        if found is not given:
            notes.append(f"Give a dictionary of mends, not {type(given).__name__}.")
        report = Report(self.key.replace("_", " "), rows, notes=tuple(notes))
        told = record.keep_points(self.lesson, self.key, int(report), self.points)
        return replace(report, notes=(*report.notes, told)) if told else report

    def _row(self, name: str, mend: object) -> Row:
        aim, asked = self._aim(name), self.kernels[name]
        if mend is None:
            return Row(aim, False, "no mend yet", f"Write one of {WAYS}.")
        try:
            made = asked.mended(mend)
            if wrong := _wrong(asked, made).partition("\n")[0]:
                return Row(aim, False, wrong, "Read what the emulator finds, and where.")
        except Fail as fail:
            return Row(aim, False, fail.headline, fail.hint)
        except Exception as error:  # a fault of ours: the grader still gets its number
            return Row(aim, False, f"The check failed: {type(error).__name__}: {error}")
        often, least = (waits(one.kernels[0].body) for one in (made, asked.whole))
        if often > least:
            say = f"{count_text(least, 'wait')} would do. Is that the one thing that is missing?"
            return Row(aim, False, f"right, with {count_text(often, 'wait')} a block", say)
        if beyond := asked.beyond(mend):
            return Row(aim, False, f"right, but {beyond}", UNDONE)
        found = f"every cell agrees, with {count_text(often, 'wait')} a block"
        return Row(aim, True, found, CAUSES[asked.fault.kind])

    def hint(self, number: int = 1) -> Hint:
        """The hint with that number; each says more than the one before. Raises Fail for others."""
        if not isinstance(number, int) or number not in range(1, len(self.hints) + 1):
            last = len(self.hints)
            raise Fail(f"Can't give hint {value_text(number)}", hint=f"ask for 1 to {last}")
        return Hint(fill(self.hints[number - 1], WIDTH))

    @property
    def solution(self) -> Mapping[str, tuple[Any, ...]]:
        """One answer. Raises Fail where the solutions are not here."""
        return mends(self.key)

    def show_solution(self) -> str:
        """One answer, as Python. Raises Fail where it may not be shown, or is not here."""
        refuse_hidden()
        lines = (f"    {name!r}: {mend!r}," for name, mend in self.solution.items())
        return "\n".join(["mends = {", *lines, "}"])


UNDONE = "A thread that waits for every copy waits for the tile that was to be on its way."
CAUSES = {
    "barrier": "A barrier orders what threads write and what others read behind it.",
    "wait": "Until its thread has waited for it, a copy may arrive at any time.",
    "copy": "With a copy for this tile and one for the next, nobody overwrites what another reads.",
}


def _wrong(asked: Broken, built: Built) -> str:
    """What is wrong with a kernel, all that is told of it; "" where it is right."""
    try:
        return check_kernels(built, asked.start)
    except Fail as fail:
        return str(fail)


NAMES: Sequence[str] = ("three_kernels", "two_kernels")


def mending(name: str, variant: int = 1) -> Mending:
    """The exercise on broken kernels of that name; its variants, for another try, have others.

    Raises Fail for a name or a variant that there is not.

    >>> broken = lesson.mending("three_kernels")
    >>> broken.finding("first").partition(":")[0]
    'Race on A_shared[0]'
    """
    if name not in NAMES:
        raise Fail(f"Can't find the exercise {name!r}", hint=f"there are: {', '.join(NAMES)}")
    made: Sequence[Mending] = import_module(f"workbench.lesson.exercises.{name}").MENDINGS
    if not isinstance(variant, int) or variant not in range(1, len(made) + 1):
        raise Fail(
            f"Can't find variant {value_text(variant)} of {name!r}: there are {len(made)}",
            hint=f"ask for 1 to {len(made)}",
        )
    return made[variant - 1]


def variants(name: str) -> int:
    """How many variants the exercise on broken kernels of that name has."""
    return len(import_module(f"workbench.lesson.exercises.{name}").MENDINGS)
