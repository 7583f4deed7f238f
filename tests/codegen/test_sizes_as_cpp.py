"""The CUDA text of one kernel for any size, run as C++ at several of them."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import workbench as wb
from tests.support.cpp import compile_sized
from tests.support.sized_programs import (
    FAMILIES,
    arrays_of,
    at,
    bind_rest,
    read,
    sizes_to_try,
)
from workbench import emulate
from workbench.runtime.sized import at_sizes


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_runs_as_cpp(family, gxx):
    rng, sch = random.Random(0), wb.Schedule(read(family))
    first = sch.func
    for block in ("C", "D"):
        if any(one.name == block for one in sch.get_blocks()):
            sch.split(sch.get_loops(block)[0], factors=[None, 4])
    bind_rest(sch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel = wb.build(sch)
    launched, jobs, wanted = [], [], []
    for named in sizes_to_try(first, rng, 4):
        func = at(first, named)
        given = [arrays_of(buffer, rng) for buffer in func.params]
        one = at_sizes(kernel.func, kernel.kernels, kernel.target, given)
        if not all(named.values()) or not one.kernels:
            continue
        right = [array.copy() for array in given]
        emulate.evaluate(func, right)
        launched.append(one)
        jobs.append((len(jobs), given))
        wanted.append(right)
    compile_sized(kernel.source, launched).run(jobs)
    for (_, got), right in zip(jobs, wanted, strict=True):
        for a, b in zip(got, right, strict=True):
            np.testing.assert_allclose(a, b)
