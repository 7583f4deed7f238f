"""transform_layout: what it refuses, and how it says so."""

from __future__ import annotations

import pytest

from tests.support.block_programs import TWO_D
from tests.support.steps import refusal


def test_an_argument():
    text = refusal(TWO_D, lambda sch: sch.transform_layout("C", "C", "lambda i, j: (j, i)"))
    assert (
        text
        == """\
Can't transform_layout C of `C`: it is an argument, which the caller has laid out.
asked: sch.transform_layout("C", "C", "lambda i, j: (j, i)")
where:
  10 |             B[vi, vj] = A[vi, vj] * T.float32(2)
  11 |     for i, j in T.grid(12, 10):
  12 |         with T.block("C"):
     |         ^^^^^^^^^^^^^^^^^^
  13 |             vi, vj = T.axis.remap("SS", [i, j])
  14 |             T.reads(B[vi, vj])
do:    copy it first, with cache_read or cache_write, and lay the copy out"""
    )


def test_gaps():
    text = refusal(
        TWO_D, lambda sch: sch.transform_layout("B", "B", "lambda i, j: (i // 5, j, i % 5)")
    )
    assert (
        text
        == """\
Can't transform_layout B of `B`: the map leaves gaps or puts two cells in one place.
asked: sch.transform_layout("B", "B", "lambda i, j: (i // 5, j, i % 5)")
where:
   4 |     B = T.alloc_buffer((12, 10))
   5 |     for i, j in T.grid(12, 10):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
do:    every new index counts from 0, and factors divide the extents 12, 10"""
    )


def test_two_cells_in_one_place():
    text = refusal(
        TWO_D, lambda sch: sch.transform_layout("B", "B", "lambda i, j: (i, j // 2, j // 5)")
    )
    assert (
        text
        == """\
Can't transform_layout B of `B`: the map leaves gaps or puts two cells in one place.
asked: sch.transform_layout("B", "B", "lambda i, j: (i, j // 2, j // 5)")
where:
   4 |     B = T.alloc_buffer((12, 10))
   5 |     for i, j in T.grid(12, 10):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
do:    every new index counts from 0, and factors divide the extents 12, 10"""
    )


def test_a_map_of_too_few_indices():
    text = refusal(TWO_D, lambda sch: sch.transform_layout("B", "B", "lambda i: (i,)"))
    assert (
        text
        == """\
Can't transform_layout B of `B`: index_map is no map of its indices.
asked: sch.transform_layout("B", "B", "lambda i: (i,)")
where:
   4 |     B = T.alloc_buffer((12, 10))
   5 |     for i, j in T.grid(12, 10):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
found: B has 2 dimensions
do:    write it like this: lambda i, j: (i // 4, j, i % 4)"""
    )


def test_a_call_in_a_map():
    text = refusal(TWO_D, lambda sch: sch.transform_layout("B", "B", "lambda i, j: (print(i), j)"))
    assert (
        text
        == """\
Can't transform_layout B of `B`: index_map is no map of its indices.
asked: sch.transform_layout("B", "B", "lambda i, j: (print(i), j)")
where:
   4 |     B = T.alloc_buffer((12, 10))
   5 |     for i, j in T.grid(12, 10):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
found: it may not hold 'print(i)'
do:    write it like this: lambda i, j: (i // 4, j, i % 4)"""
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("-" * 4000 + "i", "it is no lambda"),
        ("(" * 300 + "i", "Python can't read it"),
        ("lambda i, j: (i, " + "j + " * 2000 + "j)", "it may not nest more than 100 operators"),
        ("lambda i, j: (i, " + "~" * 900 + "j)", "it may not hold"),
    ],
)
def test_a_map_that_is_nested_deep(text: str, found: str):
    shown = refusal(TWO_D, lambda sch: sch.transform_layout("B", "B", text))
    assert f"\nfound: {found}" in shown and len(shown) < 20_000


def test_what_is_no_lambda():
    text = refusal(TWO_D, lambda sch: sch.transform_layout("B", "B", "(i, j)"))
    assert (
        text
        == """\
Can't transform_layout B of `B`: index_map is no map of its indices.
asked: sch.transform_layout("B", "B", "(i, j)")
where:
   4 |     B = T.alloc_buffer((12, 10))
   5 |     for i, j in T.grid(12, 10):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
found: it is no lambda
do:    write it like this: lambda i, j: (i // 4, j, i % 4)"""
    )


def test_what_python_cannot_read():
    text = refusal(TWO_D, lambda sch: sch.transform_layout("B", "B", "lambda i, j: (i, j"))
    assert (
        text
        == """\
Can't transform_layout B of `B`: index_map is no map of its indices.
asked: sch.transform_layout("B", "B", "lambda i, j: (i, j")
where:
   4 |     B = T.alloc_buffer((12, 10))
   5 |     for i, j in T.grid(12, 10):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
found: Python can't read it
do:    write it like this: lambda i, j: (i // 4, j, i % 4)"""
    )


def test_arguments_with_defaults():
    text = refusal(TWO_D, lambda sch: sch.transform_layout("B", "B", "lambda i, j=0: (i, j)"))
    assert (
        text
        == """\
Can't transform_layout B of `B`: index_map is no map of its indices.
asked: sch.transform_layout("B", "B", "lambda i, j=0: (i, j)")
where:
   4 |     B = T.alloc_buffer((12, 10))
   5 |     for i, j in T.grid(12, 10):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
found: its arguments are to be plain names
do:    write it like this: lambda i, j: (i // 4, j, i % 4)"""
    )


def test_a_buffer_of_no_name():
    text = refusal(TWO_D, lambda sch: sch.transform_layout("B", "Z", "lambda i, j: (j, i)"))
    assert (
        text
        == """\
Can't transform_layout `B`: 'Z' names no buffer.
asked: sch.transform_layout("B", "Z", "lambda i, j: (j, i)")
where:
   4 |     B = T.alloc_buffer((12, 10))
   5 |     for i, j in T.grid(12, 10):
   6 |         with T.block("B"):
     |         ^^^^^^^^^^^^^^^^^^
   7 |             vi, vj = T.axis.remap("SS", [i, j])
   8 |             T.reads(A[vi, vj])
do:    write ("read", 0), ("write", 0) or a name: A, B"""
    )
