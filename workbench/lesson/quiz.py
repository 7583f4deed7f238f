"""quiz: questions on programs that are new, each answered once; the first answer is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from workbench.diag import Fail
from workbench.lesson import record
from workbench.lesson.quizzes import QUIZZES, Item


@dataclass(frozen=True, eq=False)
class Quiz:
    """The questions of one place in a lesson, and the answers kept in `file`."""

    name: str
    items: Sequence[Item]
    file: Path

    @property
    def heading(self) -> str:
        """What they are."""
        if self.name.endswith("_begin"):
            return "Two questions on the lessons before. Nothing is graded."
        if self.name.endswith("_end"):
            return "Three questions on programs that you have not seen. Nothing is graded."
        return "Predict, before you run the next cell. Nothing is graded."

    @property
    def given(self) -> list[dict[str, Any] | None]:
        """What was answered to each question, and its outcome; None where nothing was."""
        kept = record.read(self.file)["quiz"]
        return [self._given(k, kept.get(self._key(k))) for k in range(len(self.items))]

    def _key(self, k: int) -> str:
        return f"{self.name} {k + 1}"

    def _given(self, k: int, kept: Any) -> dict[str, Any] | None:
        item = self.items[k]
        if not isinstance(kept, dict) or kept.get("answer") not in item.choices:
            return None
        verdict, answer = item.verdict, kept["answer"]
        head, said = verdict.reply(answer)
        words = {"head": head, "said": said, "why": verdict.why}
        places = {"choice": item.choices.index(answer), "truth": item.choices.index(verdict.truth)}
        return {**places, **words}

    @staticmethod
    def outcome(given: Sequence[Mapping[str, Any] | None]) -> str:
        """How many were right, once all are answered; "" before."""
        if not all(given):
            return ""
        right = sum(one["choice"] == one["truth"] for one in given if one)
        return f"{right} of {len(given)} right."

    def answer(self, item: int, choice: int) -> list[dict[str, Any] | None]:
        """Answer a question by its number and that of a choice, from 0; then all that is `given`.

        The first answer stays. Where it cannot be kept, what is given says so.
        """
        asked = self.items[item]
        answer = asked.choices[choice]
        kept = {"text": asked.text, "answer": answer, "right": answer == asked.verdict.truth}
        try:
            told = record.note(self.file, "quiz", self._key(item), kept, first=True)
        except (OSError, Fail) as error:
            why = getattr(error, "strerror", "") or str(error)
            told = f"The answer could not be kept: {why}."
        given = self.given
        now = given[item] or self._given(item, kept)
        if told and now is not None:
            given[item] = {**now, "why": f"{now['why']} ({told})"}
        return given

    def __repr__(self) -> str:
        lines = [self.heading]
        for k, (item, given) in enumerate(zip(self.items, self.given, strict=True), 1):
            lines += ["", f"{k}. {item.text}", "", *(f"    {x}" for x in item.code.splitlines())]
            lines += [f"  {n}) {choice}" for n, choice in enumerate(item.choices)]
            if given:
                said = f"{given['head']} {given['said']} Why: {given['why']}"
                lines += [f"  You: {given['choice']}). {said}"]
        outcome = self.outcome(self.given)
        return "\n".join([*lines, *(["", outcome] if outcome else [])])


@cache
def items(name: str) -> Sequence[Item]:
    """The questions of a quiz, made once: kernels are built for them, and a cell may run again."""
    return QUIZZES[name].made()


def is_answered(name: str) -> bool:
    """Whether all questions of the quiz of that name were answered. Raises Fail as `quiz` does."""
    return all(_asked(name).given)


def _asked(name: str) -> Quiz:
    if name not in tuple(QUIZZES):
        raise Fail(f"Can't find the quiz {name!r}", hint=f"there are: {', '.join(QUIZZES)}")
    return Quiz(name, items(name), record.file_of(QUIZZES[name].lesson))


def quiz(name: str) -> Any:
    """The questions of that name ("01_end"), to be answered in the notebook.

    Where widgets are not installed, a Quiz: printed, it is the questions, and `answer` takes one.
    Raises Fail for a name that there is not.

    >>> _ = lesson.quiz("01_end")
    """
    asked = _asked(name)
    try:
        view = import_module("workbench.widgets.small.quiz")  # loads anywidget: heavy
    except ModuleNotFoundError as missing:
        if missing.name not in ("anywidget", "traitlets"):
            raise
        return asked
    shown = [
        {"text": i.text, "shown": i.shown, "code": i.code, "choices": i.choices}
        for i in asked.items
    ]
    return view.QuizView(
        asked.heading, shown, asked.given, asked.answer, asked.outcome, repr(asked)
    )
