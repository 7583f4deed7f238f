"""The predictions of the lessons, by short names: what is asked, and why the answer is what it is.

A lesson's cell names its question only, so that nobody reads the answer with the question. Words
and programs are in `content`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from workbench.diag import Fail
from workbench.ir import PrimFunc
from workbench.lesson.calls import Programs
from workbench.lesson.content import Entry, contents
from workbench.lesson.measures import MEASURES, cell_of
from workbench.lesson.predict import how_many, how_many_loads, how_often_used, nests, who_computes
from workbench.widgets import Question
from workbench.widgets.page.guess import UNITS, guess


def question(name: str) -> Question:
    """The question of that name. Raises Fail for a name that there is not.

    >>> lesson.question("vector_2_4").text
    'after split(i, [2, 4]), bind(i_0, blockIdx.x) and bind(i_1, threadIdx.x), who computes C[5]?'
    """
    if name not in tuple(QUESTIONS):
        raise Fail(f"Can't find the question {name!r}", hint=f"there are: {', '.join(QUESTIONS)}")
    return QUESTIONS[name]


def _read(entry: Entry) -> Question:
    """The question of `entry`, which has a key for each argument of what makes it."""
    made = KINDS[entry.choice("asks", KINDS)](entry, _shared(entry))
    entry.end()
    return made


def _shared(entry: Entry) -> dict[str, Any]:
    """The arguments that every kind of question takes."""
    makers, slips = Programs(entry).table("others"), entry.texts("slips", {})
    return {
        "steps": entry.text("steps"),
        "asked": entry.texts("nests"),
        "others": lambda: {words: make() for words, make in makers.items()},
        "slips": lambda func: slips,
    }


def _who(entry: Entry, shared: Mapping[str, Any]) -> Question:
    buffer, cell = cell_of(entry.text("of"))
    return who_computes(buffer, cell, entry.each("choices", str), **shared)


def _count(entry: Entry, shared: Mapping[str, Any]) -> Question:
    measure, of = MEASURES[entry.choice("measure", MEASURES)], entry.text("of", "")
    name, text, why = entry.text("name"), entry.text("text"), entry.text("why")
    choices = entry.each("choices", str)
    return how_many(name, text, choices, lambda func: measure(func, of), why=why, **shared)


def _loads(entry: Entry, shared: Mapping[str, Any]) -> Question:
    return how_many_loads(
        entry.text("of"),
        entry.text("text"),
        entry.each("choices", int),
        by="block" if entry.choice("by", ("element", "block")) == "block" else "element",
        why=_whys(entry),
        threads=entry.number("threads", 1),
        stage=entry.text("stage", "") or None,
        **shared,
    )


def _uses(entry: Entry, shared: Mapping[str, Any]) -> Question:
    users: dict[str, Literal["block", "thread", "warp"]]
    users = {"block": "block", "thread": "thread", "warp": "warp"}
    return how_often_used(
        entry.text("of"),
        entry.text("text"),
        entry.each("choices", int),
        by=users[entry.choice("by", users)],
        why=_whys(entry),
        axes=entry.each("axes", str, ["threadIdx.x"]),
        stage=entry.text("stage", "") or None,
        **shared,
    )


def _guess(entry: Entry, shared: Mapping[str, Any]) -> Question:
    if entry.has("others") or entry.has("slips"):
        raise entry.refuse("a guess has no wrong choices", "leave others and slips out")
    cost, nests_asked = entry.choice("cost", UNITS), shared["asked"]

    def decides(func: PrimFunc) -> PrimFunc | None:
        return func if nests(func) == nests_asked else None

    return guess(
        entry.text("name"),
        entry.text("text"),
        cost,
        decides,
        lambda func: True,
        todo=f"{shared['steps']}.",
        why=entry.text("why"),
    )


def _whys(entry: Entry) -> dict[int, str]:
    """Why the answer is what it is, by the number that comes out."""
    try:
        return {int(number): said for number, said in entry.texts("why").items()}
    except ValueError:
        raise entry.refuse("a key of why is no number", "such as: 3 = …") from None


KINDS: Mapping[str, Callable[[Entry, Mapping[str, Any]], Question]] = {
    "who": _who,
    "count": _count,
    "loads": _loads,
    "uses": _uses,
    "guess": _guess,
}
LESSONS: dict[str, dict[str, Question]] = {
    lesson: {name: _read(entry) for name, entry in content.predictions.items()}
    for lesson, content in contents().items()
}
QUESTIONS: dict[str, Question] = {
    name: question for asked in LESSONS.values() for name, question in asked.items()
}
