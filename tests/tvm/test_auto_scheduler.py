"""The auto-scheduler's names: graphs, tasks, records, and winners as calls on stages."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES
from workbench import target, te, tuning
from workbench.lower.shared_memory import shared_bytes
from workbench.tvm import auto_scheduler, topi
from workbench.tvm import te as stages
from workbench.tvm.auto_scheduler.stages import NoStages, as_stages

H200, CUDA = target.get("nvidia/h200"), target.get("cuda")


@auto_scheduler.register_workload
def layer(channels, size=5):
    data = te.placeholder((1, channels, size, size), name="data")
    kernel = te.placeholder((32, channels, 3, 3), name="kernel")
    bias = te.placeholder((1, 32, 1, 1), name="bias")
    conv = topi.nn.conv2d_nchw(data, kernel, 1, 1, 1, "float32")
    return [data, kernel, bias, topi.nn.relu(conv + bias)]


@auto_scheduler.register_workload
def product(n):
    A, B = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    return [A, B, te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")]


@auto_scheduler.register_workload
def vector(n):
    a = te.placeholder((n,), name="a")
    return [a, te.compute((n,), lambda i: a[i] * 2.0, name="b")]


def test_a_graph_prints_as_in_tvm():
    x, y = te.placeholder((4, 8), name="x"), te.placeholder((8,), "int64", name="y")
    k = te.reduce_axis((0, 8), name="k")
    most = te.compute((4,), lambda i: te.max(x[i, (k + i) % 8], axis=k), name="most")
    odd = te.compute(
        (8,),
        lambda i: te.select(te.any(y[i] < 3, i // 2 != 1), te.exp(most[i % 4]), -0.5),
        name="odd",
    )
    assert str(auto_scheduler.ComputeDAG([x, y, odd])).split("\n") == [
        "y = PLACEHOLDER [8]",
        "x = PLACEHOLDER [4, 8]",
        "most(i) max= x[i, floormod((k + i), 8)]",
        "odd(i) = select(((y[i] < (int64)3) || (floordiv(i, 2) != 1)), "
        "tir.exp(most[floormod(i, 4)]), -0.5f)",
    ]


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")  # a space tries what wastes work, too
@pytest.mark.parametrize("made", [layer(8), layer(16, 7), product(32)])
def test_what_is_printed_is_the_schedule(made):
    """The calls, run on stages, make kernels that are launched and compute alike."""
    func, space, count = te.create_prim_func(made), tuning.ready(CUDA), 0
    rng = np.random.default_rng(0)
    arrays = [rng.random(buffer.shape, "float32") - 0.5 for buffer in func.params]
    for number in range(200):
        found = tuning.candidate(func, space, CUDA, (), Random(number))
        if found.kernel is None:
            continue
        dag = auto_scheduler.ComputeDAG(made)
        s = stages.create_schedule(made[-1].op)
        scope = {op.name: op.output(0) for op in dag.ops} | {"s": s, "te": stages}
        exec(as_stages(found.schedule, made), scope)
        kernels = found.kernel, wb.build(s.applied(made), CUDA)
        outputs = []
        for kernel in kernels:
            given = [array.copy() for array in arrays]
            kernel.emulate(*given)
            outputs.append(given[-1])
        np.testing.assert_allclose(*outputs, rtol=1e-4, atol=1e-5)
        (ours,), (theirs,) = (kernel.kernels for kernel in kernels)
        assert (ours.grid, ours.block) == (theirs.grid, theirs.block)
        assert shared_bytes(ours) == shared_bytes(theirs)
        count += 1
        if count == min(CASES, 20) // 5:
            return
    raise AssertionError("the space has too few candidates")


def test_a_workload_may_be_given_a_name():
    @auto_scheduler.register_workload("twice")
    def made(n):
        a = te.placeholder((n,), name="a")
        return [a, te.compute((n,), lambda i: a[i] * 2.0, name="b")]

    assert made(8)[1].name == "b"
    assert (
        auto_scheduler.SearchTask(func="twice", args=(8,), target="llvm").func.params[0].name == "a"
    )


def test_a_task_goes_on_with_its_record(tmp_path, capsys):
    record = str(tmp_path / "vector.json")
    task = auto_scheduler.SearchTask(func="vector", args=(256,), target="nvidia/h200")
    options = auto_scheduler.TuningOptions(
        num_measure_trials=2, measure_callbacks=[auto_scheduler.RecordToFile(record)]
    )
    task.tune(options)
    model = auto_scheduler.XGBModel()
    model.update_from_file(record)
    before = [auto_scheduler.PreloadMeasuredStates(record)]
    task.tune(options, auto_scheduler.SketchPolicy(task, model, init_search_callbacks=before))
    assert len(tuning.read(record).ended) == 4
    if not wb.device().is_gpu:
        told = capsys.readouterr().out
        assert told == "".join(f"{n} trials, modelled: {wb.device().why}\n" for n in (2, 4))
    best, tensors = task.apply_best(record)
    assert isinstance(best, wb.Schedule) and tensors is task.tensors
    assert "__global__" in task.print_best(record, print_mode="cuda")
    assert re.match(
        r"# It has no form in stages: split\(i, factors=\[None, \d+\]\) is no call on a stage "
        r"there\.\n# Its steps:\nsch = wb\.Schedule\(program\)\n",
        task.print_best(record),
    )
    with pytest.raises(ValueError, match='print_mode is "schedule" or "cuda", not \'ptx\''):
        task.print_best(record, "ptx")


def test_what_a_task_refuses(tmp_path):
    record = str(tmp_path / "other.json")
    with pytest.raises(tuning.TuneError) as found:
        auto_scheduler.SearchTask(func="nothing", args=())
    assert str(found.value) == (
        "Can't find the workload 'nothing': none of that name is registered.\n"
        "do:    write @auto_scheduler.register_workload above the function that makes it"
    )
    task = auto_scheduler.SearchTask(func=vector, args=(256,), target=H200)
    policy = auto_scheduler.SketchPolicy(
        task, init_search_callbacks=[auto_scheduler.PreloadMeasuredStates("old.json")]
    )
    with pytest.raises(tuning.TuneError) as found:
        task.tune(auto_scheduler.TuningOptions(1), policy)
    assert str(found.value) == (
        "Can't go on with old.json: what is tried is written elsewhere.\n"
        "do:    write it there: measure_callbacks=[RecordToFile('old.json')]"
    )
    wb.tune(te.create_prim_func(vector(64)), target=H200, trials=1, record=record)
    with pytest.raises(tuning.RecordError) as found:
        task.apply_best(record)
    assert str(found.value) == (
        "Can't apply other.json: it is of another program than this task's.\n"
        "do:    give the file that this task's search has written"
    )
    other = auto_scheduler.SearchTask(func=vector, args=(64,), target="nvidia/tesla-p100")
    with pytest.raises(tuning.RecordError) as found:
        other.apply_best(record)
    assert str(found.value) == (
        "Can't apply other.json: it is of another target than this task's.\n"
        "do:    give the file that this task's search has written"
    )


def test_a_record_without_a_correct_trial_has_no_best(tmp_path):
    task = auto_scheduler.SearchTask(func=vector, args=(256,), target=H200)
    record = tmp_path / "failed.json"
    wb.tune(task.func, target=H200, trials=1, record=record)
    lines = record.read_text().splitlines()
    lines[-1] = '{"trial": 0, "status": "timeout", "how": "measured", "times": [], "reason": ""}'
    record.write_text("\n".join((*lines, "")))
    with pytest.raises(tuning.TuneError) as found:
        task.apply_best(str(record))
    assert str(found.value) == (
        "Can't apply failed.json: none of its 1 trials is correct.\n"
        "do:    search on: task.tune(…), with more num_measure_trials"
    )


def test_a_sum_in_parts_has_no_form_in_stages():
    made = product(32)
    func, space = te.create_prim_func(made), tuning.ready(H200)
    drawn = (tuning.candidate(func, space, H200, (), Random(k)).schedule for k in range(200))
    parts = next(sch for sch in drawn if "rfactor" in repr(sch.trace))
    with pytest.raises(NoStages, match=r"^split\(k, factors=\[\d+, None\]\) is no call on a stage"):
        as_stages(parts, made)


def test_steps_that_are_no_calls_on_stages_say_which():
    sch = wb.Schedule(te.create_prim_func(product(32)))
    sch.split("k", factors=[None, 4])
    with pytest.raises(NoStages, match=r"^split\(k, factors=\[None, 4\]\) is no call on a stage"):
        as_stages(sch, product(32))
