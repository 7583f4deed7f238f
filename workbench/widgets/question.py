"""A prediction: one question before the reveal, whose answer the program itself gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.ir import PrimFunc


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
