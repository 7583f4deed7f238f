"""A guess: a question that is answered by a number, of what steps make of a cost.

It is set on an axis in the strip of costs. A lesson asks for one, or a learner has each step ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from workbench import draw
from workbench.diag import Fail
from workbench.history.history import History, HistoryNode
from workbench.insight.launched import us_text
from workbench.ir import PrimFunc
from workbench.widgets.page.costs import MODEL, TOTALS, count, is_counted, totals_of
from workbench.widgets.page.modelled_time import is_modelled, modelled_of
from workbench.widgets.page.question import NOT_SURE, Question, Topic, Verdict, along_paths

CLOSE = 1.25  # the factor by which a guess of a time may be off
UNITS = {
    MODEL: "µs",
    "global sectors": "sectors",
    "shared wavefronts": "wavefronts",
    "barriers a block": "barriers",
}
"""What can be guessed, and in what it is told."""
MOST = 1e15
NONE = "none"  # the true answer where there is no number
ON = " on "  # between a time and the GPU that it was guessed for, if that is not the usual one

Decides = Callable[[PrimFunc], PrimFunc | None]
"""The program whose cost is asked for, where a program is that, or was made from it."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of a cost a program takes, and how much of that its parts, if it has any."""

    number: float
    parts: Mapping[str, float]


def amount(func: PrimFunc, cost: str, gpu: str) -> Amount | None:
    """None where no number is known. Raises Fail where there is no valid kernel."""
    if cost == MODEL:
        found = modelled_of(func, gpu)
        if found.us is None:
            return None
        return Amount(found.us, {term.resource: term.us for term in found.terms})
    if cost not in TOTALS:
        number = count(func)[cost].number
        return None if number is None else Amount(number, {})
    totals, scope = totals_of(func), TOTALS[cost]
    parts = {way: totals.written(scope, way) for way in ("read", "write")}
    return Amount(totals.written(scope), {f"{scope} {way}s": n for way, n in parts.items()})


def is_weighed(func: PrimFunc, cost: str, gpu: str) -> bool:
    """Whether that was worked out already, or refused."""
    return is_modelled(func, gpu) if cost == MODEL else is_counted(func, [cost])


def weighed(func: PrimFunc, cost: str, gpu: str) -> Amount | None:
    """The amount, and None also where there is no valid kernel."""
    try:
        return amount(func, cost, gpu)
    except Fail:
        return None


def amount_text(number: float, cost: str) -> str:
    """A number with its unit: "61.2 µs", "262,144 sectors"."""
    return us_text(number) if cost == MODEL else f"{round(number):,} {UNITS[cost]}"


def told_answer(answer: str | None) -> str:
    """A kept answer as it is told in its lab, whose GPU is known there."""
    return (answer or "").partition(ON)[0]


def number_in(text: str, cost: str) -> float | None:
    """The number that a text has, with or without its unit; None for what is none above 0."""
    unit = "(?:µs|us)" if cost == MODEL else UNITS[cost]
    found = re.fullmatch(rf"\s*(\d[\d,]*(?:\.\d*)?|\.\d+)\s*(?:{unit})?\s*", text)
    number = float(found[1].replace(",", "")) if found else 0.0
    return number if 0 < number <= MOST else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess(Question):
    """A question for the `cost` of the program that `decides`, beside what it is of `begun`.

    Its only choice is NOT_SURE, which skips it. `covers` says of which programs the cost would tell
    the answer, and `why` what a lesson says of it.
    """

    cost: str
    decides: Decides
    covers: Callable[[PrimFunc], bool]
    begun: PrimFunc | None = None
    why: str = ""
    gpu: str = draw.GPU

    def takes(self, answer: str | None) -> bool:
        return answer == NOT_SURE or (answer is not None and self.number(answer) is not None)

    def is_right(self, answer: str, verdict: Verdict) -> bool:
        """Within a factor of `CLOSE` of a time, or the exact count."""
        said, truth = self.number(answer), self.number(verdict.truth)
        if said is None or truth is None:
            return False
        if self.cost != MODEL:
            return said == truth
        return max(said, truth) <= CLOSE * min(said, truth)

    def settled_by(self, func: PrimFunc) -> bool:
        return self.decides(func) is not None

    def tells(self, func: PrimFunc, what: Topic) -> bool:
        """A time is told by times alone; who guesses it may count."""
        return self.covers(func) and (what == "time" or (what == "counts" and self.cost != MODEL))

    def along(self, history: History) -> Guess:
        return self._with(along_paths(self.decides, history), self.covers, self.begun, self.gpu)

    def beginning_at(self, node: HistoryNode, gpu: str) -> Guess:
        """The same in a lab that begins at `node`, of which, and of what led there, all is seen."""
        seen = [one.mod[node.func_name] for one in node.path()]
        return self._with(
            self.decides, lambda func: not any(func is one for one in seen), node.func, gpu
        )

    def _with(
        self,
        decides: Decides,
        covers: Callable[[PrimFunc], bool],
        begun: PrimFunc | None,
        gpu: str,
    ) -> Guess:
        said = {"todo": self.todo, "why": self.why}
        return guess(self.name, self.text, self.cost, decides, covers, begun, gpu, **said)

    def as_answered(self, answer: str) -> Guess:
        _, _, gpu = answer.partition(ON)
        return self._with(self.decides, self.covers, self.begun, gpu or draw.GPU)

    def number(self, answer: str) -> float | None:
        return number_in(told_answer(answer), self.cost)

    def read(self, text: str) -> str:
        """The answer that was typed, as it is kept. Raises Fail for what is no number above 0."""
        number = number_in(text, self.cost)
        if number is None:
            unit = UNITS[self.cost]
            raise Fail(
                f"Can't take {text[:40]!r} as a guess: that is no number of {unit} above 0",
                hint="type one, such as 60",
            )
        usual = self.cost != MODEL or self.gpu == draw.GPU
        return amount_text(number, self.cost) + ("" if usual else f"{ON}{self.gpu}")

    def told(self, answer: str, verdict: Verdict) -> tuple[str, str]:
        """The outcome, and what there is to say of the guess: by how much it is off."""
        said, truth = self.number(answer), self.number(verdict.truth)
        if truth is None:
            return "There is no number to hold it against.", ""
        finds = "the model says" if self.cost == MODEL else "counted are"
        if said is None:
            return f"{finds[:1].upper()}{finds[1:]} {verdict.truth}.", ""
        both = f"You said {told_answer(answer)}; {finds} {verdict.truth}"
        if self.is_right(answer, verdict):
            head = "✓ Close: within a factor of 1.25." if self.cost == MODEL else "✓ Exactly."
            return head, f"{both}."
        factor = f"{max(said, truth) / min(said, truth):.3g}"
        less = "less" if truth < said else "more"
        return "✕ It came out differently.", f"{both}, {factor} times {less}."


def guess(
    name: str,
    text: str,
    cost: str,
    decides: Decides,
    covers: Callable[[PrimFunc], bool],
    begun: PrimFunc | None = None,
    gpu: str = draw.GPU,
    *,
    todo: str = "",
    why: str = "",
) -> Guess:
    """A guess whose right answer is worked out from the program that decides it, once asked."""

    def judge(func: PrimFunc) -> Verdict | None:
        program = decides(func)
        if program is None:
            return None
        found = weighed(program, cost, gpu)
        truth = NONE if found is None else amount_text(found.number, cost)
        most = changed_most(begun, found, cost, gpu)
        return Verdict(truth, f"{most} {why[:1].upper()}{why[1:]}" if most and why else most or why)

    return Guess(
        name=name,
        text=text,
        choices=(NOT_SURE,),
        judge=judge,
        todo=todo,
        cost=cost,
        decides=decides,
        covers=covers,
        begun=begun,
        why=why,
        gpu=gpu,
    )


def changed_most(before: PrimFunc | None, after: Amount | None, cost: str, gpu: str) -> str:
    """Which part of it changed most, in a sentence; "" where there is nothing to compare."""
    known = before is not None and is_weighed(before, cost, gpu)
    was = weighed(before, cost, gpu) if before is not None and known else None
    if was is None or after is None or not after.parts:
        return ""
    part = max(after.parts, key=lambda name: abs(after.parts[name] - was.parts.get(name, 0.0)))
    old, new = was.parts.get(part, 0.0), after.parts[part]
    if old == new:
        return "Nothing of it changed."
    return f"`{part}` changed most, from {amount_text(old, cost)} to {amount_text(new, cost)}."


STEP = "modelled time after "  # begins the name of the guess that a step asks for


def step_guess(node: HistoryNode, gpu: str) -> Guess:
    """The guess of the modelled time of a step that was taken."""
    func = node.func
    return guess(
        step_name(node),
        f"what will the modelled time be after {node.label}?",
        MODEL,
        lambda other: func if other is func else None,
        lambda other: other is func,
        node.before,
        gpu,
    )


def step_name(node: HistoryNode) -> str:
    """The name that the answer is kept by: of the step, and of those that lead to it."""
    steps = "\n".join(one.label for one in node.path())
    return f"{STEP}{node.label} ({sha256(steps.encode()).hexdigest()[:8]})"


def shown_guess(asked: Guess, answer: str | None, func: PrimFunc) -> dict[str, Any]:
    """What the strip shows of a guess on the page of `func`.

    `start` is what the axis starts from, None as long as that is not worked out; `told` is the
    outcome, once there is an answer and what decides it is worked out.
    """
    is_open = not asked.takes(answer)
    begun, program = asked.begun, asked.decides(func)
    made: dict[str, Any] = {
        "name": asked.name,
        "text": asked.text,
        "unit": UNITS[asked.cost],
        "open": is_open,
        "start": None,
        "was": "",
        "answer": "" if is_open else told_answer(answer),
        "told": None,
        "why": "",
    }
    if begun is not None and is_weighed(begun, asked.cost, asked.gpu):
        was = weighed(begun, asked.cost, asked.gpu)
        made["start"] = (was and was.number) or 1.0
        made["was"] = "" if was is None else amount_text(was.number, asked.cost)
    if not is_open and program is not None and is_weighed(program, asked.cost, asked.gpu):
        verdict = asked.judge(func)
        assert verdict is not None and answer is not None
        made["told"], made["why"] = list(asked.told(answer, verdict)), verdict.why
    return made


def guessed_number(asked: Guess | None, answer: str | None, func: PrimFunc) -> float | None:
    """The µs that were guessed for just this program; None where that was not so."""
    if asked is None or answer is None or asked.cost != MODEL or asked.decides(func) is not func:
        return None
    return asked.number(answer)
