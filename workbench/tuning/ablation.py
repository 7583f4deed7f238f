"""Which decision mattered: the best candidate again, with one decision at a time put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.tuning.decided import Choice
from workbench.tuning.space import Candidate, Decisions
from workbench.tuning.trial import Outcome


@dataclass(frozen=True, slots=True)
class Without:
    """The best candidate without one of its decisions: another of `choice` in its place.

    `outcome` is how it ended in this run, and `ratio` how many times as long as the best it took,
    measured in the same run; None where one of the two was not correct.
    """

    choice: str
    decision: str
    instead: str
    outcome: Outcome
    ratio: float | None


@dataclass(frozen=True, slots=True)
class Ablation:
    """What the decisions of trial `best` are worth, beside those of trial `other`, one by one.

    `same` are the choices in which both decided the same, each with what that is.
    """

    best: int
    other: int
    again: Outcome  # the best's, in this run
    parts: tuple[Without, ...]
    same: tuple[tuple[str, str], ...] = ()


def without_each(
    best: Decisions,
    other: Decisions,
    choices: Sequence[Choice],
    build: Callable[[Decisions], Candidate],
    submit: Callable[[Candidate], Outcome],
) -> tuple[Outcome, tuple[Without, ...]]:
    """The best's outcome once more, and that without each decision that `other` has not, too.

    Each time one decision is that of `other`, and all others stay. Where the space repairs what it
    is given, since choices depend on each other, the outcome says that the decisions do not go
    together: it would tell of another candidate.
    """
    made = build(best)
    again = submit(made)
    parts = []
    for k, choice in enumerate(choices):
        if best[k] == other[k]:
            continue
        given = (*best[:k], other[k], *best[k + 1 :])
        one = build(given)
        if one.kernel is not None and one.decisions != given:
            why = "it does not go together with the other decisions"
            outcome = Outcome("constraints", again.how, (), why)
        else:
            outcome = submit(one)
        both = outcome.status == again.status == "correct"
        ratio = outcome.seconds / again.seconds if both else None
        said = (choice.name, choice.said(best[k]), choice.said(other[k]))
        parts.append(Without(*said, outcome, ratio))
    return again, tuple(parts)
