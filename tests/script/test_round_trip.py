"""What is printed reads in again as the same program; printing it again gives the same text."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.script.random_programs import TYPES, Scope, expressions, programs
from workbench.ir import (
    BlockRealize,
    Buffer,
    BufferStore,
    IRModule,
    PrimFunc,
    Var,
    assert_structural_equal,
    seq,
    verify,
)
from workbench.ir.nodes import TRUE, Block
from workbench.script import expr_text, parse, show

RELAXED = settings(suppress_health_check=[HealthCheck.too_slow])


def program_of(value, dtype, buffers):
    """A program that stores `value`, an expression over the elements of `buffers`."""
    out = Buffer("out", (), dtype)
    root = Block("root", (), (), (), seq(BufferStore(out, value, ())))
    return PrimFunc("main", (*buffers, out), BlockRealize((), TRUE, root))


@RELAXED
@given(st.data())
def test_every_expression_round_trips(data):
    buffers = [Buffer(f"b_{t}", (2, 2), t) for t in TYPES]
    dtype = data.draw(st.sampled_from(TYPES))
    value = data.draw(expressions(Scope([], buffers), dtype, 4))
    func = program_of(value, dtype, buffers)
    assert_structural_equal(parse(show(func)), func)


@pytest.mark.fuzz
@RELAXED
@given(programs())
def test_every_program_round_trips(func):
    verify(func)
    text = show(func)
    again = parse(text)
    verify(again)
    assert_structural_equal(again, func)
    assert show(again) == text


@pytest.mark.fuzz
@RELAXED
@given(st.lists(programs(), min_size=1, max_size=2))
def test_modules_round_trip(funcs):
    module = IRModule(tuple(funcs))
    assert_structural_equal(parse(show(module)), module)


@RELAXED
@given(st.data())
def test_parentheses_are_as_few_as_python_needs(data):
    """Taking any one pair of parentheses away changes what Python reads, or is no longer Python."""
    import ast

    scope = Scope([Var("i"), Var("j")], [])
    text = expr_text(data.draw(expressions(scope, "int32", 4)))
    tree = ast.dump(ast.parse(text))
    depth: list[int] = []
    for at, char in enumerate(text):
        if char == "(":
            depth.append(at)
        elif char == ")":
            start = depth.pop()
            if start and (text[start - 1].isalnum() or text[start - 1] == "_"):
                continue  # a call's
            without = text[:start] + " " + text[start + 1 : at] + " " + text[at + 1 :]
            try:
                changed = ast.dump(ast.parse(without.strip())) != tree
            except SyntaxError:
                changed = True
            assert changed, f"{text!r} needs no parentheses at {start}"


def test_names_that_differ_make_other_ranges_and_domains():
    """``vi:vj + 4`` has not 4 cells, a loop of `m` turns is no domain of `n`, C[vj] is read."""
    func = parse("""
@T.prim_func
def main(A: T.Buffer((64,)), C: T.Buffer((64,)), n: T.int32, m: T.int32):
    for i, j in T.grid(m, m):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            vj = T.axis.reduce(n, j)
            T.reads(A[vi : vj + 4])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi]
        with T.block("D"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + C[vj]
""")
    text = show(func)
    assert "T.reads(A[vi : vi + (vj + 4 - vi)])" in text
    assert "vi = T.axis.spatial(n, i)" in text
    assert "T.reads(C[T.min(vi, vj) : " in text
