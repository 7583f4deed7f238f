"""Structural equality: what counts and what does not."""

from __future__ import annotations

import pytest

from workbench.ir import Var, assert_structural_equal, structural_equal
from workbench.script import parse

TEXT = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    T.func_attr({"a": 1, "b": [2, 3]})
    C = T.alloc_buffer((8, 8), scope="shared")
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            T.where(i + j < 9)
            C[vi, vj] = A[vi, vj] + 1.0
    for i in T.thread_binding(8, thread="threadIdx.x"):
        B[i, 0] = C[i, 1]
"""
PROGRAM = parse(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("vi", "v0"),
        ("i, j in", "x, y in"),
        ("C = T.alloc", "D = T.alloc"),
        ('{"a": 1, "b": [2, 3]}', '{"b": [2, 3], "a": 1}'),
    ],
)
def test_names_of_variables_and_the_order_of_attributes_do_not_count(old, new):
    changed = TEXT.replace(old, new)
    if old == "i, j in":
        changed = changed.replace("[i, j]", "[x, y]").replace("i + j", "x + y")
    if old == "C = T.alloc":
        changed = changed.replace("C[", "D[")
    assert changed != TEXT
    assert structural_equal(parse(changed), PROGRAM)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def main", "def other"),
        ('T.block("C")', 'T.block("D")'),
        ("threadIdx.x", "threadIdx.y"),
        ('scope="shared"', 'scope="local"'),
        ("T.alloc_buffer((8, 8)", "T.alloc_buffer((8, 9)"),
        ('B: T.Buffer((8, 8), "float32")', 'B: T.Buffer((8, 8), "float16")'),
        ('"SR"', '"SS"'),
        ("i + j < 9", "j + i < 9"),
        ("i + j < 9", "i + j < 8"),
        ("A[vi, vj]", "A[vj, vi]"),
        ("A[vi, vj]", "B[vi, vj]"),
        ("+ 1.0", "- 1.0"),
        ('"a": 1', '"a": True'),
        ("B[i, 0] = C[i, 1]", "B[i, 0] = C[i, 1]\n        B[i, 0] = C[i, 1]"),
        ("T.grid(8, 8)", "T.grid(8, T.int64(8))"),
    ],
)
def test_everything_else_counts(old, new):
    changed = TEXT.replace(old, new)
    if "int64" in new:
        changed = changed.replace("i + j < 9", "i < 9").replace("A[vi, vj]", "A[vi, 0]")
    assert changed != TEXT
    assert not structural_equal(parse(changed), PROGRAM)
    assert not structural_equal(PROGRAM, parse(changed))


def test_a_renaming_goes_both_ways():
    i, j = Var("i"), Var("j")
    assert structural_equal(i + j, j + i)
    assert not structural_equal(i + i, i + j) and not structural_equal(i + j, i + i)


def test_the_first_difference_is_named():
    changed = parse(TEXT.replace("+ 1.0", "+ 2.0"))
    with pytest.raises(AssertionError) as error:
        assert_structural_equal(PROGRAM, changed)
    assert str(error.value) == (
        "the programs differ at body.block.body.stmts[0].body.body.block.body.value.b: "
        "Const(value=1.0, type='float32') is not Const(value=2.0, type='float32')"
    )
    assert_structural_equal(PROGRAM, PROGRAM)
