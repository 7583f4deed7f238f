"""Steps that TVM's MetaSchedule recorded, taken on a schedule of ours."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.tuning.programs import RECTIFIED, VECTOR, WINDOWED
from workbench import script, tuning
from workbench.ir import PrimFunc
from workbench.ir.equal import structural_equal

GOLDEN = Path(__file__).parents[1] / "golden"
STEPS: list[Any] = [
    ["GetSBlock", [], ["B", "main"], ["b0"]],
    ["GetLoops", ["b0"], [], ["l1"]],
    ["SamplePerfectTile", ["l1"], [3, 16], ["v2", "v3", "v4"]],
    ["Split", ["l1", "v2", "v3", "v4"], [1, 0], ["l5", "l6", "l7"]],
    ["SampleCategorical", [], [[0, 16], [0.5, 0.5]], ["v8"]],
    ["Annotate", ["l5", "v8"], ["pragma_auto_unroll_max_step"], []],
    ["EnterPostproc", [], [], []],
    ["Unannotate", ["l5"], ["pragma_auto_unroll_max_step"], []],
    ["Bind", ["l5"], ["blockIdx.x"], []],
    ["Bind", ["l6"], ["threadIdx.x"], []],
    ["CacheRead", ["b0", []], [0, "local"], ["b9"]],
    ["ComputeAt", ["b9", "l6"], [1, -1], []],
    ["Annotate", ["b0", '"none"'], ["note"], []],
]


def record(seconds: list[float], tile: list[int], workload: int = 0, steps: Any = None) -> str:
    trace = [steps or STEPS, [[2, tile], [4, 1]]]
    return json.dumps([workload, [trace, seconds, {"kind": "cuda"}, [["TENSOR", "float32", [9]]]]])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "database_tuning_record.json"


def test_the_fastest_record_of_a_program_is_taken(file: Path):
    slow, fast = record([3e-6, 9e-6, 2e-6], [8, 32, 4]), record([2e-6], [4, 128, 2])
    none, other = record([], [2, 256, 2]), record([1e-6], [1, 1024, 1], workload=1)
    file.write_text("\n".join([slow, none, fast, other]) + "\n")
    sch = tuning.from_tvm(VECTOR, file)
    assert [step.verb for step in sch.trace.steps] == [
        *("sample_perfect_tile", "split", "sample_categorical", "annotate", "unannotate"),
        *("bind", "bind", "cache_read", "compute_at", "annotate"),
    ]
    assert wb.build(sch).grid == (4, 1, 1) and wb.build(sch).block == (128, 1, 1)
    assert wb.build(tuning.from_tvm(VECTOR, file, workload=1)).block == (1024, 1, 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it has no time of program 0"),
        (record([], [8, 32, 4]), "it has no time of program 0"),
        (record([1e-6], [8, 32, 4], workload=3), "it has no time of program 0"),
        (record([float("inf")], [8, 32, 4]), "it has no time of program 0"),
        (record([-1.0], [8, 32, 4]), "it has no time of program 0"),
        (record([1e10], [8, 32, 4]), "it has no time of program 0"),  # TVM's, of a run that failed
        ('["0", "d1E="]', "line 1 is no record of TVM's"),
        ("[" * 100_000, "line 1 is no record of TVM's"),
        ("\0\xff", "line 1 is no record of TVM's"),
        (json.dumps([0, [[1, 2, 3], [1e-6]]]), "its trace is none of TVM's"),
        (record([1e-6], [1], steps=[["GetTensor", [], [], []]]), "no verb stands for GetTensor"),
        (
            record([1e-6], [1], steps=[["EnterPostproc", [], [], []]] * 10_001),
            "10,001 are more than 10,000",
        ),
        (record([1e-6], [1], steps=[["Bind", ["l5"], ["x"], []]]), "instruction 1, Bind, is cut"),
        (record([1e-6], [1], steps=[STEPS[0], ["GetLoops", [], [], []]]), "2, GetLoops, is cut"),
    ],
)
def test_what_is_no_record_is_told(file: Path, text: str, told: str):
    file.write_text(text)
    with pytest.raises(tuning.TvmRecordError) as error:
        tuning.from_tvm(VECTOR, file)
    assert told in error.value.headline and error.value.hint


def test_a_step_of_another_program_is_refused(file: Path):
    file.write_text(record([1e-6], [8, 32, 4]))
    other = script.parse(script.show(VECTOR).replace("1024", "1000"))
    with pytest.raises(wb.ScheduleError, match="sample_perfect_tile"):
        tuning.from_tvm(other, file)


def test_a_damaged_file_ends_in_an_error_of_ours(file: Path):
    rng, text = random.Random(0), record([1e-6], [8, 32, 4])
    taken = 0
    for _ in range(150):
        damaged = list(text)
        k = rng.randrange(len(damaged))
        damaged[k : k + rng.randint(0, 2)] = rng.choice('[]{}",0123456789abl')
        file.write_text("".join(damaged))
        try:
            tuning.from_tvm(VECTOR, file)
            taken += 1
        except (tuning.TvmRecordError, wb.ScheduleError):
            pass
    assert 5 < taken < 100


def test_what_metaschedule_wrote_is_the_program_that_it_made(file: Path):
    """`benchmarks/tvm_records.py` had TVM write these, with what it does after its choices."""
    for line in (GOLDEN / "tvm_records.jsonl").read_text().splitlines():
        told = json.loads(line)
        file.write_text(told["record"])
        theirs = script.parse(told["makes"])
        theirs = theirs if isinstance(theirs, PrimFunc) else theirs.functions[0]
        program = {"rectified": RECTIFIED, "windowed": WINDOWED}[told.get("of", "rectified")]
        assert structural_equal(tuning.from_tvm(program, file).func, theirs)


def test_what_metaschedule_wrote_has_a_block_in_each_place_that_may_be_chosen():
    """Computed inline, left where it is, and moved to a loop."""
    rows = [json.loads(row) for row in (GOLDEN / "tvm_records.jsonl").read_text().splitlines()]
    places = set()
    for row in rows:
        (instructions, decisions), *_ = json.loads(row["record"])[1]
        moves = [d for k, d in decisions if instructions[k][0] == "SampleComputeLocation"]
        places |= {min(place, 0) for place in moves}
    assert places == {-2, -1, 0}
