"""The arrays of kernels are as large before most passes as behind all of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import workbench as wb
from tests.lower.test_pipelines import prefetching
from tests.support.gpu_programs import blocked_matmul, parsed, window_steps
from tests.support.mma_product import Product
from tests.support.mma_product import scheduled as by_lanes
from tests.support.virtual_threads import strided_matmul
from workbench import target
from workbench.diag import Refusal
from workbench.ir import PrimFunc
from workbench.lower import arrays_of, lower

A100 = target.get("nvidia/nvidia-a100")

TWO = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    kept = T.alloc_buffer((8,), scope="local")
    whole = T.alloc_buffer((1,), scope="local")
    for i in T.thread_binding(2, thread="blockIdx.x"):
        for j in T.thread_binding(2, thread="vthread"):
            for k in range(2):
                with T.block("kept"):
                    v = T.axis.spatial(8, i * 4 + j * 2 + k)
                    kept[v] = A[v]
            for k in range(2):
                with T.block("B"):
                    v = T.axis.spatial(8, i * 4 + j * 2 + k)
                    B[v] = kept[v]
    for i in T.thread_binding(2, thread="blockIdx.x"):
        for j in T.thread_binding(4, thread="vthread"):
            with T.block("whole"):
                whole[0] = A[0]
            with T.block("C"):
                v = T.axis.spatial(8, i * 4 + j)
                C[v] = whole[0]
"""


def pipelined() -> PrimFunc:
    sch = prefetching(32)
    copies = {"A_shared": 3, "B_shared": 2}
    sch.pipeline("k_0", stages=[0, 0, 0, 0, 1], order=[0, 3, 1, 4, 2], copies=copies)
    return sch.func


def padded() -> PrimFunc:
    sch = wb.Schedule(blocked_matmul())
    sch.storage_align("A_shared", 0, 0, 32, 4)
    return sch.func


@pytest.mark.parametrize(
    "make, several",
    [
        (blocked_matmul, True),
        (padded, True),
        (pipelined, True),
        (lambda: strided_matmul(64, 32, (2, 2), 2, 4).func, True),
        (lambda: by_lanes(Product(32, 32, 64, 32, 32, 32, 1, 2, False, True, 3, 2)).func, True),
        (lambda: window_steps()["cooperative"], False),
        (lambda: parsed(TWO), True),
    ],
    ids=["tiles", "padded", "pipelined", "virtual", "lanes", "window", "two kernels"],
)
def test_they_are_as_large_as_those_that_are_lowered(make: Callable[[], PrimFunc], several: bool):
    func = make()
    every = [b for kernel in lower(func, A100).kernels for b in kernel.allocs]
    made: dict[str, list[tuple[object, ...]]] = {}
    for buffer in every:
        made.setdefault(buffer.name, []).append(buffer.shape)
    found = arrays_of(func, A100)
    assert {of.name: [b.shape for b in arrays] for of, arrays in found.items()} == made
    assert all(len(arrays) == 1 for arrays in found.values())
    assert (len(made) > 1) == several


def test_what_no_kernel_can_be_made_of_is_refused():
    text = TWO.replace('2, thread="vthread"', '2 + i, thread="vthread"')
    with pytest.raises(Refusal, match="`j` on vthread varies in size"):
        arrays_of(parsed(text), A100)
