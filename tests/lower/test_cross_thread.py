"""Sums that threads share out, as kernels: on the emulator and as C++, against their meaning."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

import workbench as wb
from tests.access.corpus import FAMILIES, program
from tests.support import kernel_machine
from tests.support.cpp import compile_cpp
from tests.support.cross_thread import (
    FIRST,
    LAYER_NORM,
    LEAST,
    SOFTMAX,
    argmax,
    in_one_kernel,
    row_sum,
    rows,
    shared_out,
)
from tests.support.together import Together
from tests.support.walk import arrays
from workbench import arith, emulate, insight, lesson, target
from workbench.access import random_data
from workbench.ir import (
    Barrier,
    BinOp,
    BlockRealize,
    Call,
    IfThenElse,
    PrimFunc,
    rewrite,
    walk,
)
from workbench.lower import lower
from workbench.widgets.page import costs

FAMILY = "shared sums"


@cache
def of_family(name: str) -> PrimFunc:
    """That program, read once."""
    return program(FAMILY, name)


@cache
def built(func: PrimFunc) -> wb.runtime.Built:
    """The kernels of `func`; they may be wasteful."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        return wb.build(wb.Schedule(func), target="cuda")


def given(func: PrimFunc) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What the parameters hold at first, and what they hold in the end."""
    before, after = _meant(func)
    return [array.copy() for array in before], after


@cache
def _meant(func: PrimFunc) -> tuple[list[np.ndarray], list[np.ndarray]]:
    before = arrays(func, random_data(func, 3))
    after = [array.copy() for array in before]
    emulate.evaluate(func, after)
    return before, after


def decided_by_data(func: PrimFunc) -> bool:
    """Whether what is in memory says what is loaded and stored."""
    conditions = []
    for node in walk(func):
        match node:
            case IfThenElse(condition=c) | BlockRealize(predicate=c) | BinOp("and" | "or", c):
                conditions.append(c)
            case Call("if_then_else", (c, *_)):
                conditions.append(c)
    return any(map(arith.reads_memory, conditions))


@pytest.mark.parametrize("name", FAMILIES[FAMILY])
def test_the_emulator_runs_it(name: str) -> None:
    func = of_family(name)
    got, meant = given(func)
    built(func).emulate(*got)
    for a, b in zip(got, meant, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("name", FAMILIES[FAMILY])
def test_one_thread_after_the_other_comes_to_the_same(name: str) -> None:
    func = of_family(name)
    got, meant = given(func)
    (kernel,) = built(func).kernels
    plain = kernel_machine.run(kernel, [array.reshape(-1) for array in got])
    assert not plain.faults
    for a, b in zip(got, meant, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    counts = insight.counts([kernel])
    if "some of the blocks" not in name:  # a condition around a barrier counts as if it held
        assert counts.barriers == plain.barriers
    if not decided_by_data(func):  # what a condition keeps from running counts as if it held
        assert counts.shuffles == plain.shuffles
        traffic = [(t.loads, t.stores) for t in counts.traffic]
        assert traffic == [
            tuple(plain.counts.get((t.scope, what), 0) for what in ("load", "store"))
            for t in counts.traffic
        ]


@pytest.mark.parametrize("language", ["cuda", "metal"])
@pytest.mark.usefixtures("gxx")
def test_the_text_runs_as_cpp(language: str) -> None:
    funcs = [of_family(name) for name in FAMILIES[FAMILY]]
    runs = [given(func) for func in funcs]
    gpu = target.get(language)
    jobs = [(k, got) for k, (got, _) in enumerate(runs)]
    compile_cpp([lower(func, gpu) for func in funcs], language).run(jobs)
    for name, (got, meant) in zip(FAMILIES[FAMILY], runs, strict=True):
        for a, b in zip(got, meant, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", ["several warps", "no number of whole warps"])
def test_a_missing_barrier_is_a_race(name: str) -> None:
    func = of_family(name)
    (kernel,) = built(func).kernels
    bare = rewrite(kernel, lambda n: None if isinstance(n, Barrier) else n)
    got, _ = given(func)
    with pytest.raises(emulate.EmulationError, match="Race on red_buf_C"):
        emulate.run([bare], got)


@pytest.mark.parametrize(
    ("threads", "barriers", "bytes_"),
    [(4, 0, 0), (32, 0, 0), (64, 1, 8), (96, 1, 12), (1024, 1, 128), (20, 1, 80), (100, 2, 528)],
)
def test_barriers_and_shared_memory_are_no_more_than_needed(
    threads: int, barriers: int, bytes_: int
) -> None:
    found = built(row_sum(2000, threads))
    (kernel,) = found.kernels
    assert sum(isinstance(n, Barrier) for n in walk(kernel)) == barriers
    assert costs.shared_bytes(found) == bytes_


@pytest.mark.parametrize("text", [SOFTMAX, LAYER_NORM], ids=["softmax", "layer norm"])
@pytest.mark.parametrize("scope", ["shared", "local"])
@pytest.mark.parametrize(("size", "threads"), [(64, 32), (37, 32), (1000, 128), (1000, 100)])
def test_operators_are_one_kernel(
    text: str, scope: str, size: int, threads: int, as_cpp: Together
) -> None:
    """Each thread has the sums that all of its block share."""
    func = in_one_kernel(text, size, threads, scope)
    one = built(func)
    assert len(one.kernels) == 1
    rng = np.random.default_rng(0)
    before = [rng.random(buffer.shape).astype("float32") for buffer in func.params]
    meant, emulated = ([array.copy() for array in before] for _ in range(2))
    emulate.evaluate(func, meant)
    one.emulate(*emulated)
    np.testing.assert_allclose(emulated[-1], meant[-1], rtol=1e-4, atol=1e-5)
    as_cpp.expect(one.lowered, before, emulated, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float64"])
@pytest.mark.parametrize("op", ["+", "max"])
def test_other_types_run_as_cpp(dtype: str, op: str, as_cpp: Together) -> None:
    sch = rows(200, op, -5, dtype)
    shared_out(sch, threads=64)
    values = np.random.default_rng(1).integers(-4, 4, (4, 200)).astype(dtype)
    start = np.array(-5, dtype)
    expected = values.max(1) if op == "max" else values.sum(1, dtype=dtype) + start
    for language in ("cuda", "metal") if dtype != "float64" else ("cuda",):
        lowered = lower(sch.func, target.get(language))
        as_cpp.expect(lowered, [values, np.zeros(4, dtype)], [values, expected], language)


def test_metal_exchanges_64_bits_through_memory() -> None:
    sch = rows(64, dtype="int64")
    shared_out(sch)
    assert "simd_shuffle" not in wb.build(sch, target="metal").source
    assert "__shfl_xor_sync" in wb.build(sch, target="cuda").source


@pytest.mark.parametrize(("threads", "each"), [(8, 3), (32, 5), (256, 8), (20, 0)])
def test_shuffles_are_counted(threads: int, each: int) -> None:
    """The work is real, too: a term each, and one for each part that a thread adds."""
    found = built(row_sum(1000, threads, number=64))
    counts = insight.counts(found.kernels)
    assert counts.shuffles == 64 * threads * each
    exchanged = counts.shuffles if each else 64 * threads * threads
    assert counts.work == 64 * 1000 + exchanged
    assert costs.count(found.func)["shuffles a thread"].text == str(each)
    told = dict(counts.table.rows)
    assert told.get("shuffles", 0) == counts.shuffles


def test_shuffles_have_a_column_where_there_are_some() -> None:
    one, other = row_sum(64, 32), row_sum(60, 20)
    assert "shuffles a thread" in lesson.compare({"a": one, "b": other}).table[0]
    assert "shuffles a thread" not in lesson.compare({"b": other}).table[0]


def test_who_does_what_tells_of_parts() -> None:
    told = insight.who(row_sum(64)).caption
    assert told == "C[3] is put together from the parts of 32 threads."


@pytest.mark.parametrize(
    ("size", "threads"), [(64, 32), (37, 5), (37, 16), (1000, 100), (4096, 256)]
)
@pytest.mark.parametrize(
    ("keeps", "parts"), [(FIRST, "in order"), (LEAST, "in order"), (LEAST, "strided")]
)
def test_argmax_is_one_kernel(
    size: int, threads: int, keeps: str, parts: str, as_cpp: Together
) -> None:
    """The first of equal ones stays, of which there are many."""
    one = built(argmax(size, threads, keeps, strided=parts == "strided"))
    assert len(one.kernels) == 1
    rng = np.random.default_rng(0)
    for largest in (0, 3):
        values = rng.integers(-3, largest + 1, (3, size)).astype("float32")
        given = values, np.zeros(3, "float32"), np.zeros(3, "int32")
        wanted = values, values.max(1), values.argmax(1)
        emulated = [array.copy() for array in given]
        one.emulate(*emulated)
        for found, expected in zip(emulated, wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
        as_cpp.expect(one.lowered, given, wanted)
