"""Random programs under random schedules: every step keeps the meaning, every kernel computes it.

``benchmarks/random_schedules.py`` runs thousands of the same; here are enough for a change that
breaks something to be seen.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.strategies import programs, runs
from tests.support import reference
from tests.support.cases import CASES, seeds
from tests.support.checked_run import CheckedRun, run_as_cpp, run_seed
from tests.support.random_programs import fresh, random_inputs
from tests.support.random_steps import DRAWS, every_verb
from workbench import emulate, ir, script
from workbench.verbs.primitive import REGISTRY, discover

pytestmark = pytest.mark.fuzz
EASY = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@given(programs())
@EASY
def test_programs_verify_and_are_read_back_and_both_references_agree(program):
    ir.verify(program)
    ir.assert_structural_equal(program, script.parse(script.show(program)))
    inputs = random_inputs(program, random.Random(0))
    plain, lanes = fresh(inputs), fresh(inputs)
    reference.run(program, plain)
    emulate.evaluate(program, lanes)
    for a, b in zip(plain, lanes, strict=True):
        np.testing.assert_array_equal(a, b)


@given(runs())
@EASY
def test_every_step_keeps_the_meaning(run: CheckedRun):
    run.random_steps(5)
    run.check_replay()


@pytest.mark.parametrize("part", range(3))
def test_kernels_compute_what_the_program_means(part: int, gxx: str):
    outcomes = [run_seed(seed) for seed in seeds(1, part * CASES)]
    jobs = [job for outcome in outcomes for job in outcome.jobs]
    assert len(jobs) >= CASES // 10  # else the schedules do not reach kernels any more
    run_as_cpp(jobs)


def test_every_verb_is_drawn():
    assert set(every_verb()) >= set(discover())
    assert set(DRAWS) <= set(REGISTRY)
