"""TVM's tutorial on convolution, its code cell by cell with nothing changed but the imports.

Where there is no GPU, its sizes are smaller.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.support.seeds import cells_of_html, run_cell, seed, with_our_imports
from workbench import tvm
from workbench.te import create_prim_func
from workbench.tvm import te, topi
from workbench.widgets.run.runner import Runner

SMALL = {"batch": 64, "in_channel": 16, "out_channel": 64, "in_size": 3}


def cells() -> list[str]:
    found = [with_our_imports(cell) for cell in cells_of_html(seed("000"))]
    assert len(found) == 6
    if not wb.device().is_gpu:
        for name, size in SMALL.items():
            found[0], count = re.subn(rf"^{name} = \d+$", f"{name} = {size}", found[0], flags=re.M)
            assert count == 1
    return found


def run(found: list[str]) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    printed = "".join(run_cell(cell, f"<000, cell {k}>", scope) for k, cell in enumerate(found))
    assert re.search(r"Convolution: [\d.]+ ms\n$", printed)
    return scope


def check(scope: dict[str, Any]) -> None:
    """At corners and in the middle of the picture, all channels of all pictures."""
    result, last = scope["b"].numpy(), scope["out_size"] - 1
    padded = np.pad(scope["a_np"], ((1, 1), (1, 1), (0, 0), (0, 0)))
    for y, x in {(0, 0), (last // 2, last), (last, last // 2)}:
        window = padded[y : y + 3, x : x + 3]
        wanted = np.einsum("yxcn,yxcf->fn", window, scope["w_np"], optimize=True)
        np.testing.assert_allclose(result[y, x], wanted, rtol=1e-4)


@pytest.mark.lesson
@pytest.mark.skipif(wb.device().is_gpu, reason="a GPU runs it whole")
def test_the_tutorial_in_full_size_is_checked_in_part():
    """118 GFLOP: four blocks run, and only what they store is worked out from the algorithm."""
    found = [with_our_imports(cell) for cell in cells_of_html(seed("000"))]
    scope: dict[str, Any] = {"__name__": "__main__"}
    for cell in found[: next(k for k, cell in enumerate(found) if "tvm.build" in cell)]:
        exec(cell, scope)
    tensors = [scope[name] for name in "AWB"]
    func = scope["s"].applied(tensors).func
    told = Runner().run(func, create_prim_func(tensors), lambda *_: None)
    assert told["ok"] is True and "4 of 6,272 blocks" in str(told["text"])


def test_the_tutorial():
    scope = run(cells())
    check(scope)
    assert "vthread" in repr(scope["s"].applied([scope["A"], scope["W"], scope["B"]]).trace)


def test_the_tutorial_without_its_virtual_threads():
    serial = [re.sub(r"^s\[B\]\.bind\(t[yx]z, .*$", "", cell, flags=re.M) for cell in cells()]
    assert sum(a != b for a, b in zip(serial, cells(), strict=True)) == 1
    scope = run(serial)
    check(scope)
    schedule = scope["s"].applied([scope["A"], scope["W"], scope["B"]])
    assert len(schedule.trace) == 41  # the 42 calls on stages, without the unbound two
    source = scope["func"].imported_modules[0].get_source()
    assert "float B_local[16];" in source and "const float4*" in source


@pytest.mark.parametrize("virtual", [False, True])
def test_the_schedule_that_another_tutorial_prints(virtual: bool):
    """The best schedule that TVM's search found for a layer, with fewer input channels."""
    found = re.search(r"Equivalent python schedule:\n(.*?)\n\n *CUDA source", seed("004"), re.S)
    assert found is not None
    code = textwrap.dedent(found[1])
    if not virtual:
        code = re.sub(r'^.*te\.thread_axis\("vthread"\)\)$', "", code, flags=re.M)
    data = te.placeholder((1, 16, 7, 7), name="data")
    kernel = te.placeholder((512, 16, 3, 3), name="kernel")
    bias = te.placeholder((1, 512, 1, 1), name="bias")
    conv2d_nchw = topi.nn.conv2d_nchw(data, kernel, 1, 1, 1, "float32")
    pad_temp = next(t for t in conv2d_nchw.op.input_tensors if t.op.body)
    T_add = topi.add(conv2d_nchw, bias)
    compute = topi.nn.relu(T_add)
    s = te.create_schedule(compute.op)
    run_cell(code, "<004>", dict(locals(), te=te))
    func = tvm.build(s, [data, kernel, bias, compute], "cuda")
    rng = np.random.default_rng(0)
    a, k, b = (rng.random(t.shape, "float32") - 0.5 for t in (data, kernel, bias))
    out = np.full((1, 512, 7, 7), np.nan, "float32")
    func(a, k, b, out)
    padded = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    parts = ((i, j) for i in range(3) for j in range(3))
    summed = sum(
        np.einsum("ncyx,oc->noyx", padded[..., i : i + 7, j : j + 7], k[..., i, j])
        for i, j in parts
    )
    np.testing.assert_allclose(out, np.maximum(summed + b, 0), rtol=1e-4, atol=1e-5)
