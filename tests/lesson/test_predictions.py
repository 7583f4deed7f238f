"""Predictions: decided by the program alone, and only once it decides them."""

from __future__ import annotations

import gc

import pytest

from tests.widgets.programs import ADD, WINDOW, parse, window_steps
from workbench import lesson
from workbench.schedule import Schedule

CHOICES = ("block 1, thread 1", "block 2, thread 1", "time step 5")


def add_bound(factors: list[int]) -> Schedule:
    sch = Schedule(parse(ADD))
    i_0, i_1 = sch.split("i", factors=factors)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return sch


@pytest.mark.parametrize(
    ("factors", "truth", "index"), [([2, 4], 0, "1 * 4 + 1"), ([4, 2], 1, "2 * 2 + 1")]
)
def test_who_computes_is_read_off_the_program(factors: list[int], truth: int, index: str):
    question = lesson.who_computes("C", 5, CHOICES, steps="both binds")
    sch = add_bound(factors)
    verdict = question.judge(sch.func)
    assert verdict is not None and verdict.truth == CHOICES[truth]
    assert f"`C[{index}]` is C[5]" in verdict.why


def test_it_is_undecided_until_block_and_thread_are_bound():
    question = lesson.who_computes("C", 5, CHOICES, steps="both binds")
    sch = add_bound([2, 4])
    assert [question.judge(node.func) is None for node in sch.history] == [
        True,
        True,
        True,
        False,
    ]


def test_another_schedule_is_judged_by_what_it_does():
    question = lesson.who_computes("C", 5, CHOICES, steps="both binds")
    verdict = question.judge(add_bound([8, 1]).func)
    assert verdict is not None and verdict.truth == "block 5, thread 0"


def loads(stage: str | None, threads: int):
    return lesson.how_many_loads(
        "A",
        "how often?",
        {"130 times": 8 * 130, "384 times": 8 * 384, "16,640 times": 8 * 130 * 128},
        steps="these steps",
        why="So it is.",
        stage=stage,
        threads=threads,
    )


def test_loads_are_counted_at_each_stage_of_lesson_2():
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    found = {}
    for mark, stage, threads in (
        ("bound", None, 1),
        ("cached", "A_shared", 1),
        ("cooperative", "A_shared", 2),
    ):
        verdict = loads(stage, threads).judge(sch.history.find(mark).func)
        assert verdict is not None
        found[mark] = (verdict.truth, verdict.why)
    assert found == {
        "bound": ("384 times", "the program loads A 3,072 times. So it is."),
        "cached": ("16,640 times", "the program loads A 133,120 times. So it is."),
        "cooperative": ("130 times", "the program loads A 1,040 times. So it is."),
    }


def test_loads_are_undecided_before_the_steps():
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    assert loads("A_shared", 1).judge(sch.history.find("bound").func) is None
    assert loads("A_shared", 2).judge(sch.history.find("cached").func) is None


def test_a_cell_that_runs_again_keeps_its_history():
    sch = lesson.begin(parse(ADD))
    sch.split("i", factors=[2, 4])
    sch.mark("two")
    again = lesson.begin(parse(ADD))
    assert again is sch and again.node.id == 0 and len(again.history) == 2
    del sch, again
    gc.collect()
    assert len(lesson.begin(parse(ADD)).history) == 1
