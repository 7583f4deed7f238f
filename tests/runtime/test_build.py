"""build and what it gives: text, launch sizes, runs on the emulator and through the worker."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.support.cross_thread import rows, shared_out
from workbench import check, script
from workbench.diag import Refusal
from workbench.ir import For, PrimFunc, walk
from workbench.runtime import (
    ArgumentError,
    DeviceError,
    DeviceReport,
    Timing,
    built,
    launching,
    rebuild,
    recorded,
    registers,
)
from workbench.runtime.arguments import check_arguments
from workbench.runtime.job import Gpu, Run
from workbench.runtime.sized import at_sizes
from workbench.runtime.worker import Worker

FAKE = str(Path(__file__).with_name("fake_gpu.py"))
TEXT = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
"""
NO_GPU = DeviceReport("emulator", "no NVIDIA driver is installed here", "a GPU", "use Colab.")


def double() -> PrimFunc:
    func = script.parse(TEXT)
    assert isinstance(func, PrimFunc)
    return func


def bound(threads: int = 4) -> wb.Schedule:
    sch = wb.Schedule(double())
    i_0, i_1 = sch.split("i", factors=[None, threads])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return sch


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(8, dtype="float32"), np.full(8, np.nan, "float32")


@pytest.fixture
def emulated(monkeypatch) -> None:
    monkeypatch.setattr(built, "device", lambda: NO_GPU)


@pytest.fixture
def fake_gpu(monkeypatch) -> Iterator[Worker]:
    worker = Worker([sys.executable, FAKE, "60"])
    gpu = Gpu("Fake GPU", "sm_75", 1, 1, "CUDA 12.8", "0.0")
    monkeypatch.setattr(launching, "WORKER", worker)
    monkeypatch.setattr(built, "device", lambda: DeviceReport("Fake GPU", "", gpu=gpu))
    yield worker
    worker.stop()


def test_a_schedule_a_function_and_a_module_build_to_the_same_text():
    sch = bound()
    kernel = wb.build(sch)
    assert kernel.source == wb.build(sch.func).source == wb.build(sch.mod).source
    assert "__global__" in kernel.source and "main_kernel" in kernel.source


def test_what_is_known_of_a_kernel():
    kernel = wb.build(bound(), target="nvidia/tesla-t4")
    assert (kernel.grid, kernel.block) == ((2, 1, 1), (4, 1, 1))
    assert kernel.target.name == "nvidia/tesla-t4"
    assert [k.name for k in kernel.kernels] == ["main_kernel"]
    assert [p.name for p in kernel.lowered.history]
    assert repr(kernel) == "<main for nvidia/tesla-t4: main_kernel<<<(2, 1, 1), (4, 1, 1)>>>>"


def test_metal_text_runs_on_the_emulator():
    kernel = wb.build(bound(), target="metal")
    assert "kernel void" in kernel.source
    assert str(kernel.device) == (
        "runs on: emulator\nwhy:     metal kernels run on the emulator here"
    )
    a, b = arrays()
    kernel(a, b)
    np.testing.assert_array_equal(b, 2 * a)


def test_a_rebuild_for_another_target_is_what_a_build_gives():
    kernel = wb.build(bound())
    other = rebuild(kernel, "metal")
    assert other.lowered is kernel.lowered and other.target.kind == "metal"
    assert other.source == wb.build(bound(), target="metal").source != kernel.source


def test_a_rebuild_lowers_anew_for_other_vectors():
    kernel = wb.build(bound())
    narrow = replace(kernel.target, name="narrow", max_vector_bytes=8)
    assert rebuild(kernel, narrow).lowered is not kernel.lowered


def test_a_rebuild_puts_shared_sums_together_as_the_other_target_can():
    sch = rows(64, dtype="int64")
    shared_out(sch)
    kernel = wb.build(sch)
    other = rebuild(kernel, "metal")
    assert "__shfl_xor_sync" in kernel.source and "simd_shuffle" not in other.source
    assert other.source == wb.build(sch, target="metal").source
    assert rebuild(other, "cuda").source == kernel.source


def test_a_rebuild_refuses_what_the_other_target_cannot_hold():
    kernel = wb.build(bound())
    small = replace(kernel.target, name="small", title="a small GPU", max_threads_per_block=2)
    with pytest.raises(wb.ScheduleError) as again:
        rebuild(kernel, small)
    with pytest.raises(wb.ScheduleError) as anew:
        wb.build(kernel.func, small)
    assert str(again.value) == str(anew.value)
    assert "4 threads a block, and a small GPU takes 2" in str(again.value)


def test_what_the_checker_finds_is_told_with_the_place_marked(monkeypatch):
    func = double()
    loop = next(n for n in walk(func.body) if isinstance(n, For))
    finding = check.Finding("`i` does nothing", (loop,), "bind it", "8 times")
    monkeypatch.setattr(check, "check_program", lambda func, gpu: [finding])
    with pytest.raises(wb.ScheduleError) as err:
        wb.build(func)
    assert str(err.value) == (
        "Can't build this: `i` does nothing.\n"
        "asked: wb.build(main, target='cuda')\n"
        f"where:\n{script.mark_nodes(func, [loop])}\n"
        "found: 8 times\n"
        "do:    bind it"
    )
    assert err.value.__cause__ is None and err.value.__suppress_context__


def test_what_lowering_refuses_is_told_alike(monkeypatch):
    def refuse(func, gpu):
        raise Refusal("Can't lower `i`", hint="bind it")

    monkeypatch.setattr(importlib.import_module("workbench.runtime.building"), "lower", refuse)
    with pytest.raises(wb.ScheduleError) as err:
        wb.build(bound(), target="metal")
    assert str(err.value) == (
        "Can't lower `i`.\nasked: wb.build(main, target='metal')\ndo:    bind it"
    )


def test_a_wasteful_program_warns_and_builds():
    sch = wb.Schedule(_window())
    i_0, i_1 = sch.split("i", factors=[None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, i_1)
    with pytest.warns(wb.ScheduleWarning) as caught:
        wb.build(sch)
    assert caught[0].filename == __file__
    text = str(caught[0].message)
    assert "A_shared" in text and "\ndo:    " in text
    assert len(text.splitlines()[0]) <= 120


def _window() -> PrimFunc:
    func = script.parse("""
@T.prim_func
def main(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")):
    for i in range(1024):
        with T.block("C"):
            vi = T.axis.spatial(1024, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
""")
    assert isinstance(func, PrimFunc)
    return func


@pytest.mark.usefixtures("emulated")
def test_a_call_writes_the_output_in_place():
    a, b = arrays()
    assert wb.build(bound())(a, b) is None
    np.testing.assert_array_equal(b, 2 * a)


@pytest.mark.usefixtures("emulated")
def test_wrong_arrays_are_refused_before_anything_runs():
    a, _ = arrays()
    kernel = wb.build(bound())
    for call in (kernel, kernel.emulate, kernel.time):
        with pytest.raises(ArgumentError, match=r"^Can.t call main with 1 array: it takes 2"):
            call(a)


@pytest.mark.usefixtures("emulated")
def test_some_blocks_only():
    a, b = arrays()
    wb.build(bound()).emulate(a, b, blocks=[1])
    assert np.isnan(b[:4]).all()
    np.testing.assert_array_equal(b[4:], 2 * a[4:])


def test_a_call_on_the_gpu_goes_through_the_worker(fake_gpu: Worker):
    a, b = arrays()
    kernel = wb.build(bound())
    # the fake doubles its first array, whatever the source says
    kernel(a, b)
    np.testing.assert_array_equal(b, 2 * a)
    assert fake_gpu.pid is not None


def test_the_registers_of_a_thread_are_known_once_the_gpu_has_the_kernel(fake_gpu, monkeypatch):
    monkeypatch.setattr(registers, "_KNOWN", {})
    kernel, same, other = (wb.build(bound(threads)) for threads in (4, 4, 2))
    assert kernel.registers == (None,)
    kernel.time(*arrays())
    assert (kernel.registers, same.registers, other.registers) == ((24,), (24,), (None,))
    same(*arrays())
    assert kernel.registers == (16,)


def test_a_job_numbers_parameters_in_order():
    a, b = arrays()
    kernel = wb.build(bound())
    at = at_sizes(kernel.func, kernel.kernels, kernel.target, [a, b])
    job = launching.job_of(kernel, at, check_arguments(at.func, [a, b]))
    assert isinstance(job, Run)
    assert (job.source, job.outputs, job.scratch) == (kernel.source, (1,), ())
    (launch,) = job.launches
    assert (launch.kernel, launch.grid, launch.block) == ("main_kernel", (2, 1, 1), (4, 1, 1))
    assert launch.arguments == (0, 1)


def test_a_failing_launch_is_told_with_the_kernels_name(fake_gpu: Worker):
    a, b = arrays()
    kernel = wb.build(bound())
    broken = type(kernel)(kernel.func, kernel.target, kernel.lowered, "fatal illegal address")
    with pytest.raises(DeviceError) as err:
        broken(a, b)
    assert str(err.value) == (
        "Can't run main_kernel on Fake GPU: it read or wrote outside its arrays.\n"
        "found: CUDA_ERROR_X: told\n"
        "do:    run kernel.emulate(...) on the same arrays: it names the thread and the cell. "
        "Your variables are kept; the next run starts a new worker."
    )
    assert np.isnan(b).all()
    kernel(a, b)
    np.testing.assert_array_equal(b, 2 * a)


@pytest.mark.parametrize(
    "source, headline",
    [
        ("abort", "Can't run main_kernel on Fake GPU: the GPU worker crashed."),
        ("hang", "Can't run main_kernel on Fake GPU: no answer in 0.5 s, so it was stopped."),
    ],
)
def test_a_crash_and_a_hang_are_told(fake_gpu: Worker, source: str, headline: str):
    a, b = arrays()
    kernel = wb.build(bound())
    kernel(a, b)
    broken = type(kernel)(kernel.func, kernel.target, kernel.lowered, source)
    with pytest.raises(DeviceError) as err:
        broken(a, b, seconds=0.5)
    assert str(err.value).splitlines()[0] == headline
    kernel(a, b)


def test_a_time_is_measured_where_there_is_a_gpu(fake_gpu: Worker):
    a, b = arrays()
    timing = wb.build(bound()).time(a, b)
    assert (timing.kind, timing.median, timing.device) == ("measured", 1e-6, "Fake GPU")
    assert np.isnan(b).all()


@pytest.mark.usefixtures("emulated")
def test_without_a_gpu_a_recorded_time_is_given(monkeypatch):
    kernel = wb.build(bound())
    known = Timing(
        samples=(1e-6, 2e-6), device="H200", how="", clocks="", date="2026-11-21", kind="recorded"
    )
    run = recorded.Run(recorded.program_key(kernel.func), "doubled", known)
    monkeypatch.setattr(recorded, "all_runs", lambda: (run,))
    assert kernel.time(*arrays()) is known


@pytest.mark.usefixtures("emulated")
def test_without_a_gpu_and_a_record_there_is_no_time(monkeypatch):
    monkeypatch.setattr(recorded, "all_runs", lambda: ())
    with pytest.raises(DeviceError) as err:
        wb.build(bound()).time(*arrays())
    assert str(err.value) == (
        "Can't time main: there is no time without a GPU, and none is recorded.\n"
        "found: no NVIDIA driver is installed here; "
        "the emulator's own seconds say nothing about a GPU\n"
        "do:    compare counts instead (loads, stores, bytes, barriers: wb.insight.counts), "
        "or use Colab."
    )


def test_building_does_not_warn_for_a_good_program():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wb.build(bound()).source
