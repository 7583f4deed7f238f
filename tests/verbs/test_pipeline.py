"""pipeline: what is offered, the notes it leaves, and random ones held against what they mean."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from benchmarks.pipelines import verdict
from tests.lower.test_double_buffers import tiled
from tests.lower.test_pipelines import prefetching, reversed_rows
from tests.support.cases import CASES
from tests.support.pipelines import expanded
from tests.support.random_pipelines import random_pipeline
from workbench import script
from workbench.access import difference, random_data
from workbench.access.pipelines import is_pipeline, with_statements
from workbench.check.pipeline_of import pipeline_of
from workbench.check.pipelines import innermost
from workbench.ir import walk
from workbench.lesson.half_products import half_product, half_tiles

STAGE, ORDER = "software_pipeline_stage", "software_pipeline_order"


def offered(sch: wb.Schedule, loop: str) -> list[dict[str, object]]:
    (verdict,) = (one for one in sch.actions(loop) if one.verb == "pipeline")
    return [dict(choice) for choice in verdict.choices]


def test_fetch_ahead_is_offered_and_through_registers_in_one_copy_or_two():
    ahead = {"stages": [0, 0, 0, 0, 1]}
    behind = {**ahead, "order": [0, 3, 1, 4, 2]}
    twice = {**behind, "copies": {"A_shared": 2, "B_shared": 2}}
    assert offered(prefetching(16), "k_0") == [ahead, behind, twice]
    assert offered(prefetching(16), "k_1") == []


def test_plain_copies_are_offered_asynchronously_a_turn_ahead_or_two():
    ways = [{"stages": [0, 0, n], "async_stages": [0]} for n in (1, 2)]
    sch = tiled(8)
    assert offered(sch, "k_0") == [{"stages": [0, 0, 1]}, *ways]
    for way in ways:
        taken = sch.fork()
        taken.pipeline("k_0", **way)
        wb.build(taken, target="nvidia/a100")


def test_around_a_pipeline_its_first_turn_is_offered_ahead_of_the_last_one_before():
    sch = wb.Schedule(half_tiles(half_product(16, 16, 128), "mma", (16, 16), (1, 1), 32))
    sch.pipeline("k_1", stages=[0, 0, 1])
    ways = [{"stages": [0, 0, n, n, n], "async_stages": [0]} for n in (1, 2)]
    held = {"A_shared_warp": 1, "B_shared_warp": 1}
    first = {"stages": [0, 0, 1, 2, 2], "order": [0, 1, 3, 2, 4], "copies": held}
    found = offered(sch, "k_0")
    assert found == [{"stages": [0, 0, 1, 1, 1]}, *ways, {**first, "async_stages": [0]}]
    sch.pipeline("k_0", **found[-1])
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (16, 128)).astype("float16") for _ in "ab")
    c = np.full((16, 16), np.nan, "float32")
    wb.build(sch, target="nvidia/a100").emulate(a, b, c)
    assert np.array_equal(c, a.astype("float32") @ b.astype("float32").T)


def test_the_notes_are_tvms_and_a_second_pipeline_takes_their_place():
    sch = prefetching(16)
    sch.pipeline("k_0", stages=[0, 0, 0, 0, 1], copies={"A_shared": 3})
    sch.pipeline("k_0", stages=[0, 0, 0, 0, 1], order=[0, 3, 1, 4, 2], copies={})
    (loop,) = (node for node in walk(sch.func.body) if is_pipeline(node))
    assert loop.annotations == ((STAGE, (0, 0, 0, 0, 1)), (ORDER, (0, 3, 1, 4, 2)))
    wb.assert_structural_equal(script.parse(script.show(sch.func)), sch.func)


def test_for_tvm_the_step_is_written_as_its_notes(tmp_path: Path):
    sch = prefetching(16)
    sch.pipeline("k_0", stages=[0, 0, 0, 0, 1], copies={"A_shared": 3})
    sch.to_tvm(tmp_path / "steps.py")
    assert f"""
sch.annotate(k_0, "{STAGE}", [0, 0, 0, 0, 1])
sch.annotate(k_0, "{ORDER}", [0, 1, 2, 3, 4])
sch.annotate(k_0, "software_pipeline_copies", {{"A_shared": 3}})
""" in (tmp_path / "steps.py").read_text()


def test_what_is_written_out_means_the_same():
    func = reversed_rows(f'{{"{STAGE}": [0, 2], "{ORDER}": [1, 0]}}', 3, 7)
    assert difference(func, expanded(func), random_data(func, 0)) == ""


def test_copies_count_as_shared_memory():
    sch = prefetching(16)
    copies = {"A_shared": 97, "B_shared": 97}  # of 4 x 16 floats each
    sch.pipeline("k_0", stages=[0, 0, 0, 0, 1], copies=copies)
    with pytest.raises(wb.ScheduleError, match="A_shared and B_shared need 49664 bytes"):
        wb.build(sch)


def test_a_copy_to_spare_is_told():
    """TVM gives three copies; with the work first in a turn, two are never used at a time."""
    sch = wb.Schedule(reversed_rows(f'{{"{STAGE}": [0, 2], "{ORDER}": [1, 0]}}'))
    with pytest.warns(wb.ScheduleWarning, match="S has 3 copies, and 2 would do"):
        wb.build(sch)
    for count in (2, 3):
        sch.pipeline("k", stages=[0, 2], order=[1, 0], copies={"S": count})
        assert f"float S[{32 * count}]" in wb.build(sch).source  # and no warning, which is an error


def test_the_order_of_turns_is_that_of_the_formula():
    """Statement k of iteration i runs in turn i + stages[k]; within a turn as `order` says."""
    for seed in range(20):
        func = random_pipeline(random.Random(seed))
        loop = innermost(with_statements(func.body))
        if loop is None:  # a loop of no turns is not read
            continue
        pipeline = pipeline_of(loop)
        times = [
            [(i + pipeline.stages[k], pipeline.order[k]) for i in range(5)]
            for k in range(len(pipeline.stmts))
        ]
        for a, b in ((a, b) for a in range(len(times)) for b in range(len(times)) if a != b):
            for lag in range(5):
                assert pipeline.before(a, b, lag) == (times[a][0] < times[b][lag])


@pytest.mark.fuzz
@pytest.mark.parametrize("odd, least", [(False, 4), (True, 1)])
def test_random_pipelines_do_what_their_loops_do(odd: bool, least: int):
    told = [verdict(seed, odd) for seed in range(5 * CASES)]
    assert not any(text for _, text in told)
    found = [what for what, _ in told]
    differs, same = found.count("refused, and differs"), found.count("refused, and does not")
    assert found.count("taken") > (CASES // 2 if odd else CASES) and differs > least * same
