"""Kernels that are broken on purpose: the emulator finds each fault, and no GPU runs them."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from benchmarks.histories import window_sum
from tests.lower.test_pipelines import prefetching
from workbench import script, target
from workbench.diag import Fail, Refusal
from workbench.ir import Barrier, WaitGroup, walk
from workbench.lesson.checking import check_kernels
from workbench.lesson.programs import stages, staging
from workbench.lower import Fault, Lowered, faults, put_ahead, with_fault
from workbench.runtime import Built
from workbench.runtime.building import break_it, rebuild, with_kernels

CUDA = target.get("cuda")
AMPERE = target.get("nvidia/nvidia-a100")


def through_registers() -> Built:
    sch = prefetching(32)
    order = [0, 3, 1, 4, 2]
    sch.pipeline("k_0", [0, 0, 0, 0, 1], order, copies={"A_shared": 2, "B_shared": 2})
    return wb.build(sch)


def finding(built: Built) -> str:
    a, b = np.ones((32, 32), "float32"), np.ones((32, 32), "float32")
    try:
        built.emulate(a, b, np.zeros((32, 32), "float32"))
    except Fail as fail:
        return fail.headline.partition(":")[0]
    return ""


def count(lowered: Lowered, kind: type) -> int:
    return sum(isinstance(node, kind) for node in walk(lowered.kernels[0].body))


@pytest.mark.parametrize("number", [1, 2])
def test_each_barrier_is_missed(number: int):
    whole = through_registers()
    made = break_it(whole, Fault("barrier", number))
    assert count(made.lowered, Barrier) == count(whole.lowered, Barrier) - 1
    assert finding(made).startswith("Race on ") and not finding(whole)
    assert made.source.count("__syncthreads") == whole.source.count("__syncthreads") - 1


@pytest.mark.parametrize("name", ["A_shared", "B_shared"])
def test_a_second_copy_is_missed_where_the_barriers_are_those_of_two(name: str):
    whole = through_registers()
    made = break_it(whole, Fault("copy", buffer=name))
    cells = {b.name: b.shape[0] for b in whole.kernels[0].allocs}
    assert {b.name: b.shape[0] for b in made.kernels[0].allocs} == cells | {name: cells[name] // 2}
    assert finding(made) == f"Race on {name}[0]"


def test_a_program_that_has_it_is_the_same_after_as_before():
    whole = through_registers()
    before = script.show(whole.func), script.show(whole.kernels[0])
    made = break_it(whole, Fault("barrier"))
    assert (script.show(whole.func), script.show(whole.kernels[0])) == before
    assert not whole.lowered.fault and made.lowered.fault == "a barrier is missing"
    assert [step.name for step in made.lowered.history].index("with_fault") == [
        step.name for step in whole.lowered.history
    ].index("insert_barriers") + 1


def test_what_is_put_ahead_of_a_line_mends_it():
    made = break_it(through_registers(), Fault("barrier"))
    lines = script.show(made.kernels[0]).splitlines()
    line = next(k for k, text in enumerate(lines, 1) if "for k_1" in text)
    mended = put_ahead(made.lowered, line, Barrier())
    assert not finding(with_kernels(made, mended)) and mended.fault == made.lowered.fault
    assert script.show(mended.kernels[0]).splitlines()[line - 1].strip() == "T.barrier()"
    assert count(put_ahead(made.lowered, line, WaitGroup(0)), WaitGroup) == 1
    with pytest.raises(Refusal, match="Can't put anything ahead of line 2: no statement begins"):
        put_ahead(made.lowered, 2, Barrier())


@pytest.mark.parametrize(
    "fault", [Fault("barrier", 3), Fault("wait"), Fault("guard"), Fault("copy", buffer="C_local")]
)
def test_what_a_kernel_has_not_cannot_be_taken_away(fault: Fault):
    with pytest.raises(ValueError, match="has no "):
        with_fault(through_registers().lowered, fault, CUDA)
    with pytest.raises(Fail) as refused:
        break_it(through_registers(), fault)
    assert str(refused.value) == (
        f"Can't break main by {fault}: its kernel has no such thing.\n"
        "do:    there are: barrier 1 to 2, bound 1 to 15, stride 1 to 19, copy A_shared, "
        "copy B_shared"
    )


def test_of_several_kernels_one_is_named():
    built = wb.build(staging(stages(16, 16, (1, 2, 1), (1, 2, 1)), "whole"))
    with pytest.raises(ValueError, match="main has no kernel ''"):
        with_fault(built.lowered, Fault("stride", 1), CUDA)
    with pytest.raises(Fail) as refused:
        break_it(built, "stride 5 of main_kernel")
    assert str(refused.value) == (
        "Can't break main by stride 5 of main_kernel: its kernel has no such thing.\n"
        "do:    there are: stride 1 to 4 of main_kernel, stride 1 to 4 of main_kernel_1"
    )
    first, second = break_it(built, "stride 2 of main_kernel_1").kernels
    assert script.show(first) == script.show(built.kernels[0])
    assert script.show(second) != script.show(built.kernels[1])


def window() -> Built:
    """1000 sums in blocks of 128: fetches and sums stand under conditions."""
    sch = wb.Schedule(window_sum(1000))
    outer, inner = sch.split("i", factors=[None, 128])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, inner)
    _, lane = sch.split(sch.get_loops(copy)[-1], factors=[None, 128])
    sch.bind(lane, "threadIdx.x")
    return wb.build(sch)


@pytest.mark.parametrize(
    "fault, told",
    [
        ("barrier 1", "Race on A_shared[1]"),
        ("guard 1", "Can't read A[1003]"),
        ("guard 2", "Can't read A_shared[107]"),
        ("bound 1", ""),  # the conditions in it hold back the turn more
        ("stride 1", "Race on A_shared[127]"),
        ("stride 2", "B[126] is 6.0 and should be 12.0"),
        ("stride 3", "Race on B[127]"),
    ],
)
def test_each_thing_of_a_kernel_can_be_wrong(fault: str, told: str):
    """And what comes of it the emulator finds, or the values tell."""
    whole = window()
    made = break_it(whole, fault)
    try:
        found = check_kernels(made, whole.func)
    except Fail as fail:
        found = fail.headline
    assert told in found if told else not found
    assert fault in map(str, faults(whole.lowered))


def test_a_loop_takes_one_turn_more_and_a_condition_is_gone():
    loop = break_it(window(), "bound 1")
    assert "for ax0_0 in range(3):" in script.show(loop.kernels[0])
    assert loop.lowered.fault == "a loop takes one turn too many"
    bare = script.show(break_it(window(), "guard 2").kernels[0])
    assert bare.count("if ") == 1 and "\n    B[i_0 * 128 + i_1] = A_shared[i_1] +" in bare


def test_no_compiler_takes_its_text():
    assert break_it(window(), "guard 1").source.startswith("#error broken on purpose\n")
    assert "#error" not in window().source


def test_no_gpu_runs_one():
    """Not even after it was mended; nor is it taken for its program, which is right."""
    made = break_it(through_registers(), Fault("barrier"))
    a, b, c = (np.ones((32, 32), "float32") for _ in range(3))
    for act, what in (("run", made), ("time", made.time)):
        with pytest.raises(wb.DeviceError) as refused:
            what(a, b, c)
        assert str(refused.value) == (
            f"Can't {act} main: its kernel is broken on purpose.\n"
            "found: a barrier is missing: on a GPU it may hang, or give any numbers\n"
            "do:    kernel.emulate(...) shows what is wrong; mend it first."
        )
    for again in (wb.build, lambda built: wb.build(built, "metal"), lambda b: rebuild(b, "metal")):
        with pytest.raises(wb.ScheduleError) as told:
            again(made)
        assert str(told.value) == (
            "Can't build main: its kernel is broken on purpose, no GPU runs it.\n"
            "found: a barrier is missing\n"
            "do:    kernel.emulate(...) shows what is wrong; build the program, kernel.func"
        )
    wb.build(made.func)(a, b, np.zeros((32, 32), "float32"))


@pytest.mark.parametrize("number", [1, 2])
def test_a_wait_for_copies_is_missed(number: int):
    sch = wb.lesson.mending("three_kernels").kernels["third"]
    made = break_it(sch.whole, Fault("wait", number))
    arrays = [np.ones(b.shape, "float32") for b in made.func.params]
    with pytest.raises(wb.EmulationError, match="a copy into it is under way"):
        made.emulate(*arrays)
