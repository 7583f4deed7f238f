"""Two copies in turn: one barrier an iteration, the same results, and where it is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import workbench as wb
from tests.support.cpp import run_cpp
from tests.support.gpu_programs import MATMUL, block_matmul, parsed
from workbench import emulate, target
from workbench.diag import Refusal
from workbench.emulate import EmulationError
from workbench.ir import Barrier, PrimFunc, rewrite, walk
from workbench.lower import Lowered, lower

CUDA = target.get("cuda")
NOTE = "double_buffer_scope"


def tiled(depth: int = 8, *noted: str, size: int = 64) -> wb.Schedule:
    """The tutorial's shared-memory matmul, with two copies of the arrays of `noted` blocks."""
    sch = wb.Schedule(_tiled(depth, size))
    for block in noted:
        sch.annotate(block, NOTE, 0)
    return sch


@cache
def _tiled(depth: int, size: int) -> PrimFunc:
    sch = wb.Schedule(parsed(MATMUL.replace("64", str(size))))
    block_matmul(sch, sch.get_block("C"), True, local=4, threads=4, depth=depth)
    return sch.func


def barriers(lowered: Lowered) -> int:
    return sum(isinstance(n, Barrier) for kernel in lowered.kernels for n in walk(kernel))


def check_results(func: PrimFunc, lowered: Lowered) -> None:
    """The emulator, every refusal armed, and the C++ text give what the program means."""
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-4, 5, b.shape).astype(b.dtype) for b in func.params]
    wanted, emulated, compiled = ([a.copy() for a in inputs] for _ in range(3))
    emulate.evaluate(func, wanted)
    emulate.run(lowered.kernels, emulated)
    run_cpp(lowered, compiled)
    for a, b, c in zip(wanted, emulated, compiled, strict=True):
        np.testing.assert_array_equal(b, a)
        np.testing.assert_array_equal(c, a)


def check_reversed(lowered: Lowered) -> None:
    """Each row of A, which all threads fetch together, comes out the other way round."""
    a = np.random.default_rng(0).integers(-4, 5, (6, 32)).astype("float32")
    for run in (
        lambda args: emulate.run(lowered.kernels, args),
        lambda args: run_cpp(lowered, args),
    ):
        out = np.zeros_like(a)
        run([a.copy(), out])
        np.testing.assert_array_equal(out, a[:, ::-1])


@pytest.mark.parametrize("depth", [8, 32, 64])
def test_a_tile_of_which_there_are_two_needs_one_barrier(depth: int, gxx: str):
    func = tiled(depth, "A_shared", "B_shared").func
    lowered = lower(func, CUDA)
    assert barriers(lowered) == 1 and barriers(lower(tiled(depth).func, CUDA)) >= 1
    check_results(func, lowered)


def test_one_of_two_arrays_alone_still_needs_both_barriers(gxx: str):
    func = tiled(8, "A_shared").func
    lowered = lower(func, CUDA)
    assert barriers(lowered) == 2
    check_results(func, lowered)


def test_the_text_shows_the_turns():
    source = wb.build(tiled(8, "A_shared", "B_shared")).source
    assert "float A_shared[256];" in source
    assert "A_shared[k_0 % 2 * 128 + ax0_ax1_fused_0 * 64 + i_1_j_1_fused * 4]" in source
    assert source.count("__syncthreads()") == 1


@pytest.mark.parametrize("size", [60, 61, 50])
@pytest.mark.parametrize("depth", [8, 32])
def test_tiles_with_a_tail_take_turns(size: int, depth: int, gxx: str):
    sch = tiled(depth, "A_shared", "B_shared", size=size)
    lowered = lower(sch.func, CUDA)
    assert barriers(lowered) == 1
    check_results(sch.func, lowered)


GUARDED = """
@T.prim_func
def main(A: T.Buffer((96,), "float32"), B: T.Buffer((96,), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(3):
            with T.block("S"):
                T.where({made})
                T.reads(A[k * 32 + t])
                T.writes(S[t])
                T.block_attr({{"double_buffer_scope": 0}})
                S[t] = A[k * 32 + t]
            if {used}:
                B[k * 32 + t] = S[31 - t]
"""
GUARDS = ("k * 32 + t < 70", "k * 32 + 31 - t < 70", "k < 2", "k < 1", "t < 30", "31 - t < 30",
          "t >= 0", "A[0] > T.float32(9)")  # fmt: skip


@pytest.mark.parametrize("made", GUARDS)
@pytest.mark.parametrize("used", GUARDS)
def test_a_turn_reads_what_its_guard_let_it_fetch(made: str, used: str, gxx: str):
    func = parsed(GUARDED.format(made=made, used=used))

    def runs(test: str, k: int, t: int) -> bool:
        return "A" not in test and bool(eval(test, {"k": k, "t": t}))

    places = [(k, t) for k in range(3) for t in range(32)]
    if not all(runs(made, k, 31 - t) for k, t in places if "A" in used or runs(used, k, t)):
        with pytest.raises(Refusal, match="may read what another one wrote"):
            lower(func, CUDA)
        return
    lowered = lower(func, CUDA)
    a = np.random.default_rng(0).integers(-4, 5, 96).astype("float32")  # none is above 9
    wanted, emulated, compiled = (np.zeros_like(a) for _ in range(3))
    for k, t in places:
        wanted[k * 32 + t] = a[k * 32 + 31 - t] if runs(used, k, t) else 0
    emulate.run(lowered.kernels, [a.copy(), emulated])
    run_cpp(lowered, [a.copy(), compiled])
    np.testing.assert_array_equal(emulated, wanted)
    np.testing.assert_array_equal(compiled, wanted)


def test_without_its_barrier_the_emulator_sees_a_race():
    (kernel,) = lower(tiled(8, "A_shared", "B_shared").func, CUDA).kernels
    body = rewrite(kernel.body, lambda n: None if isinstance(n, Barrier) else n)
    args = [np.zeros(b.shape, b.dtype) for b in kernel.params]
    args = [a.reshape(64, 64) for a in args]
    with pytest.raises(EmulationError):
        emulate.run([replace(kernel, body=body)], args)


def test_padded_rows_stay_padded(gxx: str):
    sch = tiled(8, "A_shared", "B_shared")
    sch.storage_align("B_shared", 0, 0, 32, 4)
    lowered = lower(sch.func, CUDA)
    assert barriers(lowered) == 1
    check_results(sch.func, lowered)


def test_a_loop_around_the_turns_waits_between_them(gxx: str):
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((6, 32), "float32"), B: T.Buffer((6, 32), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for again in range(2):
            for k in range(3):
                with T.block("S"):
                    T.reads(A[again * 3 + k, t])
                    T.writes(S[t])
                    T.block_attr({{"{NOTE}": 0}})
                    S[t] = A[again * 3 + k, t]
                B[again * 3 + k, t] = S[31 - t]
""")
    lowered = lower(func, CUDA)
    assert barriers(lowered) == 2  # the third turn and the first are at one copy
    check_reversed(lowered)


def test_copies_that_are_not_kept_apart_wait_twice(gxx: str):
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((6, 32), "float32"), B: T.Buffer((6, 32), "float32")):
    S = T.alloc_buffer((2, 32), scope="shared")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(6):
            S[0, t] = A[k, t]
            S[1, t] = A[k, t]
            B[k, t] = S[k % 2, 31 - t]
""")
    lowered = lower(func, CUDA)
    assert barriers(lowered) == 2
    check_reversed(lowered)
