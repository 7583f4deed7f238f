"""A record as T4 results: what the format's schema asks for is there."""

from __future__ import annotations

import json

import pytest

from workbench import tuning
from workbench.tuning import Ended, Header, Lines, Outcome, Refusal, Trial

KEYS = {"configuration", "times", "invalidity", "correctness"}  # required by the schema
KINDS = {"timeout", "compile", "runtime", "correctness", "constraints", "correct"}


def test_all_that_was_tried_is_a_result():
    lines = Lines(Header("program", "space", "cuda", "a GPU", "", "", "0", "random", 0, 4))
    outcomes = [
        Outcome("correct", "measured", (1e-6, 3e-6, 2e-6)),
        Outcome("timeout", "measured", (), "no answer in 10 s"),
    ]
    for number, outcome in enumerate(outcomes):
        trial = Trial(number, 0, 2, (), ((4, 2), number), "abc")
        for item in (trial, Ended(trial, outcome)):
            lines.add(item)
    lines.add(Refusal(0, ((8, 1), 0), "too few threads"))
    data = json.loads(tuning.t4(lines))
    assert data["schema_version"] == "1.0.0" and data["device"] == "a GPU"
    right, late, refused = data["results"]
    for one in data["results"]:
        assert one.keys() >= KEYS and one["invalidity"] in KINDS
        assert all(isinstance(time, float) for time in one["times"]["runtimes"])
    assert right["configuration"] == {"choice 1": [4, 2], "choice 2": 0}
    assert right["times"] == {"runtimes": [1e-3, 3e-3, 2e-3]} and right["correctness"] == 1.0
    assert right["measurements"] == [{"name": "time", "value": 2e-3, "unit": "ms"}]
    assert (late["invalidity"], late["reason"]) == ("timeout", "no answer in 10 s")
    assert (refused["invalidity"], refused["reason"]) == ("constraints", "too few threads")


def test_what_is_no_record_is_told_what_to_give():
    with pytest.raises(tuning.RecordError, match="Can't write str as T4") as refused:
        tuning.t4("record.jsonl")  # type: ignore[arg-type]
    assert refused.value.hint.startswith("tuning.t4(tuning.read(path))")
