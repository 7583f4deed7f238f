"""What each pass does besides: blocks, conditions, kernels, offsets, registers, the history."""

from __future__ import annotations

import itertools
from dataclasses import replace
from weakref import ref

import numpy as np
import pytest

import workbench as wb
from tests.support.gpu_programs import add_in_blocks, blocked_matmul, parsed
from workbench import script, target
from workbench.diag import Refusal
from workbench.ir import IfThenElse, Kernel, PrimFunc, walk
from workbench.lower import KERNEL_PASSES, lower
from workbench.lower.pipeline import WHERE_ASKED

CUDA = target.get("cuda")


def text_of(func: PrimFunc) -> str:
    return "\n".join(script.show(kernel) for kernel in lower(func, CUDA).kernels)


def body_of(func: PrimFunc) -> list[str]:
    """The lines of the only kernel after its launch and its arrays."""
    lines = text_of(func).splitlines()
    start = max(k for k, line in enumerate(lines) if "T.launch_thread" in line or "T.alloc" in line)
    return [line[4:] for line in lines[start + 1 :]]


def test_every_pass_is_a_step_that_can_be_shown():
    history = lower(blocked_matmul(), CUDA).history
    names = ["lower_cross_thread_reductions", "inline_iterators", "split_kernels"]
    names += [step.__name__ for step in KERNEL_PASSES if step not in WHERE_ASKED]
    assert [step.name for step in history] == names
    for step, following in itertools.pairwise(history):
        assert step.after == following.before
    for step in history:
        assert step.doc.endswith(".") and all(script.show(stage) for stage in step.after)


def test_kernels_that_somebody_has_are_not_made_again():
    func, other = blocked_matmul(), replace(CUDA, max_vector_bytes=8)  # of the same name
    made = lower(func, CUDA)
    assert wb.build(func).lowered is lower(func, CUDA) is made
    assert lower(func, other) is not made and lower(blocked_matmul(), CUDA) is not made
    gone = ref(lower(func, CUDA))
    del made
    assert gone() is None, "who has the program alone has no kernels"


def test_each_pass_has_a_file_of_its_name():
    for step in KERNEL_PASSES:
        assert step.__module__ == f"workbench.lower.{step.__name__}"


REDUCTION = """
@T.prim_func
def main(A: T.Buffer((8, {n}), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        for k_0, k_1 in T.grid({k_0}, {k_1}):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                vk = T.axis.reduce({n}, k_0 * {k_1} + k_1)
                {where}
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
"""


def test_init_runs_at_the_first_reduction_step():
    assert body_of(parsed(REDUCTION.format(n=12, k_0=3, k_1=4, where=""))) == [
        "for k_0, k_1 in T.grid(3, 4):",
        "    if k_0 * 4 + k_1 == 0:",
        "        B[i] = T.float32(0)",
        "    B[i] = B[i] + A[i * 12 + k_0 * 4 + k_1]",
    ]


def test_a_condition_that_can_fail_stays_around_init_and_update():
    func = parsed(REDUCTION.format(n=10, k_0=3, k_1=4, where="T.where(k_0 * 4 + k_1 < 10)"))
    assert body_of(func) == [
        "for k_0, k_1 in T.grid(3, 4):",
        "    if k_0 * 4 + k_1 < 10:",
        "        if k_0 * 4 + k_1 == 0:",
        "            B[i] = T.float32(0)",
        "        B[i] = B[i] + A[i * 10 + k_0 * 4 + k_1]",
    ]


def test_a_condition_that_bounds_prove_is_gone():
    func = parsed(REDUCTION.format(n=12, k_0=3, k_1=4, where="T.where(k_0 * 4 + k_1 < 12)"))
    conditions = [
        n for k in lower(func, CUDA).kernels for n in walk(k) if isinstance(n, IfThenElse)
    ]
    assert len(conditions) == 1  # that of init


def test_what_never_runs_is_gone():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        B[i] = A[i]
        if i >= 8:
            B[i] = A[i - 8]
        if i < 8:
            B[i] = T.if_then_else(i < 9, A[i], A[0])
""")
    assert body_of(func) == ["B[i] = A[i]", "B[i] = A[i]"]


def test_a_loop_that_runs_once_is_its_body_and_a_parallel_one_is_serial():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in T.thread_binding(2, thread="threadIdx.x"):
        for u in range(1):
            for j in T.parallel(4):
                A[i * 4 + j + u] = T.Cast("float32", u)
""")
    assert body_of(func) == ["for j in range(4):", '    A[i * 4 + j] = T.Cast("float32", 0)']


TWO_STAGES = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in T.thread_binding(8, thread="threadIdx.x"):
        B[i] = A[i]
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(2, thread="threadIdx.y"):
            C[i * 2 + j] = B[7 - (i * 2 + j)]
"""


def test_each_root_nest_is_a_kernel():
    func = parsed(TWO_STAGES)
    first, second = lower(func, CUDA).kernels
    assert (first.name, second.name) == ("main_kernel", "main_kernel_1")
    assert (first.grid, first.block) == ((1, 1, 1), (8, 1, 1))
    assert (second.grid, second.block) == ((4, 1, 1), (1, 2, 1))
    assert [axis for axis, _ in second.axes] == ["blockIdx.x", "threadIdx.y"]
    handed_on = func.root.alloc_buffers[0]
    assert [dict(first.views)[p] for p in first.params] == [func.params[0], handed_on]
    assert [dict(second.views)[p] for p in second.params] == [func.params[1], handed_on]


def test_loops_on_one_axis_are_one_thread_index():
    func = add_in_blocks()
    (kernel,) = lower(func, CUDA).kernels
    assert [(axis, var.name) for axis, var in kernel.axes] == [
        ("blockIdx.x", "i_0"),
        ("threadIdx.x", "i_1"),
    ]


def test_an_axis_of_two_sizes_is_refused():
    text = TWO_STAGES.replace("    for i in T.thread_binding(4", "XX").split("XX")[0]
    func = parsed(
        text
        + """        for j in T.thread_binding(4, thread="threadIdx.x"):
            C[j] = B[j]
"""
    )
    with pytest.raises(Refusal) as refusal:
        lower(func, CUDA)
    assert refusal.value.headline == (
        "Can't launch the kernel: threadIdx.x has loops of 8 and of 4"
    )
    assert refusal.value.hint == (
        "split the loops so that each one bound to threadIdx.x has the same extent"
    )
    assert [var.name for var in refusal.value.at] == ["i", "j"]


def test_a_bound_loop_without_a_fixed_size_is_refused():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        for j in T.thread_binding(i + 1, thread="threadIdx.x"):
            A[j] = T.float32(1)
""")
    with pytest.raises(Refusal) as refusal:
        lower(func, CUDA)
    assert refusal.value.headline == ("Can't launch the kernel: `j` on threadIdx.x varies in size")
    assert refusal.value.hint == "bind a loop whose extent is a number"


def test_offsets_that_may_pass_two_to_the_31_have_64_bits():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((65536, 65536), "int8"), B: T.Buffer((4096, 4096), "int8")):
    for i in T.thread_binding(65536, thread="blockIdx.x"):
        for j in T.thread_binding(1024, thread="threadIdx.x"):
            for k in range(64):
                with T.block("A"):
                    v0 = T.axis.spatial(65536, i)
                    v1 = T.axis.spatial(65536, j * 64 + k)
                    A[v0, v1] = B[v0 // 16, v1 // 16]
""")
    (store,) = [line for line in body_of(func) if "A[" in line]
    assert 'T.Cast("int64", i) * T.int64(65536)' in store
    assert store.count("int64") == store.split(" = ")[0].count("int64")  # B's stay in 32 bits


def test_conditions_that_may_pass_two_to_the_31_have_64_bits():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "int8")):
    for i in T.thread_binding(4000000, thread="blockIdx.x"):
        for j in T.thread_binding(1024, thread="threadIdx.x"):
            for k in range(2):
                if i * 2048 + j * 2 + k < 8:
                    A[i * 2048 + j * 2 + k] = T.int8(1)
""")
    assert "int64" in text_of(func).split("if ")[1].splitlines()[0]


def test_loops_over_registers_are_unrolled():
    text = text_of(blocked_matmul())
    assert "for k_0 in range(8)" in text and "for k_1 in range(8)" in text
    for name in ("i_2_init", "j_2_init", "i_2", "j_2", "ax0", "ax1"):
        assert f"for {name} in T.unroll(4)" in text


def test_a_loop_too_long_to_unroll_stays():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    S = T.alloc_buffer((4096,), scope="local")
    for t in T.thread_binding(1, thread="threadIdx.x"):
        for i in range(4096):
            S[i] = A[i]
        for i in range(4096):
            B[i] = S[4095 - i]
""")
    assert "unroll" not in text_of(func)


def test_lowering_leaves_the_program_as_it_was():
    func = blocked_matmul()
    before = script.show(func)
    lower(func, CUDA)
    assert script.show(func) == before


def test_kernels_are_flat():
    for kernel in lower(blocked_matmul(), CUDA).kernels:
        assert isinstance(kernel, Kernel)
        assert all(len(buffer.shape) == 1 for buffer in (*kernel.params, *kernel.allocs))


def test_a_kernel_that_provably_does_nothing():
    func = parsed("""
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in T.thread_binding(2, 4, thread="blockIdx.x"):
            for j in range(4):
                with T.block("C"):
                    vi = T.axis.spatial(8, i * 4 + j)
                    T.where(i * 4 + j < 8)
                    C[vi] = A[vi]
    """)
    kernel = wb.build(func, target="cuda")
    result = np.ones(8, "float32")
    kernel.emulate(np.arange(8, dtype="float32"), result)
    assert result.tolist() == [1.0] * 8
    assert "C[" not in kernel.source


def test_a_division_that_a_condition_keeps_away_from_the_only_turn():
    func = script.parse("""
@T.prim_func
def main(n: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for t in T.thread_binding(4, thread="threadIdx.x"):
        for i in range(1):
            with T.block("C"):
                vt, vi = T.axis.remap("SS", [t, i])
                T.where(t < i)
                C[vt] = n[vt] // vi
""")
    kernel = wb.build(func)
    c = np.full(4, 7, "int32")
    kernel.emulate(np.arange(4, dtype="int32"), c)
    assert c.tolist() == [7, 7, 7, 7]


def test_both_values_of_a_select_are_made_whatever_its_condition():
    func = script.parse("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((9,), "float32")):
    for i in T.thread_binding(9, thread="threadIdx.x"):
        with T.block("C"):
            vi = T.axis.spatial(9, i)
            C[vi] = T.Select(vi > 0, A[T.max(vi, 1) - 1], T.float32(0))
""")
    a, c = np.arange(1, 9, dtype="float32"), np.zeros(9, "float32")
    wb.build(func).emulate(a, c)
    assert c.tolist() == [0, *a]
