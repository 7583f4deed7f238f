"""trials: a space that is searched by hand, in as many trials as the machine gets beside it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cache
from html import escape
from importlib.resources import as_file, files
from pathlib import Path
from random import Random

from workbench import script, tuning
from workbench import target as targets
from workbench.diag import count_text
from workbench.draw import table_html, time_text
from workbench.draw.pictures import GPU
from workbench.insight import Table
from workbench.ir import PrimFunc
from workbench.ir.equal import structural_hash
from workbench.lesson.record import WORK
from workbench.runtime.devices import device
from workbench.schedule import Schedule
from workbench.tuning import Choice, Ended, Measurer, Space, Trial
from workbench.tuning.decided import choices_of
from workbench.verbs.choices import CategoricalDomain, Decision
from workbench.version import __version__

TRIALS = 20


def recorded(name: str) -> Measurer | None:
    """Who measures the space of a lesson without a GPU: the record of all of it; None with one.

    `name` is the lesson's notebook. What is not in the record has no time, and says so.

    >>> lesson.recorded("05_let_the_machine_search").device
    'NVIDIA H100 80GB HBM3, recorded'
    """
    return None if device().is_gpu else tuning.Replayed(lines_of(name))


@cache
def lines_of(name: str) -> tuning.Lines:
    """The record of a lesson's space, all of it."""
    with as_file(files("workbench.lesson") / "records" / f"{name}.jsonl") as path:
        return tuning.read(path)


class Trials:
    """Trials that are spent by hand: `spend` numbers on a space, a trial for each that is new.

    What a rule refuses costs none. What was tried is kept in my-work, beside the notebook.
    """

    def __init__(self, name: str, program: PrimFunc, space: Space, of: int, by: Measurer) -> None:
        self.name, self.program, self.space, self.of, self.by = name, program, space, of, by
        self.target = targets.get(GPU)
        self.refused: list[tuple[tuple[object, ...], str]] = []
        first = tuning.candidate(program, space, self.target, (), Random(0))
        self.choices = choices_of(space, first)
        self.file = Path.cwd() / WORK / f"{name}_by_hand.jsonl"
        self.ended: list[Ended] = tuning.read(self.file).ended if self.file.is_file() else []

    @property
    def best(self) -> Ended | None:
        """The fastest so far."""
        correct = [one for one in self.ended if one.outcome.status == "correct"]
        return min(correct, key=lambda one: one.seconds, default=None)

    def spend(self, *many: Sequence[object]) -> Trials:
        """Try each of `many`, numbers in the order of the choices; shown, it is all that was tried.

        What cannot be tried is refused with the reason, and the others are tried.
        """
        for one in many:
            self._try(tuple(one) if isinstance(one, list | tuple) else (one,))
        return self

    def _try(self, numbers: tuple[object, ...]) -> None:
        wrong = self._wrong(numbers)
        if wrong:
            self.refused.append((numbers, wrong))
            return
        decisions = tuple(map(_decision, self.choices, numbers))
        if any(one.trial.decisions == decisions for one in self.ended):
            return
        if len(self.ended) >= self.of:
            self.refused.append((numbers, f"all {self.of} trials are spent"))
            return
        made = tuning.candidate(self.program, self.space, self.target, decisions, Random(0))
        if made.kernel is None:
            self.refused.append((numbers, made.reason))
            return
        program = structural_hash(made.schedule.func)
        trial = Trial(len(self.ended), len(self.ended), 1, (), made.decisions, program)
        one = Ended(trial, self.by.submit(made))
        self.file.parent.mkdir(exist_ok=True)
        with closing(tuning.Record(self.file, self._header)) as kept:
            kept.append([trial, one])
        self.ended.append(one)

    def _wrong(self, numbers: tuple[object, ...]) -> str:
        """Why `numbers` are none of the space's; "" where they are."""
        if len(numbers) != len(self.choices):
            return f"the space has {count_text(len(self.choices), 'choice')}, a number for each"
        pairs = zip(self.choices, numbers, strict=True)
        found = ((choice.name, _wrong(choice, number)) for choice, number in pairs)
        return next((f"{name}: {why}" for name, why in found if why), "")

    @property
    def _header(self) -> tuning.Header:
        text, of = script.show(self.program), self.by.device
        return tuning.Header(
            text, "by hand", self.target.name, of, "", "", __version__, "by hand", 0, 1
        )

    # --- what is shown ---------------------------------------------------------------------------

    def _numbers(self, one: Ended) -> str:
        pairs = zip(self.choices, one.trial.decisions, strict=True)
        return str(tuple(_number(choice, decision) for choice, decision in pairs))

    @property
    def table(self) -> Table:
        """A row for each trial, and one for each refusal."""
        rows: list[tuple[str | int | float, ...]] = []
        least = float("inf")
        for one in self.ended:
            least = min(least, one.seconds)
            best = "" if least == float("inf") else time_text(least)
            rows.append((one.trial.number, self._numbers(one), time_of(one), best))
        rows += [("–", str(numbers), f"refused: {why}", "") for numbers, why in self.refused]
        return Table(("trial", "numbers", "time", "best so far"), tuple(rows))

    @property
    def caption(self) -> str:
        """How many are spent, and what came of it."""
        spent = f"{len(self.ended)} of {self.of} trials spent"
        best = f"; best {time_text(self.best.seconds)}" if self.best else ""
        told = f"{spent}{best} ({self.by.device})."
        if len(self.ended) < self.of:
            return told
        again = f"to begin again, delete {WORK}/{self.file.name}"
        return f"{told} Compare them with the machine's; {again}."

    def __repr__(self) -> str:
        rows = ("  ".join(map(str, row)).rstrip() for row in self.table.rows)
        return "\n".join([self.caption, *rows])

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.caption)}</p>{table_html(self.table)}"


def trials(name: str, program: PrimFunc | Schedule, space: Space, of: int = TRIALS) -> Trials:
    """Trials by hand for the lesson `name`: of its `space` for its `program`.

    They are measured on a GPU, and without one recorded; the search beside them takes the same
    `measurer=lesson.recorded(name)`.

    >>> lesson.trials("12_auto_scheduling", add, lambda sch: None)
    0 of 20 trials spent (NVIDIA H100 80GB HBM3, recorded).
    """
    func = program.func if isinstance(program, Schedule) else program
    by = recorded(name) or tuning.Local(func, device(), "GPU")
    return Trials(name, func, space, of, by)


def time_of(one: Ended) -> str:
    """The time of a trial, and of what kind it is; what went wrong where there is none."""
    outcome = one.outcome
    if outcome.status != "correct":
        return outcome.reason or outcome.status
    return f"{time_text(one.seconds)}, {outcome.how}"


def _wrong(choice: Choice, number: object) -> str:
    """Why a choice has no such number; "" where it has."""
    domain = choice.domain
    assert domain is not None
    if isinstance(domain, CategoricalDomain):
        given = ", ".join(map(str, domain.candidates))
        return "" if number in domain.candidates else f"{number!r} is none of {given}"
    return domain.wrong(tuple(number) if isinstance(number, list) else number)


def _decision(choice: Choice, number: object) -> Decision:
    """What is decided where `number` is chosen, which is not wrong."""
    if isinstance(choice.domain, CategoricalDomain):
        return list(choice.domain.candidates).index(number)  # type: ignore[arg-type]
    return tuple(number) if isinstance(number, list) else number  # type: ignore[return-value]


def _number(choice: Choice, decision: Decision) -> object:
    """What stands for a decision: the number itself, or the factors."""
    if isinstance(choice.domain, CategoricalDomain):
        assert isinstance(decision, int)
        return choice.domain.candidates[decision]
    return decision
