"""Combiners of tuple reductions: what is known of them, against what comes out at random."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

import workbench as wb
from tests.access.corpus import FAMILIES, program
from tests.support.steps import after
from workbench import emulate, script
from workbench.access.combiners import TupleUpdate, tuple_update
from workbench.ir import Block, PrimFunc, walk

CHOICES = {  # I and V -> whether such a choice associates, and commutes
    ("T.Select(V[vi] >= A[vi, vk], I[vi], vk)", "T.max(V[vi], A[vi, vk])"): (True, False),
    ("T.Select(V[vi] > A[vi, vk], I[vi], vk)", "T.max(V[vi], A[vi, vk])"): (True, False),
    ("T.Select(not A[vi, vk] <= V[vi], vk, I[vi])", "T.max(V[vi], A[vi, vk])"): (True, False),
    ("T.if_then_else(A[vi, vk] < V[vi], vk, I[vi])", "T.min(V[vi], A[vi, vk])"): (True, False),
    ("T.Select(V[vi] > A[vi, vk], I[vi], vk)", "T.min(V[vi], A[vi, vk])"): (False, False),
    (
        "T.Select(V[vi] > A[vi, vk] or V[vi] == A[vi, vk] and I[vi] < vk, I[vi], vk)",
        "T.max(A[vi, vk], V[vi])",
    ): (True, True),
    (
        "T.if_then_else(V[vi] == A[vi, vk], T.max(I[vi], vk), T.Select(V[vi] < A[vi, vk], I[vi], "
        "vk))",
        "T.min(V[vi], A[vi, vk])",
    ): (True, True),
    ("T.Select(V[vi] == A[vi, vk], I[vi], vk)", "T.max(V[vi], A[vi, vk])"): (False, False),
}

NONE = {  # updates of I and V that are none of a combiner
    "a term that is not always the same": (
        "T.Select(V[vi] >= A[vi, vk], I[vi], vk)",
        "T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk] * 2.0)",
    ),
    "an index that is compared with a value": (
        "T.Select(V[vi] >= T.Cast('float32', I[vi]), I[vi], vk)",
        "T.max(V[vi], A[vi, vk])",
    ),
    "a number in a comparison": (
        "T.Select(V[vi] >= 0.0, I[vi], vk)",
        "T.max(V[vi], A[vi, vk])",
    ),
    "a load that a guard may keep inside": (
        "T.if_then_else(V[vi] >= A[vi, vk], I[vi], n[vi, vk])",
        "T.max(V[vi], A[vi, vk])",
    ),
    "two sums of their own": ("T.max(I[vi], vk)", "V[vi] + A[vi, vk]"),
}


def choice(index: str, value: str) -> PrimFunc:
    result = script.parse(f"""
@T.prim_func
def main(
    A: T.Buffer((3, 12), "float32"),
    n: T.Buffer((3, 12), "int32"),
    I: T.Buffer((3,), "int32"),
    V: T.Buffer((3,), "float32"),
):
    for i, k in T.grid(3, 12):
        with T.block("VI"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = -1
                V[vi] = 0.0
            I[vi] = {index}
            V[vi] = {value}
""")
    assert isinstance(result, PrimFunc)
    return result


def update(func: PrimFunc, name: str = "VI") -> TupleUpdate | None:
    (block,) = (n for n in walk(func) if isinstance(n, Block) and n.name == name)
    return tuple_update(block)


@pytest.mark.parametrize("values", CHOICES)
def test_choices_are_tried_on_all_orders(values: tuple[str, str]) -> None:
    found = update(choice(*values))
    assert found is not None
    f = found.combiner.numbers
    rng = random.Random(0)
    associates = commutes = True
    for _ in range(3000):
        a, b, c = ((rng.randint(-2, 2), rng.randint(-2, 2)) for _ in range(3))
        associates &= f(f(a, b), c) == f(a, f(b, c))
        commutes &= f(a, b) == f(b, a)
    assert (associates, commutes) == CHOICES[values]
    assert (found.combiner.associates, found.combiner.commutes) == CHOICES[values]


@pytest.mark.parametrize("name", NONE)
def test_no_combiner(name: str) -> None:
    assert update(choice(*NONE[name])) is None


@pytest.mark.parametrize(
    ("changed", "by"),
    [("n[vi] + 1.0", "n[vi] + 2.0"), (" / v_n", " / n[vi]"), ("A[vi, vk] - v_M", "v_M")],
)
def test_welford_with_a_mistake_is_none(changed: str, by: str) -> None:
    text = FAMILIES["tuples"]["mean and squares as Welford sums them"]
    assert changed in text
    right, wrong = (script.parse(one) for one in (text, text.replace(changed, by)))
    assert isinstance(right, PrimFunc)
    assert isinstance(wrong, PrimFunc)
    assert update(right, "W") is not None
    assert update(wrong, "W") is None


def outputs(func: PrimFunc, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    made = [rng.integers(-2, 3, p.shape).astype(p.type) for p in func.params]
    emulate.evaluate(func, made)
    return made


def parts(name: str) -> list[wb.Schedule]:
    """The program with each loop made parts of, where that is taken; also of halves of a loop."""
    found = []
    for halves, at, axis in product((False, True), range(4), (0, -1)):
        sch = wb.Schedule(program("tuples", name))
        block = sch.get_blocks()[0]
        try:
            if halves:
                sch.split(sch.get_loops(block)[-1], factors=[2, None])
            sch.rfactor(sch.get_loops(block)[at], axis)
        except (IndexError, wb.ScheduleError):
            continue
        found.append(sch)
    return found


TAKEN = {
    "argmax by an index that is read": 4,
    "argmax as topi writes it": 6,
    "argmax of a row with a tail": 4,
    "the largest, where it is, and what stands there": 4,
    "mean and squares as Welford sums them": 6,
    "variance of rows, counted in whole numbers": 6,
    "softmax of one pass": 6,
}


@pytest.mark.fuzz
@pytest.mark.parametrize("name", FAMILIES["tuples"])
def test_parts_come_to_the_same_where_values_are_equal(name: str) -> None:
    """Values are few, so that most of them are equal to others."""
    made = parts(name)
    assert len(made) == TAKEN.get(name, 0)
    for sch, seed in product(made, range(3)):
        before = outputs(program("tuples", name), seed)
        for a, b in zip(before, outputs(sch.func, seed), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_the_parts_of_an_argmax() -> None:
    """The same program as TVM's, but that a name for a value is the value."""
    text = after(
        FAMILIES["tuples"]["argmax by an index that is read"],
        lambda sch: sch.rfactor("k", factor_axis=1),
    )
    assert (
        text
        == """\
I_rf = T.alloc_buffer((3, 8), "int32")
V_rf = T.alloc_buffer((3, 8))
for i, k in T.grid(3, 8):
    with T.block("VI_rf"):
        vk, vi = T.axis.remap("SS", [k, i])
        T.reads(n[vi, vk], x[vi, vk])
        T.writes(I_rf[vi, vk], V_rf[vi, vk])
        I_rf[vi, vk] = n[vi, vk]
        V_rf[vi, vk] = x[vi, vk]
for i, k in T.grid(3, 8):
    with T.block("VI"):
        vk, vi = T.axis.remap("RS", [k, i])
        T.reads(V_rf[vi, vk], I_rf[vi, vk])
        T.writes(I_[vi], V[vi])
        with T.init():
            I_[vi] = -1
            V[vi] = T.float32(-3.4028234663852886e+38)
        I_[vi] = T.Select(V[vi] >= V_rf[vi, vk], I_[vi], I_rf[vi, vk])
        V[vi] = T.Select(V[vi] >= V_rf[vi, vk], V[vi], V_rf[vi, vk])"""
    )


def test_a_sum_that_only_stores_itself_again_is_no_sum():
    func = script.parse("""
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(C[vi], A[vi, vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi]
""")
    with pytest.raises(wb.ScheduleError, match=r"what is stored to C is not C \+"):
        wb.Schedule(func).bind("k", "threadIdx.x")
