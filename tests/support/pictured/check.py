"""All pictures of one random schedule, every number and name of them held against its logs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from tests.support.block_trace import check_block_time
from tests.support.pictured.bar import check_opened
from tests.support.pictured.fragments import check_fragments
from tests.support.pictured.launches import (
    check_bar,
    check_costs,
    check_occupancy,
    check_roofline,
    check_timeline,
)
from tests.support.pictured.log import KernelLog, ProgramLog, check_emulated, has_data_indices
from tests.support.pictured.memory import check_memory
from tests.support.pictured.moved import check_played, check_saved, dragged, opened
from tests.support.pictured.names import forms_of
from tests.support.pictured.nearer import check_block, check_warp
from tests.support.pictured.pages import (
    Side,
    check_comparison,
    check_ghost,
    check_pictures,
    chosen_pane,
    named,
)
from tests.support.pictured.pipeline import check_pipelines
from tests.support.pictured.programs import Drawn, drawn
from tests.support.pictured.requests import Asked, asked_of, check_requests
from tests.support.pictured.tally import Tally
from tests.support.pictured.tiles import check_tiles
from tests.support.pictured.who import check_who
from tests.support.random_programs import random_inputs
from workbench import draw, emulate, insight
from workbench.diag import Fail, Refusal
from workbench.history.history import HistoryNode
from workbench.ir import Kernel, PrimFunc, stores
from workbench.lower import lower, open_blocks
from workbench.target import get
from workbench.widgets.page import costs
from workbench.widgets.page.compare import comparison
from workbench.widgets.page.cost_bar import shown_bar
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.modelled_time import modelled_of
from workbench.widgets.page.view import View

SELECTIONS = 2  # of the tiling picture, each drawn at random
REQUESTS = 4  # of each memory
MOST = 6000  # threads of a launch that are logged
GPU = get(draw.GPU)
PLAYED, LINKED, DRAGGED, SAVED = 0.1, 0.2, 0.4, 0.1  # of all schedules
MOST_SAVED = 9  # programs of a history that is saved


def checked(seed: int) -> Tally:
    """What was compared of the schedule number `seed`, and what is wrong."""
    one = drawn(seed)
    check = _Check(one, Tally(), random.Random(f"selections {seed}"))
    check.all()
    _other_ways(check, random.Random(f"other ways {seed}"))
    return check.tally


def _other_ways(check: _Check, rng: random.Random) -> None:
    """The same schedule compared, out of its link, with a number dragged, and on a saved page."""
    one, tally = check.one, check.tally
    tally.where = f"{one.seed} link"
    linked = opened(tally, one)
    if rng.random() < PLAYED:
        check_played(tally, one)
    if check.log.has_twins:
        return
    if rng.random() < LINKED:
        _Check(linked, tally, rng).all()
    check.compared(rng)
    tally.where = f"{one.seed} dragged"
    moved = dragged(tally, one, rng) if rng.random() < DRAGGED else None
    if moved is not None:
        _Check(moved, tally, rng).all()
    tally.where = f"{one.seed} saved"
    if rng.random() < SAVED and len(one.steps) <= MOST_SAVED:
        check_saved(tally, one, rng, check.logged)


class _Source(draw.Source):
    """Lowers each program once."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, Sequence[Kernel] | Fail] = {}

    def kernels(self, func: PrimFunc) -> Sequence[Kernel]:
        if id(func) not in self.known:
            try:
                self.known[id(func)] = super().kernels(func)
            except Fail as fail:
                self.known[id(func)] = fail
        found = self.known[id(func)]
        if isinstance(found, Fail):
            raise found
        return found


@dataclass
class _Check:
    one: Drawn
    tally: Tally
    rng: random.Random
    source: _Source = field(default_factory=_Source)

    def __post_init__(self) -> None:
        self.log = ProgramLog(self.one.func)
        before = self.one.before
        self.before = ProgramLog(before) if before is not None else None
        self.kernels: Sequence[Kernel] = ()
        with suppress(Refusal):  # also where threads race: arrays are as large then
            self.kernels = lower(open_blocks(self.one.func), GPU).kernels
        self.logs = self.logged(self.one.func)

    def logged(self, func: PrimFunc) -> list[KernelLog]:
        """The logs of the kernels; none where there are none, or data say what they touch."""
        try:
            kernels = self.source.kernels(func)
        except Fail:
            return []
        threads = sum(int(np.prod((*kernel.grid, *kernel.block))) for kernel in kernels)
        if self.log.by_warps or threads > MOST or any(map(has_data_indices, kernels)):
            return []
        try:
            return [KernelLog(kernel) for kernel in kernels]
        except TypeError:  # what the plain machine does not run: asynchronous copies
            return []

    def picture(self, name: str, **kwargs: object) -> draw.Picture:
        self.tally.where = f"{self.one.seed} {name} {kwargs.get('select') or ''}".rstrip()
        made = draw.picture_of(self.one.func, name, source=self.source, **kwargs)
        draw.plain(made)  # the page has it so
        return made

    def all(self) -> None:
        """Every picture of the lab."""
        if self.log.by_warps:
            self.fragments()
            self.who()
            self.memory()
            return
        if self.log.has_twins:
            self.tally.counts["left out: two buffers of one name"] += 1
            return
        self.who()
        if self.log.sums is None or (self.before is not None and self.before.sums is None):
            self.tally.counts["left out: sums that no kernel shares out"] += 1
            return
        self.memory()
        for _ in range(SELECTIONS):
            self.tiles()
        self.pipeline()
        if self.logs:
            self.emulated()
            self.requests()
            self.launches()
            self.nearer()

    # --- of the program ---------------------------------------------------------------------------

    def before_or_not(self) -> PrimFunc | None:
        return self.one.before if self.rng.random() < 0.5 else None

    def who(self) -> None:
        for buffer in dict.fromkeys(store.buffer.name for store in stores(self.one.func.body)):
            then = self.before_or_not()
            picture = self.picture("who", buffer=buffer, before=then)
            for form in forms_of(picture):
                check_who(self.tally, self.log, buffer, form, then is not None)

    def memory(self) -> None:
        times = None
        if self.rng.random() < 0.5:
            names = [(name, load) for name in self.log.buffers for load in (True, False)]
            moved = {key: self.rng.uniform(0.01, 9) for key in names}
            moved = {(b, load): us for (b, load), us in moved.items()  # no other takes time
                     if self.log.by_buffer[b, not load]}  # fmt: skip
            times = draw.Times(moved, None, 9.0, 9.0)
        then = self.before_or_not()
        picture = self.picture("memory", before=then, times=times)
        before = self.before if then is not None else None
        now = times.now if times else {}
        check_memory(self.tally, self.log, self.kernels, picture, before, now)

    def tiles(self) -> None:
        every = (["block"], ["block", "thread"], ["block", "thread", "step"], ["step"], [])
        chosen = self.rng.choice(every)
        select = {
            key: self.rng.randrange(extent)
            for key, (role, extent) in axes_of(self.log).items()
            if role in chosen and (role != "step" or self.rng.random() < 0.6)
        }
        picture = self.picture("tiles", select=select, before=self.before_or_not())
        other = {
            key: self.rng.randrange(first, end)
            for key, first, end in picture.slides or ()
            if end > first
        }
        slid = other if len(other) == len(select) else None
        check_tiles(self.tally, self.log, picture, select, slid)

    def pipeline(self) -> None:
        try:
            picture = self.picture("pipeline", before=self.before_or_not())
        except (Refusal, Fail):  # a pipeline that no build takes has no picture
            return
        check_pipelines(self.tally, self.log, self.logs, picture)

    def fragments(self) -> None:
        try:
            picture = self.picture("fragments")
        except Fail:  # a step has changed a tile since
            self.tally.counts["left out: a tile that was changed"] += 1
            return
        check_fragments(self.tally, self.log, picture)
        calls = len(insight.lane_calls(self.one.func))
        for call in range(calls):
            select = {"call": call, "threadIdx.x": self.rng.randrange(32)}
            check_fragments(self.tally, self.log, self.picture("fragments", select=select))

    def compared(self, rng: random.Random) -> None:
        """Two programs of its history side by side."""
        path = self.one.sch.node.path()
        nodes = [node for node in path if isinstance(node.mod[self.one.func.name], PrimFunc)]
        first, second = rng.choice(nodes), rng.choice((nodes[-1], rng.choice(nodes)))
        sides = [self.side(node) for node in (first, second)]
        if None in sides or first is second:
            return
        one, other = (side for side in sides if side is not None)
        self.tally.where = f"{self.one.seed} {one.title} and {other.title}"
        for side in (one, other):
            with suppress(Fail):
                costs.count(side.func)
                modelled_of(side.func, draw.GPU)
        desk, pane = Desk(costs=costs.COSTS), chosen_pane(rng)
        buffer = rng.choice(list(self.log.buffers))
        made = comparison(first, second, View(machine=pane, buffer=buffer), desk)
        check_comparison(self.tally, one, other, made, desk.lines.all)
        check_pictures(self.tally, one, other, made, pane, buffer)
        alone, bar = shown_bar(Desk(), None, one.func), shown_bar(Desk(), one.func, other.func)
        if "us" in alone and "us" in bar:
            check_ghost(self.tally, alone, bar)

    def side(self, node: HistoryNode) -> Side | None:
        """A program with its logs; None where it has kernels that are not logged."""
        func = node.mod[self.one.func.name]
        assert isinstance(func, PrimFunc)
        program = ProgramLog(func)
        if program.by_warps or program.has_twins:
            return None
        logs = self.logged(func)
        if not logs:
            with suppress(Fail):
                self.source.kernels(func)
                return None
        return Side(named(node.id, node.label), func, program, logs)

    # --- of its kernels ---------------------------------------------------------------------------

    def emulated(self) -> None:
        self.tally.where = f"{self.one.seed} emulated"
        inputs = random_inputs(self.one.func, random.Random(self.one.seed))
        kernels = [log.kernel for log in self.logs]
        try:
            run = emulate.run(kernels, inputs, params=self.one.func.params, record=True)
        except emulate.EmulationError:
            self.tally.counts["left out: what the emulator refuses"] += 1
            return
        check_emulated(self.tally, self.logs, run.log)

    def requests(self) -> None:
        for name, scope in draw.SCOPES.items():
            every = asked_of(self.logs, scope)
            if not every:
                picture = self.picture(name)
                self.tally.same("pictures without requests", len(picture.table.rows), 0)
                continue
            numbers = range(len(every))
            for k in self.rng.sample(numbers, min(REQUESTS, len(every))):
                one, select = every[k], {"access": k}
                for axis, size in self.axes_of_requests(one).items():
                    if self.rng.random() < 0.4:
                        select[axis] = self.rng.randrange(size)
                picture = self.picture(name, select=select)
                for form in forms_of(picture):
                    check_requests(self.tally, form, one)

    def axes_of_requests(self, one: Asked) -> dict[str, int]:
        grid = one.log.kernel.grid
        return {
            f"blockIdx.{axis}": size for axis, size in zip("xyz", grid, strict=True) if size > 1
        }

    def launches(self) -> None:
        for form in forms_of(self.picture("occupancy")):
            check_occupancy(self.tally, self.logs, GPU, form)
        check_timeline(self.tally, self.logs, GPU, self.picture("timeline"))
        steps = {0: self.logs}
        told: list[tuple[int, PrimFunc]] = [(0, self.one.func)]
        if self.one.before is not None and (logs := self.logged(self.one.before)):
            told, steps = [(3, self.one.before), (4, self.one.func)], {3: logs, 4: self.logs}
        check_roofline(self.tally, steps, GPU, self.picture("roofline", steps=told))
        self.tally.where = f"{self.one.seed} costs"
        self.costs()

    def costs(self) -> None:
        kernels = [log.kernel for log in self.logs]
        names = (*costs.COSTS, *costs.SLOW)
        told = costs.count(self.one.func, names)
        check_costs(self.tally, self.logs, {name: cost.text for name, cost in told.items()})
        time = insight.modelled(kernels, GPU)
        if time.us is not None:
            modelled_of(self.one.func, draw.GPU)  # then the bar is there
            desk = Desk()
            bar = shown_bar(desk, None, self.one.func)
            check_bar(self.tally, self.logs, GPU, bar, time)
            check_opened(self.tally, self.log, self.logs, GPU, bar, desk.keys.thing)

    def nearer(self) -> None:
        number = self.rng.randrange(len(self.logs))
        kernel = self.logs[number].kernel
        block = self.rng.randrange(int(np.prod(kernel.grid)))
        select = {"kernel": number, "block": block}
        picture = self.picture("timeline", select=select)
        time = self.source.block_time(self.one.func, number)
        self.tally.counts["accesses of warps in order"] += check_block_time(time.kernel)
        check_block(self.tally, self.log, KernelLog(time.kernel), picture)
        select["warp"] = self.rng.randrange(-(-int(np.prod(kernel.block)) // 32))
        picture = self.picture("timeline", select=select)
        check_warp(self.tally, self.log, KernelLog(time.kernel), picture)


def axes_of(log: ProgramLog) -> dict[str, tuple[str, int]]:
    """What can be chosen of a program: its role and how many values it has, by its name."""
    found: dict[str, tuple[str, int]] = {}
    names = [x.loop_var.name for x in log.loops]
    for loop in log.loops:
        extent = getattr(loop.extent, "value", None)
        if not isinstance(extent, int):
            continue
        if loop.thread and "Idx" in loop.thread:
            role, key = loop.thread.partition("Idx")[0], loop.thread
        elif names.count(loop.loop_var.name) > 1:
            continue  # told by its block's name, too
        else:
            role, key = "step", loop.loop_var.name
        found[key] = role, max(extent, found.get(key, ("", 0))[1])
    touched = {var for event in log.told for var, _ in event.loops}
    bound = {x.thread for x in log.loops if x.thread}
    known = {x.loop_var.name for x in log.loops if x.loop_var in touched}
    return {k: v for k, v in found.items() if k in known or k in bound}
