"""Barriers stand where threads could race, and nowhere else."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from tests.access.corpus import program
from tests.support.gpu_programs import add_in_blocks, blocked_matmul, parsed, window_steps
from workbench import emulate, script, target
from workbench.diag import Refusal
from workbench.ir import Barrier, BufferLoad, Kernel, Node, PrimFunc, rebuild, walk
from workbench.lower import lower
from workbench.lower.insert_barriers import insert_barriers

CUDA = target.get("cuda")


def lowered_text(func: PrimFunc) -> str:
    (kernel,) = lower(func, CUDA).kernels
    return script.show(kernel)


def barriers(func: PrimFunc) -> int:
    return sum(
        isinstance(node, Barrier) for kernel in lower(func, CUDA).kernels for node in walk(kernel)
    )


def shared(body: str, threads: int = 32, cells: int = 32) -> PrimFunc:
    """`body` on an array S in shared memory, for threads t of two blocks b."""
    indented = "\n".join(f"            {line}" for line in body.strip().splitlines())
    return parsed(f"""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    S = T.alloc_buffer(({cells},), scope="shared")
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding({threads}, thread="threadIdx.x"):
{indented}
""")


def test_nothing_shared_needs_none():
    assert barriers(add_in_blocks()) == 0
    assert barriers(blocked_matmul(shared=False)) == 0


def test_reading_what_others_fetched_needs_one():
    assert barriers(window_steps()["shared"]) == 1
    assert barriers(window_steps()["cooperative"]) == 1


def test_a_loop_that_never_runs_proves_nothing_of_what_is_beside_it():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((2, 8), "int32"), B: T.Buffer((2, 8), "int32")):
    S = T.alloc_buffer((8,), "int32", scope="shared")
    for j in range(2):
        for i in range(T.max(j - 2, 0)):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                B[i, t] = A[i, t]
        for t in T.thread_binding(8, thread="threadIdx.x"):
            S[t] = A[j, t]
        for t in T.thread_binding(8, thread="threadIdx.x"):
            B[j, t] = S[7 - t]
""")
    assert barriers(func) == 2


def test_a_tile_that_is_fetched_again_needs_two():
    assert barriers(blocked_matmul()) == 2


def test_one_barrier_serves_two_stages():
    text = lowered_text(blocked_matmul())
    between = text.split("T.barrier()")[1]
    assert "A_shared[" in between and "B_shared[" in between


def test_a_thread_that_reads_what_it_wrote_itself_does_not_wait():
    assert barriers(shared("S[t] = A[t]\nB[b * 32 + t] = S[t] + S[t]")) == 0
    assert barriers(shared("S[t // 4 * 4 + t % 4] = A[t]\nB[b * 32 + t] = S[t]")) == 0
    own_pair = """
for u in range(2):
    S[t * 2 + u] = A[t * 2 + u]
for u in range(2):
    B[t * 2 + u] = S[t * 2 + 1 - u]
"""
    assert barriers(shared(own_pair, cells=64)) == 0


def test_a_neighbour_is_waited_for():
    assert barriers(shared("S[t] = A[t]\nB[b * 32 + t] = S[(t + 1) % 32]")) == 1
    assert barriers(shared("S[t] = A[t]\nB[b * 32 + t] = S[31 - t]")) == 1


def test_halves_that_never_meet_do_not_wait():
    assert barriers(shared("S[t] = A[t]\nB[b * 32 + t] = S[t + 32]", cells=64)) == 0


def test_a_permutation_looked_at_cell_by_cell_does_not_wait():
    same = "S[(t * 5 + 3) % 32] = A[t]\nB[b * 32 + t] = S[(t * 5 + 3) % 32]"
    assert barriers(shared(same)) == 0
    assert barriers(shared("S[(t * 5 + 3) % 32] = A[t]\nB[b * 32 + t] = S[t]")) == 1


def test_a_window_cut_off_at_the_edge_does_not_wait_for_itself():
    body = """
for c in range(2):
    S[T.max(b * 16 + c * 16 + t // 2 - 2, 0)] = A[c * 16 + t // 2]
B[b * 32 + t] = S[b * 16 + 31 - t]
"""
    text = lowered_text(shared(body, cells=64))
    assert text.count("T.barrier()") == 1
    assert text.index("for c") < text.index("S[T.max") < text.index("T.barrier()")


def test_a_loop_around_needs_its_own():
    body = """
for k in range(4):
    S[t] = A[k * 4 + t]
    B[b * 32 + t] = S[31 - t]
"""
    assert barriers(shared(body)) == 2


def test_turns_that_do_not_wait_may_be_any_number_apart():
    """Two threads, of which one reads what the other wrote two turns before."""
    body = """
for k in range(8):
    S[k * 32 + t] = A[b * 32 + t]
    if k >= 2:
        B[b * 32 + t] = S[k * 32 - 64 + 31 - t]
"""
    assert barriers(shared(body, cells=256)) == 1


def test_the_barrier_stands_before_the_loop_not_in_it():
    body = """
S[t] = A[t]
for k in range(4):
    B[k * 8 + t % 8] = S[k]
"""
    text = lowered_text(shared(body))
    assert text.index("T.barrier()") < text.index("for k")
    assert barriers(shared(body)) == 1


INNER = """
    S[32 + t] = A[t]
    B[b * 32 + t] = S[63 - t]
"""


@pytest.mark.parametrize(
    "around",
    [
        "for k in range(b):" + INNER,
        "if b == 0:" + INNER,
        "if b == 0:" + INNER + "else:\n    B[b * 32 + t] = A[t]",
    ],
)
def test_where_a_block_may_pass_by_a_barrier_the_next_one_stays(around: str):
    body = f"S[t] = A[t]\n{around}\nB[b * 32 + t] = S[31 - t]"
    assert barriers(shared(body, cells=64)) == 2


@pytest.mark.parametrize(
    "reading", ["if S[31 - t] > 0.0:", "for k in range(T.Cast('int32', S[31 - t])):"]
)
def test_what_others_stored_may_say_whether_a_thread_goes_on(reading: str):
    read = f"{reading}\n    B[b * 32 + t] = A[t]"
    assert barriers(shared(f"S[t] = A[t]\n{read}")) == 1
    assert barriers(shared(f"S[t] = A[t]\n{read}\nS[t] = A[t + 1]")) == 2


def test_global_memory_that_a_block_hands_on_is_waited_for():
    body = "B[b * 32 + t] = A[t]\nS[t] = B[b * 32 + 31 - t]\nB[b * 32 + t] = S[t]"
    assert barriers(shared(body)) == 2


def test_one_thread_needs_none():
    assert barriers(shared("S[t] = A[t]\nB[b + t] = S[0]", threads=1)) == 0


def test_a_condition_that_is_the_same_for_the_block_may_hold_barriers():
    body = """
if b < 1:
    S[t] = A[t]
    B[t] = S[31 - t]
"""
    assert "T.barrier()" in lowered_text(shared(body)).split("if ")[1]


def test_what_stands_in_the_other_case_is_done_where_the_condition_does_not_hold():
    body = """
if t < 16:
    B[b + t] = A[t]
else:
    S[t - 16] = A[t]
B[b + t] = S[t % 16]
"""
    assert barriers(shared(body)) == 1


def test_a_condition_that_splits_the_block_is_refused():
    body = """
if t < 16:
    S[t] = A[t]
    B[t] = S[15 - t]
"""
    with pytest.raises(Refusal) as refusal:
        lower(shared(body), CUDA)
    assert refusal.value.headline == (
        "Can't run this on a GPU: threads would wait at S for others that never come"
    )
    assert refusal.value.hint == (
        "make the condition around it the same for the whole block, or take the condition only "
        "around the store"
    )
    assert refusal.value.detail == (
        "In it, threads read what other threads wrote, so that all of a block have to meet at a "
        "barrier; but the condition lets only some of them get there."
    )


def test_a_loop_that_only_some_threads_run_to_the_end_is_refused():
    body = """
for k in range(t + 1):
    S[t] = A[k]
    B[t] = S[31 - t]
"""
    with pytest.raises(Refusal, match="threads would wait at S for others that never come"):
        lower(shared(body), CUDA)


def test_a_barrier_where_memory_says_who_goes_on_is_refused():
    """Each thread may find something else in S[0], which one of them changes."""
    body = """
if S[0] > 0.0:
    S[32 + t] = A[t]
    B[t] = S[63 - t]
    S[0] = A[t]
"""
    with pytest.raises(Refusal, match="threads would wait at S for others that never come"):
        lower(shared(body, cells=64), CUDA)


@pytest.mark.parametrize("control", ["for k in range(n):", "for k in range(N[1]):", "if N[n] > n:"])
def test_what_nobody_writes_is_the_same_for_the_block(control: str):
    func = parsed(f"""
@T.prim_func
def main(n: T.int32, N: T.Buffer((4,), "int32"), A: T.Buffer((32,), "int32"),
         B: T.Buffer((32,), "int32")):
    S = T.alloc_buffer((32,), "int32", scope="shared")
    {control}
        for t in T.thread_binding(32, thread="threadIdx.x"):
            S[t] = A[t]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[t] = B[t] + S[31 - t]
""")
    kernel, a = wb.build(func), np.arange(32, dtype="int32")
    for number in (0, 1, 3):
        given = [np.array(number, "int32"), np.full(4, 2, "int32"), a]
        meant, got = a.copy(), a.copy()
        emulate.evaluate(func, [*given, meant])
        kernel.emulate(*given, got)
        np.testing.assert_array_equal(got, meant)


def test_the_kernel_with_no_barrier_is_the_same_object():
    history = lower(add_in_blocks(), CUDA).history
    (step,) = (step for step in history if step.name == "insert_barriers")
    (before,), (after,) = step.before, step.after
    assert isinstance(before, Kernel) and before is after


def test_a_barrier_that_comes_earlier_does_not_make_the_one_of_the_next_turn_unnecessary() -> None:
    sch = wb.Schedule(program("refilled", "a reader of half of what each turn makes elsewhere"))
    sch.loop_partition(sch.get_loops("t")[1], [4, None])
    sch.bind(sch.get_loops("t_i0")[1], "threadIdx.x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        built = wb.build(sch, target="cuda")
    got, meant = ([np.arange(16, dtype="float32").reshape(2, 8), np.zeros(8, "float32")]
                  for _ in range(2))  # fmt: skip
    built.emulate(*got)
    emulate.evaluate(sch.func, meant)
    np.testing.assert_array_equal(got[1], meant[1])


@pytest.mark.parametrize(("scope", "placed"), [("local", 1), ("shared", 3), ("global", 3)])
def test_a_cell_told_by_memory_is_another_one_once_that_is_written(scope: str, placed: int):
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    S = T.alloc_buffer((80,), scope="shared")
    M = T.alloc_buffer((4,), "int32", scope="{scope}")
    for k in range(1):
        with T.block("zero"):
            M[0] = 0
        for t in T.thread_binding(64, thread="threadIdx.x"):
            S[t + M[0]] = A[t]
        with T.block("one"):
            M[0] = 1
        for t in T.thread_binding(64, thread="threadIdx.x"):
            if t < 63:
                C[t] = S[t + M[0]]
""")
    assert barriers(func) == placed
    a, c = np.arange(64, dtype="float32"), np.zeros(64, "float32")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wb.ScheduleWarning)
        wb.build(wb.Schedule(func)).emulate(a, c)
    assert c[:63].tolist() == a[1:].tolist()


def test_one_load_that_stands_at_two_places_is_two_accesses():
    func = parsed("""
@T.prim_func
def main(
    A: T.Buffer((64,), "float32"),
    C: T.Buffer((64,), "float32"),
    D: T.Buffer((64,), "float32"),
    E: T.Buffer((64,), "float32"),
    F: T.Buffer((64,), "float32"),
    S: T.Buffer((1,), "float32"),
):
    R = T.alloc_buffer((64,), scope="shared")
    Q = T.alloc_buffer((64,), scope="shared")
    for t in T.thread_binding(64, thread="threadIdx.x"):
        for k in range(4):
            if k % 2 == 0 and t == 0:
                S[0] = A[k]
            if k % 2 == 0:
                R[t] = A[t]
            if k % 2 == 0:
                Q[t] = A[t]
            if k % 2 == 1:
                C[t] = S[0]
            if k % 2 == 0:
                D[t] = R[63 - t]
            if k % 2 == 1:
                F[t] = Q[63 - t]
            if t == 0:
                E[k] = S[0]
""")
    stages = {stage.name: stage.after for stage in lower(func, CUDA).history}
    (kernel,) = stages["inject_virtual_threads"]
    load, *_ = (n for n in walk(kernel) if isinstance(n, BufferLoad) and n.buffer.name == "S")

    def shared(node: Node) -> Node:
        loads_s = isinstance(node, BufferLoad) and node.buffer is load.buffer
        return load if loads_s else rebuild(node, shared)

    every = replace(kernel, body=shared(kernel.body))
    for one in (kernel, every):
        placed = insert_barriers(one, CUDA)
        assert sum(isinstance(node, Barrier) for node in walk(placed)) == 2
