"""Programs built for a CPU: compiled, run and timed on this machine, in a worker of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.support.cpu_programs import add_on_cores, packed_matmul
from tests.support.gpu_programs import add_in_blocks, parsed
from workbench import runtime, te
from workbench.ir import PrimFunc
from workbench.runtime import cpu_worker
from workbench.runtime.cpu_worker import CpuBackend
from workbench.runtime.devices import CPU_WORKER, WORKER
from workbench.runtime.failures import explain
from workbench.runtime.job import Failed, Run

ROOT = Path(__file__).parents[2]


def text_of(program: object) -> str:
    """What building it for a CPU is refused with."""
    with pytest.raises(wb.ScheduleError) as error:
        wb.build(program, "c")
    return str(error.value)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a C compiler, as Windows often is."""
    for module in ("devices", "building"):
        monkeypatch.setattr(sys.modules[f"workbench.runtime.{module}"], "compiler", lambda: None)


def test_a_vector_add_is_run_and_timed(cc: None):
    kernel = wb.build(add_on_cores(), "c")
    a, b, c = np.arange(1024, dtype="f4"), np.ones(1024, "f4"), np.zeros(1024, "f4")
    kernel(a, b, c)
    np.testing.assert_array_equal(c, a + b)
    taken = kernel.time(a, b, c)
    assert taken.kind == "measured" and taken.device == runtime.cpu().which
    assert taken.how.startswith("the clock around ") and "-ffp-contract=fast" in taken.clocks
    assert repr(kernel) == "<main for c: main_kernel>"
    assert WORKER.pid is None or WORKER.pid != CPU_WORKER.pid


def test_a_packed_matmul(cc: None):
    a, b = np.random.default_rng(0).integers(-4, 5, (2, 64, 64)).astype("f4")
    c = np.zeros((64, 64), "f4")
    wb.build(packed_matmul(), "llvm")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_a_program_for_a_gpu_is_refused_by_name():
    told = text_of(add_in_blocks())
    assert told.splitlines()[:2] == [
        "Can't build this for a CPU: `i_0` is bound to blockIdx.x, which only a GPU has.",
        "asked: wb.build(main, target='c')",
    ]
    assert told.endswith(
        'do:    build it for a GPU, target="cuda", or leave out bind and share the loop out among '
        'cores: sch.parallel("i_0")'
    )


LARGE = """
@T.prim_func
def main(A: T.Buffer((4, 1024), "float32"), B: T.Buffer((4, 1024), "float32")):
    D = T.alloc_buffer((4, 1024, 1024), "float32", scope="local")
    for i in T.parallel(4):
        for j in range(1024):
            for k in range(1024):
                with T.block("D"):
                    vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                    D[vi, vj, vk] = A[vi, vk] + T.Cast("float32", vj)
        for j in range(1024):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = D[vi, vj, vj] + D[vi, 1023 - vj, vj]
"""


def test_a_large_local_array_of_each_core_is_not_on_its_stack(cc: None):
    kernel = wb.build(parsed(LARGE), "c")
    a, b = np.arange(4096, dtype="f4").reshape(4, 1024), np.zeros((4, 1024), "f4")
    assert "float* restrict D = scratch(sizeof(float) * 1048576ull);" in kernel.source
    kernel(a, b)
    np.testing.assert_array_equal(b, a * 2 + 1023)


SCRATCH = """
@T.prim_func
def main(A: T.Buffer((64, 8), "float32"), B: T.Buffer((64, 8), "float32")):
    for i in T.parallel(64):
        with T.block("outer"):
            vi = T.axis.spatial(64, i)
            D = T.alloc_buffer((8,), "float32")
            for j in range(8):
                with T.block("D"):
                    vj = T.axis.spatial(8, j)
                    D[vj] = A[vi, vj] * T.float32(2)
            for j in range(8):
                with T.block("B"):
                    vj = T.axis.spatial(8, j)
                    B[vi, vj] = D[vj] + D[7 - vj]
"""


def test_scratch_in_a_parallel_loop_is_each_cores_own(cc: None):
    kernel = wb.build(parsed(SCRATCH), "c")
    a, b = np.arange(512, dtype="f4").reshape(64, 8), np.zeros((64, 8), "f4")
    each = kernel.source.index(
        "void main_kernel_0(const float* restrict A, float* restrict B, int i)"
    )
    assert each < kernel.source.index("float D[8];") < kernel.source.index("#pragma omp parallel")
    for _ in range(20):
        kernel(a, b)
        np.testing.assert_array_equal(b, 2 * (a + a[:, ::-1]))


FAR = """
@T.prim_func
def main(A: T.Buffer((3,), "int8"), B: T.Buffer((3,), "int8")):
    D = T.alloc_buffer((3, 1073741824), "int8")
    for i in range(3):
        with T.block("D"):
            vi = T.axis.spatial(3, i)
            D[vi, vi * 536870911] = A[vi]
    for i in range(3):
        with T.block("B"):
            vi = T.axis.spatial(3, i)
            B[vi] = D[vi, vi * 536870911]
"""


def test_offsets_beyond_32_bits_are_counted_in_64():
    source = wb.build(parsed(FAR), "c").source
    assert "B[i] = D[(int64_t)i * 1610612734LL];" in source


CARRIED = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.vectorized(15):
        B[i] = A[i]
        A[i + 1] = B[i] + T.float32(1)
"""


def test_lanes_of_a_vector_do_not_read_before_another_writes():
    assert text_of(parsed(CARRIED)).startswith("Can't build this: `i` can't be vectorized: ")


NESTED = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in T.parallel(4):
        for j in T.parallel(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
"""


def test_a_loop_that_is_not_shared_out_says_so():
    with pytest.warns(wb.ScheduleWarning) as found:
        kernel = wb.build(parsed(NESTED), "c")
    assert str(found[0].message).partition("where:")[0] == (
        "`j` runs serially: `i` around it is parallel already.\n"
    )
    assert str(found[0].message).endswith(
        "do:    leave it serial, or give each iteration of `j` its own cells"
    )
    assert kernel.source.count("#pragma") == 1


OUTSIDE = """
@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[A[i]] = T.float32(1)
"""


def test_a_crash_kills_its_worker_alone(cc: None):
    kernel, b = wb.build(parsed(OUTSIDE), "c"), np.zeros(8, "f4")
    with pytest.raises(wb.DeviceError) as error:
        kernel(np.full(8, 2**30, "i4"), b)
    headline, *_, hint = str(error.value).splitlines()
    assert headline == f"Can't run main_kernel on {runtime.cpu().which}: the CPU worker crashed."
    assert "SIGSEGV" in str(error.value)
    assert hint.endswith("Your variables are kept; the next run starts a new worker.")
    kernel(np.arange(8, dtype="i4"), b)
    assert (b == 1).all()


ENDLESS = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i, j, k in T.grid(1000000, 1000000, 8):
        B[k] = B[k] * A[k] + T.float32(1)
"""


def test_what_takes_too_long_is_stopped_with_its_worker(cc: None):
    kernel, a, b = wb.build(parsed(ENDLESS), "c"), np.ones(8, "f4"), np.zeros(8, "f4")
    with pytest.raises(wb.DeviceError) as error:
        kernel(a, b, seconds=2)
    headline, *_, hint = str(error.value).splitlines()
    assert headline.startswith(f"Can't run main_kernel on {runtime.cpu().which}: ")
    assert headline.endswith(", so it was stopped.")
    assert hint.endswith("Your variables are kept; the next run starts a new worker.")
    assert (b == 0).all()
    add = wb.build(add_on_cores(), "c")
    x, y, z = np.arange(1024, dtype="f4"), np.ones(1024, "f4"), np.zeros(1024, "f4")
    add(x, y, z)
    np.testing.assert_array_equal(z, x + y)


SLOW_AT_FIRST = """\
#!/bin/sh
case "$*" in *-O3*-shared*) [ -e "$0.made" ] || {{ sleep 7; touch "$0.made"; }};; esac
exec {cc} "$@"
"""
ADD_TWO = """
import numpy as np
import workbench as wb
from tests.support.cpu_programs import add_on_cores
add = wb.build(add_on_cores(), "c")
x, z = np.ones(1024, "f4"), np.zeros(1024, "f4")
add(x, x, z, seconds=6)
assert (z == 2).all()
"""


def test_what_a_compiler_makes_first_is_no_time_of_a_call(cc: None, tmp_path: Path):
    """As zig its C library, which takes 15 s of a core."""
    slow = tmp_path / "cc"
    slow.write_text(SLOW_AT_FIRST.format(cc=shutil.which("cc") or shutil.which("gcc")))
    slow.chmod(0o755)
    environment = {**os.environ, "CC": str(slow)}
    subprocess.run([sys.executable, "-c", ADD_TWO], env=environment, cwd=ROOT, check=True)


def test_short_loops_under_a_condition_stay_loops(cc: None):
    compiler = runtime.cpu().compiler
    for program, careful in ((packed_matmul(512), False), (parsed(LARGE), False), (padded(), True)):
        text = wb.build(program, "c").source
        assert ("max-completely-peel-times=1" in compiler.options(text)) == careful


def padded() -> PrimFunc:
    """Four numbers and two ones."""
    a = te.placeholder((4,), name="A")
    one = te.const(1.0, "float32")
    b = te.compute((6,), lambda i: te.if_then_else(i < 4, a[i], one), name="B")
    return te.create_prim_func([a, b])


def test_a_text_that_does_not_compile_is_told_in_the_compilers_words(cc: None):
    failed = CpuBackend().run(Run("void main_kernel(", (), (), ()), lambda before: None)
    assert isinstance(failed, Failed)
    told = str(explain(failed, "main_kernel", "a CPU"))
    assert told.startswith(
        "Can't run main_kernel on a CPU: the C compiler does not accept its text.\nfound: "
    )
    assert "error" in failed.message
    assert told.endswith(
        "do:    this is a fault of the workbench: please report the program and this text."
    )


def test_a_compiler_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cpu_worker, "compiler", lambda: None)
    failed = CpuBackend().run(Run("void main_kernel(void) {}", (), (), ()), lambda before: None)
    assert isinstance(failed, Failed)
    assert str(explain(failed, "main_kernel", "a CPU")) == (
        "Can't run main_kernel on a CPU: no C compiler answers any more.\n"
        "found: cc, gcc, clang and ziglang were looked for\n"
        "do:    see wb.runtime.cpu() for what is missing, then restart the kernel."
    )


def test_without_a_compiler_it_runs_by_its_meaning_and_says_so(no_compiler: None):
    kernel = wb.build(add_on_cores(), "c")
    a, b, c = np.arange(1024, dtype="f4"), np.ones(1024, "f4"), np.zeros(1024, "f4")
    kernel(a, b, c)
    np.testing.assert_array_equal(c, a + b)
    assert str(kernel.device) == (
        "runs on: its meaning, on NumPy\n"
        "why:     no C compiler is found here, so a program for the CPU runs by its meaning\n"
        "missing: a C compiler\n"
        'get it:  pip install "mlc-workbench[cpu]", which brings one, or install gcc or clang.'
    )
    with pytest.raises(wb.DeviceError) as error:
        kernel.time(a, b, c)
    assert str(error.value) == (
        "Can't time main: no C compiler is found here, so a program for the CPU runs by its "
        "meaning.\n"
        "found: NumPy's seconds say nothing about compiled code\n"
        'do:    pip install "mlc-workbench[cpu]", which brings one, or install gcc or clang.'
    )
    with pytest.raises(wb.DeviceError) as error:
        kernel.emulate(a, b, c)
    assert str(error.value) == (
        "Can't emulate main: it is built for a CPU, and the emulator is a GPU's.\n"
        "do:    call it, kernel(...), or build it for a GPU: wb.build(sch).emulate(...)"
    )
