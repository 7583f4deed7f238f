"""Double buffers: fetched a turn ahead into the other copy, with one barrier a turn; or refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from textwrap import indent

import numpy as np
import pytest

import workbench as wb
from tests.support.gpu_programs import MATMUL, block_matmul, parsed
from tests.support.pipelines import expanded
from tests.support.together import Together
from workbench import emulate, target
from workbench.access import difference, random_data
from workbench.diag import Refusal
from workbench.emulate import EmulationError
from workbench.ir import Barrier, For, PrimFunc, rewrite, walk
from workbench.lower import Lowered, lower

CUDA = target.get("cuda")
NOTE = "double_buffer_scope"


def tiled(depth: int = 8, *noted: str, size: int = 64) -> wb.Schedule:
    """The tutorial's shared-memory matmul, with two copies of the arrays of `noted` blocks."""
    sch = wb.Schedule(_tiled(depth, size))
    for block in noted:
        sch.annotate(block, NOTE, 0)
    return sch


@cache
def _tiled(depth: int, size: int) -> PrimFunc:
    sch = wb.Schedule(parsed(MATMUL.replace("64", str(size))))
    block_matmul(sch, sch.get_block("C"), True, local=4, threads=4, depth=depth)
    return sch.func


def barriers(lowered: Lowered) -> tuple[int, int]:
    """How many there are in the text, and how many of them in loops: once a turn."""
    bodies = [kernel.body for kernel in lowered.kernels]
    loops = [n for body in bodies for n in walk(body) if isinstance(n, For)]
    within = {id(n) for loop in loops for n in walk(loop) if isinstance(n, Barrier)}
    return sum(isinstance(n, Barrier) for body in bodies for n in walk(body)), len(within)


def check_results(func: PrimFunc, lowered: Lowered, as_cpp: Together) -> None:
    """The emulator, every refusal armed, and the C++ text give what the program means."""
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-4, 5, b.shape).astype(b.dtype) for b in func.params]
    wanted, emulated = ([a.copy() for a in inputs] for _ in range(2))
    emulate.evaluate(func, wanted)
    emulate.run(lowered.kernels, emulated)
    for a, b in zip(wanted, emulated, strict=True):
        np.testing.assert_array_equal(b, a)
    as_cpp.expect(lowered, inputs, wanted)


def check_reversed(lowered: Lowered, as_cpp: Together) -> None:
    """Each row of A, which all threads fetch together, comes out the other way round."""
    a = np.random.default_rng(0).integers(-4, 5, (6, 32)).astype("float32")
    out = np.zeros_like(a)
    emulate.run(lowered.kernels, [a.copy(), out])
    np.testing.assert_array_equal(out, a[:, ::-1])
    as_cpp.expect(lowered, [a, np.zeros_like(a)], [a, out])


@pytest.mark.parametrize(
    "depth, waits, without", [(8, (2, 1), 2), (32, (1, 0), 2), (64, (1, 0), 0)]
)
def test_a_tile_of_which_there_are_two_needs_one_barrier(
    depth: int, waits: tuple[int, int], without: int, as_cpp: Together
):
    func = tiled(depth, "A_shared", "B_shared").func
    lowered = lower(func, CUDA)
    assert barriers(lowered) == waits
    assert barriers(lower(tiled(depth).func, CUDA))[1] == without
    check_results(func, lowered, as_cpp)


def test_one_of_two_arrays_alone_still_needs_both_barriers(as_cpp: Together):
    func = tiled(8, "A_shared").func
    lowered = lower(func, CUDA)
    assert barriers(lowered)[1] == 2
    check_results(func, lowered, as_cpp)


def test_the_text_shows_the_turns():
    source = wb.build(tiled(8, "A_shared", "B_shared")).source
    assert "float A_shared[256];" in source
    ahead, loop = source.split("for (int k_0 = 1; k_0 < 8; ++k_0) {\n    __syncthreads();")
    assert "A_shared[ax0_ax1_fused_0 * 64 + i_1_j_1_fused * 4]" in ahead
    assert "A_shared[k_0 % 2 * 128 + ax0_ax1_fused_0 * 64 + i_1_j_1_fused * 4] =" in loop
    assert "A_shared[(k_0 + 1) % 2 * 128 + " in loop and loop.count("__syncthreads()") == 1


@pytest.mark.parametrize("size", [60, 61, 50])
@pytest.mark.parametrize("depth", [8, 32])
def test_tiles_with_a_tail_are_fetched_ahead(size: int, depth: int, as_cpp: Together):
    sch = tiled(depth, "A_shared", "B_shared", size=size)
    lowered = lower(sch.func, CUDA)
    assert barriers(lowered) == ((2, 1) if depth == 8 else (1, 0))
    check_results(sch.func, lowered, as_cpp)


GUARDED = """
@T.prim_func
def main(A: T.Buffer((96,), "float32"), B: T.Buffer((96,), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(3):
            with T.block("S"):
                T.where({made})
                T.reads(A[k * 32 + t])
                T.writes(S[t])
                T.block_attr({{"double_buffer_scope": 0}})
                S[t] = A[k * 32 + t]
            if {used}:
                B[k * 32 + t] = S[31 - t]
"""
GUARDS = ("k * 32 + t < 70", "k * 32 + 31 - t < 70", "k < 2", "k < 1", "t < 30", "31 - t < 30",
          "t >= 0", "A[0] > T.float32(9)")  # fmt: skip


@pytest.mark.parametrize("made", GUARDS)
@pytest.mark.parametrize("used", GUARDS)
def test_a_turn_reads_what_its_guard_let_it_fetch(made: str, used: str, as_cpp: Together):
    func = parsed(GUARDED.format(made=made, used=used))

    def runs(test: str, k: int, t: int) -> bool:
        return "A" not in test and bool(eval(test, {"k": k, "t": t}))

    places = [(k, t) for k in range(3) for t in range(32)]
    if not all(runs(made, k, 31 - t) for k, t in places if "A" in used or runs(used, k, t)):
        with pytest.raises(Refusal, match="may read what another one wrote"):
            lower(func, CUDA)
        return
    lowered = lower(func, CUDA)
    a = np.random.default_rng(0).integers(-4, 5, 96).astype("float32")  # none is above 9
    wanted, emulated = (np.zeros_like(a) for _ in range(2))
    for k, t in places:
        wanted[k * 32 + t] = a[k * 32 + 31 - t] if runs(used, k, t) else 0
    emulate.run(lowered.kernels, [a.copy(), emulated])
    np.testing.assert_array_equal(emulated, wanted)
    as_cpp.expect(lowered, [a, np.zeros_like(a)], [a, wanted])


def fetch(to: str, source: str, *head: str) -> str:
    """Each thread copies its cell of a row; noted, unless `head` says otherwise."""
    lines = "".join(f"        {line}\n" for line in head or [f'T.block_attr({{"{NOTE}": 0}})'])
    return f"""\
for t in T.thread_binding(32, thread="threadIdx.x"):
    with T.block("{to}"):
{lines}        {to}[t] = {source}
"""


def use(row: str, value: str) -> str:
    """Each thread stores a cell of that row of B."""
    return f"""\
for t in T.thread_binding(32, thread="threadIdx.x"):
    with T.block("B"):
        B[{row}, t] = {value}
"""


def inside(loop: str, *parts: str) -> str:
    return f"{loop}\n" + indent("".join(parts), "    ")


def program(body: str) -> PrimFunc:
    return parsed(f"""
@T.prim_func
def main(A: T.Buffer((12, 32), "float32"), B: T.Buffer((12, 32), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    R = T.alloc_buffer((32,), scope="local")
{indent(body, "    ")}""")


NOTED = 'T.block_attr({"double_buffer_scope": 0})'
TWELVE, THREE, FOUR = "for k in range(12):", "for h in range(3):", "for k in range(4):"
S, USE = fetch("S", "A[k, t]"), use("k", "S[31 - t]")
ROW = "h * 4 + k"
ODD = {  # and how many barriers there are in the text, and in loops
    "two turns": (inside("for k in range(3, 5):", S, USE), (1, 0)),
    "one turn": (inside("for k in range(1):", S, USE), (1, 0)),
    "unrolled": (inside("for k in T.unroll(12):", S, USE), (2, 1)),
    "over time": (
        inside(THREE, inside(FOUR, fetch("S", f"A[{ROW}, t]"), use(ROW, "S[31 - t]"))), (2, 2)
    ),
    "no turns, or some": (
        inside("for h in range(4):", inside("for k in range(h):", fetch("S", "A[h * 3 + k, t]"),
        use("h * 3 + k", "S[31 - t]"))), (3, 3)
    ),
    "behind other work": (
        inside(TWELVE, use("k", "A[k, t]"), S, use("k", "S[31 - t] + B[k, t]")), (2, 1)
    ),
    "in place": (inside(TWELVE, fetch("S", "B[k, t]"), use("k", "S[31 - t] + A[k, t]")), (2, 1)),
    "in part": (
        inside(TWELVE, fetch("S", "A[k, t]", "T.where(t < 20)", NOTED),
        inside("if k < 9:", use("k", "T.if_then_else(t < 12, T.float32(0), S[31 - t])"))), (1, 1)
    ),
    "two in a row": (
        inside(TWELVE, fetch("R", "A[k, t]"), fetch("S", "R[t]"), use("k", "S[31 - t]")), (2, 1)
    ),
    "of registers alone": (
        inside(TWELVE, fetch("R", "A[k, t]"), fetch("S", "R[t]", "pass"), USE), (4, 2)
    ),
    "of a loop and of one in it": (
        inside(THREE, fetch("R", "A[h, t]"), inside(FOUR, fetch("S", f"A[{ROW}, t]"),
        use(ROW, "S[31 - t] + R[t]"))), (4, 3)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_ones(name: str, as_cpp: Together):
    body, waits = ODD[name]
    func = program(body)
    assert difference(func, expanded(func), random_data(func, 0)) == ""
    wb.build(func)
    lowered = lower(func, CUDA)
    assert barriers(lowered) == waits
    check_results(func, lowered, as_cpp)


def test_what_each_thread_fetches_for_itself_is_ahead_too(as_cpp: Together):
    loop = "for t in T.thread_binding(32, thread='threadIdx.x'):"
    own = [f'with T.block("R"):\n    {NOTED}\n    R[t] = A[k, t]\n', "B[k, t] = R[t]\n"]
    func = program(inside(loop, inside(TWELVE, *own)))
    lowered = lower(func, CUDA)
    assert "R[k % 2] = A[k * 32 + t]" in wb.build(func).source
    check_results(func, lowered, as_cpp)


SIZED = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 32), "float32")
    B = T.match_buffer(b, (n, 32), "float32")
    S = T.alloc_buffer((32,), "float32", scope="shared")
    for k in T.serial(n, annotations=NOTES):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("S"):
                S[t] = A[k, t]
        for t in T.thread_binding(32, thread="threadIdx.x"):
            B[k, t] = S[31 - t] * T.float32(2)
"""


def test_any_number_of_turns():
    kernel = wb.build(parsed(SIZED.replace(", annotations=NOTES", "").replace(
        'T.block("S"):', f'T.block("S"):\n                {NOTED}')))  # fmt: skip
    for rows in (0, 1, 2, 5):
        a = np.random.default_rng(rows).random((rows, 32), "float32")
        b = np.zeros_like(a)
        kernel.emulate(a, b)
        np.testing.assert_array_equal(b, a[:, ::-1] * 2)


INSTEAD = {
    "reads what the turn before writes": inside(
        "for k in range(11):", fetch("S", "B[k, t]"), use("k + 1", "S[31 - t] + A[k, t]")
    ),
    "reads what is not fetched ahead": inside(
        TWELVE, fetch("R", "A[k, t]", "pass"), fetch("S", "R[t]"), USE
    ),
    "reads what a loop inside fetches ahead": inside(
        THREE, inside("for k in range(2):", S, fetch("R", "S[31 - t]")), use("h", "R[t]")
    ),
}


@pytest.mark.parametrize("name", INSTEAD)
def test_what_is_done_instead_of_what_is_refused(name: str, as_cpp: Together):
    """The hint of a refusal is a step that can be taken; the note then asks for the copies."""
    sch = wb.Schedule(program(INSTEAD[name]))
    with pytest.raises(
        wb.ScheduleError, match=r"Can't double-buffer [SR]: `[SR]` would be"
    ) as told:
        wb.build(sch)
    exec(told.value.hint, {"sch": sch})
    wb.build(sch)
    check_results(sch.func, lower(sch.func, CUDA), as_cpp)


def test_without_its_barrier_the_emulator_sees_a_race():
    (kernel,) = lower(tiled(8, "A_shared", "B_shared").func, CUDA).kernels
    body = rewrite(kernel.body, lambda n: None if isinstance(n, Barrier) else n)
    args = [np.zeros(b.shape, b.dtype) for b in kernel.params]
    args = [a.reshape(64, 64) for a in args]
    with pytest.raises(EmulationError):
        emulate.run([replace(kernel, body=body)], args)


def test_padded_rows_stay_padded(as_cpp: Together):
    sch = tiled(8, "A_shared", "B_shared")
    sch.storage_align("B_shared", 0, 0, 32, 4)
    lowered = lower(sch.func, CUDA)
    assert barriers(lowered) == (2, 1)
    check_results(sch.func, lowered, as_cpp)


def test_a_loop_around_the_turns_waits_between_them(as_cpp: Together):
    func = parsed(f"""
@T.prim_func
def main(A: T.Buffer((6, 32), "float32"), B: T.Buffer((6, 32), "float32")):
    S = T.alloc_buffer((32,), scope="shared")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for again in range(2):
            for k in range(3):
                with T.block("S"):
                    T.reads(A[again * 3 + k, t])
                    T.writes(S[t])
                    T.block_attr({{"{NOTE}": 0}})
                    S[t] = A[again * 3 + k, t]
                B[again * 3 + k, t] = S[31 - t]
""")
    lowered = lower(func, CUDA)
    assert barriers(lowered) == (
        3,
        3,
    )  # also ahead of the next first fetch, to the copy of the last
    check_reversed(lowered, as_cpp)


def test_copies_that_are_not_kept_apart_wait_twice(as_cpp: Together):
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((6, 32), "float32"), B: T.Buffer((6, 32), "float32")):
    S = T.alloc_buffer((2, 32), scope="shared")
    for t in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(6):
            S[0, t] = A[k, t]
            S[1, t] = A[k, t]
            B[k, t] = S[k % 2, 31 - t]
""")
    lowered = lower(func, CUDA)
    assert barriers(lowered) == (2, 2)
    check_reversed(lowered, as_cpp)
