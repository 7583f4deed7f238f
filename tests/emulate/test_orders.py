"""A race in both orders, on kernels of four threads that one works out on paper."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.test_refusals import A, C, N, S, arrays, bx, here, put, tx
from workbench import emulate
from workbench.emulate.kernels.orders import Orders, race
from workbench.ir import (
    CP_ASYNC,
    Barrier,
    Call,
    CommitGroup,
    For,
    IfThenElse,
    Kernel,
    Stmt,
    Var,
    WaitGroup,
    binary,
    const,
    seq,
)


def raced(*body: Stmt, blocks: int = 2) -> Orders | None:
    axes = (("blockIdx.x", bx), ("threadIdx.x", tx))
    kernel = Kernel("k", (A, N, C), (S,), (), axes, (blocks, 1, 1), (4, 1, 1), seq(*body))
    given = arrays()
    found = race([kernel], given, (A, N, C))
    assert all(map(np.array_equal, given, arrays())), "the arrays stay as they are"
    return found


FETCH = put(S, tx, A[here])  # S = A of the block: 0 1 2 3 in the first, 4 5 6 7 in the second
READ = put(C, here, S[3 - tx])
SEVEN = put(S, tx, 7.0)


def test_who_reads_first_finds_what_nothing_wrote():
    assert str(raced(FETCH, READ)) == (
        "S[3], block 0, in one order:\n"
        "  thread 3 writes (line 6)\n"
        "  thread 0 reads (line 7)\n"
        "  → thread 0 reads 3\n"
        "in the other:\n"
        "  thread 0 reads (line 7)\n"
        "  thread 3 writes (line 6)\n"
        "  → thread 0 reads nothing that was written"
    )


def values(found: Orders | None) -> tuple[str, tuple[str, str], tuple[object, object]]:
    assert found is not None
    first, second = (f"{act.who} {act.does}" for act in found.acts)
    return found.cell, (first, second), found.values


@pytest.mark.parametrize(
    "body, wanted",
    [
        # the second fetch of a cell: before it, the value of the first
        (
            (SEVEN, Barrier(), put(S, tx, A[here] + 1.0), READ),
            ("S[3]", ("thread 3 writes", "thread 0 reads"), (4.0, 7.0)),
        ),
        # a tile that is overwritten while others still read it
        (
            (FETCH, Barrier(), READ, put(S, tx, A[here] + 10.0)),
            ("S[0]", ("thread 3 reads", "thread 0 writes"), (0.0, 10.0)),
        ),
        # two statements that write one cell: the later one stays
        (
            (FETCH, put(S, 3 - tx, A[here] * 2.0)),
            ("S[3]", ("thread 3 writes", "thread 0 writes"), (0.0, 3.0)),
        ),
        # a store in some threads only, in each of which it is the first
        (
            (SEVEN, Barrier(), IfThenElse(binary("<", tx, 2), FETCH), put(C, here, S[tx // 2])),
            ("S[0]", ("thread 0 writes", "thread 1 reads"), (0.0, 7.0)),
        ),
    ],
)
def test_both_values_are_those_on_paper(body: tuple[Stmt, ...], wanted: object):
    assert values(raced(*body)) == wanted


def test_in_the_block_in_which_it_happens():
    """Only the second block's threads meet: there A begins with 4."""
    overwrite = IfThenElse(binary(">=", here, 4), put(S, tx, A[here] + 10.0))
    found = raced(FETCH, Barrier(), READ, overwrite)
    assert found is not None and found.block == "block 1"
    assert values(found) == ("S[0]", ("thread 3 reads", "thread 0 writes"), (4.0, 14.0))


def test_where_no_two_threads_race_there_are_no_orders():
    assert raced(FETCH, Barrier(), READ) is None
    with pytest.raises(emulate.EmulationError, match="several threads write it"):
        raced(put(S, 0, A[here]))  # by one statement, which comes first for nobody
    with pytest.raises(emulate.EmulationError, match=r"Can't read S\[4\]"):
        raced(FETCH, Barrier(), put(C, here, S[tx + 1]))


def test_a_copy_that_arrives_when_it_does_has_none():
    copy = put(S, tx, Call(CP_ASYNC, (A[here],), "float32"))
    assert raced(copy, CommitGroup(), WaitGroup(0), READ) is None


def test_an_act_is_told_with_the_turn_of_the_loops_that_it_is_in():
    """Two turns of k: what is fetched in the second one meets what is read in the first."""
    k = Var("k", "int32")
    fetch = put(S, tx, A[here] + k)
    loop = For(k, const(0, "int32"), const(2, "int32"), "serial", seq(fetch, Barrier(), READ))
    found = raced(loop, blocks=1)
    assert found is not None
    assert [(act.does, act.turn) for act in found.acts] == [("reads", "k=0"), ("writes", "k=1")]
    assert found.timelines[0][1].endswith(", in turn k=1)")
    assert raced(FETCH, READ).acts[0].where == "line 6"
