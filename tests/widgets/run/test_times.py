"""Times in the lab: measured where there is a GPU, else recorded, else a sentence."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

import workbench as wb
from tests.runtime.test_sizes import ADD as ANY
from tests.runtime.test_sizes import read as sized
from tests.widgets.programs import ADD, apply, bind_both, parse, send
from workbench import runtime
from workbench.runtime import DeviceError, DeviceReport, Timing, built, launching, recorded, vendor
from workbench.runtime.device_queue import alone_on
from workbench.runtime.job import Gpu
from workbench.runtime.worker import Worker
from workbench.schedule import Schedule
from workbench.widgets import Lab
from workbench.widgets.page.memo import build
from workbench.widgets.run import times
from workbench.widgets.run.inputs import arrays

FAKE = str(Path(__file__).parents[2] / "runtime" / "fake_gpu.py")
NO_GPU = DeviceReport("emulator", "no NVIDIA driver is installed here", "a GPU", "use Colab.")
GPU = Gpu("Fake GPU", "sm_75", 1, 1, "CUDA 12.8", "0.0")
H200 = "NVIDIA H200"

MATMUL = """
@T.prim_func
def main(
    A: T.Buffer((8, 4), "float32"), B: T.Buffer((4, 16), "float32"), C: T.Buffer((8, 16), "float32")
):
    for i, j, k in T.grid(8, 16, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.fixture
def no_gpu(monkeypatch) -> None:
    monkeypatch.setattr(built, "device", lambda: NO_GPU)
    monkeypatch.setattr(recorded, "all_runs", lambda: ())


@pytest.fixture
def fake_gpu(monkeypatch) -> Iterator[None]:
    worker = Worker([sys.executable, FAKE])
    monkeypatch.setattr(launching, "WORKER", worker)
    for module in (built, vendor):
        monkeypatch.setattr(module, "device", lambda: DeviceReport("Fake GPU", "", gpu=GPU))
    monkeypatch.setattr(recorded, "all_runs", lambda: ())
    yield
    worker.stop()


def timing(device: str = H200, seconds: float = 2e-6, **changes) -> Timing:
    facts = {
        "samples": (seconds, seconds * 2, seconds * 3),
        "device": device,
        "how": "CUDA events",
        "clocks": "clocks not known",
        "date": "2026-11-21",
        "kind": "recorded",
    }
    return Timing(**{**facts, **changes})


def double_lab() -> Lab:
    """Whose outputs are what the fake GPU writes: twice the first array."""

    def doubled(A, B, C):
        C[:] = 2 * A

    lab = wb.lab(Schedule(parse(ADD)), reference=doubled)
    bind_both(lab)
    return lab


def bound_matmul() -> Schedule:
    sch = Schedule(parse(MATMUL))
    i, j, k = sch.get_loops(sch.get_block("C"))
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    sch.decompose_reduction(sch.get_block("C"), k)
    return sch


def plain(table: str) -> str:
    """A table without what keeps a number and its unit on one line."""
    table = re.sub(r"</?span[^>]*>", "", table).replace("\N{NO-BREAK SPACE}", " ")
    return re.sub(r"<td [^>]*>", "<td>", table)


@pytest.mark.usefixtures("fake_gpu")
def test_a_program_for_any_size_is_launched_with_the_size_of_its_inputs(monkeypatch):
    """It is the kernel for any size, which takes its size behind the arrays: run, and timed."""
    given, made = [], launching.job_of

    def noted(built, at, arguments):
        given.append(at.given)
        return made(built, at, arguments)

    monkeypatch.setattr(launching, "job_of", noted)
    sch = Schedule(sized(ANY))
    outer, inner = sch.split("i", factors=[None, 64])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    doubled = {"reference": lambda A, B, C: np.multiply(A, 2, out=C)}
    lab = Lab(sch, inputs={"A": np.arange(1000, dtype="float32")}, **doubled)
    assert lab.run()["ok"] is True
    assert given == [(((1000, "int32"),),)] * 2


@pytest.mark.usefixtures("fake_gpu")
def test_a_run_on_a_gpu_is_timed():
    result = double_lab().run()
    assert result["ok"] is True, result
    assert "<td>this program</td><td>1.000 µs</td><td>1.000 µs … 1.000 µs</td>" in plain(
        result["times"]
    )
    assert "measured on Fake GPU: by the fake clock; clocks not known" in result["times"]


@pytest.mark.usefixtures("fake_gpu")
def test_a_lab_and_a_cell_use_the_gpu_at_once():
    lab = double_lab()
    kernel = build(lab.cursor.func)
    given = arrays(lab.cursor.func, {})
    for k in range(10):
        send(lab, do="run")
        a, b, c = (array + k for array in given)
        kernel(a, b, c)
        assert (c == 2 * a).all()
        lab.jobs.wait()
        result = lab.session.page["run"]
        assert result["ok"] is True and "measured on Fake GPU" in result["times"]


@pytest.fixture
def taken(fake_gpu: None, tmp_path: Path, monkeypatch) -> Iterator[ExitStack]:
    """A GPU that another notebook has until this is closed."""
    monkeypatch.setenv("FAKE_CARD", "card")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with ExitStack() as held:
        held.enter_context(alone_on("card", lambda before: None))
        yield held


def waits(lab: Lab) -> None:
    """Run it, until it says that it waits."""
    said = "Running step 3: waiting for the GPU: 1 notebook before you"
    send(lab, do="run")
    while lab.session.state["status"]["text"] != said:
        time.sleep(0.01)


def test_a_lab_says_that_others_have_the_gpu_and_goes_on_after_them(taken: ExitStack):
    lab = double_lab()
    waits(lab)
    taken.close()
    lab.jobs.wait()
    result = lab.session.page["run"]
    assert result["ok"] is True and "measured on Fake GPU" in result["times"]


def test_a_lab_that_waits_for_the_gpu_can_be_stopped(taken: ExitStack):
    lab = double_lab()
    waits(lab)
    send(lab, do="stop")
    lab.jobs.wait()
    result = lab.session.page["run"]
    assert result["ok"] is True and result["notes"] == ["It was not timed to the end: stopped."]
    taken.close()
    assert lab.run()["ok"] is True


def test_a_cell_says_it_once_for_each_place(taken: ExitStack, capsys):
    func = double_lab().cursor.func
    kernel, given = build(func), arrays(func, {})
    kernel(*given)  # the worker is there now
    Timer(0.3, taken.close).start()
    kernel.time(*given)
    assert capsys.readouterr().out == "waiting for the GPU: 1 notebook before you\n"


@pytest.mark.usefixtures("fake_gpu")
def test_a_wrong_result_is_not_timed():
    lab = wb.lab(Schedule(parse(ADD)))
    bind_both(lab)
    result = lab.run()
    assert result["ok"] is False and result["times"] == ""
    assert "It is not timed: a wrong result has no time worth knowing." in result["notes"]


@pytest.mark.usefixtures("fake_gpu")
def test_what_was_recorded_stands_beside_the_roof_and_what_is_measured(monkeypatch):
    lab = double_lab()
    key = recorded.program_key(lab.cursor.func)
    run = recorded.Run(key, "add", timing(samples=(1.0e-10, 1.0e-10), steady=False))
    monkeypatch.setattr(recorded, "all_runs", lambda: (run,))
    result = lab.run()
    table = plain(result["times"])
    assert table.index("measured on Fake GPU") < table.index("recorded on NVIDIA H200, 2026-11-21")
    # 96 bytes at 4.8 TB/s are 20 ps: a fifth of the 100 ps that were "recorded"
    assert "<td>20%</td>" in table
    assert "<td>the roof of NVIDIA H200</td><td>under 0.001 µs</td>" in table
    assert "The samples on NVIDIA H200 did not settle: compare with care." in result["notes"]


def test_a_gpu_that_fails_to_time_says_so_and_the_result_stays(fake_gpu: None, monkeypatch):
    def fail(self, *arrays, **options):
        raise DeviceError("Can't run main_kernel on Fake GPU: it broke", hint="look")

    lab = double_lab()
    monkeypatch.setattr(built.Built, "time", fail)
    result = lab.run()
    assert result["ok"] is True and result["times"] == ""
    assert "Can't run main_kernel on Fake GPU: it broke." in result["notes"]


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_and_a_record_there_is_a_sentence():
    lab = wb.lab(Schedule(parse(ADD)))
    bind_both(lab)
    result = lab.run()
    assert result["times"] == ""
    assert (
        "No time is shown: no NVIDIA driver is installed here, "
        "and none was recorded for this program." in result["notes"]
    )


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_recorded_times_of_a_matmul_stand_beside_cublas(monkeypatch):
    sch = bound_matmul()
    key = recorded.vendor_key("matmul", (8, 4), (4, 16))
    runs = (
        recorded.Run(recorded.program_key(sch.func), "ours", timing()),
        recorded.Run(key, "cuBLAS", timing(seconds=1e-6)),
        recorded.Run(key, "cuBLAS", timing("Tesla T4")),
    )
    monkeypatch.setattr(recorded, "all_runs", lambda: runs)
    result = wb.lab(sch).run()
    assert result["ok"] is True, result
    table = plain(result["times"])
    assert "<td>this program</td><td>4.000 µs</td><td>3.000 µs … 5.000 µs</td>" in table
    assert "<td>cuBLAS, the vendor&#x27;s</td><td>2.000 µs</td>" in table
    assert "the roof of NVIDIA H200" in table and "T4" not in table


@pytest.mark.usefixtures("fake_gpu")
def test_on_a_gpu_cublas_is_timed_on_the_same_matrices():
    sch = bound_matmul()
    kernel = build(sch.func)
    found = times.times(kernel, sch.history.root.func, arrays(sch.func, {}))
    assert "<td>cuBLAS, the vendor&#x27;s</td><td>5.000 µs</td>" in plain(found["table"])


def test_two_nodes_are_timed_by_turns_on_a_gpu(fake_gpu: None, monkeypatch):
    lab = double_lab()
    other = lab.at
    lab.at = 1
    bind_both_other(lab)
    lab.against = other
    assert lab.session.comparison["times"] == {"offer": True, "text": ""}
    order = []
    seconds = cycle((2e-6, 3e-6))

    def taken(self, *arrays, **options):
        order.append(self)
        return timing("Fake GPU", next(seconds), kind="measured")

    monkeypatch.setattr(built.Built, "time", taken)
    send(lab, do="time")
    lab.jobs.wait()
    assert [order.index(one) for one in order] == [0, 1] * times.ROUNDS
    measured = lab.session.comparison["measured"]
    assert measured["text"] == (
        '5 bind(i_0, "threadIdx.x") takes 1.5 times as long as 3 bind(i_1, "threadIdx.x") '
        "on Fake GPU: measured in one run, 5 times by turns, ratios from 1.5 to 1.5."
    )
    assert "<td>6.000 µs</td>" in plain(measured["table"])
    lab.view = {**lab.view, "machine": "memory"}  # what was measured outlives a look elsewhere
    assert lab.session.comparison["measured"] == measured


def bind_both_other(lab: Lab) -> None:
    """The same loops, bound the other way round."""
    lab.cursor.bind("i_1", "blockIdx.x")
    lab.cursor.bind("i_0", "threadIdx.x")
    lab.at = lab.cursor.node.id


def test_a_comparison_that_is_stopped_has_no_ratio(fake_gpu: None, monkeypatch):
    lab = double_lab()
    runner = lab.jobs.runner
    monkeypatch.setattr(built.Built, "time", lambda self, *a, **k: timing(kind="measured"))
    func = lab.cursor.func

    def stop(done: int, of: int) -> None:
        runner.stop.set()

    assert runner.time_both(func, func, ("a", "b"), stop) == {
        "text": "Stopped before every round was taken: there is no ratio."
    }


def test_a_gpu_that_fails_in_a_comparison_is_told(fake_gpu: None, monkeypatch):
    def fail(self, *arrays, **options):
        raise DeviceError("Can't run main_kernel on Fake GPU: it broke", hint="look")

    lab = double_lab()
    monkeypatch.setattr(built.Built, "time", fail)
    func = lab.cursor.func
    told = lab.jobs.runner.time_both(func, func, ("a", "b"), lambda done, of: None)
    assert told["text"] == "Can't run main_kernel on Fake GPU: it broke."
    assert told["refusal"]["hint"] == "look"


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_a_comparison_says_that_there_is_no_time():
    lab = wb.lab(Schedule(parse(ADD)))
    bind_both(lab)
    lab.against = lab.at
    lab.at = 1
    bind_both_other(lab)
    assert lab.session.comparison["times"] == {
        "offer": False,
        "text": "No times are shown: no NVIDIA driver is installed here, "
        "and none were recorded of both programs on one device.",
    }


@pytest.mark.usefixtures("no_gpu", "cc")
def test_two_programs_for_the_cpu_are_timed_by_turns_there():
    lab = wb.lab(Schedule(parse(ADD)))
    apply(lab, "parallel", "i")
    lab.at = 0
    apply(lab, "vectorize", "i")
    lab.against = 1
    assert lab.session.comparison["times"] == {"offer": True, "text": ""}
    send(lab, do="time")
    lab.jobs.wait()
    told = lab.session.comparison["measured"]["text"]
    assert told.startswith("2 vectorize(i) takes ") and f" on {runtime.cpu().which}: " in told
    assert "measured in one run, 5 times by turns" in told


def test_nothing_is_timed_where_nothing_is_compared():
    lab = wb.lab(Schedule(parse(ADD)))
    send(lab, do="time")
    assert lab.status["error"]["headline"] == "Can't time both: nothing is compared."
    assert lab.status["error"]["hint"] == "choose a node to compare with"
