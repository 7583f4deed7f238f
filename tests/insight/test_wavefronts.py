"""Turns of the banks of shared memory: as an H200 counts them, and as counted by hand."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench import insight, lesson, script, target
from workbench.insight import BankUse
from workbench.insight.wavefronts import wavefronts
from workbench.lower import lower

MEASURED = json.loads(Path(__file__).with_name("shared_wavefronts.json").read_text())
"""Requests of one warp: the element that each lane asks for (-1: it is idle), and what `ncu` counts
(l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld and _op_st) with elements of so many bytes."""


def test_each_measured_request():
    requests = defaultdict(list)
    for lanes, counted in MEASURED["patterns"]:
        for asked, number in counted.items():
            requests[asked].append((lanes, number))
    assert sum(map(len, requests.values())) == 1226 and len(requests) == 10
    for asked, rows in requests.items():
        access, width = asked.split()
        lanes = np.array([lanes for lanes, _ in rows])
        table = np.where(lanes < 0, -1, lanes * int(width))
        told = wavefronts(table, int(width), writes=access == "write")
        wrong = [(row, n) for row, n in zip(rows, told.tolist(), strict=True) if row[1] != n]
        assert not wrong, f"{asked}: {wrong[:3]}"


SHARED = """
@T.prim_func
def main(A: T.Buffer((1024,), "{dtype}"), C: T.Buffer((1024,), "{dtype}")):
    S = T.alloc_buffer((1024,), "{dtype}", scope="shared")
    for i in T.thread_binding({threads}, thread="threadIdx.x"):
        for k in range(1024 // {threads}):
            S[k * {threads} + i] = A[k * {threads} + i]
        if {guard}:
            for k in T.{vector}({lanes}):
                C[{cell} + k] = S[{cell} + k]
"""


def read(
    cell: str, *, threads: int = 32, dtype: str = "float32", lanes: int = 1, guard: str = "i >= 0"
) -> BankUse:
    """The read in a loop over `lanes`: a vector if there are several."""
    vector = "vectorized" if lanes > 1 else "serial"
    text = SHARED.format(
        cell=cell, threads=threads, dtype=dtype, lanes=lanes, guard=guard, vector=vector
    )
    kernels = lower(script.parse(text), target.get("cuda")).kernels
    return next(u for u in insight.conflicts(kernels).uses if u.access == "read")


# Worked out on paper: words of 4 bytes, bank = word % 32; the turns without conflicts, and with.
BY_HAND = [
    # 4 lanes, words 0 32 64 96, all of bank 0
    ({"cell": "i * 32", "threads": 4}, (1, 4)),
    # 8 lanes, words 0 16 32 …: four of bank 0, four of bank 16
    ({"cell": "i * 16", "threads": 8}, (1, 4)),
    # 16 lanes, words 0 33 66 …: banks 0 1 2 …
    ({"cell": "i * 33", "threads": 16}, (1, 1)),
    # two lanes of each word, 16 words
    ({"cell": "i // 2"}, (1, 1)),
    # halves: lanes 2i and 2i + 1 share a word
    ({"cell": "i", "dtype": "float16"}, (1, 1)),
    # halves, every other: words 0 … 31
    ({"cell": "i * 2", "dtype": "float16"}, (1, 1)),
    # halves, every fourth: words 0 2 … 62, two of each even bank
    ({"cell": "i * 4", "dtype": "float16"}, (1, 2)),
    # bytes, 64 apart: words 0 16 … 240 of 16 lanes, eight of bank 0 and of bank 16
    ({"cell": "i * 64", "dtype": "int8", "threads": 16}, (1, 8)),
    # 8 bytes a lane: two half warps, 32 words each
    ({"cell": "i", "dtype": "float64"}, (2, 2)),
    ({"cell": "i * 2", "lanes": 2}, (2, 2)),
    # 8 bytes, 16 apart: words 0 1 4 5 … 60 61 of a half warp, two of each of 16 banks
    ({"cell": "i * 4", "lanes": 2}, (2, 4)),
    # 16 bytes a lane: quarters of a warp, 32 words each; 8 lanes are one, 4 lanes half of one
    ({"cell": "i * 4", "lanes": 4}, (4, 4)),
    ({"cell": "i * 4", "lanes": 4, "threads": 8}, (1, 1)),
    ({"cell": "i * 4", "lanes": 4, "threads": 4}, (1, 1)),
    # neighbours want the same 16 bytes: two quarters go together, 8 vectors, 32 words
    ({"cell": "i // 2 * 4", "lanes": 4}, (2, 2)),
    # 16 bytes, 32 apart: words 0-3 8-11 … of 8 lanes, two of each of 16 banks, four times
    ({"cell": "i * 8", "lanes": 4}, (4, 8)),
    # lanes 0 … 4 alone: words 0 32 64 96 128
    ({"cell": "i * 32 % 1024", "guard": "i < 5"}, (1, 5)),
    # all but lane 2 and its like: an idle lane agrees, so quarters of a warp still go together
    ({"cell": "i // 2 * 4", "lanes": 4, "guard": "i % 4 != 2"}, (2, 2)),
]


@pytest.mark.parametrize("asked, turns", BY_HAND, ids=str)
def test_counted_by_hand(asked: dict[str, object], turns: tuple[int, int]):
    use = read(**asked)  # type: ignore[arg-type]
    assert (use.least, use.wavefronts) == turns


def test_a_last_warp_in_part():
    """40 threads, words 0 8 16 …: 8 of four banks for 32 lanes, 2 for the 8 lanes of the other."""
    use = read("i * 8", threads=40)
    assert (use.requests, use.wavefronts, use.average) == (2, 8, 5.0)
    assert (use.worst, use.alike) == ({"warp": 0}, 1)


def test_neighbours_of_a_vector_do_not_help_a_store():
    """A read of 16 bytes goes half a warp at a time where pairs agree; a write never does."""
    table = np.arange(32)[None] // 2 * 16
    assert [int(wavefronts(table, 16, writes=w)[0]) for w in (False, True)] == [2, 4]


def test_the_picture_of_banks_has_as_many_turns():
    text = SHARED.format(
        cell="i // 2 * 4", threads=32, dtype="float32", lanes=4, guard="i >= 0", vector="vectorized"
    )
    found = lesson.banks(script.parse(text), "S")
    turns = [(row.first, row.last, row.number) for row in found.rows]
    assert turns == [(0, 15, 0), (16, 31, 0)]
    assert found.rows[1].banks[31] == (30, 31) and "2 wavefronts" in found.caption


def test_halves_of_one_word_are_drawn_in_its_bank():
    text = SHARED.format(
        cell="i", threads=32, dtype="float16", lanes=1, guard="i >= 0", vector="serial"
    )
    (row,) = lesson.banks(wb.Schedule(script.parse(text)), "S").rows
    assert row.banks == {k: (2 * k, 2 * k + 1) for k in range(16)}
