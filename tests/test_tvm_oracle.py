"""A few random schedules here and in TVM; ``benchmarks/tvm_oracle.py`` runs a thousand."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.support.tvm_differences import EXPLAINED
from tests.support.tvm_oracle import load_tvm, run_seed

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


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_the_same_verdicts_and_programs(first: int, tvm: tuple[Any, Any]):
    both = 0
    for seed in range(first, first + 20):
        verdicts = run_seed(seed, tvm)
        assert verdicts.unexplained == []
        both += sum(verdicts.both_took.values())
    assert both >= 40


def test_every_explanation_is_in_the_docs():
    text = DOCS.read_text()
    for known in EXPLAINED:
        assert f"**{known.name.removeprefix('program: ')}.**" in text
