"""A sample of the damaged links that benchmarks/links.py opens, and how long links are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import workbench as wb
from benchmarks.convolutions import convolution, tutorial
from benchmarks.links import changed, ends, opened
from benchmarks.matmuls import blocking_with_shared, matmul
from tests.support.cases import seeds
from workbench.history.link import link

pytestmark = pytest.mark.fuzz
LONGEST = 2000  # characters, which mail, forums and slides take


def test_links_of_the_lessons_are_short_and_damaged_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    product, layer = wb.Schedule(matmul(1024)), wb.Schedule(convolution(4, 16, 64, 64))
    blocking_with_shared(product, 8, 8, 8, 8, 8)
    tutorial(layer)
    made = [link(node) for sch in (product, layer) for node in ends(sch)]
    assert len(made) >= 2 and max(map(len, made)) <= LONGEST
    found = set()
    for seed in seeds(8):
        told, _ = opened(changed(seed, made[seed % len(made)]))
        assert told in ("opened", "refused"), f"seed {seed}: {told}"
        found.add(told)
    assert found == {"opened", "refused"} and os.listdir(tmp_path) == []
