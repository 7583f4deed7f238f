"""Calls on two programs, in TVM and here; ``benchmarks/tvm_share.py`` counts on hundreds."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

from tests.support.lanes import faults
from tests.support.told import Loop, Named, Told
from tests.support.tvm_oracle import load_tvm
from tests.support.tvm_share import Shared, calls, start
from workbench.access import deciding, random_data
from workbench.script import parse


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
def test_most_of_what_tvm_takes_rightly_is_taken(tvm: tuple[Any, Any]):
    said = [one for one in calls("random", "0", 0, tvm, 1, 26) if one.theirs == "right"]
    assert len(said) > 15
    assert sum(not one.ours for one in said) >= 0.9 * len(said)


def test_what_does_not_count(tvm: tuple[Any, Any]):
    shared = Shared(start("in place", "accumulate into C"), random.Random(0), tvm)
    said, _ = shared.call(Told("cache_read", (Named("C"), 0, "local")))
    assert (said.theirs, said.kind) == ("right", "chosen")  # a copy that nobody reads
    assert said.headline == "Can't cache_read x for `x`: `x` itself writes x."
    said, _ = shared.call(Told("parallel", (Loop("C", 2),)))
    assert said.theirs in ("refused", "lanes meet")


def found(text: str) -> set[str]:
    """The faults of a program."""
    func = parse(text)
    return faults(func, random_data(func, 0), deciding(func))


def test_lanes_that_meet():
    assert found("""\
@T.prim_func
def main(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
    t = T.alloc_buffer((4,), "float32")
    for r in T.parallel(3):
        for i in range(4):
            with T.block("t"):
                vr, vi = T.axis.remap("SS", [r, i])
                t[vi] = A[vr, vi]
        for i in range(4):
            with T.block("B"):
                vr, vi = T.axis.remap("SS", [r, i])
                B[vr, vi] = t[3 - vi]
""") == {"lanes meet"}


def test_a_part_of_a_sum_and_a_cell_that_holds_nothing():
    assert found("""\
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((1,), "float32")):
    t = T.alloc_buffer((2,), "float32")
    for k in range(4):
        with T.block("B"):
            v = T.axis.spatial(1, 0)
            vk = T.axis.reduce(4, k)
            with T.init():
                B[v] = T.float32(0)
            B[v] = B[v] + A[vk]
        with T.block("C"):
            v = T.axis.spatial(1, 0)
            C[v] = B[v] + t[v]
""") == {"reads part of a sum", "reads nothing"}
