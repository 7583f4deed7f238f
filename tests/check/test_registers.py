"""What a thread keeps in registers only it reads again."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from workbench import script
from workbench.emulate import EmulationError

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((4, 8, 2), "float32"), B: T.Buffer((4, 8, 2), "float32")):
    L = T.alloc_buffer((4, 8, 2), scope="local")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for r in range({turns}):
{made}
                with T.block("L"):
                    a, b, c, d = T.axis.remap("SSSS", [y, x, s, r])
                    T.where({where})
                    L[{cell}] = A[a, b, c] * T.cast(d + 1, "float32")
{used}
                with T.block("B"):
                    a, b, c, d = T.axis.remap("SSSS", [y_1, x_1, s_1, r])
                    T.where({where_1})
                    B[a, b, c] = L[{read}] + T.float32(1)
"""
EXTENTS = {"y": 4, "x": 8, "s": 2}
THREADS = {"x": "threadIdx.x", "y": "threadIdx.y"}
ALL = "T.bool(True)"


def program(
    made: str,
    used: str,
    cell: str,
    read: str,
    where: str = ALL,
    threads: str = "x",
    where_1: str = ALL,
    turns: int = 1,
) -> str:
    """Two nests, each of the loops `y`, `x` and `s` in an order of its own, so many times."""
    nests = []
    for order, end in ((made, ""), (used, "_1")):
        lines = []
        for depth, name in enumerate(order):
            loop = f"range({EXTENTS[name]})"
            if name in threads:
                loop = f'T.thread_binding({EXTENTS[name]}, thread="{THREADS[name]}")'
            lines.append(f"{' ' * (12 + depth)}for {name}{end} in {loop}:")
        nests.append("\n".join(lines))
    return PROGRAM.format(
        made=nests[0],
        used=nests[1],
        cell=cell,
        read=read,
        where=where,
        where_1=where_1,
        turns=turns,
    )


CELLS = (
    "a, b, c",
    "a, b, 1 - c",
    "a, b, (b + c) % 2",
    "3 - a, b, c",
    "a, (b + c) % 8, c",
    "a, 7 - b, c",
    "(a + b) % 4, b, c",
    "a, b, 0",
    "a, b, (c + d) % 2",
    "a, (b + d) % 8, c",
)
MADE_WHERE = (*[ALL] * 6, "x < 7", "y + s < 4", "r == 0", "s == r", "x < 4 or r == 0")
USED_WHERE = (*[ALL] * 6, "x_1 < 7", "y_1 + s_1 < 4", "r == 1", "s_1 == r", "x_1 < 4 or r == 1")


def drawn(seed: int) -> str:
    """A program in which threads keep what they, or others, read."""
    rng = random.Random(seed)
    made, used = ("".join(rng.sample("yxs", 3)) for _ in range(2))
    cell = rng.choice(CELLS)
    read = rng.choice((cell, *CELLS))
    threads, turns = rng.choice(("x", "xy", "xy")), rng.choice((1, 2))
    where, where_1 = rng.choice(MADE_WHERE), rng.choice(USED_WHERE)
    return program(made, used, cell, read, where, threads, where_1, turns)


@pytest.mark.fuzz
def test_what_is_built_means_what_the_program_means():
    built = 0
    for seed in seeds(4):
        text = drawn(seed)
        func = script.parse(text)
        try:
            kernel = wb.build(func, target="cuda")
        except wb.ScheduleError as refused:
            assert "that other threads hold in registers" in str(refused), text
            continue
        a = np.random.default_rng(seed).random((4, 8, 2)).astype("float32")
        out, wanted = np.zeros_like(a), np.zeros_like(a)
        try:
            wb.emulate.evaluate(func, [a, wanted])
        except EmulationError as refused:  # it means nothing, so nothing is held against it
            assert "nothing has written it" in str(refused), text
            continue
        built += 1
        kernel.emulate(a, out)
        np.testing.assert_array_equal(out, wanted, text)
    assert built >= CASES // 4


@pytest.mark.parametrize("made, threads", [*product(("syx", "yxs"), ("x", "xy"))])
@pytest.mark.parametrize(
    ("cell", "read", "where"),
    [
        ("a, b, c", "a, 7 - b, c", "T.bool(True)"),
        ("a, (b + c) % 8, c", "a, b, c", "T.bool(True)"),  # each turn of `s`, another thread
        ("a, (b + c) % 8, 0", "a, b, 0", "T.bool(True)"),  # two threads, one after the other
        ("0, 0, 0", "0, 0, 0", "x == 0 and y == 0 and s == 0"),  # one thread, for all
    ],
)
def test_what_another_thread_wrote_is_refused(
    cell: str, read: str, where: str, made: str, threads: str
):
    text = program(made, "xys", cell, read, where, threads)
    why = "that other threads hold in registers|threads x=0 and x=1 would both write L"
    with pytest.raises(wb.ScheduleError, match=why):
        wb.build(script.parse(text), target="cuda")


@pytest.mark.parametrize("made", ["syx", "yxs"])
def test_what_nobody_wrote_no_other_thread_has(made: str):
    kernel = wb.build(script.parse(program(made, "xys", "a, b, c", "a, b, c", "x < 7")))
    arrays = [np.zeros((4, 8, 2), "float32") for _ in range(2)]
    with pytest.raises(EmulationError, match="nothing has written it"):
        kernel.emulate(*arrays)


@pytest.mark.parametrize("threads", ["x", "xy"])
@pytest.mark.parametrize(("made", "used"), [("yxs", "xys"), ("syx", "xsy"), ("xsy", "yxs")])
def test_axes_and_loops_may_stand_in_any_order(made: str, used: str, threads: str):
    for turns in (1, 2):
        wb.build(script.parse(program(made, used, CELLS[0], CELLS[0], ALL, threads, turns=turns)))


UNDER_VTHREAD = """
@T.prim_func
def main(A: T.Buffer((2, 4, 8), "float32"), B: T.Buffer((2, 4, 8), "float32")):
    L = T.alloc_buffer((2, 4, 8), scope="local")
    for v in T.thread_binding(2, thread="vthread"):
        for s in range({turns}):
            for f in range(4):
                for t in T.thread_binding(8, thread="threadIdx.x"):
                    with T.block("L"):
                        a, b, c, d = T.axis.remap("SSSS", [f, t, v, s])
                        L[{cell}] = A[{plane}, a, b] + T.cast(d, "float32")
            for g in range(4):
                for t in T.thread_binding(8, thread="threadIdx.x"):
                    with T.block("B"):
                        a, b, c, d = T.axis.remap("SSSS", [g, t, v, s])
                        B[c, a, b] = L[{read}]
"""


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize(
    ("plane", "cell", "read", "why"),
    [
        ("c", "c, a, b", "c, a, b", ""),
        ("c", "c, a, b", "c, 3 - a, b", ""),
        ("c", "1 - c, a, b", "1 - c, 3 - a, b", ""),
        ("c", "0, a, b", "0, a, b", "virtual threads v=0 and v=1 would both write"),
        ("c", "c, a, b", "1 - c, a, b", "can't be vthread"),
        ("c", "c, a, b", "c, a, 7 - b", "that other threads hold in registers"),
    ],
)
def test_virtual_threads_around_both_nests(plane: str, cell: str, read: str, why: str, turns: int):
    func = script.parse(UNDER_VTHREAD.format(turns=turns, plane=plane, cell=cell, read=read))
    if why:
        with pytest.raises(wb.ScheduleError, match=why):
            wb.build(func)
        return
    a = np.random.default_rng(0).random((2, 4, 8)).astype("float32")
    out, wanted = np.zeros_like(a), np.zeros_like(a)
    wb.emulate.evaluate(func, [a, wanted])
    wb.build(func).emulate(a, out)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("virtual", [("s",), ("s_1",), ("s", "s_1")])
@pytest.mark.parametrize(("made", "used"), [("yxs", "xsy"), ("sxy", "ysx")])
def test_virtual_threads_around_one_nest(made: str, used: str, virtual: tuple[str, ...]):
    text = program(made, used, "a, b, c", "a, b, 1 - c")
    for loop in virtual:
        text = text.replace(
            f"for {loop} in range(2)", f'for {loop} in T.thread_binding(2, thread="vthread")'
        )
    func = script.parse(text)
    a = np.random.default_rng(0).random((4, 8, 2)).astype("float32")
    out = np.zeros_like(a)
    wb.build(func).emulate(a, out)
    np.testing.assert_array_equal(out, a[:, :, ::-1] + 1)
    with pytest.raises(wb.ScheduleError, match="that other threads hold in registers"):
        wb.build(script.parse(text.replace("L[a, b, 1 - c]", "L[a, 7 - b, c]")))


HALO = """
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), B: T.Buffer((8, 4, 8), "float32")):
    L = T.alloc_buffer((16, 8), scope="local")
    for v in T.thread_binding(8, thread="{axis}"):
        for f in range(4):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("L"):
                    a = T.axis.spatial(16, {row})
                    b = T.axis.spatial(8, t)
                    L[a, b] = A[a, b]
        for g in range(4):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    a, b, c = T.axis.remap("SSS", [g, t, v])
                    B[c, a, b] = L[{read}]
"""


@pytest.mark.parametrize("axis", ["blockIdx.x", "threadIdx.y"])
@pytest.mark.parametrize("row", ["f + v", "f + v % 2 * 4", "3 - f + v", "f * 2", "f + v // 2"])
@pytest.mark.parametrize(
    "read", ["a + c, b", "3 - a + c, b", "a + c % 2 * 4, b", "a * 2, b", "a + c, 7 - b", "a + 1, b"]
)
def test_blocks_that_make_the_same_cells_each_have_their_own(axis: str, row: str, read: str):
    func = script.parse(HALO.format(axis=axis, row=row, read=read))
    meant = {
        "f + v": ("a + c, b", "3 - a + c, b"),
        "3 - f + v": ("a + c, b", "3 - a + c, b"),
        "f + v % 2 * 4": ("a + c % 2 * 4, b",),
        "f * 2": ("a * 2, b",),
        "f + v // 2": (),
    }
    if read not in meant[row]:
        with pytest.raises(wb.ScheduleError):
            wb.build(func)
        return
    a = np.random.default_rng(0).random((16, 8)).astype("float32")
    out, wanted = (np.zeros((8, 4, 8), "float32") for _ in range(2))
    wb.emulate.evaluate(func, [a, wanted])
    wb.build(func).emulate(a, out)
    np.testing.assert_array_equal(out, wanted)
