"""Numbers and names in all pictures of random schedules, against a log of every thread."""

from __future__ import annotations

import pytest

from tests.support.cases import CASES
from tests.support.pictured.check import checked
from tests.support.pictured.kinds import KINDS
from tests.support.pictured.tally import Tally


@pytest.mark.fuzz
def test_every_number_and_name_is_what_threads_do():
    found = [checked(seed) for seed in range(max(CASES // 3, 1))]
    assert not [wrong for one in found for wrong in one.wrong]
    kinds = {kind for one in found for kind in one.counts}
    assert {kind for kind in kinds if not kind.startswith("left out")} <= KINDS
    assert len(kinds) > 100


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
