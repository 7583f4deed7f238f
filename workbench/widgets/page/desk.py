"""What the pages of one lab share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.ir import PrimFunc
from workbench.widgets.page import offers
from workbench.widgets.page.costs import MODEL
from workbench.widgets.page.lines import Lines
from workbench.widgets.page.memo import memo
from workbench.widgets.page.names import Keys, Names, names_of, places_of
from workbench.widgets.page.question import Question, Task, Topic, tells


@dataclass
class Desk:
    """What the pages of one lab share: keys, lines, what is offered, the question, the costs.

    `given` is what the forms hold at first, by verb and argument; None: what is possible.
    `answers` are those of the history, `results` what runs came to, by the number of the node;
    `slow` says what of a program has taken long: to count its "costs", to model its "time".
    """

    offered: Sequence[str] | None = None
    given: offers.Given | None = None
    question: Question | None = None
    task: Task | None = None
    costs: Sequence[str] | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    slow: set[str] = field(default_factory=set)
    owner: object = field(default_factory=object)  # of what is remembered for this lab alone
    keys: Keys = field(default_factory=Keys)
    lines: Lines = field(default_factory=Lines)

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
    def open(self) -> bool:
        """Whether a question is asked that has no answer yet."""
        asked = self.question
        return asked is not None and self.answers.get(asked.name) not in asked.choices

    def hides(self, what: Topic, *funcs: PrimFunc | None) -> bool:
        """Whether the open question would be answered by what is told of one of the programs."""
        asked = self.question if self.open else None
        return asked is not None and any(f and tells(asked, f, what) for f in funcs)
