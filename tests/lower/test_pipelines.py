"""Pipelines as kernels: prologue and epilogue, copies, barriers; the emulator and C++ agree."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import workbench as wb
from tests.lower.test_double_buffers import SIZED, check_results, tiled
from tests.support.gpu_programs import parsed
from tests.support.together import Together
from workbench import target
from workbench.check.pipelines import written_out
from workbench.diag import Refusal
from workbench.ir import Barrier, For, PrimFunc, walk
from workbench.lower import lower

CUDA = target.get("cuda")
STAGES, ORDER = "software_pipeline_stage", "software_pipeline_order"


def noted(stages: list[int], order: list[int] | None = None, **more: object) -> str:
    """The annotations of a pipeline, as a text has them."""
    return str({STAGES: stages, ORDER: order or [*range(len(stages))], **more})


REVERSED = """
@T.prim_func
def main(A: T.Buffer((12, 32), "float32"), B: T.Buffer((12, 32), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    AROUND
    for k in T.serial(LOW, HIGH, annotations=NOTES):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("S"):
                S[t] = A[k, t]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[k, t] = S[31 - t] * T.float32(2)
"""


def reversed_rows(
    notes: str, low: int | str = 0, high: int | str = 12, around: str = ""
) -> PrimFunc:
    """Each row of A the other way round, through shared memory, maybe inside another loop."""
    head, _, loop = REVERSED.partition("    AROUND\n")
    if around:
        loop = loop.replace("\n", "\n    ").replace("    for k", f"    {around}\n        for k", 1)
    values = {"LOW": low, "HIGH": high, "NOTES": notes}
    for name, value in values.items():
        loop = loop.replace(name, str(value))
    return parsed(head + loop)


@pytest.mark.parametrize("low", [0, 3])
@pytest.mark.parametrize("turns", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("stages", [[0, 0], [0, 1], [0, 3], [1, 3]])
def test_any_number_of_turns(low: int, turns: int, stages: list[int], as_cpp: Together):
    func = reversed_rows(noted(stages), low, low + turns)
    check_results(func, lower(func, CUDA), as_cpp)


@pytest.mark.parametrize("stages", [[0, 1], [0, 2]])
@pytest.mark.parametrize("low, high", [(0, "j"), ("j", 5), ("j", "j + 2"), (3, "3 + j")])
def test_how_many_turns_varies(
    stages: list[int], low: int | str, high: int | str, as_cpp: Together
):
    func = reversed_rows(noted(stages), low, high, around="for j in range(5):")
    lowered = lower(func, CUDA)
    check_results(func, lowered, as_cpp)


@pytest.mark.parametrize("stages", [[0, 1], [0, 3]])
def test_a_call_tells_how_many_turns(stages: list[int]):
    kernel = wb.build(parsed(SIZED.replace("NOTES", noted(stages))))
    for rows in (0, 1, 2, 3, 4, 9):
        a = np.random.default_rng(rows).random((rows, 32), "float32")
        b = np.zeros_like(a)
        kernel.emulate(a, b)
        np.testing.assert_array_equal(b, a[:, ::-1] * 2)


def test_each_turn_waits_once_and_each_statement_is_on_its_copy():
    source = wb.build(reversed_rows(noted([0, 2]))).source
    assert (
        source.count("__syncthreads()") == 2 and "float S[96]" in source
    )  # in the loop, behind it
    loop = source[source.index("for (int k = 2; k < 12; ++k)") :]
    assert "S[k % 3 * 32 + t] = A[k * 32 + t]" in loop
    assert "B[k * 32 + t - 64] = S[(k + 1) % 3 * 32 - t + 31]" in loop


@pytest.mark.parametrize("count, waits", [(1, 2), (2, 1), (3, 1)])
def test_one_copy_more_saves_a_barrier_a_turn(count: int, waits: int, as_cpp: Together):
    func = reversed_rows(noted([0, 1], [1, 0], software_pipeline_copies={"S": count}))
    lowered = lower(func, CUDA)
    (loop,) = (n for kernel in lowered.kernels for n in walk(kernel.body) if isinstance(n, For))
    assert sum(isinstance(n, Barrier) for n in walk(loop)) == waits
    check_results(func, lowered, as_cpp)


def test_double_buffer_scope_lifts_one_copy_to_two(as_cpp: Together):
    sch = wb.Schedule(reversed_rows(noted([0, 1], [1, 0])))
    sch.annotate("S", "double_buffer_scope", 0)
    lowered = lower(sch.func, CUDA)
    assert lowered.kernels[0].allocs[0].shape == (64,)
    check_results(sch.func, lowered, as_cpp)


REGISTERS = [
    ([0, 0, 0, 0, 1], [0, 3, 1, 4, 2]),  # fetch into registers, work, store
    ([0, 0, 0, 0, 1], [0, 1, 2, 3, 4]),
    ([0, 1, 0, 1, 2], [0, 1, 2, 3, 4]),
    ([0, 1, 0, 1, 2], [0, 3, 1, 4, 2]),
    ([0, 1, 0, 1, 1], [3, 0, 4, 1, 2]),
]


@pytest.mark.parametrize("stages, order", REGISTERS)
@pytest.mark.parametrize("size", [32, 25])
def test_a_matmul_fetches_through_registers(
    stages: list[int], order: list[int], size: int, as_cpp: Together
):
    sch = prefetching(size)
    sch.pipeline("k_0", stages=stages, order=order)
    check_results(sch.func, lower(sch.func, CUDA), as_cpp)


def prefetching(size: int) -> wb.Schedule:
    """The tutorial's matmul, of which each tile goes through registers into shared memory."""
    return wb.Schedule(_prefetching(size))


@cache
def _prefetching(size: int) -> PrimFunc:
    sch = tiled(4, size=size)
    for name in ("A_shared", "B_shared"):
        held = sch.cache_read(name, 0, "local")
        sch.compute_at(held, "k_0")
        fused = sch.fuse(*sch.get_loops(held)[-2:])
        _, thread, _ = sch.split(fused, [None, 16, 4])
        sch.bind(thread, "threadIdx.x")
    return sch.func


@pytest.mark.parametrize(
    "made, used", [("k * 32 + t < 70", "k * 32 + 31 - t < 70"), ("k < 2", "k < 2")]
)
def test_a_guard_of_threads_goes_with_its_statement(made: str, used: str, as_cpp: Together):
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((96,), "float32"), B: T.Buffer((96,), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    for k in T.serial(3, annotations={noted([0, 1])}):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("S"):
                T.where({made})
                S[t] = A[k * 32 + t]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            if {used}:
                B[k * 32 + t] = S[31 - t]
""")
    lowered = lower(func, CUDA)
    assert lowered.kernels[0].allocs[0].shape == (64,)
    check_results(func, lowered, as_cpp)


OF_ONE_THREAD = """
@T.prim_func
def main(A: T.Buffer((8, 4, 32), "float32"), B: T.Buffer((8, 4, 32), "float32")):
    S = T.alloc_buffer((4, 32), scope="shared")
    R = T.alloc_buffer((1,), scope="local")
    C = T.alloc_buffer((1,), scope="local")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        C[0] = T.float32(0)
        BODY
"""
INNER = """
for k in T.serial(8, annotations=OUTER):
    for j in range(4):
        with T.block("S"):
            S[j, t] = A[k, j, t]
    for j in T.serial(4, annotations=INNER):
        with T.block("R"):
            R[0] = S[j, t]
        with T.block("B"):
            B[k, j, t] = R[0] * T.float32(2)
"""
VIRTUAL = """
for v in T.thread_binding(2, thread="vthread"):
    for k in T.serial(8, annotations=NOTES):
        with T.block("R"):
            R[0] = A[k, v, t]
        with T.block("S"):
            S[v, t] = R[0]
        B[k, v, t] = S[v, t] * T.float32(2)
"""
SUM = """
for k in T.serial(8, annotations=NOTES):
    with T.block("R"):
        R[0] = A[k, 0, t]
    with T.block("C"):
        C[0] = C[0] + R[0] * R[0]
    B[k, 0, t] = C[0]
"""
OPAQUE = """
for k in T.serial(8, annotations=NOTES):
    with T.block("whole"):
        Q = T.alloc_buffer((1,), scope="local")
        with T.block("Q"):
            Q[0] = A[k, 0, t]
        with T.block("both"):
            P = T.alloc_buffer((1,), scope="local")
            P[0] = Q[0] + T.float32(3)
            B[k, 0, t] = P[0]
        B[k, 1, t] = Q[0] * T.float32(2)
"""
IN_PLACE = """
for k in T.serial(7, annotations=NOTES):
    with T.block("R"):
        R[0] = B[k, 0, t]
    B[k + 1, 0, t] = R[0] + A[k, 0, t]
"""


def of_one_thread(body: str, **notes: str) -> PrimFunc:
    for name, value in notes.items():
        body = body.replace(name, value)
    return parsed(OF_ONE_THREAD.replace("BODY", body.strip().replace("\n", "\n        ")))


@pytest.mark.parametrize(
    "outer, inner",
    [
        (noted([0, 1, 1, 2], [0, 2, 3, 1]), noted([0, 1])),
        (noted([0, 1, 2, 2], [0, 2, 1, 3]), noted([0, 1])),  # TVM's of tensor cores
        (noted([0, 1, 1, 1]), noted([0, 2])),
        (noted([0, 1, 1, 1]), noted([0, 5])),  # more than there are turns
        (noted([0, 1]), noted([0, 0])),
    ],
)
def test_what_an_inner_pipeline_becomes_is_pipelined(outer: str, inner: str, as_cpp: Together):
    func = of_one_thread(INNER, OUTER=outer, INNER=inner)
    check_results(func, lower(func, CUDA), as_cpp)


@pytest.mark.parametrize(
    "body, stages, order",
    [
        (VIRTUAL, [0, 1, 2], [0, 1, 2]),
        (VIRTUAL, [0, 1, 1], [2, 0, 1]),
        (SUM, [0, 1, 1], [0, 1, 2]),
        (SUM, [0, 2, 2], [2, 0, 1]),
        (OPAQUE, [0, 1, 2, 1], [0, 1, 2, 3]),
        (IN_PLACE, [0, 0], [0, 1]),
    ],
)
def test_statements_of_one_thread(body: str, stages: list[int], order: list[int], as_cpp: Together):
    func = of_one_thread(body, NOTES=noted(stages, order))
    check_results(func, lower(func, CUDA), as_cpp)


@pytest.mark.parametrize("body, stages", [(SUM, [0, 1, 2]), (SUM, [0, 0, 1]), (IN_PLACE, [0, 1])])
def test_what_an_iteration_hands_to_the_next_one_stays_in_order(body: str, stages: list[int]):
    with pytest.raises(Refusal, match="Can't pipeline `k`"):
        lower(of_one_thread(body, NOTES=noted(stages)), CUDA)


@pytest.mark.parametrize("turns", [0, 1, 5, 12])
def test_memory_says_how_many_turns(turns: int):
    func = parsed(f"""
@T.prim_func
def main(N: T.Buffer((1,), "int32"), A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32")):
    R = T.alloc_buffer((1,), "int32", scope="local")
    for t in T.thread_binding(1, thread="threadIdx.x"):
        for k in T.serial(0, N[0], annotations={noted([0, 2])}):
            R[0] = A[k]
            B[k] = R[0] + 1
""")
    a = np.arange(12, dtype="int32")
    b = np.zeros_like(a)
    wb.build(func).emulate(np.array([turns], "int32"), a, b)
    np.testing.assert_array_equal(b, np.where(a < turns, a + 1, 0))


def test_how_often_it_runs_stays_as_it_was():
    func = parsed(f"""
@T.prim_func
def main(N: T.Buffer((1,), "int32"), B: T.Buffer((8,), "int32")):
    for k in T.serial(0, T.min(N[0], 8), annotations={noted([0, 1])}):
        B[k] = k
        N[0] = 3
""")
    with pytest.raises(Refusal, match="it writes N, which says how often it runs"):
        written_out(func)


def test_an_unrolled_pipeline_stays_so(as_cpp: Together):
    sch = wb.Schedule(reversed_rows(noted([0, 1])))
    sch.unroll("k")
    lowered = lower(sch.func, CUDA)
    (loop,) = (n for kernel in lowered.kernels for n in walk(kernel.body) if isinstance(n, For))
    assert loop.kind == "unrolled"
    check_results(sch.func, lowered, as_cpp)


COPIED = """
@T.prim_func
def main(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
    S = T.alloc_buffer((32,))
    for k in range(8):
        for t in range(32):
            with T.block("S"):
                S[t] = A[k, t]
        for t in range(32):
            B[k, t] = S[t]
"""


def test_a_cpu_runs_the_loop_as_it_is_written():
    sch = wb.Schedule(parsed(COPIED.replace("(32,)", '(32,), scope="local"')))
    plain = wb.build(sch, target="c").source
    sch.pipeline("k", stages=[0, 1])
    assert wb.build(sch, target="c").source == plain
