"""Programs that cannot be scheduled: verbs believe what their blocks declare."""

import pytest

import workbench as wb
from tests.access import corpus
from workbench import script

PROGRAMS = corpus.family("""\
Decided by memory.

== bound to memory
A[6]; n[6]i; C[6]
own s[6]i
for i in range(6):
    with T.block("s"):
        vi = T.axis.spatial(6, i)
        s[vi] = (n[vi] + 1) % 6
for i in range(6):
    with T.block("C"):
        vi = T.axis.spatial(6, s[i])
        T.reads(A[vi])
        T.writes(C[vi])
        C[vi] = A[vi] * 2.0

== where by memory
A[6]; n[6]i; C[6]
own s[6]i
for i in range(6):
    with T.block("s"):
        vi = T.axis.spatial(6, i)
        s[vi] = (n[vi] + 1) % 6
for i in range(6):
    with T.block("C"):
        vi = T.axis.spatial(6, i)
        T.where(s[i] < 4)
        T.reads(A[vi])
        T.writes(C[vi])
        C[vi] = A[vi] * 2.0

== extent by memory
A[6]; n[6]i; C[6]
own s[6]i
for i in range(6):
    with T.block("s"):
        vi = T.axis.spatial(6, i)
        s[vi] = (n[vi] + 1) % 6
for i in range(6):
    for k in range(s[i]):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi])
            T.writes(C[vi])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi] * 2.0

== if by memory
A[6]; n[6]i; C[6]
own s[6]i
for i in range(6):
    with T.block("s"):
        vi = T.axis.spatial(6, i)
        s[vi] = (n[vi] + 1) % 6
for i in range(6):
    if s[i] < 3:
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = A[vi] * 2.0
""")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_buffer_that_is_written_decides(name: str):
    with pytest.raises(wb.ScheduleError) as refused:
        wb.Schedule(script.parse(PROGRAMS[name]))
    error = refused.value
    assert error.headline == "Can't schedule main: s, which it writes, decides which blocks run."
    assert "s[i]" in error.where
    assert error.detail == (
        "a loop's extent, `if`, T.where or T.axis around a block may read what no block writes"
    )
    assert error.hint == "read s inside the block: with `if`, or T.if_then_else"


def test_an_argument_that_is_only_read_may_decide():
    sch = wb.Schedule(corpus.program("partly made", "a row's length"))
    sch.bind("i", "blockIdx.x")
    assert 'for i in T.thread_binding(4, thread="blockIdx.x"):' in script.show(sch.func)


DECLARED = corpus.family("""\
What blocks declare, and do not keep.

== reads nothing
A[8]; B[8]
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        T.reads()
        T.writes(B[vi])
        B[vi] = A[vi]

== reads its neighbour
A[8]; B[8]
for i in range(7):
    with T.block("B"):
        vi = T.axis.spatial(7, i)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi] + A[vi + 1]

== writes its neighbour
A[8]; B[8]
for i in range(7):
    with T.block("B"):
        vi = T.axis.spatial(7, i)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi + 1] = A[vi]

== more turns than values
A[8]; B[4]
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial(4, i)
        B[vi] = A[vi]
""")
FOUND = {
    "reads nothing": "`B` reads A, which its T.reads leaves out.",
    "reads its neighbour": "`B` reads A[1], which its T.reads leaves out.",
    "writes its neighbour": "`B` writes B[1], which its T.writes leaves out.",
    "more turns than values": "`B` runs for vi = 4, beyond its T.axis.",
}


@pytest.mark.parametrize("name", DECLARED)
def test_a_block_does_more_than_it_declares(name: str):
    with pytest.raises(wb.ScheduleError) as refused:
        wb.Schedule(script.parse(DECLARED[name]))
    assert refused.value.headline == f"Can't schedule main: {FOUND[name]}"
    assert refused.value.where and refused.value.hint


def test_turns_that_a_loop_does_not_have_declare_nothing():
    text = """\
Right.

== a triangle inside a block
A[6]; B[6]
for i in range(6):
    with T.block("B"):
        vi = T.axis.spatial(6, i)
        T.reads(A[0 : vi + 1])
        T.writes(B[vi])
        B[vi] = 0.0
        for k in range(vi + 1):
            B[vi] = B[vi] + A[k]
"""
    (program,) = corpus.family(text).values()
    assert wb.Schedule(script.parse(program)).get_blocks()
