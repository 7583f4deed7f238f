"""The OpenCL text, compiled and run: it computes what the emulator computes."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from benchmarks.steps import arrays_of
from tests.access.corpus import FAMILIES, program
from tests.codegen.test_golden import PROGRAMS
from tests.codegen.test_names import ODD, WORDS
from tests.support.cases import seeds
from tests.support.gpu_programs import parsed, window_steps
from tests.support.gpu_steps import gpu_steps
from tests.support.named_programs import named_program
from tests.support.opencl import run_opencl
from tests.support.random_programs import fresh, random_inputs, random_program
from tests.support.random_steps import Chooser
from tests.support.told import Told, take_ours
from tests.support.virtual_threads import convolution, strided_matmul, tutorial_steps
from tests.support.walk import arrays
from workbench import script
from workbench.access import random_data
from workbench.ir import MATHS, Barrier, PrimFunc, dtypes, rewrite
from workbench.runtime import Built

pytestmark = pytest.mark.usefixtures("opencl")
WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
Job = tuple[Built, list[np.ndarray]]


def agree(jobs: Sequence[Job], rtol: float = 1e-5) -> None:
    """Each program makes of its arrays what it makes of them on the emulator."""
    emulated = [fresh(given) for _, given in jobs]
    for (kernel, _), meant in zip(jobs, emulated, strict=True):
        kernel.emulate(*meant)
    run_opencl([(kernel.lowered, given) for kernel, given in jobs])
    for (kernel, given), meant in zip(jobs, emulated, strict=True):
        for a, b in zip(given, meant, strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6, err_msg=kernel.source)


def built(given: PrimFunc | wb.Schedule) -> Built:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)  # slow is not wrong
        return wb.build(given, target="opencl")


def halves(func: PrimFunc) -> bool:
    """Whether it computes with 16-bit floats, which PoCL has not."""
    return "float16" in script.show(func)


def elementwise(dtype: str, value: str, lanes: int = 1) -> PrimFunc:
    """``B[vi] = value`` of A and C, vectors of so many `lanes` a thread."""
    return parsed(f"""
@T.prim_func
def main(A: T.Buffer((64,), "{dtype}"), C: T.Buffer((64,), "{dtype}"),
         B: T.Buffer((64,), "{dtype}")):
    for i_0 in T.thread_binding({64 // lanes}, thread="threadIdx.x"):
        for i_1 in T.vectorized({lanes}):
            with T.block("B"):
                vi = T.axis.spatial(64, i_0 * {lanes} + i_1)
                B[vi] = {value}
""")


def test_what_the_lessons_build():
    funcs = [make() for make in PROGRAMS.values()]
    funcs += [strided_matmul().func, tutorial_steps(convolution(64, 16, 64, 2)).func]
    rng = np.random.default_rng(0)
    agree([(built(func), arrays_of(func, rng)) for func in funcs])


@pytest.mark.parametrize("family", FAMILIES)
def test_odd_programs(family: str):
    jobs = list[Job]()
    for name in list(FAMILIES[family])[::4]:
        func = program(family, name)
        sch = wb.Schedule(func)
        take(sch, gpu_steps(func, random.Random(name)))
        with suppress(wb.ScheduleError):
            jobs.append((built(sch), arrays(func, random_data(func, seed=0))))
    agree([job for job in jobs if not halves(job[0].func)])


@pytest.mark.fuzz
def test_random_schedules():
    jobs = list[Job]()
    for seed in seeds():
        rng = random.Random(seed)
        func = random_program(rng)
        sch = wb.Schedule(func)
        take(sch, gpu_steps(func, rng))
        for _ in range(6):
            take(sch, filter(None, [Chooser(sch.func, rng).step()]))
        with suppress(wb.ScheduleError):
            jobs.append((built(sch), random_inputs(func, rng)))
    assert jobs
    agree([job for job in jobs if not halves(job[0].func)])


def take(sch: wb.Schedule, steps: Iterable[Told]) -> None:
    """Take those of the steps that can be taken."""
    for step in steps:
        with suppress(wb.ScheduleError, IndexError):
            take_ours(sch, step)


@pytest.mark.parametrize("dtype", WHOLE)
def test_whole_numbers_in_vectors_of_every_width(dtype: str):
    rng, ends, jobs = np.random.default_rng(0), np.iinfo(dtype), list[Job]()
    texts = (
        "(A[vi] + C[vi]) * C[vi] - A[vi]",
        f"A[vi] // C[vi] - A[vi] % C[vi] + T.Cast('{dtype}', (vi - 32) // 5)",
        f"T.max(A[vi] ^ C[vi], T.min(~A[vi], T.{dtype}(3)))",
        f"T.Select(T.abs(A[vi]) < C[vi], A[vi] >> T.{dtype}(1), C[vi] << T.{dtype}(2))",
    )
    for text, lanes in zip(texts, (1, 2, 4, 16 // dtypes.itemsize(dtype)), strict=True):
        a, c = rng.choice(np.array([ends.min, ends.max, ends.max - 1, 3, 7], dtype), (2, 64))
        c[c == 0] = 1
        jobs.append((built(elementwise(dtype, text, lanes)), [a, c, np.zeros(64, dtype)]))
    agree(jobs, rtol=0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions(dtype: str):
    calls = [f"T.{name}({'A[vi], C[vi]'[: 5 if count == 1 else None]})"
             for name, count in MATHS.items()]  # fmt: skip
    calls += [f"T.max(A[vi], C[vi]) * T.{dtype}('inf')", f"T.min(A[vi], -C[vi]) / T.{dtype}('nan')"]
    rows = "".join(f"            B[{k}, vi] = {call}\n" for k, call in enumerate(calls))
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((64,), "{dtype}"), C: T.Buffer((64,), "{dtype}"),
         B: T.Buffer(({len(calls)}, 64), "{dtype}")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
{rows}""")
    a = (np.arange(1, 65) / 64).astype(dtype)
    agree([(built(func), [a, a[::-1].copy(), np.zeros((len(calls), 64), dtype)])])


def test_truth_is_kept_in_bytes():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((64,), "bool"), N: T.Buffer((64,), "int8"), B: T.Buffer((64,), "bool")):
    for i_0 in T.thread_binding(4, thread="threadIdx.x"):
        for i_1 in T.vectorized(16):
            with T.block("B"):
                vi = T.axis.spatial(64, i_0 * 16 + i_1)
                B[vi] = not A[vi] and T.Cast("bool", N[vi]) or A[vi] == (N[vi] < T.int8(3))
""")
    rng = np.random.default_rng(0)
    truth, numbers = rng.random(64) < 0.5, rng.integers(-4, 4, 64).astype("int8")
    agree([(built(func), [truth, numbers, np.zeros(64, "bool")])])


def test_any_names():
    func = named_program([*WORDS, *ODD], "großer Kernel; int x = 1")
    values = [np.full(2, k / 8, "float32") for k in range(len(func.params))]
    agree([(built(func), values)])


def test_a_missing_barrier_shows():
    kernel = built(window_steps()["cooperative"])
    bare = [rewrite(k, lambda n: None if isinstance(n, Barrier) else n) for k in kernel.kernels]
    lowered = replace(kernel.lowered, kernels=tuple(bare))
    given, found = np.arange(1027, dtype="float32"), np.zeros(1024, "float32")
    run_opencl([(lowered, [given, found])])
    assert (found != given[:-3] + given[1:-2] + given[2:-1]).any()
