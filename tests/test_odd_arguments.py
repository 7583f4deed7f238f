"""What no call can take is refused in a sentence that says what to pass, whatever was passed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import workbench as wb
from tests.support.named_programs import named_program
from workbench import lesson, script, tvm
from workbench.diag import Fail


def schedule() -> wb.Schedule:
    return wb.Schedule(named_program(["A"], "main"))


def emulate(**watched: object) -> object:
    return wb.build(schedule()).emulate(np.zeros(2, "float32"), **watched)


ASKED: dict[Callable[[], object], str] = {
    lambda: wb.ir_module(3): "Can't make a module of a value of type int: it is no class.\n"
    "do:    write @ir_module above a class that holds programs",
    lambda: script.diff(3, 3): "Can't show a int: it is no part of a program.\n"
    "do:    pass a program, such as sch.func",
    lambda: schedule().take_step(1, 3): "Can't take step 1: a value of type int is no step.\n"
    "do:    pass one of a trace: sch.trace.steps[0]",
    lambda: lesson.exercise("few_loads").reached(3): "Can't look at a value of type int: "
    "it is no program.\ndo:    pass the program of a schedule: exercise.reached(mine.func)",
    lambda: lesson.compare(3): "Can't compare a value of type int: it names no programs.\n"
    "do:    give each a name: lesson.compare({'naive': naive, 'mine': sch})",
    lambda: lesson.compare({}, beside=3): "Can't time a value of type int beside the programs.\n"
    "do:    give each a name and what times it: beside={'library': function}",
    lambda: emulate(progress=3): "Can't call progress=3.\ndo:    give a function of two numbers, "
    "the blocks done and those in all: progress=print",
    lambda: emulate(stop=3): "Can't be stopped by stop=3.\n"
    "do:    give an event: stop=threading.Event()",
}


@pytest.mark.parametrize("call", ASKED)
def test_the_refusal_says_what_to_pass(call: Callable[[], object]):
    with pytest.raises(Fail) as error:
        call()
    assert str(error.value) == ASKED[call]


@pytest.mark.parametrize(
    "odd", [None, 3, "a", [], object()], ids=lambda value: type(value).__name__
)
def test_names_of_any_type_are_refused(odd: object):
    for call in (lesson.question, lesson.quiz, lesson.review, schedule().apply, tvm.device):
        with pytest.raises(Fail, match=r"^Can't "):
            call(odd)  # type: ignore[operator]
