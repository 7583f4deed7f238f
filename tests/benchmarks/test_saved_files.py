"""A sample of the damaged histories that benchmarks/saved_files.py reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.histories import add_branches, vector_add
from benchmarks.saved_files import damaged, read_damaged


@pytest.mark.fuzz
def test_a_damaged_history_is_read_or_refused_and_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "lab.json"
    add_branches(vector_add(8), (2,)).save(file)
    text = file.read_text()
    found = set()
    for seed in range(100):
        for old in tmp_path.iterdir():
            old.unlink()
        told, _ = read_damaged(damaged(seed, text), text, file)
        assert told in ("read", "refused"), f"seed {seed}: {told}"
        assert all(name.endswith(".json") for name in os.listdir(tmp_path)), seed
        found.add(told)
    assert found == {"read", "refused"}
