"""Sums whose terms say which cell they go to: T.init() starts the first one of these alone."""

from __future__ import annotations

import random

import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from workbench import ir, script
from workbench.access import difference, random_data

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((3, {k}, 2), "float32"), B: T.Buffer((12,), "float32")):
    for i, k, l in T.grid(3, {k}, 2):
        with T.block("B"):
            vi, vk, vl = T.axis.remap("SRR", [i, k, l])
            with T.init():
                B[{start}] = T.float32(0)
            B[{cell}] = {update}
"""
CELLS = ("vi", "vi * 4", "vi * 4 + vk", "vi * 4 + vk // 2", "vi * 4 + vl", "vi * 4 + vk * 0", "vk")
UPDATES = ("B[{0}] + A[vi, vk, vl]", "T.max(B[{0}], A[vi, vk, vl])", "A[vi, vk, vl]")


def drawn(seed: int) -> str:
    rng = random.Random(seed)
    cell = rng.choice(CELLS)
    start = rng.choice((cell, cell, cell, "vi * 4"))
    update = rng.choice(UPDATES).format(cell)
    return PROGRAM.format(k=rng.choice((1, 4)), start=start, cell=cell, update=update)


@pytest.mark.fuzz
def test_a_step_that_is_taken_keeps_the_meaning():
    taken = 0
    for seed in seeds(3):
        text = drawn(seed)
        func, data = script.parse(text), random_data(script.parse(text), seed)
        for verb, arguments in (
            ("rfactor", ("k", 0)),
            ("rfactor", ("l", 0)),
            ("cache_write", ("B", 0, "global")),
        ):
            sch = wb.Schedule(func)
            try:
                getattr(sch, verb)(*arguments)
            except wb.ScheduleError:
                continue
            taken += 1
            ir.verify(sch.func)
            assert difference(func, sch.func, data) == "", f"{verb}{arguments} of {text}"
    assert taken >= CASES // 2


@pytest.mark.parametrize("cell", ["vi * 4 + vk", "vi * 4 + vl", "vk"])
def test_the_steps_that_are_offered_leave_out_those_that_are_refused(cell: str):
    update = UPDATES[0].format(cell)
    sch = wb.Schedule(script.parse(PROGRAM.format(k=4, start=cell, cell=cell, update=update)))
    said = [verdict for place in ("B", *"ikl") for verdict in sch.actions(place)]
    offered = {verdict.verb for verdict in said if verdict.choices}
    assert "split" in offered
    assert offered.isdisjoint({"rfactor", "cache_write"})
