"""Intrinsics as compute expressions have them: what is refused of a declaration and its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import workbench as wb
from tests.support.tensor_core_product import product, tensorize
from workbench import tvm
from workbench.diag import Fail
from workbench.intrin import tensor_intrin
from workbench.tvm import NotCarried, te


@pytest.fixture(autouse=True)
def none_registered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tensor_intrin, "_registered", {})


def loading(
    call: Callable[[Any, Any], Any],
    value: Callable[[Any], Any] = lambda x: x,
    strides: list[Any] | None = None,
    **given: Any,
) -> te.TensorIntrin:
    """An intrinsic that loads, declared with the call that `call` makes of its two buffers."""
    A = te.placeholder((16, 16), name="A", dtype="float16")
    C = te.compute((16, 16), lambda i, j: value(A[i, j]), name="C")
    kinds = {"scope": "shared", "strides": strides}, {"scope": "wmma.matrix_a"}
    BA, BC = (tvm.tir.decl_buffer(A.shape, A.dtype, **kind) for kind in kinds)
    return te.decl_tensor_intrin(
        C.op, lambda ins, outs: call(ins[0], outs[0]), binds={A: BA, C: BC, **given}
    )


def load(a: Any, c: Any, number: Any = None, rows: Any = 16, name: str = "") -> Any:
    number = c.elem_offset // 256 if number is None else number
    called, at = name or "tvm_load_matrix_sync", a.access_ptr("r")
    args = (c.data, 16, 16, 16, number, at, rows, "row_major")
    return tvm.tir.call_intrin("handle", f"tir.{called}", *args)


def test_what_is_declared_once_more_is_the_same():
    first = loading(load)
    assert (first.name, first.init) == ("loading", "")
    assert loading(load).name == "loading"
    strided = loading(lambda a, c: load(a, c, rows=a.strides[0]), strides=[te.var("s1"), 1])
    assert strided.name == "loading_1"
    ours = wb.TensorIntrin.get("wmma_load_16x16x16_f16_a_shared")
    made = wb.TensorIntrin.get("loading_1")
    assert made.impl.script().splitlines()[3:] == ours.impl.script().splitlines()[3:]


@pytest.mark.parametrize(
    ("call", "value", "said"),
    [
        (load, lambda x: x + x, "Can't register 'loading': its implementation does not do what "),
        (
            lambda a, c: load(a, c, number=c.elem_offset // 128),
            lambda x: x,
            "Can't declare loading: a fragment of C has another number than tvm_load_matrix_sync",
        ),
        (lambda a, c: load(a, c, rows=8), lambda x: x, "Can't read this call of a warp"),
        (lambda a, c: load(a, c, name="tvm_load"), lambda x: x, "Can't use `T.tvm_load` here"),
        (lambda a, c: None, lambda x: x, "Can't declare loading: its function returns no calls"),
    ],
)
def test_a_declaration_is_refused(call: Callable[..., Any], value: Callable[..., Any], said: str):
    with pytest.raises(Fail) as refused:
        loading(call, value)
    assert refused.value.headline.startswith(said) and refused.value.hint


def test_other_ways_to_build_statements_are_refused_by_name():
    ib = tvm.tir.ir_builder.create()
    with pytest.raises(NotCarried, match=r"Can't use tvm\.tir\.ir_builder\.IRBuilder\.for_range"):
        ib.for_range(0, 16)
    with pytest.raises(NotCarried) as refused:
        tvm.tir.call_extern("int32", "gemv_update", 16)
    assert str(refused.value) == (
        "Can't use tvm.tir.call_extern: tvm.tir.call_extern is TVM's, and is not in the workbench."
        "\nasked: tvm.tir.call_extern\n"
        "found: what it calls is code that is not in the program, and its meaning is taken on trust"
        "\ndo:    register what it does as a program: "
        "tvm.tir.TensorIntrin.register(name, desc, impl)"
    )
    with pytest.raises(TypeError, match=r"a statement is made by tvm\.tir\.call_intrin"):
        ib.emit(1)
    with pytest.raises(NotCarried, match=r"Can't call tir\.exp as a value of type float32"):
        tvm.tir.call_intrin("float32", "tir.exp", 1.0)
    A = te.placeholder((4,), name="A")
    with pytest.raises(ValueError, match="a pointer is for r, w, rw"):
        tvm.tir.decl_buffer(A.shape).access_ptr("x")
    other = te.placeholder((16, 16), name="B")
    with pytest.raises(Fail, match="Can't bind A: it is"):
        te.decl_tensor_intrin(
            te.compute((4,), lambda i: A[i]).op,
            lambda ins, outs: None,
            binds={A: tvm.tir.decl_buffer(other.shape)},
        )
    s = te.create_schedule(te.compute((4,), lambda i: A[i], name="B").op)
    with pytest.raises(TypeError, match=r"tensorize takes a te\.decl_tensor_intrin, not 'dot4'"):
        s[s.outputs[0]].tensorize(s.outputs[0].axis[0], "dot4")


def test_rows_are_as_far_apart_as_a_call_says():
    sch = product(pad=8)
    tensorize(sch, "B_shared_wmma_matrix_b", "wmma_load_16x16x16_f16_b_shared")
    tensorize(sch, "C_update", "wmma_sync_16x16x16_f16f16f32", -3)
    block = sch.get_block("A_shared_wmma_matrix_a_o")
    sch.tensorize(block, loading(load).name)
    with pytest.raises(wb.ScheduleError) as refused:
        wb.build(sch)
    assert refused.value.headline == (
        "Can't build this: rows of a tile of A_shared are 24 cells apart, and tvm_load_matrix_sync "
        "says 16."
    )
    assert "strides[0]" in refused.value.hint
