"""Histories as files for apache-tvm: what is written, what is refused, and that TVM runs it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from benchmarks.histories import histories
from tests.schedule import programs
from tests.support.every import EVERY
from tests.support.tvm_oracle import file_verdict
from tests.support.virtual_threads import convolution, strided_matmul, tutorial_steps
from workbench import script

TWO_AXES = ("vthread.y", "vthread.x")


WRITTEN = '''\
"""The steps of a schedule for apache-tvm 0.27; `module` is what TVM makes of them."""

import tvm
from tvm.s_tir import Schedule
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Program:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        # with T.sblock("root"):
        for i in range(8):
            with T.sblock("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] + T.float32(1)


@I.ir_module
class Scheduled:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        # with T.sblock("root"):
        for i_0 in T.thread_binding(2, thread="blockIdx.x"):
            for i_1 in T.thread_binding(4, thread="threadIdx.x"):
                with T.sblock("B"):
                    vi = T.axis.spatial(8, i_0 * 4 + i_1)
                    T.reads(A[vi])
                    T.writes(B[vi])
                    B[vi] = A[vi] + T.float32(1)


sch = Schedule(Program)
block_B = sch.get_sblock("B")
(i,) = sch.get_loops(block_B)
i_0, i_1 = sch.split(i, factors=[None, 4])
sch.bind(i_0, "blockIdx.x")
sch.bind(i_1, "threadIdx.x")

# Both with their index expressions shortened by TVM. An error here: TVM took a step in another
# way, and made another program than `Scheduled`.
short = tvm.tirx.transform.StmtSimplify()
tvm.ir.assert_structural_equal(short(sch.mod), short(Scheduled))
module = sch.mod
'''


def schedule(text: str) -> wb.Schedule:
    return wb.Schedule(script.parse(text))


def written(sch: wb.Schedule, folder: Path) -> str:
    path = folder / "steps.py"
    sch.to_tvm(path)
    return path.read_text()


def test_the_file_is_what_a_person_would_write(tmp_path: Path) -> None:
    sch = schedule(programs.VECTOR)
    i_0, i_1 = sch.split("i", factors=[None, 4])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    assert written(sch, tmp_path) == WRITTEN


def test_arguments_are_in_the_form_that_tvm_asks_for(tmp_path: Path) -> None:
    sch = schedule(programs.MATMUL)
    copy = sch.cache_read("C", "A", "shared")
    sch.storage_align(copy, "A_shared", axis=0, factor=32, offset=1)
    sch.transform_layout("C", ["read", 0], "lambda i, j: (i // 3, i % 3, j)", pad_value=0)
    sch.reindex_cache_read("C", "B", "local", "lambda i, j, k: (k, j)")
    text = written(sch, tmp_path)
    for line in (
        "sch.storage_align(A_shared, 0, axis=0, factor=32, offset=1)",
        "sch.transform_layout(block_C, buffer=('read', 0), "
        "index_map=lambda i, j: (i // 3, i % 3, j), pad_value=0.0)",
        'sch.reindex_cache_read(block_C, 1, "local", lambda i, j, k: (k, j))',
    ):
        assert f"\n{line}\n" in text


def test_a_function_of_another_name_is_turned_to(tmp_path: Path) -> None:
    sch = schedule(programs.VECTOR.replace("def main", "def add"))
    sch.split("i", factors=[None, 4])
    assert 'sch = Schedule(Program)\nsch.work_on("add")\n' in written(sch, tmp_path)


def refusal(sch: wb.Schedule, folder: Path) -> str:
    path = folder / "steps.py"
    with pytest.raises(wb.ScheduleError) as refused:
        sch.to_tvm(path)
    assert not path.exists()
    return str(refused.value)


def test_two_plain_virtual_axes_mean_another_thing_in_tvm(tmp_path: Path) -> None:
    sch = schedule(programs.MATMUL)
    sch.bind("i", "vthread")
    sch.bind("j", "vthread")
    assert refusal(sch, tmp_path) == (
        "Can't write this for TVM: `i` and `j` are both on vthread, one axis there.\n"
        "asked: sch.to_tvm(path)\n"
        "found: TVM would leave out the iterations in which they differ\n"
        "do:    bind them to vthread.x and vthread.y, which are two in TVM as well"
    )


def test_a_step_that_tvm_takes_otherwise_is_named(tmp_path: Path) -> None:
    sch = schedule(programs.VECTOR)
    sch.annotate("B", "note", 1)
    sch.loop_partition("i", factors=[3, None])
    assert refusal(sch, tmp_path) == (
        "Can't write this for TVM: step 2, loop_partition, makes another program there.\n"
        "asked: sch.to_tvm(path)\n"
        "found: TVM puts blocks around the parts that do not say what they read or write\n"
        "do:    write the steps ahead of it: sch.goto(1), then to_tvm"
    )


ALIKE = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi]
"""


def test_a_block_whose_name_others_have_is_not_found_in_tvm(tmp_path: Path) -> None:
    sch = schedule(ALIKE)
    sch.annotate(sch.get_blocks("B")[1], "note", 1)
    assert refusal(sch, tmp_path) == (
        "Can't write this for TVM: it finds a block by its name, and several are called `B`.\n"
        "asked: sch.to_tvm(path)\n"
        "do:    give each block a name of its own in the program, and take the steps again"
    )


def test_a_loop_without_a_block_is_not_found_in_tvm(tmp_path: Path) -> None:
    sch = schedule(programs.VECTOR.replace('with T.block("B"):', "if True:").replace(
        "vi = T.axis.spatial(8, i)\n            B[vi] = A[vi]", "B[i] = A[i]"))  # fmt: skip
    sch.unroll("i")
    assert refusal(sch, tmp_path) == (
        "Can't write this for TVM: it finds a loop by a block in it, and `i` holds none.\n"
        "asked: sch.to_tvm(path)\n"
        "do:    put a block around the statement: with T.block(…)"
    )


def test_what_is_there_is_as_it_was_where_the_file_can_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Can't"):
        schedule(programs.VECTOR).to_tvm(tmp_path)


@cache
def can_be_written() -> list[tuple[str, wb.Schedule]]:
    """The lessons' histories, but for two that are refused.

    A product that has two loops on plain vthread, and one with steps behind its calls of a warp.
    """
    refused = ("product in strided tiles", "exercise, copies ahead")
    return [(name, sch) for name, sch in histories() if not name.startswith(refused)]


@pytest.mark.tool
def test_every_file_is_python(tmp_path: Path) -> None:
    for _, sch in can_be_written():
        ast.parse(written(sch, tmp_path))


# --- in TVM ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tvm() -> Any:
    return pytest.importorskip("tvm", reason="needs apache-tvm: pip install '.[tvm]'")


@pytest.mark.tool
def test_tvm_makes_the_same_programs_of_the_lessons_histories(tvm: Any) -> None:
    compared = 0
    for name, sch in can_be_written():
        if name.endswith("one ahead"):  # TVM binds no loop around a sum that is started outside it
            continue
        ends = [node for node in sch.history if not node.children]
        for node in ends if EVERY else ends[-1:]:
            sch.goto(node)
            verbs = [step.verb for step in sch.trace]
            cut = name.startswith("blur") and "cache_read" in verbs  # "Turns that are cut off"
            found = file_verdict(sch)
            if name.startswith("exercise, tiles for warps"):  # "Windows stay where they are"
                assert "rhs_buffer_map_" in found, found
                continue
            assert found == ("written otherwise" if cut else ""), name
            compared += 1
    assert compared >= (20 if EVERY else 10)


@pytest.mark.tool
def test_tvm_makes_the_same_program_of_virtual_threads(tvm: Any) -> None:
    assert file_verdict(strided_matmul()) == ""
    assert file_verdict(tutorial_steps(convolution(64, 16, 64, 2), axes=TWO_AXES)) == ""


@pytest.mark.tool
def test_tvm_makes_the_same_module_of_several_functions(tvm: Any) -> None:
    sch = schedule(programs.MODULE)
    outer, _ = sch.split(sch.get_loops(sch.get_block("D", "second"))[0], factors=[2, 2])
    sch.work_on("first")
    sch.split(sch.get_loops("B")[0], factors=[2, 4])
    sch.unroll(outer)
    assert file_verdict(sch) == ""
    other = schedule(programs.VECTOR.replace("def main", "def add"))
    other.split("i", factors=[None, 4])
    assert file_verdict(other) == ""


def test_where_tvm_takes_a_step_otherwise_its_file_ends_in_an_error(tvm: Any) -> None:
    """TVM keeps the old value of a note."""
    sch = schedule(programs.VECTOR)
    sch.annotate("B", "note", 1)
    sch.annotate("B", "note", 2)
    assert file_verdict(sch) == "written otherwise"
