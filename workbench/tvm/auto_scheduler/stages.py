"""A schedule that the ready space made, as calls on the stages of TVM's older lessons.

What a search hands back are steps on blocks and loops. Most of them are calls on stages, too: the
tiles of a sum are splits of the stage that stores it, which is its last reader or a copy, and the
sum is computed at that stage's threads. The calls are taken as they are written, so that what is
printed is a schedule of stages that exists. What is no such schedule is not written: NoStages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import prod

from workbench.history.step import Ref, Step
from workbench.schedule import Schedule, ScheduleError
from workbench.te import Operation, Tensor
from workbench.tvm.auto_scheduler.compute_dag import ComputeDAG
from workbench.tvm.te import create_schedule, thread_axis
from workbench.tvm.te.axes import Loop

AXES = ("blockIdx.x", "vthread", "threadIdx.x")


class NoStages(Exception):
    """Why a schedule is none of stages."""


@dataclass(slots=True)
class _Tiled:
    """What the steps make of a sum: its tiles, copies of what it reads, and where it is stored.

    `fetched` are what threads fetch together, each with the numbers at a time and whether a
    thread's turns are written out, and `near` those that are copied to registers from there.
    `loops` are the names of those of each axis.
    """

    block: str
    spatial: list[tuple[int, ...]] = field(default_factory=list)
    summed: list[tuple[int, ...]] = field(default_factory=list)
    loops: list[tuple[str, ...]] = field(default_factory=list)
    stored: int = 1  # numbers at a time
    fetched: dict[str, tuple[int, bool]] = field(default_factory=dict)
    near: dict[str, int] = field(default_factory=dict)
    unrolled: list[str] = field(default_factory=list)
    inlined: list[str] = field(default_factory=list)
    store: str = ""  # what is computed of it where it is stored

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return prod(tile[2] for tile in self.spatial)


def as_stages(best: Schedule, tensors: Sequence[Tensor]) -> str:
    """The calls that make of ``s`` what `best` is, where each tensor goes by its name.

    Raises NoStages where they are none.
    """
    steps = _Steps(step for step in best.trace.steps if not step.verb.startswith("sample_"))
    try:
        written, tiled = _Written(tensors), _tiled(steps)
        _write(written, tiled)
        written.s.applied(tensors)
    except ScheduleError as error:
        raise NoStages(error.headline) from None
    return "\n".join(written.lines)


class _Steps:
    """The steps of a schedule, taken one after the other."""

    def __init__(self, steps: Iterator[Step]) -> None:
        self.left = list(steps)

    def next_is(self, *verbs: str) -> bool:
        return bool(self.left) and self.left[0].verb in verbs

    def take(self, *verbs: str) -> Step:
        """The next step. Raises NoStages where it is of another verb."""
        if not self.left:
            raise NoStages("it has fewer steps than a tiled sum")
        if not self.next_is(*verbs):
            raise NoStages(f"{self.left[0].text} is no call on a stage there")
        return self.left.pop(0)

    def all(self, *verbs: str) -> list[Step]:
        """The next steps, as long as they are of these verbs."""
        taken = []
        while self.next_is(*verbs):
            taken.append(self.left.pop(0))
        return taken


class _Written:
    """A schedule of stages and the text of the calls that make it."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        ops = ComputeDAG(tensors).ops
        self.tensors = {op.name: op.output(0) for op in ops}
        if len(self.tensors) < len(ops) or not all(map(str.isidentifier, self.tensors)):
            raise NoStages("its tensors have no names of their own")
        read = {tensor.op for op in ops for tensor in op.input_tensors}
        self.results: list[Operation] = [op for op in ops if op.body and op not in read]
        self.s = create_schedule(self.results)
        self.lines: list[str] = []
        self.names: dict[Loop, str] = {}

    def axes(self, name: str) -> list[Loop]:
        """The loops of a stage, which are given names."""
        op = self.s[self.tensors[name]].op
        loops: list[Loop] = [*op.axis, *op.reduce_axis]
        for loop in loops:
            self.names[loop] = f"{name}_{re.sub(r'[^0-9A-Za-z_]', '_', loop.name)}"
        made = self._told(loops) + ("," if len(loops) == 1 else "")
        self.lines.append(f"{made} = tuple(s[{name}].op.axis) + tuple(s[{name}].op.reduce_axis)")
        return loops

    def copy(self, verb: str, tensor: str, scope: str, *readers: str) -> str:
        """Take cache_read or cache_write; the name of the copy."""
        of = [[self.tensors[name] for name in readers]] if readers else []
        made = getattr(self.s, verb)(self.tensors[tensor], scope, *of)
        name = f"{tensor}_{scope}"
        self.tensors[name] = made
        rest = f", [{', '.join(readers)}]" if readers else ""
        self.lines.append(f'{name} = s.{verb}({tensor}, "{scope}"{rest})')
        return name

    def split(self, stage: str, loop: Loop, factor: int, inner: str) -> tuple[Loop, Loop]:
        """Split; the outer part keeps the name."""
        parts = self.s[self.tensors[stage]].split(loop, factor=factor)
        name = self.names[loop]
        self.names[parts[0]], self.names[parts[1]] = name, inner
        self.lines.append(f"{name}, {inner} = s[{stage}].split({name}, factor={factor})")
        return parts

    def fuse(self, stage: str, loops: Sequence[Loop], name: str) -> Loop:
        """Fuse, where there are several."""
        if len(loops) == 1:
            return loops[0]
        made = self.s[self.tensors[stage]].fuse(*loops)
        self.names[made] = name
        self.lines.append(f"{name} = s[{stage}].fuse({self._told(loops)})")
        return made

    def bind(self, stage: str, loop: Loop, axis: str) -> None:
        """Bind to a thread axis of its own."""
        self.s[self.tensors[stage]].bind(loop, thread_axis(axis))
        self.lines.append(f's[{stage}].bind({self.names[loop]}, te.thread_axis("{axis}"))')

    def call(self, stage: str, verb: str, *loops: Loop) -> None:
        """Any call on loops alone."""
        getattr(self.s[self.tensors[stage]], verb)(*loops)
        self.lines.append(f"s[{stage}].{verb}({self._told(loops)})")

    def compute_at(self, stage: str, parent: str, loop: Loop) -> None:
        """Attach a stage."""
        self.s[self.tensors[stage]].compute_at(self.s[self.tensors[parent]], loop)
        self.lines.append(f"s[{stage}].compute_at(s[{parent}], {self.names[loop]})")

    def _told(self, loops: Sequence[Loop]) -> str:
        return ", ".join(self.names[loop] for loop in loops)


# --- what the steps say ---------------------------------------------------------------------------


def _tiled(steps: _Steps) -> _Tiled:
    """What the steps make of a sum. Raises NoStages where they are others than those of `ready`."""
    of = _Tiled(_name(steps.take("cache_write")))
    copies = [(_made(step), dict(step.kwargs)["storage_scope"]) for step in steps.all("cache_read")]
    for step in steps.all("split"):
        tile = _factors(step)
        kinds = {5: of.spatial, 3: of.summed}
        if len(tile) not in kinds or not all(tile):
            raise NoStages(f"{step.text} is no tile of the levels SSSRRSRS")
        kinds[len(tile)].append(tile)
        of.loops.append(step.made)
    _check_levels(of, steps)
    steps.take("reverse_compute_at")
    of.stored = _width(steps)
    for name in [name for name, scope in copies if scope == "local"]:
        _expect(steps.take("compute_at"), name)
        of.near[name.removesuffix("_local").removesuffix("_shared")] = _width(steps)
    for name in [name for name, scope in copies if scope == "shared"]:
        _expect(steps.take("compute_at"), name)
        of.fetched[name.removesuffix("_shared")] = _fetched(steps)
    of.unrolled = [_name(step) for step in steps.all("unroll")]
    steps.take("decompose_reduction")
    around = steps.all("compute_inline", "reverse_compute_inline")
    stored = [_name(step) for step in around if step.verb == "reverse_compute_inline"]
    of.inlined = [_name(step) for step in around if step.verb == "compute_inline"]
    if len(stored) > 1 or steps.left:
        raise NoStages("it has more than one kernel, or stages in its store")
    of.store = stored[0] if stored else ""
    return of


def _check_levels(of: _Tiled, steps: _Steps) -> None:
    """Take the steps that put the levels into their order and bind the first three."""
    across, down = of.loops[: len(of.spatial)], of.loops[len(of.spatial) :]
    order = ((across, 0), (across, 1), (across, 2), (down, 0), (down, 1), (across, 3), (down, 2),
             (across, 4))  # fmt: skip
    wanted = [names[level] for loops, level in order for names in loops]
    step = steps.take("reorder")
    if [repr(loop) for loop in step.args] != wanted:
        raise NoStages("its levels are not SSSRRSRS")
    for axis in AXES:
        steps.all("fuse")
        step = steps.take("bind")
        if step.args[1] not in (axis, f"{axis}.x"):
            raise NoStages(f"{step.text} is no level of its own")


def _width(steps: _Steps) -> int:
    """How many numbers a copy takes at a time."""
    if not steps.next_is("split"):
        return 1
    factors = _factors(steps.take("split"))
    steps.take("vectorize")
    return factors[-1]


def _fetched(steps: _Steps) -> tuple[int, bool]:
    """How many numbers each thread fetches at a time, and whether its turns are written out."""
    steps.all("fuse")
    cut = steps.all("split")
    if not cut:
        raise NoStages("what its threads fetch is taken in another way")
    steps.take("bind")
    if len(steps.all("vectorize")) != len(cut) - 1:
        raise NoStages("what its threads fetch is taken in another way")
    turn = cut[-1].made[0]
    unrolled = steps.next_is("unroll") and _name(steps.left[0]) == turn
    if unrolled:
        steps.take("unroll")
    return (_factors(cut[0])[-1] if len(cut) > 1 else 1), unrolled


def _factors(step: Step) -> tuple[int, ...]:
    """The factors of a split, 0 for the one that is left open."""
    factors = dict(step.kwargs)["factors"]
    assert isinstance(factors, tuple)
    return tuple(factor if isinstance(factor, int) else 0 for factor in factors)


def _name(step: Step) -> str:
    """The name of the loop or block of a step."""
    return step.args[0].name if isinstance(step.args[0], Ref) else str(step.args[0])


def _made(step: Step) -> str:
    (name,) = step.made
    return name


def _expect(step: Step, name: str) -> None:
    if _name(step) != name:
        raise NoStages(f"{step.text} comes before that of {name}")


# --- the calls on stages --------------------------------------------------------------------------


def _write(to: _Written, of: _Tiled) -> None:
    """Write the calls that make `of`."""
    op = to.tensors[of.block].op if of.block in to.tensors else None
    if op is None or (len(op.axis), len(op.reduce_axis)) != (len(of.spatial), len(of.summed)):
        raise NoStages(f"{of.block} is no stage that is tiled in all levels")
    result = to.tensors[of.store].op if of.store else op
    if to.results != [result] or result.shape != op.shape:
        raise NoStages(f"{of.block} is not what the program stores, cell by cell")
    for name in of.inlined:
        to.call(name, "compute_inline")
    sums = of.block if of.store else to.copy("cache_write", of.block, "local")
    storing = of.store or of.block
    to.compute_at(sums, storing, _store(to, of, storing))
    outer, inner = _sum_up(to, of, sums)
    for name, (width, unrolled) in of.fetched.items():
        copy = to.copy("cache_read", name, "shared", sums)
        _fetch(to, copy, of.threads, width, unrolled)
        to.compute_at(copy, sums, outer)
        if name in of.near:
            own = to.copy("cache_read", copy, "local", sums)
            _fetch(to, own, 1, of.near[name], False)
            to.compute_at(own, sums, inner)


def _store(to: _Written, of: _Tiled, stage: str) -> Loop:
    """Tile and bind the stage that stores the sums; its loop of threads."""
    levels: list[list[Loop]] = [[], [], [], []]
    for loop, (_, virtual, threads, *own) in zip(to.axes(stage), of.spatial, strict=True):
        for level, factor in ((3, prod(own)), (2, threads), (1, virtual)):
            if factor > 1:
                loop, part = to.split(stage, loop, factor, f"{to.names[loop]}_{level}")
                levels[level].append(part)
        levels[0].append(loop)
    to.call(stage, "reorder", *chain(*levels))
    if of.stored > 1:
        last = levels[3][-1]
        to.call(stage, "vectorize", to.split(stage, last, of.stored, f"{to.names[last]}_v")[1])
    for loops, axis in zip(levels, AXES, strict=False):
        if loops:
            fused = to.fuse(stage, loops, f"{stage}_{axis.partition('.')[0]}")
            to.bind(stage, fused, axis)
    return fused


def _sum_up(to: _Written, of: _Tiled, stage: str) -> tuple[Loop, Loop]:
    """Tile the sum inside of a thread; the loops in which tiles, and registers, are filled."""
    axes, count = to.axes(stage), len(of.spatial)
    named: dict[str, Loop] = {}
    for loop, tile, names in zip(axes[:count], of.spatial, of.loops, strict=False):
        named[names[3]] = loop
        if tile[4] > 1:
            named[names[3]], named[names[4]] = to.split(stage, loop, tile[4], f"{to.names[loop]}_4")
    for loop, tile, names in zip(axes[count:], of.summed, of.loops[count:], strict=True):
        loop, named[names[2]] = to.split(stage, loop, tile[2], f"{to.names[loop]}_2")
        named[names[0]], named[names[1]] = to.split(stage, loop, tile[1], f"{to.names[loop]}_1")
    across, down = of.loops[:count], of.loops[count:]
    order = ((down, 0), (down, 1), (across, 3), (down, 2), (across, 4))
    in_order = [names[level] for loops, level in order for names in loops if names[level] in named]
    to.call(stage, "reorder", *(named[name] for name in in_order))
    for name in of.unrolled:
        if name in named:
            to.call(stage, "unroll", named[name])
    return named[down[-1][0]], named[down[-1][1]]


def _fetch(to: _Written, copy: str, threads: int, width: int, unrolled: bool) -> None:
    """Let threads fill a copy together, `width` numbers at a time."""
    if threads == width == 1:
        return
    cells = to.fuse(copy, to.axes(copy), f"{copy}_fused")
    if width > 1:
        cells, vector = to.split(copy, cells, width, f"{to.names[cells]}_v")
        to.call(copy, "vectorize", vector)
    if threads > 1:
        cells, lane = to.split(copy, cells, threads, f"{to.names[cells]}_t")
        to.bind(copy, lane, "threadIdx.x")
    if unrolled:
        to.call(copy, "unroll", cells)
