"""Every odd program has a meaning, and the meaning is that of running it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.access.corpus import FAMILIES, program
from tests.support import reference
from tests.support.walk import arrays
from workbench import emulate
from workbench.access import Terms, difference, meaning, random_data, shuffled
from workbench.ir import verify


def test_there_are_many_programs_of_many_families():
    assert len(FAMILIES) >= 12
    assert sum(len(programs) for programs in FAMILIES.values()) >= 150


def check(family: str, name: str) -> None:
    """Hold the terms of a program against two ways to run it; its threads may run in any order."""
    func = program(family, name)
    verify(func)
    terms = meaning(func, random_data(func, 1), Terms())
    ours, evaluated, referred = ([*arrays(func, random_data(func, 1))] for _ in range(3))
    emulate.evaluate(func, evaluated)
    reference.run(func, referred)
    for array, cells in zip(ours, terms, strict=True):
        for cell, term in cells.items():
            array[cell] = term.value
    for a, b, c in zip(ours, evaluated, referred, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(a, c, rtol=1e-5, atol=1e-6)
    assert not difference(func, program(family, name), random_data(func, 2), shuffled(0))


EVERY = [(family, name) for family, programs in FAMILIES.items() for name in programs]


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_the_terms_have_the_values_of_a_run(family, name):
    check(family, name)
