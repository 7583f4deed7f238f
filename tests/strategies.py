"""Hypothesis strategies: random programs, and random schedules of them."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from tests.support.checked_run import CheckedRun
from tests.support.random_programs import random_program
from workbench.ir import PrimFunc

# Hypothesis decides every draw, so that a failing example shrinks.
randoms: st.SearchStrategy[random.Random] = st.randoms(use_true_random=False)


def programs() -> st.SearchStrategy[PrimFunc]:
    """Programs of one to three stages."""
    return st.builds(random_program, randoms)


def runs() -> st.SearchStrategy[CheckedRun]:
    """Schedules of random programs at their start; each step that they take is checked."""
    return st.builds(CheckedRun, randoms)
