"""What a program writes does not decide which of its blocks run, or it cannot be scheduled."""

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
