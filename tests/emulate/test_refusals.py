"""Everything that the emulator refuses, its text read whole: see refusals.txt beside this file."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workbench import emulate, lower, script, target
from workbench.emulate import EmulationError
from workbench.ir import (
    CP_ASYNC,
    SHUFFLE,
    Barrier,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    CommitGroup,
    Expr,
    For,
    IfThenElse,
    Kernel,
    PrimFunc,
    Ramp,
    Stmt,
    Var,
    WaitGroup,
    as_expr,
    binary,
    const,
    seq,
)

TEXTS = Path(__file__).with_name("refusals.txt")

A = Buffer("A", (16,))
N = Buffer("N", (16,), "int32")
C = Buffer("C", (16,))
S = Buffer("S", (8,), scope="shared")
L = Buffer("L", (4,), scope="local")
bx, tx = Var("bx"), Var("tx")
i = Var("i")
here = bx * 4 + tx


def put(buffer: Buffer, index: Expr | int, value: Expr | float) -> BufferStore:
    return BufferStore(buffer, as_expr(value), (as_expr(index),))


def loop(var: Var, extent: int, body: Stmt) -> For:
    return For(var, const(0, "int32"), const(extent, "int32"), "serial", body)


def launch(*body: Stmt, blocks: int = 2, threads: int = 4) -> Callable[[], object]:
    """Run a kernel of this body."""
    axes = (("blockIdx.x", bx), ("threadIdx.x", tx))
    kernel = Kernel(
        "main_kernel", (A, N, C), (S, L), (), axes, (blocks, 1, 1), (threads, 1, 1), seq(*body)
    )
    return lambda: emulate.run([kernel], arrays())


def arrays() -> list[np.ndarray]:
    return [np.arange(16, dtype="float32"), np.zeros(16, "int32"), np.zeros(16, "float32")]


def program(text: str) -> PrimFunc:
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


COPY = """
@T.prim_func
def main(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, {index}]
"""

UNWRITTEN = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.where(i < 3)
            B[vi] = A[vi]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]
"""

DIVIDES = """
@T.prim_func
def main(N: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = 8 // N[vi]
"""


AGAIN = """
@T.prim_func
def main(
    A: T.Buffer((5,), "float32"), C: T.Buffer((4,), "float32"), B: T.Buffer((3, 5), "float32")
):
    for i in range(5):
        for j in T.thread_binding(3, thread="blockIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj, vi] = A[vi]
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            C[3] = A[vi]
"""


def lowered(text: str, *args: np.ndarray) -> Callable[[], object]:
    kernels = lower.lower(program(text), target.get("cuda")).kernels
    return lambda: emulate.run(kernels, args)


def evaluated(text: str, *args: np.ndarray) -> Callable[[], object]:
    return lambda: emulate.evaluate(program(text), args)


SQUARE = np.zeros((4, 4), "float32")
FETCH = put(S, tx, A[here])
USE = put(C, here, S[7 - tx])
COPIED, DONE = put(S, tx, Call(CP_ASYNC, (A[here],), "float32")), CommitGroup()
OTHERS = put(C, here, S[3 - tx])
SHUFFLED = put(C, here, Call(SHUFFLE, (L[0], const(1, "int32"), const(4, "int32")), "float32"))

CASES: dict[str, Callable[[], object]] = {
    "index past the end": launch(put(C, here + 12, A[here])),
    "negative index": launch(put(C, here, A[here - 1])),
    "neighbours that do not come": launch(
        put(L, 0, A[here]), IfThenElse(binary("<", tx, 3), SHUFFLED)
    ),
    "neighbours that are not there": launch(put(L, 0, A[here]), SHUFFLED, threads=3),
    "misaligned vector": launch(
        BufferStore(C, BufferLoad(A, (Ramp(tx * 4, 1, 4),)), (Ramp(tx * 4 + bx, 1, 4),)), threads=3
    ),
    "unwritten shared": launch(FETCH, Barrier(), USE),
    "unwritten local": launch(loop(i, 4, put(L, i, L[i] + A[here]))),
    "write then read, no barrier": launch(put(S, tx, A[here]), put(C, here, S[3 - tx])),
    "read then write, no barrier": launch(
        put(S, tx, A[here]), Barrier(), loop(i, 2, seq(put(C, here, S[3 - tx]), put(S, tx, 0.0)))
    ),
    "two statements write": launch(put(S, tx, A[here]), put(S, 3 - tx, A[here])),
    "one statement writes different values": launch(put(S, 0, A[here])),
    "blocks write different values": launch(put(C, tx, A[here])),
    "blocks write again in each turn": lowered(
        AGAIN, np.arange(5, dtype="float32"), np.zeros(4, "float32"), np.zeros((3, 5), "float32")
    ),
    "a block reads what another writes": launch(put(C, here, A[here]), put(C, here, C[7 - here])),
    "part of a block at a barrier": launch(
        FETCH, IfThenElse(binary("<", tx, const(3, "int32")), Barrier())
    ),
    "a copy is read before the wait": launch(COPIED, DONE, Barrier(), OTHERS),
    "a wait leaves the copy": launch(COPIED, DONE, WaitGroup(1), Barrier(), OTHERS),
    "a copy is in no group": launch(COPIED, WaitGroup(0), Barrier(), OTHERS),
    "a copy of another thread, no barrier": launch(COPIED, DONE, WaitGroup(0), OTHERS),
    "a second copy into a cell": launch(loop(i, 2, seq(COPIED, DONE))),
    "a copy into what is read": launch(FETCH, Barrier(), OTHERS, COPIED),
    "a write to what is copied": launch(
        put(S, tx, Call(CP_ASYNC, (C[here],), "float32")), DONE, put(C, here, 0.0)
    ),
    "division by zero": launch(put(N, here, binary("//", here, N[here]))),
    "evaluate, index": evaluated(COPY.format(index="vj + 1"), SQUARE, SQUARE.copy()),
    "evaluate, unwritten": evaluated(UNWRITTEN, np.zeros(4, "float32"), np.zeros(4, "float32")),
    "evaluate, division": evaluated(DIVIDES, np.array([1, 2, 0, 3], "int32"), np.zeros(4, "int32")),
    "too few arrays": evaluated(COPY.format(index="vj"), SQUARE),
    "not an array": evaluated(COPY.format(index="vj"), [0.0], SQUARE),  # type: ignore[arg-type]
    "wrong shape": evaluated(COPY.format(index="vj"), SQUARE, np.zeros((4, 5), "float32")),
    "wrong type": evaluated(COPY.format(index="vj"), SQUARE, np.zeros((4, 4))),
    "one memory twice": evaluated(COPY.format(index="vj"), SQUARE, SQUARE),
    "masked": evaluated(COPY.format(index="vj"), np.ma.masked_less(SQUARE, 1), SQUARE.copy()),
    "read-only result": evaluated(
        COPY.format(index="vj"), SQUARE, np.broadcast_to(SQUARE[:1], (4, 4))
    ),
}


def sampled(
    blocks: list[int] | None, kernels: int = 1, wrong: bool = False
) -> Callable[[], object]:
    axes = (("blockIdx.x", bx), ("threadIdx.x", tx))
    kernel = Kernel(
        "main_kernel", (A, C), (), (), axes, (4, 1, 1), (4, 1, 1), put(C, here, A[here] + 1.0)
    )
    given = [np.arange(16, dtype="float32"), np.zeros(16, "float32")]

    def reference(a: np.ndarray, c: np.ndarray) -> None:
        c[...] = a + 1
        if wrong:
            c[14] = 0

    if wrong:
        return lambda: emulate.sample(kernel, given, reference, blocks=blocks)
    return lambda: emulate.run([kernel] * kernels, given, blocks=blocks)


CASES |= {
    "block that is not there": sampled([4]),
    "block that is no number": sampled(["x"]),  # type: ignore[list-item]
    "block that is True": sampled([True]),
    "no block": sampled([]),
    "blocks that are no list": sampled(1),
    "sample of two kernels": sampled([0], kernels=2),
    "sample differs": sampled([0, 3], wrong=True),
}


def held(reference: Callable[..., object]) -> Callable[[], object]:
    """A sample of a kernel that adds 1, held against `reference`."""
    axes = (("blockIdx.x", bx), ("threadIdx.x", tx))
    kernel = Kernel(
        "main_kernel", (A, C), (), (), axes, (4, 1, 1), (4, 1, 1), put(C, here, A[here] + 1.0)
    )

    def run() -> object:
        given = [np.arange(16, dtype="float32"), np.zeros(16, "float32")]
        return emulate.sample(kernel, given, reference)

    return run


def helped(a: np.ndarray) -> np.ndarray:
    return a.reshape(3, 5)


def wrong_shape(a: np.ndarray, c: np.ndarray) -> None:
    c[:] = helped(a) + 1


def too_few(a: np.ndarray) -> np.ndarray:
    return a + 1


def leaves(a: np.ndarray, c: np.ndarray) -> None:
    raise SystemExit


def nested(a: np.ndarray, c: np.ndarray, depth: int = 0) -> None:
    if depth == 20:
        raise ValueError("deep\nand in two lines")
    nested(a, c, depth + 1)


def returns(a: np.ndarray, c: np.ndarray) -> np.ndarray:
    return a + 1


def renames(a: np.ndarray, c: np.ndarray) -> None:
    c = a + 1


def changes_input(a: np.ndarray, c: np.ndarray) -> None:
    a += 1
    c[:] = a


def reshapes(a: np.ndarray, c: np.ndarray) -> None:
    c.resize((4, 4), refcheck=False)


CASES |= {
    "reference raises": held(wrong_shape),
    "reference takes other arrays": held(too_few),
    "reference exits": held(leaves),
    "reference raises far down": held(nested),
    "reference returns": held(returns),
    "reference writes nothing": held(renames),
    "reference changes an input": held(changes_input),
    "reference changes a shape": held(reshapes),
    "reference of no function of Python": held(np.add.reduce),
}


def sections() -> dict[str, str]:
    parts = TEXTS.read_text().split("=== ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1].strip("\n") for part in parts}


def without_lines(error: Exception) -> str:
    """The whole text, without the numbers of this file's lines."""
    return re.sub(r"line \d+", "line N", str(error))


@pytest.mark.parametrize("name", CASES)
def test_text(name: str):
    with pytest.raises(EmulationError) as caught:
        CASES[name]()
    assert without_lines(caught.value) == sections()[name]
    assert len(caught.value.headline) <= 120
    assert caught.value.hint


ALONE = {  # who comes second is another where blocks come one after the other
    "blocks write different values": "found: block 1, thread 0 writes 4.0 there and block 0 "
    "writes 0.0: which of them stays is chance",
    "blocks write again in each turn": "found: block 1, thread 0 writes 0.0 there and block 0 "
    "writes 4.0: which of them stays is chance",
    "a block reads what another writes": "found: block 0 reads C[4] and block 1 writes it",
}


@pytest.mark.parametrize("name", CASES)
def test_text_where_every_block_runs_alone(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules["workbench.emulate.kernels.run"], "ROOM", 1)
    with pytest.raises(EmulationError) as caught:
        CASES[name]()
    assert ALONE.get(name, sections()[name]) in without_lines(caught.value)


def test_every_text_is_of_a_case():
    assert list(sections()) == list(CASES)


def test_a_reference_may_return_the_array_that_it_wrote():
    held(lambda a, c: np.add(a, 1, out=c))()
    held(lambda a, c: (np.add(a, 1, out=c), None))()


def test_an_interrupt_by_the_learner_is_no_fault_of_the_reference():
    def interrupted(a: np.ndarray, c: np.ndarray) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        held(interrupted)()


def test_arrays_are_checked_before_the_reference_sees_them():
    kernel = Kernel("k", (C,), (), (), (("threadIdx.x", tx),), (1, 1, 1), (16, 1, 1), put(C, tx, 0))
    with pytest.raises(EmulationError, match="Can't run with an array of float64 for C"):
        emulate.sample(kernel, [np.zeros(16)], lambda c: 1 / 0)
