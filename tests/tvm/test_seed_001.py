"""TVM's tutorial on Tensor Cores, its code cell by cell with nothing changed but the imports.

Where there is no GPU, its sizes are smaller, and the emulator runs what its last cell builds.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.support.seeds import cells_of_gallery, run_cell, seed, with_our_imports
from tests.support.tensor_core_conv import Sizes, expected
from workbench.intrin import tensor_intrin

pytestmark = pytest.mark.lesson
SMALL = {
    "batch_size": 64,
    "height": 2,
    "width": 2,
    "in_channels": 32,
    "out_channels": 64,
    "block_row_warps": 2,
    "warp_col_tiles": 2,
}


@pytest.fixture(scope="module")
def tutorial() -> dict[str, Any]:
    """What its cells leave, each of which runs; `printed` is what each prints."""
    found = [with_our_imports(cell) for cell in cells_of_gallery(seed("001"))]
    assert len(found) == 6
    for name, size in {} if wb.device().is_gpu else SMALL.items():
        hits = [re.subn(rf"^{name} = \d+$", f"{name} = {size}", cell, flags=re.M) for cell in found]
        assert sum(count for _, count in hits) == 1
        found = [cell for cell, _ in hits]
    scope: dict[str, Any] = {"__name__": "__main__"}
    before = dict(tensor_intrin._registered)
    printed = [run_cell(cell, f"<001, cell {k}>", scope) for k, cell in enumerate(found)]
    yield {**scope, "printed": printed}
    tensor_intrin._registered.clear()
    tensor_intrin._registered.update(before)


def test_each_cell_runs_and_its_program_calls_its_intrinsics(tutorial: dict[str, Any]):
    before, lowered = tutorial["printed"][3:5]
    assert "tensor_intrin" not in before
    assert re.findall(r'"tensor_intrin": "(\w+)"', lowered) == [
        "intrin_wmma_gemm_init",
        "intrin_wmma_load_matrix",
        "intrin_wmma_load_matrix_1",
        "intrin_wmma_gemm",
        "intrin_wmma_store_matrix",
    ]
    if wb.device().is_gpu:
        assert re.search(r"^conv2d with tensor core: [\d.]+ ms$", tutorial["printed"][5])


def test_its_kernel_convolves(tutorial: dict[str, Any]):
    tvm, shapes = tutorial["tvm"], ("data_shape", "kernel_shape", "output_shape")
    if not wb.device().is_gpu:
        rng = np.random.default_rng(0)
        a, w = (rng.random(tutorial[name], "float32").astype("float16") for name in shapes[:2])
        c = np.zeros(tutorial["output_shape"], "float32")
        with tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}}):
            built = tvm.build(
                tutorial["s"], [tutorial[name] for name in ("A", "W", "Conv")], "cuda"
            )
        built(a, w, c)
    else:
        a, w, c = tutorial["a_np"], tutorial["w_np"], tutorial["c"].numpy()
        built = tutorial["func"]
    text = built.imported_modules[0].get_source()
    assert all(f"wmma_{call}(" in text for call in ("load_a_row", "load_b_row", "mma_f32_row"))
    batch, side, _, inputs, *_ = a.shape
    of = Sizes(batch, side, inputs, c.shape[3], w.shape[0])
    np.testing.assert_allclose(c, expected(of, a, w), rtol=1e-3)
