"""Shared and local arrays become as large as what a block, or a thread, uses of them."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul, strided
from tests.support.gpu_programs import blocked_matmul, parsed, window_steps
from workbench import lesson, script, target
from workbench.ir import Kernel, PrimFunc
from workbench.lower import lower

CUDA = target.get("cuda")


def kernel_of(func: PrimFunc, after: str = "shrink_buffers") -> Kernel:
    (step,) = (step for step in lower(func, CUDA).history if step.name == after)
    (kernel,) = step.after
    assert isinstance(kernel, Kernel)
    return kernel


def sizes(func: PrimFunc) -> dict[str, tuple[int, ...]]:
    return {buffer.name: buffer.shape for buffer in kernel_of(func).allocs}


@pytest.mark.parametrize("step", ["shared", "cooperative"])
def test_the_window_sum_keeps_130_of_1027(step: str):
    assert sizes(window_steps()[step]) == {"A_shared": (130,)}


def test_a_matmul_keeps_its_tiles():
    assert sizes(blocked_matmul()) == {
        "C_local": (4, 4),
        "A_shared": (16, 8),
        "B_shared": (8, 16),
    }


@pytest.mark.tool
@pytest.mark.parametrize("size", [(120, 120, 64), (100, 120, 60), (130, 70, 37)])
@pytest.mark.parametrize("shared", [True, False])
def test_a_matmul_that_its_tiles_do_not_divide_keeps_no_more(size: tuple[int, ...], shared: bool):
    """What guards a copy only keeps it inside its array: what is read is inside, too."""
    start = matmul(*size)
    if shared:
        sch = blocking_with_shared(wb.Schedule(start), 8, 8, 8, 8, 8)
    else:
        sch = blocking(wb.Schedule(start), 8, 8, 8, 8, 8, keep=True)
    tile = 64 if shared else 8
    depth = 8 if shared else 1
    _, (rows, rows_k), (columns_k, columns) = sizes(sch.func).values()
    assert (rows, rows_k, columns_k, columns) == (tile, depth, depth, tile)
    assert lesson.check_result(sch.func, start) == ""


def test_a_copy_that_leaves_cells_out_is_kept_over_iterations():
    """Below 60 of 64 an iteration writes; above, it reads what an earlier one wrote."""
    func = parsed(
        """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((16, 64), "float32")):
    S = T.alloc_buffer((64,), scope="local")
    for t in T.thread_binding(1, thread="threadIdx.x"):
        for k in range(16):
            for i in range(4):
                with T.block("S"):
                    v = T.axis.spatial(64, k * 4 + i)
                    T.where(k * 4 + i < LIMIT)
                    S[v] = A[v]
            for i in range(4):
                with T.block("B"):
                    vk = T.axis.spatial(16, k)
                    v = T.axis.spatial(64, k * 4 + i)
                    B[vk, v] = S[v]
""".replace("LIMIT", "60")
    )
    assert sizes(func) == {"S": (64,)}
    assert sizes(parsed(script.show(func).replace("< 60", "< 64"))) == {"S": (4,)}


def test_each_view_tells_which_array_it_is_a_part_of():
    func = window_steps()["cooperative"]
    (kernel,) = lower(func, CUDA).kernels
    views = dict(kernel.views)
    assert [views[p] for p in kernel.params] == list(func.params)
    (shared,) = kernel.allocs
    assert views[shared] is func.root.alloc_buffers[0]


def test_a_condition_on_a_sum_limits_the_region():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((64, 10), "float32"), B: T.Buffer((64, 10), "float32")):
    S = T.alloc_buffer((64, 10), scope="shared")
    for b in T.thread_binding(16, thread="blockIdx.x"):
        for s in range(6):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("S"):
                    v0 = T.axis.spatial(64, b * 4 + (s * 8 + t) // 10)
                    v1 = T.axis.spatial(10, (s * 8 + t) % 10)
                    T.where(s * 8 + t < 40)
                    S[v0, v1] = A[v0, v1]
        for s, u in T.grid(4, 10):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    v0 = T.axis.spatial(64, b * 4 + s)
                    v1 = T.axis.spatial(10, u)
                    B[v0, v1] = S[v0, v1]
""")
    assert sizes(func) == {"S": (4, 10)}


CARRIED = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    S = T.alloc_buffer((64,), scope="{scope}")
    for t in T.thread_binding(2, thread="threadIdx.x"):
        for k in range(64):
            with T.block("S"):
                v = T.axis.spatial(64, k)
                S[v] = A[v]
            with T.block("B"):
                v = T.axis.spatial(64, k)
                B[v] = {read}
"""


def test_what_an_iteration_writes_and_reads_itself_needs_one_cell():
    assert sizes(parsed(CARRIED.format(scope="local", read="S[v] + S[v]"))) == {"S": (1,)}


def test_what_an_earlier_iteration_wrote_is_kept():
    func = parsed(CARRIED.format(scope="local", read="S[T.max(v - 1, 0)] + S[v]"))
    assert sizes(func) == {"S": (64,)}


def test_storage_align_pads_the_kept_part():
    text = script.show(blocked_matmul()).replace(
        "A_shared[v0, v1] = A[v0, v1]",
        'T.block_attr({"buffer_dim_align": [[0, 0, 32, 4]]})\n'
        + 36 * " "
        + "A_shared[v0, v1] = A[v0, v1]",
    )
    kernel = kernel_of(parsed(text))
    assert {b.name: b.strides for b in kernel.allocs}["A_shared"] == (36, 1)
    flat = kernel_of(parsed(text), after="flatten_buffers")
    assert {b.name: b.shape for b in flat.allocs}["A_shared"] == (15 * 36 + 8,)


@pytest.mark.parametrize(
    "user",
    [
        """T.where(i > 0 and S[i - 1] > 0)
                B[v] = 1""",
        """for _ in range(T.if_then_else(v > 0, S[v - 1], 0)):
                    B[v] = 1""",
    ],
    ids=["predicate", "extent"],
)
def test_what_decides_whether_a_block_runs_is_read_too(user: str):
    """Of an earlier iteration's cell: one cell alone is not enough, though no value reads it."""
    func = parsed(
        f"""
@T.prim_func
def main(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
    S = T.alloc_buffer((32,), "int32", scope="local")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in range(32):
            with T.block("S"):
                v = T.axis.spatial(32, i)
                S[v] = A[v]
            with T.block("B"):
                v = T.axis.spatial(32, i)
                {user}
"""
    )
    assert sizes(func)["S"] == (32,)


# --- what an earlier turn left is kept -----------------------------------------------------------

GAPS = """
@T.prim_func
def main(A: T.Buffer((11,), "float32"), C: T.Buffer((28,), "float32")):
    X = T.alloc_buffer((11,), scope="local")
    for t in T.thread_binding(1, thread="threadIdx.x"):
        for k in range(4):
            for i in range(8):
                with T.block("X"):
                    vk, vi = T.axis.remap("SS", [k, i])
                    X[vk + vi // 2 * 2] = A[vk + vi // 2 * 2] + T.cast(vk, "float32")
            for j in range(7):
                with T.block("C"):
                    vk, vj = T.axis.remap("SS", [k, j])
                    C[vk * 7 + vj] = T.if_then_else(vk > 0 or vj % 2 == 0, X[vk + vj], T.float32(0))
"""
LATER = """
@T.prim_func
def main(A: T.Buffer((7,)), C: T.Buffer((4, 4)), D: T.Buffer((4, 4))):
    X = T.alloc_buffer((7,), scope="local")
    for t in T.thread_binding(1, thread="threadIdx.x"):
        for k in range(4):
            for i in range(4):
                with T.block("X"):
                    vk, vi = T.axis.remap("SS", [k, i])
                    X[vk + 3 - vi] = A[vk + 3 - vi] + T.cast(vk, "float32")
                with T.block("C"):
                    vk, vi = T.axis.remap("SS", [k, i])
                    C[vk, vi] = T.if_then_else(vk > 0 or vi > 1, X[vk + vi], T.float32(0))
            for j in range(4):
                with T.block("D"):
                    vk, vj = T.axis.remap("SS", [k, j])
                    D[vk, vj] = X[vk + vj]
"""


@pytest.mark.parametrize("text", [GAPS, LATER])
def test_what_an_earlier_turn_left_is_not_overwritten(text: str) -> None:
    """A turn reads, of what another one wrote, where it leaves gaps, or fills them only later."""
    func = script.parse(text)
    assert lesson.check_result(func, func) == ""


KEPT = """
@T.prim_func
def main(A: T.Buffer((64,)), N: T.Buffer((4,), "int32"), B: T.Buffer((8, 3))):
    S = T.alloc_buffer((40,), scope="SCOPE")
    for x in T.thread_binding(1, thread="threadIdx.x"):
        for t in range(4):
"""


@pytest.mark.parametrize("scope", ["local", "shared"])
def test_a_loop_whose_length_varies_writes_no_more_than_its_turns(scope: str):
    """Of the three cells that are read in a turn, it writes `t`; the turn before wrote the rest."""
    func = parsed(
        KEPT.replace("SCOPE", scope)
        + """
            for j in range(LENGTH):
                S[t * 4 + j] = A[t + j]
            for j in range(3):
                if t > 0:
                    B[t, j] = S[t * 4 + j]
            for j in range(3):
                S[t * 4 + 4 + j] = A[t * 4 + 40 + j]
""".replace("LENGTH", "t")
    )
    cells = 7 if scope == "shared" else 6  # of registers, without the one between
    assert sizes(func)["S"] > (cells,)
    assert lesson.check_result(func, func) == ""
    assert sizes(parsed(script.show(func).replace("range(t)", "range(3)")))["S"] == (cells,)


@pytest.mark.parametrize("scope", ["local", "shared"])
def test_an_index_in_memory_that_changes_tells_no_part(scope: str):
    """It names two cells of each turn, one after the other."""
    func = parsed(
        KEPT.replace("SCOPE", scope)
        + """
            N[0] = 0
            S[t * 4 + N[0]] = A[t]
            N[0] = 1
            S[t * 4 + N[0]] = A[t + 50]
            N[0] = 0
            B[t, 0] = S[t * 4 + N[0]]
"""
    )
    assert sizes(func) == {"S": (40,)}
    assert lesson.check_result(func, func) == ""


@pytest.mark.parametrize("scope", ["local", "shared"])
def test_a_condition_on_another_variable_is_another_condition(scope: str):
    """Where ``t >= 1`` all is read, of which a turn writes what is at ``j >= 1``."""
    func = parsed(
        KEPT.replace("SCOPE", scope)
        + """
            for j in range(3):
                if j >= 1:
                    S[t * 4 + j * 4] = A[t + j]
            for j in range(3):
                if t >= 1:
                    B[t, j] = S[t * 4 + j * 4]
            for j in range(3):
                S[t * 4 + 4 + j * 4] = A[t + j + 40]
"""
    )
    # of all turns: from 4 to 24; of registers, each fourth of them
    assert sizes(func) == {"S": (21,) if scope == "shared" else (6,)}
    assert lesson.check_result(func, func) == ""


@pytest.mark.parametrize(
    ("ends", "stored", "read"),
    [("i", "i == 0", "i > 0"), ("i, i + 2", "i == 0 and j == 2", "i == 2")],
)
def test_a_loop_inside_may_have_no_turn_in_the_first_one(ends: str, stored: str, read: str):
    """So nothing is stored there, and what is read was left by an iteration of `o` before."""
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((9,), scope="local")
    for t in T.thread_binding(1, thread="threadIdx.x"):
        for o in range(8):
            for i in range(3):
                for j in range({ends}):
                    if {stored}:
                        S[o] = T.float32(7)
                    if o > 0 and {read}:
                        B[o] = S[o]
            S[o + 1] = A[o]
""")
    a, b = np.arange(1, 9, dtype="float32"), np.zeros(8, "float32")
    wb.build(wb.Schedule(func)).emulate(a, b)
    assert b.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert sizes(func) == {"S": (9,)}
    always = script.show(func).replace(f"if {stored}:", "if j >= 0:")
    assert sizes(parsed(always)) == {"S": (2,)}


def test_what_is_read_before_it_is_stored_was_left_by_a_turn_before():
    """Of the loop that writes cell `o + 1`, so that all cells are kept."""
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((9,), scope="local")
    for t in T.thread_binding(1, thread="threadIdx.x"):
        for o in range(8):
            if o > 0:
                B[o] = S[o]
            S[o] = T.float32(0)
            S[o + 1] = A[o]
""")
    assert sizes(func) == {"S": (9,)}
    assert lesson.check_result(func, func) == ""


def test_a_loop_that_tells_the_cell_is_in_its_own_turn():
    """Only the first turn of `j` stores, and that is another cell than those of the others."""
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8, 3), "float32")):
    S = T.alloc_buffer((11,), scope="local")
    for t in T.thread_binding(1, thread="threadIdx.x"):
        for o in range(8):
            for j in range(3):
                if j == 0:
                    S[o + j] = T.float32(7)
                if o > 2:
                    B[o, j] = S[o + j]
            S[o + 3] = A[o]
""")
    assert sizes(func) == {"S": (11,)}
    assert lesson.check_result(func, func) == ""


def test_virtual_threads_share_what_all_threads_share():
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    S = T.alloc_buffer((64,), scope="shared")
    for v in T.thread_binding(2, thread="vthread.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            S[v * 32 + t] = A[v * 32 + t]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[v * 32 + t] = S[v * 32 + 31 - t]
""")
    assert sizes(func) == {"S": (64,)}
    assert lesson.check_result(func, func) == ""


# --- gaps ----------------------------------------------------------------------------------------

APART = """
@T.prim_func
def main(A: T.Buffer((1024,), "int32"), B: T.Buffer((1024,), "int32")):
    S = T.alloc_buffer((1024,), "int32", scope="SCOPE")
    for t in T.thread_binding(8, thread="threadIdx.x"):
        for a, b, c in T.grid(2, 3, 4):
            S[THEN] = 3
        for a, b, c in T.grid(2, 3, 4):
            S[FIRST] = A[FIRST]
        for a, b, c in T.grid(2, 3, 4):
            B[FIRST] = S[FIRST] * 2
"""


def apart(first: str, then: str = "", scope: str = "local") -> PrimFunc:
    text = APART.replace("THEN", then or first).replace("FIRST", first)
    return parsed(text.replace("SCOPE", scope))


@pytest.mark.parametrize(
    ("first", "cells"),
    [
        ("a * 512 + b * 32 + c + t * 4", 24),
        ("a * 512 + b * 32 + c * 8 + t", 24),
        ("(2 - b) * 64 + (1 - a) * 16 + t", 6),  # counted down, and the same for every c
        ("a * 32 + b * 34 + t * 64", 51),  # each second one, no more: these have no common pitch
        ("a * 512 + b * 3 + c + t * 16", 20),  # groups of 4 that overlap
        ("a * 512 + (b + c) // 2 * 8 + t", 6),
    ],
)
def test_groups_of_registers_lie_side_by_side(first: str, cells: int):
    func = apart(first)
    assert sizes(func) == {"S": (cells,)}
    assert lesson.check_result(func, func) == ""


def test_what_lies_between_groups_widens_them():
    """Cells 0 to 3 and 2 to 5 of 64 are 6. With rows 60 apart beside these, only 512 is a pitch."""
    groups = "a * 512 + b * 64 + c + t * 4"
    for then, cells in ((f"{groups} + 2", 36), (groups.replace("64", "60"), 264)):
        func = apart(groups, then)
        assert sizes(func) == {"S": (cells,)}
        assert lesson.check_result(func, func) == ""


def test_shared_memory_keeps_its_gaps():
    """A cell's place says in which bank it is."""
    assert sizes(apart("a * 512 + b * 32 + c + t * 4", scope="shared")) == {"S": (608,)}


def test_what_is_fetched_ahead_takes_no_more_registers_than_cells():
    """A thread fetches 4 neighbours of rows that are 4 and 32 apart."""
    (kernel,) = lower(strided(wb.Schedule(matmul(64, 128, 32)), ahead=True).func, CUDA).kernels
    local = {b.name: b.shape for b in kernel.allocs if b.scope == "local"}
    assert (local["A_local"], local["B_local"]) == ((8,), (16,))
