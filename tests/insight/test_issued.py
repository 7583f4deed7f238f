"""Requests, sectors and wavefronts of whole kernels: against a trace of every thread, by hand."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from benchmarks.matmuls import matmul, naive
from tests.support.cases import seeds
from tests.support.gpu_programs import block_matmul
from tests.support.random_kernels import Maker, random_kernel
from tests.support.warp_trace import Request, warp_trace
from workbench import insight, script, target
from workbench.arith import reads_memory
from workbench.insight.accesses import accesses
from workbench.insight.warps import IDLE, lane_bytes, text_of
from workbench.insight.wavefronts import wavefronts
from workbench.ir import Buffer, BufferLoad, BufferStore, For, Kernel, Var, const
from workbench.lower import lower
from workbench.lower.keep_values import keep_values


def kernels(text: str) -> tuple[Kernel, ...]:
    return lower(script.parse(text), target.get("cuda")).kernels


def check(kernel: Kernel) -> None:
    """What is told of each access is what its warps do, where no data decide that."""
    traced = warp_trace(kernel)
    told = insight.issued([kernel])
    far = [access for access in accesses(kernel) if access.buffer.scope != "local"]
    by_data = [a for a in far if any(map(reads_memory, (*a.indices, *a.guards)))]
    assert told.left_out == tuple(map(text_of, by_data))
    for access, row in zip((a for a in far if a not in by_data), told.asked, strict=True):
        text = text_of(access)
        assert row.text == text
        requests = traced.get((access.store, access.node), [])  # type: ignore[call-overload]
        assert row.requests == len(requests), (text, script.show(kernel))
        width = lane_bytes(access)
        if access.buffer.scope == "global":
            assert row.sectors == sum(sectors(r, width) for r in requests), text
        else:
            assert row.wavefronts == sum(turns(r, width, access.writes) for r in requests), text
    for asked in (r for s in ("global", "shared") for r in insight.requests_of([kernel], s)[0]):
        requests = traced[asked.access.store, asked.access.node]  # type: ignore[index]
        if all(address >= 0 for r in requests for address in r.values()):  # else no request is made
            check_worst(asked, requests)


def check_worst(asked: insight.Requests, traced: list[Request]) -> None:
    """The worst request is made, costs what is told, and none takes more beyond need."""
    width, writes = lane_bytes(asked.access), asked.access.writes
    far = asked.access.buffer.scope == "global"
    costs = [sectors(r, width) if far else turns(r, width, writes) for r in traced]
    worst = asked.lanes(asked.worst)
    lanes = {lane: a for lane, a in enumerate(worst.addresses) if a is not None}
    assert lanes in traced and costs[traced.index(lanes)] == worst.cost == asked.worst_cost
    assert (asked.alike, asked.cost) == (costs.count(worst.cost), sum(costs))
    if far:
        least = [-(-len(set(r.values())) * width // 32) for r in traced]
        assert asked.least == sum(least)
        assert max(c - n for c, n in zip(costs, least, strict=True)) == worst.cost - worst.least


def sectors(request: Request, width: int) -> int:
    return len({b // 32 for a in request.values() for b in range(a, a + width)})


def turns(request: Request, width: int, writes: bool) -> int:
    """By the rule of `wavefronts`, which is held against a table of its own."""
    row = np.full((1, 32), IDLE)
    low = min(request.values()) // 4 * 4
    for lane, address in request.items():
        row[0, lane] = address - low
    return int(wavefronts(row, width, writes=writes)[0])


def wide_kernel(seed: int) -> Kernel:
    """A random kernel whose blocks have a last warp in part, of a few warps."""
    rng = random.Random(seed)
    maker = Maker(rng)
    maker.block = (rng.choice([5, 20, 33]), rng.choice([1, 2]), 1)
    maker.grid = (rng.randint(1, 3), rng.choice([1, 2]), 1)
    known = dict(maker.axes)
    wanted = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y")
    maker.axes = [(axis, known.get(axis, Var(axis[0] + axis[-1]))) for axis in wanted]
    return maker.kernel()


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", seeds())
def test_random_kernels(seed: int):
    check(random_kernel(seed))
    check(wide_kernel(seed))


def test_kernels_of_scheduled_programs():
    """Fetched together in vectors, and a product whose tiles do not divide it."""
    staged = wb.Schedule(matmul(8))
    block_matmul(staged, staged.get_block("C"), True, local=2, threads=2, depth=4)
    uneven = naive(wb.Schedule(matmul(6, 5, 2)), 4)
    for func in (staged.func, uneven.func):
        for kernel in lower(func, target.get("cuda")).kernels:
            check(keep_values(kernel))


COPY = """
@T.prim_func
def main(A: T.Buffer((8192,), "{dtype}"), C: T.Buffer((8192,), "{dtype}")):
    for b in T.thread_binding({blocks}, thread="blockIdx.x"):
        for i in T.thread_binding({threads}, thread="threadIdx.x"):
            for k in range({turns}):
                if {guard}:
                    C[{cell}] = A[{cell}]
"""


def copy(
    cell: str, *, blocks: int = 1, threads: int = 32, turns: int = 1, dtype: str = "float32",
    guard: str = "i >= 0",
) -> Kernel:  # fmt: skip
    (kernel,) = kernels(
        COPY.format(
            cell=cell, blocks=blocks, threads=threads, turns=turns, dtype=dtype, guard=guard
        )
    )
    return kernel


# (requests, sectors) of the load, worked out on paper: a sector is 32 bytes.
BY_HAND = [
    # 4 threads, 16 bytes: one sector
    ({"cell": "i", "threads": 4}, (1, 1)),
    # 8 threads, a sector each
    ({"cell": "i * 8", "threads": 8}, (1, 8)),
    # 32 threads, 128 bytes that begin 4 bytes beyond a sector
    ({"cell": "i + 1"}, (1, 5)),
    # 3 blocks of 20 threads, 80 bytes each: bytes 0-79, 80-159, 160-239 reach 3 sectors each
    ({"cell": "b * 20 + i", "blocks": 3, "threads": 20}, (3, 9)),
    # 40 threads are two warps, 128 and 32 bytes
    ({"cell": "i", "threads": 40}, (2, 5)),
    # 5 blocks of 8 threads, of 34 numbers: the last has two
    ({"cell": "b * 8 + i", "blocks": 5, "threads": 8, "guard": "b * 8 + i < 34"}, (5, 5)),
    # of the second warp no thread is awake
    ({"cell": "i", "threads": 64, "guard": "i < 30"}, (1, 4)),
    # halves: 64 bytes in two sectors; 7 turns begin 2 bytes later each, all but one reach three
    ({"cell": "i", "dtype": "float16"}, (1, 2)),
    ({"cell": "i + k", "dtype": "float16", "turns": 7}, (7, 2 + 6 * 3)),
    # the turn is asked as well: 4 of 6 turns, of 8 blocks
    ({"cell": "b * 32 + i", "blocks": 8, "turns": 6, "guard": "k < 4"}, (32, 128)),
    # a warp's lanes drop out one by one: block b has those of i < 10 - b, of b = 0 to 9
    ({"cell": "i", "blocks": 12, "guard": "i * 100 + b * 100 < 1000"}, (10, 8 * 1 + 2 * 2)),
    # either condition: blocks 0 and 3, in block 0 all 4 threads, in block 3 all of them, too
    ({"cell": "i", "blocks": 4, "threads": 4, "guard": "b == 0 or b == 3"}, (2, 2)),
]


@pytest.mark.parametrize("asked, counted", BY_HAND, ids=str)
def test_counted_by_hand(asked: dict[str, Any], counted: tuple[int, int]):
    kernel = copy(**asked)
    read, _ = insight.issued([kernel]).asked
    assert (read.access, read.requests, read.sectors) == ("read", *counted)
    check(kernel)


def test_a_loop_without_a_turn_asks_for_nothing():
    (A, C), (i, k) = (Buffer("A", (32,)), Buffer("C", (32,))), (Var("i"), Var("k"))
    zero = const(0, "int32")
    never = For(k, zero, zero, "serial", BufferStore(C, BufferLoad(A, (i + k,)), (i,)))
    axes = (("threadIdx.x", i),)
    told = insight.issued([Kernel("main", (A, C), (), (), axes, (1, 1, 1), (32, 1, 1), never)])
    assert [(a.requests, a.sectors) for a in told.asked] == [(0, 0)] * 2 and not told.totals


GATHER = """
@T.prim_func
def main(A: T.Buffer((256,), "float32"), C: T.Buffer((128,), "float32")):
    for i in T.thread_binding(32, thread="threadIdx.x"):
        for k in T.vectorized(4):
            C[i * 4 + k] = A[i * 8 + k * {step} + {start}]
"""


@pytest.mark.parametrize("step, start", [(2, 0), (-1, 3), (-2, 7)])
def test_a_vector_that_is_gathered_is_loaded_number_by_number(step: int, start: int):
    """Four loads, in each of which 32 lanes have a sector each; the vector is stored at once."""
    (kernel,) = kernels(GATHER.format(step=step, start=start))
    told = insight.issued([kernel]).asked
    assert [(a.requests, a.sectors, a.bytes_per_lane) for a in told] == [(4, 128, 4), (1, 16, 16)]
    (read, _) = insight.coalescing([kernel]).requests
    assert (read.requests, read.sectors, read.bytes_per_lane) == (4, 32.0, 4)
    check(kernel)


SHARED = """
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((1024,), "float32")):
    S = T.alloc_buffer(({cells},), scope="shared")
    for b in T.thread_binding(3, thread="blockIdx.x"):
        for i in T.thread_binding({threads}, thread="threadIdx.x"):
            for k in range(2):
                S[i * {row} + k] = A[i]
            for k in range(2):
                C[b * 64 + i] = S[i * {row} + k]
"""


@pytest.mark.parametrize(
    "threads, row, counted",
    [
        (4, 2, (6, 6)),  # words 0 2 4 6
        (8, 16, (6, 24)),  # words 0 16 32 …: four of bank 0, four of bank 16
        (16, 33, (6, 6)),  # words 0 33 66 …
        (40, 8, (12, 6 * (8 + 2))),  # 32 lanes: 8 of each of four banks; 8 lanes: two of each
    ],
)
def test_turns_of_shared_memory_by_hand(threads: int, row: int, counted: tuple[int, int]):
    (kernel,) = kernels(SHARED.format(threads=threads, row=row, cells=64 * row))
    told = [a for a in insight.issued([kernel]).asked if a.scope == "shared"]
    assert [(a.requests, a.wavefronts) for a in told] == [counted, counted]
    check(kernel)


def total(kernels: Iterable[Kernel], scope: str, access: str) -> insight.Asked:
    totals = insight.issued([*kernels]).totals
    return next(t for t in totals if (t.scope, t.access) == (scope, access))


def tutorial(shared: bool) -> list[Kernel]:
    """The tutorial's product of 1024 x 1024, as its text keeps values."""
    sch = wb.Schedule(matmul(1024))
    block_matmul(sch, sch.get_block("C"), shared, local=8, threads=8, depth=8)
    return [keep_values(kernel) for kernel in lower(sch.func, target.get("nvidia/h200")).kernels]


def test_a_product_in_registers_as_an_h200_counts_it():
    text = tutorial(shared=False)
    load = total(text, "global", "read")
    assert (load.requests, load.sectors) == (8_388_608, 50_331_648)


def test_a_product_in_shared_memory_as_an_h200_counts_it():
    """nvcc joins reads of B_shared in fours: fewer requests than here, and as many wavefronts."""
    text = tutorial(shared=True)
    before = time.process_time()
    assert total(text, "global", "read").sectors == 4_194_304
    assert time.process_time() - before < 0.3
    assert total(text, "global", "write").sectors == 1_048_576
    assert total(text, "shared", "read").wavefronts == pytest.approx(25_193_626, rel=0.002)


def test_a_grid_with_a_tail_is_as_quick_as_one_without():
    """2^26 cells less one, in blocks of 1024: only the last lane of all has none."""
    text = COPY.replace("8192", str(2**26)).format(
        cell="b * 1024 + i", blocks=2**16, threads=1024, turns=1, dtype="float32",
        guard=f"b * 1024 + i < {2**26 - 1}",
    )  # fmt: skip
    load = total(kernels(text), "global", "read")
    assert (load.requests, load.sectors) == (2**21, 2**23)
    short = total(kernels(text.replace(f"< {2**26 - 1}", f"< {2**26 - 40}")), "global", "read")
    assert (short.requests, short.sectors) == (2**21 - 1, 2**23 - 5)


@pytest.mark.parametrize("blocks", [2**30, 2**30 - 3])
def test_blocks_that_nobody_asks_about_are_counted_by_remainders(blocks: int):
    """Threads of 3 cells a block: eight blocks go round all places in a sector, six by two."""
    text = COPY.replace("8192", str(2**32)).format(
        cell="b * 3 + i", blocks=blocks, threads=3, turns=1, dtype="float32", guard="True"
    )
    load = total(kernels(text), "global", "read")
    over = [sum((b * 3 + i) % 8 == 0 for i in (1, 2)) for b in range(8)]
    rounds, rest = divmod(blocks, 8)
    assert load.requests == blocks
    assert load.sectors == blocks + rounds * sum(over) + sum(over[:rest])


def test_threads_far_apart_and_many_blocks():
    """Each of 65536 blocks has its own number of threads awake: 1024 kinds, not 65536."""
    kernel = copy("b * 8 % 8192", blocks=2**16, threads=1024, guard="i * 64 < b")
    load = total([kernel], "global", "read")
    awake = [(b + 63) // 64 for b in range(2**16)]
    warps = sum((threads + 31) // 32 for threads in awake)
    assert (load.requests, load.sectors) == (warps, warps)


def test_what_data_decide_is_left_out_and_named():
    text = COPY.replace('8192,), "{dtype}"), C', '8192,), "int32"), C').format(
        cell="i", blocks=1, threads=32, turns=1, dtype="int32", guard="A[i] > 3"
    )
    told = insight.issued(kernels(text))
    assert [(a.access, a.requests) for a in told.asked] == [("read", 1)]
    assert told.left_out == ("A[i]", "C[i]")
    assert told.caption == ("All warps touch 4 sectors of global memory. Not counted: A[i], C[i].")


def test_too_much_to_look_at_is_left_out_and_named():
    """What is no sum is looked at value by value, up to a number."""
    kernel = copy("b * b % 1024", blocks=8192, threads=1024)
    told = insight.issued([kernel])
    assert told.asked == () and len(told.left_out) == 2


def test_a_page_says_the_same_in_its_table():
    told = insight.issued(kernels(SHARED.format(threads=8, row=16, cells=1024)))
    assert told.table.rows[-1] == ("shared", "write", "all", 6, 0, 24)
    assert told.caption == (
        "All warps touch 12 sectors of global memory and take 48 wavefronts of shared memory."
    )
