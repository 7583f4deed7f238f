"""Lesson 11: its schedules, what is measured of them, and where they are built and run."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from benchmarks.half_products import ladder, variants
from workbench import insight
from workbench.diag import Fail
from workbench.ir import PrimFunc
from workbench.lesson.goals import copies_under_way, kernels, no_waits_for_banks, on_tensor_cores
from workbench.lesson.half_products import half_product, half_tiles, in_tiles, under_way
from workbench.lesson.measures import MEASURES
from workbench.lower import least_target
from workbench.runtime import DeviceReport, built, devices, recorded
from workbench.runtime.job import Gpu

ONE = (16, 32), (1, 1), 32  # outputs of a block, its warps, terms of a turn


@cache
def start() -> PrimFunc:
    return half_product(32, 32, 128)


@pytest.mark.lesson
def test_each_step_of_the_lesson_comes_to_the_same():
    """What its cells do not run: all but the swizzle, on one block of one warp."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (n, 128)).astype("float16") for n in (32, 32))
    every = {**ladder(start(), ONE), **variants(start(), ONE)}
    for name in ("wmma, rows padded", "through registers", "stored by rows", "fragments ahead"):
        c = np.full((32, 32), np.nan, "float32")
        wb.build(every[name], least_target(every[name])).emulate(a, b, c)
        assert np.array_equal(c, a.astype("float32") @ b.astype("float32").T), name


def test_turns_of_a_load_by_how_its_rows_lie():
    """64 bytes apart four rows of eight meet in a bank; padded, or with a swizzle, none do."""
    ways = {"as they come": {}, "padded": {"pad": 8}, "swizzled": {"swizzle": True}}
    found = {
        name: MEASURES["wavefronts of a warp"](half_tiles(start(), "mma", *ONE, **how), "B_shared")
        for name, how in ways.items()
    }
    assert found == {
        "as they come": "16 wavefronts",
        "padded": "4 wavefronts",
        "swizzled": "4 wavefronts",
    }
    plain, swizzled = (half_tiles(start(), "mma", *ONE, swizzle=s) for s in (False, True))
    said = "16 wavefronts for a read of A_shared, where 4 would do"
    assert no_waits_for_banks().found(plain) == (False, said)
    assert no_waits_for_banks().found(swizzled) == (
        True,
        "4 wavefronts for a write of A_shared, the least",
    )


def test_registers_calls_and_groups():
    func = half_tiles(start(), "mma", *ONE)
    assert MEASURES["calls of a warp"](func, "ptx_mma") == "16 times"  # 8 steps, 2 tiles
    assert MEASURES["registers of the sums"](func, "") == "16 registers"
    assert MEASURES["registers of the factors"](func, "") == "12 registers"  # 1 + 2 tiles of 4
    assert on_tensor_cores("mma.sync").found(func)[0] and not on_tensor_cores().found(func)[0]
    assert MEASURES["groups under way"](func, "") == "0 groups"
    three = under_way(func, 3)
    assert MEASURES["groups under way"](three, "") == "1 group"
    assert copies_under_way(1).found(three)[0] and not copies_under_way(2).found(three)[0]


def test_what_every_gpu_has_not_is_built_for_the_first_that_has():
    assert least_target(start()) == least_target(half_tiles(start(), "wmma", *ONE)) == "cuda"
    func = half_tiles(start(), "mma", *ONE)
    assert least_target(func) == "nvidia/a100"
    assert insight.calls_of_a_warp(kernels(func), "ptx_ldmatrix") == 24  # 8 steps, 1 + 2 tiles
    with pytest.raises(wb.ScheduleError, match=r"sm_75, has no mma\.sync"):
        wb.build(func)


def test_a_gpu_that_lacks_the_calls_leaves_it_to_the_emulator(monkeypatch):
    kernel, said = wb.build(half_tiles(start(), "mma", *ONE), "nvidia/a100"), {}
    for arch, runs in (("sm_75", False), ("sm_80", True), ("sm_90", True)):
        gpu = Gpu("Some GPU", arch, 1, 1, "CUDA 12.8", "0.0")
        monkeypatch.setattr(built, "device", lambda gpu=gpu: DeviceReport("Some GPU", "", gpu=gpu))
        assert kernel.device.is_gpu == runs
        assert wb.build(half_tiles(start(), "wmma", *ONE)).device.is_gpu
        said[arch] = str(kernel.device)
    nothing = DeviceReport("emulator", *devices.NO_DRIVER)
    monkeypatch.setattr(built, "device", lambda: nothing)
    assert wb.build(half_tiles(start(), "wmma", *ONE)).device is nothing
    assert str(kernel.device) == (
        "runs on: emulator\n"
        "why:     no NVIDIA driver is installed here, and this kernel takes sm_80 or later\n"
        "missing: a GPU that has mma.sync, as NVIDIA A100 SXM4 80 GB\n"
        "get it:  use a machine that has one; the emulator comes to the same numbers."
    )
    assert said["sm_75"] == (
        "runs on: emulator\n"
        "why:     Some GPU is sm_75, and this kernel takes sm_80 or later\n"
        "missing: a GPU that has mma.sync, as NVIDIA A100 SXM4 80 GB\n"
        "get it:  use a machine that has one; the emulator comes to the same numbers."
    )


@pytest.mark.lesson
def test_what_the_lesson_tells_of_times_are_the_records_that_its_table_shows():
    text = (Path(__file__).parents[2] / "lessons/11_mma_sync.ipynb").read_text()
    rows = re.findall(r"\| ([\d,.]+) \| ([\d.]*) ?\| (\d+) % \|", text)
    every = ladder(half_product(4096, 4096, 4096), ((128, 256), (2, 4), 64)).values()
    found = [next(t for t in recorded.times(f) if "H100" in t.device).median for f in every]
    assert len(rows) == len(found)
    cublas = float(re.search(r"cuBLAS took ([\d.]+) µs", text)[1]) * 1e-6
    for (us, faster, share), seconds, before in zip(rows, found, [0, *found], strict=False):
        assert us.replace(",", "") == f"{seconds * 1e6:.4g}"
        assert share == f"{100 * cublas / seconds:.0f}"
        assert not before or faster == f"{before / seconds:.2f}", us


@pytest.mark.parametrize(
    ("how", "told", "hint"),
    [
        ({"calls": "wgmma"}, 'Can\'t do tiles by "wgmma": there are no such calls', "one of"),
        ({"block": 64}, "Can't take block=64", "write block=(2, 2)"),
        ({"depth": "64"}, 'Can\'t take depth="64"', "write depth=64"),
        (
            {"depth": 24},
            "Can't give a block 24 terms: it takes multiples of 16",
            "give it 16 or 32 or 64 or 128 or 256 terms",
        ),
        (
            {"block": (96, 64)},
            "Can't give a block 96 rows: 128 of the product are no multiple of that",
            "give it 32 or 64 or 128 rows",
        ),
        (
            {"block": (64, 48)},
            "Can't give a block 48 columns: it takes multiples of 32, for 2 warps",
            "give it 32 or 64 columns",
        ),
        ({"warps": (2, 8)}, "Can't give a block 64 columns: it takes multiples of 128", "fewer"),
        ({"warps": (0, 2)}, "Can't give a block 64 rows: a block has one warp or more", "give it"),
    ],
)
def test_tiles_that_do_not_fill_a_block_or_a_product_are_refused(how: dict, told: str, hint: str):
    sch = wb.Schedule(half_product(128, 64, 256))
    with pytest.raises(Fail) as refused:
        in_tiles(sch, **{"calls": "mma", "block": (64, 64), "warps": (2, 2), "depth": 64, **how})
    assert refused.value.headline.startswith(told) and hint in refused.value.hint
    assert len(sch.history) == 1
