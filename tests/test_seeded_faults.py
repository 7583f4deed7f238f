"""Faults seeded in the compiler: the checks of random schedules find every one of them."""

from __future__ import annotations

import pytest

from tests.support.checked_run import run_as_cpp, run_seed
from tests.support.faults import FAULTS, Fault

MOST = 80  # schedules after which a fault counts as not found


def found_by(fault: Fault) -> str:
    """What the first check that fails says; nothing where none does."""
    styles = ("gpu first", "gpu last") if fault.builds else ("free",)
    for seed in range(fault.first, fault.first + MOST):
        try:
            jobs = run_seed(seed, fault.verbs, styles).jobs
        except Exception as failure:
            return str(failure).splitlines()[0] or repr(failure)
        try:
            run_as_cpp(jobs if fault.code else [])
        except AssertionError as failure:
            return str(failure).splitlines()[0]
    return ""


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch, gxx: str):
    FAULTS[name].seed(monkeypatch)
    assert found_by(FAULTS[name]), f"no check saw it: {name}"


def test_there_are_at_least_thirty():
    assert len(FAULTS) >= 30


def test_without_a_fault_the_same_schedules_pass():
    for seed in range(8):
        run_seed(seed, styles=("gpu first", "gpu last"))
