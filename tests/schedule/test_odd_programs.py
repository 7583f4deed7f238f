"""Steps on odd programs that are right; those that are refused are in refusals/odd_programs.txt."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.access.corpus import program
from workbench.access import difference, random_data


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("row turned round", 'sch.reverse_compute_at(block("B"), loop("t", 1))'),
        ("row turned round", 'sch.compute_at(block("t"), loop("B", 1))'),
        ("row sum then scaled", 'sch.reverse_compute_at(block("B"), loop("s", 1))'),
        ("filled once, read in many turns", 'sch.compute_at(block("t"), loop("B", 2))'),
    ],
)
def test_a_block_moves_within_the_turn_that_fills_its_buffer_anew(name: str, step: str):
    before = program("refilled", name)
    sch = wb.Schedule(before)
    space = {"loop": lambda block, at: sch.get_loops(block)[at], "block": sch.get_block}
    eval(step, {"sch": sch, **space})
    for seed in range(3):
        assert not difference(before, sch.func, random_data(before, seed))


def test_a_buffer_that_is_declared_and_not_touched_leaves_the_others_steps():
    sch = wb.Schedule(program("reductions", "starts from an argument"))
    sch.decompose_reduction("C", "i")
    assert sch.actions("C_update")
