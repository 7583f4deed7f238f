"""What a refusal says to write is itself accepted, in the program that it was said of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

import workbench as wb
from tests.schedule import programs
from tests.schedule.test_refusals import CASES, space_before
from workbench import script
from workbench.history.handles import Handle
from workbench.schedule.actions import Verdict
from workbench.verbs.primitive import REGISTRY

STARTS = dict.fromkeys(
    [text for name, text in vars(programs).items() if name.isupper()]
    + [example.before for prim in REGISTRY.values() for example in prim.examples]
    + [example.after for prim in REGISTRY.values() for example in prim.examples]
)


def calls(text: str) -> Iterator[str]:
    """Each call of a schedule in `text`, but for the one that only says what a verb takes."""
    for start in re.finditer(r"(the call is )?sch\.\w+(?=\()", text):
        depth = 0
        for end in range(start.end(), len(text)):
            depth += (text[end] == "(") - (text[end] == ")")
            if depth == 0:
                break
        call = text[start.start() : end + 1]
        if not start[1] and "…" not in call and "get_loops(block)" not in call:
            yield call


def test_calls_are_found():
    text = (
        'the call is sch.f(a, b=…), for example sch.g("i", [f(1), 2]); sch.h(); sch.k(…) or sch.m'
    )
    assert list(calls(text)) == ['sch.g("i", [f(1), 2])', "sch.h()"]


@pytest.mark.parametrize(
    ("source", "steps", "call"),
    [
        (source, steps, call)
        for cases in CASES.values()
        for source, steps, text in cases
        for call in calls(text.split("\ndo:")[-1])
    ],
)
def test_of_the_refusals_that_are_read_whole(source: str, steps: str, call: str):
    exec(call, space_before(source, steps))


@cache
def said(start: str) -> tuple[wb.Schedule, list[tuple[Handle, Verdict]]]:
    """A schedule of the program, not to be changed, and what the verbs say of its places."""
    sch = wb.Schedule(script.parse(start))
    sch.work_on(sch.mod.functions[0].name)
    found = [(block, *sch.get_loops(block)) for block in sch.get_blocks()]
    return sch, [(at, verdict) for places in found for at in places for verdict in sch.actions(at)]


@pytest.mark.parametrize("start", STARTS, ids=range(len(STARTS)))
def test_of_all_that_the_verbs_say_of_a_program(start: str):
    sch, verdicts = said(start)
    hints = {option.hint for _, verdict in verdicts for option in verdict.options}
    for call in {call for hint in hints for call in calls(hint)}:
        exec(call, {"sch": sch.fork()})


@pytest.mark.parametrize("verb", REGISTRY)
def test_of_wrong_arguments(verb: str):
    found = 0
    for start in (programs.MATMUL, programs.TWO, *(e.before for e in REGISTRY[verb].examples)):
        sch, verdicts = said(start)
        for place in {place for place, verdict in verdicts if verdict.verb == verb}:
            for wrong in ({}, {"factor": 4}, {"axis": 0}, {"loop": "i"}, {"cleverly": True}):
                try:
                    sch.fork().apply(verb, place, **wrong)
                except wb.ScheduleError as refused:
                    for call in calls(refused.hint):
                        exec(call, {"sch": sch.fork(), place.name: place})
                        found += 1
    assert found or len(REGISTRY[verb].params) == 1 or not REGISTRY[verb].choices
