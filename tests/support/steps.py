"""Steps of a schedule under test: what a refusal says, and whether a step keeps the meaning."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable

import numpy as np
import pytest

from tests.support import reference
from tests.support.random_programs import fresh, random_inputs, random_program
from tests.support.random_steps import Chooser
from tests.support.told import take_ours
from workbench import access, script
from workbench.ir import PrimFunc
from workbench.schedule import Schedule, ScheduleError

LOOP_VERBS = ("split", "fuse", "reorder")


def refusal(text: str, *steps: Callable[[Schedule], object]) -> str:
    """The whole text with which the last of `steps` is refused on the program `text`."""
    sch = Schedule(script.parse(text))
    for step in steps[:-1]:
        step(sch)
    with pytest.raises(ScheduleError) as refused:
        steps[-1](sch)
    assert len(refused.value.headline) <= 120, refused.value.headline
    return str(refused.value)


def after(text: str, *steps: Callable[[Schedule], object]) -> str:
    """The body of the program that `steps` make of `text`; each is checked to keep its meaning."""
    sch = Schedule(script.parse(text))
    meaning = Meaning(sch.func)
    for step in steps:
        step(sch)
        meaning.check(sch.func)
    check_rereads(sch.func)
    return textwrap.dedent("\n".join(script.show(sch.func).splitlines()[3:]))


class Meaning:
    """What a program makes of inputs drawn at random, computed once."""

    def __init__(self, first: PrimFunc, seed: int = 0) -> None:
        self.params = first.params
        self.inputs = random_inputs(first, random.Random(seed))
        self.wanted = fresh(self.inputs)
        reference.run(first, self.wanted)

    def check(self, then: PrimFunc) -> None:
        """`then` writes the same, cell by cell, and reads nothing that was not written."""
        got = fresh(self.inputs)
        reference.run(then, got)
        for a, b, buffer in zip(self.wanted, got, self.params, strict=True):
            if not np.array_equal(b, a):
                told = f"{buffer.name} after:\n{script.show(then)}"
                np.testing.assert_array_equal(b, a, err_msg=told)


class SameTerms:
    """What a program means on data drawn at random, by its terms, worked out once."""

    def __init__(self, first: PrimFunc, seed: int = 0) -> None:
        self.first, self.data = first, access.random_data(first, seed)
        self.numbers, self.made = access.deciding(first), access.Terms()
        self.wanted = access.meaning(first, self.data, self.made, numbers=self.numbers)

    def check(self, then: PrimFunc) -> None:
        """`then` means the same, term by term."""
        got = access.meaning(then, self.data, self.made, numbers=self.numbers)
        for before, after in zip(self.wanted, got, strict=True):
            if any(term is not after[cell] for cell, term in before.items()):
                told = access.difference(self.first, then, self.data)
                raise AssertionError(f"{told}\n{script.show(then)}")


def check_rereads(func: PrimFunc) -> None:
    """The program prints and reads to itself."""
    text = script.show(func)
    assert script.show(script.parse(text)) == text


def walk_at_random(seed: int, verb: str, length: int = 6) -> int:
    """Steps on a random program, `verb` and loop steps by turns; how many of `verb` were taken."""
    rng = random.Random(seed)
    sch = Schedule(random_program(rng))
    meaning, taken = Meaning(sch.func, seed), 0
    for k in range(length):
        step = Chooser(sch.func, rng).step((verb,) if k % 2 else LOOP_VERBS)
        if step is None:
            continue
        try:
            take_ours(sch, step)
        except ScheduleError as refused:
            assert len(refused.headline) <= 120, refused.headline
            continue
        meaning.check(sch.func)
        taken += step.verb == verb
    return taken
