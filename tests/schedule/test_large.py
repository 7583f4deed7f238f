"""Programs with very long loops and very many blocks can be asked and scheduled."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.script import parse
from workbench.verbs.nest import divisors


def copies(count: int, extent: int = 8) -> str:
    buffer = f'T.Buffer(({extent},), "float32")'
    head = f"@T.prim_func\ndef main(A: {buffer}, B: {buffer}):\n"
    blocks = [
        f"    for i{k} in range({extent}):\n"
        f'        with T.block("b{k}"):\n'
        f"            v = T.axis.spatial({extent}, i{k})\n"
        f"            B[v] = A[v] + {float(k)}\n"
        for k in range(count)
    ]
    return head + "".join(blocks)


@pytest.mark.parametrize("extent", [10**18, 999_999_999_999_999_989, 2**62])
def test_a_loop_of_any_length_can_be_asked(extent):
    sch = wb.Schedule(parse(copies(1, extent)))
    possible = {verdict.verb for verdict in sch.actions("i0") if verdict.possible}
    assert "split" in possible
    _, inner = sch.split("i0", factors=[None, 4])
    assert {verdict.verb for verdict in sch.actions(inner) if verdict.possible} >= {"bind"}


LONG_SUM = """
@T.prim_func
def main(A: T.Buffer((8, {0}), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, {0}):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""


@pytest.mark.parametrize("extent", [2**28, 10**18])
def test_a_sum_of_any_length_says_which_iterations_clash(extent):
    sch = wb.Schedule(parse(LONG_SUM.format(extent)))
    tracemalloc.start()
    try:
        refused = {v.verb: v.options[0].why_not for v in sch.actions("k") if not v.possible}
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert "iterations k=0 and k=1 would both update C[0]" in str(refused["parallel"])


def test_divisors():
    assert divisors(12) == [1, 2, 3, 4, 6, 12]
    assert divisors(2**32) == [2**k for k in range(33)]
    assert divisors(10**18)[:3] == [1, 2, 4] and divisors(10**18)[-1] == 10**18


def test_every_reader_of_a_cache_among_many_blocks():
    sch = wb.Schedule(parse(copies(200)))
    assert any(v.verb == "cache_read" and v.possible for v in sch.actions("b7"))
    sch.cache_read("b7", 0, "shared")
    text = sch.func.script()
    assert text.count("= A_shared[") == 200  # every reader, as in TVM
    assert text.count("A_shared[v0] = A[v0]") == 1


@pytest.mark.parametrize("number", [2**63, 10**400, -(10**5000)], ids=["64", "400", "5000"])
def test_a_number_that_nothing_counts_to_is_refused(number):
    sch = wb.Schedule(parse(copies(1)))
    with pytest.raises(wb.ScheduleError, match="64 bits do not hold a number in factors"):
        sch.split("i0", factors=[number, None])
    with pytest.raises(wb.ScheduleError, match="64 bits do not hold a number in padding"):
        sch.pad_einsum("b0", [number])
    with pytest.raises(wb.ScheduleError, match=r"64 bits do not count that many turns"):
        sch.split("i0", factors=[2**62] * 20)


def test_nests_deeper_than_a_hundred_loops_are_refused():
    sch = wb.Schedule(parse(copies(1)))
    with pytest.raises(wb.ScheduleError, match="101 factors were given"):
        sch.split("i0", factors=[1] * 100 + [None])
    sch.split("i0", factors=[1] * 99 + [None])
    with pytest.raises(wb.ScheduleError, match="101 loops would be around one statement"):
        sch.split("i0_0", factors=[1, None])
    sch.fuse("i0_0", "i0_1")
    sch.split("i0_2", factors=[1, None])


def test_a_place_of_any_length_is_refused_in_words():
    sch = wb.Schedule(parse(copies(1)))
    for ask in (sch.goto, sch.mark, sch.unroll, sch.get_loops):
        with pytest.raises(wb.ScheduleError, match="0x"):
            ask(10**5000)


def test_each_step_of_a_long_history_is_read_for_the_same(tmp_path: Path):
    """Where 3,000 steps are read in 0.6 s, one makes 400 calls; it may have fewer, or some more."""
    count, sch = 0, wb.Schedule(parse(copies(1)))

    def counted(frame: object, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    wb.load(saved(sch, tmp_path))
    made = []
    for number in range(120):
        sch.annotate("i0", "note", number)
        if number % 60 == 59:
            file, count = saved(sch, tmp_path), 0
            sys.setprofile(counted)
            wb.load(file)
            sys.setprofile(None)
            made.append(count)
    assert made[1] - made[0] < 60 * 500


def saved(sch: wb.Schedule, folder: Path) -> Path:
    sch.save(folder / "steps.json")
    return folder / "steps.json"
