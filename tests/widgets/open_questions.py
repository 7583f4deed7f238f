"""The questions of the lessons, each on a history whose programs decide it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from html import unescape
from math import prod
from typing import Any, get_args

from benchmarks.convolutions import lesson_small
from benchmarks.matmuls import LARGE, ahead_small, blocking, blocking_with_shared, matmul, slow
from tests.support.every import EVERY
from tests.widgets.programs import ADD, WINDOW, parse, send, window_steps
from workbench.ir import PrimFunc
from workbench.lesson import loads_of
from workbench.lesson.half_products import by_calls, half_product, in_tiles
from workbench.lesson.programs import Ways, staged, stages
from workbench.lesson.questions import QUESTIONS
from workbench.lesson.spaces import layer, tile_layer
from workbench.lesson.tile_convolutions import share_out as to_warps
from workbench.lesson.tile_convolutions import tensor_cores, tensorize_tiles, tile_convolution
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


def window() -> Schedule:
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    return sch


def bound() -> Schedule:
    sch = Schedule(matmul(8))
    sch.bind("i", "threadIdx.y")
    sch.bind("j", "threadIdx.x")
    sch.decompose_reduction("C", "k")
    return sch


def uncoalesced() -> Schedule:
    return next(sch for name, sch in slow() if name == "lesson 8, first")


def blurred(how: Ways) -> Schedule:
    return Schedule(staged(stages(16, 16, (1, 1, 1), (1, 1, 1)), how))


# Whose programs decide the questions of which names begin so; the first that fits. Where a block is
# named, they are asked about alone: on the way there is much that comes as often.
def shared_out() -> Schedule:
    """Lesson 10's convolution with its tiles shared out to warps."""
    sch = Schedule(tile_convolution(2, 4, 4, 4))
    to_warps(sch, (2, 2), (2, 2), 2)
    return sch


def tensorized() -> Schedule:
    """The same, all of its tiles done by calls of a warp, which are its last five steps.

    Looked at shortly, it starts ahead of these: a page of all 42 steps takes seconds to write.
    """
    sch = Schedule(tile_convolution(2, 4, 4, 4))
    tensor_cores(sch, (2, 2), (2, 2))
    if EVERY:
        return sch
    *_, start = (node for node in sch.history if node.step and node.step.verb != "tensorize")
    calls = Schedule(start.func)
    tensorize_tiles(calls)
    return calls


@cache
def by_lanes() -> Schedule:
    """Lesson 11's product by mma.sync, with all that its labs ask for, in three branches."""
    sch = Schedule(half_product(128, 64, 256))
    in_tiles(sch, "mma", (64, 64), (2, 2), 64)
    by_calls(sch, "mma")
    for name in ("A_shared", "B_shared"):
        sch.annotate(name, "permuted_layout", 1)
    sch.unroll("k_1")
    sch.mark("unrolled")
    sch.pipeline("k_0", [0, 0, 2], async_stages=[0])
    sch.goto("unrolled")
    sch.pipeline("k_1", [0, 0, 1])
    held = {"A_shared_warp": 1, "B_shared_warp": 1}
    sch.pipeline("k_0", [0, 0, 1, 2, 2], [0, 1, 3, 2, 4], held, [0])
    return sch


def layered(*tiles: Any) -> Schedule:
    """Lesson 12's layer, in such tiles."""
    sch = Schedule(layer())
    tile_layer(sch, *tiles)
    return sch


HISTORIES: dict[str, tuple[Callable[[], Schedule], str]] = {
    "vector_2_4": (lambda: added([2, 4]), ""),
    "vector_4_2": (lambda: added([4, 2]), ""),
    "vector_1024": (window, ""),
    "window_64": (lambda: fetched(64), ""),
    "window_": (window, ""),
    "matmul_bound": (bound, ""),
    "matmul_loads": (bound, ""),
    "matmul_tiled": (lambda: blocking(Schedule(matmul(8)), 2, 2, 2, 2, 2), ""),
    "matmul_kept": (lambda: blocking(Schedule(matmul(8)), 2, 2, 2, 2, 2, keep=True), ""),
    "matmul_": (lambda: blocking_with_shared(Schedule(matmul(8)), 2, 2, 2, 2, 4), ""),
    "conv_": (lesson_small, "B"),
    **{f"blur_{how}": (partial(blurred, how), "B") for how in get_args(Ways)},
    "lanes_": (uncoalesced, "C_update"),
    "tutorial_": (
        lambda: blocking_with_shared(Schedule(matmul(LARGE)), 8, 8, 8, 8, 8),
        "C_update",
    ),
    "tile_": (ahead_small, "C_update"),
    "ahead_": (ahead_small, "C_update"),
    "warp_uses": (shared_out, ""),
    "warp_calls": (tensorized, ""),
    "layer_blocks": (partial(layered, (4, 128, 1), (1, 1, 7), (7, 1, 1), 4), "conv2d_nchw_update"),
    "layer_weights": (partial(layered, (8, 64, 1), (7, 1, 1), (1, 7, 1), 8), "conv2d_nchw_update"),
    "ldmatrix_calls": (by_lanes, "C_update_o"),
    "swizzled_turns": (by_lanes, "C_update_o"),
    "groups_left": (by_lanes, "C_update_o"),
    "held_ahead": (by_lanes, "C_update_o"),
}


@cache
def made(by: Callable[[], Schedule]) -> Schedule:
    return by()


@cache
def decided(name: str) -> tuple[Schedule, int, Verdict]:
    """A history, the first program of it that decides the question, and what that says."""
    by, block = next(of for beginning, of in HISTORIES.items() if name.startswith(beginning))
    sch = made(by)
    verdicts = ((node, CHOSEN[name].judge(node.func)) for node in sch.history)
    node, verdict = next((node, verdict) for node, verdict in verdicts if verdict is not None)
    if not block:
        return sch, node.id, verdict
    alone = Schedule(node.func)
    alone.annotate(block, "about", "a lesson")  # so that there is a step to go to
    return alone, alone.history.root.id, verdict


def small(func: PrimFunc) -> bool:
    """Whether it is run here: a product of 1024 x 1024 takes half a minute, and says no more."""
    return all(prod(param.shape) < 2**16 for param in func.params)


def answers_of(question: Question, func: PrimFunc, truth: str) -> re.Pattern[str]:
    """The true answer as a lab would write it, and numbers that come to the same."""
    if question.cell is not None:
        block, thread = truth.split(", ")
        return re.compile(rf"\b{block}\b|\b{thread}\b")
    number = truth.split()[0]
    loads = loads_of(func, "A")
    words = [truth, rf"{number} now", rf"× {number}\b", rf"x {number}\b"]
    of_warps = any(question is CHOSEN[name] for name in ("warp_uses", "warp_calls"))
    told = {f"{loads:,}", str(loads)} if loads > 100 and not of_warps else ()  # which say nothing
    words += [rf"{n}\b(?!–)" for n in told]
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


# The time at which cells that follow each other begin, ahead of the title that tells it.
STARTS = re.compile(r"\b(\d+)(?:–\d+)? (?=\w+\[[^\]]*\]: (?:[^\[\]:]*, )?time steps \1 to )")


def plain(markup: str) -> str:
    """Its text; time steps, which every cell has while nothing is bound, are no counts."""
    text = STARTS.sub("", " ".join(unescape(re.sub(r"<[^>]*>", " ", markup)).split()))
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
