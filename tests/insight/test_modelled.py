"""The modelled time: terms on paper for small kernels, and what cannot be counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

import workbench as wb
from benchmarks.histories import window_sum
from benchmarks.matmuls import SCHEDULES, blocking, blocking_with_shared, matmul
from tests.support.cases import seeds
from tests.support.random_kernels import random_kernel
from workbench import insight, target
from workbench.insight.chain import BARRIER, Wait, chain
from workbench.insight.compiled import compiled
from workbench.insight.demands import Demand, demands
from workbench.insight.from_l2 import from_l2
from workbench.insight.made import made
from workbench.ir import Kernel, PrimFunc
from workbench.lesson.products import in_shared
from workbench.lower import lower
from workbench.lower.keep_values import keep_values
from workbench.target import Target

H200 = target.get("nvidia/h200")


def built(text: str) -> tuple[Kernel, ...]:
    return wb.build(wb.Schedule(wb.script.parse(text)), target=H200).kernels


def demanded(kernel: Kernel) -> dict[tuple[str, str], float]:
    """What loads and stores of each buffer ask of each resource, together."""
    found: dict[tuple[str, str], float] = {}
    for demand in demands(keep_values(kernel)):
        key = demand.access.buffer.name, demand.resource
        found[key] = found.get(key, 0.0) + demand.amount
    return found


def term(found: insight.Modelled, resource: str) -> insight.Term:
    return next(term for term in found.terms if term.resource == resource)


COPY = """
@T.prim_func
def main(A: T.Buffer(({size},), "float32"), B: T.Buffer(({cells},), "float32")):
    for i_0 in T.thread_binding({blocks}, thread="blockIdx.x"):
        for i_1 in T.thread_binding({threads}, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial({cells}, i_0 * {threads} + i_1)
                B[v] = A[v * {step}] * T.float32(2)
"""


def copy(blocks: int, threads: int, step: int) -> Kernel:
    cells = blocks * threads
    (kernel,) = built(
        COPY.format(blocks=blocks, threads=threads, step=step, cells=cells, size=cells * step)
    )
    return kernel


@pytest.mark.parametrize(
    "blocks, threads, step, turns, loaded",
    [
        (2, 32, 1, 1, 128),  # 32 neighbours: one line, four sectors
        (1, 4, 1, 1, 32),  # four lanes of a warp: one sector
        (3, 32, 8, 8, 1024),  # a sector each
        (1, 32, 32, 32, 1024),  # a line each
    ],
)
def test_what_a_warp_asks_for_on_paper(
    blocks: int, threads: int, step: int, turns: int, loaded: int
):
    asked = demanded(copy(blocks, threads, step))
    assert asked["A", "issue"] == blocks
    assert asked["A", "L1"] == blocks * turns
    assert asked["A", "L2"] == blocks * loaded
    assert asked["B", "L2"] == blocks * max(threads * 4, 32)
    assert asked["B", "arithmetic"] == blocks
    assert asked["B", "issue"] == 2 * blocks  # the product and the store


def test_terms_are_what_is_asked_over_the_rates():
    found = insight.modelled([copy(133, 32, 1)], H200)  # two blocks on one multiprocessor
    clock = 1e6 / H200.clock_hz
    assert term(found, "L1").us == pytest.approx(2 * 2 * clock)
    assert term(found, "issue").us == pytest.approx(2 * 3 / 4 * clock)
    assert term(found, "L2").us == pytest.approx(133 * 128 / H200.l2_bandwidth * 1e6)
    assert term(found, "launch").us == pytest.approx(0.5 + 133 * 0.6e-3)
    assert term(found, "device").us == 0
    # an instruction to load, the wait, an instruction to multiply and one to store
    assert term(found, "latency").us == pytest.approx((286 + 3) * clock)
    assert found.kind == "modelled"


def test_data_move_in_the_time_of_what_carries_them_longest():
    """133 blocks load a line each: by two turns of L1 where two blocks are, or from L2, in all."""
    clock, l2 = 1e6 / H200.clock_hz, 1e6 / H200.l2_bandwidth
    near = insight.modelled([copy(133, 32, 1)], H200).moved()
    assert near["A", True] == pytest.approx(max(2 * clock, 133 * 128 * l2))
    assert near["B", False] == pytest.approx(max(2 * clock, 133 * 128 * l2))
    far = insight.modelled([copy(1, 32, 32)], H200).moved()  # 32 lines
    assert far["A", True] == pytest.approx(32 * clock) and set(far) == set(near)
    apart = replace(H200, l2_bytes=1)  # nothing stays there
    device = insight.modelled([copy(133, 32, 1)], apart).moved()
    assert device["A", True] == pytest.approx(133 * 128 / H200.bandwidth * 1e6)


def test_what_moves_takes_no_longer_than_its_resource():
    for _, steps, tiles in SCHEDULES:
        kernels = wb.build(steps(wb.Schedule(matmul(64)), *tiles)).kernels
        for one in insight.modelled(kernels, H200).terms:
            for writes in (True, False):
                mine = sum(share.us for share in one.shares if share.writes == writes)
                assert mine <= one.us * (1 + 1e-9), (one.resource, writes)


def test_the_parts_of_a_term_are_all_of_it_and_the_bottleneck_is_the_longest():
    for _, steps, tiles in SCHEDULES:
        kernels = wb.build(steps(wb.Schedule(matmul(64)), *tiles)).kernels
        found = insight.modelled(kernels, H200)
        assert found.bottleneck == found.terms[0].resource
        assert [t.us for t in found.terms] == sorted((t.us for t in found.terms), reverse=True)
        assert found.us >= found.terms[0].us
        for one in found.terms:
            if one.parts:
                assert sum(part.us for part in one.parts) == pytest.approx(one.us)


def test_what_no_thread_ever_does_is_no_part_of_a_term():
    """Of eight threads two store, and neither of them loads."""
    (kernel,) = built("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            T.where(i < 2)
            B[v] = T.if_then_else(v >= 4, A[v], T.float32(1))
""")
    found = insight.modelled([kernel], H200)
    assert found.terms
    assert all(part.buffer == "B" and part.us > 0 for t in found.terms for part in t.parts)


def test_turns_that_nobody_unrolls_are_written_out_as_far_as_they_are_short():
    _, steps, tiles = SCHEDULES[1]
    (kernel,) = wb.build(steps(wb.Schedule(matmul(64)), *tiles)).kernels
    kept = keep_values(kernel)
    names = {var.name: turns for var, turns in compiled(kept).together.items()}
    assert names["k_0"] == 1  # threads wait in it
    assert names["k_1"] == 1  # 64 multiply-adds and 16 loads
    assert names["i_2"] == names["j_2"] == 8
    # the eight neighbours of B come by two loads of 16 bytes, the column of A one by one
    asked = demanded(kernel)
    warps_and_turns = 2 * 64
    assert asked["B_shared", "issue"] == warps_and_turns * 2 + 8 * 2 * 2
    assert asked["A_shared", "issue"] == warps_and_turns * 8 + 8 * 2 * 2


def test_a_warp_waits_for_what_it_loads_and_at_barriers():
    (kernel,) = built("""
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    A_shared = T.alloc_buffer((32,), scope="shared")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("A_shared"):
                v = T.axis.spatial(32, i)
                A_shared[v] = A[v]
        for i in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(32, i)
                B[31 - v] = A_shared[31 - v]
""")
    waits = {d.access.node: Wait(100.0) for d in demands(kernel) if not d.access.writes}
    # load and store, the wait, the barrier, load and store, the wait
    assert chain(kernel, waits) == (2 + 100) + BARRIER + (2 + 100)


def test_loads_that_are_made_together_wait_for_the_one_from_farthest():
    wait = Wait(
        40, ((1 / 2, 200), (1 / 4, 400))
    )  # every other one is from L2, half of these beyond
    assert wait.together(1) == 40 + 100 + 100
    assert wait.together(2) == 40 + 200 * 3 / 4 + 400 * 7 / 16
    assert wait.together(64) == pytest.approx(40 + 200 + 400)
    assert Wait(40).together(64) == 40


@pytest.mark.parametrize(
    "cells, clocks",
    [
        # both turns' 2 x 8 loads, the wait for the last, 2 x 8 sums, 8 stores
        (8, 16 + 100 + 16 + 8),
        # there is a register each for one turn's 32: while it is summed, the next turn's wait
        (32, 64 + 100 + 64 + (100 - 64) + 32),
        (50, 100 + 100 + 100 + 50),  # 100 clocks of a turn hide all of that
    ],
)
def test_what_an_array_holds_of_one_turn_is_waited_for_in_each(cells: int, clocks: int):
    (kernel,) = built(f"""
@T.prim_func
def main(A: T.Buffer(({64 * cells},), "float32"), B: T.Buffer(({32 * cells},), "float32")):
    sums = T.alloc_buffer(({cells},), scope="local")
    kept = T.alloc_buffer(({cells},), scope="local")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for c in T.unroll({cells}):
            sums[c] = T.float32(0)
        for k in T.unroll(2):
            for c in T.unroll({cells}):
                kept[c] = A[k * {32 * cells} + c * 32 + t]
            for c in T.unroll({cells}):
                sums[c] = sums[c] + kept[c]
        for c in T.unroll({cells}):
            B[c * 32 + t] = sums[c]
""")
    waits = {d.access.node: Wait(100.0) for d in demands(kernel) if not d.access.writes}
    assert chain(kernel, waits) == clocks


def test_tiles_in_shared_memory_make_local_blocking_faster_as_an_h200_has_it():
    """Recorded at 222 and 155 µs: without them a warp waits for L2 in every turn of the sum."""
    tiles = (8, 8, 8, 8)
    found = [
        insight.modelled(wb.build(steps(wb.Schedule(matmul(1024)), *tiles, k)).kernels, H200)
        for steps, k in ((blocking, 4), (blocking_with_shared, 8))
    ]
    local, shared = (one.us for one in found)
    assert local and shared and local > 1.25 * shared
    assert [one.bottleneck for one in found] == ["latency", "shared"]


@pytest.mark.parametrize("gpu", [target.get("cuda"), target.get("metal")], ids=str)
def test_there_is_no_time_of_a_gpu_that_nobody_knows(gpu: Target):
    found = insight.modelled([copy(1, 32, 1)], gpu)
    assert found.us is None and found.terms == () and found.bottleneck == ""
    assert found.caption == f"No modelled time: nobody knows how fast {gpu.title} is."


def test_there_is_no_time_where_data_say_what_is_touched():
    kernels = built("""
@T.prim_func
def main(
    A: T.Buffer((32,), "float32"), I: T.Buffer((32,), "int32"), B: T.Buffer((32,), "float32")
):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(32, i)
            B[v] = A[I[v]]
""")
    found = insight.modelled(kernels, H200)
    assert found.us is None
    assert found.caption == (
        "No modelled time: data say where A[I_[i]] is, or there is too much to look at."
    )


def test_there_is_no_time_for_any_size():
    kernels = built("""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i_0 in T.thread_binding(n // 32 + 1, thread="blockIdx.x"):
        for i_1 in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                T.where(i_0 * 32 + i_1 < n)
                v = T.axis.spatial(n, i_0 * 32 + i_1)
                B[v] = A[v] * T.float32(2)
""")
    found = insight.modelled(kernels, H200)
    assert found.us is None
    assert found.caption == (
        "No modelled time: Can't count or draw main_kernel: its sizes are not known: `n`."
    )


def test_registers_that_a_compiler_tells_are_taken():
    kernel = copy(2**12, 256, 1)
    few, many = (insight.modelled([kernel], H200, registers=[n]) for n in (16, 255))
    assert term(few, "latency").us < term(many, "latency").us


def test_what_neighbouring_turns_load_again_is_loaded_once():
    """Four windows of three cells in a run touch six cells of A, not twelve."""
    sch = wb.Schedule(window_sum(1024))
    outer, thread, turn = sch.split("i", factors=[None, 32, 4])
    sch.bind(outer, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    sch.unroll(turn)
    (kernel,) = wb.build(sch).kernels
    assert demanded(kernel)["A", "issue"] == pytest.approx(8 * 6)


def test_what_a_condition_computes_is_no_work():
    (kernel,) = built("""
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(32, i)
            B[v] = T.if_then_else(v * 3 + 1 < 40, A[v], T.float32(0)) + T.float32(1)
""")
    assert demanded(kernel)["B", "arithmetic"] == 1


def test_a_load_that_a_condition_chooses_stays_in_its_branch():
    """A thread's four outputs use one cell of W: loaded once, but for each where it is chosen."""
    text = """
@T.prim_func
def main(W: T.Buffer((32,), "float32"), B: T.Buffer((32, 4), "float32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for j in T.unroll(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = {value} * T.float32(2)
"""
    chosen = "T.if_then_else(vi + vj < 34, W[vi], T.float32(0))"
    loads = [
        demanded(kernel)["W", "issue"]
        for value in ("W[vi]", chosen)
        for kernel in built(text.format(value=value))
    ]
    assert loads == [1, 4]


def test_blocks_on_one_multiprocessor_share_what_they_load():
    """All blocks load the same line: those of a multiprocessor bring it from L2 once."""
    (kernel,) = built("""
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((1056, 32), "float32")):
    for b in T.thread_binding(1056, thread="blockIdx.x"):
        for i in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                vb, vi = T.axis.remap("SS", [b, i])
                B[vb, vi] = A[vi] + T.float32(1)
""")
    asked = demands(kernel)

    def brought(room: int, l1_bytes: int) -> float:
        found = from_l2(kernel, asked, room, 132, l1_bytes)
        return sum(d.amount for d in found if is_load_from_l2(d)) / 128

    assert [brought(room, 2**17) for room in (1, 4, 8)] == [1056, 264, 132]
    # without room in L1, of what they share each brings a quarter for itself; with half, an eighth
    assert [brought(room, 0) for room in (1, 4, 8)] == [1056, 264 + 792 / 4, 132 + 924 / 4]
    assert brought(4, 64) == 264 + 792 / 8


OWN = """
@T.prim_func
def main(A: T.Buffer(({cells},), "float32"), B: T.Buffer((32,), "float32")):
    own = T.alloc_buffer(({cells},), scope="local")
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for k in range({cells}):
            own[k] = A[k]
        B[i] = T.float32(0)
        for k in range({cells}):
            B[i] = B[i] + own[{cell}]
"""


@pytest.mark.parametrize(
    "cells, cell, stores, loads",
    [
        (8, "k", (0, 0), (0, 0)),  # written out: eight registers
        # each lane another cell: 16 bytes a store, 512 in four lines; a line for each lane's load
        (128, "(k + i) % 128", (32, 32 * 16), (128, 128 * 32)),
        # 256 numbers and 24 others in 255 registers: 25 cells have none, and go one by one
        (256, "k", (25, 25 * 4), (25, 25 * 4)),
    ],
)
def test_what_a_thread_has_no_register_for_is_in_local_memory(
    cells: int, cell: str, stores: tuple[int, int], loads: tuple[int, int]
):
    """Requests and sectors of one warp."""
    func = wb.script.parse(OWN.format(cells=cells, cell=cell))
    assert isinstance(func, PrimFunc)
    kept = keep_values(lower(func, H200).kernels[0])
    own = [one for one in made(kept) if one.access.buffer.scope == "local"]
    for writes, by_hand in ((True, stores), (False, loads)):
        mine = [one for one in own if one.access.writes == writes]
        found = sum(o.requests for o in mine), sum(o.taken for o in mine)
        assert found == pytest.approx(by_hand)
    assert {t.scope for t in insight.totals([kept]).totals} == {"global"}
    # 32 threads' arrays, of which L1 has room for a half: the rest goes to L2 and back
    asked = from_l2(kept, demands(kept), 1, 132, 16 * cells * 4)
    far = sum(d.amount for d in asked if d.resource == "L2" and d.access.buffer.scope == "local")
    assert far == pytest.approx((stores[1] + loads[1]) * 32 / 2)


def test_what_is_too_much_for_registers_is_stored_and_loaded_once_a_turn():
    """nvcc 13.0 for sm_90 has 53 loads and 59 stores of local memory in a turn of its sum."""
    sch = wb.Schedule(matmul(1024))
    in_shared(sch, (16, 16), (8, 8), 4)
    assert isinstance(sch.func, PrimFunc)
    (kernel,) = lower(sch.func, H200).kernels
    warps_and_turns = 8 * 8 * 2 * 1024
    local = [one for one in made(keep_values(kernel)) if one.access.buffer.scope == "local"]
    for writes, counted in ((False, 53), (True, 59)):
        requests = sum(one.requests for one in local if one.access.writes == writes)
        assert requests / warps_and_turns == pytest.approx(counted, rel=0.1)


def is_load_from_l2(demand: Demand) -> bool:
    return demand.resource == "L2" and not demand.access.writes


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds())
def test_random_kernels_have_a_time_or_a_reason(seed: int):
    kernel = random_kernel(seed)
    found, faults = insight.modelled([kernel], H200), insight.why([kernel], H200)
    assert found.us == faults.us
    if found.us is None:
        assert found.caption == faults.caption and found.caption.startswith("No modelled time: ")
        return
    assert all(0 <= one.us <= found.us + 0.5 for one in found.terms)
    assert all(0 < fault.gain < found.us for fault in faults.faults)


def test_a_row_that_registers_have_no_room_for_is_loaded_for_each_column():
    """Of the 64 turns 16 are written out; as the sum starts in them, the first 16 stand ahead."""
    sch = wb.Schedule(matmul(32, 4, 64))
    i, _, _ = sch.get_loops("C")
    sch.bind(i, "threadIdx.x")
    lowered = insight.lowered_of(sch.func)  # type: ignore[arg-type]  # of a program, not a module
    assert lowered is not None
    (kernel,) = lowered.kernels
    together = {v.name: n for v, n in compiled(keep_values(kernel)).together.items()}
    assert together == {"j": 1, "k": 16}
    asked = demanded(kernel)
    assert asked["A", "issue"] == pytest.approx(4 * 48 + 16)
    assert asked["B", "issue"] == 4 * 64
    # the sum is in a register from its start on, and stored behind its loop
    assert ("C", "L1") in asked and asked["C", "issue"] == 4 * (1 + 1 + 64)


def test_as_much_from_l2_as_to_it_is_told_as_loads():
    """A load's bytes are a sum of shares, which is no less for how it is rounded."""
    sch = wb.Schedule(window_sum(100))
    i_0, i_1 = sch.split("i", [None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    kernels = lower(sch.func, H200).kernels
    (l2,) = (one for one in insight.modelled(kernels, H200).terms if one.resource == "L2")
    assert (l2.much, l2.words.partition(" at ")[0]) == ("416 bytes", "416 bytes from L2")
