"""A winner enters MetaSchedule's database, where TVM finds its steps again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

import workbench as wb
from tests.tuning.programs import VECTOR
from tests.tuning.test_space import MADE
from workbench import target, tuning

_FOUND = """
found = ms.database.JSONDatabase(work_dir=str(Path(__file__).parent)).query_schedule(
    Program, target, "main")
tvm.ir.assert_structural_equal(found.mod, sch.mod)
records = database.get_all_tuning_records()
assert [float(s) for s in records[0].run_secs] == [2e-06] and str(records[0].target.arch) == "sm_90"
"""


@pytest.mark.tool
def test_tvm_finds_the_steps_of_a_sampled_winner(tmp_path: Path):
    pytest.importorskip("tvm", reason="needs apache-tvm: pip install '.[tvm]'")
    h200 = target.get("nvidia/h200")
    program, decisions = MADE["matmul in parts"]
    best = tuning.candidate(program(), tuning.ready(h200), h200, decisions, Random(0)).schedule
    path = tmp_path / "enter.py"
    tuning.tvm_database(best, h200, 2e-6, path)
    path.write_text(path.read_text() + _FOUND)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1500:]
    assert "SamplePerfectTile" in (tmp_path / "database_tuning_record.json").read_text()


@pytest.mark.parametrize(
    "name, seconds, said",
    [
        (
            "metal",
            1e-6,
            "Can't enter this for TVM: metal is neither a GPU of CUDA nor a CPU.\n"
            "do:    give the target that the seconds were measured on",
        ),
        (
            "nvidia/h100",
            float("nan"),
            "Can't enter this for TVM: it gave nan as a time.\ndo:    give the seconds of one run",
        ),
        (
            "nvidia/h100",
            "2e-6",
            "Can't enter this for TVM: '2e-6' is no number.\ndo:    give the seconds of one run",
        ),
    ],
)
def test_what_tvm_could_not_take_is_not_written(name, seconds, said, tmp_path):
    path = tmp_path / "enter.py"
    with pytest.raises(wb.ScheduleError) as refused:
        tuning.tvm_database(wb.Schedule(VECTOR), target.get(name), seconds, path)
    assert str(refused.value) == said and not path.exists()


def test_a_time_of_numpy_is_written_as_a_plain_number(tmp_path):
    path = tmp_path / "enter.py"
    tuning.tvm_database(wb.Schedule(VECTOR), "nvidia/h100", np.float64(2e-6), path)
    assert "workload, [2e-06], target" in path.read_text()
