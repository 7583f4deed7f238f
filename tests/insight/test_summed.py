"""Sums that threads share out: their cells are touched as the kernel does, not term by term."""

from __future__ import annotations

import pytest

import workbench as wb
from benchmarks.matmuls import matmul
from workbench import insight
from workbench.insight.accesses import accesses
from workbench.insight.summed import summed
from workbench.ir import PrimFunc


def shared_out(terms: int = 64, apart: bool = False, scope: str = "global") -> PrimFunc:
    """A product of 8 x 8, each cell by 32 threads, which start its sum or go on from there."""
    sch = wb.Schedule(matmul(8, 8, terms))
    if scope != "global":
        sch.cache_write(sch.get_block("C"), 0, scope)
    i, j, k = sch.get_loops(sch.get_block("C"))
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "blockIdx.y")
    k_0, k_1 = sch.split(k, [None, 32])
    sch.bind(k_1, "threadIdx.x")
    if apart:
        sch.decompose_reduction(sch.get_block("C"), k_0)
    return sch.func


def of_c(func: PrimFunc, name: str = "C") -> tuple[int, int]:
    """How often C is loaded, and stored."""
    uses = (use for level in insight.memory(func).levels for use in level.buffers)
    return next((use.loads, use.stores) for use in uses if use.buffer == name)


def test_a_sum_that_threads_share_is_stored_once_behind_its_loops():
    func = shared_out()
    assert insight.memory(func).caption == "8,192 loads from and 64 stores to global memory."
    assert not any(flow.source == "C" for flow in insight.memory(func).flows)
    assert insight.tiles(func).caption.splitlines()[-1] == "C: writes all 64 cells, each once."
    turn = insight.tiles(func, {"k_0": 1}).caption
    assert turn.splitlines()[-1] == "C: written after the loop over k_0."
    assert insight.redundancy(func).buffers[-1].buffer == "B"


def test_a_sum_that_goes_on_is_loaded_once_behind_its_loops():
    """All 32 threads clear the cell, then one adds to it what they have summed up of 50 terms."""
    func = shared_out(50, apart=True)
    assert of_c(func) == (64, 64 * (32 + 1))
    turn = insight.tiles(func, {"k_0": 1}).caption
    assert turn.splitlines()[-1] == (
        "C: written before and after the loop over k_0; read after the loop over k_0."
    )


def test_each_thread_stores_a_result_of_its_own():
    func = shared_out(scope="local")
    assert of_c(func, "C_local")[1] == 64 * 32


@pytest.mark.parametrize("axis", ["blockIdx.z", "vthread"])
def test_what_no_threads_share_stays_as_the_program_has_it(axis: str):
    sch = wb.Schedule(matmul(8, 8, 64))
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, axis)
    assert of_c(sch.func) == (64 * 64, 64 * 65)
    assert summed(sch.func) is accesses(sch.func)
