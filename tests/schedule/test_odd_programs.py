"""Steps that would change what an odd program means are refused, with golden text, read whole."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.access.corpus import program
from tests.support.told import Loop, Named, Told, take_ours
from workbench.access import difference, random_data

CASES = [
    section.partition("---\n")
    for section in (Path(__file__).parent / "odd_programs.txt").read_text().split("=== ")[1:]
]


def told(text: str) -> Told:
    """A step written as ``split(B:0, factors=[2, None])``; a block is its name with nothing on."""
    verb, _, rest = text.partition("(")
    space = {"loop": lambda name, at: Loop(name, at), "block": Named}
    args, kwargs = eval(f"(lambda *a, **k: (a, k))({rest}", space)
    return Told(verb, args, tuple(kwargs.items()))


@pytest.mark.parametrize(("head", "text"), [(head, text) for head, _, text in CASES])
def test_a_step_that_would_change_the_meaning_is_refused(head: str, text: str):
    where, *steps = head.strip().splitlines()
    family, name = where.split(" / ")
    sch = wb.Schedule(program(family, name))
    for step in steps[:-1]:
        take_ours(sch, told(step))
    with pytest.raises(wb.ScheduleError) as refused:
        take_ours(sch, told(steps[-1]))
    assert str(refused.value) == text.strip("\n")


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("row turned round", 'reverse_compute_at(block("B"), loop("t", 1))'),
        ("row turned round", 'compute_at(block("t"), loop("B", 1))'),
        ("row sum then scaled", 'reverse_compute_at(block("B"), loop("s", 1))'),
        ("filled once, read in many turns", 'compute_at(block("t"), loop("B", 2))'),
    ],
)
def test_a_block_moves_within_the_turn_that_fills_its_buffer_anew(name: str, step: str):
    before = program("refilled", name)
    sch = wb.Schedule(before)
    take_ours(sch, told(step))
    for seed in range(3):
        assert not difference(before, sch.func, random_data(before, seed))


def test_what_each_instance_has_for_itself_is_not_shared_by_threads():
    sch = wb.Schedule(program("opaque", "a block that sums by hand"))
    take_ours(sch, told('bind(loop("B", 0), "threadIdx.x")'))
    with pytest.raises(wb.ScheduleError) as refused:
        wb.build(sch, target="cuda")
    assert str(refused.value).splitlines()[0] == (
        "Can't build this: each instance of `B` has a s of its own, and there is one in global "
        "memory for all."
    )


def test_a_buffer_that_is_declared_only_is_not_reindexed():
    sch = wb.Schedule(program("reductions", "starts from an argument"))
    sch.decompose_reduction("C", "i")
    assert sch.actions("C_update")
    with pytest.raises(wb.ScheduleError, match="it declares D, and does not touch it"):
        sch.reindex("C_update", ("read", 1))
