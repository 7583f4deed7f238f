"""Programs side by side: exact counts, times only where there are any, each with its kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul, naive
from workbench import lesson, script
from workbench.ir import PrimFunc
from workbench.lesson.half_products import half_product, half_tiles
from workbench.runtime import DeviceError, Timing, launching, recorded
from workbench.runtime.timing import in_digits

TIMING = Timing(
    samples=(2e-6, 2e-6, 2e-6),
    device="NVIDIA H200",
    how="CUDA events",
    clocks="clocks not known",
    date="2026-11-21",
    kind="recorded",
)
ARRAYS = [np.zeros((64, 64), "float32") for _ in "ABC"]


def programs() -> dict[str, wb.Schedule | PrimFunc]:
    return {
        "naive": naive(wb.Schedule(matmul(64)), 16),
        "local": blocking(wb.Schedule(matmul(64)), 4, 4, 4, 4, 4, keep=True),
        "shared": blocking_with_shared(wb.Schedule(matmul(64)), 4, 4, 4, 4, 16),
        "start": matmul(64),
    }


@pytest.fixture(autouse=True)
def no_records(monkeypatch) -> None:
    monkeypatch.setattr(recorded, "all_runs", lambda: ())


def test_without_a_gpu_counts_are_compared_and_times_modelled():
    gpu, (naive, local, shared, _) = wb.target.get("nvidia/h200"), programs().values()
    us = [wb.insight.modelled(wb.build(p).kernels, gpu).us for p in (naive, local, shared)]
    assert str(lesson.compare(programs(), *ARRAYS)).splitlines() == [
        "        blocks  threads in each  global loads an output  shared loads an output"
        "  shared bytes a block  barriers a block               time  of the roof",
        "naive       16              256                     192                       0"
        f"                     0                 0  {us[0]:.3g} µs, modelled",
        "local       16               16                      32                       0"
        f"                     0                 0  {us[1]:.3g} µs, modelled",
        "shared      16               16                       8                     128"
        f"                 2,048                 8  {us[2]:.3g} µs, modelled",
        f"start{'':124}no kernel",
        "",
        "Counts are exact, from the kernels.",
        "start: Can't build this: no loop of `C` is bound to blocks or threads, so no GPU thread "
        "runs it.",
        "A modelled time is worked out from the program and the data sheet of NVIDIA H200 SXM: "
        "none was recorded for that very program.",
    ]


def test_without_arrays_no_time_is_asked_for():
    found = lesson.compare({"naive": naive(wb.Schedule(matmul(64)), 16)})
    assert str(found).splitlines() == [
        "       blocks  threads in each  global loads an output  shared loads an output"
        "  shared bytes a block  barriers a block",
        "naive      16              256                     192                       0"
        "                     0                 0",
        "",
        "Counts are exact, from the kernels.",
    ]


def test_recorded_times_say_so_and_stand_under_the_roof(monkeypatch):
    sch = naive(wb.Schedule(matmul(64)), 16)
    run = recorded.Run(recorded.program_key(sch.func), "naive", TIMING)
    monkeypatch.setattr(recorded, "all_runs", lambda: (run,))
    beside = {"cuBLAS": lambda: replace(TIMING, samples=(1e-6, 1e-6, 1e-6))}
    found = lesson.compare({"naive": sch}, *ARRAYS, beside=beside)
    work, peak = 2 * 64**3, wb.target.get("nvidia/h200").peak_flops
    least = max(work / peak, 3 * 64 * 64 * 4 / wb.target.get("nvidia/h200").bandwidth)
    naive_row, vendor = (row.cells() for row in found.rows)
    assert naive_row[-2:] == ("2.000 µs", f"{least / 2e-6:.0%}")
    assert vendor == ("cuBLAS", *("",) * 7, "1.000 µs", f"{least / 1e-6:.0%}")
    assert "Times: recorded on NVIDIA H200, 2026-11-21." in found.notes
    assert (
        f"The roof is modelled from the data sheet: {in_digits(least * 1e6)} µs at least."
        in found.notes
    )


def test_the_roof_of_tensor_cores_is_what_their_calls_reach(monkeypatch):
    func = half_tiles(half_product(64, 64, 64), "mma")
    run = recorded.Run(recorded.program_key(func), "tiles", TIMING)
    monkeypatch.setattr(recorded, "all_runs", lambda: (run,))
    arrays = [np.zeros((64, 64), t) for t in ("float16", "float16", "float32")]
    found = lesson.compare({"tiles": func}, *arrays, beside={"cuBLAS": lambda: TIMING})
    least = in_digits(found.rows[0].roof * 1e6)
    rates = "the data sheet, of Tensor Cores by what mma.sync reaches"
    assert [note for note in found.notes if "roof" in note] == [
        f"The roof is modelled from {rates}: {least} µs at least."
    ]


def test_times_of_two_days_say_whose_they_are(monkeypatch):
    sch = naive(wb.Schedule(matmul(64)), 16)
    run = recorded.Run(recorded.program_key(sch.func), "naive", TIMING)
    monkeypatch.setattr(recorded, "all_runs", lambda: (run,))
    beside = {"cuBLAS": lambda: replace(TIMING, date="2026-11-26")}
    found = lesson.compare({"naive": sch, "again": sch}, *ARRAYS, beside=beside)
    assert found.notes[1:3] == (
        "Times of naive, again: recorded on NVIDIA H200, 2026-11-21.",
        "Times of cuBLAS: recorded on NVIDIA H200, 2026-11-26.",
    )


def test_all_recorded_times_of_a_table_are_of_one_gpu(monkeypatch):
    """Of the one that most have; where none has more, of the one that times are modelled for."""
    few, many = (naive(wb.Schedule(matmul(64)), size) for size in (16, 32))
    h100 = replace(TIMING, device="NVIDIA H100 80GB HBM3")

    def told(*known: tuple[wb.Schedule, Timing]) -> list[str]:
        runs = tuple(recorded.Run(recorded.program_key(s.func), "", t) for s, t in known)
        monkeypatch.setattr(recorded, "all_runs", lambda: runs)
        found = lesson.compare({"few": few, "many": many}, *ARRAYS)
        return [row.timing.device if row.timing else row.cells()[-2] for row in found.rows]

    assert told((few, h100), (many, TIMING), (many, h100)) == [h100.device] * 2
    alone, other = told((few, h100), (many, TIMING))
    assert alone.endswith("µs, modelled") and other == TIMING.device


def test_recorded_times_are_of_the_gpu_that_is_asked_for(monkeypatch):
    """Where none was recorded on it, the time is modelled, and the table says on which."""
    sch = naive(wb.Schedule(matmul(64)), 16)
    h100 = replace(TIMING, device="NVIDIA H100 80GB HBM3", samples=(3e-6,) * 3)
    key = recorded.program_key(sch.func)
    runs = tuple(recorded.Run(key, "", timing) for timing in (TIMING, h100))
    monkeypatch.setattr(recorded, "all_runs", lambda: runs)

    def told(**asked: str) -> lesson.Comparison:
        return lesson.compare({"naive": sch}, *ARRAYS, **asked)

    assert told().rows[0].timing.device == "NVIDIA H200"
    assert told(gpu="nvidia/h100").rows[0].timing == h100
    none = told(gpu="nvidia/tesla-t4")
    assert none.rows[0].timing is None
    assert none.notes[-1] == (
        "A modelled time is worked out from the program and the data sheet of NVIDIA T4: "
        "none was recorded for that very program on NVIDIA T4."
    )
    with pytest.raises(wb.diag.Fail, match="Can't find a target called 'h1000'"):
        told(gpu="h1000")


def test_further_costs_stand_beside_and_banks_are_called_modelled():
    sch = naive(wb.Schedule(matmul(64)), 16)
    found = lesson.compare({"naive": sch}, costs=["global sectors", "shared wavefronts"])
    heads, row = found.table
    assert heads[-2:] == ("global sectors", "shared wavefronts")
    # a warp has two rows of 16 cells of C, four sectors to load and store in each of 64 turns, for
    # which it loads a sector each of two rows of A, and two of a row of B; once it stores zeros
    assert row[-2:] == (f"{128 * (64 * (4 + 4 + 2 + 2) + 4):,}", "0")
    assert "Wavefronts are modelled" in found.notes[0]
    with pytest.raises(wb.diag.Fail) as refused:
        lesson.compare({"naive": sch}, costs=["sectors"])
    assert str(refused.value) == (
        'Can\'t compare by "sectors": it is no further cost.\n'
        "do:    name some of these: idle threads, wavefronts a shared read, global sectors, "
        "shared wavefronts"
    )


def test_arrays_tell_the_sizes_of_a_program_for_any():
    sch = wb.Schedule(script.parse(ANY_SIZE))
    outer, inner = sch.split("i", factors=[None, 64])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    found = lesson.compare({"any": sch}, *(np.zeros(1000, "float32") for _ in "AB"))
    assert found.rows[0].cells()[1:3] == ("16", "64")
    assert found.rows[0].cells()[-2].endswith("µs, modelled")


ANY_SIZE = """
@T.prim_func
def main(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * T.float32(2)
"""


def test_tiles_too_large_for_a_block_are_named():
    big = blocking_with_shared(wb.Schedule(matmul(1024)), 16, 16, 16, 16, 32)
    assert lesson.compare({"big": big}).notes[1] == (
        "big: Can't build this: A_shared and B_shared need 65536 bytes of shared memory a block, "
        "and any CUDA GPU gives 49152."
    )


def test_what_stands_beside_has_no_time_without_a_gpu():
    def none() -> Timing:
        raise DeviceError("Can't time cuBLAS")

    found = lesson.compare({}, beside={"cuBLAS": none})
    assert found.rows[0].cells()[-2] == "no time without a GPU"


def test_a_gpu_that_fails_is_told(monkeypatch):
    def broken(*_: object) -> Timing:
        raise DeviceError("Can't run main_kernel on Tesla T4: the GPU gave it up")

    sch = naive(wb.Schedule(matmul(64)), 16)
    monkeypatch.setattr(launching, "timed", broken)
    report = replace(wb.device(), gpu=object())
    monkeypatch.setattr(wb.runtime.Built, "device", report)
    found = lesson.compare({"naive": sch}, *ARRAYS)
    assert "naive: Can't run main_kernel on Tesla T4: the GPU gave it up." in found.notes


def test_it_is_html_too():
    html = lesson.compare(programs(), *ARRAYS)._repr_html_()
    assert html.count("<tr>") == 5 and '<th scope="row">naive</th><td>16</td>' in html
    assert "<script" not in html


def test_kernels_of_several_sizes_each_tell_theirs():
    two = wb.Schedule(script.parse(TWO))
    for block, threads in (("B", 128), ("C", 512)):
        outer, inner = two.split(two.get_loops(block)[0], factors=[None, threads])
        two.bind(outer, "blockIdx.x")
        two.bind(inner, "threadIdx.x")
    assert lesson.compare({"two": two}).table[1][1:3] == ("10", "128 and 512")


TWO = """
@T.prim_func
def main(A: T.Buffer((1024,), "float32"), C: T.Buffer((1024,), "float32")):
    B = T.alloc_buffer((1024,), "float32")
    for i in range(1024):
        with T.block("B"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[1023 - vi]
    for i in range(1024):
        with T.block("C"):
            vi = T.axis.spatial(1024, i)
            C[vi] = B[1023 - vi]
"""
