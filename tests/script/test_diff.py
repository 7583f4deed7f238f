"""Differences: what is paired with what, signs, changed words."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.script.random_programs import programs
from tests.script.sample import window
from workbench.ir import BlockRealize, For, Var, const, replace_node, seq, substitute, walk
from workbench.schedule import Schedule
from workbench.script import changed_words, diff, diff_text, parse, show

RELAXED = settings(suppress_health_check=[HealthCheck.too_slow])


def split(func, name, inner, thread=None):
    """`func` with loop `name` split by `inner`, as the schedule's primitive does."""
    loop = next(n for n in walk(func) if isinstance(n, For) and n.loop_var.name == name)
    x, y, zero = Var(name + "_0"), Var(name + "_1"), const(0, "int32")
    body = substitute(loop.body, {loop.loop_var: x * inner + y})
    low = For(
        y, zero, const(inner, "int32"), "thread_binding" if thread else "serial", body, thread
    )
    return replace_node(
        func, loop, For(x, zero, const(loop.extent.value // inner, "int32"), "serial", low)
    )


def test_a_program_does_not_differ_from_itself():
    rows = diff(window, window)
    assert {row.sign for row in rows} == {" "}
    assert [row.left_no for row in rows] == [row.right_no for row in rows]


def test_a_split_loop():
    after = split(window, "ax0", 65, "threadIdx.x")
    rows = [(r.sign, r.left.strip(), r.right.strip()) for r in diff(window, after) if r.sign != " "]
    assert rows == [
        ("-", "for ax0 in range(130):", ""),
        ("+", "", "for ax0_0 in range(2):"),
        ("+", "", 'for ax0_1 in T.thread_binding(65, thread="threadIdx.x"):'),
        (
            "~",
            "v0 = T.axis.spatial(1027, i_0 * 128 + ax0)",
            "v0 = T.axis.spatial(1027, i_0 * 128 + (ax0_0 * 65 + ax0_1))",
        ),
    ]


def test_changed_words_of_a_line():
    (row,) = [r for r in diff(window, split(window, "ax0", 65)) if r.sign == "~"]
    assert [row.left[a:b] for a, b in row.left_words] == ["ax0"]
    assert [row.right[a:b] for a, b in row.right_words] == ["(ax0_0 * 65 + ax0_1)"]


def test_lines_that_only_moved_in_are_the_same():
    rows = diff(window, split(window, "ax0", 65, "threadIdx.x"))
    moved = [r for r in rows if r.sign == " " and r.left != r.right]
    assert moved and all(r.left.strip() == r.right.strip() for r in moved)


def test_a_loop_of_another_kind_is_the_same_loop():
    loop = next(n for n in walk(window) if isinstance(n, For) and n.loop_var.name == "ax0")
    unrolled = For(loop.loop_var, loop.min, loop.extent, "unrolled", loop.body)
    (row,) = [r for r in diff(window, replace_node(window, loop, unrolled)) if r.sign != " "]
    assert (row.sign, row.right.strip()) == ("~", "for ax0 in T.unroll(130):")
    assert [row.right[a:b] for a, b in row.right_words] == ["T.unroll"]


def test_a_block_that_is_gone_is_not_taken_for_another():
    loop = next(n for n in walk(window) if isinstance(n, For) and n.loop_var.name == "ax0")
    rows = diff(window, replace_node(window, loop, None))
    assert {r.sign for r in rows} == {" ", "-"}
    assert sum(r.sign == "-" for r in rows) == 6


def test_programs_that_share_nothing_are_matched_by_name():
    other = parse(show(window).replace("range(130)", "range(131)"))
    (row,) = [r for r in diff(window, other) if r.sign != " "]
    assert row.sign == "~" and row.right.strip() == "for ax0 in range(131):"


def test_the_text_has_signs_in_front():
    text = diff_text(diff(window, split(window, "ax0", 65))).splitlines()
    assert [line for line in text if line[0] in "+-"] == [
        "-             for ax0 in range(130):",
        "+             for ax0_0, ax0_1 in T.grid(2, 65):",
        "-                     v0 = T.axis.spatial(1027, i_0 * 128 + ax0)",
        "+                     v0 = T.axis.spatial(1027, i_0 * 128 + (ax0_0 * 65 + ax0_1))",
    ]


@pytest.mark.parametrize(
    ("left", "right", "columns"),
    [
        ("a b", "a b", ((), ())),
        ("  x = 1", "x = 2", (((6, 7),), ((4, 5),))),
        ("f(i)", "f(i, j)", ((), ((3, 6),))),
        ("a // b", "a % b", (((2, 4),), ((2, 3),))),
    ],
)
def test_words(left, right, columns):
    assert changed_words(left, right) == columns


@pytest.mark.fuzz
@RELAXED
@given(programs(), programs())
def test_a_difference_holds_every_line_of_both_once_in_order(a, b):
    rows = diff(a, b)
    left, right = show(a).splitlines(), show(b).splitlines()
    assert [r.left for r in rows if r.left_no] == left
    assert [r.right for r in rows if r.right_no] == right
    assert [r.left_no for r in rows if r.left_no] == list(range(1, len(left) + 1))
    assert [r.right_no for r in rows if r.right_no] == list(range(1, len(right) + 1))
    for r in rows:
        same = r.left.strip() == r.right.strip()
        assert r.sign == {(True, True): " " if same else "~", (True, False): "-",
                          (False, True): "+"}[(bool(r.left_no), bool(r.right_no))]  # fmt: skip


@pytest.mark.fuzz
@RELAXED
@given(programs())
def test_removing_a_statement_only_takes_lines_away(func):
    nests = [n for n in walk(func.root.body) if isinstance(n, BlockRealize)]
    body = func.root.body
    if not hasattr(body, "stmts"):
        return
    assert nests
    rows = diff(func, replace_node(func, body.stmts[0], None))
    assert {r.sign for r in rows} <= {" ", "-", "~"}


SUM = """
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""


def test_a_line_stays_the_same_where_one_before_it_goes():
    sch = Schedule(parse(SUM))
    sch.decompose_reduction("C", "k")
    rows = [(r.sign, r.left.strip()) for r in diff(sch.history[0].func, sch.func) if r.left]
    assert rows[-3:] == [
        ("-", "with T.init():"),
        ("-", "C[vi] = T.float32(0)"),
        (" ", "C[vi] = C[vi] + A[vi, vk]"),
    ]


def test_a_small_part_that_moves_into_a_large_one_is_what_moved():
    """As compute_at does: the loops around stay, the block inside is gone here and new there."""
    loop = next(n for n in walk(window) if isinstance(n, For) and n.loop_var.name == "ax0")
    without = replace_node(window, loop, None)
    whole = For(Var("ax0"), loop.min, const(1027, "int32"), "serial", loop.body)
    before = replace_node(without, without.root.body, seq(whole, without.root.body))
    rows = diff(before, window)
    kept = [r.right.strip().split(" in")[0] for r in rows if r.sign == " " and "for " in r.right]
    assert kept == ["for i_0", "for i_1"]
    assert [sum(r.sign == sign for r in rows) for sign in "-+~"] == [6, 6, 0]
