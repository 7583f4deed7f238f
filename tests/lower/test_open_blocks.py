"""Loops bound inside a block: what is built means what the program means."""

from __future__ import annotations

import random
from warnings import catch_warnings

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from workbench import emulate, script
from workbench.lower import open_blocks

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
{above}
    for e in {outer}:
        with T.block("outer"):
            ve = T.axis.spatial(8, {instance})
            T.where({where})
            {alloc}
            for x in {first}:
                with T.block("S"):
                    vx = T.axis.spatial(16, x)
                    S[{cell}] = A[ve, vx] * T.float32(2)
            for y in {second}:
                with T.block("B"):
                    vy = T.axis.spatial(16, y)
                    B[ve, vy] = S[{read}] + T.float32(1)
"""


def bound(extent: int, axis: str) -> str:
    return f'T.thread_binding({extent}, thread="{axis}")' if axis else f"range({extent})"


def drawn(seed: int) -> str:
    """A block that stages a row, alone or in one buffer of all rows, and what is bound in it."""
    rng = random.Random(seed)
    own = rng.random() < 0.7
    scope = rng.choice(("local", "shared", "shared", "global"))
    alloc = f'S = T.alloc_buffer(({"16," if own else "8, 16"}), scope="{scope}")'
    index = rng.choice(("vx", "15 - vx", "(vx + ve) % 16"))
    read = rng.choice((index.replace("vx", "vy"), "vy", "15 - vy", "0"))
    cell, read = (one if own else f"ve, {one}" for one in (index, read))
    first, second = (
        rng.choice(("threadIdx.x", "threadIdx.x", "threadIdx.x", "")) for _ in range(2)
    )
    return PROGRAM.format(
        above="" if own else f"    {alloc}",
        alloc=alloc if own else "pass",
        outer=bound(8, rng.choice(("blockIdx.x", "blockIdx.x", "threadIdx.y"))),
        instance=rng.choice(("e", "e", "7 - e")),
        where=rng.choice(("T.bool(True)", "T.bool(True)", "e < 5")),
        cell=cell,
        read=read,
        first=bound(16, first),
        second=bound(16, second),
    ).replace("            pass\n", "")


@pytest.mark.fuzz
def test_random_blocks_around_bound_loops():
    built = 0
    for seed in seeds(4):
        text = drawn(seed)
        func = script.parse(text)
        try:
            with catch_warnings(action="ignore"):  # of threads that repeat what others do
                kernel = wb.build(func, target="cuda")
        except wb.ScheduleError:
            continue
        a = np.random.default_rng(seed).random((8, 16)).astype("float32")
        out, wanted = np.zeros_like(a), np.zeros_like(a)
        emulate.evaluate(func, [a, wanted])
        kernel.emulate(a, out)
        np.testing.assert_array_equal(out, wanted, text)
        built += 1
    assert built >= CASES // 4


def test_what_an_instance_allocates_is_its_own():
    text = PROGRAM.format(
        above="",
        alloc='S = T.alloc_buffer((16,), scope="shared")',
        outer=bound(8, "blockIdx.x"),
        instance="e",
        where="T.bool(True)",
        cell="vx",
        read="15 - vy",
        first=bound(16, "threadIdx.x"),
        second=bound(16, "threadIdx.x"),
    )
    func = script.parse(text)
    opened = open_blocks(func)
    assert [block.shape for block in opened.root.alloc_buffers] == [(8, 16)]
    assert 'T.block("outer")' not in opened.script()
    kernel = wb.build(func)
    assert kernel.func is func and "__shared__ float S[16];" in kernel.source


def test_a_program_without_such_blocks_is_as_it_was():
    text = (
        PROGRAM.replace("{above}", "")
        .replace("T.where({where})", "")
        .format(
            alloc="S = T.alloc_buffer((16,))",
            outer="range(8)",
            instance="e",
            cell="vx",
            read="vy",
            first="range(16)",
            second="range(16)",
        )
    )
    func = script.parse(text)
    assert open_blocks(func) is func


ITSELF = """
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        with T.block("outer"):
            S = T.alloc_buffer((32,), scope="shared")
            for k in range(4):
                for t in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("S"):
                        S[t] = A[k, b * 32 + t]
                for t in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("B"):
                        B[k, b * 32 + t] = S[31 - t] * T.float32(2)
"""
IN_REGISTERS = """
@T.prim_func
def main(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
    for t in T.thread_binding(4, thread="threadIdx.x"):
        with T.block("outer"):
            R = T.alloc_buffer((64,), scope="local")
            for i in range(64):
                with T.block("R"):
                    R[i] = A[t, i]
            for i in range(64):
                with T.block("B"):
                    B[t, i] = R[63 - i] * T.float32(2)
"""


@pytest.mark.parametrize("text, cells", [(ITSELF, 32), (IN_REGISTERS, 64)])
def test_a_block_without_iterators_has_an_instance_for_each_turn_of_bound_loops(
    text: str, cells: int
):
    func = script.parse(text)
    kernel = wb.build(func)
    (own,) = kernel.kernels[0].allocs
    assert own.shape == (cells,), "of one instance: blocks and threads have their own"
    a = np.arange(256, dtype="float32").reshape(4, 64)
    found, meant = np.zeros_like(a), np.zeros_like(a)
    kernel.emulate(a, found)
    emulate.evaluate(func, [a.copy(), meant])
    np.testing.assert_array_equal(found, meant)
