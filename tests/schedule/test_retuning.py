"""Random schedules with other numbers in an earlier split: as if they had been made so."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import seeds
from tests.support.random_programs import fresh, random_inputs, random_program
from tests.support.random_steps import Chooser
from tests.support.steps import LOOP_VERBS
from tests.support.told import Told, take_ours
from workbench import emulate, script
from workbench.ir import Const, PrimFunc
from workbench.schedule import ScheduleError
from workbench.schedule.retuning import StepsRefused

MOST = 8  # turns of a loop that is given a number
STEPS = (LOOP_VERBS, None, ("bind", "vectorize"), ("compute_at", "reverse_compute_at", "rfactor"))


def walked(rng: random.Random, length: int = 14) -> tuple[wb.Schedule, list[Told]]:
    """A random program on which steps were taken, a split first, and how each of them is told."""
    sch, told = wb.Schedule(random_program(rng)), []
    for k in range(length):
        verbs = ("split",) if not told else STEPS[k % len(STEPS)]
        step = Chooser(sch.func, rng).step(verbs)
        if step is None or step.verb.startswith("sample_"):  # what was drawn fits one number alone
            continue
        before = sch.node
        try:
            take_ours(sch, step)
        except ScheduleError:
            continue
        assert sch.node.parent is before
        told.append(step)
    return sch, told


def splits(sch: wb.Schedule) -> list[int]:
    """The numbers of the splits on the way here that were told factors, of loops with a number."""
    found = []
    for number, step in enumerate(sch.trace.steps, 1):
        made = sch.node.after(number)
        known = made.places[step.func].loops
        if step.verb == "split" and all(isinstance(known[k].extent, Const) for k in made.keys):
            found.append(number)
    return found


def new_factors(rng: random.Random, count: int) -> list[int | None]:
    """As many numbers, of which one is worked out: so they cover any loop."""
    factors: list[int | None] = [rng.randint(1, MOST) for _ in range(count)]
    factors[rng.randrange(count)] = None
    return factors


def afresh(first: PrimFunc, told: list[Told], changed: dict[int, list[int | None]]) -> wb.Schedule:
    """A new schedule with these steps, of which some have other factors.

    Raises ScheduleError where one is refused, and where its loop is not there.
    """
    sch = wb.Schedule(first)
    for number, step in enumerate(told, 1):
        try:
            take_ours(sch, _with(step, changed[number]) if number in changed else step)
        except IndexError:  # of get_loops
            raise ScheduleError("the program has no loop") from None
    return sch


def _with(step: Told, factors: list[int | None]) -> Told:
    loop, old, *rest = (*step.args, *(value for name, value in step.kwargs if name == "factors"))
    assert len(old) == len(factors) and not rest
    return replace(step, args=(loop,), kwargs=(("factors", factors),))


def evaluated(func: PrimFunc, inputs: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    arrays = fresh(inputs)
    emulate.evaluate(func, arrays)
    return arrays


def outcome(seed: int) -> str:
    """Retune a random schedule, and hold what comes of it against the one that is made afresh."""
    rng = random.Random(seed)
    sch, told = walked(rng)
    numbers = splits(sch)
    if not numbers:
        return "no split"
    first, number = sch.history.root.func, rng.choice(numbers)
    factors = new_factors(rng, len(sch.node.after(number).keys))
    changed, at, count = {number: factors}, sch.node, len(sch.history)
    try:
        try:
            sch.retune(number, factors=factors)
        except StepsRefused as refused:
            if not refused.also:
                raise
            sch.retune(number, also=refused.also, factors=factors)
            changed |= {n: list(one["factors"]) for n, one in refused.also.items()}
    except ScheduleError as refused:
        assert sch.node is at and len(sch.history) == count  # nothing is taken
        with pytest.raises(ScheduleError) as alone:
            afresh(first, told, changed)
        why = alone.value.headline.rstrip(".")
        if re.search("the program has no (loop|block|buffer)", why):
            why = "is not there with these numbers"  # so a retuned step tells what it works on
        assert why in f"{refused.headline}\n{refused.detail}", str(refused)
        return "refused"
    made = afresh(first, told, changed)
    assert wb.structural_equal(sch.func, made.func), script.show(sch.func)
    assert sch.node.depth == at.depth
    inputs = random_inputs(first, random.Random(seed))
    for wanted, got in zip(evaluated(first, inputs), evaluated(sch.func, inputs), strict=True):
        np.testing.assert_array_equal(got, wanted, err_msg=script.show(sch.func))
    return "taken"


@pytest.mark.fuzz
def test_other_numbers_in_an_earlier_split_are_as_if_it_had_been_made_so() -> None:
    found = Counter(outcome(seed) for seed in seeds(6))
    assert found["taken"] > len(seeds(2)) and found["refused"], found


TWO_KERNELS = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), \
C: T.Buffer((64, 64), "float32")):
    for x, y in T.grid(64, 64):
        with T.block("B"):
            vx, vy = T.axis.remap("SS", [x, y])
            B[vx, vy] = A[vx, vy]
    for i, j in T.grid(64, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
"""


@pytest.mark.parametrize("others", [None, 2, 16])
def test_what_is_tied_is_so_in_its_own_kernel(others: int | None):
    """Whatever other kernels have on the axis, and only where its size is what is refused."""
    sch = wb.Schedule(script.parse(TWO_KERNELS))
    if others is not None:
        _, thread = sch.split("y", [None, others])
        sch.bind(thread, "threadIdx.x")
    number = len(sch.trace.steps) + 1
    _, i_1 = sch.split("i", [None, 16])
    sch.bind(i_1, "threadIdx.y")
    _, j_1 = sch.split("j", [None, 64])
    sch.bind(j_1, "threadIdx.x")
    with pytest.raises(StepsRefused, match="a block would have 2048 threads") as many:
        sch.retune(number, factors=[None, 32])
    assert many.value.also == {} and many.value.followed is None

    sch.goto(sch.node.after(number + 1))
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, i_1)
    _, own = sch.split(sch.get_loops(copy)[-1], factors=[None, 16])
    sch.bind(own, "threadIdx.y")
    with pytest.raises(StepsRefused) as tied:
        sch.retune(number, factors=[None, 8])
    assert [*tied.value.also.values()] == [{"factors": [None, 8]}]
    assert tied.value.followed is not None
