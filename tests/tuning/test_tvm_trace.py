"""Steps that TVM's MetaSchedule recorded, taken on a schedule of ours."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.tuning.programs import HALVES, RECTIFIED, VECTOR, WINDOWED
from workbench import emulate, script, tuning
from workbench.ir import PrimFunc
from workbench.ir.equal import structural_equal
from workbench.tuning.tvm_index_map import text_of_map

GOLDEN = Path(__file__).parents[1] / "golden" / "tvm_records.jsonl"
RECORDS = [json.loads(row) for row in GOLDEN.read_text().splitlines()]
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
    for told in filter(lambda row: row.get("of") != "halves", RECORDS):
        file.write_text(told["record"])
        theirs = script.parse(told["makes"])
        theirs = theirs if isinstance(theirs, PrimFunc) else theirs.functions[0]
        program = {"rectified": RECTIFIED, "windowed": WINDOWED}[told.get("of", "rectified")]
        assert structural_equal(tuning.from_tvm(program, file).func, theirs)


def test_a_record_of_tensor_cores_is_taken(file: Path):
    """TVM's program has calls of a warp where ours has notes: so they are held against the sums."""
    (told,) = (row for row in RECORDS if row.get("of") == "halves")
    file.write_text(told["record"])
    sch = tuning.from_tvm(HALVES, file)
    names = [step.args[1] for step in sch.trace.steps if step.verb == "tensorize"]
    assert len(names) == 5 and all(name.startswith("wmma_") for name in names)
    A, B = np.random.default_rng(0).random((2, 64, 64)).astype("float16")
    C = np.zeros((64, 64), "float32")
    emulate.evaluate(sch.func, [A, B, C])
    np.testing.assert_allclose(C, A.astype("float32") @ B.astype("float32"), rtol=1e-5)
    assert "wmma.mma.sync" in wb.build(sch, "nvidia/h100").source


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("prim.FloorDiv", "prim.Pow"), "prim.Pow"),
        (('"name": 2', '"name": 999'), "out of range"),
        (('"value": 7', '"value": 6'), ""),
        (("\n", "?"), "Expecting"),
    ],
)
def test_an_index_map_that_is_none_is_told(change: tuple[str, str], told: str, file: Path):
    (row,) = (row for row in RECORDS if row.get("of") == "halves")
    record = json.loads(row["record"])
    steps = record[1][0][0]
    changed = [step for step in steps if step[0] == "TransformLayout" and "FloorDiv" in str(step)]
    changed[0][1][1] = changed[0][1][1].replace(*change)
    file.write_text(json.dumps(record))
    with pytest.raises(tuning.TvmRecordError) as error:
        tuning.from_tvm(HALVES, file)
    assert "TransformLayout, is cut or changed" in error.value.headline
    assert told in str(error.value)


def test_an_index_map_has_an_end():
    """A node that is twice in the next, and so on, would be text without end."""
    doubled = [{"type": "prim.Add", "data": {"a": k, "b": k}} for k in range(4, 60)]
    nodes: list[Any] = [{"type": "tirx.IndexMap", "data": {"initial_indices": 1}}]
    nodes += [{"type": "ffi.Array", "data": [4]}, {"type": "ffi.Array", "data": [59]}]
    nodes += [{"type": "ffi.String", "data": "i"}, {"type": "ir.Var", "data": {"name": 3}}]
    nodes[0]["data"]["final_indices"] = 2
    graph = json.dumps({"root_index": 0, "nodes": nodes + doubled[:2]})
    with pytest.raises(IndexError):
        text_of_map(graph, {})
    with pytest.raises(ValueError, match="more than 1000 values"):
        text_of_map(json.dumps({"root_index": 0, "nodes": nodes + doubled}), {})
    nodes[2]["data"] = [6]
    graph = json.dumps({"root_index": 0, "nodes": nodes + doubled[:2]})
    assert text_of_map(graph, {}) == "lambda i: (((i + i) + (i + i)),)"


def test_what_metaschedule_wrote_has_a_block_in_each_place_that_may_be_chosen():
    """Computed inline, left where it is, and moved to a loop."""
    places = set()
    for row in RECORDS:
        (instructions, decisions), *_ = json.loads(row["record"])[1]
        moves = [d for k, d in decisions if instructions[k][0] == "SampleComputeLocation"]
        places |= {min(place, 0) for place in moves}
    assert places == {-2, -1, 0}
