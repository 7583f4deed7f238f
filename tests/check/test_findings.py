"""What the checker finds, read whole; `findings.txt` holds programs, calls and findings."""

from pathlib import Path

import pytest

import workbench as wb
from tests.check import programs
from tests.check.telling import telling
from workbench import script

TEXT = (Path(__file__).parent / "findings.txt").read_text(encoding="utf-8")
CASES = [case.partition("\n---\n") for case in TEXT.removeprefix("=== ").split("\n\n=== ")]


@pytest.mark.parametrize("head, expected", [(head, text) for head, _, text in CASES])
def test_findings(head: str, expected: str) -> None:
    name, *calls = head.splitlines()
    sch = wb.Schedule(script.parse(getattr(programs, name)))
    space = {"sch": sch}
    for call in calls:
        exec(call, space)
    text = telling(sch.func)
    assert text == expected.strip("\n")
    heads = [line for line in text.splitlines() if line.startswith(("error: ", "warning: "))]
    told = ["Can't build this: " + line.partition(": ")[2] for line in heads]
    assert all(len(line) <= 120 for line in told)


def test_each_is_there_once() -> None:
    heads = [head for head, _, _ in CASES]
    assert len(set(heads)) == len(heads) > 20
