"""Why a kernel is slow: each fault by hand, with its number, its gain and what would help."""

from __future__ import annotations

import pytest

import workbench as wb
from benchmarks.drawn import cells, shared, windows
from benchmarks.histories import window_sum
from benchmarks.matmuls import blocking_with_shared, matmul
from workbench import insight, lesson, target
from workbench.insight import Fault, Why
from workbench.ir import PrimFunc
from workbench.ir.places import places

H200 = target.get("nvidia/h200")


def why(sch: wb.Schedule) -> Why:
    assert isinstance(sch.func, PrimFunc)
    lowered = insight.lowered_of(sch.func)
    assert lowered is not None
    return insight.why(lowered.kernels, H200)


def fault(found: Why, name: str, buffer: str = "") -> Fault:
    return next(f for f in found.faults if f.name == name and buffer in ("", f.buffer))


def product(n: int = 256) -> wb.Schedule:
    return wb.Schedule(matmul(n))


def test_rows_along_a_warp_are_told_with_the_sectors_that_they_touch():
    """16 x 16 threads, rows along x: a load of A is in 16 rows, one of B in two columns."""
    found = fault(why(cells(product(), 16, 16, along="i")), "coalescing", "A")
    assert found.words == "A load of A touches 16 sectors where 2 would do"
    assert "A[" in found.statements[0]
    # all lanes of a warp along j would load the same number
    assert found.help == "undo the binds of i_1 and j_1, then bind j_1"


def test_neighbours_that_one_thread_has_to_itself_are_to_be_bound():
    """Each thread's 32 outputs are a line of its own."""
    found = why(windows(wb.Schedule(window_sum(2**20)), 256, each=32, runs=True))
    words = "A store of B touches 32 sectors where 4 would do"
    told = next(f for f in found.faults if f.buffer == "B")
    assert (told.name, told.words) == ("coalescing", words)
    assert told.help == "undo the bind of i_1, then bind i_2"


ALL_IN_ONE = "compiled to 16 bytes a lane, takes 32 wavefronts where 4 would do"


@pytest.mark.parametrize("pad, words", [(0, [f"A load of A_shared, {ALL_IN_ONE}"]), (1, [])])
def test_a_bank_for_all_lanes(pad: int, words: list[str]):
    """Lanes 32 words apart are in one bank; 33 words apart, each in its own."""
    found = why(shared(product(), 1, 4, 32, 8, 32, along="i", width=1, pad=pad))
    told = [f for f in found.faults if f.name == "conflicts" and f.verb == "storage_align"]
    loads = [f.words for f in told if f.buffer == "A_shared" and f.words.startswith("A load")]
    assert loads == words


def test_what_every_thread_copies_is_redundant():
    sch = wb.Schedule(window_sum(2**20))
    found = fault(why(windows(sch, 128, copy="alone")), "redundant")
    assert found.words == "128 threads copy the same cells of A_shared, each for itself"
    assert (found.verb, found.place, found.buffer) == ("bind", "ax0", "A_shared")


def test_few_blocks_leave_multiprocessors_idle():
    """256 x 256 in tiles of 128 x 128: four blocks, and 33 times as many multiprocessors."""
    found = why(blocking_with_shared(product(), 8, 8, 16, 16, 8))
    told = fault(found, "idle multiprocessors")
    assert told.words == "128 of 132 multiprocessors have no block"
    assert told.help == "undo the bind of j_0, then split j_0"
    assert found.faults[0] is told


def test_where_blocks_are_no_whole_number_of_rounds_some_multiprocessors_do_one_less():
    """Whether these rest then, or all of their blocks run at once: they have one block less."""
    found = fault(
        why(blocking_with_shared(wb.Schedule(matmul(1024)), 8, 8, 8, 8, 8)), "idle multiprocessors"
    )
    assert found.words == "Of 256 blocks 8 of 132 multiprocessors do one less"


def test_blocks_that_are_too_many_are_told_with_what_they_take():
    found = why(windows(wb.Schedule(window_sum(2**20)), 8)).faults[0]
    assert found.name == "launch"
    assert found.words == "131,072 blocks take 78.6 µs to start; 4,224 fill the GPU"
    assert found.gain == pytest.approx((131072 - 4224) * 0.6e-3, rel=0.03)


def test_lanes_without_a_thread():
    found = fault(why(cells(product(), 4, 2)), "idle lanes")
    assert found.words == "24 of the 32 lanes of a warp have no thread"


def test_two_faults_at_once_stand_by_what_each_alone_would_gain():
    found = why(cells(product(), 16, 16, along="i"))
    assert {"coalescing", "reuse"} <= {f.name for f in found.faults}
    gains = [f.gain for f in found.faults]
    assert gains == sorted(gains, reverse=True)
    assert found.us is not None and all(0 < gain < found.us for gain in gains)
    assert len(found.table.rows) == len(found.faults)


def test_where_the_launch_takes_longest_nothing_is_ranked():
    found = why(cells(wb.Schedule(matmul(8)), 8, 8))
    assert found.faults == ()
    assert found.caption.endswith("most is the launch: no schedule makes it faster.")


def test_there_is_no_answer_without_a_time():
    found = insight.why(wb.build(cells(product(), 16, 16)).kernels, target.get("cuda"))
    assert (found.us, found.faults) == (None, ())
    assert found.caption == "No modelled time: nobody knows how fast any CUDA GPU is."


def test_each_verb_that_is_named_is_one_of_a_schedule():
    ways = [
        cells(product(), 16, 16, along="i"),
        cells(product(), 4, 2),
        shared(product(), 1, 4, 32, 8, 32, along="i", width=1),
        windows(wb.Schedule(window_sum(2**20)), 128, copy="alone"),
        blocking_with_shared(product(), 8, 8, 16, 16, 8),
    ]
    told = [(sch, f) for sch in ways for f in why(sch).faults]
    verbs = {f.verb for _, f in told} - {""}
    assert len(verbs) >= 5 and all(hasattr(wb.Schedule, verb) for verb in verbs)
    for sch, f in told:  # a loop that is bound cannot be cut or bound before that is undone
        assert isinstance(sch.func, PrimFunc)
        bound = {x.loop_var.name for x in places(sch.func).loops.values() if x.thread}
        assert bound.issuperset(f.undo) and (f.place not in bound or f.place in f.undo), f
    assert {bool(f.undo) for _, f in told} == {True, False}


def test_what_several_statements_ask_alike_is_told_once():
    """The parts of virtual threads, or a vector's, are statements: each line is another thing."""
    sch = wb.Schedule(product(1024).func)
    lesson.in_shared(sch, (8, 8), (8, 8), 8, virtual=(2, 2), pad=4)
    told = [(f.buffer, f.words) for f in why(sch).faults]
    assert len(told) == len({*told})
    both = fault(why(sch), "conflicts", "A_shared")
    assert len(both.statements) == 2 and len({*both.statements}) == 2
    assert both.words == "A load of A_shared takes 2 wavefronts where 1 would do"


def test_sectors_that_are_all_used_may_lie_in_too_many_lines():
    """32 lanes copy 16 bytes each: 16 sectors of 16 rows, whose lines have room for 4 times that.

    A load of 4 bytes that a compiler joined with its neighbours says how wide it became.
    """
    sch = wb.Schedule(product(1024).func)
    lesson.in_shared(sch, (8, 8), (8, 8), 8)
    found = why(sch)
    assert fault(found, "coalescing", "A").words == (
        "A load of A uses all of its 16 sectors, but in 16 lines of 128 bytes where 4 would do"
    )
    assert fault(found, "conflicts", "B_shared").words == (
        "A load of B_shared, compiled to 16 bytes a lane, takes 8 wavefronts where 1 would do"
    )
