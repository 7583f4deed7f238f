"""Faults seeded in the compiler: random schedules, or walks on odd programs, find every one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.access.corpus import program
from tests.support.checked_run import run_as_cpp, run_seed
from tests.support.faults import FAULTS, Fault
from tests.support.theory_faults import FAULTS as THEORY_FAULTS
from tests.support.walk import Walk, Wrong
from workbench.verbs.primitive import discover

pytestmark = pytest.mark.fuzz
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


@pytest.fixture
def read_anew() -> Iterator[None]:
    """Odd programs of which nothing is known: not what was right, nor, later, what was faulty."""
    program.cache_clear()
    yield
    program.cache_clear()


@pytest.mark.usefixtures("read_anew")
@pytest.mark.parametrize("name", THEORY_FAULTS)
def test_fault_of_the_theory_is_found(name: str, monkeypatch: pytest.MonkeyPatch):
    fault = THEORY_FAULTS[name]
    discover()  # what the verbs import is replaced, too
    fault.seed(monkeypatch)
    for seed in range(20):
        walk = Walk(fault.family, fault.program, seed)
        try:
            walk.go(4, fault.verbs)
            walk.run_kernel()
        except Wrong:
            return
    pytest.fail(f"no walk saw it: {name}")


def test_there_are_at_least_forty_five():
    assert len(FAULTS) + len(THEORY_FAULTS) >= 45


def test_without_a_fault_the_same_schedules_pass():
    for seed in range(8):
        run_seed(seed, styles=("gpu first", "gpu last"))
