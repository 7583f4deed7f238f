"""A prediction: one question before the reveal, whose answer the program itself gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from workbench.ir import PrimFunc
from workbench.schedule.history import History


@dataclass(frozen=True, slots=True)
class Verdict:
    """The true answer, in the words of the choices (though it may be none of them), and why."""

    truth: str
    why: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its choices.

    `judge` looks at a program and gives the verdict, or None while the program does not decide it
    yet. `name` is the key of the learner's answer in the saved history; `cell` is the cell of a
    buffer that the picture rings. `todo` says what to do to find out.
    """

    name: str
    text: str
    choices: tuple[str, ...]
    judge: Callable[[PrimFunc], Verdict | None]
    todo: str
    cell: tuple[str, tuple[int, ...]] | None = None


def along(question: Question | None, history: History) -> Question | None:
    """The question, judged where the path to a program of `history` first decides it.

    So a verdict stays while one goes on from the program that was asked about.
    """
    if question is None:
        return None
    judge = question.judge

    def first(func: PrimFunc) -> Verdict | None:
        path = next((node.path() for node in history if node.func is func), [])
        return next((v for node in path if (v := judge(node.func)) is not None), None)

    return replace(question, judge=first)
