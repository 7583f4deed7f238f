"""A few random schedules here and in TVM; ``benchmarks/tvm_oracle.py`` runs a thousand."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.support import tvm_te
from tests.support.cases import seeds
from tests.support.te_programs import EXPRESSIONS, PROGRAMS
from tests.support.topi_cases import CASES, Case
from tests.support.tvm_differences import EXPLAINED
from tests.support.tvm_oracle import load_tvm, run_seed
from workbench import te
from workbench.te import topi

DOCS = Path(__file__).parent.parent / "docs" / "differences-from-tvm.md"


@pytest.fixture(scope="module")
def tvm() -> tuple[Any, Any]:
    """TVM's schedule and its reader of script text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # TVM's own
            return load_tvm()
    except ImportError as missing:
        pytest.skip(f"apache-tvm is not installed ({missing}): pip install '.[tvm]'")


@pytest.mark.fuzz
def test_the_same_verdicts_and_programs(tvm: tuple[Any, Any]):
    both = 0
    for seed in seeds():
        verdicts = run_seed(seed, tvm)
        assert verdicts.unexplained == []
        both += sum(verdicts.both_took.values())
    assert both >= len(seeds())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_same_program_of_compute_expressions(program: Any, tvm: tuple[Any, Any]):
    theirs = tvm_te.load_te()
    said = tvm_te.verdict(
        te.create_prim_func(program(te)), tvm_te.their_program(theirs, program(theirs))
    )
    assert said == ("expressions" if program.__name__ in EXPRESSIONS else "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_same_program_of_an_operator(case: Case, tvm: tuple[Any, Any]):
    theirs, target = tvm_te.load_te(), tvm_te.any_target()
    with target:
        program = tvm_te.their_program(theirs, case.tensors(theirs, tvm_te.load_topi()))
    said = tvm_te.verdict(te.create_prim_func(case.tensors(te, topi)), program)
    assert said == ("expressions" if case.differs else "")


def test_every_explanation_is_in_the_docs():
    text = DOCS.read_text()
    for name in {*EXPRESSIONS.values(), *(case.differs for case in CASES if case.differs)}:
        assert f"**{name}.**" in text
    for known in EXPLAINED:
        assert f"**{known.name.removeprefix('program: ')}.**" in text
