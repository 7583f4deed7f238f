"""Who is served when, and which sectors are fetched: requests of a few lanes, on paper."""

from __future__ import annotations

import pytest

from workbench import insight, lower, script, target
from workbench.insight import Lanes, Wavefront

SHARED = """
@T.prim_func
def main(A: T.Buffer((2048,), "{dtype}"), C: T.Buffer((2048,), "{dtype}")):
    S = T.alloc_buffer((2048,), "{dtype}", scope="shared")
    for i in T.thread_binding({threads}, thread="threadIdx.x"):
        for k in T.vectorized({vector}):
            if {guard}:
                S[{cell} + k] = A[{cell} + k]
        for k in T.vectorized({vector}):
            if {guard}:
                C[{cell} + k] = S[{cell} + k]
"""


def asked(
    cell: str,
    *,
    threads: int = 32,
    dtype: str = "float32",
    vector: int = 1,
    guard: str = "i >= 0",
    scope: str = "shared",
    access: str = "read",
    warp: int = 0,
) -> Lanes:
    """The request that the threads of a warp make for the cells that `cell` names."""
    text = SHARED.format(cell=cell, threads=threads, dtype=dtype, vector=vector, guard=guard)
    kernels = lower.lower(script.parse(text), target.get("cuda")).kernels
    found, left_out = insight.requests_of(kernels, scope)
    (one,) = (one for one in found if one.kind == access)
    assert not left_out
    return one.lanes({"warp": warp})


def rows(lanes: Lanes) -> list[dict[int, tuple[int, ...]]]:
    served = insight.wavefronts_of(lanes)
    assert len(served) == lanes.cost, "as many as are counted"
    assert sum(row.needed for row in served) == lanes.least
    return [dict(row.banks) for row in served]


def test_neighbours_are_served_at_once():
    assert rows(asked("i", threads=4)) == [{0: (0,), 1: (1,), 2: (2,), 3: (3,)}]


def test_words_32_apart_meet_in_a_bank():
    assert rows(asked("i * 32", threads=4)) == [{0: (0,)}, {0: (1,)}, {0: (2,)}, {0: (3,)}]
    assert rows(asked("i * 16", threads=4)) == [{0: (0,), 16: (1,)}, {0: (2,), 16: (3,)}]


def test_one_word_is_served_to_all_who_want_it():
    assert rows(asked("i // 8 * 33", threads=16)) == [{0: tuple(range(8)), 1: tuple(range(8, 16))}]


def test_bytes_of_one_word_are_one_word():
    eight = rows(asked("i", dtype="int8", threads=8))
    assert eight == [{0: (0, 1, 2, 3), 1: (4, 5, 6, 7)}]
    assert rows(asked("i", dtype="float16", threads=4)) == [{0: (0, 1), 1: (2, 3)}]
    assert rows(asked("i * 64", dtype="float16", threads=4)) == [{0: (k,)} for k in range(4)]


def test_lanes_that_move_16_bytes_are_served_eight_at_a_time():
    near = insight.wavefronts_of(asked("i * 4", vector=4, threads=16))
    assert [(row.first, row.last, row.number, row.needed) for row in near] == [
        (0, 7, 0, True),
        (8, 15, 0, True),
    ]
    assert near[1].banks == {4 * k + j: (8 + k,) for k in range(8) for j in range(4)}
    far = rows(asked("i * 8", vector=4, threads=8, access="write"))  # lanes 0 and 4 meet
    assert far == [
        {8 * k + j: (first + k,) for k in range(4) for j in range(4)} for first in (0, 4)
    ]


def test_lanes_that_move_8_bytes_go_together_where_neighbours_want_the_same():
    apart = insight.wavefronts_of(asked("i * 2", vector=2))
    assert [(row.first, row.last) for row in apart] == [(0, 15), (16, 31)]
    (pairs,) = insight.wavefronts_of(asked("i // 2 * 2", vector=2))
    assert (pairs.first, pairs.last, pairs.banks[0]) == (0, 31, (0, 1))
    assert rows(asked("i // 2 * 2", vector=2, access="write"))[1][16] == (16, 17), "loads alone"


def test_idle_lanes_and_a_partial_last_warp():
    some = asked("i * 32", threads=8, guard="i < 3")
    assert rows(some) == [{0: (0,)}, {0: (1,)}, {0: (2,)}]
    assert some.addresses[:4] == (0, 128, 256, None) and some.threads[8] is None
    last = asked("i", threads=40, warp=1)
    assert rows(last) == [{k: (k,) for k in range(8)}]
    assert (last.threads[7], last.threads[8]) == ((39, 0, 0), None)


def test_what_words_need_by_themselves_is_no_conflict():
    """64 words in 32 banks take two wavefronts however they lie."""
    served = insight.wavefronts_of(asked("i * 2", vector=2, threads=32))
    assert all(isinstance(row, Wavefront) and row.needed for row in served)


# --- sectors --------------------------------------------------------------------------------------


def sectors(lanes: Lanes) -> list[tuple[int, tuple[int, ...], tuple[tuple[int, int], ...]]]:
    found = insight.sectors_of(lanes)
    assert len(found) == lanes.cost, "as many as are counted"
    return [(s.number, s.lanes, s.wanted) for s in found]


def test_neighbours_share_a_sector():
    assert sectors(asked("i", threads=10, scope="global")) == [
        (0, tuple(range(8)), ((0, 32),)),
        (1, (8, 9), ((0, 8),)),
    ]


def test_what_is_far_apart_wastes_most_of_a_sector():
    far = asked("i * 16", threads=4, scope="global")
    assert sectors(far) == [(2 * k, (k,), ((0, 4),)) for k in range(4)]
    assert (far.cost, far.least) == (4, 1)
    near = asked("i * 2", threads=4, scope="global")
    assert sectors(near) == [(0, (0, 1, 2, 3), ((0, 4), (8, 12), (16, 20), (24, 28)))]


def test_bytes_and_vectors_lie_in_sectors_as_they_lie_in_memory():
    assert sectors(asked("i", threads=4, dtype="int8", scope="global")) == [
        (0, (0, 1, 2, 3), ((0, 4),))
    ]
    wide = asked("i * 4", threads=3, vector=4, scope="global")
    assert sectors(wide) == [(0, (0, 1), ((0, 32),)), (1, (2,), ((0, 16),))]


def test_idle_lanes_want_nothing():
    assert sectors(asked("i", threads=20, guard="i % 8 == 3", scope="global")) == [
        (k, (8 * k + 3,), ((12, 16),)) for k in range(3)
    ]


def test_a_thread_that_is_chosen_names_its_warp_and_lane():
    text = SHARED.format(cell="i", threads=96, dtype="float32", vector=1, guard="i >= 0")
    kernels = lower.lower(script.parse(text), target.get("cuda")).kernels
    one = insight.requests_of(kernels, "shared")[0][0]
    assert one.chosen({"thread": 70}) == ({"warp": 2}, 6)
    assert one.chosen({"warp": 1}) == ({"warp": 1}, None)
    assert one.chosen({"thread": 70, "warp": 1}) == ({"warp": 1}, None), "of another warp"
    with pytest.raises(ValueError, match=r"warp runs from 0 to 2, not to 3; choose"):
        one.chosen({"warp": 3})
