"""What lessons for TVM 0.8 and before ask for: names that have moved, and notes that give way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import tvm
from workbench.runtime import Built, DeviceReport, Timing
from workbench.schedule import BlockHandle, LoopHandle, ScheduleError
from workbench.tvm import NotCarried, te
from workbench.tvm.s_tir.schedule import SBlockRV
from workbench.tvm.tir.schedule import BlockRV, LoopRV


def halved(n: int = 8) -> tuple[te.Tensor, te.Tensor]:
    """The arguments of B = A / 2."""
    a = te.placeholder((n,), name="A")
    return a, te.compute((n,), lambda i: a[i] * 0.5, name="B")


def test_the_names_of_te_once_stood_in_tvm(no_gpu: DeviceReport):
    a = tvm.placeholder((6, 4), name="A")
    k = tvm.reduce_axis((0, 4), name="k")
    b = tvm.compute((6,), lambda i: tvm.max(tvm.if_then_else(k < 3, a[i, k], -9.0), axis=k))
    mod = tvm.build(tvm.create_schedule(b.op), [a, b])
    x = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")
    got = tvm.nd.array(np.zeros(6, "float32"), ctx=tvm.context("llvm -mcpu=core-avx2", 0))
    mod(tvm.nd.array(x, ctx=tvm.cpu()), got)
    np.testing.assert_array_equal(got.asnumpy(), np.maximum(x[:, :3].max(1), -9))
    assert mod.time_evaluator(mod.entry_name, ctx=tvm.cpu())(tvm.nd.array(x), got).mean > 0
    with pytest.raises(NotCarried, match=r"Can't use tvm\.te\.hybrid"):
        tvm.hybrid()
    with pytest.raises(NotCarried, match=r"Can't use tvm\.module\.load"):
        tvm.module.load("add.tar")


def test_wrong_arrays_are_an_error_of_tvms(no_gpu: DeviceReport):
    a, b = halved()
    mod = tvm.build(te.create_schedule(b.op), [a, b])
    with pytest.raises(tvm.TVMError, match="`A` has shape"):
        mod(tvm.nd.array(np.ones(9, "float32")), tvm.nd.empty((8,), ctx=tvm.cpu()))


def test_what_a_device_and_a_target_say_of_themselves(no_gpu: DeviceReport):
    gpu, cpu = tvm.gpu(), tvm.cpu()
    assert (gpu.max_threads_per_block, gpu.warp_size) == (1024, 32)
    assert (gpu.max_shared_memory_per_block, gpu.max_thread_dimensions) == (49152, [1024, 1024, 64])
    assert gpu.multi_processor_count is cpu.warp_size is cpu.max_threads_per_block is None
    with tvm.target.create("cuda"):
        target = tvm.target.current_target(allow_none=False)
        assert (target.max_num_threads, target.thread_warp_size) == (1024, 32)


def test_a_program_is_shown_where_its_output_is_not_named(no_gpu: DeviceReport):
    a, b = halved()
    s = te.create_schedule(b.op)
    assert [p.name for p in tvm.lower(s, [a], simple_mode=True)["main"].params] == ["A", "B"]
    with pytest.raises(ScheduleError, match="Can't build without B"):
        tvm.build(s, [a])


def test_the_text_of_a_cpus_program_is_its_modules(no_gpu: DeviceReport):
    a, b = halved()
    mod = tvm.build(te.create_schedule(b.op), [a, b], "llvm")
    assert "0.5f" in mod.get_source() and mod.inspect_source() == mod.get_source()
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    with pytest.raises(NotCarried, match="get_source"):
        tvm.build(s, [a, b], "cuda").get_source()


def test_all_that_sums_nothing_is_inlined():
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((8,), lambda i: te.sum(b[i, k], axis=k), name="C")
    d = te.compute((8,), lambda i: c[i] - 1.0, name="D")
    s = te.create_schedule(d.op)
    te.schedule.AutoInlineInjective(s)
    assert [block.name for block in s.applied([a, d]).get_blocks()] == ["C_init", "C_update", "D"]
    kept = te.create_schedule(d.op)
    kept[b].parallel(b.op.axis[0])
    te.schedule.AutoInlineInjective(kept)
    assert "B" in [block.name for block in kept.applied([a, d]).get_blocks()]


def test_notes_on_a_loop_that_is_split_or_bound_give_way():
    a, b = halved(64)
    s = te.create_schedule(b.op)
    axis = b.op.axis[0]
    s[b].bind(axis, te.thread_axis("blockIdx.x"))
    block, thread = s[b].split(axis, factor=16)  # the bind is gone, as in TVM
    s[b].parallel(thread)
    s[b].bind(thread, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    s[b].vectorize(thread)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    steps = str(s.applied([a, b]).trace).splitlines()
    assert [step.split(". ")[1].split("(")[0] for step in steps] == ["split", "bind", "bind"]
    assert '"threadIdx.x"' in steps[1] and '"blockIdx.x"' in steps[2]


def test_a_bound_stage_can_still_be_written_through_a_copy(no_gpu: DeviceReport):
    a, b = halved(64)
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    inner = s.cache_write(b, "local")
    s[inner].compute_at(s[b], b.op.axis[0])
    x, y = np.arange(64, dtype="float32"), np.zeros(64, "float32")
    tvm.build(s, [a, b], "cuda")(x, y)
    np.testing.assert_array_equal(y, x / 2)
    moved = te.create_schedule(b.op)
    moved[b].split(b.op.axis[0], factor=8)
    with pytest.raises(ScheduleError, match="its loops are split already"):
        moved.cache_write(b, "local")


def test_what_makes_a_tensor_has_a_kind():
    a, b = halved()
    assert isinstance(a.op, te.PlaceholderOp) and isinstance(b.op, te.ComputeOp)
    assert type(a.op).__bases__ == type(b.op).__bases__ == (te.Operation,)
    assert b.op.axis[0].var.name == "i"


@pytest.mark.parametrize("reduce, lost", [(te.sum, 0.0), (te.max, -np.inf), (te.min, np.inf)])
def test_a_sum_takes_what_meets_a_condition(reduce: Any, lost: float, no_gpu: DeviceReport):
    a = te.placeholder((5, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    inside = te.all(k >= 2, k < 7)
    b = te.compute((5,), lambda i: reduce(a[i, k], axis=k, where=inside), name="B")
    x, y = np.random.default_rng(1).normal(size=(5, 9)).astype("float32"), np.zeros(5, "float32")
    tvm.build(te.create_schedule(b.op), [a, b])(x, y)
    kept = np.where((np.arange(9) >= 2) & (np.arange(9) < 7), x, lost)
    want = {te.sum: np.sum, te.max: np.max, te.min: np.min}[reduce](kept, axis=1)
    np.testing.assert_allclose(y, want, rtol=1e-5)


def test_what_a_schedule_hands_out_has_a_type():
    assert BlockRV is SBlockRV is BlockHandle and LoopRV is LoopHandle
    assert tvm.tir.schedule.Schedule is tvm.s_tir.schedule.Schedule is wb.Schedule
    a, b = halved()
    sch = tvm.tir.Schedule(te.create_prim_func([a, b]).with_attr("global_symbol", "half"))
    assert sch.get_block(name="B", func_name="main") == sch.get_block("B", "half")
    with pytest.raises(ScheduleError, match="the module has no function 'other'"):
        sch.get_block("B", func_name="other")


def test_what_a_left_out_name_holds_can_be_imported():
    from workbench.tvm.autotvm.tuner import XGBTuner
    from workbench.tvm.relax.frontend import nn

    from workbench.tvm.ir.transform import PassContext

    assert PassContext is tvm.transform.PassContext
    with pytest.raises(NotCarried, match=r"Can't use tvm\.autotvm\.tuner\.XGBTuner"):
        XGBTuner(print)
    with pytest.raises(NotCarried, match=r"Can't use tvm\.relax\.frontend\.nn\.Module"):

        class Model(nn.Module):
            """A model, which is out of scope."""

    with pytest.raises(ImportError):
        from workbench.tvm.te import no_such_name  # noqa: F401


def test_what_programs_can_be_built_for():
    assert all(map(tvm.runtime.enabled, ("cuda", "llvm -mcpu=core-avx2", "opencl", "metal", "c")))
    assert not tvm.runtime.enabled("vulkan") and not tvm.runtime.enabled("")


def test_small_loops_are_unrolled_as_build_config_asks():
    a, b = halved(64)
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor=4)
    with tvm.build_config(auto_unroll_max_step=4, unroll_explicit=False):
        assert "for i_1 in T.unroll(4)" in tvm.lower(s, [a, b]).script()
    assert "T.unroll" not in tvm.lower(s, [a, b]).script()


def test_a_cpu_has_the_time_that_a_lesson_cannot_ask_for(cc: None, monkeypatch: pytest.MonkeyPatch):
    """A product of 2048 in its naive order takes more than the 20 s of a kernel's call."""
    a, b = halved()
    mod = tvm.build(te.create_schedule(b.op), [a, b], "llvm")
    x, y = np.ones(8, "float32"), np.zeros(8, "float32")
    asked = []
    once, timed = Built.__call__, Built.time

    def call(self: Built, *arrays: Any, seconds: float = 0) -> None:
        asked.append(seconds)
        once(self, *arrays, seconds=seconds)

    def time(self: Built, *arrays: Any, flush: bool = False, seconds: float = 0) -> Timing:
        asked.append(seconds)
        return timed(self, *arrays, flush=flush, seconds=seconds)

    monkeypatch.setattr(Built, "__call__", call)
    monkeypatch.setattr(Built, "time", time)
    assert mod.time_evaluator("main", tvm.cpu())(x, y).mean > 0
    assert asked == [600, 600]
    assert (y == 0.5).all()
