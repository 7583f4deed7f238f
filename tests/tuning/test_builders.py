"""Processes build what the search would build itself, and are not missed where they are lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from tests.tuning.programs import VECTOR, space
from workbench import target
from workbench.tuning.builders import Builders
from workbench.tuning.score import Scored
from workbench.tuning.search import Search
from workbench.tuning.trial import Refusal

CUDA, H200 = target.get("cuda"), target.get("nvidia/h200")
ASKED = [((8, 1, 128, 1), 0), ((512, 1, 1, 2), 1), ((2, 2, 64, 4), 1)]


@pytest.mark.fuzz  # it imports the workbench in another process
def test_they_find_what_the_search_finds():
    builders = Builders(VECTOR, space, CUDA, H200, 1)
    search = Search(VECTOR, space, CUDA, H200, "random", 0)
    try:
        found = builders.build(ASKED, whole=False)
        proved = builders.build(ASKED, whole=True)
        assert set(found) == set(proved) == set(ASKED)
        for decisions in ASKED:
            own = search.draft(0, decisions, Random(0))
            assert found[decisions] == own.light
            if isinstance(own, Scored):
                assert proved[decisions] == search.proved(0, own).light
        assert isinstance(found[ASKED[1]], Refusal)
        builders._processes[0].kill()
        builders._processes[0].wait()
        assert builders.build(ASKED, whole=True) == {}
    finally:
        builders.close()
    assert builders.build(ASKED, whole=True) == {}


def test_a_space_that_no_other_process_can_import_has_none():
    def own(sch):
        space(sch)

    builders = Builders(VECTOR, own, CUDA, H200, 2)
    assert builders.build(ASKED, whole=True) == {}


def test_an_interrupt_ends_them_though_a_space_never_ends(monkeypatch):
    """What waits for an answer is in a pool, which an interrupt alone would wait for."""
    builders = Builders(VECTOR, space, CUDA, H200, 0)
    with subprocess.Popen(["sleep", "30"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
        builders._processes = [one]

        def interrupted(*_: object) -> Iterator[object]:
            raise KeyboardInterrupt
            yield

        monkeypatch.setattr(ThreadPoolExecutor, "map", interrupted)
        with pytest.raises(KeyboardInterrupt):
            builders.build(ASKED, whole=True)
        assert one.poll() is not None and builders._processes == []
