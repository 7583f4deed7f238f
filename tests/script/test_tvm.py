"""Apache TVM 0.27 reads what ``dialect="tvm"`` writes, and what it prints reads in here."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from benchmarks.tvm_programs import one
from tests.script.sample import window
from tests.support.cases import CASES, seeds
from tests.support.shallow import shallow
from workbench.ir import IRModule, assert_structural_equal
from workbench.script import T, parse, show
from workbench.te import topi as wb_topi


@pytest.fixture(autouse=True)
def tvm() -> Any:
    """TVM, which takes seconds to import, and is not for all who collect the tests."""
    return pytest.importorskip("tvm", reason="needs apache-tvm, which is not installed")


def from_source(text: str) -> Any:
    """What TVM reads."""
    from tvm.script import from_source

    return shallow(from_source, text)


@T.prim_func
def everything(
    A: T.Buffer((16, 16), "float32"),
    C: T.Buffer((16,), "int8"),
    n: T.Buffer((16, 16), "int32"),
    h: T.Buffer((8,), "float16"),
    z: T.Buffer((), "float64"),
    q: T.Buffer((16,), "bfloat16"),
    p: T.Buffer((16,), "bool"),
):
    T.func_attr({"tir.noalias": True, "numbers": [1, 2], "real": 1.5, "word": "abc"})
    S = T.alloc_buffer((16,), "float32", scope="shared")
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = 0
            S[vi] = S[vi] + A[vi, vj]
    for i in T.serial(4, annotations={"pragma": 1, "word": "abc"}):
        for j in T.vectorized(4):
            for k in T.parallel(3):
                for _u in T.unroll(2):
                    for x in range(1, 4):
                        for _b in T.thread_binding(8, thread="blockIdx.x", annotations={"q": 1}):
                            with T.block("E"):
                                v0 = T.axis.spatial(16, i * 4 + j)
                                v1 = T.axis.reduce(3, k)
                                v2 = T.axis.spatial((1, 4), x)
                                T.where((i * 4 + j < 100 and i > 1) or i == 2)
                                T.reads(A[0:16, 0:16], S[v0], n[v0, 0:16])
                                T.writes(S[0:16], n[v0 : v0 + v1, v2 - 1 : v2 + 2])
                                T.block_attr({"auto": [1, 2], "k": 1})
                                S[v0] = T.if_then_else(v0 > 3, T.exp(A[v0, 0]), -2.5)
                                S[v0] = T.Cast("float32", C[v0]) * T.max(A[v0, 1], 3.0) - -A[v0, v0]
                                if v0 > 3:
                                    S[v0] = T.Select(v0 > 1, S[v0], T.float32("inf")) / T.sqrt(S[0])
                                else:
                                    S[v0] = T.Select(not v0 > 1, S[v0], T.float32("-inf"))
                                S[v0] = S[v0 // 3 * 2 % 4 - (v0 - v1) - (1 - v0) * 3] * 1e10 + 0.1
                                S[0] = T.abs(S[0]) + T.pow(S[0], 2.0) + T.floor(S[0]) + T.ceil(S[0])
                                S[1] = T.sigmoid(S[0]) + T.erf(S[1]) + T.rsqrt(S[2]) + T.tanh(S[0])
                                S[2] = T.log(S[0]) + T.sin(S[1]) + T.cos(S[2]) + T.float32("nan")
                                n[0, 0] = n[v0, 0] // 3 + (n[0, 0] + (n[1, 1] + n[2, 2])) * -3
                                n[1, 0] = T.Cast("int32", T.int64(3)) + T.Add(1, 2) + T.Mul(v0, 1)
                                n[2, v2] = T.min(n[0, 0], 3) + T.max(n[1, 0], v2)
                                h[0] = h[1] * 2 + T.float16(0.1)
                                z[()] = z[()] * 0.1 + 1e30
                                q[v0] = q[v0] + 1.5
                                p[v0] = (p[v0] and not n[0, 0] <= 3) or n[1, 1] != 2
                                C[v0] = T.int8(-5)


@T.prim_func
def wide(n: T.Buffer((16, 16), "int32"), w: T.Buffer((16,), "int64")):
    for m in range(T.int64(4)):
        with T.block("L"):
            vm = T.axis.spatial(T.int64(4), m)
            w[vm] = w[vm] + T.Cast("int64", n[vm, vm + T.int64(1)]) * 4294967296


LISTINGS = [path.read_text() for path in (Path(__file__).parent / "listings").iterdir()]
PROGRAMS = [IRModule((window,)), IRModule((everything, wide)), *map(parse, LISTINGS)]


@pytest.mark.parametrize("module", PROGRAMS)
def test_there_and_back(module, tvm):
    theirs = from_source(show(module, "tvm"))
    ours = parse(theirs.script())
    assert_structural_equal(ours, module)
    tvm.ir.assert_structural_equal(from_source(show(ours, "tvm")), theirs)


HEAD = """
@T.prim_func({0}s_tir=True)
def main(A: T.Buffer({1}, "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
"""


def stated(body: str, settings: str = "", shape: str = "(8,)") -> str:
    return HEAD.format(settings, shape) + textwrap.indent(textwrap.dedent(body), "    ")


def of_block(body: str) -> str:
    head = 'for i in range(8):\n    with T.sblock("B"):\n        vi = T.axis.spatial(8, i)\n'
    return stated(head + textwrap.indent(textwrap.dedent(body), 8 * " "))


TOLD = {  # what programs do not mean, and TVM tells them apart by
    "a name": of_block("x: T.let = A[vi]\nB[vi] = x + x"),
    "names in loops": of_block(
        """
        for j in range(1):
            x: T.let = A[vi]
            if vi > 3:
                y: T.let = A[vi + j]
                B[vi] = x + y
            else:
                z: T.let = x * x
                B[vi] = z
        """
    ),
    "a name outside of a block": stated(
        """
        for i in range(8):
            k: T.let = i + 1
            with T.sblock("B"):
                vi = T.axis.spatial(8, k - 1)
                B[vi] = A[vi]
        """
    ),
    "a name of the function": stated(
        """
        n: T.let = T.int32(4)
        for i in range(8):
            with T.sblock("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.Cast("float32", n)
        """
    ),
    "a name in the init": of_block(
        """
        with T.init():
            z: T.let = A[0]
            B[vi] = z
        y: T.let = A[vi]
        B[vi] = B[vi] + y
        """
    ),
    "names of values that change": of_block(
        "x: T.let = B[vi] + C[vi]\ny: T.let = C[vi] + A[vi]\nC[vi] = y\nB[vi] = x"
    ),
    "names of names": of_block(
        """
        x: T.let = A[vi]
        y: T.let = x
        B[vi] = y
        for j in range(2):
            z: T.let = x * T.Cast("float32", j)
            C[vi] = z
        """
    ),
    "a number of turns": of_block("n: T.let = 2\nfor j in range(n):\n    B[vi] = A[vi]"),
    "private": stated("B[0] = A[0]", settings="private=True, "),
    "two types of sizes": stated("B[0] = A[0, 0, 0]", shape="(8, T.int64(2), 1)"),
    "where an array lies": stated("B[0] = A[0]", shape="(8,)").replace(
        '"float32"), B', '"float32", align=16, offset_factor=4), B'
    ),
    "nothing of where it lies": stated("B[0] = A[0]").replace('"float32")', '"float32", align=-1)'),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_tvm_tells_apart_is_told(name: str, tvm):
    theirs = from_source(TOLD[name])
    ours = parse(theirs.script())
    tvm.ir.assert_structural_equal(from_source(show(ours, "tvm")), theirs)
    assert_structural_equal(parse(show(ours)), ours)
    assert_structural_equal(parse(show(ours, "tvm")), ours)
    assert ": T.let" not in show(ours)


def test_names_stay_as_long_as_what_they_name(tvm):
    """A step around a block keeps them, one that makes the block anew writes the values."""
    from tvm.s_tir import Schedule

    theirs = Schedule(from_source(TOLD["a name"]))
    ours = wb.Schedule(parse(TOLD["a name"]))
    theirs.split(theirs.get_loops(theirs.get_sblock("B"))[0], [None, 4])
    ours.split("i", [None, 4])
    tvm.ir.assert_structural_equal(from_source(ours.func.script("tvm")), theirs.mod["main"])
    ours.cache_read("B", 0, "shared")
    assert ": T.let" not in ours.func.script("tvm")


def test_a_name_that_nobody_uses_is_not_kept_from_before_a_step(tvm):
    """Its value would be told by a loop that there is no more."""
    told = """
    for i in range(8):
        k: T.let = i + 1
        with T.sblock("B"):
            vi = T.axis.spatial(8, 0)
            B[0] = A[0]
    """
    ours = wb.Schedule(parse(from_source(stated(told)).script()))
    ours.split("i", [None, 4])
    from_source(ours.func.script("tvm"))


def test_a_function_of_several_values_names_them_as_tvm_does(tvm):
    from tvm import te, topi

    made = []
    for room, operators in ((te, topi), (wb.te, wb_topi)):
        A = room.placeholder((6, 10), name="A")
        made.append(room.create_prim_func([A, operators.argmax(A, axis=1)]))
    theirs = made[0].with_attr("global_symbol", "main")
    tvm.ir.assert_structural_equal(from_source(show(made[1], "tvm")), theirs)


@pytest.mark.fuzz
def test_random_programs_are_read_as_tvm_prints_them():
    told = [one(seed, run=False) for seed in seeds()]
    assert {outcome for outcome, _ in told} <= {"read", "not taken by TVM"}, told
    assert sum(outcome == "read" for outcome, _ in told) >= CASES * 0.75, told


@pytest.mark.fuzz
def test_random_programs_compute_what_tvm_computes():
    """But seed 16: it overflows, which TVM's compiler leaves undefined."""
    told = [one(seed, run=True) for seed in seeds()[::4] if seed != 16]
    assert not [text for outcome, text in told if outcome in ("differs", "refused", "failed")]
    assert sum(outcome == "read" for outcome, _ in told) >= CASES // 8


@pytest.mark.parametrize("module", [p for p in PROGRAMS if p.functions[0] is not everything])
def test_the_texts_differ_in_their_dialect_only(module):
    """Loop headers, iterators, regions and stores are written letter for letter as TVM does."""
    ours = show(module, "tvm")
    theirs = from_source(ours).script().replace("# from tvm.tirx.layout import Axis\n", "")
    theirs = theirs.replace("T.float32(0.0)", "T.float32(0)").replace("vi:vi + 3", "vi : vi + 3")
    assert ours.split() == theirs.split()
