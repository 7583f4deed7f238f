"""Updates that a block does by hand in memory of its own, run by all threads of a GPU's block."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import script

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((3, 6), "float32"), B: T.Buffer((3,), "float32")):
    S = T.alloc_buffer((3, 6), scope="shared")
    for x in T.thread_binding(3, thread="blockIdx.x"):
        for t in T.thread_binding(6, thread="threadIdx.x"):
            with T.block("S"):
                vx, vt = T.axis.remap("SS", [x, t])
                S[vx, vt] = A[vx, vt]
        with T.block("B"):
            vi = T.axis.spatial(3, x)
            T.reads(S[vi, 0:6])
            T.writes(B[vi])
            s = T.alloc_buffer((2,), scope="{scope}")
            s[0] = T.float32(0)
            s[1] = T.float32(0)
            for k in range(6):
                s[k % 2] = s[k % 2] + S[vi, k]
            B[vi] = s[0] * s[1]
"""


@pytest.mark.parametrize("scope", ["global", "shared"])
def test_memory_that_the_threads_share_is_not_updated_by_each(scope: str):
    func = script.parse(PROGRAM.format(scope=scope))
    with pytest.raises(wb.ScheduleError, match="all 6 threads would do the same") as told:
        wb.build(func)
    assert 'allocate s in "local" memory' in str(told.value)


def test_registers_are():
    with pytest.warns(wb.ScheduleWarning, match="6 threads each write the same 1 element of B"):
        kernel = wb.build(script.parse(PROGRAM.format(scope="local")))
    a = np.random.default_rng(0).random((3, 6)).astype("float32")
    b = np.zeros(3, "float32")
    kernel.emulate(a, b)
    expected = (a[:, 0] + a[:, 2] + a[:, 4]) * (a[:, 1] + a[:, 3] + a[:, 5])
    np.testing.assert_allclose(b, expected, rtol=1e-6)


@pytest.mark.parametrize("scope", ["global", "shared"])
def test_two_threads_need_memory_of_their_own(scope: str):
    text = f"""
@T.prim_func
def main(A: T.Buffer((2, 2), "float32"), B: T.Buffer((2,), "float32")):
    for t in T.thread_binding(2, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(2, t)
            s = T.alloc_buffer((1,), scope="{scope}")
            s[0] = A[v, 0]
            B[v] = s[0] * A[v, 1]
"""
    with pytest.raises(wb.ScheduleError, match="each instance of `B` has a s of its own"):
        wb.build(script.parse(text))


SHARED_OUT = """
@T.prim_func
def main(A: T.Buffer((3, 6), "float32"), B: T.Buffer((3, 6), "float32")):
    for x in T.thread_binding(3, thread="blockIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(3, x)
            T.reads(A[vi, 0:6])
            T.writes(B[vi, 0:6])
            s = T.alloc_buffer((6,), scope="shared")
            for t in T.thread_binding(6, thread="threadIdx.x"):
                s[t] = T.float32(1)
                for k in range(2):
                    s[t] = s[t] + A[vi, t]
                B[vi, t] = s[t]
"""


def test_so_is_a_cell_for_each_thread():
    a = np.random.default_rng(0).random((3, 6)).astype("float32")
    b = np.zeros_like(a)
    wb.build(script.parse(SHARED_OUT)).emulate(a, b)
    np.testing.assert_allclose(b, 1 + 2 * a, rtol=1e-6)
