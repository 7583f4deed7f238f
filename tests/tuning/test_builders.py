"""Processes build what the search would build itself, and are not missed where they are lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from tests.tuning.programs import VECTOR, space
from workbench import script, target
from workbench.ir import BinOp, walk
from workbench.tuning.builders import Builders, Processes
from workbench.tuning.score import Scored
from workbench.tuning.search import Search
from workbench.tuning.trial import Refusal

CUDA, H200 = target.get("cuda"), target.get("nvidia/h200")
SHORTER = script.parse(script.show(VECTOR).replace("1024", "512"))
ASKED = [((8, 1, 128, 1), 0), ((512, 1, 1, 2), 1), ((2, 2, 64, 4), 1)]


@pytest.mark.fuzz  # it imports the workbench in another process
def test_they_find_what_the_search_finds():
    processes = Processes(1)
    builders = Builders(VECTOR, space, CUDA, H200, processes)
    search = Search(VECTOR, space, CUDA, H200, "random", 0)
    try:
        found = builders.build(ASKED, whole=False)
        proved = builders.build(ASKED, whole=True)
        assert set(found) == set(proved) == set(ASKED)
        for decisions in ASKED:
            own = search.draft(0, decisions, Random(0))
            assert found[decisions] == own.light
            if isinstance(own, Scored):
                there, here = proved[decisions], search.proved(0, own)
                assert there.light == here.light
                assert (
                    there.kernel.target is CUDA and there.kernel.source == here.made.kernel.source
                )
                sums = [e for e in walk(there.kernel.kernels[0]) if isinstance(e, BinOp)]
                assert sums and {e.dtype for e in sums} <= {"int32", "float32", "bool"}
                same = search.candidate(decisions, there.kernel)
                assert same.kernel is there.kernel
                assert same.schedule.trace == here.made.schedule.trace
        assert isinstance(found[ASKED[1]], Refusal)
        processes.alive[0].kill()
        processes.alive[0].wait()
        assert builders.build(ASKED, whole=True) == {}
    finally:
        processes.close()
    assert builders.build(ASKED, whole=True) == {}


def test_a_kernel_of_another_program_is_not_taken():
    search = Search(VECTOR, space, CUDA, H200, "random", 0)
    first, second = (search.candidate(ASKED[k]) for k in (0, 2))
    found = search.candidate(ASKED[2], first.kernel)
    assert found.kernel is not first.kernel
    assert found.kernel.source == second.kernel.source != first.kernel.source
    assert search.candidate(ASKED[1], first.kernel).reason  # what is refused stays refused


@pytest.mark.fuzz
def test_one_that_ends_is_not_waited_for():
    processes = Processes(2)
    builders = Builders(VECTOR, space, CUDA, H200, processes)
    try:
        processes.alive[0].kill()
        processes.alive[0].wait()
        assert set(builders.build(ASKED, whole=False)) == set(ASKED)
    finally:
        processes.close()


@pytest.mark.fuzz
def test_searches_of_several_programs_share_them():
    asked = {VECTOR: ((8, 1, 128, 1), 0), SHORTER: ((4, 1, 128, 1), 0)}
    processes = Processes(1)
    try:
        both = {one: Builders(one, space, CUDA, H200, processes) for one in asked}
        for program, builders in both.items():
            decisions = asked[program]
            own = Search(program, space, CUDA, H200, "random", 0).draft(0, decisions, Random(0))
            assert isinstance(own, Scored)
            assert builders.build([decisions], whole=False) == {decisions: own.light}
        assert len(processes.alive) == 1 and [one.count for one in both.values()] == [1, 1]
    finally:
        processes.close()


def test_a_space_that_no_other_process_can_import_has_none():
    def own(sch):
        space(sch)

    processes = Processes(2)
    builders = Builders(VECTOR, own, CUDA, H200, processes)
    assert builders.build(ASKED, whole=True) == {}
    assert processes.alive == [] and builders.count == 0  # nor were any started


def test_an_interrupt_ends_them_though_a_space_never_ends(monkeypatch):
    """What waits for an answer is in a pool, which an interrupt alone would wait for."""
    processes = Processes(0)
    builders = Builders(VECTOR, space, CUDA, H200, processes)
    with subprocess.Popen(["sleep", "30"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
        processes._started = [one]

        def interrupted(*_: object) -> Iterator[object]:
            raise KeyboardInterrupt
            yield

        monkeypatch.setattr(ThreadPoolExecutor, "map", interrupted)
        with pytest.raises(KeyboardInterrupt):
            builders.build(ASKED, whole=True)
        assert one.poll() is not None and processes.alive == []
