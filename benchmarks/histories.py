"""The programs of the lessons with the ways through them, small as taught, large as timed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import workbench as wb
from benchmarks.convolutions import convolution, tiled, tutorial
from benchmarks.matmuls import ahead_small, matmul, small_branches, strided
from workbench import script
from workbench.history.history import HistoryNode
from workbench.ir import PrimFunc
from workbench.lesson import exercise
from workbench.lesson.exercise import NAMES
from workbench.lesson.naive import naive
from workbench.lesson.programs import stages, staging

_ADD = """
@T.prim_func
def main(
    A: T.Buffer(({n},), "float32"),
    B: T.Buffer(({n},), "float32"),
    C: T.Buffer(({n},), "float32"),
):
    for i in range({n}):
        with T.block("C"):
            vi = T.axis.spatial({n}, i)
            C[vi] = A[vi] + B[vi]
"""
_WINDOW_SUM = """
@T.prim_func
def main(A: T.Buffer(({n} + 3,), "float32"), B: T.Buffer(({n},), "float32")):
    for i in range({n}):
        with T.block("C"):
            vi = T.axis.spatial({n}, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
"""
LARGE = 2**26
THREADS = (32, 64, 128, 256, 512, 1024)


def vector_add(n: int) -> PrimFunc:
    """C = A + B."""
    return _parse(_ADD, n)


def window_sum(n: int) -> PrimFunc:
    """B[i] = A[i] + A[i + 1] + A[i + 2]; A has three elements more, as in the course."""
    return _parse(_WINDOW_SUM, n)


def _parse(text: str, n: int) -> PrimFunc:
    text = text.replace("{n} + 3", str(n + 3)).replace("{n}", str(n))
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


def histories() -> Iterator[tuple[str, wb.Schedule]]:
    """Each program's tree of schedules, every branch in it, as small as the lessons have them."""
    yield "vector add of 8", add_branches(vector_add(8), (2, 4, 8))
    yield "vector add of 1024", add_branches(vector_add(1024), THREADS)
    yield "window sum of 1024", window_branches(window_sum(1024), THREADS)
    yield "matrix multiply of 8 x 8", small_branches()
    yield "matrix multiply of 64 x 64", ahead_small()
    yield from strided_tiles()
    yield from blurs()
    for name in NAMES:
        task = exercise(name)
        sch = task.schedule()
        task.solution(sch)
        yield f"exercise, {task.name}", sch


def strided_tiles() -> Iterator[tuple[str, wb.Schedule]]:
    """Small products and convolutions with virtual threads: only the finished schedules."""
    for name, sch in (
        ("product in strided tiles", strided(wb.Schedule(matmul(64, 128, 32)))),
        ("convolution by the tutorial", tutorial(wb.Schedule(convolution(2, 64, 16, 64)))),
        ("convolution in large tiles", tiled(wb.Schedule(convolution(1, 128, 32, 128)))),
    ):
        yield name, wb.Schedule(sch.func)


def blurs() -> Iterator[tuple[str, wb.Schedule]]:
    """Lesson 7's blur, by what becomes of its first stage: small, and as large as it is timed."""
    small, big = (stages(n, n, (1, 1, 1), (1, 1, 1)) for n in (16, 1024))
    yield "blur of 16 x 16", staging(small, "again")
    yield "blur of 16 x 16", staging(small, "both")
    yield "blur of 1024 x 1024", naive(big)
    yield "blur of 1024 x 1024", staging(big, "both", (32, 32))


def large() -> Iterator[tuple[str, wb.Schedule]]:
    """The same on arrays that fill a GPU, with the threads of the lessons."""
    yield f"vector add of {LARGE}", add_branches(vector_add(LARGE), (128,))
    yield f"window sum of {LARGE}", window_branches(window_sum(LARGE), (128,))


def add_branches(func: PrimFunc, threads: tuple[int, ...]) -> wb.Schedule:
    """Split by each of `threads` and bind, in both orders."""
    sch = wb.Schedule(func)
    for count in threads:
        sch.goto(0)
        _split_and_bind(sch, count)
        sch.goto(0)
        (loop,) = sch.get_loops(sch.get_block("C"))
        outer, inner = sch.split(loop, factors=[None, count])
        sch.bind(inner, "threadIdx.x")
        sch.bind(outer, "blockIdx.x")
    return sch


def window_branches(func: PrimFunc, threads: tuple[int, ...]) -> wb.Schedule:
    """Bind; then a copy in shared memory, fetched by every thread alone, then by all together."""
    sch = wb.Schedule(func)
    for count in threads:
        sch.goto(0)
        _, inner = _split_and_bind(sch, count)
        copy = sch.cache_read("C", 0, "shared")
        sch.compute_at(copy, inner)
        fetch = sch.get_loops(copy)[-1]
        _, lane = sch.split(fetch, factors=[None, count])
        sch.bind(lane, "threadIdx.x")
    return sch


def _split_and_bind(sch: wb.Schedule, count: int) -> list[Any]:
    (loop,) = sch.get_loops(sch.get_block("C"))
    outer, inner = sch.split(loop, factors=[None, count])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return [outer, inner]


def path_text(node: HistoryNode) -> str:
    """The steps that lead to a node of a history, as one line."""
    return " > ".join(step.label for step in node.path()[1:]) or "start"
