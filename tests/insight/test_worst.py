"""The worst request of whole kernels and what all take, on paper: 4 to 64 lanes, few turns."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench import insight, script, target
from workbench.ir import Kernel, PrimFunc
from workbench.lower import lower

GLOBAL = """
@T.prim_func
def main(A: T.Buffer((8192,), "{dtype}"), C: T.Buffer((8192,), "{dtype}")):
    for b in T.thread_binding({blocks}, thread="blockIdx.x"):
        for i in T.thread_binding({threads}, thread="threadIdx.x"):
            for k in range({turns}):
                if {guard}:
                    C[b * {threads} * {turns} + k * {threads} + i] = A[{cell}]
"""
SHARED = """
@T.prim_func
def main(A: T.Buffer((8192,), "{dtype}"), C: T.Buffer((8192,), "{dtype}")):
    S = T.alloc_buffer((2048,), "{dtype}", scope="shared")
    for b in T.thread_binding({blocks}, thread="blockIdx.x"):
        for i in T.thread_binding({threads}, thread="threadIdx.x"):
            for k in range({turns}):
                if {guard}:
                    S[{cell}] = A[b * {threads} * {turns} + k * {threads} + i]
"""
USUAL = {"dtype": "float32", "blocks": 1, "threads": 32, "turns": 1, "guard": "i >= 0"}


def kernel(text: str, asked: dict[str, Any]) -> Kernel:
    func = script.parse(text.format(**USUAL | asked))
    return lower(func, target.get("cuda")).kernels[0]


READS = [
    # 4 lanes a step of 4 bytes k apart: 1, 1, 1, 2 sectors (bytes 0, 12, 24, 36 in the last turn)
    ({"threads": 4, "turns": 4, "cell": "i * k"}, (4, 5, 4), (2, 1, {"k": 3}, 1)),
    # 8 lanes: block 0 has one sector; block 1 starts 4 bytes later and reaches into a second one
    ({"threads": 8, "blocks": 2, "cell": "b * 9 + i"}, (2, 3, 2), (2, 1, {"blockIdx.x": 1}, 1)),
    # 16 lanes in block 1, none in block 0; 32 bytes apart
    (
        {"threads": 16, "blocks": 2, "cell": "i * 8", "guard": "b > 0"},
        (1, 16, 2),
        (16, 2, {"blockIdx.x": 1}, 1),
    ),
    # 40 lanes: a whole warp of 4 sectors and 8 lanes of one; none is worse than it has to be
    ({"threads": 40, "cell": "i"}, (2, 5, 5), (4, 4, {"warp": 0}, 1)),
    # the second warp alone is spread: 32 sectors where 4 would do
    ({"threads": 64, "cell": "i // 32 * i * 8 + i"}, (2, 36, 8), (32, 4, {"warp": 1}, 1)),
    # of each three lanes one sleeps: lanes 0 2 3 5 … 30, 22 numbers of 4 bytes, in 4 sectors, not 3
    ({"cell": "i", "guard": "i % 3 != 1"}, (1, 4, 3), (4, 3, {}, 1)),
    # 32 halves: 64 bytes; 32 bytes: a sector, of which blocks 1 to 3 start in the middle of one
    ({"dtype": "float16", "cell": "i"}, (1, 2, 2), (2, 2, {}, 1)),
    (
        {"dtype": "int8", "blocks": 4, "cell": "b * 40 + i"},
        (4, 7, 4),
        (2, 1, {"blockIdx.x": 1}, 3),
    ),
    # every other half: 64 bytes' worth in 4 sectors
    ({"dtype": "float16", "cell": "i * 2"}, (1, 4, 2), (4, 2, {}, 1)),
    # blocks of unequal work: block b has its first 8 * b lanes awake: 0, 1, 2 and 3 sectors
    (
        {"blocks": 4, "cell": "i", "guard": "i < b * 8"},
        (3, 6, 6),
        (3, 3, {"blockIdx.x": 3}, 1),
    ),
]  # fmt: skip


@pytest.mark.parametrize("asked, all_of, worst", READS, ids=str)
def test_sectors(asked: dict[str, Any], all_of: tuple[int, ...], worst: tuple[Any, ...]):
    """All requests, their sectors and the least; then the worst request, and how many are alike."""
    found = insight.coalescing([kernel(GLOBAL, asked)])
    read = next(r for r in found.requests if r.access == "read")
    sums = read.requests, read.sectors * read.requests, read.ideal * read.requests
    assert sums == pytest.approx(all_of) and found.left_out == ()
    assert (read.most, read.least, read.worst, read.alike) == worst


WRITES = [
    # 4 lanes, words 0 0 0 0, then 0 16 32 48, then 0 32 64 96: 1, 2 and 4 turns
    ({"threads": 4, "turns": 3, "cell": "i * k * 16"}, (3, 7), (4, 1, {"k": 2}, 1)),
    # 8 lanes, 32 words apart in block 1, side by side in block 0
    (
        {"threads": 8, "blocks": 2, "cell": "i * (1 + b * 31)"},
        (2, 9),
        (8, 1, {"blockIdx.x": 1}, 1),
    ),
    # 16 lanes, words 0 2 … 30, then 0 4 … 60: 1 and 2 turns
    ({"threads": 16, "turns": 2, "cell": "i * (k * 2 + 2)"}, (2, 3), (2, 1, {"k": 1}, 1)),
    # 40 lanes, words 0 8 16 …: 8 turns for 32 lanes, 2 for the other 8
    ({"threads": 40, "cell": "i * 8"}, (2, 10), (8, 1, {"warp": 0}, 1)),
    # a guard leaves 5 lanes of 32: words 0 32 … 128 of bank 0
    ({"cell": "i * 32 % 2048", "guard": "i < 5"}, (1, 5), (5, 1, {}, 1)),
    # halves: two lanes share a word; four bytes apart in the words 0 1 2 …; then 0 2 4 …
    ({"dtype": "float16", "turns": 4, "cell": "i * (k + 1)"}, (4, 6), (2, 1, {"k": 2}, 2)),
    # bytes: four lanes share a word; 128 bytes apart, up to 2048, 16 words of bank 0
    (
        {"dtype": "int8", "turns": 2, "cell": "i * (k * 127 + 1) % 2048"},
        (2, 17),
        (16, 1, {"k": 1}, 1),
    ),
]  # fmt: skip


@pytest.mark.parametrize("asked, all_of, worst", WRITES, ids=str)
def test_turns(asked: dict[str, Any], all_of: tuple[int, ...], worst: tuple[Any, ...]):
    """All requests and their wavefronts; then the worst request, and how many are alike."""
    (write,) = insight.conflicts([kernel(SHARED, asked)]).uses
    assert (write.requests, write.average * write.requests) == pytest.approx(all_of)
    assert (write.wavefronts, write.least, write.worst, write.alike) == worst


def test_the_worst_is_told_with_its_place():
    """Of 8 reads the one of block 1 and k = 3 starts in the middle of a sector and reaches far."""
    asked = {"threads": 8, "blocks": 2, "turns": 4, "cell": "b + i * (k + 1)"}
    found = insight.coalescing([kernel(GLOBAL, asked)])
    assert found.caption == (
        "The worst read of A (at blockIdx.x = 0, k = 3; one of 2 alike of 8) touches 4 sectors of "
        "32 bytes; packed together it would be 1."
    )
    every = insight.coalescing([kernel(GLOBAL, {"threads": 8, "turns": 3, "cell": "i * 8"})])
    assert every.caption == (
        "Each of 3 reads of A touches 8 sectors of 32 bytes; packed together it would be 1."
    )
    only = insight.conflicts([kernel(SHARED, {"threads": 4, "cell": "i * 32"})])
    assert (
        only.caption == "The only write of S takes 4 wavefronts; without conflicts it would be 1."
    )
    none = insight.conflicts([kernel(SHARED, {"threads": 4, "turns": 2, "cell": "i"})])
    assert none.caption == "No two lanes of a warp wait for one bank of shared memory."


SIZED = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = A[vi]
"""


@pytest.mark.parametrize("size, all_of", [(32, (1, 4)), (40, (2, 5)), (61, (2, 8))])
def test_a_program_for_any_size_is_counted_at_one(size: int, all_of: tuple[int, int]):
    """Blocks of 32: the last has 8 or 29 lanes awake."""
    func = script.parse(SIZED)
    assert isinstance(func, PrimFunc)
    sch = wb.Schedule(func.specialize({"n": size}))
    block, thread = sch.split("i", factors=[None, 32])
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    read, write = insight.coalescing(wb.build(sch).kernels).requests
    assert (read.requests, read.requests * read.sectors) == all_of
    assert (write.requests, write.requests * write.sectors) == all_of


def test_what_data_decide_is_left_out_and_named():
    asked = {"dtype": "int32", "threads": 4, "cell": "A[i] % 64"}
    found = insight.coalescing([kernel(GLOBAL, asked)])
    assert found.left_out == ("A[A[i] % 64]",) and [r.text for r in found.requests] == [
        "A[i]",
        "C[i]",
    ]
    assert found.caption.endswith(" Not counted: A[A[i] % 64].")
    shared = insight.conflicts([kernel(SHARED, asked)])
    assert (shared.uses, shared.caption) == (
        (),
        "The program does not use shared memory. Not counted: S[A[i] % 64].",
    )
