"""Tensor intrinsics: what is registered, and which pairs are refused."""

from __future__ import annotations

import random

import numpy as np
import pytest

import workbench as wb
from tests.support.random_programs import fresh, random_inputs
from workbench import emulate, script
from workbench.diag import Fail
from workbench.intrin import names, tensor_intrin
from workbench.intrin.tensor_intrin import check
from workbench.ir import PrimFunc
from workbench.tvm import tir

HEAD = """@T.prim_func
def f(A: T.Buffer((4,), "float32", offset_factor=1), C: T.Buffer((4,), "float32", scope="shared")):
"""
COPY = """    for i in range(4):
        with T.block("copy"):
            v = T.axis.spatial(4, i)
            C[v] = A[v]
"""


def program(body: str, head: str = HEAD) -> PrimFunc:
    func = script.parse(head + body)
    assert isinstance(func, PrimFunc)
    return func


@pytest.fixture(autouse=True)
def none_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests know ours alone."""
    monkeypatch.setattr(tensor_intrin, "_registered", {})


# TVM's names for one product of tiles in other orders, and for one way to store, are one pair each;
# and what is of other halves is the same.
DIFFERENT = {
    tuple(text.replace("bfloat16", "float16") for text in tensor_intrin.TEXTS[name]): name
    for name in reversed(names())
    if "bf16" not in name
}.values()
# As mma_f16f16f32 and wmma of float16, of other types: by terms they take 10 s.
BY_NUMBERS = (
    *("mma_f16f16f16", "mma_i8i8i32", "mma_tf32tf32f32"),
    *("wmma_sync_16x16x16_s8s8s32", "wmma_sync_16x16x16_s8s8s32_trans"),
)
EACH = [
    pytest.param(name, marks=[pytest.mark.fuzz] if "sync" in name or "f16f16f" in name else [])
    for name in DIFFERENT
]


def test_what_is_of_bfloat16_is_what_is_of_float16():
    texts = tensor_intrin.TEXTS
    of_other = [name for name in texts if "bf16" in name and name != "simdgroup_fill_8x8x8_bf16"]
    assert len(of_other) == 20
    for name in of_other:
        halves = [text.replace("bfloat16", "float16") for text in texts[name]]
        assert tuple(halves) == texts[name.replace("bf16", "f16")]


@pytest.mark.parametrize("name", EACH)
def test_ours_do_what_they_say(name: str):
    intrin = wb.TensorIntrin.get(name)
    if name not in BY_NUMBERS:
        check(intrin)
    for func in (intrin.desc, intrin.impl):
        again = script.parse(script.show(func))
        wb.assert_structural_equal(again, func)
    by_desc = random_inputs(intrin.desc, random.Random(0))
    by_impl = fresh(by_desc)
    emulate.evaluate(intrin.desc, by_desc)
    emulate.evaluate(intrin.impl, by_impl)
    for one, other in zip(by_desc, by_impl, strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_of_a_lesson_is_registered_once():
    desc, impl = program(COPY), program("    for i in T.unroll(4):\n        C[i] = A[i]\n")
    made = tir.TensorIntrin.register("copy_of_a_lesson", desc, impl)
    assert made.desc is desc and made.impl is impl
    assert wb.TensorIntrin.register("copy_of_a_lesson", program(COPY), impl) is made
    assert wb.TensorIntrin.get("copy_of_a_lesson") is made and "copy_of_a_lesson" in names()
    with pytest.raises(Fail) as refused:
        wb.TensorIntrin.register("copy_of_a_lesson", desc, desc)
    assert str(refused.value) == (
        "Can't register 'copy_of_a_lesson': another pair has that name.\n"
        "do:    give another name, or pass override=True"
    )
    other = wb.TensorIntrin.register("copy_of_a_lesson", desc, desc, override=True)
    assert wb.TensorIntrin.get("copy_of_a_lesson") is other


def test_ours_keep_their_names():
    desc = program(COPY)
    with pytest.raises(Fail, match="another pair has that name") as refused:
        wb.TensorIntrin.register("dot4", desc, desc, override=True)
    assert refused.value.hint == "give another name"


def test_a_name_that_there_is_not():
    assert wb.TensorIntrin.get("dot5", allow_missing=True) is None
    with pytest.raises(Fail) as refused:
        wb.TensorIntrin.get("dot5")
    assert str(refused.value).startswith(
        "Can't find the tensor intrinsic 'dot5'.\nfound: near it: dot4\n"
    )
    with pytest.raises(Fail) as refused:
        wb.TensorIntrin.get("")
    assert "found: there are: dot4, outer4x4, " in str(refused.value)


OTHER_MEMORY = HEAD.replace(', scope="shared"', "")
GATHER = HEAD.replace('A: T.Buffer((4,), "float32"', 'P: T.Buffer((4,), "int32"')
CLAMP = """    for i in range(4):
        C[i] = T.if_then_else(A[i] > 100.0, {limit}.0, A[i])
"""
SUM = HEAD.replace("C: T.Buffer((4,)", "C: T.Buffer((1,)")
REFUSED = {
    "its two programs take other parameters": (program(COPY), program(COPY, OTHER_MEMORY)),
    "its implementation does not do what its description says": (
        program(COPY),
        program(COPY.replace("A[v]", "A[3 - v]")),
    ),
    "its implementation touches more of A than its description": (
        program("    for i in range(2):\n        C[i] = A[i]\n"),
        program(
            "    B = T.alloc_buffer((1,), scope='local')\n    B[0] = A[3]\n"
            "    for i in range(2):\n        C[i] = A[i]\n"
        ),
    ),
    "what its description does depends on data: A[i] > T.float32(100)": (
        program(CLAMP.format(limit=100)),
        program(CLAMP.format(limit=10)),
    ),
    "what its implementation does depends on data: A[i] > T.float32(100)": (
        program("    for i in range(4):\n        C[i] = T.min(A[i], 100.0)\n"),
        program(
            "    for i in range(4):\n        C[i] = A[i]\n"
            "        if A[i] > 100.0:\n            C[i] = T.float32(100)\n"
        ),
    ),
    "what its description does depends on data: P[i]": (
        program("    for i in range(4):\n        C[i] = C[P[i]]\n", GATHER),
        program("    for i in range(4):\n        C[i] = C[T.min(P[i], 3)]\n", GATHER),
    ),
    "its description has a T.init()": (
        program(
            """    for i in range(4):
        with T.block("sum"):
            v = T.axis.reduce(4, i)
            with T.init():
                C[0] = 0.0
            C[0] = C[0] + A[v]
""",
            SUM,
        ),
        program("    for i in range(4):\n        C[0] = C[0] + A[i]\n", SUM),
    ),
    "its description allocates memory": (
        program("    B = T.alloc_buffer((1,))\n    B[0] = A[0]\n    C[0] = B[0]\n"),
        program("    C[0] = A[0]\n"),
    ),
    "its description does not use A": (program("    C[0] = 1.0\n"), program("    C[0] = 1.0\n")),
    "`i` of its implementation is vectorized": (
        program(COPY),
        program("    for i in T.vectorized(4):\n        C[i] = A[i]\n"),
    ),
    "B of its implementation is in shared memory": (
        program("    C[0] = A[0]\n"),
        program('    B = T.alloc_buffer((1,), scope="shared")\n    B[0] = A[0]\n    C[0] = B[0]\n'),
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_pair_that_would_be_wrong(why: str):
    with pytest.raises(Fail) as refused:
        wb.TensorIntrin.register("wrong", *REFUSED[why])
    assert refused.value.headline == f"Can't register 'wrong': {why}."
    assert refused.value.hint
    assert wb.TensorIntrin.get("wrong", allow_missing=True) is None


def test_what_it_does_otherwise_is_told():
    with pytest.raises(Fail) as refused:
        desc, impl = REFUSED["its implementation does not do what its description says"]
        wb.TensorIntrin.register("wrong", desc, impl)
    assert refused.value.detail == "C[0] was A[0], and is A[3]"


def test_a_tile_is_no_argument_of_a_call():
    for refuse in (wb.Schedule, wb.build):
        with pytest.raises(wb.ScheduleError, match="its argument C is in shared memory") as error:
            refuse(program(COPY))
        assert error.value.hint == "leave scope out; T.alloc_buffer makes memory inside a program"
