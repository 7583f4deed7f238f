"""Every refusal of the schedule and its loop verbs, read whole.

`refusals.txt` holds for each the program that it starts from, the calls, and the text of the error
that the last call raises.
"""

from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.schedule import programs
from workbench import script

TEXT = (Path(__file__).parent / "refusals.txt").read_text(encoding="utf-8")
CASES = [case.partition("\n---\n") for case in TEXT.removeprefix("=== ").split("\n\n=== ")]


@pytest.mark.parametrize("head, expected", [(head, text) for head, _, text in CASES])
def test_refusal(head: str, expected: str) -> None:
    name, *calls = head.splitlines()
    source = getattr(programs, name)
    schedules = {key: wb.Schedule(script.parse(source)) for key in ("sch", "other")}
    space = {"wb": wb, "np": np, **schedules}
    for call in calls[:-1]:
        exec(call, space)
    before = schedules["sch"].node
    with pytest.raises(wb.ScheduleError) as refused:
        exec(calls[-1], space)
    assert str(refused.value) == expected.strip("\n")
    assert len(str(refused.value).splitlines()[0]) <= 120
    assert refused.value.hint, "it says what to do instead"
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    assert schedules["sch"].node is before, "a refused step moves nothing"


def test_each_is_there_once() -> None:
    heads = [head for head, _, _ in CASES]
    assert len(set(heads)) == len(heads) > 70
