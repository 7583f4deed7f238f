"""Sums that threads share out, as kernels: on the emulator and as C++, against their meaning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import workbench as wb
from tests.access.corpus import FAMILIES, program
from tests.support.cpp import compile_cpp
from tests.support.walk import arrays
from workbench import emulate, target
from workbench.access import random_data
from workbench.ir import PrimFunc
from workbench.lower import lower

FAMILY = "shared sums"


def built(func: PrimFunc) -> wb.runtime.Built:
    """The kernels of `func`; they may be wasteful."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        return wb.build(wb.Schedule(func), target="cuda")


def given(func: PrimFunc) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What the parameters hold at first, and what they hold in the end."""
    before = arrays(func, random_data(func, 3))
    after = [array.copy() for array in before]
    emulate.evaluate(func, after)
    return before, after


@pytest.mark.parametrize("name", FAMILIES[FAMILY])
def test_the_emulator_runs_it(name: str) -> None:
    func = program(FAMILY, name)
    got, meant = given(func)
    built(func).emulate(*got)
    for a, b in zip(got, meant, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("language", ["cuda", "metal"])
@pytest.mark.usefixtures("gxx")
def test_the_text_runs_as_cpp(language: str) -> None:
    funcs = [program(FAMILY, name) for name in FAMILIES[FAMILY]]
    runs = [given(func) for func in funcs]
    gpu = target.get(language)
    jobs = [(k, got) for k, (got, _) in enumerate(runs)]
    compile_cpp([lower(func, gpu) for func in funcs], language).run(jobs)
    for name, (got, meant) in zip(FAMILIES[FAMILY], runs, strict=True):
        for a, b in zip(got, meant, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=name)
