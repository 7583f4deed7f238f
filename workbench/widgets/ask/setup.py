"""What a lab is set up with: its panes, its question, the device that will run its programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any
from weakref import WeakKeyDictionary

from workbench import draw, runtime
from workbench.codegen import LANGUAGES
from workbench.diag import Fail
from workbench.history.history import History, HistoryNode
from workbench.history.link import ADDRESS, check_address, plays
from workbench.insight.launched import rates_of
from workbench.ir import Block, For
from workbench.target import CATALOGUE, get
from workbench.verbs.primitive import REGISTRY
from workbench.widgets.page.costs import COSTS, MODEL, MOST, SLOW
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.guess import Guess
from workbench.widgets.page.offers import Given, asked
from workbench.widgets.page.question import Question, Task, asks
from workbench.widgets.page.targets import carried
from workbench.widgets.page.view import LATER_PANES, MACHINE_PANES, PROGRAM_PANES
from workbench.widgets.run.runner import device_text

PANES = {
    "TensorIR": "tensorir",
    **{language.title: name for name, language in LANGUAGES.items()},
    "Code": "code",
}
LABELS = {
    **{pane: name for name, pane in PANES.items()},
    "loops": "plain loops",
    "who": "who does what",
    "memory": "memory",
    "tiles": "tiles",
    "pipeline": "pipeline",
    "sectors": "sectors",
    "banks": "banks",
    "occupancy": "occupancy",
    "timeline": "timeline",
    "roofline": "roofline",
    "fragments": "fragments",
}


LEAST = 440  # pixels; frame.js goes no lower, either


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a lab is opened with; `wb.lab` says what each is for.

    Raises Fail for a name, a number or a height that there cannot be.
    """

    actions: Sequence[str] | None = None
    arguments: Given | None = None
    panes: Sequence[str] | None = None
    question: Question | None = None
    task: str | Task | None = None
    costs: Sequence[str] | None = None
    target: str = draw.GPU
    height: int | None = None
    autosave: str | Path | None = None
    address: str = ADDRESS

    def __post_init__(self) -> None:
        known(self.actions, REGISTRY, "action")
        check_given(self.arguments)
        check_height(self.height)
        check_costs(self.costs)
        check_guess(self.question, self.costs)
        check_target(self.target)
        known(self.panes, [*PANES, "loops", *MACHINE_PANES], "pane")
        check_address(self.address)


def known(given: Iterable[str] | None, there: Iterable[str], what: str) -> None:
    """Raise Fail for the first of the names `given` that is not `there`, and for no list."""
    if given is not None and (isinstance(given, str) or not isinstance(given, Iterable)):
        raise Fail(
            f"Can't open a lab with {given!r} as {what}s: that is no list of names",
            hint=f'give a list, such as ["{next(iter(there))}"]',
        )
    for name in given or ():
        if name not in there:
            raise Fail(
                f"Can't open a lab with the {what} {name!r}: there is none of that name",
                hint=f"there are: {', '.join(there)}",
            )


def check_given(arguments: Given | None) -> None:
    """Raise Fail for arguments that no form has, and for what is no mapping of them."""
    if arguments is None:
        return
    forms = arguments.values() if isinstance(arguments, Mapping) else [arguments]
    if not all(isinstance(held, Mapping) for held in forms):
        raise Fail(
            "Can't open a lab with these arguments: they are given by verb and name",
            hint='such as arguments={"split": {"factors": [2, 4]}}; {} leaves all forms empty',
        )
    for where, held in arguments.items():
        verb = where.partition(" ")[0]
        known([verb], REGISTRY, "verb")
        known(held, [param.name for param in asked(REGISTRY[verb])], f"argument of {verb}")


def check_height(height: int | None) -> None:
    """Raise Fail for what is no height in pixels that a lab fits in."""
    if height is not None and (type(height) is not int or height < LEAST):
        raise Fail(
            f"Can't open a lab {height!r} pixels tall: it needs at least {LEAST}",
            hint="give a whole number, such as 640; a notebook's panel says it by itself",
        )


def check_costs(names: Sequence[str] | None) -> None:
    """Raise Fail for a cost that there is not, and for more than a strip has room for."""
    known(names, (*COSTS, *SLOW, MODEL), "cost")
    counted = [name for name in names or () if name != MODEL]
    if len(counted) > MOST:
        raise Fail(
            f"Can't open a lab with {len(counted)} costs: its strip has room for {MOST}",
            hint="leave some out: lesson.compare shows all of them",
        )


def check_guess(question: Question | None, costs: Sequence[str] | None) -> None:
    """Raise Fail for a guess of a cost that the lab does not show: where would it come out?"""
    if isinstance(question, Guess) and question.cost not in ([MODEL] if costs is None else costs):
        raise Fail(
            f"Can't ask for {question.cost!r} in this lab: its costs have none",
            hint=f'name it among them: costs=["{question.cost}"]',
        )


def check_target(name: str) -> None:
    """Raise Fail for what is no target, and for one of which nobody knows how fast it is."""
    if rates_of(get(name)) is None:
        known = [name for name, target in CATALOGUE.items() if rates_of(target) is not None]
        raise Fail(
            f"Can't open a lab of {get(name).name}: nobody knows how fast it is",
            hint=f"there are: {', '.join(known)}",
        )


def split_panes(given: Sequence[str] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of the program and of the machine: the panes to show first, in the order given, and the rest.

    The rest is under "more". TensorIR is always the first of the program's.
    """
    names = {**{name: name for name in (*PROGRAM_PANES, *MACHINE_PANES)}, **PANES}
    usual = [name for name in names.values() if name not in LATER_PANES]
    wanted = [names[name] for name in given] if given is not None else usual

    def split(side: Sequence[str], always: Sequence[str]) -> dict[str, Any]:
        first = [n for n in dict.fromkeys([*always, *wanted]) if n in side] or [side[0]]
        return {"first": first, "rest": [name for name in side if name not in first]}

    return split(PROGRAM_PANES, ["tensorir"]), split(MACHINE_PANES, [])


_ran: WeakKeyDictionary[History, dict[int, dict[str, Any]]] = WeakKeyDictionary()


def desk_of(node: HistoryNode, options: Options, inputs: Mapping[str, Any]) -> Desk:
    """What a lab that opens at `node` shares: an exercise's with the runs of its labs before."""
    given, history, question = options.arguments, node.history, options.question
    if given is None and history.kept_in is not None:
        given = {}  # an exercise gives nothing away
    if isinstance(question, Guess):
        question = question.beginning_at(node, options.target)
    asked, exercise = question and question.along(history), asks(options.task)
    results = {} if exercise is None else _ran.setdefault(history, {})
    gpu, costs = options.target, options.costs
    desk = Desk(options.actions, given, asked, exercise, costs, gpu, history.answers, results)
    return replace(desk, inputs=inputs)


def setup_of(
    options: Options, node: HistoryNode, resume: Mapping[str, str] | None
) -> dict[str, Any]:
    """What a browser is told once: of a lab that opens at `node`, and where there is something to
    `resume`."""
    program, machine = split_panes(options.panes)
    return {
        "own": token_hex(8),  # names the page without a script
        "title": f"Lab: {node.func.name}",
        "panes": {"program": program, "machine": machine},
        "labels": LABELS,
        "question": question_data(options.question),
        "task": options.task if isinstance(options.task, str) else None,
        "starts": _starts(options.actions),
        "carried": carried(options.actions),
        "devices": devices(options.panes),
        "lecture": before_a_class(),
        "height": options.height,
        "resume": resume,
        "plays": plays(options.address),
    }


def _starts(verbs: Sequence[str] | None) -> list[str]:
    """At what the steps start that are offered, None for all."""
    kinds = {kind for verb in verbs or REGISTRY for kind in REGISTRY[verb].place.kinds}
    return [name for name, kind in (("loop", For), ("block", Block)) if kind in kinds]


def question_data(question: Question | None) -> dict[str, Any] | None:
    """A question as the browser gets it: all but its answer."""
    if question is None:
        return None
    return {
        "name": question.name,
        "text": question.text,
        "choices": list(question.choices),
        "said": [said_of(choice) for choice in question.choices],
        "todo": question.todo,
        "guess": isinstance(question, Guess),
    }


def said_of(choice: str) -> str:
    """What is told to who gave an answer, before the program decides it."""
    return f"You say: {choice}."


def before_a_class() -> bool:
    """Whether labs are shown to a class: larger on the whole screen, verdicts on a key."""
    return os.environ.get("WORKBENCH_LECTURE") == "1"


def devices(panes: Sequence[str] | None) -> list[dict[str, str]]:
    """What the programs can run on; the CPU first where a lab shows C and no language of a GPU.

    What is known of the CPU's compiler is told with a run: to look for it takes a while.
    """
    report = runtime.device()
    gpu = {"key": "gpu", "label": report.which, "said": device_text(report)}
    cpu = {"key": "cpu", "label": "this CPU", "said": "compiled as C, run on this machine, timed"}
    languages = [language.title for language in LANGUAGES.values()]
    shown = [pane for pane in panes or () if pane in languages]
    return [cpu, gpu] if shown == [LANGUAGES["c"].title] else [gpu, cpu]
