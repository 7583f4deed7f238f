"""Loops over registers: all of their turns written out, or those that name other registers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench import script
from workbench.ir import For, PrimFunc, walk
from workbench.lower.unroll_registers import turns_written

AHEAD = """
@T.prim_func
def main(A: T.Buffer((TURNS, 16, 32), "float32"), B: T.Buffer((TURNS, 16, 32), "float32")):
    R = T.alloc_buffer((32, 16), scope="local")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for k in T.serial(TURNS, annotations={"software_pipeline_stage": [0, STAGE],
                                             "software_pipeline_order": [0, 1]}):
            for i in range(16):
                with T.block("R"):
                    R[t, i] = A[k, i, t]
            for j in range(16):
                with T.block("B"):
                    B[k, j, t] = R[t, j] * T.float32(2)
"""


def ahead(turns: int, stage: int) -> PrimFunc:
    """Rows fetched into registers so many turns ahead, which takes a copy of 16 more than that."""
    func = script.parse(AHEAD.replace("TURNS", str(turns)).replace("STAGE", str(stage)))
    assert isinstance(func, PrimFunc)
    return func


def loops(func: PrimFunc) -> dict[str, For]:
    (kernel,) = wb.build(func).kernels
    return {node.loop_var.name: node for node in walk(kernel.body) if isinstance(node, For)}


@pytest.mark.parametrize("turns, stage", [(40, 2), (41, 2), (300, 2), (5000, 4)])
def test_as_many_turns_are_written_out_as_there_are_copies(turns: int, stage: int):
    found = loops(ahead(turns, stage))
    assert found["k"].kind == "unrolled" and turns_written(found["k"]) == stage + 1
    assert {found[name].kind for name in "ij"} == {"unrolled"}  # there is room for all of these
    assert turns_written(found["i"]) is None
    source = wb.build(ahead(turns, stage)).source
    assert f"  #pragma unroll {stage + 1}\n  for (int k = {stage}; k < {turns}; ++k) {{" in source
    assert "    #pragma unroll\n    for (int i = 0; i < 16; ++i) {" in source


def test_of_no_more_turns_than_copies_all_are_written_out():
    assert turns_written(loops(ahead(4, 2))["k"]) is None


@pytest.mark.parametrize("turns", [7, 8])
def test_results_are_those_of_the_program(turns: int):
    given = np.arange(turns * 16 * 32, dtype="float32").reshape(turns, 16, 32)
    found = np.zeros_like(given)
    wb.build(ahead(turns, 2)).emulate(given, found)
    np.testing.assert_array_equal(found, given * 2)


def test_a_register_that_a_turn_names_by_itself_takes_all_turns():
    text = AHEAD.replace("R[t, i] = A[k, i, t]", "R[t, (i + k) % 16] = A[k, i, t]")
    func = script.parse(text.replace("TURNS", "40").replace("STAGE", "0"))
    assert isinstance(func, PrimFunc)
    assert turns_written(loops(func)["k"]) == 16
    text = text.replace("(i + k) % 16", "(i + k // 3) % 16")
    func = script.parse(text.replace("TURNS", "40").replace("STAGE", "0"))
    assert isinstance(func, PrimFunc)
    found = loops(func)["k"]
    assert found.kind == "unrolled" and turns_written(found) is None


IN_TURN = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((2, 8, 32), "float32")):
    R = T.alloc_buffer((32, 4), scope="local")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for j in range(4):
            R[t, j] = T.float32(0)
        for k in T.unroll(2):
            for i in range(8):
                R[t, i % 4] = A[i]
                B[k, i, t] = R[t, (i + 1) % 4]
"""


def test_no_values_are_kept_that_only_a_part_of_the_turns_tells():
    func = script.parse(IN_TURN)
    assert isinstance(func, PrimFunc) and turns_written(loops(func)["i"]) == 4
    source = wb.build(func).source
    assert "_kept" not in source and "R[i % 4] = A[i];" in source


def test_nvcc_keeps_copies_in_registers(nvcc: str, tmp_path: Path):
    path = tmp_path / "ahead.cu"
    path.write_text(wb.build(ahead(301, 2)).source)
    out = str(tmp_path / "ahead.cubin")
    command = [nvcc, "-arch=sm_75", "-Xptxas", "-v", "-cubin", str(path), "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode and " 0 bytes stack frame" in done.stderr, done.stderr
    assert Path(out).stat().st_size < 40_000  # all 300 turns: 234,152
