"""Copies to shared memory by way of registers: of each a pipeline counts two statements."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import script
from workbench.ir import Buffer, For, PrimFunc, walk_statements
from workbench.lower.stage_copies import STAGED, stage_copies

COPY = """@T.prim_func
def main(A: T.Buffer((64, 30), "float32"), B: T.Buffer((64, 30), "float32")):
    S = T.alloc_buffer((64, 32), "float32", scope="shared")
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for k in T.serial(8, annotations={
            "software_pipeline_stage": [0, 0, 1], "software_pipeline_order": [0, 2, 1]
        }):
            for i in range(2):
                for x in T.thread_binding(32, thread="threadIdx.x"):
                    for v in T.vectorized(2):
                        with T.block("S"):
                            vi = T.axis.spatial(64, b * 32 + k * 4 + i * 2 + x // 16)
                            vj = T.axis.spatial(32, x % 16 * 2 + v)
                            T.where(x % 16 * 2 + v < 30)
                            T.block_attr({"tirx.NOTE": 1})
                            S[vi, vj] = A[vi, vj]
            for i in range(4):
                for x in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("B"):
                        vi = T.axis.spatial(64, b * 32 + k * 4 + i)
                        vj = T.axis.spatial(30, x)
                        T.where(x < 30)
                        B[vi, vj] = S[vi, 29 - vj] * T.float32(2)
""".replace("NOTE", STAGED)


def read(text: str = COPY) -> PrimFunc:
    func = script.parse(text)
    assert isinstance(func, PrimFunc)
    return func


def test_a_copy_becomes_two_statements_that_a_pipeline_orders():
    """Loads of the next turn come first, then the sum of this one, then what was loaded is stored.

    Of A, two cells each of two rows a thread: a register array of 4, which one turn fills.
    """
    staged = stage_copies(read())
    (turns,) = (n for n in walk_statements(staged.body) if isinstance(n, For) and n.annotations)
    assert len(turns.body.stmts) == 3  # type: ignore[attr-defined]
    kernel = wb.build(wb.Schedule(read()))
    a = np.random.default_rng(0).random((64, 30), "float32")
    b = np.zeros_like(a)
    kernel.emulate(a, b)
    np.testing.assert_array_equal(b, a[:, ::-1] * 2)
    (made,) = kernel.kernels
    (own,) = (one for one in made.allocs if isinstance(one, Buffer) and one.scope == "local")
    assert (own.name, own.shape) == ("S_local", (4,))


def test_without_the_note_two_stages_are_too_many():
    text = COPY.replace(
        '                            T.block_attr({"tirx.' + STAGED + '": 1})\n', ""
    )
    func = read(text)
    assert stage_copies(func) is func
    with pytest.raises(wb.ScheduleError) as refused:
        wb.build(wb.Schedule(func))
    assert refused.value.headline == "Can't pipeline `k`: there are 3 stages for 2 statements."


def test_what_is_no_copy_to_shared_memory_stays():
    func = read(COPY.replace('scope="shared"', 'scope="local"'))
    assert stage_copies(func) is func
