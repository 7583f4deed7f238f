"""The guesses of the lessons: what they ask for is hidden, and what they say of it is so."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import workbench as wb
from benchmarks.matmuls import LARGE, blocking, blocking_with_shared, matmul, naive
from tests.widgets.open_questions import told
from tests.widgets.programs import send
from workbench import lesson
from workbench.draw import GPU
from workbench.lesson.half_products import half_product
from workbench.lesson.questions import QUESTIONS
from workbench.runtime import recorded
from workbench.schedule import Schedule
from workbench.widgets.page.costs import MODEL, count
from workbench.widgets.page.guess import Guess
from workbench.widgets.page.modelled_time import modelled_of

Steps = Callable[[Schedule], object]
PROGRAMS: dict[str, tuple[Steps, Steps]] = {
    "tile_time": (
        lambda sch: naive(sch, 16),
        lambda sch: blocking(sch, 4, 4, 16, 16, 4, keep=True),
    ),
    "shared_time": (
        lambda sch: naive(sch, 16),
        lambda sch: blocking_with_shared(sch, 8, 8, 8, 8, 8),
    ),
    "searched_time": (
        lambda sch: lesson.in_shared(sch, (8, 8), (8, 8), 8),
        lambda sch: lesson.in_shared(sch, (4, 4), (16, 16), 16),
    ),
    "blocks_time": (
        lambda sch: lesson.in_shared(sch, (8, 8), (16, 16), 8),
        lambda sch: lesson.in_shared(sch, (4, 4), (16, 16), 8),
    ),
    "swizzle_time": (lambda sch: by_lanes(sch), lambda sch: by_lanes(sch, "A_shared", "B_shared")),
}
"""Where the lab opens, and what is asked about; lesson 6's lies in its notebook, which is run."""
HOPPER = ("NVIDIA H200", "NVIDIA H100 80GB HBM3")  # of one multiprocessor and clock
SAID = {
    "tile_time": (0.39, 512 / 3072),
    "shared_time": (0.34, 32 / 3072),
    "searched_time": (0.56, 1),
    "blocks_time": (0.46, 2),
    "swizzle_time": (0.283, 1),
}
"""What the texts say: the share of the time that is left, and of the loads."""


def by_lanes(sch: Schedule, *swizzled: str) -> None:
    """Lesson 11's steps, in its real size."""
    lesson.in_tiles(sch, "mma", (128, 256), (2, 4), 64)
    lesson.by_calls(sch, "mma")
    for name in swizzled:
        sch.annotate(name, "permuted_layout", 1)


def both(name: str) -> tuple[Schedule, int, int]:
    """A history with both programs, and their numbers."""
    sch = Schedule(half_product(4096, 4096, 4096) if name == "swizzle_time" else matmul(LARGE))
    numbers = []
    for steps in PROGRAMS[name]:
        sch.goto(0)
        steps(sch)
        numbers.append(sch.node.id)
    return sch, numbers[0], numbers[1]


def test_every_guess_of_a_lesson_is_looked_at():
    asked = {name for name, question in QUESTIONS.items() if isinstance(question, Guess)}
    assert asked == {*PROGRAMS, "mended_time", "deeper_barriers"}


@pytest.mark.lesson
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_time_is_hidden_until_the_guess_and_as_the_lesson_says(name: str):
    sch, begun, asked = both(name)
    sch.goto(sch.history[begun])
    lab = wb.lab(sch, question=lesson.question(name), panes=["memory"], costs=[MODEL])
    send(lab, do="model")
    start, truth = (modelled_of(sch.history[k].func, GPU).us or 0 for k in (begun, asked))
    loads = [count(sch.history[k].func)["global loads an output"].number for k in (begun, asked)]
    for func in (sch.history[k].func for k in (begun, asked)):
        taken = [t.median * 1e6 for t in recorded.times(func) if t.device in HOPPER]
        moved = modelled_of(func, GPU).moved().values()
        assert taken and max(moved) <= min(taken), "no band is longer than its kernel took"
    left, fewer = SAID[name]
    assert truth / start == pytest.approx(left, abs=0.01)
    assert (loads[1] or 0) / (loads[0] or 1) == pytest.approx(fewer, rel=0.01)
    assert lab.session.page["bar"]["us"] == lab.session.page["guess"]["was"]
    lab.at, lab.against = asked, begun
    for machine in ("memory", "roofline"):
        lab.view = {**lab.view, "machine": machine}
        send(lab, do="model")
    number = rf"(?<!\d){re.escape(f'{truth:.3g}')}(?!\d)"  # not as digits of a place on the axis
    assert not re.search(number, told(lab.session.state))
    send(lab, do="guess", name=lab.setup["question"]["name"], number=f"{start:.4g}")
    head, rest = lab.session.page["guess"]["told"]
    assert head.startswith("✕") and f"{truth:.3g} µs" in rest  # nothing changed is no good guess
    assert lab.session.comparison is not None and lab.session.comparison["bar"]["us"]


@pytest.mark.lesson
@pytest.mark.parametrize("said, right", [("127", False), ("128", True)])
def test_a_count_is_right_if_it_is_exact(said: str, right: bool):
    """Two barriers each time that a tile is filled: 1024 / 8 times, then 1024 / 16."""
    sch = Schedule(matmul(LARGE))
    blocking_with_shared(sch, 8, 8, 8, 8, 16)
    deeper = sch.node.id
    sch.goto(0)
    blocking_with_shared(sch, 8, 8, 8, 8, 8)
    asked = lesson.question("deeper_barriers")
    lab = wb.lab(sch, question=asked, panes=["memory"], costs=["barriers a block"])
    counts = []
    for step in ({"do": "count"}, {"do": "guess", "name": asked.name, "number": said}):
        send(lab, **step)
        lab.at = deeper
        send(lab, do="count")
        counts.append(lab.session.page["costs"]["rows"][0]["after"])
    assert counts == ["?", "128"]
    assert lab.session.page["guess"]["was"] == "256 barriers"
    head, rest = lab.session.page["guess"]["told"]
    assert head == ("✓ Exactly." if right else "✕ It came out differently.")
    assert rest.startswith(f"You said {said} barriers; counted are 128 barriers")
