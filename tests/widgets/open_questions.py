"""The questions of the lessons, each on a history whose programs decide it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from html import unescape
from typing import Any, get_args

from benchmarks.convolutions import lesson_small
from benchmarks.matmuls import LARGE, ahead_small, blocking, blocking_with_shared, matmul, slow
from tests.support.every import EVERY
from tests.widgets.programs import ADD, WINDOW, parse, send, window_steps
from workbench.ir import PrimFunc
from workbench.lesson import loads_of
from workbench.lesson.programs import Ways, staged, stages
from workbench.lesson.questions import QUESTIONS
from workbench.schedule import Schedule
from workbench.widgets import Lab, Question, Verdict
from workbench.widgets.page.guess import Guess
from workbench.widgets.page.page import every_view
from workbench.widgets.page.view import View

CHOSEN = {name: asked for name, asked in QUESTIONS.items() if not isinstance(asked, Guess)}
"""Those that are answered by a choice; of the others tests/lesson/test_guesses.py has programs."""

PROGRAM = ("tensorir", "loops", "cuda", "metal", "opencl", "c", "code")


def added(factors: list[int]) -> Schedule:
    sch = Schedule(parse(ADD))
    i_0, i_1 = sch.split("i", factors=factors)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return sch


def fetched(threads: int) -> Schedule:
    """Lesson 2's window, fetched together by so many threads."""
    sch = Schedule(parse(WINDOW))
    i_0, i_1 = sch.split("i", factors=[None, threads])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    stage = sch.cache_read("C", 0, "shared")
    sch.compute_at(stage, i_1)
    _, inner = sch.split(sch.get_loops(stage)[-1], factors=[None, threads])
    sch.bind(inner, "threadIdx.x")
    return sch


def histories() -> Iterator[Schedule]:
    yield added([2, 4])
    yield added([4, 2])
    window = Schedule(parse(WINDOW))
    window_steps(window)
    yield window
    yield fetched(64)
    bound = Schedule(matmul(8))
    bound.bind("i", "threadIdx.y")
    bound.bind("j", "threadIdx.x")
    bound.decompose_reduction("C", "k")
    yield bound
    yield blocking(Schedule(matmul(8)), 2, 2, 2, 2, 2)
    yield blocking(Schedule(matmul(8)), 2, 2, 2, 2, 2, keep=True)
    yield blocking_with_shared(Schedule(matmul(8)), 2, 2, 2, 2, 4)
    yield from alone()
    for how in get_args(Ways):
        blur = Schedule(staged(stages(16, 16, (1, 1, 1), (1, 1, 1)), how))
        blur.annotate("B", "about", "lesson 7")  # so that there is a step to go to
        yield blur


def alone() -> Iterator[Schedule]:
    """What lessons 6, 8, 9 ask about, each alone: on the way there is much that comes as often."""
    ways = [(lesson_small(), "B", ("conv_",)), (ahead_small(), "C_update", ("tile_", "ahead_"))]
    large = [sch for _, sch in slow()]
    large.append(blocking_with_shared(Schedule(matmul(LARGE)), 8, 8, 8, 8, 8))
    ways += [(sch, "C_update", ("lanes_", "tutorial_")) for sch in large]
    for way, block, beginnings in ways:
        asked = [question for name, question in CHOSEN.items() if name.startswith(beginnings)]
        for node in way.history:
            if any(question.judge(node.func) for question in asked):
                sch = Schedule(node.func)
                sch.annotate(block, "about", "a lesson")  # so that there is a step to go to
                yield sch


@cache
def decided() -> dict[str, tuple[Schedule, int, Verdict]]:
    """By question: a history, the first program of it that decides it, and what that says."""
    found: dict[str, tuple[Schedule, int, Verdict]] = {}
    for sch in histories():
        for name in CHOSEN.keys() - found.keys():
            for node in sch.history:
                verdict = CHOSEN[name].judge(node.func)
                if verdict is not None:
                    found[name] = sch, node.id, verdict
                    break
    return found


def answers_of(question: Question, func: PrimFunc, truth: str) -> re.Pattern[str]:
    """The true answer as a lab would write it, and numbers that come to the same."""
    if question.cell is not None:
        block, thread = truth.split(", ")
        return re.compile(rf"\b{block}\b|\b{thread}\b")
    number = truth.split()[0]
    loads = loads_of(func, "A")
    words = [truth, rf"{number} now", rf"× {number}\b", rf"x {number}\b"]
    words += [rf"{n}\b(?!–)" for n in {f"{loads:,}", str(loads)} if loads > 100]
    return re.compile("|".join(rf"(?<![\d,.–]){word}" for word in words))  # not an end of t 64–128


def every_choice(made: Mapping[str, Any]) -> Iterator[View]:
    """The buffers of the who picture, and each slider of the tiling picture at its stops."""
    for buffer in made["buffers"]:
        yield View(machine="who", buffer=buffer["name"])
    for axis in made["axes"]:
        for stop in axis["stops"]:
            yield View(machine="tiles", select={axis["key"]: stop["value"]})
    for level in made["levels"]:
        if level["select"]:
            yield View(machine="tiles", select=level["select"])


def look_everywhere(lab: Lab, asked: int) -> None:
    """Open each pane of each program, beside the one before it, counted.

    Looked at shortly, it is the first program, the last, and those around the one `asked` about.
    """
    last = len(lab.history) - 1
    for node in lab.history:
        if not EVERY and node.id not in (0, asked - 1, asked, asked + 1, last):
            continue
        lab.at = node.id
        lab.against = node.parent.id if node.parent else -1
        send(lab, do="count")
        for view in every_view(lab.setup["panes"]):
            look(lab, view)
        for view in every_choice({"axes": [], "levels": [], **lab.session.page}):
            look(lab, view)


def look(lab: Lab, view: View) -> None:
    lab.view = {"program": view.program, "machine": view.machine, "buffer": view.buffer,
                "select": dict(view.select)}  # fmt: skip


def told(state: Mapping[str, Any]) -> str:
    """All that a browser gets but the question, the programs' own texts and the names in them."""
    own = {"lines", "tree", "setup"}
    texts: list[str] = []
    add_texts([_without(made) for name, made in state.items() if name not in own], texts)
    return plain(" ".join(texts))


def plain(markup: str) -> str:
    """Its text; time steps, which every cell has while nothing is bound, are no counts."""
    text = " ".join(unescape(re.sub(r"<[^>]*>", " ", markup)).split())
    return re.sub(r"\bt(?:ime steps?)? [\d,]+(?:(?:–| to )[\d,]+)?", "", text)


def _without(made: Any) -> Any:
    if not isinstance(made, Mapping) or ("texts" not in made and "text" not in made):
        return made
    return {k: v for k, v in made.items() if k not in ("texts", "text", "names", "buffers")}


def add_texts(data: Any, texts: list[str]) -> None:
    """Add every text and number in plain data, what markup has for those who hear it among them."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            texts.append(str(name))
            add_texts(value, texts)
    elif isinstance(data, (list, tuple)):
        for value in data:
            add_texts(value, texts)
    else:
        text = str(data)
        if '="' in text:
            texts += re.findall(r'(?:aria-label|title|data-\w+)="([^"]*)"', text)
        texts.append(text)
