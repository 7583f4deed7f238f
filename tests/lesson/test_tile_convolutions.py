"""Lesson 10: what is counted of tiles and of calls of a warp, and what is shown of fragments."""

from __future__ import annotations

import re
from functools import cache

import pytest

from workbench import insight, lesson
from workbench.diag import Fail
from workbench.ir import PrimFunc
from workbench.lesson.goals import counts, kernels, on_tensor_cores
from workbench.lesson.measures import MEASURES
from workbench.lesson.programs import bound, elementwise
from workbench.lesson.tile_convolutions import on_tensor_cores as tensorized
from workbench.lesson.tile_convolutions import tile_convolution


@cache
def tutorial() -> PrimFunc:
    return tensorized(tile_convolution(14, 16, 32, 16), (4, 2), (2, 4))


def test_counts_of_the_tutorial_in_full_size():
    found = counts(tutorial())
    assert found.traffic[0].stores == 256 * 14 * 14 * 512
    assert found.loads_per_output == found.traffic[0].loads / found.traffic[0].stores
    assert MEASURES["registers of the sums"](tutorial(), "") == "64 registers"
    # 16 tiles of channels and 9 taps, for each of 8 tiles
    assert MEASURES["calls of a warp"](tutorial(), "tvm_mma_sync") == "1,152 times"
    calls = insight.calls_of_warps(kernels(tutorial()), "tvm_mma_sync")
    assert 2 * calls * 16**3 == found.work
    assert on_tensor_cores().found(tutorial())[0]


def test_fragments_are_told_with_what_nobody_knows_of_them():
    held = lesson.fragments(tutorial())
    assert [(p.scope, p.tiles, p.registers) for p in held.parts] == [
        ("wmma.matrix_a", 2, 8),
        ("wmma.matrix_b", 4, 8),
        ("wmma.accumulator", 8, 8),
    ]
    text = repr(held)
    assert "14 fragments of 16 x 16 cells, in 112 registers" in text
    assert "wmma does not tell" in text
    assert re.search(r"read by tvm_mma_sync and tvm_store_matrix_sync", text)
    drawn = held._repr_html_()
    assert drawn.count(">?<") == 14 and "which cells a thread holds is not told" in drawn


def test_a_program_without_fragments_is_refused():
    with pytest.raises(Fail, match="no warp of this program holds one"):
        lesson.fragments(bound(elementwise(64, "A[vi] + X[vi]", "Y"), (None, 32)))
