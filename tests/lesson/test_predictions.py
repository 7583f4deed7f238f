"""Predictions: decided by the program alone, and only once it decides them."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import workbench as wb
from benchmarks.matmuls import ahead_small, blocking, matmul
from tests.widgets.open_questions import CHOSEN
from tests.widgets.programs import ADD, WINDOW, bind_both, parse, send, window_steps
from workbench import lesson
from workbench.diag import Fail
from workbench.schedule import Schedule
from workbench.widgets import Lab, Question
from workbench.widgets.page.question import NOT_SURE

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


@pytest.mark.parametrize(
    ("name", "truth"),
    [("ahead_in_one_copy", "15 times"), ("ahead_in_two_copies", "4,096 bytes")],
)
def test_a_pipeline_is_told_from_its_loop_and_from_other_pipelines(name: str, truth: str):
    """Which have the same loops, but other notes."""
    judge = lesson.question(name).judge
    verdicts = [judge(node.func) for node in ahead_small().history]
    assert [verdict.truth for verdict in verdicts if verdict] == [truth]


@pytest.mark.parametrize(
    ("name", "factors", "truth"),
    [("vector_2_4", [2, 4], "block 1, thread 1"), ("vector_4_2", [4, 2], "block 2, thread 1")],
)
def test_a_lessons_question_is_answered_by_the_program_asked_about_and_by_no_other(
    name: str, factors: list[int], truth: str
):
    question = lesson.question(name)
    verdict = question.judge(add_bound(factors).func)
    assert verdict is not None and verdict.truth == truth
    for other in ([2, 4], [4, 2], [8, 1], [None, 3]):
        assert other == factors or question.judge(add_bound(other).func) is None
    assert question.todo == (
        f"click a loop in the program, apply split(i, {factors}), bind(i_0, blockIdx.x) and "
        "bind(i_1, threadIdx.x), and watch C[5]. Only these steps answer it: undo any other "
        "first."
    )


@pytest.mark.parametrize(("name", "factors"), [("vector_2_4", [2, 4]), ("vector_4_2", [4, 2])])
def test_each_wrong_choice_is_told_when_it_would_be_right(name: str, factors: list[int]):
    """Of the lessons' other questions, tests/lessons has the programs."""
    question = lesson.question(name)
    verdict = question.judge(add_bound(factors).func)
    assert verdict is not None
    for choice in question.choices:
        head, said = verdict.reply(choice)
        if choice == verdict.truth:
            assert (head, said) == ("✓ You were right.", "")
        elif choice == NOT_SURE:
            assert (head, said) == (f"The program says “{verdict.truth}”.", "")
        else:
            assert f"“{choice}” would be right " in said, said
    first, (rows, columns) = question.choices[0], factors
    other = [1, 8] if rows == 2 else [2, 4]
    assert verdict.reply(first)[1] == (
        f"You said “{first}”; the program says “block {5 // columns}, thread 1”. "
        f"“{first}” would be right after `sch.split(i, factors={other})`, with the same binds."
    )


def test_two_loops_that_change_places_are_another_program():
    sch = Schedule(parse(ADD))
    i_0, i_1 = sch.split("i", factors=[4, 2])
    sch.reorder(i_1, i_0)
    sch.bind(i_1, "blockIdx.x")
    sch.bind(i_0, "threadIdx.x")
    assert lesson.question("vector_2_4").judge(sch.func) is None


def test_a_copy_beside_the_threads_does_not_answer_for_one_inside():
    """The reason that goes with the number would not be true of it."""
    for loop, decided in ((0, False), (1, True)):
        sch = Schedule(parse(WINDOW))
        loops = sch.split("i", factors=[None, 128])
        sch.bind(loops[0], "blockIdx.x")
        sch.bind(loops[1], "threadIdx.x")
        sch.compute_at(sch.cache_read("C", 0, "shared"), loops[loop])
        verdict = lesson.question("window_cached").judge(sch.func)
        assert (verdict is not None) == decided


def answer(lab: Lab) -> None:
    send(lab, do="answer", name=lab.setup["question"]["name"], choice=0)


def test_a_verdict_stays_on_the_path_and_is_not_given_on_a_branch():
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    lab = wb.lab(sch, question=lesson.question("window_cached"))
    assert sch.node.mark == "cooperative"
    answer(lab)
    assert lab.session.page["verdict"]["text"] == "16,640 loads"
    sch = add_bound([2, 4])
    sch.goto(0)
    lab = wb.lab(sch, question=lesson.question("vector_2_4"))
    answer(lab)
    bind_both(lab, "[4, 2]")
    assert lab.at == 6 and lab.page_6["verdict"] is None
    lab.at = 3
    assert lab.page_3["verdict"]["text"] == "block 1, thread 1"


def test_an_answer_stays_once_a_program_has_decided_it():
    """Also where one goes back to the start and answers again."""
    lab = wb.lab(Schedule(parse(ADD)), question=lesson.question("vector_2_4"))
    name = lab.setup["question"]["name"]
    for choice in (3, 0):
        send(lab, do="answer", name=name, choice=choice)
    bind_both(lab, "[2, 4]")
    lab.at = 0
    send(lab, do="answer", name=name, choice=1)
    assert lab.status["error"]["headline"] == (
        "Can't change the answer: the program of step 3 has decided it."
    )
    assert lab.status["error"]["hint"].startswith("click step 3 in the history")
    assert lab.session.page["verdict"] is None and lab.session.page["decided"] == 3
    assert lab.answers == lab.history.answers == {name: "block 0, thread 5"}


def test_it_is_undecided_until_block_and_thread_are_bound():
    question = lesson.who_computes("C", 5, CHOICES, steps="both binds")
    sch = add_bound([2, 4])
    assert [question.judge(node.func) is None for node in sch.history] == [
        True,
        True,
        True,
        False,
    ]


def test_a_cell_may_be_told_by_an_integer_of_numpy():
    plain = lesson.who_computes("C", 5, CHOICES, steps="both binds")
    assert lesson.who_computes("C", np.int64(5), CHOICES, steps="both binds").name == plain.name


def test_another_schedule_is_judged_by_what_it_does():
    question = lesson.who_computes("C", 5, CHOICES, steps="both binds")
    verdict = question.judge(add_bound([8, 1]).func)
    assert verdict is not None and verdict.truth == "block 5, thread 0"


def loads(stage: str | None, threads: int, by: str = "block"):
    return lesson.how_many_loads(
        "A",
        "how often?",
        (130, 384, 16_640),
        by=by,
        steps="these steps",
        why={16_640: "So it is.", 3: "Three."},
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
    blocks = "all 8 blocks together"
    assert found == {
        "bound": ("384 loads", f"one block makes 384 loads from A, {blocks} 3,072."),
        "cached": (
            "16,640 loads",
            f"one block makes 16,640 loads from A, {blocks} 133,120. So it is.",
        ),
        "cooperative": ("130 loads", f"one block makes 130 loads from A, {blocks} 1,040."),
    }
    of_each = loads(None, 1, by="element").judge(sch.history.find("bound").func)
    assert of_each is not None and (of_each.truth, of_each.why) == (
        "3 times",
        "A has 1,027 elements, and the program makes 3,072 loads from it. Three.",
    )


def test_a_number_that_no_choice_has_is_said_without_an_explanation():
    """The explanation is of one number: another schedule is told its own."""
    sch = Schedule(parse(WINDOW))
    _, inner = sch.split("i", factors=[None, 100])
    sch.bind(inner, "threadIdx.x")
    verdict = loads(None, 1).judge(sch.func)
    assert verdict is not None and (verdict.truth, verdict.why) == (
        "3,072 loads",
        "one block makes 3,072 loads from A.",
    )
    sch.bind("i_0", "blockIdx.x")
    verdict = loads(None, 1).judge(sch.func)
    assert verdict is not None and (verdict.truth, verdict.why) == (
        "about 279 loads",
        "11 blocks make 3,072 loads from A, not all as many.",
    )


def test_the_lessons_questions_have_names():
    assert lesson.question("window_bound").choices == ("once", "3 times", "130 times", "not sure")
    with pytest.raises(Fail) as refused:
        lesson.question("window")
    assert str(refused.value).splitlines()[0] == "Can't find the question 'window'."


@pytest.mark.parametrize("name", CHOSEN)
def test_not_sure_is_an_answer_to_every_question(name: str):
    choices = lesson.question(name).choices
    assert choices[-1] == NOT_SURE and 4 <= len(set(choices)) == len(choices) <= 6


def test_loads_are_undecided_before_the_steps():
    sch = Schedule(parse(WINDOW))
    window_steps(sch)
    assert loads("A_shared", 1).judge(sch.history.find("bound").func) is None
    copied = sch.history.find("cached").parent
    assert copied.step.verb == "cache_read", "the copy is not where it will be"
    assert loads("A_shared", 1).judge(copied.func) is None
    assert loads("A_shared", 2).judge(sch.history.find("cached").func) is None


def uses(by: str, stage: str | None = None) -> Question:
    return lesson.how_often_used(
        "A",
        "how often?",
        (1, 2, 4, 8),
        steps="these steps",
        why={2: "So it is.", 4: "So it is."},
        by=by,
        axes=("threadIdx.x", "threadIdx.y"),
        stage=stage,
    )


def test_uses_of_an_element_by_a_thread_and_by_a_block():
    sch = blocking(wb.Schedule(matmul(8)), 2, 2, 2, 2, 2)
    verdicts = {by: uses(by, "C_local").judge(sch.func) for by in ("thread", "block")}
    assert {by: (v.truth, v.why) for by, v in verdicts.items()} == {
        "thread": (
            "2 times",
            "the first thread reads 16 elements of A, 32 times in all: 2 times each. So it is.",
        ),
        "block": (
            "4 times",
            "the first block reads 32 elements of A, 128 times in all: 4 times each. So it is.",
        ),
    }


def test_uses_are_undecided_before_the_steps():
    sch = blocking(wb.Schedule(matmul(8)), 2, 2, 2, 2, 2)
    nodes = sch.history[sch.node.id].path()
    asked = [uses("thread").judge(node.func) is None for node in nodes]
    assert asked == [True] * 11 + [False, False]
    assert uses("thread", "A_shared").judge(sch.func) is None
    nothing = lesson.how_often_used("C", "?", (1,), by="thread", steps="", why={})
    assert nothing.judge(sch.func) is None, "C is only written"


@pytest.mark.lesson
def test_a_cell_that_runs_again_keeps_its_history():
    sch = lesson.begin(parse(ADD))
    sch.split("i", factors=[2, 4])
    sch.mark("two")
    again = lesson.begin(parse(ADD))
    assert again is sch and again.node.id == 0 and len(again.history) == 2
    del sch, again
    gc.collect()
    assert len(lesson.begin(parse(ADD)).history) == 1
