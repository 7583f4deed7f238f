"""The counters of a GPU: what ncu writes is read, and what is launched."""

from __future__ import annotations

import pytest

import workbench as wb
from benchmarks.counters import COUNTERS, parse, shipped, takes_long
from benchmarks.matmuls import matmul
from benchmarks.steps import built_step
from benchmarks.worse import copies
from workbench.insight import recorded

CSV = """\
==WARNING== Note: Running with unmodified GPU clocks.
==PROF== Connected to process 1156 (/usr/bin/python3.12)
==PROF== Disconnected from process 1156
"ID","Kernel Name","Block Size","Grid Size","CC","launch__sm_count","gpu__time_duration.sum",\
"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","launch__registers_per_thread",\
"sm__warps_active.avg.pct_of_peak_sustained_active","smsp__inst_executed_op_ldgsts.sum",\
"smsp__inst_executed_op_ldgsts.avg","launch__cluster_scheduling_policy"
"","","","","","SM","ns","sector","register/thread","%","inst","inst",""
"20","main_kernel","(128, 1, 1)","(2, 4, 1)","9.0","132","19,264","106,496","128","6.25","6,144",\
"11.64","PolicySpread"
"22","main_kernel","(1, 1, 1)","(64, 64, 1)","9.0","132","11,452,448","2,131,755,008","64","33.54",\
"n/a","0","PolicySpread"
"""


def test_what_ncu_writes_is_read_launch_by_launch():
    sectors, most = "global load sectors", "occupancy, there (%)"
    copied = {"smsp__inst_executed_op_ldgsts.sum": 6144}
    assert parse(CSV) == [
        copied | {"nanoseconds": 19_264, sectors: 106_496, "registers": 128, most: 6.25},
        {"nanoseconds": 11_452_448, sectors: 2_131_755_008, "registers": 64, most: 33.54},
    ]


def test_a_log_without_counters_is_no_answer():
    with pytest.raises(ValueError, match="ncu counted nothing: ==ERROR== ERR_NVGPUCTRPERM"):
        parse("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n")


def test_every_worse_copy_is_a_kernel_of_its_own():
    texts = [step.built.source for step in copies() if step.built]
    assert len(set(texts)) == len(texts) == len(list(copies()))


@pytest.mark.parametrize(("length", "long"), [(2**14, True), (2**13, False)])
def test_few_threads_with_much_to_do_take_long(length: int, long: bool):
    """A multiply and an add for each of 64 cells of a row and each term of their sums."""
    sch = wb.Schedule(matmul(8, 64, length))
    sch.bind("i", "threadIdx.x")
    sch.decompose_reduction("C", "k")
    assert takes_long(built_step("", sch.func)) is long


def test_what_is_installed_is_read_again():
    """Of stores that copy asynchronously ncu counts no wavefronts that we know of."""
    counted = dict.fromkeys(COUNTERS, 0) | {"registers": 24, "global load sectors": 50_331_648}
    copied = counted | {"smsp__inst_executed_op_ldgsts.sum": 6144}
    kernels = [{"label": "a", "kernel": "0123", "counted": counted}]
    kernels += [{"label": "b", "kernel": "4567", "counted": copied}]
    known = {"device": "NVIDIA H200", "arch": "sm_90", "compiler": "NVRTC 13.0", "cupy": "14.2"}
    text = shipped({**known, "date": "2026-11-26", "kernels": kernels})
    plain, other = (recorded.parse(text)[key] for key in ("0123", "4567"))
    assert (plain.registers, plain.arch, plain.source) == (
        (24, "sm_90", "recorded 2026-11-26, NVIDIA H200")
    )
    assert plain.numbers["global load sectors"] == 50_331_648
    stores = [r.numbers["shared store wavefronts"] for r in (plain, other)]
    assert stores == [0, None] and other.numbers["shared load wavefronts"] == 0
