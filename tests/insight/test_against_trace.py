"""Pictures against a plain trace of random programs under random schedules, with threads."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from functools import cache
from itertools import product

import pytest

import workbench as wb
from tests.support.cases import seeds
from tests.support.gpu_steps import gpu_steps
from tests.support.random_programs import random_program
from tests.support.random_steps import Chooser
from tests.support.told import take_ours
from tests.support.tracer import Event, trace
from workbench import insight, script
from workbench.insight.accesses import Access, accesses
from workbench.insight.page import Region
from workbench.insight.tiles import _keys
from workbench.ir import PrimFunc, Var


@cache
def scheduled(seed: int) -> tuple[PrimFunc, tuple[Event, ...]]:
    """A random program after some random steps, half of them with threads; and its trace."""
    rng = random.Random(seed)
    sch = wb.Schedule(random_program(rng))
    for _ in range(rng.randint(0, 4)):
        step(sch, Chooser(sch.func, rng).step(VERBS))
    if rng.random() < 0.6:
        for bound in gpu_steps(sch.func, rng):
            step(sch, bound)
    return sch.func, tuple(trace(sch.func))


def step(sch: wb.Schedule, told: object) -> None:
    try:
        if told is not None:
            take_ours(sch, told)
    except (wb.ScheduleError, IndexError):
        pass


VERBS = (
    "split", "fuse", "reorder", "add_unit_loop", "unroll", "cache_read", "cache_write",
    "compute_at", "reverse_compute_at", "compute_inline", "set_scope", "decompose_reduction",
)  # fmt: skip


def points(region: Region) -> set[tuple[int, ...]]:
    sides = [range(start, start + count * step, step) for start, count, step in region]
    return set(product(*sides))


@pytest.mark.parametrize("seed", seeds())
def test_who(seed: int):
    func, events = scheduled(seed)
    writes = [e for e in events if e.writes]
    for buffer in dict.fromkeys(e.buffer for e in writes):
        mine = [e for e in writes if e.buffer == buffer]
        stage = mine[-1].stage
        found = insight.who(func, buffer)
        by_cell = defaultdict(list)
        for event in mine:
            if event.stage == stage:
                by_cell[event.index].append(event)
        if found.whole and len({e.stage for e in mine}) == 1:
            assert {c.index for c in found.cells} == set(by_cell), script.show(func)
        for cell in found.cells:
            check_cell(cell, owned(found.scope, cell, by_cell[cell.index]), script.show(func))
        check_groups(found, set(by_cell), script.show(func))


def owned(scope: str, cell: insight.Cell, events: list[Event]) -> list[Event]:
    """The events on the copy of the cell that `cell` speaks of."""
    if scope != "global":
        events = [e for e in events if e.block == (cell.block or (0, 0, 0))]
    if scope == "local":
        events = [e for e in events if e.thread == (cell.thread or (0, 0, 0))]
    return events


def check_cell(cell: insight.Cell, events: list[Event], text: str) -> None:
    writers = {(e.block, e.thread) for e in events}
    assert cell.writers == len(writers), text
    block, thread = cell.block or (0, 0, 0), cell.thread or (0, 0, 0)
    own = [e.time for e in events if (e.block, e.thread) == (block, thread)]
    assert cell.time == (min(own), max(own)), f"{cell}\n{text}"


def check_groups(found: insight.Who, cells: set[tuple[int, ...]], text: str) -> None:
    if found.left_out:
        return
    covered: set[tuple[int, ...]] = set()
    for group in found.groups:
        inside = points(group.region)
        assert group.cells == len(inside) if group.exact else group.cells <= len(inside), text
        covered |= inside
    assert covered >= cells, text
    if all(group.exact for group in found.groups):
        assert covered == cells, text


@pytest.mark.parametrize("seed", seeds())
def test_memory(seed: int):
    func, events = scheduled(seed)
    counted = Counter((e.buffer, e.writes) for e in events)
    seen = Counter()
    for level in insight.memory(func).levels:
        assert level.loads == sum(u.loads for u in level.buffers)
        for use in level.buffers:
            seen[use.buffer, False] += use.loads
            seen[use.buffer, True] += use.stores
    assert +seen == counted, script.show(func)


@pytest.mark.parametrize("seed", seeds())
def test_tiles(seed: int):
    func, events = scheduled(seed)
    rng = random.Random(seed)
    axes = insight.tiles(func).axes
    loops = {key: {x.var for x in found} for key, found in _keys(accesses(func)).items()}
    select = {a.key: rng.randrange(a.extent) for a in axes if rng.random() < 0.4}
    found = insight.tiles(func, select)
    steps = [around(access, select, loops) for access in accesses(func)]
    steps = [inside for inside in steps if inside is not None]
    wanted = defaultdict(list)
    for event in events:
        if chosen(event, select, loops, steps):
            access = "write" if event.writes else "read"
            wanted[event.buffer, event.stage, access].append(event.index)
    got = {}
    for tile in found.tiles:
        for touch in tile.touches:
            got[tile.buffer, touch.stage, touch.access] = touch
    assert set(got) == set(wanted), f"{select}\n{script.show(func)}"
    for key, indices in wanted.items():
        touch = got[key]
        assert (touch.accesses, touch.cells) == (len(indices), len(set(indices))), (key, select)
        assert points(touch.region) >= set(indices)
        assert not touch.exact or points(touch.region) == set(indices)
    check_totals(found, wanted)


def check_totals(
    found: insight.Tiles, wanted: dict[tuple[str, str, str], list[tuple[int, ...]]]
) -> None:
    """Reads and writes of all blocks together; what is told as even is so for every cell."""
    for tile in found.tiles:
        for access, touch in (("read", tile.read), ("write", tile.write)):
            times = Counter(
                index
                for (buffer, _, kind), indices in wanted.items()
                if (buffer, kind) == (tile.buffer, access)
                for index in indices
            )
            if touch is None:
                assert not times
                continue
            assert (touch.accesses, touch.cells) == (times.total(), len(times))
            assert not touch.even or len(set(times.values())) == 1
            assert access not in dict(tile.outside)


def around(access: Access, select: dict[str, int], loops: dict[str, set[Var]]) -> set[str] | None:
    """The selected loops around an access; None if the selected blocks and threads never run it."""
    own = {loop.name: loop.extent for loop in access.loops}
    if any("Idx." in key and number >= own.get(key, 1) for key, number in select.items()):
        return None
    variables = {loop.var for loop in access.loops}
    return {key for key in select if "Idx." not in key and loops[key] & variables}


def chosen(
    event: Event, select: dict[str, int], loops: dict[str, set[Var]], steps: list[set[str]]
) -> bool:
    """Whether the event is of the selection: what is outside the selected steps is not."""
    inside = {key for key in select if any(var in loops[key] for var, _ in event.loops)}
    if any(inside < other for other in steps):
        return False
    for key, number in select.items():
        if "Idx." in key:
            place = event.block if key.startswith("block") else event.thread
            if place["xyz".index(key[-1])] != number:
                return False
        elif any(var in loops[key] and at != number for var, at in event.loops):
            return False
    return True
