"""What a loop would load in every turn is loaded once, where that loads nothing else, nor more."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import seeds
from tests.support.cpp import Executable, compile_cpp
from tests.support.gpu_programs import blocked_matmul, parsed
from tests.support.random_kernels import Maker
from workbench import codegen, emulate, insight, script, target
from workbench.ir import (
    CP_ASYNC,
    THREAD_AXES,
    Barrier,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    Stmt,
    Var,
    binary,
    const,
    flat_index,
    rewrite,
    seq,
    walk,
)
from workbench.lower import Lowered, lower
from workbench.lower.keep_values import keep_values

CUDA = target.get("cuda")
HEAD = """
@T.prim_func
def main(A: T.Buffer((64,), "int32"), N: T.Buffer((8,), "int32"), B: T.Buffer((64,), "int32")):
    S = T.alloc_buffer((64,), "int32", scope="shared")
    for t in T.thread_binding(4, thread="threadIdx.x"):
"""
# What a thread does, and how many loads of A and N are left of how many; all within 64 cells.
MOVED = {
    "a sum": ("""
        for k in range(16):
            B[t * 16 + k] = A[t] * k
""", 16, 1),
    "two loops that the cell is not told by": ("""
        for k, j in T.grid(4, 4):
            B[t * 16 + k * 4 + j] = A[t] * k + j
""", 16, 1),
    "one of two loops tells it": ("""
        for k, j in T.grid(4, 4):
            B[t * 16 + k * 4 + j] = A[t + k] + j
""", 16, 4),
    "an inner loop tells it, unrolled": ("""
        for k in T.unroll(4):
            for j in T.unroll(4):
                B[t * 16 + k * 4 + j] = A[t + j] + k
""", 16, 4),
    "loops that do not begin at 0": ("""
        for k in T.unroll(1, 5):
            for j in T.unroll(3, 6):
                B[t * 16 + k * 3 - j + 2] = A[t + j * 2] + k
""", 12, 3),
    "a product": ("""
        for k, i in T.grid(4, 1):
            for x in T.unroll(2):
                for y in T.unroll(2):
                    B[t * 16 + k * 4 + x * 2 + y] = A[t * 2 + x + k] * A[y * 8 + k] + i
""", 32, 16),
    "one cell twice, once under a condition": ("""
        for k in range(4):
            B[t * 16 + k] = A[t]
            if k > N[0]:
                B[t * 16 + k] = A[t] * 2
""", 12, 2),
    "what a condition asks": ("""
        for k in range(4):
            if A[t] > k:
                B[t * 16 + k] = 1
""", 4, 1),
    "an index that memory tells keeps its own load": ("""
        for k in range(4):
            B[t * 16 + k] = A[N[t]]
""", 8, 5),
    "both of a Select": ("""
        for k in range(4):
            B[t * 16 + k] = T.Select(k > 1, A[t], A[t + 1])
""", 8, 2),
    "more than fit, but for a loop inside": ("""
        for k in T.unroll(2):
            for x in T.unroll(3):
                for i in T.unroll(2):
                    for j in T.unroll(8):
                        for l in T.unroll(3):
                            B[t * 16 + k * 8 + j] = A[t + x * 16 + j + l] + k + i
""", 288, 144),
    "twice in a value": ("""
        B[t] = A[t] * A[t]
""", 2, 1),
    "in two statements": ("""
        B[t] = A[t] * 3
        B[t + 4] = A[t] + A[t + 1]
        B[t + 8] = A[t + 1]
""", 4, 2),
    "before it is stored to": ("""
        A[t] = A[t] * A[t]
        A[t] = A[t] * A[t] + A[t]
""", 5, 2),
    "in a condition, and where it holds": ("""
        if A[t] > 2:
            B[t] = A[t]
        else:
            B[t] = A[t] + 5
""", 3, 1),
    "and in a loop that may have no turn": ("""
        B[t] = A[t]
        for k in range(4):
            if k < N[t]:
                B[t + 4] = A[t] + k
""", 9, 2),
    "in both of two branches": ("""
        if t < 2:
            B[t] = A[t * 40] * A[t * 40]
        else:
            B[t] = N[t] * N[t]
""", 2, 1),
}  # fmt: skip
STAYS = {
    "a condition": """
        for k in range(4):
            if t < 2:
                B[t * 16 + k] = A[t * 40]
""",
    "the right side of `and`": """
        for k in range(4):
            if t < 2 and A[t * 40] > 0:
                B[t * 16 + k] = 1
""",
    "what is not chosen": """
        for k in range(4):
            B[t * 16 + k] = T.if_then_else(t < 2, A[t * 40], 1)
""",
    "a loop that may have no turn": """
        for k in range(N[0]):
            B[t * 16] = A[t * 40]
""",
    "a loop inside that may have no turn": """
        for k in range(4):
            for j in range(T.max(k - 4, 0)):
                B[t * 16 + k] = A[t * 40]
""",
    "a loop that tells the cell": """
        for k in range(4):
            B[t * 16 + k] = A[t + k]
""",
    "what the loop stores to": """
        for k in range(4):
            A[t] = A[t] * 2 + k
""",
    "what another cell's store may change": """
        for k in range(4):
            A[t * 16 + k] = A[t * 16 + 3] + k
""",
    "an inner loop that is not unrolled": """
        for k in T.unroll(4):
            for j in range(4):
                B[t * 16 + k * 4 + j] = A[t + j] + k
""",
    "an index that the loop changes": """
        for k in range(4):
            N[t] = k
            B[t * 16 + k] = A[N[t] + t]
""",
    "vectors": """
        for k in range(4):
            for v in T.vectorized(4):
                B[t * 16 + k * 4 + v] = A[t * 4 + v] + k
""",
}
STAYS |= {
    "a cell that is stored to": """
        B[t] = A[t]
        A[t] = A[t + 4] * 2
        B[t + 4] = A[t]
""",
    "an array that is stored to, somewhere": """
        B[t] = A[t * 16 + 3]
        for k in range(4):
            A[t * 16 + k] = N[k + t] + 70
        B[t + 4] = A[t * 16 + 3]
""",
    "what is stored to before it is loaded again": """
        B[t] = A[t * 16 + 3]
        for k in range(4):
            A[t * 16 + k] = N[k + t] + A[t * 16 + 3]
""",
    "conditions, each of which may not hold": """
        if t < 2:
            B[t] = A[t * 30]
        if t < 3:
            B[t + 4] = A[t * 30]
""",
    "loops, each of which may have no turn": """
        for k in range(N[0]):
            B[t * 16] = A[t * 40]
        for k in range(N[3]):
            B[t * 16 + 1] = A[t * 40]
""",
    "an index that is another number then": """
        B[t] = A[N[t]]
        N[t] = 4
        B[t + 4] = A[N[t]]
""",
    "other cells of two loops": """
        for k in range(4):
            B[t * 16 + k] = A[t + k]
        for k in range(4):
            B[t * 16 + 4 + k] = A[t + k]
""",
    "what others stored between": """
        S[t] = A[t]
        B[t] = S[3 - t]
        S[t] = A[t + 4]
        B[t + 4] = S[3 - t]
""",
}
TEXTS = [*(text for text, *_ in MOVED.values()), *STAYS.values()]


@lru_cache
def lowered(text: str) -> Lowered:
    return lower(parsed(HEAD + text), CUDA)


def kernel_of(text: str) -> Kernel:
    (kernel,) = lowered(text).kernels
    return kernel


def loads(kernel: Kernel) -> float:
    """How many elements of global memory a thread loads, on average."""
    traffic = {level.scope: level for level in insight.counts((kernel,)).traffic}
    return traffic["global"].loads / 4


def arrays() -> list[np.ndarray]:
    a, n = np.arange(1, 65, dtype="int32"), np.array([0, 3, 2, 0, 5, 1, 2, 0], "int32")
    return [a, n, np.zeros(64, "int32")]


def emulated(text: str, kernel: Kernel) -> list[np.ndarray]:
    given = arrays()
    emulate.run([kernel], given, params=lowered(text).func.params)
    return given


@pytest.fixture(scope="module")
def executable(gxx: str) -> Executable:
    return compile_cpp([lowered(text) for text in TEXTS])


@pytest.mark.parametrize("name", MOVED)
def test_what_all_turns_load_is_loaded_once(name: str):
    text, written, left = MOVED[name]
    kernel = kernel_of(text)
    kept = keep_values(kernel)
    assert (loads(kernel), loads(kept)) == (written, left), script.show(kept)
    for one, other in zip(emulated(text, kernel), emulated(text, kept), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", STAYS)
def test_what_may_be_another_cell_or_no_load_at_all_stays(name: str):
    """Some of these cells are beyond their array, where the program does not go."""
    kernel = kernel_of(STAYS[name])
    assert keep_values(kernel) is kernel


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_the_text_computes_the_same(number: int, executable: Executable):
    text, given = TEXTS[number], arrays()
    executable.run([(number, given)])
    for one, other in zip(emulated(text, kernel_of(text)), given, strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_moves_past_a_barrier_or_a_wait():
    """What other threads store in between is what is read behind it."""
    text = """
        for k in range(4):
            S[t] = A[t * 4 + k]
            B[t * 16 + k] = S[3 - t] + A[t]
"""
    kernel = kernel_of(text)
    assert any(isinstance(node, Barrier) for node in walk(kernel.body))
    assert keep_values(kernel) is kernel


def test_what_a_copy_takes_stays_where_it_is():
    """An asynchronous copy loads its source itself, from global memory."""
    kernel = kernel_of("""
        for k in range(4):
            S[t * 16 + k] = A[t]
        for k in range(4):
            B[t * 16 + k] = S[t * 16 + k]
""")

    def copied(node: Node) -> Node:
        copies = isinstance(node, BufferStore) and node.buffer.scope == "shared"
        return replace(node, value=Call(CP_ASYNC, (node.value,), "int32")) if copies else node

    assert keep_values(kernel) is not kernel
    copying = replace(kernel, body=rewrite(kernel.body, copied))
    assert keep_values(copying) is copying


def test_a_variable_that_counts_in_two_loops_tells_other_cells_in_each():
    """As in what a pipeline writes out. The first loop loads two cells, the second one four."""
    text = """
        for k in T.unroll(4):
            for j in T.unroll(2):
                B[t * 16 + k * 4 + j] = A[t + j]
            for l in T.unroll(4):
                B[t * 16 + k * 4 + l] = A[t + l] * 2
"""
    kernel = kernel_of(text)
    j, l = (n.loop_var for n in walk(kernel.body) if isinstance(n, For) and n.loop_var.name in "jl")
    shared = replace(kernel, body=rewrite(kernel.body, lambda node: j if node is l else node))
    assert keep_values(shared) is shared
    assert loads(keep_values(kernel)) == 6


def test_what_is_kept_is_a_part_of_what_the_program_has():
    (kernel,) = lower(blocked_matmul(), CUDA).kernels
    kept = keep_values(kernel)
    views = dict(kept.views)
    names = {b.name: views[b].name for b in kept.allocs if b not in kernel.allocs}
    assert names == {"A_shared_kept": "A_shared", "B_shared_kept": "B_shared"}


def test_what_is_counted_is_the_program_as_it_was_written():
    """The text loads each number of a tile once; the counts are those of every product."""
    built = wb.build(wb.Schedule(blocked_matmul()))
    assert "A_shared_kept" in built.source
    assert not any("kept" in buffer.name for buffer in built.kernels[0].allocs)


def test_a_number_for_a_whole_vector_is_a_variable():
    """Else it would be written once for each cell of the vector."""
    text = """
        for v in T.vectorized(4):
            B[t * 4 + v] = A[t * 4 + v] * N[t]
"""
    source = codegen.source(lowered(text).kernels, CUDA)
    assert source.count("N[t]") == 1
    assert len(re.findall(r"\* .*N_kept", source)) == 4


def test_what_is_kept_has_a_name_of_its_own():
    """A program may have an array of this name itself."""
    func = parsed(
        HEAD.replace("N: T", "A_kept: T")
        + """
        for k in range(4):
            B[t * 16 + k] = A[t] * A_kept[t]
        for k in range(4):
            B[t * 16 + 4 + k] = A[t] + k
"""
    )
    lines = codegen.source(lower(func, CUDA).kernels, CUDA).splitlines()
    told = [line.split("int ")[1] for line in lines if "kept" in line and "  int " in line]
    assert told == [
        "A_kept_1 = A[t];",
        "A_kept_kept = A_kept[t];",
        "A_kept_2 = A[t];",
    ]


# --- random kernels ------------------------------------------------------------------------------


class Nests(Maker):
    """Right kernels of nests of loops, most of them unrolled; some of these tell a cell.

    All threads load from A and S. Each stores to its own four cells of C, and loads them.
    """

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.inputs = [Buffer("A", (64,)), Buffer("N", (8,), "int32")]

    def kernel(self) -> Kernel:
        params, allocs = (*self.inputs, self.outputs[0]), (*self.shared, *self.local)
        filled: list[Stmt] = []
        while not filled:
            filled = self.filled()
        body = seq(*filled, Barrier(), self.statement(3), self.statement(3))
        return Kernel("k", params, allocs, (), tuple(self.axes), self.grid, self.block, body)

    def statement(self, depth: int) -> Stmt:
        if not depth:
            return self.store()
        if self.rng.random() < 0.1:
            return IfThenElse(self.condition(), self.statement(depth - 1))
        var, extent = Var(f"i{len(self.free)}"), self.rng.choice([1, 2, 2, 3])
        self.free.append((var, extent))
        body = seq(*(self.statement(depth - 1) for _ in range(self.rng.choice([1, 1, 2]))))
        self.free.pop()
        kind = "unrolled" if self.rng.random() < 0.8 else "serial"
        return For(var, const(0, "int32"), const(extent, "int32"), kind, body)

    def store(self) -> Stmt:
        parts = [self.float(2), BufferLoad(self.outputs[0], (self.own(),))]
        value = parts[0] if self.rng.random() < 0.7 else binary("+", *parts)
        return BufferStore(self.outputs[0], value, (self.own(),))

    def own(self) -> Expr:
        sizes = dict(zip(THREAD_AXES, (*self.grid, *self.block), strict=True))
        places = flat_index((v for _, v in self.axes), (sizes[a] for a, _ in self.axes), "int32")
        return places * 4 + self.loops() % 4

    def index(self, buffer: Buffer) -> Expr:
        return self.loops() if buffer is self.inputs[0] else self.loops() % buffer.shape[0]


@pytest.mark.fuzz
@pytest.mark.parametrize("maker, times", [(Maker, 12), (Nests, 2)])
def test_random_kernels_compute_the_same(maker: type[Maker], times: int):
    """Those that are right, with any of their loops unrolled, stay right."""
    kinds = Counter(random_case(maker, seed) for seed in seeds(times))
    assert kinds["variables"] > 5
    assert kinds["arrays"] > 5 or maker is Maker


def random_case(maker: type[Maker], seed: int) -> str:
    """What is kept in kernel `seed`, of those that are right, once it is held against it."""
    rng = random.Random(seed)
    kernel = maker(rng).kernel()
    if maker is Maker:
        kernel = replace(kernel, body=rewrite(kernel.body, lambda node: unrolled(node, rng)))
    kept = keep_values(kernel)
    if kept is kernel:
        return "nothing"
    numbers = np.random.default_rng(seed)
    given = [numbers.integers(-8, 8, p.shape).astype(p.type) for p in kernel.params]
    after = [array.copy() for array in given]
    try:
        emulate.run([kernel], given)
    except emulate.EmulationError:
        return "wrong as it is"
    emulate.run([kept], after)
    for one, other in zip(given, after, strict=True):
        np.testing.assert_array_equal(one, other, script.show(kept))
    new = kept.allocs[len(kernel.allocs) :]
    return "arrays" if any(buffer.shape != (1,) for buffer in new) else "variables"


def unrolled(node: Node, rng: random.Random) -> Node:
    unrolls = isinstance(node, For) and rng.random() < 0.7
    return replace(node, kind="unrolled") if unrolls else node
