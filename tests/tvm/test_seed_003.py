"""The course's chapter on GPUs, its code cell by cell with nothing changed but the imports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.support.seeds import cells_of_rst, run_cell, seed, with_our_imports

SMALL = 128  # rows of the matrices where there is no GPU; 1024 in the text


@pytest.fixture(scope="module")
def cells() -> list[str]:
    """Its cells, the matrices made smaller where there is no GPU."""
    found = [with_our_imports(cell) for cell in cells_of_rst(seed("003"))]
    assert len(found) == 18
    if wb.device().is_gpu:
        return found
    return [cell.replace("1024", str(SMALL)) if k > 10 else cell for k, cell in enumerate(found)]


def run(cells: list[str], numbers: range, scope: dict[str, Any]) -> str:
    return "".join(run_cell(cells[k], f"<003, cell {k}>", scope) for k in numbers)


def test_vector_add_and_window_sum(cells: list[str]):
    scope: dict[str, Any] = {"__name__": "__main__"}
    printed = run(cells, range(5), scope)
    added = scope["A_np"] + scope["B_np"]
    assert np.array_equal(scope["C_nd"].numpy(), added) and str(added) in printed
    printed = run(cells, range(5, 10), scope)
    assert "__global__" in printed and "__shared__ float A_shared[130]" in printed
    tvm = scope["tvm"]
    given = np.random.default_rng(0).random(1027, "float32")
    summed = tvm.nd.empty((1024,), device=tvm.cuda(0))
    scope["rt_mod"]["main"](tvm.nd.array(given, tvm.cuda(0)), summed)
    wanted = given[:-3] + given[1:-2] + given[2:-1]
    tvm.testing.assert_allclose(summed.numpy(), wanted, rtol=1e-6)
    assert "kernel void" in run(cells, range(10, 11), scope)


def test_matmul_with_blocking_and_shared_memory(cells: list[str]):
    scope: dict[str, Any] = {"__name__": "__main__"}
    run(cells, range(1), scope)
    for numbers in (range(11, 14), range(14, 16)):
        printed = run(cells, numbers, scope)
        product = scope["A_np"] @ scope["B_np"]
        np.testing.assert_allclose(scope["C_nd"].numpy(), product, rtol=1e-4)
        assert "GFLOPS" in printed
        scope["C_nd"].copyfrom(np.zeros_like(product))


def test_the_automatic_optimisation_runs(cells: list[str], tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"__name__": "__main__"}
    run(cells, range(1), scope)
    run(cells, range(11, 12), scope)
    rows = 1024 if wb.device().is_gpu else SMALL
    given = np.random.default_rng(0).random((rows, rows), "float32")
    scope |= {"num_flop": 2 * rows**3, "np": np}
    for name in ("A_nd", "B_nd", "C_nd"):
        scope[name] = scope["tvm"].nd.array(given, scope["tvm"].cuda(0))
    fewer = [cell.replace("=64", "=2") for cell in cells]  # trials
    assert "blockIdx.x" in run(fewer, range(16, 17), scope)
    assert "MetaSchedule: " in run(cells, range(17, 18), scope)
    assert isinstance(scope["sch_tuned"], wb.Schedule)
    (record,) = (tmp_path / "tune_tmp").iterdir()
    ended = wb.tuning.read(record).ended
    assert len(ended) == 2 and ended[0].outcome.status == "correct"
