"""Numbers and names in all pictures of random schedules, against a log of every thread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.cases import CASES
from tests.support.pictured.check import checked
from tests.support.pictured.kinds import KINDS
from tests.support.pictured.log import ProgramLog
from tests.support.pictured.memory import check_memory
from tests.support.pictured.programs import drawn
from tests.support.pictured.tally import Tally
from workbench import draw
from workbench.lower import lower
from workbench.target import get


@pytest.mark.fuzz
def test_every_number_and_name_is_what_threads_do():
    found = [checked(seed) for seed in range(max(CASES // 3, 1))]
    assert not [wrong for one in found for wrong in one.wrong]
    kinds = {kind for one in found for kind in one.counts}
    assert {kind for kind in kinds if not kind.startswith("left out")} <= KINDS
    assert len(kinds) > 100


@pytest.mark.parametrize(
    "right, said",
    [
        ("“line 17”", "“line 17”"),
        ("“line 17”", "“line 16”"),
        ("“line 17”", "“at line 17”"),
        ("by each thread", "by each block"),
        ("of i_m_1", "of i_m_0"),
        ("keeps 4 bytes", "keeps 8 bytes"),
    ],
)
def test_what_is_said_below_a_picture_is_held_against_the_program(right: str, said: str):
    func = drawn(1185).func
    picture = draw.picture_of(func, "memory")
    assert right in picture.caption
    other = replace(picture, caption=picture.caption.replace(right, said))
    kernels, tally = lower(func, get("cuda")).kernels, Tally()
    check_memory(tally, ProgramLog(func), kernels, other, None, {})
    assert bool(tally.wrong) == (right != said)


def test_what_no_rule_reads_is_wrong():
    tally = Tally(where="here")
    tally.read("A has 3 cells", [(r"A has (\d+) cells", lambda m: tally.same("n", m[1], "3"))])
    assert not tally.wrong and tally.counts == {"n": 1}
    tally.read("B has 4 cells", [(r"A has (\d+) cells", lambda _: None)])
    tally.read("A has 3 cells of 8", [(r"A has (\d+) cells of 8", lambda _: None)])
    tally.whole("A_share…")
    tally.same("n", 4, 5)
    assert tally.wrong == [
        "here: unknown words 'B has 4 cells'",
        "here: unread number at 17 of 'A has 3 cells of 8'",
        "here: cut: 'A_share…'",
        "here: n: 4, not 5",
    ]
