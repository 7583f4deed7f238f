"""What a run in the lab tells: of a large program, of some of its blocks."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import workbench as wb
from benchmarks.matmuls import blocking, blocking_with_shared, matmul
from workbench.ir import PrimFunc
from workbench.widgets.run import runner as run
from workbench.widgets.run.runner import SAMPLED, Runner

AT_START = "the start makes it."
WHOLE = f"✓ Run on the emulator: every value is as {AT_START}"
SOME = f"✓ Run on the emulator, 4 of 16 blocks: what they write is as {AT_START}"
BY_REFERENCE = SOME.replace(AT_START, "the reference has it.")


def told(func: PrimFunc, **options: object) -> dict[str, object]:
    """What the run of `func` comes to."""
    start = matmul(func.params[0].shape[0])
    return Runner(**options).run(func, start, lambda *_: None)  # type: ignore[arg-type]


@pytest.fixture
def tiled() -> PrimFunc:
    """16 blocks, each a tile of 8 x 8."""
    return blocking(wb.Schedule(matmul(32)), 2, 2, 4, 4, 4).func


def test_a_program_of_a_lesson_runs_whole(tiled: PrimFunc):
    found = told(tiled)
    assert found["text"] == WHOLE and SAMPLED not in found["notes"]


def test_a_large_program_runs_in_part_and_says_so():
    func = blocking_with_shared(wb.Schedule(matmul(1024)), 8, 8, 8, 8, 8).func
    seen: list[tuple[int, int]] = []
    with patch.object(Runner, "expected", _by_numpy):
        reference = Runner(reference=lambda a, b, c: None)
        found = reference.run(func, matmul(1024), lambda *at: seen.append(at))
    assert found["text"] == BY_REFERENCE.replace("16", "256") and found["ok"] is True
    assert found["brief"] == "✓ right result, in part"
    assert found["notes"][0] == SAMPLED and seen[-1] == (4, 4)


def test_the_cells_that_some_blocks_write_are_all_that_is_worked_out():
    func = blocking_with_shared(wb.Schedule(matmul(1024)), 8, 8, 8, 8, 8).func
    with patch.object(Runner, "expected", side_effect=AssertionError("worked out whole")):
        found = Runner().run(func, matmul(1024), lambda *_: None)
    assert found["text"] == SOME.replace("16", "256") and found["notes"][0] == SAMPLED


def _by_numpy(_: object, start: PrimFunc, arrays: list[np.ndarray]) -> run.Expected:
    a, b, _ = arrays
    return run.Expected([a, b, a @ b])


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ((0, 9), WHOLE),  # of block 1, which did not run
        (
            (31, 31),
            "✕ Run on the emulator, 4 of 16 blocks: 1 of 256 values are wrong; C[31, 31] is ",
        ),
    ],
)
def test_only_what_ran_is_compared(tiled: PrimFunc, cell: tuple[int, int], says: str):
    def reference(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        c[...] = a @ b
        c[cell] += 1000

    with patch.object(run, "LARGE", 1), patch.object(run.emulate, "draw_blocks", _blocks):
        found = told(tiled, reference=reference)
    text = BY_REFERENCE if says == WHOLE else says
    assert str(found["text"]).startswith(text) and found["ok"] is (says == WHOLE)


def _blocks(_: object) -> list[int]:
    return [0, 5, 6, 15]


def test_kernels_that_feed_each_other_run_whole():
    sch = wb.Schedule(matmul(8))
    block = sch.get_block("C")
    init = sch.decompose_reduction(block, sch.get_loops(block)[0])
    for one in (init, block):
        sch.bind(sch.get_loops(one)[0], "blockIdx.x")
    with patch.object(run, "LARGE", 1):
        assert told(sch.func)["text"] == WHOLE
