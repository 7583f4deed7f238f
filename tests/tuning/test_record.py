"""A record holds what was tried, whatever becomes of the search; reading one runs nothing."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import workbench as wb
from benchmarks.tuning_records import damaged
from tests.tuning.programs import VECTOR, Planted, space
from workbench import script, tuning
from workbench.tuning import Ended, Header, Outcome, Record, RecordError, Refusal, Trial

HEADER = Header("program", "space", "cuda", "a GPU", "", "", "0", "random", 0, 4)
TRIAL = Trial(0, 0, 1, (), ((4, 2), 1), "abc", 1e-6, None, (("issue µs", 2.5), ("blocks", 8.0)))
CLAIM = {
    "batch": 0,
    "of": 1,
    "parents": [],
    "decisions": [1],
    "program": "abc",
    "predicted": None,
    "modelled": None,
}
ITEMS = [
    Refusal(0, ((8, 1), 0), "too few threads"),
    TRIAL,
    Ended(TRIAL, Outcome("correct", "measured", (1e-6, 3e-6, 2e-6), yardstick=2e-5)),
]


def search(path: Path, measurer: Planted, trials: int = 10, **own) -> wb.Schedule:
    asked = {"space": space, "target": "cuda", "per_batch": 4, **own}
    return wb.tune(
        VECTOR, trials=trials, record=path, measurer=measurer, progress=lambda told: None, **asked
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[bytes, str]:
    """A search that nothing stopped: its record, and the steps that won."""
    path = tmp_path_factory.mktemp("whole") / "record.jsonl"
    best = search(path, Planted())
    return path.read_bytes(), str(best.trace)


def told(path: Path) -> tuple:
    lines = tuning.read(path)
    refused = {r.decisions: r.reason for r in lines.refused.values()}
    return lines.header, lines.trials, lines.outcomes, refused


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_byte_it_goes_on_where_it_was(whole, tmp_path, seed: int):
    raw, best = whole
    path, kept = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    path.write_bytes(raw)
    kept.write_bytes(raw[: Random(seed).randrange(len(raw))])
    try:
        before = len(tuning.read(kept).outcomes)
    except RecordError:
        before = 0  # not even its first line was finished
    measurer = Planted()
    assert str(search(kept, measurer).trace) == best
    assert told(kept) == told(path)
    assert len(measurer.seen) == 10 - before  # and what was measured is not measured again


def test_stopped_while_it_measures_it_measures_that_trial_again(whole, tmp_path):
    raw, best = whole
    path = tmp_path / "stopped.jsonl"
    with pytest.raises(KeyboardInterrupt):
        search(path, Planted(after=5))
    lines = tuning.read(path)
    assert len(lines.outcomes) == 5 and len(lines.trials) == 8  # written ahead of measuring
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([rows[0], *Random(1).sample(rows[1:], len(rows) - 1)]))
    measurer = Planted()
    assert str(search(path, measurer).trace) == best
    assert measurer.seen[0] == lines.trials[5].decisions
    (tmp_path / "whole.jsonl").write_bytes(raw)
    assert told(path) == told(tmp_path / "whole.jsonl")


def test_a_search_goes_on_with_more_trials_and_no_other_search_does(whole, tmp_path):
    path = tmp_path / "record.jsonl"
    path.write_bytes(whole[0])
    measurer = Planted()
    search(path, measurer, trials=12)
    assert len(measurer.seen) == 2 and len(tuning.read(path).outcomes) == 12
    before = path.read_bytes()
    with pytest.raises(RecordError) as refused:
        search(path, measurer, seed=1)
    assert str(refused.value) == (
        "Can't go on with record.jsonl: it is of another seed.\n"
        "found: it has 0, and this search 1\n"
        "do:    give another path for the record, or search what it is of"
    )
    assert path.read_bytes() == before


def test_one_search_writes_it_at_a_time(tmp_path):
    path = tmp_path / "record.jsonl"
    first = Record(path, HEADER)
    with pytest.raises(RecordError, match="another search writes it now"):
        Record(path, HEADER)
    first.append(ITEMS)
    first.close()
    again = Record(path, HEADER)
    assert again.lines == tuning.read(path)
    assert again.lines.ended == [ITEMS[2]] and again.lines.ended[0].seconds == 2e-6
    again.close()


def test_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch):
    path = tmp_path / "record.jsonl"
    record = Record(path, HEADER)
    record.append(ITEMS[:1])
    write, before = os.write, path.read_bytes()

    def full(file: int, data: bytes) -> int:
        if len(data) < 30:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[:20])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RecordError, match=r"Can't write the record record\.jsonl: No space left"):
        record.append(ITEMS[1:])
    assert path.read_bytes() == before and record.lines.trials == {}
    record.close()


@pytest.mark.parametrize(
    "row, why",
    [
        ({"times": [float("nan")]}, "a time is none"),
        ({"times": [5e-324]}, "a time is none"),
        ({"times": [10**400]}, "a time is none"),
        ({**CLAIM, "features": {"blocks": 10**400}}, "a feature is no number"),
        ({"status": "fine"}, "it has a status that is none"),
        ({"trial": True}, "a count is none"),
        ({"times": []}, "what is correct has times"),
        ({**CLAIM, "features": {"blocks": float("inf")}}, "a feature is no number"),
        ({**CLAIM, "features": [1]}, "features are no numbers with names"),
        ({"refused": "os.system", "batch": 0}, "decisions are no list"),
        ([1, 2], "it is no object"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, row, why: str):
    path = tmp_path / "record.jsonl"
    Record(path, HEADER).close()
    right = {"trial": 0, "status": "correct", "how": "measured", "times": [1e-6], "reason": ""}
    with path.open("a") as file:
        file.write(json.dumps({**right, **row} if isinstance(row, dict) else row) + "\n")
    with pytest.raises(RecordError) as refused:
        tuning.read(path)
    assert refused.value.headline.startswith("Can't read the record record.jsonl: line 2: ")
    assert why in refused.value.headline


def test_a_hostile_record_gives_our_own_errors_alone(whole, tmp_path):
    path, refused = tmp_path / "record.jsonl", 0
    for seed in range(100):
        path.write_bytes(damaged(whole[0], Random(seed)))
        try:
            tuning.read(path)
        except RecordError as error:
            assert len(error.headline) < 120
            refused += 1
    assert refused > 50


def test_what_a_record_claims_is_held_against_the_space(whole, tmp_path):
    path = tmp_path / "record.jsonl"
    header = whole[0].splitlines(keepends=True)[0]
    odd = [[], [[4, 2], 5, 7], [3, [1]], [[8, 1, 128, 1], 1]]  # the last is of another program
    claims = [
        {"trial": k, "batch": 0, "of": 4, "parents": [99], "decisions": decisions, "program": "x"}
        for k, decisions in enumerate(odd)
    ]
    rows = [{**claim, "predicted": None, "modelled": 1e-9} for claim in claims]
    end = {"trial": 0, "status": "correct", "how": "measured", "times": [1e-12], "reason": ""}
    path.write_bytes(header + "".join(f"{json.dumps(row)}\n" for row in [*rows, end]).encode())
    best = search(path, measurer := Planted(), trials=6)
    assert best.get("i_2").extent.value >= 4  # the fastest of those that the space makes
    lines = tuning.read(path)
    why = "the space makes another program of these decisions now"
    assert [lines.outcomes[k].reason for k in (2, 3)] == ["fewer than 4 threads", why]
    assert len(measurer.seen) == 2 and len(lines.outcomes) == 6


def test_what_is_no_record_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    with pytest.raises(RecordError, match="it is no record of a search"):
        Record(path, HEADER)
    assert path.read_text() == "my notes"
    with pytest.raises(RecordError, match="Can't write the record null: it is a device, no file"):
        Record("/dev/null", HEADER)
    with pytest.raises(RecordError, match="Can't write the record") as refused:
        Record(tmp_path / "none" / "record.jsonl", HEADER)
    assert refused.value.hint == "give another path; what was measured is kept"  # there is room


def test_a_trial_that_a_record_has_elsewhere_is_not_written_again(whole, tmp_path):
    """By a damaged batch number: what could not be read after is not written."""
    path = tmp_path / "record.jsonl"
    rows = [json.loads(row) for row in whole[0].splitlines()]
    (k,) = (k for k, row in enumerate(rows) if row.get("trial") == 5 and "batch" in row)
    rows[k]["batch"] = 99
    path.write_bytes(before := b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    with pytest.raises(RecordError) as refused:
        search(path, Planted())
    assert str(refused.value).startswith(
        "Can't write the record record.jsonl: trial 5 has other decisions above.\nfound: {"
    )
    assert str(refused.value).endswith(
        "do:    what was measured is kept; give another path, or mend what measures"
    )
    assert path.read_bytes().startswith(before) and tuning.read(path).trials[5].batch == 99


def test_features_of_a_record_that_are_none_of_ours_are_not_learnt_from():
    right = Outcome("correct", "measured", (1e-6,))
    for odd in ({"blocks": 1.0}, {"modelled µs": 1e-320}):
        trial = Trial(0, 0, 1, (), (1,), "abc", features=tuple(odd.items()))
        assert tuning.Learnt([Ended(trial, right)]).factor(trial.features) == 1.0


def test_a_record_that_is_deleted_meanwhile_is_missed(tmp_path):
    path = tmp_path / "record.jsonl"
    record = Record(path, HEADER)
    path.unlink()
    with pytest.raises(RecordError) as refused:
        record.append(ITEMS)
    record.close()
    assert str(refused.value) == (
        "Can't write the record record.jsonl: it was deleted meanwhile.\n"
        "do:    start the search again: it begins a new one"
    )


def test_what_differs_is_shown_though_it_begins_alike(tmp_path):
    path, program = tmp_path / "record.jsonl", script.show(VECTOR)
    Record(path, replace(HEADER, program=program)).close()
    with pytest.raises(RecordError) as refused:
        Record(path, replace(HEADER, program=program.replace("float32(2)", "float32(3)")))
    assert str(refused.value) == (
        "Can't go on with record.jsonl: it is of another program.\n"
        "found: it has …= A[vi] * T.float32(2)', and this search …= A[vi] * T.float32(3)'\n"
        "do:    give another path for the record, or search what it is of"
    )
    with pytest.raises(RecordError, match="it is of another version of the workbench"):
        Record(path, replace(HEADER, program=program, code="1"))
