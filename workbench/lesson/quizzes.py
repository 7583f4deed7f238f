"""Questions on programs that no lesson has shown: two at a lesson's begin, three at its end.

Their words are in `content`. Choices are what the measure finds for the program and for others like
it, so that the answer and what is said of each wrong one are computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from workbench.ir import PrimFunc
from workbench.lesson.calls import Programs
from workbench.lesson.content import Entry, contents
from workbench.lesson.faults import lesser
from workbench.lesson.measures import AMONG, MEASURES, OF_LAUNCHES, TOLD_BY, cell_of
from workbench.lesson.predict import why_who, would_be_right
from workbench.lower import least_target
from workbench.runtime.building import build
from workbench.script import show
from workbench.widgets.page.question import NOT_SURE, PROGRAM, Verdict


@dataclass(frozen=True, slots=True)
class Item:
    """One question on the `code` that stands with it, in the language `shown`.

    Both are "" where the question says all that it is about.
    """

    text: str
    shown: str
    code: str
    choices: tuple[str, ...]
    verdict: Verdict


def _tensorir(func: PrimFunc) -> str:
    return show(func)


def _cuda(func: PrimFunc) -> str:
    """From the first launch on: what it calls stands above it, and no question is of that."""
    source = build(func, least_target(func)).source
    return source[source.index("// launch: ") :]


def _head(func: PrimFunc) -> str:
    """The first lines of a launch's CUDA, and that there are more."""
    return "\n".join([*_cuda(func).splitlines()[:5], "  // … what each thread does"])


SHOWN: Mapping[str, Callable[[PrimFunc], str]] = {
    "TensorIR": _tensorir,
    "CUDA": _cuda,
    "head of CUDA": _head,
}
SUBJECTS: Mapping[str, Callable[[Any, str], str]] = {**MEASURES, **OF_LAUNCHES}


def _item(entry: Entry) -> Item:
    """The question of `entry`. Raises Fail for what its file has not, or has besides."""
    programs = Programs(entry)
    text, shown = entry.text("text"), entry.choice("show", SHOWN, "TensorIR")
    measure = entry.choice("measure", [*SUBJECTS, *AMONG])
    of, why = entry.text("of", ""), entry.text("why", "")
    slips = entry.texts("slips", {})
    if measure in AMONG:
        seen = programs.read("seen") if entry.has("seen") else None
        among = programs.table("among")
        entry.end()
        truth = AMONG[measure]({words: make() for words, make in among.items()})
        by = TOLD_BY.get(measure, PROGRAM)
        return asked(text, shown, seen and seen(), Verdict(truth, why, slips, by))
    program, others = programs.read("program"), programs.table("others")
    seen = programs.read("seen") if entry.has("seen") else program
    entry.end()
    if not why and measure != "who":
        raise entry.refuse("there is no why", "write why the answer is what it is")

    def found(subject: Any) -> str:
        return SUBJECTS[measure](subject, of)

    subject = program()
    wrong = would_be_right(found, {words: make() for words, make in others.items()})
    if measure == "fault":
        wrong |= {choice: said for choice, said in lesser(subject).items() if choice in wrong}
    reason = why or why_who(subject, *cell_of(of))
    code = subject if seen is program else seen()
    return asked(text, shown, code, Verdict(found(subject), reason, {**wrong, **slips}))


def asked(text: str, shown: str, seen: PrimFunc | None, verdict: Verdict) -> Item:
    """A question whose choices are the truth and what is wrong, each with what is said of it."""
    choices = sorted({verdict.truth, *verdict.wrong}, key=lambda choice: (_numbers(choice), choice))
    wrong = {choice: said for choice, said in verdict.wrong.items() if choice != verdict.truth}
    own = replace(verdict, wrong=wrong)
    if seen is None:
        return Item(text, "", "", (*choices, NOT_SURE), own)
    language = "CUDA" if "CUDA" in shown else "TensorIR"
    return Item(text, language, SHOWN[shown](seen), (*choices, NOT_SURE), own)


def _numbers(choice: str) -> list[int]:
    """The numbers in it; "once" is 1."""
    return [int(number) for number in re.findall(r"\d+", choice.replace(",", ""))] or [1]


@dataclass(frozen=True, slots=True)
class Asked:
    """The quiz of one place: the lesson that asks it, how many questions, and what makes them."""

    lesson: str
    count: int
    made: Callable[[], Sequence[Item]]


def _items(entries: Sequence[Entry]) -> Sequence[Item]:
    return tuple(map(_item, entries))


QUIZZES: Mapping[str, Asked] = {
    name: Asked(lesson, len(entries), partial(_items, entries))
    for lesson, content in contents().items()
    for name, entries in content.quizzes.items()
}
