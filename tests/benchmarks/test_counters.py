"""The counters of a GPU: what ncu writes is read, and what is launched."""

from __future__ import annotations

import pytest

import workbench as wb
from benchmarks.counters import parse, takes_long
from benchmarks.matmuls import matmul
from benchmarks.steps import built_step
from benchmarks.worse import copies

CSV = """\
==PROF== Connected to process 4711 (/usr/bin/python3.12)
==PROF== Profiling "main_kernel" - 0: 0%....50%....100% - 9 passes
==PROF== Disconnected from process 4711
"ID","Process ID","Kernel Name","Block Size","Grid Size","CC","gpu__time_duration.sum",\
"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","launch__registers_per_thread",\
"sm__warps_active.avg.pct_of_peak_sustained_active","smsp__inst_executed_op_ldgsts.sum"
"","","","","","","ns","sector","register/thread","%","inst"
"0","4711","main_kernel","(128, 1, 1)","(8, 1, 1)","9.0","2,432","50,331,648","16","6.11","n/a"
"1","4711","main_kernel","(64, 1, 1)","(8, 1, 1)","9.0","98.5","0","255","100","96"
"""


def test_what_ncu_writes_is_read_launch_by_launch():
    sectors, most = "global load sectors", "occupancy, there (%)"
    first, second = parse(CSV)
    assert first == {"nanoseconds": 2432, sectors: 50_331_648, "registers": 16, most: 6.11}
    copied = {"smsp__inst_executed_op_ldgsts.sum": 96}
    assert second == copied | {"nanoseconds": 98.5, sectors: 0, "registers": 255, most: 100}


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
