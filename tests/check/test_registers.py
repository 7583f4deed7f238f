"""What a thread keeps in registers only it reads again."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

import workbench as wb
from tests.support.cases import CASES, seeds
from workbench import script

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((4, 8, 2), "float32"), B: T.Buffer((4, 8, 2), "float32")):
    L = T.alloc_buffer((4, 8, 2), scope="local")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
{made}
            with T.block("L"):
                a, b, c = T.axis.remap("SSS", [y, x, s])
                T.where({where})
                L[{cell}] = A[a, b, c]
{used}
            with T.block("B"):
                a, b, c = T.axis.remap("SSS", [y_1, x_1, s_1])
                B[a, b, c] = L[{read}] + T.float32(1)
"""
EXTENTS = {"y": 4, "x": 8, "s": 2}
THREADS = {"x": "threadIdx.x", "y": "threadIdx.y"}


def program(
    made: str, used: str, cell: str, read: str, where: str = "T.bool(True)", threads: str = "x"
) -> str:
    """Two nests, each of the loops `y`, `x` and `s` in an order of its own."""
    nests = []
    for order, end in ((made, ""), (used, "_1")):
        lines = []
        for depth, name in enumerate(order):
            turns = f"range({EXTENTS[name]})"
            if name in threads:
                turns = f'T.thread_binding({EXTENTS[name]}, thread="{THREADS[name]}")'
            lines.append(f"{' ' * (8 + depth)}for {name}{end} in {turns}:")
        nests.append("\n".join(lines))
    return PROGRAM.format(made=nests[0], used=nests[1], cell=cell, read=read, where=where)


CELLS = (
    "a, b, c",
    "a, b, 1 - c",
    "a, b, (b + c) % 2",
    "3 - a, b, c",
    "a, (b + c) % 8, c",
    "a, 7 - b, c",
)


def drawn(seed: int) -> tuple[str, str, str]:
    """A program of two nests, which cell the first writes and the second reads."""
    rng = random.Random(seed)
    made, used = ("".join(rng.sample("yxs", 3)) for _ in range(2))
    cell = rng.choice(CELLS)
    read = rng.choice((cell, *CELLS))
    return program(made, used, cell, read, threads=rng.choice(("x", "x", "xy"))), cell, read


def expected(a: np.ndarray, cell: str, read: str) -> np.ndarray:
    """What the program means, whoever keeps what."""
    kept, b = np.zeros_like(a), np.zeros_like(a)
    for target, text, source in ((kept, cell, a), (b, read, None)):
        for place in np.ndindex(a.shape):
            at = eval(f"({text})", dict(zip("abc", place, strict=True)))
            if source is None:
                target[place] = kept[at] + 1
            else:
                target[at] = source[place]
    return b


def test_what_is_built_means_what_the_program_means():
    built = 0
    for seed in seeds(4):
        text, cell, read = drawn(seed)
        try:
            kernel = wb.build(script.parse(text), target="cuda")
        except wb.ScheduleError as refused:
            assert "that other threads hold in registers" in str(refused), text
            continue
        built += 1
        a = np.random.default_rng(seed).random((4, 8, 2)).astype("float32")
        out = np.zeros_like(a)
        kernel.emulate(a, out)
        np.testing.assert_array_equal(out, expected(a, cell, read), text)
    assert built >= CASES // 4


@pytest.mark.parametrize("made, threads", [*product(("syx", "yxs"), ("x", "xy"))])
@pytest.mark.parametrize(
    ("cell", "read", "where"),
    [
        ("a, b, c", "a, 7 - b, c", "T.bool(True)"),
        ("a, (b + c) % 8, c", "a, b, c", "T.bool(True)"),  # each turn of `s`, another thread
        ("a, (b + c) % 8, 0", "a, b, 0", "T.bool(True)"),  # two threads, one after the other
        ("a, b, c", "a, b, c", "x < 7"),
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
