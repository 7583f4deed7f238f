"""Steps of a schedule under test: whether each keeps the meaning."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable

import numpy as np

from tests.support import reference
from tests.support.random_programs import fresh, random_inputs, random_program
from tests.support.random_steps import Chooser
from tests.support.told import take_ours
from workbench import script
from workbench.ir import PrimFunc
from workbench.schedule import Schedule, ScheduleError

LOOP_VERBS = ("split", "fuse", "reorder")


def after(text: str, *steps: Callable[[Schedule], object]) -> str:
    """The body of the program that `steps` make of `text`; each is checked to keep its meaning."""
    sch = Schedule(script.parse(text))
    first = sch.func
    for step in steps:
        step(sch)
        check_same_meaning(first, sch.func)
    check_rereads(sch.func)
    return textwrap.dedent("\n".join(script.show(sch.func).splitlines()[3:]))


def check_same_meaning(first: PrimFunc, then: PrimFunc, seed: int = 0) -> None:
    """Both programs write the same values, cell by cell, and read nothing that was not written."""
    inputs = random_inputs(first, random.Random(seed))
    wanted, got = fresh(inputs), fresh(inputs)
    reference.run(first, wanted)
    reference.run(then, got)
    for a, b, buffer in zip(wanted, got, first.params, strict=True):
        np.testing.assert_array_equal(b, a, err_msg=f"{buffer.name} after:\n{script.show(then)}")


def check_rereads(func: PrimFunc) -> None:
    """The program prints and reads to itself."""
    text = script.show(func)
    assert script.show(script.parse(text)) == text


def walk_at_random(seed: int, verb: str, length: int = 6) -> int:
    """Steps on a random program, `verb` and loop steps by turns; how many of `verb` were taken."""
    rng = random.Random(seed)
    sch = Schedule(random_program(rng))
    first, taken = sch.func, 0
    for k in range(length):
        step = Chooser(sch.func, rng).step((verb,) if k % 2 else LOOP_VERBS)
        if step is None:
            continue
        try:
            take_ours(sch, step)
        except ScheduleError as refused:
            assert len(refused.headline) <= 120, refused.headline
            continue
        check_same_meaning(first, sch.func, seed)
        taken += step.verb == verb
    return taken
