"""Asynchronous copies in pipelines: groups, waits, barriers; the emulator and C++ agree."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from benchmarks.matmuls import matmul, strided
from tests.lower.test_double_buffers import check_results, tiled
from tests.lower.test_pipelines import noted, reversed_rows
from tests.support.cases import CASES
from tests.support.cpp import compile_cpp
from tests.support.gpu_programs import parsed
from tests.support.random_pipelines import random_async_pipeline
from tests.support.together import Together
from workbench import codegen, emulate, script, target
from workbench.access.async_copies import with_groups
from workbench.access.pipelines import Need, Needs, Pipeline
from workbench.diag import Refusal
from workbench.emulate import EmulationError
from workbench.ir import (
    Barrier,
    BlockRealize,
    Buffer,
    BufferStore,
    CommitGroup,
    Const,
    For,
    IfThenElse,
    Kernel,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    WaitGroup,
    const,
    rewrite,
    stmts_of,
    stores,
    substitute,
    walk,
)
from workbench.lower import Lowered, lower
from workbench.lower.shared_memory import dynamic_shared

H100 = target.get("nvidia/h100")
ASYNC, COPIES = "software_pipeline_async_stages", "software_pipeline_copies"


def rows(stages: list[int], order: list[int] | None = None, turns: int = 12, **more: object):
    """Rows that come out the other way round, the fetch in an asynchronous stage 0."""
    return reversed_rows(noted(stages, order, **{ASYNC: [0]}, **more), 0, turns)


def lowered(func: PrimFunc) -> Lowered:
    return lower(func, H100)


def body(stmt: Stmt) -> Stmt:
    """The statements of the one serial loop."""
    (loop,) = (n for n in walk(stmt) if isinstance(n, For) and n.kind == "serial")
    return loop.body


# --- how many groups may be under way -------------------------------------------------------------


def events(stmt: Stmt) -> Iterator[tuple[str, int, int]]:
    """What an expanded pipeline does, turn by turn: ("run", k, iteration), "commit", "wait"."""
    match stmt:
        case SeqStmt(stmts):
            for one in stmts:
                yield from events(one)
        case BlockRealize(block=block):
            yield from events(block.body)
        case For(loop_var=var, min=Const(value=low), extent=Const(value=count)):
            for turn in range(int(low), int(low) + int(count)):
                yield from events(substitute(stmt.body, {var: const(turn, "int32")}))
        case IfThenElse(condition=Const(value=holds), then_case=then):
            yield from events(then) if holds else ()
        case BufferStore(buffer, _, (Const(value=iteration),)):
            yield "run", int(buffer.name), int(iteration)
        case CommitGroup():
            yield "commit", 0, 0
        case WaitGroup(count):
            yield "wait", count, 0
        case _:
            raise AssertionError(stmt)


def random_groups(rng: random.Random) -> tuple[Pipeline, list[Need], int]:
    """A pipeline of which statements need some copies, and how many iterations there are."""
    count, var = rng.randint(2, 5), Var("i", "int32")
    buffers = [Buffer(str(k), (99,), scope="shared") for k in range(count)]
    stmts = tuple(BufferStore(b, const(0.0, "float32"), (var,)) for b in buffers)
    stages, order = [rng.randint(0, 3) for _ in stmts], rng.sample(range(count), count)
    turns, known = rng.randint(0, 9), rng.random() < 0.7
    extent = const(turns, "int32") if known else Var("n", "int32")
    loop = For(var, const(0, "int32"), extent, "serial", SeqStmt(stmts))
    copied = set(rng.sample(range(count), rng.randint(1, count)))
    apart = tuple({stages[k] for k in copied})
    pipeline = Pipeline(loop, stmts, tuple(stages), tuple(order), apart)
    every = [(a, b, lag) for a in range(count) for b in range(count) for lag in range(4) if a != b]
    needs = [
        Need(a, b, lag, buffers[a])
        for a, b, lag in rng.sample(every, min(len(every), rng.randint(1, 6)))
        if stages[a] in apart and lag <= pipeline.depth and pipeline.before(a, b, lag)
    ]
    return pipeline, needs, turns


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(400))
def test_each_wait_is_for_what_is_needed_and_for_no_more(seed: int):
    pipeline, needs, turns = random_groups(random.Random(seed))
    made = with_groups(pipeline, needs).expanded({})
    extent = pipeline.loop.extent
    if isinstance(extent, Var):
        made = substitute(made, {extent: const(turns, "int32")})
    check_groups(pipeline, needs, [*events(made)], turns)


def check_groups(
    pipeline: Pipeline, needs: list[Need], done: list[tuple[str, int, int]], turns: int
) -> None:
    ran = [(k, number) for what, k, number in done if what == "run" and 0 <= number < turns]
    assert sorted(ran) == [(k, i) for k in range(len(pipeline.stmts)) for i in range(turns)]
    group_of: dict[tuple[int, int], int] = {}
    begun: list[tuple[int, int]] = []
    groups = arrived = 0
    for what, k, number in done:
        if what == "commit":
            group_of |= dict.fromkeys(begun, groups)
            groups, begun = groups + 1, []
        elif what == "wait":
            arrived = max(arrived, groups - k)
        else:
            for need in needs:
                copy = need.first, number - need.lag
                assert need.then != k or copy not in begun  # no group has it yet
                if need.then == k and copy in group_of:
                    assert group_of[copy] < arrived
            if pipeline.stages[k] in pipeline.async_stages:
                begun.append((k, number))
    assert not begun and arrived == groups  # nothing is under way at the end


@pytest.mark.parametrize("produced, used", [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)])
@pytest.mark.parametrize("turns", range(8))
def test_the_count_of_one_group_a_turn(produced: int, used: int, turns: int):
    """N = min(E - 1, T - s_p - 1) - (T - s_c) in turn T, of which the wait is at the top."""
    var, m = Var("i", "int32"), Buffer("0", (99,), scope="shared")
    stmts = tuple(BufferStore(b, const(0.0, "float32"), (var,)) for b in (m, replace(m, name="1")))
    loop = For(var, const(0, "int32"), const(turns, "int32"), "serial", SeqStmt(stmts))
    pipeline = Pipeline(loop, stmts, (produced, used), (0, 1), (produced,))
    made = with_groups(pipeline, [Need(0, 1, 0, m)]).expanded({})
    counts = [k for what, k, _ in events(made) if what == "wait"]
    assert counts == [
        min(turns - 1, turn - produced - 1) - (turn - used) for turn in range(used, used + turns)
    ]


# --- kernels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(
    "stages, order", [([0, 1], None), ([0, 3], None), ([0, 3], [1, 0]), ([0, 2], [1, 0])]
)
def test_any_number_of_turns(
    stages: list[int], order: list[int] | None, turns: int, as_cpp: Together
):
    func = rows(stages, order, turns)
    check_results(func, lowered(func), as_cpp)


@pytest.mark.parametrize("low, high", [(0, "j"), ("j", 5), ("j", "j + 2")])
def test_how_many_turns_varies(low: int | str, high: int | str, as_cpp: Together):
    func = reversed_rows(noted([0, 2], **{ASYNC: [0]}), low, high, around="for j in range(5):")
    check_results(func, lowered(func), as_cpp)


@pytest.mark.parametrize(
    "stages, order, copies",
    [([0, 1], None, 2), ([0, 2], None, 3), ([0, 2], [1, 0], 3), ([0, 2], None, 4)],
)
def test_a_turn_waits_at_its_top_and_has_one_barrier(
    stages: list[int], order: list[int] | None, copies: int
):
    (kernel,) = lowered(rows(stages, order, **{COPIES: {"S": copies}})).kernels
    first, *others = stmts_of(body(kernel.body))
    assert isinstance(first, WaitGroup) and first.count == stages[1] - 1
    assert sum(isinstance(n, Barrier) for n in others) == 1
    assert kernel.allocs[0].shape == (32 * copies,)


def test_one_copy_less_needs_a_second_barrier():
    (kernel,) = lowered(rows([0, 2], [1, 0], **{COPIES: {"S": 2}})).kernels
    assert sum(isinstance(n, Barrier) for n in stmts_of(body(kernel.body))) == 2


def test_what_each_thread_copies_for_itself_needs_no_barrier(as_cpp: Together):
    text = """
@T.prim_func
def main(A: T.Buffer((12, 32), "float32"), B: T.Buffer((12, 32), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    for k in T.serial(12, annotations=NOTES):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            S[t] = A[k, t]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[k, t] = S[t] * T.float32(2)
"""
    func = parsed(text.replace("NOTES", noted([0, 2], **{ASYNC: [0]})))
    made = lowered(func)
    assert not any(isinstance(n, Barrier) for n in walk(made.kernels[0].body))
    check_results(func, made, as_cpp)


GROUPS = [
    ([0, 0, 1], [0, 1, 2], 1),
    ([0, 0, 2], [1, 2, 0], 1),
    ([0, 0, 2], [0, 2, 1], 2),
    ([0, 1, 2], [0, 1, 2], 2),
    ([1, 0, 3], [2, 0, 1], 2),
]


@pytest.mark.parametrize("stages, order, groups", GROUPS)
@pytest.mark.parametrize("size, depth", [(64, 8), (25, 4), (64, 32)])
def test_a_matmul_copies_both_tiles(
    stages: list[int], order: list[int], groups: int, size: int, depth: int, as_cpp: Together
):
    sch = tiled(depth, size=size)
    sch.pipeline("k_0", stages=stages, order=order, async_stages=sorted({*stages[:2]}))
    made = lowered(sch.func)
    if size == 64 and depth == 8:
        loops = [n.body for n in walk(made.kernels[0].body) if isinstance(n, For)]
        turns = [[type(n) for n in stmts_of(one)] for one in loops]
        assert [turn.count(CommitGroup) for turn in turns if WaitGroup in turn] == [groups]
    check_results(sch.func, made, as_cpp)


PLAIN = "A[k, t * VECTOR + v]"
FETCH = """
@T.prim_func
def main(A: T.Buffer((6, 64), "TYPE"), B: T.Buffer((6, 64), "TYPE")):
    S = T.alloc_buffer((64,), "TYPE", scope="shared")
    for k in T.serial(6, annotations=NOTES):
        for t in T.thread_binding(THREADS, thread="threadIdx.x"):
            for v in T.vectorized(VECTOR):
                with T.block("S"):
                    S[t * VECTOR + v] = VALUE
        for t in T.thread_binding(THREADS, thread="threadIdx.x"):
            for v in range(VECTOR):
                B[k, t * VECTOR + v] = S[63 - t * VECTOR - v]
"""


def fetch(vector: int, dtype: str = "float32", value: str = PLAIN) -> PrimFunc:
    """Rows the other way round; a thread copies `vector` cells at a time, each of `value`."""
    text = FETCH.replace("NOTES", noted([0, 2], **{ASYNC: [0]})).replace("VALUE", value)
    for name, number in (("THREADS", 64 // vector), ("VECTOR", vector), ("TYPE", dtype)):
        text = text.replace(name, str(number))
    return parsed(text)


@pytest.mark.parametrize(
    "vector, dtype, call",
    [
        (1, "float32", "cp_async_4("),
        (2, "float32", "cp_async_8("),
        (4, "float32", "cp_async_16("),
        (1, "float64", "cp_async_8("),
        (2, "float64", "cp_async_16("),
        (4, "int8", "cp_async_4("),
        (8, "float16", "cp_async_16("),
        (8, "float32", "cp_async_16("),
    ],
)
def test_a_thread_copies_4_8_or_16_bytes(vector: int, dtype: str, call: str, as_cpp: Together):
    func = fetch(vector, dtype)
    made = lowered(func)
    assert call in wb.build(func, target=H100).source
    check_results(func, made, as_cpp)


@pytest.mark.parametrize("vector, call", [(1, "cp_async_4_or_0("), (4, "cp_async_16_or_0(")])
@pytest.mark.parametrize("condition", ["1 <= k and k < 5", "t < 7", "t * VECTOR + v < 8 * k"])
def test_zeros_are_copied_too(vector: int, call: str, condition: str, as_cpp: Together):
    value = f"T.if_then_else({condition}, A[k - (k + 1) // 6, t * VECTOR + v], T.float32(0))"
    func = fetch(vector, value=value)
    check_results(func, lowered(func), as_cpp)
    assert call in wb.build(func, target=H100).source


@pytest.mark.parametrize("guard", ["t < 20", "k < 7", "k * 32 + t < 300"])
def test_all_threads_commit_where_only_some_copy(guard: str, as_cpp: Together):
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((10, 32), "float32"), B: T.Buffer((10, 32), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    for k in T.serial(10, annotations={noted([0, 2], **{ASYNC: [0]})}):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("S"):
                T.where({guard})
                S[t] = A[k, t]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            if {guard.replace("t", "31 - t")}:
                B[k, t] = S[31 - t]
""")
    check_results(func, lowered(func), as_cpp)


@pytest.mark.parametrize("around", ["if t < 20:", "if t % 2 == 0:"])
def test_some_threads_alone_copy_for_themselves(around: str, as_cpp: Together):
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((10, 32), "float32"), B: T.Buffer((10, 32), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        {around}
            for k in T.serial(10, annotations={noted([0, 2], **{ASYNC: [0]})}):
                with T.block("S"):
                    S[t] = A[k, t]
                B[k, t] = S[t] * T.float32(2)
""")
    check_results(func, lowered(func), as_cpp)


def test_virtual_threads_copy_in_one_group(as_cpp: Together):
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((8, 2, 32), "float32"), B: T.Buffer((8, 2, 32), "float32")):
    S = T.alloc_buffer((2, 32), scope="shared")
    for v in T.thread_binding(2, thread="vthread"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for k in T.serial(8, annotations={noted([0, 2], **{ASYNC: [0]})}):
                with T.block("S"):
                    S[v, t] = A[k, v, t]
                B[k, v, t] = S[v, t] * T.float32(2)
""")
    made = lowered(func)
    assert sum(isinstance(n, CommitGroup) for n in walk(body(made.kernels[0].body))) == 1
    check_results(func, made, as_cpp)


def test_a_copy_of_a_source_that_is_written_is_waited_for(as_cpp: Together):
    """The copy of iteration i reads what i + 1 writes: it has to be through by then."""
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((12, 32), "float32"), B: T.Buffer((12, 32), "float32")):
    S = T.alloc_buffer((12, 32), scope="shared")
    for k in T.serial(1, 12, annotations={noted([0, 1, 1], **{ASYNC: [0]})}):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            S[k, t] = A[k, t]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            A[k - 1, t] = T.float32(k)
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[k, t] = S[k, 31 - t]
""")
    check_results(func, lowered(func), as_cpp)


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_random_copies(first: int, gxx: str):
    """As the program means, by the emulator with every refusal armed, and as C++."""
    made, wanted = [], []
    for seed in range(first, first + 4 * CASES):
        func = random_async_pipeline(random.Random(seed))
        rng = np.random.default_rng(seed)
        args = [rng.integers(-99, 99, b.shape).astype(b.dtype) for b in func.params]
        means, given = ([a.copy() for a in args] for _ in range(2))
        try:
            emulate.evaluate(func, means)
            made.append(lowered(func))
        except (
            Refusal,
            EmulationError,
        ):  # reads what nothing copied, or too early
            continue
        emulate.run(made[-1].kernels, given)
        np.testing.assert_array_equal(given[1], means[1])
        wanted.append((args, means[1]))
    assert len(made) > CASES and any(
        isinstance(n, WaitGroup) for one in made for n in walk(one.kernels[0].body)
    )
    compile_cpp(made).run([(k, args) for k, (args, _) in enumerate(wanted)])
    for (_, given), means_it in wanted:
        np.testing.assert_array_equal(given, means_it)


# --- what is refused ------------------------------------------------------------------------------


COPY_OF = """
@T.prim_func
def main(A: T.Buffer((6, 32), "float16"), B: T.Buffer((6, 32), "DTYPE")):
    S = T.alloc_buffer((32,), "DTYPE", scope="SCOPE")
    for k in T.serial(6, annotations=NOTES):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("S"):
                S[t] = VALUE
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[k, t] = S[t]
"""
ZEROS = "T.if_then_else(t < 9, A[k, t], T.float16({}))"


@pytest.mark.parametrize(
    "value, dtype, scope, why",
    [
        ("A[k, t] + A[k, t]", "float16", "shared", "what it stores in S is computed"),
        ('T.Cast("float32", A[k, t])', "float32", "shared", "what it stores in S is computed"),
        ("B[k, t]", "float16", "local", "S is in local memory"),
        (ZEROS.format(1), "float16", "shared", "it fills S with other than zeros"),
        (ZEROS.format(-0.0), "float16", "shared", "it fills S with other than zeros"),
    ],
)
def test_only_plain_copies_are_asynchronous(value: str, dtype: str, scope: str, why: str):
    text = COPY_OF.replace("VALUE", value).replace("DTYPE", dtype).replace("SCOPE", scope)
    sch = wb.Schedule(parsed(text.replace(", annotations=NOTES", "")))
    with pytest.raises(wb.ScheduleError) as error:
        sch.pipeline("k", stages=[0, 1], async_stages=[0])
    told = str(error.value)
    assert told.startswith(f"Can't pipeline `k`: `S` can't be asynchronous: {why}.")
    assert 'leave it to a stage that is not: sch.pipeline("k", stages=[0, 1])' in told


def test_what_a_thread_copies_twice_is_not_asynchronous():
    """Two copies that are under way at once arrive in any order."""
    again = (
        COPY_OF.replace("DTYPE", "float16")
        .replace("SCOPE", "shared")
        .replace(
            "                S[t] = VALUE",
            "                for j in range(2):\n                    S[t] = A[k, (t + j) % 32]",
        )
    )
    sch = wb.Schedule(parsed(again.replace(", annotations=NOTES", "")))
    with pytest.raises(wb.ScheduleError) as error:
        sch.pipeline("k", stages=[0, 1], async_stages=[0])
    told = str(error.value)
    assert told.startswith(
        "Can't pipeline `k`: `S` can't be asynchronous: it copies into S[0] twice in an iteration."
    )
    assert "found: copies of a thread arrive in any order" in told


NESTED = """
@T.prim_func
def main(A: T.Buffer((6, 4, 32), "float32"), B: T.Buffer((6, 2, 32), "float32")):
    S = T.alloc_buffer((2, 32), scope="shared")
    R = T.alloc_buffer((2, 32), scope="shared")
    for k in T.serial(6, annotations=OUTER):
        for j in T.serial(2, annotations=INNER):
            for t in T.thread_binding(32, thread="threadIdx.x"):
                S[j, t] = A[k, j, t]
            for t in T.thread_binding(32, thread="threadIdx.x"):
                R[j, t] = A[k, j + 2, t]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            for j in range(2):
                B[k, j, t] = R[j, (t + 5) % 32] * T.float32(2) + S[j, 31 - t]
"""


@pytest.mark.parametrize("within", [{}, {ASYNC: [1]}])
def test_a_pipeline_of_copies_may_be_asynchronous(within: dict[str, object], as_cpp: Together):
    outer = noted([0, 0, 0, 1], **{ASYNC: [0]})
    func = parsed(NESTED.replace("OUTER", outer).replace("INNER", noted([0, 1], **within)))
    check_results(func, lowered(func), as_cpp)


def test_a_stage_that_there_is_not():
    sch = wb.Schedule(reversed_rows("{}"))
    with pytest.raises(wb.ScheduleError, match="is not a list of its stages"):
        sch.pipeline("k", stages=[0, 1], async_stages=[2])


def test_two_bytes_are_no_copy():
    text = COPY_OF.replace("VALUE", "A[k, t]").replace("DTYPE", "float16")
    func = parsed(text.replace("SCOPE", "shared").replace("NOTES", noted([0, 1], **{ASYNC: [0]})))
    with pytest.raises(Refusal) as error:
        lowered(func)
    told = error.value
    assert told.headline == "Can't copy into S asynchronously: a thread copies 2 bytes at a time"
    assert told.hint.endswith("with sch.vectorize, or leave the copy out of async_stages")
    assert told.detail == "NVIDIA H100 SXM5 takes 4, 8, 16"


@pytest.mark.parametrize("name", ["cuda", "nvidia/tesla-t4", "metal", "opencl"])
def test_a_target_without_asynchronous_copies(name: str):
    other = target.get(name)
    with pytest.raises(Refusal) as error:
        lower(rows([0, 1]), other)
    told = f"Can't pipeline `k`: {other.title} ({other.arch}) has no asynchronous copies"
    assert error.value.headline == told
    assert error.value.hint.endswith('or take sch.pipeline("k", stages=[0, 1])')


def test_a_language_without_asynchronous_copies():
    (kernel,) = lowered(rows([0, 1])).kernels
    with pytest.raises(Refusal, match="Can't write Metal code: it has no asynchronous copies"):
        codegen.source([kernel], target.get("metal"))


def test_the_step_is_kept_and_leaves_tvms_notes():
    sch = wb.Schedule(reversed_rows("{}"))
    sch.pipeline("k", stages=[0, 2], async_stages=[0])
    text = str(sch.func)
    assert '"software_pipeline_async_stages": [0]' in text
    assert script.parse(text).script() == text


# --- the text -------------------------------------------------------------------------------------


TEXT = """\
  for (int k = 2; k < 12; ++k) {
    cp_async_wait_group<1>();
    __syncthreads();
    cp_async_4(&S[k % 3 * 32 + t], &A[k * 32 + t]);
    cp_async_commit_group();
    B[k * 32 + t - 64] = S[(k + 1) % 3 * 32 - t + 31] * 2.0f;
  }
"""


def test_the_text_names_what_it_does():
    assert TEXT in wb.build(rows([0, 2]), target=H100).source


def test_a_long_copy_goes_on_in_a_second_line():
    sch = strided(wb.Schedule(matmul(256)), copied=2)
    lines = wb.build(sch, target=H100).source.splitlines()
    (first,) = (k for k, line in enumerate(lines) if "cp_async_16(&B_shared[k_0 % 3" in line)
    assert lines[first].endswith("],") and lines[first + 1].lstrip().startswith("&B[k_0 * ")


@pytest.mark.tool
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_nvcc_takes_the_text(arch: str, tmp_path: Path, nvcc: str):
    zeros = "T.if_then_else(t < 7, A[k, t * VECTOR + v], T.float32(0))"
    funcs = [fetch(vector, value=value) for vector in (1, 2, 4) for value in (PLAIN, zeros)]
    texts = [wb.build(func, target=H100).source for func in funcs]
    assert not any("#include" in text for text in texts)
    parts = [
        f"namespace of_{number} {{\n{text.replace('main_kernel', f'kernel_{number}')}\n}}\n"
        for number, text in enumerate(texts)
    ]
    path, made = tmp_path / "all.cu", tmp_path / "all.ptx"
    path.write_text("".join(parts))
    command = [nvcc, f"-arch={arch}", "-ptx", str(path), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    _, *entries = made.read_text().split(".entry kernel_")
    assert sorted(entry[0] for entry in entries) == [str(number) for number in range(len(funcs))]
    for entry in entries:
        assert "cp.async.c" in entry and "cp.async.wait_group" in entry


LARGE = """
@T.prim_func
def main(A: T.Buffer((5, 4096), "float32"), B: T.Buffer((5, 4096), "float32")):
    S = T.alloc_buffer((4096,), scope="shared")
    for k in T.serial(5, annotations=NOTES):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            for u in range(16):
                for v in T.vectorized(4):
                    S[u * 256 + t * 4 + v] = A[k, u * 256 + t * 4 + v]
        for t in T.thread_binding(64, thread="threadIdx.x"):
            for u in range(64):
                B[k, u * 64 + t] = S[4095 - u * 64 - t]
"""


def test_more_than_48_kib_are_asked_for_at_the_launch(as_cpp: Together):
    func = parsed(LARGE.replace("NOTES", noted([0, 3], **{ASYNC: [0]})))
    built = wb.build(func, target=H100)
    assert "block (64, 1, 1), 65536 bytes of shared memory" in built.source
    assert "extern __shared__ __align__(16) unsigned char shared_memory[];" in built.source
    assert "float* S = (float*)&shared_memory[0];" in built.source
    assert dynamic_shared(built.kernels[0])[1] == 65536
    check_results(func, lowered(func), as_cpp)


@pytest.mark.parametrize(
    "name, gives", [("cuda", 48), ("nvidia/tesla-t4", 64), ("nvidia/rtx-4090", 99)]
)
def test_a_block_has_what_its_gpu_gives(name: str, gives: int):
    text = LARGE.replace("NOTES", noted([0, 6])).replace("T.serial(5", "T.serial(1, 5")
    with pytest.raises(wb.ScheduleError, match=f"needs 114688 bytes .* gives {gives << 10}"):
        wb.build(parsed(text), target=name)


# --- faults, marked on a lowered kernel -----------------------------------------------------------


def faults(kernel: Kernel, guarded: set[bool]) -> Iterator[tuple[str, Kernel]]:
    """`kernel` with one wait, barrier or commit gone or out of place, or one guard.

    That is one of copies, if `guarded` is {True}, or of what uses them, if {False}.
    """
    for node in walk(kernel.body):
        match node:
            case SeqStmt(stmts):
                for k, pair in enumerate(pairwise(stmts)):
                    if _order_matters(*pair):
                        swapped = (*stmts[:k], *reversed(pair), *stmts[k + 2 :])
                        yield "order", _with(kernel, node, SeqStmt(swapped))
            case WaitGroup(count):
                yield "wait", _with(kernel, node, None)
                yield "count", _with(kernel, node, WaitGroup(count + 1))
            case Barrier() | CommitGroup():
                yield type(node).__name__, _with(kernel, node, None)
            case IfThenElse(then_case=then) if {s.is_async for s in stores(then)} == guarded:
                yield "guard", _with(kernel, node, then)
            case _:
                pass


def _order_matters(first: Stmt, then: Stmt) -> bool:
    waits = isinstance(first, WaitGroup) and isinstance(then, Barrier)
    return waits or (isinstance(then, CommitGroup) and isinstance(first, BufferStore))


def _with(kernel: Kernel, old: Stmt, new: Stmt | None) -> Kernel:
    return replace(kernel, body=rewrite(kernel.body, lambda n: new if n is old else n))


def check_found(func: PrimFunc, kernels: tuple[Kernel, ...], what: str) -> None:
    args = [np.ones(b.shape, b.dtype) for b in func.params]
    try:
        emulate.run(kernels, args)
    except EmulationError:
        return
    pytest.fail(f"{what} is not found:\n{script.show(kernels[0])}")


def matmul_of(stages: list[int], order: list[int], apart: list[int]) -> PrimFunc:
    sch = tiled(4, size=25)
    sch.pipeline("k_0", stages=stages, order=order, async_stages=apart)
    return sch.func


def some_turns(low: str, high: str | int) -> PrimFunc:
    return reversed_rows(noted([0, 2], **{ASYNC: [0]}), low, high, around="for j in range(5):")


FAULTY = {
    "fetch first": (lambda: rows([0, 1], turns=5), {True}),
    "three copies": (lambda: rows([0, 2], turns=5), {True}),
    "work first": (lambda: rows([0, 2], [1, 0], turns=5), {True}),
    "four copies": (lambda: rows([0, 2], turns=6, **{COPIES: {"S": 4}}), {True}),
    "prologue": (lambda: some_turns("j + 7", 12), {True}),
    "epilogue": (lambda: some_turns("0", "j"), {False}),
    "one group": (lambda: matmul_of([0, 0, 1], [0, 1, 2], [0]), set()),
}


@pytest.mark.tool
@pytest.mark.parametrize("name", FAULTY)
def test_every_fault_is_found(name: str):
    make, guarded = FAULTY[name]
    func = make()
    (kernel,) = lowered(func).kernels
    found = list(faults(kernel, guarded))
    assert len(found) >= 8
    for what, faulty in found:
        check_found(func, (faulty,), what)


@pytest.mark.parametrize("stages, order", [([0, 2], None), ([0, 3], None), ([0, 3], [1, 0])])
def test_one_copy_too_few_is_found(
    stages: list[int], order: list[int] | None, monkeypatch: pytest.MonkeyPatch
):
    right = Needs.least_copies
    monkeypatch.setattr(Needs, "least_copies", lambda self, buffer: right(self, buffer) - 1)
    monkeypatch.setattr(Needs, "copies", Needs.least_copies)
    func = rows(stages, order)
    check_found(func, lowered(func).kernels, "one copy too few")
