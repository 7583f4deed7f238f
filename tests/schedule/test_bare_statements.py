"""Loops around statements outside any block: the loop verbs take them too."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import emulate, ir, script
from workbench.ir.verify import verify

PLAIN = """
@T.prim_func
def main(A: T.Buffer((10, 4), "float32"), B: T.Buffer((10, 4), "float32")):
    for i, j in T.grid(10, 4):
        if j < 3:
            B[i, j] = A[i, j] * T.float32(2)
        B[i, 3] = A[i, 3]
"""
SUM = """
@T.prim_func
def main(A: T.Buffer((10,), "float32"), B: T.Buffer((1,), "float32")):
    for i in range(10):
        B[0] = B[0] + A[i]
"""
FROM_ONE = """
@T.prim_func
def main(A: T.Buffer((10, 4), "float32"), B: T.Buffer((10, 4), "float32")):
    for i in range(1, 10):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi - 1, vj]
"""


def run(func: ir.PrimFunc) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    args = [rng.integers(-4, 5, b.shape).astype(b.dtype) for b in func.params]
    emulate.evaluate(func, args)
    return args


@pytest.mark.parametrize(
    "program, calls",
    [
        (PLAIN, ['sch.split("i", factors=[None, 4])']),
        (PLAIN, ['sch.split("j", factors=[3, None])', 'sch.fuse("i", "j_0")']),
        (PLAIN, ['sch.fuse("i", "j")', 'sch.split("i_j_fused", factors=[None, 7])']),
        (PLAIN, ['sch.bind("i", "blockIdx.x")', 'sch.unroll("j")']),
        (FROM_ONE, ['sch.split("i", factors=[None, 4])']),
        (FROM_ONE, ['sch.fuse("i", "j")', 'sch.split("i_j_fused", factors=[5, None])']),
        (FROM_ONE, ['sch.reorder("j", "i")', 'sch.bind("i", "threadIdx.x")']),
        (SUM, ['sch.split("i", factors=[None, 4])', 'sch.unroll("i_1")']),
    ],
)
def test_the_result_stays(program: str, calls: list[str]) -> None:
    func = script.parse(program)
    assert isinstance(func, ir.PrimFunc)
    sch = wb.Schedule(func)
    for call in calls:
        eval(call, {"sch": sch})
    verify(sch.func)
    for before, after in zip(run(func), run(sch.func), strict=True):
        np.testing.assert_array_equal(before, after)
    again = wb.Schedule.replay(func, sch.trace)
    assert script.show(again.func) == script.show(sch.func)
    space = {"wb": wb, "program": func}
    exec(sch.trace.as_python(), space)
    assert script.show(space["sch"].func) == script.show(sch.func)
