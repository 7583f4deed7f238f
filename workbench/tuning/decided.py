"""What was decided, in words: the choices of a space by their names, and decisions as one reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.diag import Fail
from workbench.history.step import Ref
from workbench.tuning.space import Candidate, Decisions, Space
from workbench.verbs.choices import CategoricalDomain, Decision, Domain, LocationDomain
from workbench.verbs.primitive import REGISTRY


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of a space: its `name`, and what may be decided, where that is known."""

    name: str
    domain: Domain | None = None

    def said(self, decision: Decision) -> str:
        """A decision as one reads it: 64 × 1 × 2 × 2, 512, inlined.

        >>> tuning.Choice("i").said((64, 2))
        '64 × 2'
        """
        if isinstance(decision, tuple):
            return " × ".join(map(str, decision))
        if isinstance(self.domain, CategoricalDomain) and not self.domain.wrong(decision):
            return str(self.domain.candidates[decision])
        if isinstance(self.domain, LocationDomain):
            words = {-2: "inlined", -1: "where it is"}
            return words.get(decision, f"at loop {decision}")
        return f"number {decision}"


def choices(*names: str) -> Callable[[Space], Space]:
    """Name the choices of a space, in their order, for the pictures and tables of a search.

    Without a name a choice is called by its loop or block, or by its number.
    Raises Fail for a name that is no text.

    >>> @tuning.choices("threads a block")
    ... def space(sch):
    ...     threads = sch.sample_categorical([32, 64], probs=[0.5, 0.5])
    ...     outer, inner = sch.split("i", factors=[None, threads])
    ...     sch.bind(outer, "blockIdx.x")
    ...     sch.bind(inner, "threadIdx.x")
    >>> best = wb.tune(add, space=space, target="nvidia/h200", trials=2)
    >>> [choice.name for choice in best.tried.choices]
    ['threads a block']
    """

    odd = next((one for one in names if not isinstance(one, str)), None)
    if odd is not None:
        raise Fail(
            f"Can't call a choice {odd!r}: a name is text",
            hint='write @tuning.choices("tile of i", "threads") above the space',
        )

    def name(space: Space) -> Space:
        space.choices = names  # type: ignore[attr-defined]
        return space

    return name


def choices_of(space: Space, made: Candidate) -> tuple[Choice, ...]:
    """The choices that a candidate of `space` met, by numbers where their steps were undone."""
    names: list[str] = []
    for step in made.schedule.trace:
        if REGISTRY[step.verb].domain is not None:
            of = next((arg for arg in step.args if isinstance(arg, Ref)), None)
            names.append(of.name if of else f"choice {len(names)}")
    if len(names) != len(made.domains):
        names = [f"choice {k}" for k in range(len(made.domains))]
    given = getattr(space, "choices", ())
    names = [*given, *names[len(given) :]][: len(names)]
    return tuple(Choice(name, domain) for name, domain in zip(names, made.domains, strict=True))


def named(choices: Sequence[Choice], decisions: Decisions) -> tuple[Choice, ...]:
    """`choices` where there is one for each decision; of other choices only numbers are known."""
    if len(choices) == len(decisions):
        return tuple(choices)
    return tuple(Choice(f"choice {k}") for k in range(len(decisions)))
