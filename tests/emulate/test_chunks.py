"""A launch too large for one go is run in pieces, which must not know of each other."""

import importlib

import numpy as np
import pytest

import workbench as wb
from workbench.script import parse

WINDOW = """
@T.prim_func
def main(A: T.Buffer((67,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
"""


@pytest.mark.parametrize("room", [1, 200, 300, 10_000])
def test_every_piece_starts_with_untouched_shared_memory(monkeypatch, room):
    sch = wb.Schedule(parse(WINDOW))
    i_0, i_1 = sch.split("i", factors=[None, 8])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    sch.compute_at(sch.cache_read("C", 0, "shared"), i_1)
    with pytest.warns(wb.ScheduleWarning):  # every thread fetches the whole tile: on purpose
        kernel = wb.build(sch)
    a, b = np.arange(67, dtype="float32"), np.zeros(64, "float32")
    monkeypatch.setattr(importlib.import_module("workbench.emulate.kernels.run"), "ROOM", room)
    kernel.emulate(a, b)
    np.testing.assert_array_equal(b, a[:64] + a[1:65] + a[2:66])
