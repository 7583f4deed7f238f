"""A step is judged alike at every size: what is proved of 4 cells is proved of 1024."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache

import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from workbench.ir import IRModule, PrimFunc
from workbench.script import parse

SIZES = (4, 50, 1024)
HEAD = "@T.prim_func\ndef main({}):\n{}"
PROGRAMS = {
    "matmul": (
        "A: T.Buffer((N, N), "
        '"float32"), '
        "B: T.Buffer((N, N), "
        '"float32"), '
        "D: T.Buffer((N, N), "
        '"float32")',
        """\
    C = T.alloc_buffer((N, N))
    for i, j, k in T.grid(N, N, N):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(N, N):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
""",
    ),
    "conv": (
        "A: T.Buffer((N, N), "
        '"float32"), '
        "W: T.Buffer((3, 3), "
        '"float32"), '
        "C: T.Buffer((N, N), "
        '"float32")',
        """\
    P = T.alloc_buffer((N + 2, N + 2))
    for i, j in T.grid(N + 2, N + 2):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(
                1 <= vi and vi < N + 1 and 1 <= vj and vj < N + 1, A[vi - 1, vj - 1], T.float32(0)
            )
    for i, j, r, s in T.grid(N, N, 3, 3):
        with T.block("C"):
            vi, vj, vr, vs = T.axis.remap("SSRR", [i, j, r, s])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + P[vi + vr, vj + vs] * W[vr, vs]
""",
    ),
    "softmax": (
        'A: T.Buffer((N, N), "float32"), C: T.Buffer((N, N), "float32")',
        """\
    M = T.alloc_buffer((N,))
    E = T.alloc_buffer((N, N))
    S = T.alloc_buffer((N,))
    for i, k in T.grid(N, N):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32("-inf")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid(N, N):
        with T.block("E"):
            vi, vk = T.axis.remap("SS", [i, k])
            E[vi, vk] = T.exp(A[vi, vk] - M[vi])
    for i, k in T.grid(N, N):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, k in T.grid(N, N):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = E[vi, vk] / S[vi]
""",
    ),
    "rowsum": (
        'A: T.Buffer((N, N), "float32"), C: T.Buffer((N,), "float32")',
        """\
    B = T.alloc_buffer((N, N))
    S = T.alloc_buffer((N,))
    for i, k in T.grid(N, N):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] * A[vi, vk]
    for i, k in T.grid(N, N):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + B[vi, vk]
    for i in range(N):
        with T.block("C"):
            vi = T.axis.spatial(N, i)
            C[vi] = T.sqrt(S[vi])
""",
    ),
    "stencil": (
        'A: T.Buffer((N + 2,), "float32"), C: T.Buffer((N,), "float32")',
        """\
    B = T.alloc_buffer((N + 2,))
    for i in range(N + 2):
        with T.block("B"):
            v = T.axis.spatial(N + 2, i)
            B[v] = A[v] * T.float32(2)
    for i in range(N):
        with T.block("C"):
            v = T.axis.spatial(N, i)
            C[v] = B[v] + B[v + 1] + B[v + 2]
""",
    ),
    "transpose": (
        'A: T.Buffer((N, N), "float32"), C: T.Buffer((N, N), "float32")',
        """\
    B = T.alloc_buffer((N, N))
    for i, j in T.grid(N, N):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
    for i, j in T.grid(N, N):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
""",
    ),
    "pool": (
        'A: T.Buffer((N * 2, N * 2), "float32"), C: T.Buffer((N, N), "float32")',
        """\
    B = T.alloc_buffer((N * 2, N * 2))
    for i, j in T.grid(N * 2, N * 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.max(A[vi, vj], T.float32(0))
    for i, j, r, s in T.grid(N, N, 2, 2):
        with T.block("C"):
            vi, vj, vr, vs = T.axis.remap("SSRR", [i, j, r, s])
            with T.init():
                C[vi, vj] = T.float32("-inf")
            C[vi, vj] = T.max(C[vi, vj], B[vi * 2 + vr, vj * 2 + vs])
""",
    ),
    "chain": (
        'A: T.Buffer((N, N), "float32"), C: T.Buffer((N, N), "float32")',
        """\
    B = T.alloc_buffer((N, N))
    for i, j in T.grid(N, N):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(N, N):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
""",
    ),
    "flat": (
        'A: T.Buffer((N * N,), "float32"), C: T.Buffer((N * N,), "float32")',
        """\
    B = T.alloc_buffer((N, N))
    for f in range(N * N):
        with T.block("B"):
            vi = T.axis.spatial(N, f // N)
            vj = T.axis.spatial(N, f % N)
            B[vi, vj] = A[vi * N + vj] * T.float32(2)
    for i, j in T.grid(N, N):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi * N + vj] = B[vi, vj] + T.float32(1)
""",
    ),
    "reverse": (
        'A: T.Buffer((N,), "float32"), C: T.Buffer((N,), "float32")',
        """\
    B = T.alloc_buffer((N,))
    for i in range(N):
        with T.block("B"):
            v = T.axis.spatial(N, i)
            B[v] = A[v] * T.float32(2)
    for i in range(N):
        with T.block("C"):
            v = T.axis.spatial(N, i)
            C[v] = B[N - 1 - v]
""",
    ),
    "twice": (
        "A: T.Buffer((N, N), "
        '"float32"), '
        "C: T.Buffer((N, N), "
        '"float32"), '
        "D: T.Buffer((N, N), "
        '"float32")',
        """\
    B = T.alloc_buffer((N, N))
    for i, j in T.grid(N, N):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(N, N):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(N, N):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] * C[vi, vj]
""",
    ),
    "refill": (
        'A: T.Buffer((N, N), "float32"), C: T.Buffer((N, N), "float32")',
        """\
    B = T.alloc_buffer((N,))
    for i in range(N):
        for j in range(N):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj] = A[vi, vj] * T.float32(2)
        for j in range(N):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj] + T.float32(1)
""",
    ),
}
VERBS = (
    *("split", "split", "split", "fuse", "reorder", "compute_at", "reverse_compute_at"),
    *("compute_inline", "reverse_compute_inline", "cache_read", "cache_write", "rfactor"),
    *("decompose_reduction", "merge", "reindex", "blockize"),
)


@dataclass(frozen=True)
class Told:
    """A step, with blocks and loops told by their number, so that it can be taken at any size."""

    verb: str
    block: int
    loop: int
    other: int
    second: int
    factors: list[int | None]

    def take(self, sch: wb.Schedule) -> str:
        """The verdict: nothing, or the headline of the refusal."""
        blocks = sch.get_blocks()
        block, other = blocks[self.block % len(blocks)], blocks[self.other % len(blocks)]
        loops, there = sch.get_loops(block), sch.get_loops(other)
        if not loops or not there:
            return "no loops"
        loop, at = loops[self.loop % len(loops)], there[self.second % len(there)]
        try:
            match self.verb:
                case "split":
                    sch.split(loop, factors=self.factors)
                case "fuse":
                    sch.fuse(loop, loops[(self.loop + 1) % len(loops)])
                case "reorder":
                    sch.reorder(loop, loops[self.second % len(loops)])
                case "compute_at" | "reverse_compute_at" as verb:
                    getattr(sch, verb)(block, at)
                case "compute_inline" | "reverse_compute_inline" as verb:
                    getattr(sch, verb)(block)
                case "cache_read" | "cache_write" as verb:
                    getattr(sch, verb)(block, 0, "shared")
                case "rfactor":
                    sch.rfactor(loop, factor_axis=0)
                case "decompose_reduction":
                    sch.decompose_reduction(block, loop)
                case "merge":
                    sch.merge(loop, at)
                case "reindex":
                    sch.reindex(block, ("read" if self.second % 2 else "write", 0))
                case "blockize":
                    sch.blockize(loop)
        except wb.ScheduleError as refused:
            return str(refused).partition("\n")[0]
        return ""


@cache
def parsed(name: str, size: int) -> PrimFunc | IRModule:
    params, body = (re.sub(r"\bN\b", str(size), part) for part in PROGRAMS[name])
    return parse(HEAD.format(params, body))


def program(name: str, size: int) -> wb.Schedule:
    return wb.Schedule(parsed(name, size))


def shape(sch: wb.Schedule) -> str:
    """The program without its numbers: where it differs, so may a verdict."""
    return re.sub(r"\d+", "0", sch.func.script())


@pytest.mark.fuzz
@pytest.mark.parametrize("name", PROGRAMS)
def test_random_steps_are_judged_alike_at_every_size(name):
    judged = 0
    for seed in seeds()[::2]:
        rng = random.Random(f"{name} {seed}")
        schs = [program(name, size) for size in SIZES]
        for _ in range(10):
            step = Told(
                rng.choice(VERBS),
                *(rng.randrange(12) for _ in range(4)),
                rng.choice([[None, 2], [2, None], [None, 3]]),
            )
            verdicts = [step.take(sch) for sch in schs]
            accepted = {not verdict for verdict in verdicts}
            assert len(accepted) == 1, f"seed {seed}: {step}: {verdicts}\n{schs[-1].func.script()}"
            judged += 1
            if True in accepted and len({shape(sch) for sch in schs}) > 1:
                break
    assert judged > CASES


def cut_twice(sch: wb.Schedule, block: str, number: int, inner: bool) -> None:
    """Split a loop by 3 and one of its parts by 3 again: two remainders, one in the other."""
    parts = sch.split(sch.get_loops(block)[number], factors=[None, 3])
    sch.split(parts[inner], factors=[None, 2])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("inner", [False, True])
def test_loops_cut_twice_are_told_apart(size, inner):
    steps = (
        ("matmul", "C", 2, lambda sch: sch.decompose_reduction("C", sch.get_loops("C")[2])),
        ("matmul", "C", 2, lambda sch: sch.rfactor(sch.get_loops("C")[4], factor_axis=0)),
        ("matmul", "C", 2, lambda sch: sch.reorder(sch.get_loops("C")[2], sch.get_loops("C")[1])),
        ("matmul", "C", 2, lambda sch: sch.compute_at("C", sch.get_loops("D")[0])),
        ("flat", "B", 0, lambda sch: sch.compute_at("B", sch.get_loops("C")[0])),
    )
    for name, block, number, step in steps:
        sch = program(name, size)
        cut_twice(sch, block, number, inner)
        step(sch)


@pytest.mark.parametrize("size", SIZES)
def test_a_loop_that_moves_nothing_is_refused_at_every_size(size):
    text = program("rowsum", size).func.script()
    repeated = text.replace("for i, k in T.grid(", f"for r, i, k in T.grid({size}, ")
    sch = wb.Schedule(parse(repeated))
    cut_twice(sch, "S", 2, inner=True)
    with pytest.raises(wb.ScheduleError, match="a term may be added twice"):
        sch.decompose_reduction("S", sch.get_loops("S")[0])


WINDOW = """
@T.prim_func
def main(A: T.Buffer(({n} + 2,), "float32"), O: T.Buffer(({n},), "float32")):
    P = T.alloc_buffer(({n} + 2,))
    for h in range({n} + 2):
        with T.block("P"):
            v = T.axis.spatial({n} + 2, h)
            P[v] = A[v] * T.float32(2)
    for h in range({n}):
        with T.block("O"):
            v = T.axis.spatial({n}, h)
            O[v] = {value}
"""
SUM = "P[v] + P[v + 1] + P[v + 2]"


@pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")
@pytest.mark.parametrize("n", [100, 101, 14_000, 14_003, 1_000_000])
@pytest.mark.parametrize("scope", ["shared", "local"])
@pytest.mark.parametrize("tile", [4, 128])
def test_a_window_of_each_block_or_thread_is_built_at_every_size(n, scope, tile):
    for first in (True, False):
        sch = wb.Schedule(parse(WINDOW.format(n=n, value=SUM)))
        sch.set_scope("P", 0, scope)
        block, thread = sch.split(sch.get_loops("O")[0], factors=[None, tile])
        at = block if scope == "shared" else thread
        if first:
            sch.compute_at("P", at)
        sch.bind(block, "blockIdx.x")
        sch.bind(thread, "threadIdx.x")
        if not first:
            sch.compute_at("P", at)
        wb.build(sch)


@pytest.mark.parametrize("n", [100, 101, 14_000, 14_003])
def test_a_block_that_reads_what_only_the_next_one_makes_is_refused_at_every_size(n):
    sch = wb.Schedule(parse(WINDOW.format(n=n, value=SUM)))
    sch.compute_at("P", sch.split(sch.get_loops("O")[0], factors=[None, 4])[0])
    moved = sch.func.script().replace("for ax0 in range(6)", "for ax0 in range(5)")
    sch = wb.Schedule(parse(moved))
    with pytest.raises(wb.ScheduleError, match="`O` reads parts of P that another block writes"):
        sch.bind(sch.get_loops("O")[0], "blockIdx.x")


PADDED = """
@T.prim_func
def main(A: T.Buffer((3, {n}, {n}), "float32"), W: T.Buffer((4, 3, 3, 3), "float32"),
         O: T.Buffer((4, {n}, {n}), "float32")):
    P = T.alloc_buffer((3, {n} + 2, {n} + 2))
    for c, h, w in T.grid(3, {n} + 2, {n} + 2):
        with T.block("P"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            P[vc, vh, vw] = T.if_then_else(
                1 <= vh and vh < {n} + 1 and 1 <= vw and vw < {n} + 1,
                A[vc, vh - 1, vw - 1], T.float32(0))
    for f, h, w, c, r, s in T.grid(4, {n}, {n}, 3, 3, 3):
        with T.block("O"):
            vf, vh, vw, vc, vr, vs = T.axis.remap("SSSRRR", [f, h, w, c, r, s])
            with T.init():
                O[vf, vh, vw] = T.float32(0)
            O[vf, vh, vw] = O[vf, vh, vw] + P[vc, vh + vr, vw + vs] * W[vf, vc, vr, vs]
"""


@pytest.mark.filterwarnings("ignore::workbench.ScheduleWarning")
@pytest.mark.parametrize("n", [8, 13, 56, 57, 224])
def test_a_convolution_of_padded_tiles_is_built_at_every_size(n):
    sch = wb.Schedule(parse(PADDED.format(n=n)))
    sch.set_scope("P", 0, "shared")
    f, h, w, *_ = sch.get_loops("O")
    (h_0, h_1), (w_0, w_1) = sch.split(h, [None, 4]), sch.split(w, [None, 4])
    sch.reorder(h_0, w_0, h_1, w_1)
    sch.compute_at("P", w_0)
    for loop, axis in ((f, "blockIdx.z"), (h_0, "blockIdx.y"), (w_0, "blockIdx.x"),
                       (h_1, "threadIdx.y"), (w_1, "threadIdx.x")):  # fmt: skip
        sch.bind(loop, axis)
    wb.build(sch)


def padded(n: int, m: int) -> wb.Schedule:
    """A block `D` behind the copy that leaves the padding of `C` out, tile by tile."""
    sch = wb.Schedule(
        parse(f"""
@T.prim_func
def main(A: T.Buffer(({n}, {m}), "float32"), D: T.Buffer(({n}, {m}), "float32")):
    C = T.alloc_buffer(({n}, {m}))
    for i, j in T.grid({n}, {m}):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid({n}, {m}):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
""")
    )
    sch.pad_einsum("C", [16, 16])
    i, j = sch.get_loops("C")
    (i_0, i_1), (j_0, j_1) = sch.split(i, [None, 16]), sch.split(j, [None, 16])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.split(j_1, [4, 4])
    sch.reverse_compute_at("C_pad", "j_1_0")
    return sch


@pytest.mark.parametrize("size", [(10, 13), (50, 37), (100, 100), (1000, 1000), (1000, 1002)])
def test_what_follows_padding_moves_to_it_at_every_size(size):
    padded(*size).reverse_compute_at("D", "j_1_0")


@pytest.mark.parametrize("size", [(20, 20), (100, 100), (1000, 1000)])
def test_what_reads_cells_that_are_left_out_stays_at_every_size(size):
    text = padded(*size).func.script()
    stop = size[1] // 4
    sch = wb.Schedule(
        parse(text.replace(f"j_0 * 4 + j_1_0 < {stop}", f"j_0 * 4 + j_1_0 < {stop - 1}"))
    )
    with pytest.raises(wb.ScheduleError, match="not all that it reads of C is made there"):
        sch.reverse_compute_at("D", "j_1_0")
