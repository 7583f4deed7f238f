"""Virtual threads in kernels: what each copy repeats, what it keeps, what is done once for all."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.support.gpu_programs import parsed
from tests.support.virtual_threads import convolution, convolved, strided_matmul, tutorial_steps
from workbench import emulate, script, target
from workbench.ir import Barrier, BufferStore, For, Kernel, PrimFunc, walk
from workbench.lower import lower

CUDA = target.get("cuda")


def kernel_of(func: PrimFunc, stage: str = "unroll_registers") -> Kernel:
    """The only kernel, after that pass."""
    (kernel,) = next(step.after for step in lower(func, CUDA).history if step.name == stage)
    assert isinstance(kernel, Kernel)
    return kernel


def body_of(func: PrimFunc) -> list[str]:
    """The lines of the kernel after `inject_virtual_threads`, below launch and arrays."""
    lines = script.show(kernel_of(func, "inject_virtual_threads")).splitlines()
    start = max(k for k, line in enumerate(lines) if "T.launch_thread" in line or "T.alloc" in line)
    return [line[4:] for line in lines[start + 1 :]]


def cells(kernel: Kernel) -> dict[str, int]:
    """How many cells each array has that is not global."""
    return {b.name: b.shape[0] for b in kernel.allocs}


@pytest.mark.parametrize("copies", [(1, 1), (2, 2), (4, 1), (2, 4)])
def test_registers_are_as_many_as_cells(copies: tuple[int, int]):
    sch = strided_matmul(n=64, block=32, copies=copies, tile=2)
    held = cells(kernel_of(sch.func))
    down, across = 2 * copies[0], 2 * copies[1]
    assert held["C_local"] == down * across
    assert held["A_shared_local"] == down and held["B_shared_local"] == across
    assert held["A_shared"] == held["B_shared"] == 32 * 8, "fetched once for all copies"


def test_the_same_registers_as_tiles_of_neighbours():
    strided = kernel_of(strided_matmul(copies=(2, 2), tile=2).func)
    neighbours = kernel_of(strided_matmul(copies=(1, 1), tile=4).func)
    assert cells(strided) == cells(neighbours)
    assert strided.block == neighbours.block == (4, 4, 1)


STRIDED = """
@T.prim_func
def main(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for v in T.thread_binding(3, thread="vthread.x"):
        for t in T.thread_binding(4, thread="threadIdx.x"):
            with T.block("B"):
                vi = T.axis.spatial(10, v * 4 + t)
                T.where(v * 4 + t < 10)
                B[vi] = A[vi] + T.float32(1)
"""


def test_each_copy_asks_only_what_may_fail_for_it():
    assert body_of(parsed(STRIDED)) == [
        "B[t] = A[t] + T.float32(1)",
        "B[4 + t] = A[4 + t] + T.float32(1)",
        "if t < 2:",
        "    B[8 + t] = A[8 + t] + T.float32(1)",
    ]


IN_STEP = """
@T.prim_func
def main(A: T.Buffer(({n}, 8), "float32"), B: T.Buffer(({n}, 8), "float32")):
    S = T.alloc_buffer((8,), scope="shared")
    L = T.alloc_buffer(({n}, 8), scope="local")
    M = T.alloc_buffer((8,), scope="local")
    for v in T.thread_binding({n}, thread="vthread"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("S"):
                vt = T.axis.spatial(8, t)
                S[vt] = A[0, vt]
            with T.block("L"):
                vv, vt = T.axis.remap("SS", [v, t])
                L[vv, vt] = A[vv, vt]
            with T.block("M"):
                vt = T.axis.spatial(8, t)
                M[vt] = S[7 - vt]
            with T.block("B"):
                vv, vt = T.axis.remap("SS", [v, t])
                B[vv, vt] = L[vv, vt] + M[vt]
"""


def test_a_statement_is_done_for_all_before_the_next_one_and_once_where_it_is_alike():
    assert body_of(parsed(IN_STEP.format(n=2))) == [
        "S[t] = A[0, t]",
        "L[0, 0, 0] = A[0, t]",
        "L[1, 0, 0] = A[1, t]",
        "M[0] = S[7 - t]",
        "B[0, t] = L[0, 0, 0] + M[0]",
        "B[1, t] = L[1, 0, 0] + M[0]",
    ]


def test_many_copies_are_a_loop():
    func = parsed(IN_STEP.format(n=16))
    assert body_of(func) == [
        "S[t] = A[0, t]",
        "for v in range(16):",
        "    L[v, 0, 0] = A[v, t]",
        "M[0] = S[7 - t]",
        "for v in range(16):",
        "    B[v, t] = L[v, 0, 0] + M[0]",
    ]
    assert [n.kind for n in walk(kernel_of(func).body) if isinstance(n, For)] == ["unrolled"] * 2


def test_threads_wait_once_for_all_copies():
    for copies in ((1, 1), (2, 2)):
        kernel = kernel_of(strided_matmul(copies=copies, tile=4 // copies[0]).func)
        assert sum(isinstance(n, Barrier) for n in walk(kernel.body)) == 2


def test_a_copy_whose_length_differs_is_done_whole():
    assert body_of(
        parsed("""
@T.prim_func
def main(B: T.Buffer((4, 6), "float32")):
    for t in T.thread_binding(4, thread="threadIdx.x"):
        for v in T.thread_binding(2, 4, thread="vthread"):
            for i in range(v + 1):
                with T.block("B"):
                    vt = T.axis.spatial(4, t)
                    vi = T.axis.spatial(6, i)
                    B[vt, vi] = T.float32(1)
""")
    ) == [
        "for v in range(2):",
        "    for i in range(2 + v + 1):",
        "        B[t, i] = T.float32(1)",
    ]


def test_two_copies_in_turn_are_those_of_the_loop_around():
    sch = strided_matmul()
    for name in ("A_shared", "B_shared"):
        sch.annotate(name, "double_buffer_scope", 0)
    kernel = kernel_of(sch.func)
    assert cells(kernel)["A_shared"] == cells(kernel)["B_shared"] == 2 * 128
    turns = [n for n in walk(kernel.body) if isinstance(n, For) and n.loop_var.name == "k_0"]
    assert sum(isinstance(n, Barrier) for loop in turns for n in walk(loop)) == 1
    check_product(sch)


def check_product(sch: wb.Schedule) -> None:
    """The kernel, and the program by its meaning, compute the product."""
    size = sch.func.params[0].shape[0]
    a, b = np.random.default_rng(0).integers(-4, 5, (2, size, size)).astype("f4")
    by_kernel, by_meaning = np.zeros((2, size, size), "f4")
    wb.build(sch).emulate(a, b, by_kernel)
    emulate.evaluate(sch.func, [a, b, by_meaning])
    np.testing.assert_array_equal(by_kernel, a @ b)
    np.testing.assert_array_equal(by_meaning, a @ b)


@pytest.mark.parametrize("axes", [("vthread.y", "vthread.x"), ("vthread", "vthread")])
def test_a_product_of_strided_tiles(axes: tuple[str, str]):
    check_product(strided_matmul(axes=axes))


@pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")
def test_the_convolution_of_the_tutorial():
    sch = tutorial_steps(convolution(64, 16, 64, 2))
    kernel = kernel_of(sch.func)
    assert cells(kernel) == {
        "Apad_shared": 512, "W_shared": 512, "Apad_shared_local": 8, "W_shared_local": 8,
        "B_local": 64,
    }  # fmt: skip
    assert (kernel.grid, kernel.block) == ((1, 1, 4), (8, 8, 1))
    stored = [n.buffer.name for n in walk(kernel.body) if isinstance(n, BufferStore)]
    assert stored.count("Apad_shared") == 2, "with the padding and without, for all copies"
    rng = np.random.default_rng(0)
    a, w = (rng.integers(-4, 5, p.shape).astype("f4") for p in sch.func.params[:2])
    made = np.zeros(sch.func.params[2].shape, "f4")
    wb.build(sch).emulate(a, w, made)
    np.testing.assert_array_equal(made, convolved(a, w))
