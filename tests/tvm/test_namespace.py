"""The names of TVM's that are here do what they say, and those that are not say so."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.support.cpu_programs import add_on_cores
from tests.support.seeds import run_cell
from workbench import te, tvm
from workbench.runtime import DeviceReport, launching
from workbench.script import parse
from workbench.tvm import NotCarried
from workbench.tvm.not_carried import LEFT_OUT
from workbench.tvm.runtime.devices import Device
from workbench.tvm.script import ir as I
from workbench.tvm.script import relax as R
from workbench.tvm.script import tir as T
from workbench.tvm.script import tirx

ROOM = Path(tvm.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "tvm-lessons.md"
MODULES = [
    "workbench."
    + ".".join(path.relative_to(ROOM.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(ROOM.rglob("*.py"))
    if "refusing(__name__)" in path.read_text()
]


def test_a_buffer_is_declared_as_in_tvm():
    for room in (tvm.tir, tvm.tirx):
        A = room.decl_buffer((8, 4), "float16", name="A", scope="shared.dyn", strides=[5, 1])
        assert (A.shape, A.dtype, A.storage_scope, A.strides) == (
            (8, 4),
            "float16",
            "shared.dyn",
            (5, 1),
        )
        assert room.decl_buffer((te.var("n"),), data_alignment=32).align == 32
    for wrong, said in (
        ({"data": A}, "memory of its own"),
        ({"scope": "nowhere"}, "there is no memory"),
        ({"dtype": "int4"}, "no type of numbers"),
        ({"strides": [te.var("s")]}, "strides are numbers"),
        ({"strides": [0]}, "share a place"),
    ):
        with pytest.raises(ValueError, match=said):
            tvm.tir.decl_buffer((8,), **wrong)


@I.ir_module
class Doubled:
    @T.prim_func
    def main(A: T.Buffer((1000,), "float32"), B: T.Buffer((1000,), "float32")):
        for i in range(1000):
            with T.block("B"):
                vi = T.axis.spatial(1000, i)
                B[vi] = A[vi] * T.float32(2)


@I.ir_module
class Added:
    @T.prim_func
    def main(
        A: T.Buffer((1024,), "float32"),
        B: T.Buffer((1024,), "float32"),
        C: T.Buffer((1024,), "float32"),
    ):
        for i in range(1024):
            with T.block("C"):
                vi = T.axis.spatial(1024, i)
                C[vi] = A[vi] + B[vi]


@I.ir_module
class WindowSum:
    @T.prim_func
    def main(A: T.Buffer((1027,), "float32"), B: T.Buffer((1024,), "float32")):
        for i in range(1024):
            with T.block("B"):
                vi = T.axis.spatial(1024, i)
                B[vi] = A[vi] + A[vi + 1] + A[vi + 2]


def scheduled() -> wb.Schedule:
    sch = tvm.s_tir.Schedule(Doubled)
    i_0, i_1 = sch.split(sch.get_loops(sch.get_sblock("B"))[0], [None, 100])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    return sch


def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)  # where it writes a file
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, re.M | re.S)
    scope: dict[str, Any] = {"__name__": "page"}
    code = [block for kind, block in blocks if kind == "python"]
    printed = [run_cell(block, f"<page, block {k}>", scope) for k, block in enumerate(code)]
    assert "".join(printed) == "".join(block for kind, block in blocks if kind == "text")
    assert len(code) == 3


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_there(module: str):
    there = sys.modules[module]
    assert all(hasattr(there, name) for name in there.__all__)
    assert not hasattr(there, "no_such_name") and not hasattr(there, "__no_such_name__")


def test_both_spellings_are_one():
    assert tvm.tir.Schedule is tvm.s_tir.Schedule is wb.Schedule
    assert tirx is T is wb.T and tvm.tirx.if_then_else is tvm.tir.if_then_else
    assert tvm.script.ir_module is I.ir_module and tvm.ir.module.IRModule is tvm.IRModule
    assert tvm.runtime.tensor is tvm.nd.array and isinstance(Doubled, tvm.IRModule)
    assert tvm.script.from_source is parse


def test_a_module_is_made_of_functions_by_name(no_gpu: DeviceReport):
    mod = tvm.IRModule({"main": Added["main"], "doubled": Doubled["main"]})
    assert [func.name for func in mod.functions] == ["main", "doubled"]
    assert parse(mod.script())["doubled"].params[0].name == "A"
    a = te.placeholder((8,), name="A")
    one = tvm.IRModule({"main": te.create_prim_func([a, a * 2.0])})
    assert tvm.tir.Schedule(one).get_block("T_multiply")
    tvm.ir.assert_structural_equal(one, tvm.IRModule((one["main"],)))


def test_a_module_is_called_by_its_functions_names(no_gpu: DeviceReport):
    given = np.arange(1000, dtype="float32")
    for made in (
        tvm.build(scheduled().mod, target="cuda"),
        tvm.build(scheduled(), "nvidia/tesla-t4"),
        tvm.compile(scheduled().mod, tvm.target.Target("cuda -arch=sm_80")),
    ):
        dev = tvm.device("cuda:0")
        a, b = tvm.nd.array(given, dev), tvm.runtime.empty((1000,), "float32", dev)
        made(a, b)
        tvm.testing.assert_allclose(b.numpy(), given * 2)
        b.copyfrom(np.zeros(1000))
        made["main"](a, b)
        assert np.array_equal(b.asnumpy(), given * 2)
        source = made.imported_modules[0].get_source()
        assert "__global__" in source and made.mod.imports[0].inspect_source() == source


def test_a_time_without_a_gpu_says_once_what_it_is(
    no_gpu: DeviceReport, capsys: pytest.CaptureFixture[str]
):
    made = tvm.build(scheduled().mod, target="cuda")
    a, b = tvm.nd.array(np.ones(1000, "float32")), tvm.nd.empty((1000,))
    evaluator = made.time_evaluator(made.entry_name, tvm.cuda(0), number=10, repeat=3)
    result = evaluator(a, b)
    assert result.mean == result.median == result.min == result.max == 8000 / 4.8e12
    assert result.std == 0 and (b.numpy() == 2).all()
    said = (
        "main ran on the emulator: no NVIDIA driver is installed here. No time was recorded for "
        "it; the time here is modelled, the least that the data sheet of NVIDIA H200 SXM allows."
    )
    assert capsys.readouterr().out == said + "\n"
    assert str(evaluator(a, b)) == f"mean 0.0000 ms, of 1: {said}"
    assert capsys.readouterr().out == ""
    on_a_t4 = tvm.build(scheduled(), "nvidia/tesla-t4").time_evaluator("main", tvm.cuda(0))
    assert on_a_t4(a, b).mean == 8000 / 320e9
    by_opencl = tvm.build(scheduled(), "opencl").time_evaluator("main", tvm.opencl(0))
    assert by_opencl(a, b).mean == result.mean


def test_a_recorded_time_is_used(no_gpu: DeviceReport, capsys: pytest.CaptureFixture[str]):
    sch = tvm.tir.Schedule(Added)
    i_0, i_1 = sch.split("i", factors=[None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    a, b, c = (tvm.nd.array(np.full(1024, n, "float32")) for n in (1, 2, 0))
    result = tvm.build(sch, target="cuda").time_evaluator("main", tvm.cuda(0))(a, b, c)
    known = wb.runtime.recorded.times(sch.func)[0]
    assert result.results == known.samples and 1e-6 < result.mean < 2e-6
    assert (c.numpy() == 3).all()
    assert capsys.readouterr().out == (
        "main ran on the emulator: no NVIDIA driver is installed here. The time here was recorded "
        f"on NVIDIA H200, {known.date}.\n"
    )


def test_a_gpu_measures(monkeypatch: pytest.MonkeyPatch):
    made = tvm.build(scheduled(), target="cuda")
    calls: list[object] = []
    found: Any = SimpleNamespace(arch="sm_90")
    gpu = DeviceReport("a GPU", "it is there", gpu=found)
    monkeypatch.setattr("workbench.runtime.built.device", lambda: gpu)
    monkeypatch.setattr(launching, "run", lambda *args: calls.append("run"))
    timing = wb.runtime.Timing(samples=(1e-6, 3e-6), device="a GPU", how="", clocks="", date="")
    monkeypatch.setattr(
        launching, "timed", lambda b, a, flush, *rest: calls.append(flush) or timing
    )
    a = tvm.nd.empty((1000,))
    result = made.time_evaluator("main", tvm.cuda(0), cache_flush_bytes=1)(a, a)
    assert calls == ["run", True] and result.mean == 2e-6 and result.std == pytest.approx(1e-6)


def test_a_module_of_two_functions(no_gpu: DeviceReport):
    one, two = (
        wb.ir.PrimFunc(name, f.params, f.body, f.attrs)
        for name, f in (("one", scheduled().func), ("two", scheduled().func))
    )
    made = tvm.build(wb.ir.IRModule((one, two)), target="cuda")
    assert made.entry_name == "one"
    with pytest.raises(NotCarried) as error:
        made["main"]
    assert str(error.value) == (
        "Can't find 'main' in what was built.\n"
        "asked: rt_mod['main']\n"
        "do:    its functions: one, two"
    )


def test_a_warning_names_the_line_that_builds():
    sch = tvm.tir.Schedule(WindowSum)
    i_0, i_1 = sch.split("i", [None, 128])
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    sch.compute_at(sch.cache_read("B", 0, "shared"), i_1)  # each thread copies the whole tile
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tvm.build(sch, target="cuda")
        tvm.compile(sch, "cuda")
    assert [warning.filename for warning in found] == [__file__] * 2


def test_devices():
    assert str(tvm.cuda(0)) == "cuda(0)" and tvm.device("gpu", 0) == tvm.cuda()
    assert tvm.cpu(0).exist
    for away in (tvm.metal(), tvm.opencl()):
        assert not away.exist and away.compute_version is None and away.device_name is None
    tvm.cuda(0).sync()
    with pytest.raises(NotCarried) as error:
        tvm.cuda(1)
    assert str(error.value) == (
        "Can't use cuda(1): kernels run on one GPU here, or on the emulator.\n"
        "asked: tvm.device('cuda', 1)\n"
        "do:    wb.device() says which; the devices are tvm.cuda(0), tvm.metal(0), tvm.opencl(0) "
        "and tvm.cpu(0)"
    )


def test_a_device_that_is_there(monkeypatch: pytest.MonkeyPatch):
    gpu = wb.runtime.job.Gpu(
        name="NVIDIA H200", arch="sm_90", cupy="13", driver="", memory_bytes=1, free_bytes=1, busy=0
    )
    report = DeviceReport("NVIDIA H200", "it is there", gpu=gpu)
    monkeypatch.setattr("workbench.runtime.device", lambda: report)
    assert (Device("cuda").compute_version, Device("cuda").device_name) == ("9.0", "NVIDIA H200")
    assert Device("cpu").device_name is None


def test_arrays():
    a = tvm.nd.array(np.arange(6, dtype="int32").reshape(2, 3).T, tvm.cuda(0))
    assert (a.shape, a.dtype, a.host.flags.c_contiguous) == ((3, 2), "int32", True)
    assert repr(a).startswith("<Tensor shape=(3, 2), cuda(0)>\narray([[0, 3],")
    b = a.copyto(tvm.nd.empty((3, 2), "int32"))
    assert np.array_equal(b.numpy(), a.numpy()) and str(b) == str(a.numpy())
    assert tvm.nd.empty(4, "bfloat16").dtype == "float32"  # as bfloat16 lies in NumPy's arrays
    with pytest.raises(ValueError, match=r"shape \(4,\) does not fit into \(3, 2\)"):
        a.copyfrom(np.zeros(4))
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose(np.zeros(3), 0.0)
    assert (a.copyto(tvm.cpu()).numpy() == a.numpy()).all()


def test_a_name_that_is_left_out_is_refused_on_use():
    for use in (lambda: R.function, lambda: R(), lambda: R[0]):
        with pytest.raises(NotCarried):
            use()
    with pytest.raises(NotCarried) as error:
        tvm.relax.Function
    assert str(error.value) == (
        "Can't use tvm.relax.Function: tvm.relax is TVM's, and is not in the workbench.\n"
        "asked: tvm.relax.Function\n"
        "found: it is for whole models; here the program of one operator is made fast\n"
        "do:    write the operator with T.prim_func, te or topi, and schedule it, as lesson 1 does"
    )
    assert repr(tvm.autotvm) == "<tvm.autotvm, which is not in the workbench>"
    assert not hasattr(tvm.relax, "__wrapped__")
    made = tvm.build(scheduled(), target="cuda")
    with pytest.raises(NotCarried, match=r"^Can't use tvm.runtime.Module.export_library: "):
        made.export_library("lib.so")
    with pytest.raises(NotCarried, match=r"is it tvm\.runtime\.Module\.time_evaluator\?"):
        made.time_evaluater
    assert not hasattr(made, "_repr_html_")


@pytest.mark.parametrize("name", ["tvm.relax", "tvm.script.relax", "tvm.relay"])
def test_what_is_left_out_is_imported_as_a_module_too(name: str):
    program = (
        f"import workbench.{name}\n"
        f"import workbench.{name} as module\n"
        f"from workbench.{name.rpartition('.')[0]} import {name.rpartition('.')[2]} as other\n"
        f"print(module is workbench.{name} is other, module)\n"
        "module.Function\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == f"True <{name}, which is not in the workbench>\n"
    assert f"NotCarried: Can't use {name}.Function: " in ran.stderr


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_has_a_short_headline(name: str):
    module = sys.modules.get(f"workbench.{name.rpartition('.')[0]}")
    if module:
        placeholder = getattr(module, name.rpartition(".")[2])
        with pytest.raises(NotCarried) as error:
            placeholder()
        assert len(error.value.headline) <= 120 and error.value.detail and error.value.hint


def test_an_unknown_name_names_a_near_one():
    with pytest.raises(NotCarried) as error:
        tvm.tir.Shedule
    assert str(error.value) == (
        "Can't use tvm.tir.Shedule: tvm.tir has nothing of that name in the workbench.\n"
        "asked: tvm.tir.Shedule\n"
        "do:    is it tvm.tir.Schedule?"
    )
    with pytest.raises(
        NotCarried, match=r"it has Schedule, ScheduleError, meta_schedule, schedule$"
    ):
        tvm.s_tir.xyz


@pytest.mark.parametrize("target", [None, "llvm", "c", "llvm -mcpu=znver4 -num-cores 2"])
def test_without_a_target_it_is_built_for_the_cpu(target: str | None, cc: None):
    module = tvm.build(add_on_cores(), target=target) if target else tvm.build(add_on_cores())
    assert module.built["main"].target.name == "c"
    a, b = tvm.nd.array(np.arange(1024, dtype="float32")), tvm.nd.array(np.ones(1024, "float32"))
    c = tvm.nd.empty((1024,))
    module["main"](a, b, c)
    assert (c.numpy() == a.numpy() + 1).all()
    taken = module.time_evaluator("main", tvm.cpu(), number=3)(a, b, c)
    assert taken.mean > 0 and " measured on " in taken.how


def test_targets_by_name():
    assert tvm.target.cuda().name == "cuda" and tvm.target.metal().kind == "metal"
    assert tvm.target.Target("opencl -device=mali").kind == "opencl"


def test_names_that_lessons_use_of_functions_and_modules(capsys: pytest.CaptureFixture[str]):
    func = add_on_cores()
    named = func.with_attr("global_symbol", "plus").with_attr({"note": 1, "tir.noalias": True})
    assert named.name == "plus" and dict(named.attrs) == {"note": 1, "tir.noalias": True}
    assert dict(named.with_attr("note", 2).attrs)["note"] == 2 and func.name == "main"
    mod = tvm.IRModule.from_expr(named)
    assert mod[mod.get_global_var("plus")] is named
    with pytest.raises(ValueError, match="no function 'times'"):
        mod.get_global_var("times")
    mod.show(black_format=False)
    named.show(black_format=False)
    sch = tvm.tir.Schedule(func)
    sch.split("i_0", factors=[None, 2])
    sch.trace.show()
    shown = capsys.readouterr().out
    assert shown.count("def plus(") == 2 and shown.endswith(f"{sch.trace}\n")


def test_builds_by_todays_names(cc: None):
    built = tvm.tirx.build(tvm.IRModule({"main": add_on_cores()}), target="llvm")
    assert built["main"] is not None and tvm.tir.build is tvm.tirx.build
    assert tvm.target.Target({"kind": "cuda", "arch": "sm_80"}).name == "cuda"
    assert tvm.target.Target({"tag": "nvidia/nvidia-a100"}).name == "nvidia/a100"


def test_a_shape_may_be_a_whole_quotient():
    a = te.placeholder((64,), name="A")
    made = te.compute((64 / 16, 16), lambda i, j: a[i * 16 + j] * 2.0, name="B")
    assert made.shape == (4, 16)
    with pytest.raises(TypeError, match=r"a shape takes whole numbers, not 4\.5"):
        te.compute((4.5,), lambda i: a[i], name="B")


def test_of_a_large_program_four_blocks_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    func = te.create_prim_func(_doubled())
    sch = tvm.tir.Schedule(func)
    block, thread = sch.split("i", [None, 32])
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    built = tvm.build(sch.mod, target="cuda")
    monkeypatch.setattr("workbench.tvm.runtime.modules.PATIENCE", 1)
    a, b = np.arange(1024, dtype="float32"), np.full(1024, -1, "float32")
    for _ in range(2):
        built["main"](a, b)
    ran = (b == 2 * a).reshape(-1, 32).all(axis=1)
    assert ran.sum() == 4 and ran[0] and ran[-1] and (b.reshape(-1, 32)[~ran] == -1).all()
    assert capsys.readouterr().out == (
        "main is large for the emulator: 4 of its 32 blocks ran, and what the others write is as "
        'it was. For all of them: rt_mod.built["main"].emulate(…), with an array for each '
        "parameter.\n"
    )
    assert built.time_evaluator("main", tvm.cuda(0))(a, b).mean > 0


def _doubled() -> list[te.Tensor]:
    a = te.placeholder((1024,), name="A")
    return [a, te.compute((1024,), lambda i: a[i] * 2.0, name="B")]
