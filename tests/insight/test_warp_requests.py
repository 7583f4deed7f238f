"""Requests that a warp makes together, and asynchronous copies: by hand, and as an H100 counts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.support.tensor_core_conv import SMALL, tensorized
from tests.support.tensor_core_product import whole
from workbench import insight, target
from workbench.insight.made import in_turn
from workbench.insight.sectors import sectors
from workbench.insight.warp_requests import products, requested
from workbench.insight.wavefronts import copied, wavefronts
from workbench.ir import Kernel

H200 = target.get("nvidia/h200")
COUNTED = json.loads(Path(__file__).with_name("counted_requests.json").read_text())["requests"]
"""By what is done: to which unit of memory each lane goes, from which of global memory, and what
`ncu` counts: sectors of global or local memory, wavefronts of shared memory."""


def test_each_request_that_was_counted():
    """All sectors; all wavefronts of matrices; of copies those that are no random ones but one."""
    told = dict.fromkeys(("sectors", "matrices", "copies", "random"), 0)
    for kind, to, at, counted, turns in COUNTED:
        to, at = np.array([to]), np.array([at])
        if kind.startswith("matrices"):
            assert wavefronts(to * 16, 16, writes=False) == turns
            told["matrices"] += 1
        elif kind == "own_array":
            assert sectors(in_turn(to % 64 * 4, 4), 4) == counted
            told["sectors"] += 1
        elif kind == "copy_16_beyond_l1":  # a sector whose halves part comes for each of them
            assert sectors(at * 16, 16) <= counted <= 32
            told["sectors"] += 1
        else:
            width = int(kind.split("_")[1])
            assert sectors(at * width, width) == counted
            if width == 16:
                continue
            least = copied(at * width, to * width, width)
            assert least <= turns
            told["copies" if least == turns else "random"] += 1
    assert told == {"sectors": 24, "matrices": 47, "copies": 79, "random": 17}


def kernel(dtype: str, trans: bool, pad: int) -> Kernel:
    """A product of 32 x 32 by four warps, in two turns."""
    (found,) = wb.build(whole(dtype, trans, pad), target="cuda").kernels
    return found


@pytest.mark.parametrize(
    "dtype, trans, pad, turns",
    [
        # 4 warps x 2 turns load 2 tiles each. A's rows are 16 halves, 8 words: of eight, rows 0 and
        # 4, 1 and 5 … share banks: 2 wavefronts, 4 times; B's are 32: each second one, 4 and 4
        ("float32", False, 0, 8 * (4 * 2 + 4 * 4)),
        ("float32", True, 0, 8 * (4 * 2 + 4 * 2)),  # B's as A's
        ("float16", False, 8, 8 * (4 + 4)),  # rows of 12, or 20, words: banks of their own
    ],
)
def test_tiles_of_a_warp_on_paper_and_as_an_h100_counts_them(
    dtype: str, trans: bool, pad: int, turns: int
):
    """A tile of C is stored by four requests, each of 8 rows with a sector, as pairs of cells."""
    made = kernel(dtype, trans, pad)
    found = {(t.scope, t.access, t.unit): t.likely for t in insight.totals([made]).totals}
    assert found["shared", "read", "wavefronts"] == turns
    assert found["shared", "read", "requests"] == 8 * 2
    assert found["global", "write", "requests"] == 4 * 4
    assert found["global", "write", "sectors"] == 4 * 4 * 8
    assert insight.issued([made]).left_out == ()


def test_products_of_tiles_have_a_time():
    (made,) = wb.build(tensorized(SMALL), target=H200).kernels
    found = insight.modelled([made], H200)
    tensor = next(term for term in found.terms if term.resource == "tensor")
    each_clock = 663e12 / 2 / 132 / 1.98e9
    (product,) = products(made)
    times = 2304  # of four blocks, as many multiprocessors: 2 x 2 warps, 144 products each
    assert product.buffer.is_fragment and len(requested(made)) > 0
    assert tensor.us == pytest.approx(times / 4 * 4096 / each_clock / 1980)
    assert found.us is not None and found.us < 21.3  # as `ncu` counts it on an H100
    unknown = insight.modelled([made], target.get("nvidia/b200"))
    assert unknown.caption == (
        "No modelled time: nobody knows how fast NVIDIA B200 SXM multiplies tiles."
    )
