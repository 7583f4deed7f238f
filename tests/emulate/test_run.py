"""Runs of kernels: samples, warnings, progress, stopping, the record, several kernels."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import workbench as wb
from tests.support import kernel_machine
from tests.support.gpu_programs import add_in_blocks, blocked_matmul, parsed, window_steps
from tests.support.random_kernels import random_kernel
from workbench import emulate, insight, lower, target
from workbench.insight.accesses import accesses
from workbench.ir import BufferLoad, Kernel, walk

CUDA = target.get("cuda")


def only_kernel(func) -> Kernel:
    (kernel,) = lower.lower(func, CUDA).kernels
    return kernel


@pytest.mark.parametrize("shared", [False, True])
def test_matmul_is_exact(shared: bool):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 4, (64, 64)).astype("float32") for _ in range(2))
    c = np.full((64, 64), np.nan, "float32")
    func = blocked_matmul(shared)
    before = a.copy(), b.copy()
    run = emulate.run(lower.lower(func, CUDA).kernels, [a, b, c], params=func.params)
    np.testing.assert_array_equal(c, a @ b)
    np.testing.assert_array_equal((a, b), before)
    assert run.warnings == () and not run.stopped
    assert run.written["C"].all() and set(run.written) == {"C"}


def test_arrays_that_do_not_lie_in_a_row_are_written_back():
    func = add_in_blocks(threads=4, size=16)
    whole = np.zeros((16, 2), "float32")
    a = np.arange(16, dtype="float32")
    emulate.run(lower.lower(func, CUDA).kernels, [a, a[::-1].copy(), whole[:, 1]])
    np.testing.assert_array_equal(whole, np.stack([np.zeros(16), np.full(16, 15)], axis=1))


def test_every_thread_fetching_the_tile_is_a_warning_with_its_count():
    func = window_steps()["shared"]
    a, b = np.arange(1027, dtype="float32"), np.zeros(1024, "float32")
    (warning,) = emulate.run(lower.lower(func, CUDA).kernels, [a, b]).warnings
    assert warning.writes == 8 * 130 * 127
    assert warning.headline == (
        "A_shared is written 132080 times more than needed, by threads that write the same values."
    )


def test_progress_counts_blocks_and_stopping_stops():
    func = add_in_blocks(threads=4, size=64)
    arrays = [np.ones(64, "float32"), np.ones(64, "float32"), np.zeros(64, "float32")]
    stop = threading.Event()
    seen: list[tuple[int, int]] = []
    kernels = lower.lower(func, CUDA).kernels
    assert not emulate.run(kernels, arrays, progress=lambda *n: seen.append(n), stop=stop).stopped
    assert seen[-1] == (16, 16)
    stop.set()
    arrays[2][:] = 0
    run = emulate.run(kernels, arrays, stop=stop)
    assert run.stopped and run.blocks == 0 and not arrays[2].any()


def test_a_sample_is_held_against_the_reference():
    func = add_in_blocks(threads=4, size=64)
    a, c = np.arange(64, dtype="float32"), np.zeros(64, "float32")

    def reference(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        c[...] = a + b

    run = emulate.sample(only_kernel(func), [a, a.copy(), c], reference, count=3)
    assert run.blocks == 3
    assert run.written["C"].reshape(16, 4).all(axis=1).sum() == 3
    np.testing.assert_array_equal(c, np.where(run.written["C"], a + a, 0))
    assert run.written["C"][0] and run.written["C"][-1]


TWO_STAGES = """
@T.prim_func
def main(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    B = T.alloc_buffer((16,), "int32")
    for i in T.thread_binding(16, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            {guard}
            B[vi] = A[vi] * 2
    for i in T.thread_binding(16, thread="threadIdx.x"):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[15 - vi] + 1
"""


def test_a_buffer_goes_from_kernel_to_kernel():
    func = parsed(TWO_STAGES.format(guard=""))
    a, c = np.arange(16, dtype="int32"), np.zeros(16, "int32")
    emulate.run(lower.lower(func, CUDA).kernels, [a, c], params=func.params)
    np.testing.assert_array_equal(c, a[::-1] * 2 + 1)


def test_a_kernel_reads_what_no_kernel_wrote():
    func = parsed(TWO_STAGES.format(guard="T.where(i < 15)"))
    arrays = [np.zeros(16, "int32"), np.zeros(16, "int32")]
    with pytest.raises(emulate.EmulationError, match=r"Can't read B\[15\]: nothing has written it"):
        emulate.run(lower.lower(func, CUDA).kernels, arrays, params=func.params)


def right_kernels(count: int, first: int = 0):
    """Random kernels that do nothing wrong, with arrays and what the plain machine counted."""
    seed = first
    while count:
        kernel = random_kernel(seed)
        rng = np.random.default_rng(seed)
        arrays = [rng.integers(-8, 8, p.shape).astype(p.type) for p in kernel.params]
        plain = kernel_machine.run(kernel, [a.copy() for a in arrays])
        if not plain.faults:
            count -= 1
            yield kernel, arrays, plain
        seed += 1


@pytest.mark.fuzz
def test_the_record_holds_every_access():
    for kernel, arrays, plain in right_kernels(40):
        counted: dict[tuple[str, str], int] = {}
        for record in emulate.run([kernel], arrays, record=True).log:
            key = (record.node.buffer.scope, "store" if record.writes else "load")
            lanes = list(record.each())
            assert len(lanes) == record.lanes
            assert all(0 <= cell < record.node.buffer.shape[0] for _, _, cell in lanes)
            counted[key] = counted.get(key, 0) + record.lanes * record.times
        assert {k: n for k, n in counted.items() if n} == plain.counts


@pytest.mark.fuzz
def test_counts_are_those_of_the_machine():
    compared = exchanges = 0
    for kernel, _, plain in right_kernels(60, first=3000):
        found = {}
        for traffic in insight.counts([kernel]).traffic:
            found[traffic.scope, "load"] = traffic.loads
            found[traffic.scope, "store"] = traffic.stores
        if not _depends_on_data(kernel):  # else a condition counts as if it held
            compared += 1
            assert {k: n for k, n in found.items() if n} == plain.counts
            assert insight.counts([kernel]).shuffles == plain.shuffles
            exchanges += plain.shuffles
    assert compared >= 20
    assert exchanges


def _depends_on_data(kernel: Kernel) -> bool:
    guards = [guard for access in accesses(kernel) for guard in access.guards]
    return any(isinstance(node, BufferLoad) for guard in guards for node in walk(guard))


def test_a_loop_that_never_runs():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((6,), "float32"), O: T.Buffer((6,), "float32")):
    for t in T.thread_binding(3, thread="threadIdx.x"):
        for i in range(1):
            for j in range(i):
                with T.block("O"):
                    vt, vj = T.axis.remap("SS", [t, j])
                    O[vt] = A[vj]
""")
    o = np.full(6, 7, "float32")
    wb.build(func).emulate(np.zeros(6, "float32"), o)
    assert (o == 7).all()


def test_lanes_that_agree_in_one_turn_and_not_in_the_next():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4, 4), "float32")):
    for t in T.thread_binding(2, thread="threadIdx.x"):
        for j, k in T.grid(4, 3):
            with T.block("B"):
                vt, vj, vk = T.axis.remap("SSR", [t, j, k])
                B[vt, vj] = B[vt, vj] + T.float32(2) * T.if_then_else(
                    2 <= vj and 1 <= vk, A[vj - 2], T.float32(0))
                B[vt + 2, vj] = B[vt + 2, vj] + T.if_then_else(
                    1 <= vk, A[vt], T.float32(0)) * T.if_then_else(
                    2 <= vj and 1 <= vk, A[vj - 2], T.float32(0))
""")
    a, b = np.array([1, 2, 3, 4], "f4"), np.zeros((4, 4), "f4")
    wb.build(wb.Schedule(func)).emulate(a, b)
    np.testing.assert_array_equal(b, [[0, 0, 4, 8], [0, 0, 4, 8], [0, 0, 2, 4], [0, 0, 4, 8]])
