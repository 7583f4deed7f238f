"""Sampled choices: drawn within their domain, plain data in a step, taken again as they were."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

import workbench as wb
from tests.schedule import programs
from workbench import script
from workbench.verbs.choices import CategoricalDomain, LocationDomain, TileDomain

TILES = [
    TileDomain(extent, n, limit)
    for extent, n, limit in [
        (1024, 5, 8),
        (7, 2, 16),
        (13, 3, 4),
        (1, 3, 16),
        (360, 3, 1),
        (12, 1, 4),
    ]
]
DOMAINS = [*TILES, CategoricalDomain((1, 2, 4), (0.5, 0.0, 0.5)), LocationDomain((-2, 0, 3))]


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_what_is_drawn_changed_or_repaired_is_of_the_domain(domain):
    rng = Random(str(domain))
    seen = set()
    for _ in range(60):
        drawn = domain.draw(rng)
        assert domain.wrong(drawn) == "" and domain.repaired(drawn) == drawn
        near = domain.neighbour(drawn, rng)
        assert domain.wrong(near) == ""
        seen |= {drawn, near}
    assert len(seen) > 1 or domain in (TILES[3], TILES[5])
    for odd in (None, (), (3, 5), (0, -1), -9, 99, "x", (2.0, 4)):
        assert domain.wrong(odd) and domain.wrong(domain.repaired(odd)) == ""


def test_tiles_are_drawn_as_often_as_each_other():
    domain, rng = TileDomain(2**4, 3, 16), Random(0)
    drawn = [domain.draw(rng) for _ in range(3000)]
    counts = [drawn.count(tile) for tile in set(drawn)]
    assert len(counts) == 15 and min(counts) > 140 and max(counts) < 270  # 200 each


def choose(sch: wb.Schedule) -> list[object]:
    """Every kind of choice, and steps that hold what was chosen."""
    _, j, _ = sch.get_loops("C")
    tile = sch.sample_perfect_tile(j, n=2, max_innermost_factor=4)
    sch.split(j, factors=tile)
    width = sch.sample_categorical([1, 2, 4], probs=[0.25, 0.25, 0.5])
    copy = sch.cache_read("C", 0, "shared")
    place = sch.sample_compute_location(copy)
    if not isinstance(place, int):
        sch.compute_at(copy, place)
    return [tile, width, str(place)]


@pytest.mark.parametrize("seed", range(3))
def test_a_trace_is_taken_again_exactly(seed: int, tmp_path):
    program = script.parse(programs.MATMUL)
    sch, again = wb.Schedule(program, seed=seed), wb.Schedule(program, seed=seed)
    assert choose(sch) == choose(again)
    replayed = wb.Schedule.replay(program, sch.trace)
    assert replayed.trace == sch.trace and wb.structural_equal(replayed.func, sch.func)
    sch.save(tmp_path / "steps.json")
    assert wb.load(tmp_path / "steps.json").trace == sch.trace
    names = {"wb": wb, "program": program}
    exec(sch.trace.as_python(), names)
    assert names["sch"].trace == sch.trace


def test_a_decision_is_a_step_of_its_own_though_the_program_stays():
    sch = wb.Schedule(script.parse(programs.MATMUL), seed=1)
    for decision in ([4, 2], [2, 4]):
        sch.goto(0)
        assert sch.sample_perfect_tile("j", n=2, decision=decision) == decision
    assert len(sch.history) == 3
    assert all(a.mod is b.mod or a.func is b.func for a, b in pairwise(sch.history))
    assert sch.node.label == "sample_perfect_tile(j, n=2, decision=[2, 4])"


def test_who_makes_the_schedule_may_decide():
    asked = []

    def decide(domain):
        asked.append(domain)
        return domain.repaired(None)

    sch = wb.Schedule(script.parse(programs.MATMUL), decide=decide)
    assert sch.fork().sample_perfect_tile("j", n=2) == [8, 1]
    assert asked == [TileDomain(8, 2, 16)]


def test_places_have_the_numbers_of_tvms_traces():
    """There -2 is inline and -1 where it is: see `CollectComputeLocation` in its utils.cc."""
    sch = wb.Schedule(script.parse(programs.MATMUL))
    copy = sch.cache_read("C", 0, "shared")
    assert sch.sample_compute_location(copy, decision=-1) == -1
    assert sch.sample_compute_location(copy, decision=-2) == -2
    sch.sample_compute_location(copy, decision=0)
    with pytest.raises(wb.ScheduleError, match="-2 is none of its places, -1") as told:
        sch.sample_compute_location("C", decision=-2)
    assert "-2 is inline, -1 where it is" in str(told.value)
