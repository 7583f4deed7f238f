"""Kernels that are worse than the lessons', each by one thing, for the counters of a GPU."""

from __future__ import annotations

from collections.abc import Iterator

import workbench as wb
from benchmarks.matmuls import ASYNC, blocking, blocking_with_shared, matmul, naive, strided
from benchmarks.steps import Step, built_step
from benchmarks.tensor_cores import PRODUCTS
from tests.support.tensor_core_product import whole
from workbench import codegen, script, target
from workbench.ir import PrimFunc
from workbench.lower import lower
from workbench.runtime import Built

_COPY = """
@T.prim_func
def main(A: T.Buffer((1048576,), "{dtype}"), C: T.Buffer((1048576,), "{dtype}")):
    for b in T.thread_binding(264, thread="blockIdx.x"):
        for i in T.thread_binding({threads}, thread="threadIdx.x"):
            if {guard}:
                for k in T.{loop}:
                    C[b * 1024 + i * {width} + k] = A[{cell}]
"""
_THROUGH_SHARED = """
@T.prim_func
def main(A: T.Buffer((270336,), "{dtype}"), C: T.Buffer((270336,), "{dtype}")):
    S = T.alloc_buffer((4224,), "{dtype}", scope="shared")
    for b in T.thread_binding(264, thread="blockIdx.x"):
        for i in T.thread_binding({threads}, thread="threadIdx.x"):
            for k in range(4):
                S[{to}] = A[b * 1024 + k * {threads} + i]
            for k in range(4):
                C[b * 1024 + k * {threads} + i] = S[{cell}]
"""
_READS = """
@T.prim_func
def main(A: T.Buffer((270336,), "float32"), C: T.Buffer((270336,), "float32")):
    S = T.alloc_buffer((4096,), "float32", scope="shared")
    for b in T.thread_binding(264, thread="blockIdx.x"):
        for i in T.thread_binding(128, thread="threadIdx.x"):
            for k in range(32):
                S[k * 128 + i] = A[b * 1024 + k * 8 + i % 8]
            for k in T.vectorized(4):
                C[b * 1024 + i * 4 + k] = S[i * {stride} % 4096 + k]
"""


def copies() -> Iterator[Step]:
    """Copies of global memory, straight or through shared memory: kernels as they are written."""
    straight = {"dtype": "float32", "threads": 256, "guard": "i >= 0", "loop": "serial(1)"}
    straight |= {"width": 1, "cell": "b * 1024 + i"}
    shared = {"dtype": "float32", "threads": 256, "to": "k * 256 + i", "cell": "k * 256 + i"}
    column, back = "i % 32 * 32 + i // 32 + k * 8", "k * 256 + 255 - i"
    halves = {"dtype": "float16"}
    far, wide = "b * 1024 + i % 32 * 32 + i // 32", {"loop": "vectorized(4)", "width": 4}
    yield _copy("uncoalesced", _COPY, straight | {"cell": far})
    yield _copy("moved by a cell", _COPY, straight | {"cell": "b * 1024 + i + 1"})
    yield _copy("backwards", _COPY, straight | {"cell": "b * 1024 + 255 - i"})
    yield _copy("wide, far apart", _COPY, straight | wide | {"cell": "b * 1024 + i * 8 + k"})
    yield _copy("40 threads a block", _COPY, straight | {"threads": 40})
    yield _copy("guarded lanes", _COPY, straight | {"guard": "i % 3 != 1"})
    yield _copy("guarded end", _COPY, straight | {"guard": "b * 256 + i < 67000"})
    yield _copy("conflicting", _THROUGH_SHARED, shared | {"cell": column})
    yield _copy("conflicting stores", _THROUGH_SHARED, shared | {"to": column})
    yield _copy("padded", _THROUGH_SHARED, shared | {"cell": "i % 32 * 33 + i // 32 + k * 8"})
    yield _copy("fp16, two of a word", _THROUGH_SHARED, shared | halves | {"cell": back})
    yield _copy("fp16, apart", _THROUGH_SHARED, shared | halves | {"cell": "i * 4 + k"})
    yield _copy("int8, four of a word", _THROUGH_SHARED, shared | {"dtype": "int8", "cell": back})
    yield _copy("int8, apart", _THROUGH_SHARED, shared | {"dtype": "int8", "cell": column})
    yield _copy("wide, rows of 8", _READS, {"stride": 8})
    yield _copy("wide, rows of 36", _READS, {"stride": 36})


def _copy(name: str, text: str, words: dict[str, object]) -> Step:
    func, gpu = script.parse(text.format(**words)), target.get("cuda")
    assert isinstance(func, PrimFunc)
    lowered = lower(func, gpu)
    built = Built(func, gpu, lowered, codegen.source(lowered.kernels, gpu))
    return Step(f"worse, {name}", func, built, "")


def products() -> Iterator[tuple[str, wb.Schedule]]:
    """Products with too many registers, too few warps, edges, and tiles that are fetched ahead."""
    large, odd, some = (wb.Schedule(matmul(*sizes)) for sizes in ((1024,), (100, 52, 70), (256,)))
    yield "spilling", blocking(large, 16, 16, 16, 16, 4)
    yield "guarded stores", naive(odd, 16)
    yield "low occupancy", blocking_with_shared(some, 8, 8, 2, 2, 64)
    yield "fetched ahead", strided(wb.Schedule(matmul(256)), ahead=True)


def worse() -> Iterator[Step]:
    """Each of them, built; then what copies asynchronously, and products on Tensor Cores."""
    yield from copies()
    for name, sch in products():
        yield built_step(f"worse, {name}", sch.func)
    for ahead in (1, 2):
        sch = strided(wb.Schedule(matmul(256)), copied=ahead)
        label = f"worse, copied asynchronously, {ahead} ahead"
        yield Step(label, sch.func, wb.build(sch, ASYNC), "")
    for dtype, trans, pad in PRODUCTS:
        sch = whole(dtype, trans, pad)
        label = f"worse, Tensor Cores, {dtype}, trans={trans}, pad={pad}"
        yield Step(label, sch.func, wb.build(sch, target="cuda"), "")
