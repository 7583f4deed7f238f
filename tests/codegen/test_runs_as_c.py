"""The C text, compiled and run: it computes what the program means."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from tests.access.corpus import FAMILIES, program
from tests.codegen.test_names import ODD, WORDS
from tests.support.c import run_c
from tests.support.cases import seeds
from tests.support.gpu_programs import parsed
from tests.support.named_programs import named_program
from tests.support.random_programs import fresh, random_inputs, random_program
from tests.support.random_steps import Chooser, every_verb
from tests.support.told import Told, take_ours
from tests.support.walk import arrays
from workbench import check, codegen, emulate, target
from workbench.access import random_data
from workbench.ir import MATHS, For, PrimFunc, rewrite, walk
from workbench.lower import lower

pytestmark = pytest.mark.usefixtures("cc")
C = target.get("c")
WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
Job = tuple[PrimFunc, list[np.ndarray]]


def agree(
    jobs: Sequence[Job], rtol: float = 1e-5, cores_by: str = "openmp", before: str = ""
) -> str:
    """Each program makes of its arrays what it means."""
    meant = [fresh(given) for _, given in jobs]
    for (func, _), wanted in zip(jobs, meant, strict=True):
        emulate.evaluate(func, wanted)
    got = [(func, fresh(given)) for func, given in jobs]
    text = run_c(got, cores_by, before)
    for (func, made), wanted in zip(got, meant, strict=True):
        for a, b in zip(made, wanted, strict=True):
            if not np.allclose(a, b, rtol=rtol, atol=1e-6, equal_nan=True):
                alone = codegen.source(lower(func, C).kernels, C)
                np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6, err_msg=alone)
    return text


def builds(func: PrimFunc) -> bool:
    """Whether nothing is bound, and no two iterations that run at once are in each other's way."""
    bound = any(isinstance(n, For) and n.thread and not n.virtual for n in walk(func.body))
    return not bound and not check.check_program(func, C)


def take(sch: wb.Schedule, steps: Iterable[Told]) -> None:
    """Take those of the steps that can be taken."""
    for step in steps:
        with suppress(wb.ScheduleError, IndexError):
            take_ours(sch, step)


def walked(func: PrimFunc, rng: random.Random, count: int) -> PrimFunc:
    """`func` after random steps, some loops shared out at last."""
    sch = wb.Schedule(func)
    for _ in range(count):
        take(sch, filter(None, [Chooser(sch.func, rng).step(VERBS)]))
    for _ in range(3):
        take(sch, filter(None, [Chooser(sch.func, rng).step(("parallel", "vectorize"))]))
    return sch.func


VERBS = tuple(verb for verb in every_verb() if verb != "bind")


@pytest.mark.fuzz
@pytest.mark.parametrize("cores_by", ["openmp", "threads"])
def test_random_schedules(cores_by: str):
    jobs = list[Job]()
    for seed in seeds(2, first=len(cores_by)):
        rng = random.Random(seed)
        func = random_program(rng)
        given = random_inputs(func, rng)
        func = walked(func, rng, 6)
        if builds(func):
            jobs.append((func, given))
    assert len(jobs) > len(seeds())
    assert ("pragma omp parallel" if cores_by == "openmp" else "share_out") in agree(
        jobs, cores_by=cores_by
    )


def test_odd_programs():
    jobs = list[Job]()
    for family, programs in FAMILIES.items():
        for name in list(programs)[::6]:
            func = walked(program(family, name), random.Random(name), 2)
            if builds(func):
                jobs.append((func, arrays(func, random_data(func, seed=0))))
    assert len(jobs) > len(FAMILIES)
    agree(jobs)


def elementwise(dtype: str, value: str, result: str | None = None) -> PrimFunc:
    """``B[vi] = value`` of A and C, in vectors."""
    return parsed(f"""
@T.prim_func
def main(A: T.Buffer((64,), "{dtype}"), C: T.Buffer((64,), "{dtype}"),
         B: T.Buffer((64,), "{result or dtype}")):
    for i_0 in T.parallel(4):
        for i_1 in T.vectorized(16):
            with T.block("B"):
                vi = T.axis.spatial(64, i_0 * 16 + i_1)
                B[vi] = {value}
""")


DOWN = """
@T.prim_func
def main(A: T.Buffer((24,), "float32"), B: T.Buffer((64,), "float32")):
    D = T.alloc_buffer((64,), "float32")
    for k in range(8):
        for i in range(8):
            D[k * 8 - i + 7] = T.float32(0)
        for i in range(3):
            if k < 3:
                D[k * 8 - i + 7] = A[k * 3 + i]
    for i in range(64):
        B[i] = D[i]
"""


PADDED = """
@T.prim_func
def main(A: T.Buffer((24,), "float32"), B: T.Buffer((64,), "float32")):
    C = T.alloc_buffer((5,), "float32")
    for k in range(5):
        for i in range(5):
            C[i] = T.if_then_else(1 <= k and i < 3, A[k * 3 + i - 3], T.float32(1))
        for i in range(5):
            B[k * 5 + i] = C[i] + T.float32(1)
"""


def test_short_loops_with_padding():
    given = [np.arange(1, 25, dtype="f4"), np.zeros(64, "f4")]
    agree([(parsed(text), given) for text in (DOWN, PADDED)])


def test_whole_numbers():
    rng, jobs = np.random.default_rng(0), list[Job]()
    for dtype in WHOLE:
        ends = np.iinfo(dtype)
        texts = (
            "(A[vi] + C[vi]) * C[vi] - A[vi]",
            f"A[vi] // C[vi] - A[vi] % C[vi] + T.Cast('{dtype}', (vi - 32) // 5)",
            f"T.max(A[vi] ^ C[vi], T.min(~A[vi], T.{dtype}(3)))",
            f"T.Select(T.abs(A[vi]) < C[vi], A[vi] >> T.{dtype}(1), C[vi] << T.{dtype}(2))",
        )
        for text in texts:
            a, c = rng.choice(np.array([ends.min, ends.max, ends.max - 1, 3, 7], dtype), (2, 64))
            c[c == 0] = 1
            jobs.append((elementwise(dtype, text), [a, c, np.zeros(64, dtype)]))
    agree(jobs, rtol=0)


def test_the_least_number_by_minus_1():
    """Arithmetic wraps around; a processor stops at this one."""
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32"), C: T.Buffer((4,), "int32"),
         D: T.Buffer((2,), "int64"), E: T.Buffer((4,), "int64")):
    for i in range(2):
        C[i] = A[i] // B[i]
        C[i + 2] = A[i] % B[i]
        E[i] = D[i] // T.Cast("int64", B[i])
        E[i + 2] = D[i] % T.Cast("int64", B[i])
""")
    least = [np.array([-(2 ** (bits - 1)), 7], f"int{bits}") for bits in (32, 64)]
    by = np.array([-1, -1], "int32")
    agree([(func, [least[0], by, np.zeros(4, "int32"), least[1], np.zeros(4, "int64")])])


def test_functions():
    jobs = list[Job]()
    for dtype in ("float32", "float64"):
        calls = [f"T.{name}({'A[vi], C[vi]'[: 5 if count == 1 else None]})"
                 for name, count in MATHS.items()]  # fmt: skip
        calls += [f"T.max(A[vi], C[vi]) * T.{dtype}('inf')", "T.max(A[vi], C[vi] - C[vi])"]
        calls += [f"T.min(A[vi], T.{dtype}('nan'))", f"T.max(T.{dtype}('nan'), C[vi])"]
        a = (np.arange(1, 65) / 64).astype(dtype)
        jobs += [
            (elementwise(dtype, call), [a, a[::-1].copy(), np.zeros(64, dtype)]) for call in calls
        ]
    agree(jobs)


NUMBERS = (0, -0.0, 1, 1.0009765625, 65504, 65519, 65520, -1e9, 5.9604645e-08, 2.98e-08, 8.9e-8,
           6.1035156e-05, 6.1e-05, 1 / 3, np.inf, -np.inf, np.nan)  # fmt: skip


@pytest.mark.parametrize("native", [True, False])
def test_16_bit_floats_are_rounded_after_each_operation(native: bool):
    values = np.resize(np.array(NUMBERS), 64)
    jobs = list[Job]()
    with np.errstate(all="ignore"):
        half, single = values.astype("float16"), values.astype("float32")
    for text in ("A[vi] + C[vi] * A[vi]", "T.exp(A[vi]) - T.max(A[vi], C[vi])"):
        jobs.append((elementwise("float16", text), [half, half[::-1].copy(), np.zeros(64, "f2")]))
    for wide, given in (("float32", single), ("float64", values)):
        cast = elementwise(wide, 'T.Cast("float16", A[vi])', "float16")
        jobs.append((cast, [given, given, np.zeros(64, "f2")]))
    back = elementwise("float16", 'T.Cast("int8", A[vi]) + T.int8(1)', "int8")
    jobs.append((back, [half, half, np.zeros(64, "i1")]))
    agree(jobs, rtol=1e-3, before="" if native else "#undef __FLT16_MAX__\n")


def test_conversions():
    values, jobs = np.resize(np.array([*NUMBERS, -2.75, 127.5, 2**31, 2.0**63]), 64), list[Job]()
    for dtype in WHOLE:
        cast = elementwise("float64", f'T.Cast("{dtype}", A[vi])', dtype)
        jobs.append((cast, [values, values, np.zeros(64, dtype)]))
    either = "A[vi] < C[vi] or A[vi] > T.float64(1) and C[vi] == C[vi]"
    truth = elementwise("float64", either, "bool")
    jobs.append((truth, [values, values[::-1].copy(), np.zeros(64, "bool")]))
    agree(jobs, rtol=0)


def test_any_names():
    func = plain(named_program([*WORDS, *ODD, *C_WORDS], "großer Kernel; int x = 1"))
    agree([(func, [np.full(2, k / 8, "float32") for k in range(len(func.params))])])


C_WORDS = (
    "float16_of scratch absolute pool share_out free malloc bits max_float y0 gamma I INT8_MAX"
)
C_WORDS = [*C_WORDS.split(), "uint16_t", "to_int8_t", "memcpy", "omp", "register", "complex"]


def plain(func: PrimFunc) -> PrimFunc:
    """`func` with no loop bound."""

    def visit(node):
        return replace(node, kind="serial", thread=None) if isinstance(node, For) else node

    return rewrite(func, visit)


def test_bits_of_floats():
    jobs = []
    for dtype in ("float16", "float32", "float64"):
        bits = f"uint{np.dtype(dtype).itemsize * 8}"
        raw = np.arange(64).astype(bits) << (np.dtype(bits).itemsize * 8 - 8)
        for given, made in ((dtype, bits), (bits, dtype)):
            func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((64,), "{given}"), B: T.Buffer((64,), "{made}")):
    for i in T.vectorized(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = T.reinterpret("{made}", A[vi])
""")
            jobs.append((func, [raw.view(given), np.zeros(64, made)]))
    agree(jobs, rtol=0)
