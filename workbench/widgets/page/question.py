"""A prediction: one question before the reveal, whose answer the program itself gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Literal, Protocol, TypeVar

from workbench.history.history import History, HistoryNode
from workbench.ir import For, PrimFunc, walk
from workbench.widgets.page.memo import memo

R = TypeVar("R")

Topic = Literal["who", "counts", "time"]
"""What a place of a lab tells of a program: who computes which cell, how much of anything there is,
or how long it takes."""

PROGRAM = "the program"  # which says what is true, where no record does
NOT_SURE = "not sure"  # the last choice of every question, and as good as any other


@dataclass(frozen=True, slots=True)
class Verdict:
    """The true answer, in the words of the choices (though it may be none of them), and why.

    `wrong` says of other choices when they would be true; `by` is what told the answer.
    """

    truth: str
    why: str
    wrong: Mapping[str, str] = field(default_factory=dict)
    by: str = PROGRAM

    def reply(self, choice: str) -> tuple[str, str]:
        """What is said to one who chose it: the outcome, and what there is to say of the choice."""
        if choice == self.truth:
            return "✓ You were right.", ""
        if choice == NOT_SURE:
            return f"{self.by.capitalize()} says “{self.truth}”.", ""
        said = f"You said “{choice}”; {self.by} says “{self.truth}”."
        return "✕ It came out differently.", f"{said} {self.wrong.get(choice, '')}".rstrip()


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its choices, the last of them NOT_SURE.

    `judge` looks at a program and gives the verdict, or None while the program does not decide it
    yet. `name` is the key of the learner's answer in the saved history; `cell` is the cell of a
    buffer that the picture rings. `todo` says what to do to find out, in words that follow "Now: ".
    """

    name: str
    text: str
    choices: tuple[str, ...]
    judge: Callable[[PrimFunc], Verdict | None]
    todo: str
    cell: tuple[str, tuple[int, ...]] | None = None

    def takes(self, answer: str | None) -> bool:
        """Whether that is an answer to it."""
        return answer in self.choices

    def is_right(self, answer: str, verdict: Verdict) -> bool:
        """Whether the answer is the true one."""
        return answer == verdict.truth

    def settled_by(self, func: PrimFunc) -> bool:
        """Whether the program decides it."""
        return self.judge(func) is not None

    def as_answered(self, answer: str) -> Question:
        """The question to which a kept answer was given."""
        return self

    def along(self, history: History) -> Question:
        """The question, judged where the path to a program of `history` first decides it.

        So a verdict stays while one goes on from the program that was asked about.
        """
        return replace(self, judge=along_paths(self.judge, history))

    def tells(self, func: PrimFunc, what: Topic) -> bool:
        """Whether what is told of `func` would answer it, or narrow its choices.

        Blocks and threads do all once a loop is bound to them. Before, nobody has a number yet,
        and a question about a cell has nothing to fear; loads and barriers are counted of any
        program, and the steps asked about may leave them as they are.
        """
        return (what != "who" and self.cell is None) or any(
            isinstance(node, For) and node.thread is not None for node in walk(func.body)
        )


class Task(Protocol):
    """What an exercise asks for: its goals, and which of them a program reaches.

    The first is a right `result`, which a run tells; `reached` says for each of the `aims` whether,
    and what was found there. `sooner` is a program that comes to what `start` comes to, and takes
    less to be run by its meaning: `start` itself where none is known.
    """

    @property
    def result(self) -> str: ...

    @property
    def aims(self) -> Sequence[str]: ...

    def reached(self, func: PrimFunc) -> Sequence[tuple[bool, str]]: ...

    def sooner(self, start: PrimFunc) -> PrimFunc: ...


RUN = "press run, which compares the result with that of the program that you started from."
NO_KERNEL = "go on: no kernel can be made of this program yet, so there is nothing to run."


def asks(task: str | Task | None) -> Task | None:
    """What of a lab's task has goals: an exercise, and not a line of words."""
    return None if isinstance(task, str) else task


def goals(
    task: Task | None, func: PrimFunc, run: Mapping[str, Any], judged: bool
) -> list[dict[str, Any]]:
    """Each goal of `task`, whether `func` reaches it, and why: the first by its `run`, {} for none.

    Without one it says what is to do. The others are judged by the kernels; not `judged`, none is
    reached.
    """
    if task is None:
        return []
    judgements = (
        memo(func, ("goals", tuple(task.aims)), lambda: task.reached(func)) if judged else ()
    )
    open_aims = len(task.aims) - len(judgements)
    reached = [*judgements, *[(False, "")] * open_aims]
    right = (run.get("ok") is True, run.get("text", "press run, which compares the results"))
    pairs = zip([task.result, *task.aims], [right, *reached], strict=True)
    made = [{"aim": aim, "ok": ok, "found": why} for aim, (ok, why) in pairs]
    return made if run else [{**made[0], "todo": "press run to see"}, *made[1:]]


def along_paths(
    judge: Callable[[PrimFunc], R | None], history: History
) -> Callable[[PrimFunc], R | None]:
    """What `judge` finds of the first program on the path to one of `history` that it decides."""
    by_node: dict[HistoryNode, R | None] = {}
    by_program: dict[PrimFunc, R | None] = {}

    def first(func: PrimFunc) -> R | None:
        for node in islice(history, len(by_node), None):  # it grows only: parents come first
            before = None if node.parent is None else by_node[node.parent]
            by_node[node] = judge(node.func) if before is None else before
            by_program.setdefault(node.func, by_node[node])
        return by_program.get(func)

    return first


def deciding(question: Question, history: History) -> int | None:
    """The number of the first program of `history` that decides the question; None without one.

    Then it is too late for a prediction.
    """
    return next((node.id for node in history if question.settled_by(node.func)), None)


# --- what an open question keeps back: all that would answer it shows "?" ----------------------

MARK = "?"
UNTIL = f"{MARK} Answer the question first."

PICTURE: dict[str, Any] = {
    "strips": [],
    "caption": UNTIL,
    "full": "",
    "table": "",
    "line": "",
    "kind": "hidden",
    "about": "it would tell the answer",
    "levels": [],
    "slides": None,
    "fields": None,
}
"""What stands in the place of a picture, but for what the program itself says of it."""
