"""What the pages of one lab share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from workbench import draw
from workbench.history.history import HistoryNode
from workbench.ir import PrimFunc
from workbench.widgets.page import offers
from workbench.widgets.page.costs import MODEL
from workbench.widgets.page.guess import STEP, Guess, is_weighed, step_guess, step_name, weighed
from workbench.widgets.page.lines import Lines
from workbench.widgets.page.memo import at_inputs, memo
from workbench.widgets.page.names import Keys, Names, names_of, places_of
from workbench.widgets.page.question import Question, Task, Topic

F = TypeVar("F", PrimFunc, PrimFunc | None)


class Dragged(NamedTuple):
    """A number that was dragged at `start`: what changed, in words."""

    start: HistoryNode
    told: str


@dataclass
class Desk:
    """What the pages of one lab share: keys, lines, what is offered, the question, the costs.

    `gpu` is the target whose times, multiprocessors and roofs are shown. `given` is what the forms
    hold at first, by verb and argument; None: what is possible. `answers` are those of the history,
    `results` what runs came to, by the number of the node; `slow` says what of a program has taken
    long: to count its "costs", to model its "time"; `steps` are the guesses that steps ask for, by
    the number of the node. `widest` are the µs that are as wide as a band of the memory picture
    gets: the longest of the first program seen so. `inputs` are what programs run on, by name:
    they tell the sizes of a program for any size.
    """

    offered: Sequence[str] | None = None
    given: offers.Given | None = None
    question: Question | None = None
    task: Task | None = None
    costs: Sequence[str] | None = None
    gpu: str = draw.GPU
    answers: Mapping[str, str] = field(default_factory=dict)
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    slow: set[str] = field(default_factory=set)
    steps: dict[int, Guess] = field(default_factory=dict)
    widest: float = 0.0
    dragged: dict[int, Dragged] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    owner: object = field(default_factory=object)  # of what is remembered for this lab alone
    keys: Keys = field(default_factory=Keys)
    lines: Lines = field(default_factory=Lines)

    def at(self, func: F) -> F:
        """What is counted, modelled and drawn for a program: itself, with the sizes of inputs."""
        return func and at_inputs(func, self.inputs)

    def before(self, node: HistoryNode) -> PrimFunc | None:
        """The program that `node` is shown beside: ahead of its step, or of what was dragged."""
        drag = self.dragged.get(node.id)
        return node.before if drag is None else drag.start.mod[node.func_name]

    def names(self, func: PrimFunc) -> Names:
        """What can be marked in the panes of `func`; its keys do not depend on the order."""
        return memo(func, ("names", self.owner), lambda: names_of(func, self.keys))

    def places(self, func: PrimFunc) -> Mapping[str, str]:
        """The loops and blocks of `func` at which a step can be taken, with their labels."""
        return memo(
            func, ("places", self.owner), lambda: places_of(func, self.keys, self.names(func))
        )

    @property
    def counted(self) -> Sequence[str] | None:
        """Those of the costs that are counts; None: those that matter most."""
        return None if self.costs is None else [name for name in self.costs if name != MODEL]

    @property
    def timed(self) -> bool:
        """Whether the lab shows modelled times."""
        return self.costs is None or MODEL in self.costs

    @property
    def open(self) -> bool:
        """Whether a question is asked that has no answer yet."""
        return self.question is not None and self._is_open(self.question)

    def _is_open(self, asked: Question) -> bool:
        return not asked.takes(self.answers.get(asked.name))

    def _all_open(self) -> Iterator[Question]:
        if self.question is not None and self.open:
            yield self.question
        yield from filter(self._is_open, self.steps.values())

    def hides(self, what: Topic, *funcs: PrimFunc | None) -> bool:
        """Whether an open question would be answered by what is told of one of the programs."""
        return any(asked.tells(f, what) for asked in self._all_open() for f in funcs if f)

    def waiting(self, *funcs: PrimFunc | None) -> list[str]:
        """The open questions of which something is hidden on a page of the programs."""
        steps = (g for g in self.steps.values() if any(f and g.tells(f, "time") for f in funcs))
        open_steps = [guess.name for guess in steps if self._is_open(guess)]
        return [*([self.question.name] if self.question and self.open else []), *open_steps]

    def ask(self, node: HistoryNode) -> None:
        """Ask for a guess of the step of `node`, where the time before it is known and seen."""
        before = node.before
        if not self.timed or before is None or self.hides("time", before, node.func):
            return
        if is_weighed(before, MODEL, self.gpu) and weighed(before, MODEL, self.gpu) is not None:
            self.steps.setdefault(node.id, step_guess(node, self.gpu))

    def unask(self) -> None:
        """Ask for no guess of a step that has none yet."""
        self.steps = {k: asked for k, asked in self.steps.items() if not self._is_open(asked)}

    def guess(self, node: HistoryNode) -> Guess | None:
        """The guess that the page of `node` shows: the lab's, else its step's; None without one."""
        if isinstance(self.question, Guess):
            return self.question
        of_steps = any(name.startswith(STEP) for name in self.answers)
        known = node.id in self.steps or node.parent is None or not of_steps
        if not known and step_name(node) in self.answers:
            self.steps[node.id] = step_guess(node, self.gpu)  # it was given in an earlier session
        return self.steps.get(node.id)

    def guess_named(self, name: str) -> Guess | None:
        """The guess of that name among the lab's and those of its steps."""
        every = [self.question, *self.steps.values()]
        return next((g for g in every if isinstance(g, Guess) and g.name == name), None)
