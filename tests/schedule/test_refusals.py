"""Every refusal of the schedule, of its verbs and of the build, read whole.

A file of `refusals/` holds programs of its own, and for each refusal the program that it starts
from, the calls, and the text of the error that the last call raises. A program is one of that
file, of `programs` or `block_programs`, or an odd one by its family and name.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.access import corpus
from tests.schedule import programs
from tests.support import block_programs
from workbench import script

SHARED = {name: text for names in (programs, block_programs) for name, text in vars(names).items()}
ODD = {
    f"{family} / {name}": text
    for family, of in corpus.FAMILIES.items()
    for name, text in of.items()
}


def cases_of(path: Path) -> list[tuple[str, str, str]]:
    """The program, the calls and the expected text of each case of a file."""
    own: dict[str, str] = {}
    cases = []
    for section in path.read_text(encoding="utf-8").removeprefix("=== ").split("\n\n=== "):
        name, _, rest = section.partition("\n")
        if name.startswith("program "):
            own[name.removeprefix("program ")] = rest
        else:
            calls, _, expected = rest.partition("\n---\n")
            cases.append(({**SHARED, **ODD, **own}[name], calls, expected.rstrip("\n")))
    return cases


def space_before(source: str, calls: str) -> dict[str, Any]:
    """The names that calls are made with, where all of `calls` but the last are made."""
    sch, other = (wb.Schedule(script.parse(source)) for _ in range(2))
    space = {"wb": wb, "np": np, "sch": sch, "other": other, "block": sch.get_block}
    space["loop"] = lambda name, at: sch.get_loops(name)[at]
    for call in calls.splitlines()[:-1]:
        exec(call, space)
    return space


FILES = sorted(Path(__file__).with_name("refusals").glob("*.txt"))
CASES = {path.stem: cases_of(path) for path in FILES}


@pytest.mark.parametrize(
    ("source", "calls", "expected"),
    [
        pytest.param(*case, id=f"{name}-{k}")
        for name, cases in CASES.items()
        for k, case in enumerate(cases)
    ],
)
def test_refusal(source: str, calls: str, expected: str) -> None:
    space = space_before(source, calls)
    sch = space["sch"]
    before = sch.node
    with pytest.raises(wb.ScheduleError) as refused:
        exec(calls.splitlines()[-1], space)
    assert str(refused.value) == expected
    assert len(refused.value.headline) <= 120
    assert refused.value.hint, "it says what to do instead"
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    assert sch.node is before, "a refused step moves nothing"


def test_each_is_there_once() -> None:
    heads = [(source, calls) for cases in CASES.values() for source, calls, _ in cases]
    assert len(set(heads)) == len(heads) > 200
