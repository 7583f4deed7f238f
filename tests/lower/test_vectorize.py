"""Vectors where they are proved aligned and whole, single cells elsewhere."""

from __future__ import annotations

import pytest

from tests.support.gpu_programs import parsed
from workbench import target
from workbench.ir import Broadcast, BufferLoad, BufferStore, For, IfThenElse, PrimFunc, Ramp, walk
from workbench.lower import lower

CUDA = target.get("cuda")


def copy(
    index: str, value: str = "A[{}]", lanes: int = 4, dtype: str = "float32", where: str = ""
) -> PrimFunc:
    """``B[index] = value`` of 32 threads t, vectorized over v."""
    return parsed(f"""
@T.prim_func
def main(A: T.Buffer((4096,), "{dtype}"), B: T.Buffer((4096,), "{dtype}")):
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for v in T.vectorized({lanes}):
            with T.block("B"):
                i = T.axis.spatial(4096, {index})
                {where}
                B[i] = {value.format("i")}
""")


def stores(func: PrimFunc) -> list[BufferStore]:
    (kernel,) = lower(func, CUDA).kernels
    return [node for node in walk(kernel.body) if isinstance(node, BufferStore)]


def lanes_of(func: PrimFunc) -> list[int]:
    """The width of each store: 1 for a single cell."""
    found = (store.indices[0] for store in stores(func))
    return [index.lanes if isinstance(index, Ramp) else 1 for index in found]


def loops(func: PrimFunc) -> list[str]:
    (kernel,) = lower(func, CUDA).kernels
    return [node.kind for node in walk(kernel.body) if isinstance(node, For)]


def test_an_aligned_copy_is_one_vector():
    assert lanes_of(copy("t * 4 + v")) == [4]
    assert loops(copy("t * 4 + v")) == []


@pytest.mark.parametrize("index", ["t * 4 + v + 1", "t * 5 + v", "t + v * 32", "(t * 4 + v) * 2"])
def test_what_is_not_aligned_or_not_contiguous_is_unrolled(index: str):
    assert lanes_of(copy(index)) == [1]
    assert loops(copy(index)) == ["unrolled"]


def test_half_of_the_width_where_only_that_is_aligned():
    assert lanes_of(copy("t * 6 + v")) == [2]
    assert loops(copy("t * 6 + v")) == ["unrolled"]


@pytest.mark.parametrize(
    ("dtype", "lanes", "widths"),
    [
        ("float32", 8, [4]),
        ("float64", 4, [2]),
        ("float16", 8, [8]),
        ("int8", 16, [16]),
        ("float32", 6, [2]),
        ("float32", 3, [1]),
    ],
)
def test_no_vector_is_wider_than_16_bytes(dtype: str, lanes: int, widths: list[int]):
    assert lanes_of(copy(f"t * {lanes} + v", lanes=lanes, dtype=dtype)) == widths


def test_what_is_the_same_in_all_lanes_is_read_once():
    (store,) = stores(copy("t * 4 + v", "A[{0} // 4] + A[{0}]"))
    broadcast = store.value.a  # type: ignore[attr-defined]
    assert isinstance(broadcast, Broadcast) and isinstance(broadcast.value, BufferLoad)


def test_cells_apart_are_gathered_into_a_vector():
    (store,) = stores(copy("t * 4 + v", "A[{} * 8]"))
    assert isinstance(store.value, BufferLoad)
    (place,) = store.value.indices
    assert isinstance(place, Ramp) and place.stride == 8


def test_a_load_that_is_not_aligned_keeps_the_store_single():
    assert lanes_of(copy("t * 4 + v", "A[{} + 1]")) == [1]


def test_a_condition_that_holds_for_all_lanes_or_none_stands_around_the_vector():
    func = copy("t * 4 + v", where="T.where(t * 4 + v < 100)")
    assert lanes_of(func) == [4]
    (kernel,) = lower(func, CUDA).kernels
    assert isinstance(kernel.body, IfThenElse)


@pytest.mark.parametrize("where", ["T.where(t * 4 + v < 97)", "T.where(v % 3 < 1)"])
def test_a_condition_that_splits_a_vector_is_asked_for_each_cell(where: str):
    assert lanes_of(copy("t * 4 + v", where=where)) == [1]


def test_a_guarded_load_is_not_done_for_the_other_branch():
    func = copy("t * 4 + v", "T.if_then_else({0} < 64, A[{0} + 4000], T.float32(0))")
    assert lanes_of(func) == [4, 4]
    (kernel,) = lower(func, CUDA).kernels
    assert isinstance(kernel.body, IfThenElse)


def test_a_guard_that_splits_a_vector_is_asked_for_each_cell():
    value = "T.if_then_else({0} < 63, A[{0}], T.float32(0))"
    assert lanes_of(copy("t * 4 + v", value)) == [1]
