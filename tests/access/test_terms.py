"""The terms of a program: what counts as the same meaning, and what does not."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from workbench.access import Invalid, difference, random_data, shuffled
from workbench.ir import PrimFunc
from workbench.script import parse


def program(body: str, alloc: str = "", params: str = "") -> PrimFunc:
    """A program of 4 x 4 buffers A, B and a vector C, whose statements are `body`."""
    params = params or (
        'A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), '
        'C: T.Buffer((4,), "float32"), n: T.Buffer((4,), "int32")'
    )
    lines = [*(alloc.strip().splitlines() if alloc else []), *body.strip("\n").splitlines()]
    text = "\n".join("    " + line for line in lines)
    result = parse(f"@T.prim_func\ndef main({params}):\n{text}")
    assert isinstance(result, PrimFunc)
    return result


def same(a: PrimFunc, b: PrimFunc, seeds: Sequence[int] = range(4)) -> bool:
    return not any(difference(a, b, random_data(a, seed)) for seed in seeds)


COPY = program("for i, j in T.grid(4, 4):\n    B[i, j] = A[i, j] * 2.0")
SUM = program(
    """
for i in range(4):
    C[i] = 0.0
    for k in range(4):
        C[i] = C[i] + A[i, k] * B[k, i]
"""
)


def test_a_copy_is_what_it_copies():
    cached = program(
        """
for i, j in T.grid(4, 4):
    S[j, i] = A[i, j]
for i, j in T.grid(4, 4):
    B[i, j] = S[j, i] * 2.0
""",
        alloc="S = T.alloc_buffer((4, 4))",
    )
    assert same(COPY, cached)


def test_a_term_computed_twice_is_the_same_term():
    twice = program("for r, i, j in T.grid(2, 4, 4):\n    B[i, j] = A[i, j] * 2.0")
    assert same(COPY, twice)


def test_writes_that_reach_nothing_may_come_and_go():
    more = program(
        "for i, j in T.grid(4, 4):\n    S[i] = A[j, i]\n    B[i, j] = A[i, j] * 2.0",
        alloc="S = T.alloc_buffer((4,))",
    )
    assert same(COPY, more)


def test_the_order_of_a_sum_does_not_matter_but_its_terms_do():
    backwards = program(
        """
for i in range(4):
    C[i] = 0.0
for k, i in T.grid(4, 4):
    C[i] = A[i, 3 - k] * B[3 - k, i] + C[i]
"""
    )
    short = program(
        """
for i in range(4):
    C[i] = 0.0
    for k in range(3):
        C[i] = C[i] + A[i, k] * B[k, i]
"""
    )
    assert same(SUM, backwards)
    assert "and is (0 += " in difference(SUM, short, random_data(SUM, 0))


def test_a_sum_in_parts_dissolves_where_the_parts_start_from_zero():
    parts = """
for i in range(4):
    for h in range(2):
        P[h] = {}
        for l in range(2):
            P[h] = P[h] + A[i, h * 2 + l] * B[h * 2 + l, i]
    C[i] = 0.0
    for h in range(2):
        C[i] = C[i] + P[h]
"""
    alloc = "P = T.alloc_buffer((2,))"
    assert same(SUM, program(parts.format("0.0"), alloc))
    assert not same(SUM, program(parts.format("2.0"), alloc))


def test_padding_adds_nothing():
    padded = program(
        """
for i in range(4):
    C[i] = 0.0
    for k in range(6):
        C[i] = C[i] + T.if_then_else(k < 4, A[i, k] * B[k, i], 0.0)
"""
    )
    assert same(SUM, padded)


def test_a_term_counts_as_often_as_it_is_added_but_once_in_a_maximum():
    once = "for i in range(4):\n    for k in range(4):\n        C[i] = {}"
    twice = "for i in range(4):\n    for r, k in T.grid(2, 4):\n        C[i] = {}"
    add, highest = "C[i] + A[i, k]", "T.max(C[i], A[i, k])"
    assert not same(program(once.format(add)), program(twice.format(add)))
    assert same(program(once.format(highest)), program(twice.format(highest)))


def test_what_is_no_plain_sum_keeps_its_order():
    loop = "for i in range(4):\n    for k in range(4):\n        C[i] = {}"
    for update in ("C[i] - A[i, {}]", "T.Select(C[i] >= A[i, {}], C[i], A[i, {}])"):
        forward = program(loop.format(update.replace("{}", "k")))
        backward = program(loop.format(update.replace("{}", "3 - k")))
        assert not same(forward, backward)


def test_right_numbers_by_luck_are_not_the_same_meaning():
    assert not same(COPY, program("for i, j in T.grid(4, 4):\n    B[i, j] = A[i, j] + A[i, j]"))


def test_an_index_that_depends_on_data_is_that_of_the_data():
    at = program("for i in range(4):\n    C[n[i]] = C[n[i]] + 1.0")
    backward = program("for i in range(4):\n    C[n[3 - i]] = C[n[3 - i]] + 1.0")
    last = program("for i in range(4):\n    C[n[i]] = A[0, i]")
    first = program("for i in range(4):\n    C[n[3 - i]] = A[0, 3 - i]")
    assert same(at, backward)
    assert not same(last, first)


def test_who_wrote_a_cell_that_data_choose_may_be_put_in_its_place():
    padded = program(
        """
for i in range(4):
    S[i] = T.if_then_else(i < 2, A[0, i], T.Cast("float32", i))
for i in range(4):
    C[i] = S[n[i]]
""",
        alloc="S = T.alloc_buffer((4,))",
    )
    inlined = program(
        """
for i in range(4):
    C[i] = T.if_then_else(n[i] < 2, A[0, n[i]], T.Cast("float32", n[i]))
"""
    )
    shifted = program("for i in range(4):\n    C[i] = A[0, n[i]]")
    assert same(padded, inlined)
    assert not same(padded, shifted)


def test_threads_in_another_order():
    running = program(
        """
for i in T.thread_binding(4, thread="threadIdx.x"):
    S[i] = A[i, 0]
    C[i] = S[T.max(i - 1, 0)]
""",
        alloc='S = T.alloc_buffer((4,), scope="shared")',
    )
    data = random_data(running, 0)
    assert not difference(running, running, data)
    with pytest.raises(Invalid, match="copy of what nobody wrote"):
        difference(running, running, data, shuffled(0))


def test_a_shared_sum_starts_before_what_tells_its_cells_is_written():
    """Only what its init reads is looked up then."""
    looked_up = program(
        """
for k_0 in range(2):
    for t in T.thread_binding(2, thread="threadIdx.x"):
        with T.block("S"):
            vk, vt = T.axis.remap("SS", [k_0, t])
            S[vt] = T.min(T.max(n[vk * 2 + vt], 0), 3)
    for k_1 in T.thread_binding(2, thread="threadIdx.x"):
        with T.block("C"):
            vk = T.axis.reduce(4, k_0 * 2 + k_1)
            T.reads(A[0, S[vk % 2]], S[vk % 2])
            T.writes(C[0])
            with T.init():
                C[0] = 0.0
            C[0] = C[0] + A[0, S[vk % 2]]
""",
        alloc='S = T.alloc_buffer((2,), "int32", scope="shared")',
    )
    assert difference(looked_up, looked_up, random_data(looked_up, 0)) == ""


def test_a_buffer_of_a_block_belongs_to_one_instance_of_it():
    kept = program(
        """
for i in range(4):
    with T.block("C"):
        vi = T.axis.spatial(4, i)
        S = T.alloc_buffer((1,))
        if vi == 0:
            S[0] = A[0, 0]
        C[vi] = S[0]
"""
    )
    with pytest.raises(Invalid, match=re.escape("C[1] is a copy of what nobody wrote")):
        difference(kept, kept, random_data(kept, 0))


INVALID = {
    "outside": ("for i in range(5):\n    C[i] = 0.0", "C[4] is outside (4,)"),
    "copy of nothing": ("for i in range(4):\n    C[i] = S[i]", "C[0] is a copy of what nobody"),
    "condition": ("if S[0] > 0.0:\n    C[0] = 1.0", "depends on what nobody wrote"),
    "division": ("C[0] = T.Cast('float32', n[0] // (n[1] - n[1]))", "// divides by zero"),
    "domain": (
        "for i in range(4):\n    with T.block('C'):\n        v = T.axis.spatial(3, i)\n"
        "        C[v] = 0.0",
        "C: v = 3 leaves its domain",
    ),
    "declared": (
        "with T.block('C'):\n    T.reads(A[0, 0])\n    T.writes(C[0])\n    C[0] = A[0, 1]",
        "C reads A[0, 1], which it does not declare",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_a_program_without_a_meaning(name):
    body, told = INVALID[name]
    func = program(body, alloc="S = T.alloc_buffer((4,))")
    with pytest.raises(Invalid, match=re.escape(told)):
        difference(func, func, random_data(func, 0))


def test_a_region_whose_ends_have_no_number_in_a_turn_is_all_of_a_dimension():
    func = program(
        "for i in range(6):\n    with T.block('S'):\n        v = T.axis.spatial(6, i)\n"
        "        T.reads(C[n[v] % 4], n[v])\n        T.writes(S[v])\n"
        "        S[v] = T.if_then_else(v < 2, C[n[v] % 4], 0.0)",
        alloc="S = T.alloc_buffer((6,))",
    )
    assert difference(func, func, random_data(func, 0)) == ""
