"""The pictures of a program by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from math import prod
from typing import TypeAlias

from workbench import insight
from workbench.check import Finding, check_program
from workbench.check.pipelines import has_pipelines
from workbench.codegen.source import text_kernel
from workbench.diag import Fail, Refusal
from workbench.draw.bands import Times
from workbench.draw.fragments import covered_fragments, lanes_picture, wmma_picture
from workbench.draw.memory import covered_places, memory_picture
from workbench.draw.nearer import block_picture, warp_picture
from workbench.draw.occupancy import covered_occupancy, occupancy_picture
from workbench.draw.picture import Picture
from workbench.draw.pipelines import covered_turns, pipelines_picture
from workbench.draw.requests import SCOPES, covered_request, requests_picture
from workbench.draw.roofline import covered_roofline, roofline_picture
from workbench.draw.scene import Forms, Scene
from workbench.draw.tiles import covered_sheets, tiles_picture
from workbench.draw.timeline import covered_timeline, timeline_picture
from workbench.draw.who import labels_of, who_picture
from workbench.insight import (
    BlockTime,
    Fragments,
    LaneCall,
    Memory,
    Occupancy,
    Pipelines,
    Requests,
    Residence,
    Roofline,
    Selection,
    Tiles,
    Values,
    WarpTime,
    Who,
)
from workbench.ir import Kernel, PrimFunc, stores
from workbench.lower import findings, lower, open_blocks
from workbench.target import get

PICTURES = (
    "who", "memory", "tiles", "pipeline", *SCOPES, "occupancy", "timeline", "roofline", "fragments",
)  # fmt: skip
NEARER = ("kernel", "block", "warp", "clock")  # what a timeline can be of
GPU = "nvidia/h200"  # whose multiprocessors and roofs are drawn

Steps: TypeAlias = "Sequence[tuple[int, PrimFunc]]"
"""Programs on the way to one, with the numbers of their nodes."""


def picture_of(
    func: PrimFunc,
    name: str,
    *,
    buffer: str | None = None,
    select: Selection | None = None,
    level: str | None = None,
    before: PrimFunc | None = None,
    asked: tuple[int, ...] | None = None,
    steps: Steps = (),
    times: Times | None = None,
    source: Source | None = None,
) -> Picture:
    """The picture `name` of `func`: one of `PICTURES`.

    "who" shows the cells of `buffer` (default: the last output), that at `asked` chosen; "tiles"
    what `select` chooses, as `insight.tiles` takes it, at a `level` of `tiles_picture`; "pipeline"
    the turns of loops whose statements run in turns of their own; "banks" and "sectors" a request
    of a warp to shared or global memory, of `buffer` if that is given, at what `select` chooses,
    else the worst; "occupancy" what blocks take of a multiprocessor, "timeline" which of them run
    when, and of what `select` has of `NEARER` the warps, or the requests; "roofline" where the
    programs of `steps` stand, by the numbers of these, `func` the last; "fragments" which lane of a
    warp holds which cell in the "call" that `select` names, a product else. With `times`, bands of
    "memory" are as wide as these. What differs from the program `before` is marked. `source` gives
    the data of programs, where it is kept. Raises ValueError for another name, and for a buffer,
    axis, value or level that the program does not have.
    """
    _check(name, buffer, level, select)
    data = source or Source()
    if name == "who":
        return _who(func, buffer, before, asked, data)
    if name == "memory":
        return memory_picture(data.memory(func), data.memory(before) if before else None, times)
    if name == "pipeline":
        then = None
        if before is not None:
            with suppress(Fail):  # of one that is refused, or of any size, nothing is shown
                then = data.pipelines(before)
        return pipelines_picture(data.pipelines(func), then)
    if name in SCOPES:
        return _requests(func, name, buffer, select or {}, data)
    if name == "fragments":
        calls = data.lane_calls(func)
        return lanes_picture(calls, select or {}) if calls else wmma_picture(data.fragments(func))
    if name == "occupancy":
        return occupancy_picture(data.occupancy(func))
    if name == "timeline":
        return _timeline(func, select or {}, data)
    if name == "roofline":
        ahead = [(number, one) for number, one in steps if one is not func]
        number = next((number for number, one in steps if one is func), 0)
        return roofline_picture([*_with_kernels(ahead, data), (number, data.roofline(func))])
    return _tiles(func, select or {}, level, before, data.tiles)


def _check(name: str, buffer: str | None, level: str | None, select: Selection | None) -> None:
    """Refuse a picture that there is not, and what it does not take."""
    if name not in PICTURES:
        raise ValueError(f"there is no picture {name!r}; there are: {', '.join(PICTURES)}")
    if buffer is not None and name not in ("who", *SCOPES):
        raise ValueError(f"{name!r} shows all buffers, not one; leave `buffer` out")
    if level is not None and name != "tiles":
        raise ValueError(f"{name!r} has no levels; leave `level` out")
    if select and name not in ("tiles", *SCOPES, "fragments", "timeline"):
        raise ValueError(f"{name!r} shows all of the program; leave {', '.join(select)} out")


def _who(
    func: PrimFunc,
    buffer: str | None,
    before: PrimFunc | None,
    asked: tuple[int, ...] | None,
    data: Source,
) -> Picture:
    labels = {}
    if before is not None:
        written = [store.buffer.name for store in stores(before.body)]
        shown = data.who(func, buffer).buffer
        labels = labels_of(data.who(before, shown)) if shown in written else {}
    whose = data.who(func, buffer)
    turns = insight.turns(func).get(whose.buffer)
    return who_picture(whose, labels, asked, turns, insight.loops_of(func))


def _requests(
    func: PrimFunc, name: str, buffer: str | None, select: Selection, data: Source
) -> Picture:
    found, left_out = data.requests(func, SCOPES[name])
    if buffer is not None:
        found = tuple(one for one in found if one.buffer == buffer)
        if not found:
            raise ValueError(f"no warp asks {SCOPES[name]} memory for {buffer!r}")
    return requests_picture(name, found, left_out, select)


def _timeline(func: PrimFunc, select: Selection, data: Source) -> Picture:
    """The launches in time; where a block is selected its warps, of a "warp" its requests."""
    if not select:
        return timeline_picture(data.residence(func))
    numbers = _numbers(select)
    kernel, block, clock = (numbers.get(axis, 0) for axis in ("kernel", "block", "clock"))
    time = data.block_time(func, kernel)
    blocks = prod(map(int, time.kernel.grid))
    if block not in range(blocks):
        raise ValueError(
            f"block runs from 0 to {blocks - 1}, not to {block}; choose one of these values"
        )
    if "warp" not in numbers:
        return block_picture(time, block)
    warp = data.warp_time(func, kernel, numbers["warp"])
    at = min(max(clock, 0), int(time.warps.length)) if "clock" in numbers else None
    return warp_picture(warp, block, numbers["warp"], at)


def _numbers(select: Selection) -> dict[str, int]:
    """What is selected of a timeline."""
    found: dict[str, int] = {}
    for axis, number in select.items():
        if axis not in NEARER:
            raise ValueError(f"a timeline has no axis {axis!r}; it has: {', '.join(NEARER)}")
        if not isinstance(number, int):
            raise ValueError(f"{axis} takes a whole number, not {number!r}; 0 is the first")
        found[axis] = number
    return found


def _with_kernels(steps: Steps, data: Source) -> Iterator[tuple[int, Roofline]]:
    for number, func in steps:
        with suppress(Fail):
            yield number, data.roofline(func)


def _refuse(found: Iterable[Finding]) -> None:
    """Refuse a program of which an error was found, as a build does."""
    for finding in found:
        if finding.kind == "error":
            raise finding.as_refusal()


def covered_of(func: PrimFunc, name: str, source: Source) -> Forms:
    """What of the picture `name` the program itself says: its buffers, "?" for all else."""
    if name == "memory":
        return covered_places(source.memory(func))
    return ((_covered(func, name, source),),)


def _covered(func: PrimFunc, name: str, source: Source) -> Scene:
    if name in SCOPES:
        return covered_request(name)
    if name == "occupancy":
        return covered_occupancy()
    if name == "timeline":
        return covered_timeline()
    if name == "roofline":
        return covered_roofline()
    if name == "fragments":
        return covered_fragments()
    if name == "pipeline":
        return covered_turns(source.pipelines(func))
    return covered_sheets(source.tiles(func, {}))


class Source:
    """Where the data of pictures comes from: worked out anew each time, of what is of a `gpu`."""

    def __init__(self, gpu: str = GPU) -> None:
        self.gpu = gpu

    def who(self, func: PrimFunc, buffer: str | None) -> Who:
        """Who computes each cell of `buffer`."""
        return insight.who(func, buffer)

    def memory(self, func: PrimFunc) -> Memory:
        """Which buffer lives where."""
        return insight.memory(func)

    def tiles(self, func: PrimFunc, select: Selection) -> Tiles:
        """What the selection touches."""
        return insight.tiles(func, select)

    def pipelines(self, func: PrimFunc) -> Pipelines:
        """What the statements of pipelines do turn by turn, and where its kernels wait."""
        lowered = insight.lowered_of(func) if has_pipelines(func) else None
        return insight.pipelines(func, lowered)

    def kernels(self, func: PrimFunc) -> Sequence[Kernel]:
        """The kernels of the program on the GPU. Raises Fail where there is no valid one."""
        opened, gpu = open_blocks(func), get(self.gpu)
        try:
            _refuse(check_program(opened, gpu))
            lowered = lower(opened, gpu)
            _refuse(findings(lowered, gpu))
            return lowered.kernels
        except Refusal as refusal:
            found = f"Can't draw what kernels cost: {refusal.headline}"
            raise Fail(found, detail=refusal.detail, hint=refusal.hint, act=refusal.act) from None

    def requests(self, func: PrimFunc, scope: str) -> tuple[Sequence[Requests], Sequence[str]]:
        """What its warps ask of memory of that scope, and the accesses of which that is unknown."""
        return insight.requests_of(self.kernels(func), scope)

    def lane_calls(self, func: PrimFunc) -> Sequence[LaneCall]:
        """The calls of a warp in the program that go by lanes. Raises Fail as `insight` refuses."""
        try:
            return insight.lane_calls(func)
        except Refusal as refusal:
            found = f"Can't draw fragments: {refusal.headline}"
            raise Fail(found, detail=refusal.detail, hint=refusal.hint, act=refusal.act) from None

    def fragments(self, func: PrimFunc) -> Sequence[Fragments]:
        """What a warp holds in fragments of ``wmma``."""
        return insight.fragments(self.kernels(func)) if insight.has_fragments(func) else ()

    def occupancy(self, func: PrimFunc) -> Sequence[Occupancy | None]:
        """How full a multiprocessor is with each of its kernels."""
        return [insight.occupancy(kernel, get(self.gpu)) for kernel in self.kernels(func)]

    def residence(self, func: PrimFunc) -> Residence | None:
        """Which of its blocks run where and when."""
        kernels, gpu = self.kernels(func), get(self.gpu)
        return insight.residence(kernels, gpu, time=insight.modelled(kernels, gpu))

    def block_time(self, func: PrimFunc, kernel: int) -> BlockTime:
        """When the warps of a block of one of its kernels do what, as its text has it."""
        kernels = self.kernels(func)
        if kernel not in range(len(kernels)):
            last = len(kernels) - 1
            raise ValueError(
                f"kernel runs from 0 to {last}, not to {kernel}; choose one of these values"
            )
        return insight.block_time(text_kernel(kernels[kernel], get(self.gpu)), func)

    def warp_time(self, func: PrimFunc, kernel: int, warp: int) -> WarpTime:
        """What one warp of a block does."""
        return insight.warp_time(self.block_time(func, kernel), warp)

    def roofline(self, func: PrimFunc) -> Roofline:
        """Where its kernels stand under the roofs."""
        found = insight.roofline(self.kernels(func), get(self.gpu))
        assert found is not None, "the catalogue has its data sheet"
        return found


def _tiles(
    func: PrimFunc,
    select: Selection,
    level: str | None,
    before: PrimFunc | None,
    tiles: Callable[[PrimFunc, Selection], Tiles],
) -> Picture:
    """The selection inside its block, its thread; enlarged to what the block has in that step."""
    axes = insight.axes(func, select)
    chosen = {a.key: a.selected for a in axes if a.selected is not None}
    roles = {axis.key: axis.role for axis in axes}
    blocks = {k: v for k, v in chosen.items() if roles[k] == "block"}
    threads = {k: v for k, v in chosen.items() if roles[k] == "thread"}
    steps = {k: v for k, v in chosen.items() if k not in blocks and k not in threads}
    outer = [blocks, blocks | threads, blocks | threads | steps]
    wider = [s for k, s in enumerate(outer[:-1]) if s and s != outer[k + 1]]
    widest = wider[0] if wider else chosen
    then: Tiles | None = None
    alike: Values = ()
    if before is not None:
        known = {axis.key: axis.extent for axis in insight.axes(before)}
        ends = [(a, known.get(a.key, 0)) for a in axes if a.key in widest]
        lacks = next(((a, end) for a, end in ends if widest[a.key] >= end), None)
        if lacks is None:
            then = tiles(before, widest)
        else:
            alike = ((lacks[0].key, lacks[1], lacks[0].extent),)
    return tiles_picture(
        tiles(func, chosen),
        [tiles(func, s) for s in wider],
        tiles(func, blocks | steps),
        level,
        then,
        alike,
        insight.turns(func),
        insight.loops_of(func),
        insight.loops_around(func),
    )
