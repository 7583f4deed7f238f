"""Programs by their meaning: the order of loops is kept wherever it can be seen."""

from __future__ import annotations

import random
import sys
import time

import numpy as np
import pytest

from tests.support import reference
from tests.support.cases import CASES, seeds
from tests.support.gpu_programs import blocked_matmul, parsed, window_steps
from tests.support.random_programs import fresh, random_inputs, random_program
from workbench import emulate

HEADER = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
"""

PROGRAMS = {
    "prefix sum": """
    for i in range(15):
        with T.block("C"):
            vi = T.axis.spatial(15, i)
            C[vi + 1] = C[vi] + A[vi]
""",
    "the last write stays": """
    for i, j in T.grid(4, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vj // 4] = A[vj] * T.Cast("float32", vi + 1)
""",
    "a partial sum is seen": """
    for i, k in T.grid(4, 4):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi * 4 + vk]
        with T.block("D"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[4 + (vi + vk) % 12] = C[vi] * T.float32(2)
""",
    "one cell of scratch for all": """
    B = T.alloc_buffer((1,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[0] = A[vi] * T.float32(3)
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[0] + T.float32(1)
""",
    "an overlapping window, written again with the same values": """
    B = T.alloc_buffer((18,))
    for i in range(14):
        for j in range(3):
            with T.block("B"):
                vi = T.axis.spatial(16, i + j)
                B[vi] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(14, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]
""",
    "a start that comes again": """
    for k, i in T.grid(4, 4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(2, k % 2)
            with T.init():
                C[vi] = T.float32(1)
            C[vi] = C[vi] * A[vi * 4 + vk]
""",
    "halving, which no ufunc does at once": """
    for k, i in T.grid(4, 4):
        with T.block("C"):
            vk, vi = T.axis.remap("RS", [k, i])
            C[vi] = C[vi] / T.float32(2) + A[vi * 4 + vk]
""",
    "loops whose length depends on others": """
    for i in range(16):
        for j in range(i):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(16, j)
                C[vi] = C[vi] + A[vj]
""",
    "a loop whose length varies": """
    for i in range(4):
        for j in range(i + 1):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(4, j)
                C[vi * 4 + vj] = A[vj] + T.float32(1)
""",
    "an address from memory": """
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[T.Cast("int32", A[vi]) % 4] = A[vi]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_order(name: str):
    func = parsed(HEADER + PROGRAMS[name])
    rng = np.random.default_rng(1)
    a = rng.integers(0, 9, 16).astype("float32")
    c = rng.integers(0, 9, 16).astype("float32")
    plain = [a.copy(), c.copy()]
    reference.run(func, plain)
    emulate.evaluate(func, [a, c])
    np.testing.assert_array_equal(c, plain[1])


def test_sums_are_added_in_the_order_of_the_loops():
    values = np.array([1e8, 1, -1e8, 1] * 4, "float32")
    func = parsed(
        HEADER
        + """
    for i in range(16):
        with T.block("C"):
            vi = T.axis.reduce(16, i)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] + A[vi]
"""
    )
    c = np.zeros(16, "float32")
    emulate.evaluate(func, [values, c])
    total = np.float32(0)
    for value in values:
        total = np.float32(total + value)
    assert c[0] == total != values.astype("float64").sum()


def test_float16_sums_round_at_every_step():
    text = HEADER.replace("float32", "float16") + PROGRAMS["prefix sum"]
    a, c = np.full(16, 0.1, "float16"), np.zeros(16, "float16")
    emulate.evaluate(parsed(text), [a, c])
    step = np.float16(0)
    for k in range(16):
        assert c[k] == step
        step = np.float16(step + np.float16(0.1))


def test_after_a_refusal_nothing_was_half_done():
    func = parsed(
        HEADER
        + """
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = A[vi + 8]
"""
    )
    a, c = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    with pytest.raises(emulate.EmulationError, match=r"Can't read A\[16\]"):
        emulate.evaluate(func, [a, c])
    np.testing.assert_array_equal(c[8:], 0)  # what would have come later did not come


@pytest.mark.parametrize("step", ["bound", "shared", "cooperative"])
def test_every_step_of_the_window_sum(step: str):
    a = np.random.default_rng(0).random(1027, dtype="float32")
    b = np.zeros(1024, "float32")
    start = time.perf_counter()
    emulate.evaluate(window_steps()[step], [a, b])
    assert time.perf_counter() - start < 2  # a few milliseconds, unless it ran cell by cell
    np.testing.assert_array_equal(b, (a[:1024] + a[1:1025]) + a[2:1026])


def test_a_blocked_matmul_means_a_matmul():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 4, (64, 64)).astype("float32") for _ in range(2))
    c = np.zeros((64, 64), "float32")
    emulate.evaluate(blocked_matmul(), [a, b, c])
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.fuzz
def test_large_programs_on_the_lane_machine(monkeypatch: pytest.MonkeyPatch):
    large = sys.modules["workbench.emulate.programs.large"]
    monkeypatch.setattr(large, "MOST_LANES", 1)  # now every program is large
    taken = 0
    for seed in seeds(4):
        func = random_program(random.Random(seed))
        inputs = random_inputs(func, random.Random(seed))
        plain, lanes = fresh(inputs), fresh(inputs)
        reference.run(func, plain)
        emulate.evaluate(func, lanes)
        taken += large.as_launches(func) is not None
        for a, b in zip(plain, lanes, strict=True):
            np.testing.assert_array_equal(a, b)
    assert taken > CASES


@pytest.mark.parametrize(("blocks", "taken"), [(2, False), (64, True)])
def test_few_blocks_with_much_to_do_in_turn_are_no_launch(blocks: int, taken: bool):
    """There each turn of a loop would cost as much as all of them as lanes."""
    func = parsed(
        f"""
@T.prim_func
def main(A: T.Buffer(({blocks}, 1048576), "float32"), C: T.Buffer(({blocks},), "float32")):
    for i, k in T.grid({blocks}, 1048576):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
"""
    )
    launches = sys.modules["workbench.emulate.programs.large"].as_launches(func)
    assert (launches is not None) is taken


def test_a_refusal_in_a_large_program_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules["workbench.emulate.programs.large"], "MOST_LANES", 1)
    func = parsed(
        HEADER
        + """
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = C[vi] + A[vi + 8]
"""
    )
    a, c = np.arange(16, dtype="float32"), np.ones(16, "float32")
    with pytest.raises(emulate.EmulationError, match=r"Can't read A\[16\]"):
        emulate.evaluate(func, [a, c])
    np.testing.assert_array_equal(c, [9, 10, 11, 12, 13, 14, 15, 16] + [1] * 8)


def test_notes_of_blocks_do_not_keep_a_large_program_from_launches():
    """Two copies of S are asked for, which is shared memory in a kernel, a label in a program."""
    func = parsed("""
@T.prim_func
def main(A: T.Buffer((2097152,), "int8"), B: T.Buffer((2097152,), "int8")):
    S = T.alloc_buffer((2097152,), "int8", scope="shared")
    for i, j in T.grid(2048, 1024):
        with T.block("S"):
            v = T.axis.spatial(2097152, i * 1024 + j)
            T.block_attr({"double_buffer_scope": 0})
            S[v] = A[v]
        with T.block("B"):
            v = T.axis.spatial(2097152, i * 1024 + j)
            B[v] = S[v] + T.int8(1)
""")
    large = sys.modules["workbench.emulate.programs.large"]
    assert large.as_launches(func) is not None
