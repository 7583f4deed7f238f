"""Texts that are no programs, or hardly: read, or refused in words of ours; nothing else."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import seeds
from tests.support.mutations import mutated, starts, use
from workbench.script import ParseError, parse, show

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = {}
"""


@pytest.mark.fuzz
def test_mutated_programs_are_read_or_refused():
    programs = starts()
    ends: Counter[str] = Counter()
    for seed in seeds():  # benchmarks/mutated_texts.py uses thousands
        rng = random.Random(seed)
        ends[use(mutated(rng.choice(programs), rng))[0]] += 1
    assert set(ends) == {"built", "ParseError", "ScheduleError"}


@pytest.mark.parametrize(
    "value",
    [
        " + ".join(["A[vi]"] * 500),
        "-" * 300 + "A[vi]",
        "A[(" + " + ".join(["vi"] * 500) + ") % 8]",
        "T.if_then_else(" + " and ".join(["vi < 4"] * 500) + ", A[vi], T.float32(0))",
    ],
    ids=["sum", "signs", "index", "condition"],
)
def test_a_deep_expression_is_read_scheduled_and_run(value):
    program = parse(PROGRAM.format(value))
    assert show(parse(show(program))) == show(program)
    sch = wb.Schedule(program)
    block, thread = sch.split("i", factors=[2, 4])
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    A, B = np.ones(8, "float32"), np.zeros(8, "float32")
    expected = np.zeros(8, "float32")
    wb.emulate.evaluate(program, [A, expected])
    wb.build(sch, target="cuda")(A, B)
    np.testing.assert_array_equal(B, expected)


def test_what_python_itself_finds_too_deep_is_refused():
    with pytest.raises(ParseError, match="nested too deeply: at most 1000 levels"):
        parse(PROGRAM.format(" + ".join(["A[vi]"] * 50_000)))


@pytest.mark.parametrize("text", [None, 3, b"@T.prim_func", ["@T.prim_func"]], ids=repr)
def test_what_is_no_text_is_refused(text):
    with pytest.raises(ParseError, match=r"Can't read a program from (NoneType|int|bytes|list)"):
        parse(text)


def test_integers_of_any_size_are_read_or_refused():
    for value in ("T.int64(-9223372036854775808)", "T.uint64(18446744073709551615)"):
        assert value in show(parse(PROGRAM.format(f"T.Cast('float32', {value})")))
    folded = parse(PROGRAM.format("A[vi] * T.Cast('float32', 2147483647 + T.int32(1))"))
    assert wb.structural_equal(parse(show(folded)), folded)
