"""How often a step asks where everything is in a program: once of each program at hand."""

import sys
from collections import Counter

import pytest

import workbench as wb
from benchmarks.matmuls import blocking_with_shared, matmul
from workbench.ir import PrimFunc
from workbench.ir.places import Places, places


class Asked(wb.Schedule):
    """A schedule that counts, verb by verb, the questions of each of its steps."""

    questions: Counter[PrimFunc]
    steps: dict[str, list[dict[str, int]]]

    def apply(self, verb, *args, **kwargs):
        before = self.func
        self.questions.clear()
        result = super().apply(verb, *args, **kwargs)
        count = {"before": self.questions[before], "after": self.questions[self.func]}
        self.steps.setdefault(verb, []).append({**count, "all": self.questions.total()})
        return result


@pytest.fixture
def counted(monkeypatch):
    """A schedule of the matrix multiply; every module's `places` counts for it."""
    sch = Asked(matmul(64))
    sch.questions, sch.steps = Counter(), {}

    def asked(func: PrimFunc) -> Places:
        sch.questions[func] += 1
        return places(func)

    for name, module in list(sys.modules.items()):
        if name.startswith("workbench.") and getattr(module, "places", None) is places:
            monkeypatch.setattr(module, "places", asked)
    return sch


def test_a_block_that_is_moved_asks_once_of_each_program(counted):
    blocking_with_shared(counted, 4, 4, 4, 4, 8)
    once = {"before": 1, "after": 1, "all": 3}  # the third is without the block's old loops yet
    assert counted.steps["compute_at"] == [once, once]
    assert counted.steps["reverse_compute_at"] == [once]


def test_a_step_that_is_not_checked_ahead_asks_once_of_its_program(counted):
    blocking_with_shared(counted, 4, 4, 4, 4, 8)
    for verb in ("cache_read", "cache_write", "decompose_reduction"):
        assert {(step["before"], step["after"]) for step in counted.steps[verb]} == {(1, 1)}, verb
