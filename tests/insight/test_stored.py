"""Cells that several blocks of a program store: each is told who computes it last."""

from __future__ import annotations

from tests.support.gpu_programs import parsed
from workbench import draw, insight

PADDED = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((8,), "float32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding({threads}, thread="threadIdx.x"):
            with T.block("C_pad"):
                v = T.axis.spatial(8, b * 4 + t)
                T.where(t < 4)
                C[v] = T.float32(0)
        for t in T.thread_binding({threads}, thread="threadIdx.x"):
            with T.block("C"):
                v = T.axis.spatial(4, b * 4 + t - 2)
                T.where(t < 4 and b * 4 + t >= 2 and b * 4 + t < 6)
                C[v + 2] = A[v]
"""


def test_cells_that_the_last_block_leaves_are_those_of_the_one_before():
    """C stores cells 2 to 5 alone; the other four are zeros that C_pad stores."""
    who = insight.who(parsed(PADDED.format(threads=4)))
    assert [cell.label for cell in who.cells] == [
        f"block {k // 4}, thread {k % 4}" for k in range(8)
    ]
    assert {cell.writers for cell in who.cells} == {1}
    assert [cell.time for cell in who.cells][1:3] == [(0, 0), (0, 1)]  # both store cell 2
    assert [(g.label, g.region, g.cells) for g in who.groups] == [
        ("block 0", ((0, 4, 1),), 4),
        ("block 1", ((4, 4, 1),), 4),
    ]
    assert who.idle == () and "no cell" not in who.caption


def test_a_thread_rests_that_none_of_the_blocks_lets_store():
    who = insight.who(parsed(PADDED.format(threads=5)))
    assert [idle.label for idle in who.idle] == ["block 0, thread 4", "block 1, thread 4"]
    assert [group.idle for group in who.groups] == [1, 1]


SHARED_OUT = """
@T.prim_func
def main(A: T.Buffer(({size},), "float32"), C: T.Buffer(({size},), "float32")):
    for i in {first}:
        with T.block("C_0"):
            v = T.axis.spatial({size}, i)
            C[v] = A[v]
    for i in {last}:
        with T.block("C_1"):
            v = T.axis.spatial({size}, i)
            C[v] = A[v]
"""


def shared_out(size: int, first: str, last: str) -> insight.Who:
    return insight.who(parsed(SHARED_OUT.format(size=size, first=first, last=last)))


def test_the_turns_of_a_loop_that_was_shared_out_are_all_there():
    who = shared_out(8, "range(6)", "range(6, 8)")
    assert [cell.time for cell in who.cells] == [(k, k) for k in range(8)]
    assert who.table.rows[2][:2] == ("C[2]", "time step 2")


def test_where_no_block_is_bound_its_words_are_left_out():
    who = shared_out(8, 'T.thread_binding(6, thread="blockIdx.x")', "range(6, 8)")
    assert who.labels == ("time", "block")
    assert [cell.label for cell in who.cells][5:] == [
        "block 5, time step 0", "time step 1", "time step 2"
    ]  # fmt: skip
    assert who.sentence(who.cells[5]) == "C[5] is computed by block 5, at time step 0."
    assert who.sentence(who.cells[6]) == "C[6] is computed at time step 1."
    texts = [word for strip in draw.who_picture(who).strips for word in strip.words]
    assert "C[7]" in texts and not any("None" in word for word in texts)


def test_blocks_of_two_launches_that_have_one_number_are_one_group():
    who = shared_out(
        100,
        'T.thread_binding(60, thread="blockIdx.x")',
        'T.thread_binding(60, 100, thread="blockIdx.x")',
    )
    assert [(g.label, g.region, g.exact, g.cells) for g in who.groups][::20] == [
        ("block 0", ((0, 2, 60),), True, 2),
        ("block 20", ((20, 2, 60),), True, 2),
        ("block 40", ((40, 1, 1),), True, 1),
    ]


def test_what_starts_a_sum_is_no_part_of_who_computes_it():
    """The sums reach each cell that is set to zero before: nothing is from there."""
    who = insight.who(
        parsed("""
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("C_init"):
            v = T.axis.spatial(4, i)
            C[v] = T.float32(0)
    for i, k in T.grid(4, 8):
        with T.block("C_update"):
            v, w = T.axis.remap("SR", [i, k])
            C[v] = C[v] + A[v, w]
""")
    )
    assert [cell.time for cell in who.cells] == [(4 + 8 * k, 11 + 8 * k) for k in range(4)]
