"""The pictures of a program as plain data: markup that `draw` made, captions and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any

from workbench import draw, insight
from workbench.check.pipelines import has_pipelines
from workbench.diag import Act, Fail, count_text
from workbench.draw import SCOPES, Steps, Times
from workbench.insight import (
    BlockTime,
    LaneCall,
    Memory,
    Modelled,
    Occupancy,
    Pipelines,
    Requests,
    Residence,
    Roofline,
    Tiles,
    WarpTime,
    Who,
)
from workbench.insight.accesses import accesses
from workbench.insight.block_time import place_of
from workbench.insight.made import UNITS
from workbench.ir import For, Kernel, PrimFunc, stores
from workbench.ir.places import places
from workbench.widgets.page.memo import build, memo
from workbench.widgets.page.question import PICTURE
from workbench.widgets.page.texts import refusal
from workbench.widgets.page.view import View

SAVED_COSTS = 3  # requests of an access that a saved page has pictures of: so many costs
NUMBERED = (*SCOPES, "fragments")  # show one of several: a request, a call
NEARER = ("block", "warp")  # levels of the timeline, beside the whole
SAVED_AXES = 4  # of the tiling picture: more sliders than that have one stop in a saved page
ROLES = {
    "block": "block",
    "thread": "thread",
    "virtual": "virtual thread",
    "reduce": "reduction step",
    "serial": "step",
}


def who_of(func: PrimFunc, buffer: str) -> Who:
    """Who computes each cell of `buffer`."""
    return memo(func, f"who {buffer}", lambda: insight.who(func, buffer))


def memory_of(func: PrimFunc) -> Memory:
    """Which buffer lives where and what crosses the levels."""
    return memo(func, "memory", lambda: insight.memory(func))


def pipelines_of(func: PrimFunc) -> Pipelines:
    """What the statements of pipelines do turn by turn, and where threads wait, if it is built."""

    def make() -> Pipelines:
        if not has_pipelines(func):
            return insight.pipelines(func)
        with suppress(Fail):
            return insight.pipelines(func, build(func).lowered)
        return insight.pipelines(func, insight.lowered_of(func))  # async copies need another GPU

    return memo(func, "pipelines", make)


def tiles_of(func: PrimFunc, select: Mapping[str, int | Sequence[int]]) -> Tiles:
    """What the selection touches of each buffer."""
    return memo(func, f"tiles {sorted(select.items())}", lambda: insight.tiles(func, select))


def written(func: PrimFunc) -> list[str]:
    """The buffers that the program writes: its outputs first, in the order of the parameters."""
    return memo(func, "written", lambda: _written(func))


def _written(func: PrimFunc) -> list[str]:
    names = dict.fromkeys(store.buffer.name for store in stores(func.body))
    outputs = [b.name for b in func.params if b.name in names]
    return [*outputs, *(name for name in names if name not in outputs)]


def axes_of(func: PrimFunc) -> list[dict[str, Any]]:
    """What the sliders of the tiling picture select; `start` is where each stands, -1 at "all".

    Blocks, threads and the steps of sums are `main`: the others wait behind them. In a saved page
    a slider has its `stops` alone, which for most is where it stands, each with the picture that
    it leads to. There are no axes where there is no tiling picture; the picture itself tells why.
    """

    def make() -> list[dict[str, Any]]:
        axes = _axes_of(func)
        for axis in axes:
            axis["stops"] = [
                {"value": value, "picture": tiles_name(axes, {axis["key"]: value})}
                for value in axis["stops"]
            ]
        return axes

    return memo(func, "axes", make)


def _axes_of(func: PrimFunc) -> list[dict[str, Any]]:
    try:
        axes = insight.axes(func)
    except Fail:
        return []
    roles = [axis.role for axis in axes]
    first = next((role for role in ("block", "thread") if role in roles), None)
    made: list[dict[str, Any]] = []
    for k, axis in enumerate(axes):
        start = 0 if (axis.role == first if first else k == 0) else -1
        main = axis.role in ("block", "thread", "reduce") or not first
        saved = main and sum(one["main"] for one in made) < SAVED_AXES
        stops = {start, -1, 0, 1, axis.extent - 1} if saved else {start}
        made.append(
            {
                "key": axis.key,
                "extent": axis.extent,
                "label": _axis_label(axis.role, axis.key),
                "start": start,
                "main": main,
                "stops": sorted(stop for stop in stops if stop < axis.extent),
            }
        )
    return made


def levels_of(func: PrimFunc) -> list[dict[str, Any]]:
    """The levels of the tiling picture: whole, block, thread, registers.

    `select` has the first of what a level is of, and `picture` is what that leads to; both are
    None where the program has no such level, and `why` says what it is waiting for.
    """
    return memo(func, "levels", lambda: _levels_of(func))


def _levels_of(func: PrimFunc) -> list[dict[str, Any]]:
    axes = axes_of(func)
    if not axes:
        return []
    roles = {axis.key: axis.role for axis in insight.axes(func)}
    first = {role: {key: 0 for key in roles if roles[key] == role} for role in ("block", "thread")}
    kept = any(access.buffer.scope == "local" for access in accesses(func))
    there: dict[str, tuple[dict[str, int] | None, str]] = {
        "whole": ({}, ""),
        "block": (first["block"] or None, "no loop is bound to blockIdx"),
        "thread": (
            (first["thread"] and {**first["block"], **first["thread"]}) or None,
            "no loop is bound to threadIdx",
        ),
    }
    there["registers"] = (
        there["thread"][0] if kept else None,
        "no buffer has the scope local" if there["thread"][0] else there["thread"][1],
    )
    return [
        {
            "name": name,
            "select": select,
            "picture": None if select is None else tiles_name(axes, select),
            "why": "" if select is not None else why,
        }
        for name, (select, why) in there.items()
    ]


def picture_name(func: PrimFunc, view: View, gpu: str, before: PrimFunc | None = None) -> str:
    """Which picture `view` shows of `func`: "who:C", "tiles:k_0=3", else its kind; "" for none.

    Requests are those of kernels for the target `gpu`.

    What the view chose of another program and this one has not (a buffer, an axis) is left out.
    """
    if view.machine == "who":
        buffers = written(func)
        shown = view.buffer if view.buffer in buffers else next(iter(buffers), "")
        return who_name(shown) if shown else ""
    if view.machine == "tiles":
        return tiles_name(axes_of(func), view.select)
    if view.machine in NUMBERED:
        return numbered_name(func, view, gpu, before)
    if view.machine == "timeline":
        return timeline_name(func, view, gpu)
    return view.machine


def requests_of(
    func: PrimFunc, pane: str, gpu: str, before: PrimFunc | None = None
) -> list[dict[str, Any]]:
    """The accesses whose requests the picture of a pane shows, the one to begin with marked.

    `axes` are what its slider selects, each beginning where the worst request is; `picture` shows
    that. A saved page has, in place of all of them, some that take `costs` of their own, the worst
    first. Of fragments they are calls of a warp, and the slider selects a lane. There are none
    where there is no kernel for `gpu`; the picture itself tells why. What a step has mended since
    the program `before` is begun with, so that one sees it.
    """
    make = _calls_of if pane == "fragments" else _requests_of
    found = memo(func, f"accesses {pane} on {gpu}", lambda: make(func, pane, gpu))
    number = None if before is None or pane not in SCOPES else _mended(func, before, pane, gpu)
    if number is None:
        return found
    return [{**one, "first": k == number} for k, one in enumerate(found)]


def _mended(func: PrimFunc, before: PrimFunc, pane: str, gpu: str) -> int | None:
    """The access of `func`, by number, that took most beyond need `before`; None if none did."""
    try:
        was, now = (Kept(gpu).requests(one, SCOPES[pane])[0] for one in (before, func))
    except Fail:
        return None
    worst = was[insight.worst_of(was)] if was else None
    if worst is None or not worst.excess:
        return None
    same = [k for k, one in enumerate(now) if draw.access_name(one) == draw.access_name(worst)]
    return max(same, key=lambda k: now[k].excess, default=None)


def _calls_of(func: PrimFunc, pane: str, gpu: str) -> list[dict[str, Any]]:
    try:
        calls = Kept(gpu).lane_calls(func)
    except Fail:
        return []
    lane = {"key": draw.LANE, "extent": insight.WARP, "label": "lane", "start": -1, "main": True}
    first = draw.first_call(calls)
    return [
        {
            "name": call.title,
            "first": k == first,
            "picture": f"{pane}:{draw.CALL}={k}",
            "costs": [],
            "axes": [lane],
        }
        for k, call in enumerate(calls)
    ]


def _requests_of(func: PrimFunc, pane: str, gpu: str) -> list[dict[str, Any]]:
    try:
        found, _ = Kept(gpu).requests(func, SCOPES[pane])
    except Fail:
        return []
    names = [draw.access_name(one) for one in found]
    return [
        {
            "name": names[k] + f" {names[: k + 1].count(names[k])}" * (names.count(names[k]) > 1),
            "first": k == insight.worst_of(found),
            "picture": f"{pane}:access={k}",
            "costs": _costs_of(one, f"{pane}:access={k}"),
            "axes": [
                {
                    "key": axis,
                    "extent": extent,
                    "label": axis,
                    "start": one.worst[axis],
                    "least": 0,
                    "main": True,
                }
                for axis, extent in one.axes.items()
            ],
        }
        for k, one in enumerate(found)
    ]


def _costs_of(one: Requests, picture: str) -> list[dict[str, Any]]:
    """The first `SAVED_COSTS` of what requests take: "16 sectors: 4 of 64", and a picture of one.

    One that is chosen is told by where it is, as with the slider.
    """
    unit = UNITS[one.access.buffer.scope].removesuffix("s")
    return [
        {
            "label": f"{count_text(alike.cost, unit)}: {alike.count:,} of {one.count:,}",
            "select": dict(alike.at),
            "picture": f"{picture},{','.join(f'{axis}={n}' for axis, n in alike.at.items())}"
            if k
            else picture,
        }
        for k, alike in enumerate(one.costs[:SAVED_COSTS])
    ]


def numbered_name(func: PrimFunc, view: View, gpu: str, before: PrimFunc | None) -> str:
    """The picture of a request: "banks:access=2,k_0=3"; what stands where the worst is unsaid.

    Of a call of a warp: "fragments:call=1,threadIdx.x=5".
    """
    accesses = requests_of(func, view.machine, gpu, before)
    if not accesses:
        return view.machine
    number = next(
        (k for k, one in enumerate(accesses) if one["name"] == view.access),
        next(k for k, one in enumerate(accesses) if one["first"]),
    )
    extents: Mapping[str, int] = {draw.LANE: insight.WARP}
    if view.machine in SCOPES:
        extents = Kept(gpu).requests(func, SCOPES[view.machine])[0][number].extents
    there = {axis: extent for axis, extent in extents.items() if axis in view.select}
    at = {axis: min(view.select[axis], extent - 1) for axis, extent in there.items()}
    chosen = [f",{axis}={value}" for axis, value in at.items() if value >= 0]
    return f"{accesses[number]['picture']}{''.join(chosen)}"


def timeline_name(func: PrimFunc, view: View, gpu: str) -> str:
    """Launches in time; nearer, of a block or a warp: "timeline:kernel=0,block=17,warp=1,clock=40".

    The clock is left out where none is chosen.
    """
    if view.level not in NEARER:
        return view.machine
    try:
        kernels = Kept(gpu).kernels(func)
    except Fail:
        return view.machine
    number = _within(view.select.get("kernel", 0), len(kernels))
    kernel = kernels[number]
    block = _within(view.select.get("block", 0), prod(map(int, kernel.grid)))
    name = f"{view.machine}:kernel={number},block={block}"
    if view.level == "block":
        return name
    warp = _within(view.select.get("warp", 0), -(-prod(kernel.block) // insight.WARP))
    clock = view.select.get("clock", -1)
    return f"{name},warp={warp}" + (f",clock={clock}" if clock >= 0 else "")


def _within(number: int, count: int) -> int:
    return min(max(number, 0), count - 1)


def who_name(buffer: str) -> str:
    """The picture of who computes the cells of `buffer`."""
    return f"who:{buffer}"


def tiles_name(axes: Sequence[Mapping[str, Any]], select: Mapping[str, int]) -> str:
    """The tiling picture of a selection: "tiles:blockIdx.x=3,k_0=4"; values stay in range."""
    chosen = []
    for axis in axes:
        value = min(select.get(axis["key"], axis["start"]), axis["extent"] - 1)
        if value >= 0:
            chosen.append(f"{axis['key']}={value}")
    return f"tiles:{','.join(chosen)}"


def selection_of(name: str) -> dict[str, int]:
    """What the name of a tiling picture selects."""
    pairs = (part.rpartition("=") for part in name.partition(":")[2].split(",") if part)
    return {key: int(value) for key, _, value in pairs}


def shown_alone(pictures: Mapping[str, Any], shown: Mapping[str, str]) -> dict[str, Any]:
    """`pictures` without those that the ones `shown` slide to: a page grows by no dragging.

    Of requests to one memory, and of calls, there is just the one that is shown.
    """
    tiles = pictures.get(shown.get("tiles", ""), {})

    def stays(name: str) -> bool:
        kind = name.partition(":")[0]
        if name == shown.get(kind) or kind not in ("tiles", "timeline", *NUMBERED):
            return True
        return kind == "tiles" and not slides_to(tiles, selection_of(name))

    return {name: made for name, made in pictures.items() if stays(name)}


def slides_to(picture: Mapping[str, Any], select: Mapping[str, int]) -> bool:
    """Whether all levels of the picture know where their shapes are for a selection."""
    slides = picture.get("slides")
    if not slides or None in slides["strips"] or len(select) != len(slides["axes"]):
        return False
    return all(first <= select.get(key, -1) < end for key, first, end in slides["axes"])


def _axis_label(role: str, key: str) -> str:
    return f"{ROLES.get(role, role)} ({key})"


def picture_pane(
    name: str,
    func: PrimFunc,
    asked: tuple[str, tuple[int, ...]] | None = None,
    before: PrimFunc | None = None,
    steps: Steps = (),
    times: Times | None = None,
    gpu: str = draw.GPU,
    time: Modelled | None = None,
) -> dict[str, Any]:
    """The picture `name`: "who:C", "memory", "pipeline", "tiles:k_0=4", "banks:access=2,k_0=3",
    "fragments:call=1,threadIdx.x=5".

    Cells that differ from those of `before` are marked; `asked` is chosen. A picture of tiles or
    requests says where each slider is `at` that leads to it; `steps` are for the roofline, `times`
    for bands of memory, `gpu` for what is of its kernels, and their `time` for what runs when.
    """
    kind, _, shown = name.partition(":")
    cell = asked[1] if asked and (kind, asked[0]) == ("who", shown) else None
    select = selection_of(name) if kind in ("tiles", "timeline", *NUMBERED) else None
    try:
        picture = draw.picture_of(
            func,
            kind,
            buffer=shown if kind == "who" else None,
            select=select,
            before=before,
            asked=cell,
            steps=steps,
            times=times,
            source=Kept(gpu, time),
        )
    except Fail as fail:
        return {"refusal": refusal(fail), **_told(fail.act, func)}
    made = {**draw.plain(picture), **_told(picture.act, func)}
    if select is None:
        return made
    if kind in SCOPES:
        return {**made, "at": _request_at(func, kind, select, gpu)}
    if kind == "timeline":
        return {**made, **_nearer(func, select, gpu)}
    if kind == "fragments":
        return {**made, "at": {draw.LANE: select.get(draw.LANE, -1)}} if select else made
    if made["slides"]:
        made["slides"]["at"] = select
    return {**made, "at": _at(func, select)}


def _told(act: Act | None, func: PrimFunc) -> dict[str, Any]:
    """The step that a picture waits for: its verb, and its place by number among those of `func`,
    loops and blocks in program order; nothing where that is elsewhere."""
    if act is None:
        return {}
    _, *order = places(func).order  # without the root block
    things: list[object] = [one.loop_var if isinstance(one, For) else one.block.id for one in order]
    return {"act": {"verb": act.verb, "place": things.index(act.at)}} if act.at in things else {}


def covered_pane(name: str, func: PrimFunc) -> dict[str, Any]:
    """What an open question leaves of the picture `name`."""
    try:
        forms = draw.covered_of(func, name.partition(":")[0], _KEPT)
    except Fail:
        return PICTURE  # why there is none may tell, too
    return {**PICTURE, "strips": draw.drawings(forms)}


def slid_pane(name: str, func: PrimFunc, like: Mapping[str, Any]) -> dict[str, Any]:
    """The tiling picture `name`, whose shapes are those of `like` for other values of its axes."""
    select = selection_of(name)
    tiles = tiles_of(func, select)
    table = draw.table_html(tiles.table)
    return {**like, "caption": tiles.caption, "table": table, "at": _at(func, select)}


def _at(func: PrimFunc, select: Mapping[str, int]) -> dict[str, int]:
    """Where each slider stands that leads to a selection; -1 is "all"."""
    return {axis["key"]: select.get(axis["key"], -1) for axis in axes_of(func)}


def _request_at(func: PrimFunc, pane: str, select: Mapping[str, int], gpu: str) -> dict[str, int]:
    """Where each slider stands that leads to a request."""
    found, _ = Kept(gpu).requests(func, SCOPES[pane])
    if not found:
        return {}
    at, _ = found[select["access"]].chosen({k: n for k, n in select.items() if k != "access"})
    return at


def _nearer(func: PrimFunc, select: Mapping[str, int], gpu: str) -> dict[str, Any]:
    """Which block and warp a timeline is of, and what the warp asks for: for `nearer.js`."""
    if "block" not in select:
        return {"near": {"level": "whole"}, "asked": []}
    if "warp" not in select:
        return {"near": {"level": "block", "block": select["block"]}, "asked": []}
    kept = Kept(gpu)
    time = kept.block_time(func, select["kernel"])
    warp = kept.warp_time(func, select["kernel"], select["warp"])
    made = warp.request_at(float(select.get("clock", warp.track.opens)))
    near = {
        "level": "warp",
        "block": select["block"],
        "warp": select["warp"],
        "clock": made[1].start if made else -1,
        "place": list(place_of(time.kernel, select["block"])),
        "threads": list(time.kernel.block),
    }
    return {"near": near, "asked": [one and one.plain() for one in warp.asked]}


class Kept(draw.Source):
    """The data of pictures, worked out once a program; its modelled `time`, where that is seen."""

    def __init__(self, gpu: str = draw.GPU, time: Modelled | None = None) -> None:
        super().__init__(gpu)
        self.time = time

    def who(self, func: PrimFunc, buffer: str | None) -> Who:
        return who_of(func, buffer) if buffer else super().who(func, buffer)

    def memory(self, func: PrimFunc) -> Memory:
        return memory_of(func)

    def pipelines(self, func: PrimFunc) -> Pipelines:
        return pipelines_of(func)

    def tiles(self, func: PrimFunc, select: Mapping[str, int | Sequence[int]]) -> Tiles:
        return tiles_of(func, dict(select))

    def kernels(self, func: PrimFunc) -> Sequence[Kernel]:
        return build(func, self.gpu).kernels

    def requests(self, func: PrimFunc, scope: str) -> tuple[Sequence[Requests], Sequence[str]]:
        name = f"requests {scope} on {self.gpu}"
        return memo(func, name, lambda: draw.Source.requests(self, func, scope))

    def lane_calls(self, func: PrimFunc) -> Sequence[LaneCall]:
        return memo(func, "calls of lanes", lambda: draw.Source.lane_calls(self, func))

    def occupancy(self, func: PrimFunc) -> Sequence[Occupancy | None]:
        """With the registers that a compiler told in this session, for a GPU of the same kind."""
        built = build(func, self.gpu)
        pairs = zip(built.kernels, registers_of(func, self.gpu), strict=True)
        return [insight.occupancy(kernel, built.target, number) for kernel, number in pairs]

    def residence(self, func: PrimFunc) -> Residence | None:
        """In waves until the modelled time is worked out: no page waits for that."""
        built, told = build(func, self.gpu), registers_of(func, self.gpu)
        return insight.residence(built.kernels, built.target, registers=told, time=self.time)

    def block_time(self, func: PrimFunc, kernel: int) -> BlockTime:
        name = f"warps of kernel {kernel} on {self.gpu}"
        return memo(func, name, lambda: draw.Source.block_time(self, func, kernel))

    def warp_time(self, func: PrimFunc, kernel: int, warp: int) -> WarpTime:
        name = f"warp {warp} of kernel {kernel} on {self.gpu}"
        return memo(func, name, lambda: draw.Source.warp_time(self, func, kernel, warp))

    def roofline(self, func: PrimFunc) -> Roofline:
        name = f"roofline of {self.gpu}"
        return memo(func, name, lambda: draw.Source.roofline(self, func))


_KEPT = Kept()


def registers_of(func: PrimFunc, gpu: str) -> tuple[int | None, ...]:
    """Those of a thread in each kernel, where a compiler told them in this session for such a GPU.

    Raises Fail where there is no valid kernel.
    """
    built = build(func, gpu)
    same = built.device.gpu is not None and built.device.gpu.arch == built.target.arch
    return built.registers if same else (None,) * len(built.kernels)


def roofline_of(func: PrimFunc, gpu: str) -> Roofline | None:
    """The roofs that the program stands under; None where there is no valid kernel."""
    return Kept(gpu).roofline(func)
