"""Names that lessons of TVM's use; where they make programs, held against TVM 0.27."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench import emulate, tvm
from workbench.script import parse
from workbench.tvm import NotCarried, te, topi

ADD = """@T.prim_func
def add(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(16):
        with T.block("B"):
            v = T.axis.spatial(16, i)
            B[v] = A[v] + T.float32(1)
"""


@pytest.fixture
def add() -> Any:
    return parse(ADD)


def test_attributes_and_the_name(add: Any):
    named = add.with_attr("global_symbol", "main").with_attr({"note": [1, {"x": 2}], "tir.a": True})
    assert named.name == "main" and "global_symbol" not in dict(named.attrs)
    assert 'T.func_attr({"tir.noalias": True, "note": [1, {"x": 2}], "tir.a": True})' in str(named)
    assert parse(named.script()).attrs == named.attrs
    assert named.without_attr("note").without_attr("tir.a").attrs == add.attrs
    with pytest.raises(TypeError, match=re.escape("an attribute holds plain data, not nan")):
        add.with_attr("note", float("nan"))
    with pytest.raises(TypeError, match="a function is called by a text, not 3"):
        add.with_attr("global_symbol", 3)


def test_a_module_is_put_together(add: Any):
    mod = tvm.IRModule.from_expr(add)
    assert mod["main"] is mod["add"] is mod[mod.get_global_var("add")] is add
    str(mod)
    mod["other"] = add
    mod.update_func(mod.get_global_var("add"), add)
    assert [var.name_hint for var in mod.get_global_vars()] == ["add", "other"]
    assert [(str(var), f.name) for var, f in mod.functions.items()] == [
        ("add", "add"),
        ("other", "other"),
    ]
    assert mod.functions_items() == mod.functions.items()
    assert mod.functions.values()[1].name == "other" and "def other" in mod.script()
    with pytest.raises(ValueError) as error:
        mod.get_global_var("no")
    assert str(error.value) == "the module has no function 'no'; it has: add, other"
    with pytest.raises(KeyError):
        mod["main"]  # of two, none is meant


def test_a_module_holds_programs_alone(add: Any):
    told = (
        "a module holds programs, and {} is none: pass a function made with @T.prim_func, or the "
        ".func of a schedule or of what was built"
    )
    for given in (wb.build(add, "c"), tvm.build(add, target="c"), wb.Schedule(add), 3, None):
        sentence = re.escape(told.format(type(given).__name__))
        for call in (lambda x: tvm.IRModule({"main": x}), tvm.IRModule.from_expr):
            with pytest.raises(TypeError, match=sentence):
                call(given)
        mod = tvm.IRModule.from_expr(add)
        with pytest.raises(TypeError, match=sentence):
            mod["other"] = given
        assert [f.name for f in mod.functions] == ["add"]
    assert tvm.IRModule({"main": wb.build(add, "c").func})["main"].name == "main"


def test_a_module_that_changes_changes_no_history(add: Any):
    mod = tvm.IRModule.from_expr(add)
    sch = tvm.tir.Schedule(mod)
    mod["add"] = add.with_attr("note", 1)
    sch.mod["other"] = add
    assert [f.name for f in sch.mod.functions] == ["add"] and dict(sch.func.attrs) == dict(
        add.attrs
    )
    assert tvm.tir.Schedule(add).mod["main"].name == "add"


def test_texts_are_shown_as_tvm_is_asked_to(add: Any, capsys: pytest.CaptureFixture[str]):
    add.show(black_format=False)
    tvm.IRModule.from_expr(add).show(style="light", black_format=True)
    sch = tvm.tir.Schedule(add)
    sch.split("i", [4, 4])
    sch.trace.show()
    assert capsys.readouterr().out.endswith("1. split(i, factors=[4, 4])\n")


def test_what_tvm_calls_noalias(add: Any):
    text = add.script("tvm")
    assert '    T.func_attr({"tirx.noalias": True})' in text.splitlines()
    assert parse(text).attrs == add.attrs == (("tir.noalias", True),)


def test_targets():
    made = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, host="llvm")
    assert made.name == "cuda" and made.attrs["max_num_threads"] == 1024
    assert tvm.target.Target({"tag": "nvidia/nvidia-a100"}).arch == "sm_80"
    assert tvm.target.Target.current() is None
    with made, tvm.target.Target("llvm") as inner:
        assert tvm.target.Target.current() is inner and inner.is_cpu
    with pytest.raises(ValueError) as error:
        tvm.target.Target.current(allow_none=False)
    expected = 'there is no target here: write it in with tvm.target.Target("cuda"):'
    assert str(error.value) == expected
    assert tvm.target.Target.from_device("cpu").is_cpu
    assert tvm.target.Target.from_device(tvm.metal()).kind == "metal"
    assert tvm.device("llvm") == tvm.device("c") == tvm.cpu()


def test_the_target_around_is_built_for(add: Any):
    sch = tvm.tir.Schedule(add)
    sch.bind("i", "threadIdx.x")
    with tvm.target.Target("cuda"):
        built = tvm.build(sch.mod)
    assert "__global__" in built.imported_modules[0].get_source()
    also = tvm.tirx.build(sch.mod, {"kind": "cuda"})
    assert also.imported_modules[0].get_source() == built.imported_modules[0].get_source()


def test_blockize_takes_the_loop_by_its_older_name(add: Any):
    one, other = tvm.tir.Schedule(add), tvm.tir.Schedule(add)
    for sch, given in ((one, "loop"), (other, "target")):
        sch.split("i", [4, 4])
        sch.blockize(**{given: "i_1"})
    assert str(one.trace) == str(other.trace)
    tvm.ir.assert_structural_equal(one.mod, other.mod)
    with pytest.raises(wb.ScheduleError) as error:
        other.blockize(target="i_0", loop="i_0")
    assert error.value.headline == "Can't blockize: it takes no argument `loop`."


def graphs(te: Any, topi: Any, const: Any) -> list[list[Any]]:
    a = te.placeholder((4, 8), name="a")
    k = te.reduce_axis((0, 8), "k")
    product = te.comm_reducer(lambda x, y: x * y, lambda t: const(1, dtype=t), name="product")
    return [
        [a, topi.elemwise_sum([a, a, a])],
        [a, te.compute((4,), lambda i: product(a[i, k], axis=k), name="B")],
        [a, te.compute((8 / 4, 2), lambda i, j: a[i * 2 + j, 3], name="B")],
    ]


def test_compute_expressions_as_tvm_makes_them():
    theirs = pytest.importorskip("tvm")
    from tvm import te as their_te
    from tvm import topi as their_topi

    ours = graphs(te, topi, te.const)
    for one, other in zip(ours, graphs(their_te, their_topi, theirs.tirx.const), strict=True):
        expected = parse(str(their_te.create_prim_func(other).script()))
        tvm.ir.assert_structural_equal(te.create_prim_func(one), expected)


def test_the_values_of_compute_expressions():
    a = np.arange(32, dtype="float32").reshape(4, 8) / 8
    expected = (a * 3, a.prod(axis=1), a[:, 3].reshape(2, 2))
    for args, right in zip(graphs(te, topi, te.const), expected, strict=True):
        out = np.empty(right.shape, "float32")
        emulate.evaluate(te.create_prim_func(args), [a, out])
        np.testing.assert_allclose(out, right, rtol=1e-6)


def test_a_shape_that_does_not_divide_is_refused():
    with pytest.raises(TypeError) as error:
        te.compute((10 / 4, 2), lambda i, j: i + j)
    assert str(error.value) == "a shape takes whole numbers, not 2.5"


def test_what_is_no_reduction_of_one_value():
    k = te.reduce_axis((0, 8), "k")
    product = te.comm_reducer(lambda x, y: x * y, lambda t: te.const(1, t), name="product")
    with pytest.raises(TypeError) as error:
        product((te.const(1.0, "float32"),), axis=k)
    assert str(error.value) == "product reduces one value, or a tuple of two or more"


@pytest.mark.parametrize("name", ["register_func", "register_global_func"])
def test_functions_of_the_host_are_refused_by_name(name: str):
    with pytest.raises(NotCarried, match=f"tvm.{name} is TVM's, and is not in the workbench"):
        getattr(tvm, name)("env.linear")


def test_what_a_schedule_and_a_function_hold(add: Any):
    sch = tvm.tir.Schedule(add)
    other = sch.copy()
    other.split("i", factors=[4, 4])
    loop, block = sch.get_loops("B")[0], sch.get_block("B")
    assert (sch.get(loop).extent.value, sch.get(loop).kind, sch.get(block).name_hint) == (
        16,
        "serial",
        "B",
    )
    assert other.get("i_1").loop_var.name == "i_1" and sch.mod["main"] is add
    assert [add.buffer_map[param].shape for param in add.params] == [(16,), (16,)]


def test_an_empty_module():
    mod = tvm.IRModule()
    assert mod.script() == "@ir_module\nclass Module:\n    pass" and wb.structural_equal(
        parse(mod.script()), mod
    )
    mod["add"] = parse(ADD)
    assert [var.name_hint for var in mod.get_global_vars()] == ["add"]


def test_values_are_converted():
    made = tvm.convert([3, 0.5, {"a": True}, "text"])
    assert [made[0].dtype, made[1].dtype, made[2]["a"].dtype, made[3]] == [
        "int32", "float32", "bool", "text",
    ]  # fmt: skip
    assert ("llvm", tvm.cpu()) in tvm.testing.enabled_targets()


def test_division_towards_zero():
    b = te.compute((2, 16), lambda k, i: te.if_then_else(
        k == 0, te.truncdiv(i - 8, 3), te.truncmod(i - 8, 3)), name="B")  # fmt: skip
    out, i = np.zeros((2, 16), "int32"), np.arange(-8, 8)
    emulate.evaluate(te.create_prim_func([b]), [out])
    np.testing.assert_equal(out, [np.trunc(i / 3), np.fmod(i, 3)])
    half = te.compute((8,), lambda i: te.truncdiv(i, 2), name="B")
    assert "B[v_i] = v_i // 2" in te.create_prim_func([half]).script()  # as none is below 0
    assert str(te.truncmod(te.const(1.5), te.const(1.0))) == str(te.fmod(1.5, 1.0))
    with pytest.raises(ZeroDivisionError):
        te.truncdiv(te.const(4), 0)
