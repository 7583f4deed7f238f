"""The MLC course's own listings read in, print in today's form, and infer the same regions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workbench.ir import IRModule, assert_structural_equal, verify
from workbench.script import T, ir_module, parse, show

LISTINGS = {path.stem: path.read_text() for path in (Path(__file__).parent / "listings").iterdir()}

# How the course's older text differs from today's, in the order of application.
_TODAY = [
    (r"@tvm\.script\.ir_module", "@ir_module"),
    (r" -> None:", ":"),
    (r"\n *# (function attr dict|body)", ""),
    (r'# with T\.block\("root"\)', '# with T.block("root"):'),
    (r'"global_symbol": "main", ', ""),
    (r'T\.Buffer\[\((\d+), (\d+)\), "float32"\]', r'T.Buffer((\1, \2), "float32")'),
    (r'T\.Buffer\[(\d+), "float32"\]', r'T.Buffer((\1,), "float32")'),
    (r'alloc_buffer\(\[(\d+)\], dtype="float32", ', r"alloc_buffer((\1,), "),
    (r'alloc_buffer\(\[(\d+), (\d+)\], dtype="float32", ', r"alloc_buffer((\1, \2), "),
    (r"T\.serial\((\d+)\)", r"range(\1)"),
]


def modern(text: str) -> str:
    for old, new in _TODAY:
        text = re.sub(old, new, text)
    return text.rstrip("\n")


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_prints_as_it_stands_in_todays_form(name):
    module = parse(LISTINGS[name])
    verify(module)
    assert show(module) == modern(LISTINGS[name])


@pytest.mark.parametrize("name", LISTINGS)
def test_inferred_regions_are_those_of_the_listing(name):
    silent = re.sub(r"\n *T\.(reads|writes)\(.*\)(?=\n)", "", LISTINGS[name])
    assert "T.reads" not in silent and "T.writes" not in silent
    assert_structural_equal(parse(silent), parse(LISTINGS[name]))


# Annotations are read from the text: this file defers them, `own_annotations.py` does not.
@ir_module
class MyModuleVecAdd:
    @T.prim_func
    def main(
        A: T.Buffer[(1024,), "float32"],
        B: T.Buffer[(1024,), "float32"],
        C: T.Buffer[(1024,), "float32"],
    ) -> None:
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i in T.grid(1024):
            with T.block("C"):
                vi = T.axis.remap("S", [i])
                C[vi] = A[vi] + B[vi]  # fmt: skip


@ir_module
class MyModuleWindowSum:
    @T.prim_func
    def main(A: T.Buffer[(1027,), "float32"], B: T.Buffer[(1024,), "float32"]) -> None:
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i in T.grid(1024):
            with T.block("C"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] + A[vi + 1] + A[vi + 2]  # fmt: skip


VECTOR_ADD = """\
@ir_module
class Module:
    @T.prim_func
    def main({params}):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        for i in range(1024):
            with T.block("C"):
                vi = T.axis.spatial(1024, i)
                T.reads(A[vi], B[vi])
                T.writes(C[vi])
                C[vi] = A[vi] + B[vi]""".replace(
    "{params}", ", ".join(f'{name}: T.Buffer((1024,), "float32")' for name in "ABC")
)

WINDOW_SUM = """\
@ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        for i in range(1024):
            with T.block("C"):
                vi = T.axis.spatial(1024, i)
                T.reads(A[vi : vi + 3])
                T.writes(B[vi])
                B[vi] = A[vi] + A[vi + 1] + A[vi + 2]"""


def test_the_courses_two_programs():
    assert isinstance(MyModuleVecAdd, IRModule)
    assert MyModuleVecAdd.script() == VECTOR_ADD
    assert MyModuleWindowSum.script() == WINDOW_SUM
