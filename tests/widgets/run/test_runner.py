"""What a run in the lab tells: of a large program, of some of its blocks."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from time import sleep
from unittest.mock import patch

import numpy as np
import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul
from tests.widgets.programs import parse, send
from workbench import runtime
from workbench.insight import samples
from workbench.ir import PrimFunc
from workbench.runtime.devices import CPU_WORKER
from workbench.widgets.run import runner as run
from workbench.widgets.run.runner import SAMPLED, Runner

AT_START = "the start gives the same."
WHOLE = f"✓ Run on the emulator: every value is right: {AT_START}"
SOME = f"✓ Run on the emulator, 4 of 16 blocks: what they write is right: {AT_START}"
BY_REFERENCE = SOME.replace(AT_START, "the reference gives the same.")


def told(func: PrimFunc, **options: object) -> dict[str, object]:
    """What the run of `func` comes to."""
    start = matmul(func.params[0].shape[0])
    return Runner(**options).run(func, start, lambda *_: None)  # type: ignore[arg-type]


@pytest.fixture
def tiled() -> PrimFunc:
    """16 blocks, each a tile of 8 x 8."""
    return blocking(wb.Schedule(matmul(32)), 2, 2, 4, 4, 4).func


def test_a_program_of_a_lesson_runs_whole(tiled: PrimFunc):
    found = told(tiled)
    assert found["text"] == WHOLE and SAMPLED not in found["notes"]


def test_a_large_program_runs_in_part_and_says_so():
    func = blocking_with_shared(wb.Schedule(matmul(1024)), 8, 8, 8, 8, 8).func
    seen: list[tuple[int, int]] = []
    with patch.object(Runner, "expected", _by_numpy):
        reference = Runner(reference=lambda a, b, c: None)
        found = reference.run(func, matmul(1024), lambda *at: seen.append(at))
    assert found["text"] == BY_REFERENCE.replace("16", "256") and found["ok"] is True
    assert found["brief"] == "✓ right result, in part"
    assert found["notes"][0] == SAMPLED and seen[-1] == (4, 4)


def test_the_cells_that_some_blocks_write_are_all_that_is_worked_out():
    func = blocking_with_shared(wb.Schedule(matmul(1024)), 8, 8, 8, 8, 8).func
    with patch.object(Runner, "expected", side_effect=AssertionError("worked out whole")):
        found = Runner().run(func, matmul(1024), lambda *_: None)
    assert found["text"] == SOME.replace("16", "256") and found["notes"][0] == SAMPLED


def _by_numpy(_: object, start: PrimFunc, arrays: list[np.ndarray]) -> run.Expected:
    a, b, _ = arrays
    return run.Expected([a, b, a @ b])


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ((0, 9), WHOLE),  # of block 1, which did not run
        (
            (31, 31),
            "✕ Run on the emulator, 4 of 16 blocks: 1 of 256 values are wrong; C[31, 31] is ",
        ),
    ],
)
def test_only_what_ran_is_compared(tiled: PrimFunc, cell: tuple[int, int], says: str):
    def reference(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        c[...] = a @ b
        c[cell] += 1000

    with patch.object(samples, "LARGE", 1), patch.object(samples.emulate, "draw_blocks", _blocks):
        found = told(tiled, reference=reference)
    text = BY_REFERENCE if says == WHOLE else says
    assert str(found["text"]).startswith(text) and found["ok"] is (says == WHOLE)


def _blocks(_: object) -> list[int]:
    return [0, 5, 6, 15]


def test_kernels_that_feed_each_other_run_whole():
    sch = wb.Schedule(matmul(8))
    block = sch.get_block("C")
    init = sch.decompose_reduction(block, sch.get_loops(block)[0])
    for one in (init, block):
        sch.bind(sch.get_loops(one)[0], "blockIdx.x")
    with patch.object(samples, "LARGE", 1):
        assert told(sch.func)["text"] == WHOLE


SCALED = """@T.prim_func
def scaled(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
"""


def scheduled() -> wb.Schedule:
    sch = wb.Schedule(parse(SCALED))
    i, j = sch.get_loops("B")
    sch.parallel(i)
    sch.vectorize(sch.split(j, factors=[None, 8])[1])
    return sch


@pytest.mark.usefixtures("cc")
def test_a_program_for_the_cpu_is_compiled_run_and_timed_there():
    lab = wb.lab(scheduled())
    found = lab.run(on="cpu")
    cpu = runtime.cpu()
    assert found["text"] == f"✓ Run on {cpu.which}: every value is right: {AT_START}"
    assert found["time"].startswith(f"Measured on {cpu.which}: ")
    times = re.sub("<[^>]+>", "", found["times"])
    assert cpu.which in times and "cuBLAS" not in times
    assert found["device"] == f"runs on {cpu.which}: {cpu.why}"
    assert lab.run()["brief"] == "✕ refused", "a GPU has no such loops"


@pytest.mark.usefixtures("cc")
def test_a_wrong_result_of_the_cpu_is_told_as_any_other():
    def reference(a: np.ndarray, b: np.ndarray) -> None:
        b[...] = 2 * a
        b[3, 4] += 1

    found = wb.lab(scheduled(), reference=reference).run(on="cpu")
    assert found["ok"] is False and "B[3, 4] is" in found["text"] and not found["times"]


def test_a_program_bound_to_threads_does_not_run_on_the_cpu(tiled: PrimFunc):
    found = Runner().run(tiled, matmul(32), lambda *_: None, "cpu")
    assert found["brief"] == "✕ refused" and "blockIdx" in found["text"]
    back = f"choose “on {wb.device().which}” beside run; or build it for a GPU, "
    assert found["refusal"]["hint"].startswith(back)


def test_without_a_compiler_the_cpu_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules["workbench.runtime.devices"], "compiler", lambda: None)
    found = wb.lab(scheduled()).run(on="cpu")
    assert found["text"] == "✕ Can't run scaled on this CPU: no C compiler is found here."
    assert found["refusal"]["hint"] == (
        'pip install "mlc-workbench[cpu]", which brings one, or install gcc or clang.'
    )


@pytest.mark.usefixtures("cc")
def test_stop_ends_a_run_on_the_cpu(monkeypatch: pytest.MonkeyPatch):
    lab = wb.lab(scheduled())
    whole = wb.build(scheduled(), "c")
    head, brace, body = whole.source.rpartition("scaled_kernel")[2].partition("{")
    text = whole.source.removesuffix(head + brace + body) + head + "{ for (;;) {} " + body
    monkeypatch.setattr(run, "build", lambda *_: replace(whole, source=text))
    CPU_WORKER.stop()  # so that the next process is the run's
    send(lab, do="run", on="cpu")
    while CPU_WORKER.pid is None:
        sleep(0.01)
    send(lab, do="stop")
    lab.jobs.wait()
    assert lab.session.page["run"]["brief"] == "stopped"


def test_a_device_that_there_is_not_is_refused():
    lab = wb.lab(scheduled())
    send(lab, do="run", on="tpu")
    assert "Can't run on 'tpu': there is no such device" in lab.status["text"]
    assert lab.session.page.get("run") is None
