"""Pictures against a plain trace of random programs under random schedules, with threads."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import pytest

import workbench as wb
from benchmarks.matmuls import matmul
from tests.support.cases import seeds
from tests.support.gpu_programs import block_matmul, window_steps
from tests.support.gpu_steps import gpu_steps
from tests.support.random_programs import random_program
from tests.support.random_steps import Chooser
from tests.support.told import take_ours
from tests.support.tracer import Event, trace
from workbench import draw, insight, script, te
from workbench.draw.colours import times_each
from workbench.draw.scene import Words
from workbench.insight.accesses import Access, accesses
from workbench.insight.lanes import Band, lanes_of
from workbench.insight.page import Region
from workbench.insight.tiles import _keys
from workbench.ir import Block, For, Node, PrimFunc, Var, children, dtypes, walk


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
        check_drawn(found, by_cell)


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


SAID = re.compile(
    r"(?:block (?P<block>[^,:]+|\([^)]*\)))?(?:, )?(?:thread (?P<thread>[^,:]+|\([^)]*\)))?(?:, )?"
    r"(?:time steps? (?P<first>\d+)(?: to (?P<last>\d+))?)?"
)


def check_drawn(found: insight.Who, by_cell: dict[tuple[int, ...], list[Event]]) -> None:
    """Each cell that is drawn stands with who computes it, and when; so do the words on it."""
    for strip in draw.who_picture(found).strips:
        for shape in strip.shapes:
            cell, _, told = shape.of.title.partition("]: ")
            sides = [side for _, *side in shape.of.cells]
            if not told or sides != [[1, 1]] * len(sides):
                continue
            index = tuple(start for start, *_ in shape.of.cells)
            assert cell == f"{found.buffer}[{', '.join(map(str, index))}"
            said = SAID.fullmatch(told)
            assert said, told
            place = {"block": shape.of.block, "thread": shape.of.thread}
            own = [
                event.time
                for event in by_cell[index]
                if all(at is None or getattr(event, of) == at for of, at in place.items())
            ]
            for of, at in place.items():
                assert said[of] is None or at in (point(said[of]), None), (told, at)
            if said["first"]:
                assert (min(own), max(own)) == (
                    int(said["first"]),
                    int(said["last"] or said["first"]),
                )
            assert own, told
            if isinstance(shape, Words) and re.match("block|thread|time", shape.label):
                assert shape.label in told


def point(words: str) -> tuple[int, ...]:
    """(1, 0, 2) of "(x=1, z=2)", and of "1" (1, 0, 0)."""
    if words.isdigit():
        return (int(words), 0, 0)
    found = dict(re.findall(r"(\w)=(\d+)", words))
    return tuple(int(found.get(axis, 0)) for axis in "xyz")


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


def two_stages() -> PrimFunc:
    """A tile of what a stage makes, and of what it is made of, in shared memory."""
    A = te.placeholder((18, 18), name="A")
    H = te.compute((18, 16), lambda i, j: A[i, j] + A[i, j + 1] + A[i, j + 2], name="H")
    B = te.compute((16, 16), lambda i, j: H[i, j] + H[i + 1, j] + H[i + 2, j], name="B")
    sch = wb.Schedule(te.create_prim_func([A, B]))
    i, j = sch.get_loops("B")
    (i_0, i_1), (j_0, j_1) = sch.split(i, factors=[None, 4]), sch.split(j, factors=[None, 4])
    sch.reorder(i_0, j_0, i_1, j_1)
    for loop, axis in ((i_0, "blockIdx.y"), (j_0, "blockIdx.x")):
        sch.bind(loop, axis)
    sch.bind(sch.fuse(i_1, j_1), "threadIdx.x")
    sch.set_scope("H", 0, "shared")
    sch.compute_at("H", j_0)
    sch.compute_at(sch.cache_read("H", 0, "shared"), j_0)
    for stage in ("H", "A_shared"):
        _, tx = sch.split(sch.fuse(*sch.get_loops(stage)[-2:]), factors=[None, 16])
        sch.bind(tx, "threadIdx.x")
    return sch.func


def small_matmul(shared: bool) -> PrimFunc:
    sch = wb.Schedule(matmul(8))
    block_matmul(sch, sch.get_block("C"), shared, local=2, threads=2, depth=4)
    return sch.func


STAGED = {
    "one stage": lambda: window_steps(32)["cooperative"],
    "a copy in each thread": lambda: window_steps(32)["shared"],
    "two stages": two_stages,
    "registers": lambda: small_matmul(shared=False),
    "shared memory and registers": lambda: small_matmul(shared=True),
}


@pytest.mark.tool
@pytest.mark.parametrize("name", STAGED)
def test_bands_of_programs_with_copies(name: str):
    func = STAGED[name]()
    check_bands(func, trace(func))


@pytest.mark.parametrize("seed", seeds())
def test_bands_of_the_memory_picture(seed: int):
    check_bands(*scheduled(seed))


def check_bands(func: PrimFunc, events: Sequence[Event]) -> None:
    """Bytes and loads of a cell on each band, and the loop in which a copy says it is made."""
    memory = insight.memory(func)
    copies = {(flow.stage, flow.source, flow.target) for flow in memory.flows if flow.copies}
    uses = {use.buffer: use for level in memory.levels for use in level.buffers}
    scopes = {use.buffer: level.scope for level in memory.levels for use in level.buffers}
    for lane in lanes_of(memory):
        for band in lane.bands:
            near = lane.uses[band.near].buffer if band.near < len(lane.uses) else ""
            shown = on_band(band, near, copies, events)
            assert band.bytes == len(shown) * dtypes.itemsize(uses[band.buffer].dtype), band
            if band.load:
                first = owned_first(scopes[band.buffer], shown)
                cells = {event.index for event in first}
                assert band.reuse == pytest.approx(len(first) / max(len(cells), 1)), band
            if near:
                stages = {event.stage for event in events if event.buffer == near}
                check_at(func, band, stages)


def on_band(
    band: Band, near: str, copies: set[tuple[str, str, str]], events: Sequence[Event]
) -> list[Event]:
    """What is loaded or stored, as the band says, of its buffer."""
    far = band.buffer
    ends = (far, near) if band.load else (near, far)
    on = {stage for stage, *of in copies if tuple(of) == ends}
    off = {stage for stage, *of in copies if far == of[not band.load]}
    return [
        event
        for event in events
        if event.buffer == far and event.writes != band.load
        if (event.stage in on if near else event.stage not in off)
    ]


def owned_first(scope: str, events: list[Event]) -> list[Event]:
    """What the first block does of them; of local memory, its first thread."""
    first = [event for event in events if event.block == (0, 0, 0)]
    return [e for e in first if e.thread == (0, 0, 0)] if scope == "local" else first


def check_at(func: PrimFunc, band: Band, stages: set[str]) -> None:
    """The copy's loop is the innermost that holds all of `stages`, and stands in that line."""
    around = [list(loops_of(func.body, stage)) for stage in stages]
    common = [loop for loop in around[0] if all(loop in loops for loops in around)]
    if band.at is None:
        assert not common or stages == {band.stages}
        return
    assert band.at.loop == common[-1].loop_var.name
    line = script.show(func).splitlines()[band.at.line - 1]
    assert re.search(rf"for .*\b{band.at.loop}\b.* in ", line), (band, line)
    kind = common[-1].thread or common[-1].kind
    assert band.at.doer == {"b": "block", "t": "thread", "v": "virtual thread"}.get(
        kind[0] if "Idx" in kind or "vthread" in kind else "", "turn"
    )


def loops_of(stmt: Node, stage: str) -> Iterator[For]:
    """The loops around the block `stage`, outermost first."""
    if isinstance(stmt, For) and any(isinstance(n, Block) and n.name == stage for n in walk(stmt)):
        yield stmt
    for child in children(stmt):
        yield from loops_of(child, stage)


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
    check_words(found, wanted)


TIMES = re.compile(r"(\w+) is (read|written) (once|[\d,]+ times|\S+ times on average) by")


def check_words(
    found: insight.Tiles, wanted: dict[tuple[str, str, str], list[tuple[int, ...]]]
) -> None:
    """How often a cell is touched, as the picture has it on the sheets and below them."""
    means: dict[tuple[str, str], list[float]] = defaultdict(list)  # of a stage, and of all at last
    every: dict[tuple[str, str], list[tuple[int, ...]]] = defaultdict(list)
    for (buffer, _, access), indices in wanted.items():
        means[buffer, access].append(len(indices) / len(set(indices)))
        every[buffer, access] += indices
    for of, indices in every.items():
        means[of].append(len(indices) / len(set(indices)))
    shapes = [shape for strip in draw.tiles_picture(found).strips for shape in strip.shapes]
    words = [shape for shape in shapes if isinstance(shape, Words)]
    text = " ".join(" ".join(shape.label for shape in words).split())
    for buffer, done, times in TIMES.findall(text):
        *_, mean = means[buffer, {"read": "read", "written": "write"}[done]]
        number = times.split()[0].replace(",", "")
        exact = "once" if mean == 1 else f"{mean:g}"
        assert number == (f"{mean:.3g}" if "average" in times else exact), (text, mean)
    for label in (shape for shape in words if shape.role == "on-strong"):
        arrow, times = label.label.split(" ", 1)
        kinds = {"↗": ["read"], "↘": ["write"]}.get(arrow, ["read", "write"])
        known = [mean for kind in kinds for mean in means[label.of.buffer, kind]]
        assert times in map(times_each, known), label


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
