"""Hypothesis strategies: random programs, and random schedules of them."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from tests.support.checked_run import CheckedRun
from tests.support.random_programs import random_program
from workbench.ir import PrimFunc

# Hypothesis decides every draw, so that a failing example shrinks.
randoms: st.SearchStrategy[random.Random] = st.randoms(use_true_random=False)


def texts(longest: int) -> st.SearchStrategy[str]:
    """As hypothesis' own, but that asks a codec for each of all characters: a second a process."""
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=longest)


def programs() -> st.SearchStrategy[PrimFunc]:
    """Programs of one to three stages."""
    return st.builds(random_program, randoms)


def runs() -> st.SearchStrategy[CheckedRun]:
    """Schedules of random programs at their start; each step that they take is checked."""
    return st.builds(CheckedRun, randoms)
