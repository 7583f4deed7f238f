"""Whether every value is there when a block reads it."""

from __future__ import annotations

from workbench import arith
from workbench.access.cells import sure_units, writes_all
from workbench.access.iterations import feeds
from workbench.access.units import units
from workbench.diag import Refusal
from workbench.ir import Block, BlockRealize, Buffer, For, PrimFunc, Stmt
from workbench.ir.places import Places, places
from workbench.schedule.counters import Bounds, variables
from workbench.schedule.domains import bindings, bounds_at
from workbench.schedule.regions import Box, exact, holds, touched
from workbench.schedule.scope import (
    may_be_left_out,
    only_region,
    read,
    shared_loops,
    starts_first,
    writers,
)


def check_fed(
    before: PrimFunc,
    func: PrimFunc,
    block: Block,
    task: str,
    finished: bool = True,
    only: Buffer | None = None,
) -> None:
    """Refuse `func` unless every value that `block` reads there is made before it is read.

    A sum must be finished too, unless `finished` is False: a block whose last run is the one that
    counts may read it earlier as well. With `only`, no other buffer is looked at: the step left
    those as they were.

    Values from before the loops that reader and maker share are there as a whole; of what is made
    in the same iteration, the exact box written must hold the box read. Nodes of `before`, the
    program as it was, are marked.
    """
    where = places(func)
    reader = where.realize(block)
    for buffer in read(block) if only is None else [only]:
        for maker in writers(func, block, buffer):
            if maker is reader:
                continue
            known = places(before).blocks
            marks = [known[b.id] for b in (maker.block, block) if b.id in known]
            if where.position[maker] > where.position[reader]:
                _check_still_there(before, func, maker, reader, buffer, task, marks)
                continue
            if finished or not starts_first(maker, arith.loop_bounds(where.loops_above(maker))):
                _check_finished(where, maker, reader, buffer, task, marks)
            _check_made(where, maker, reader, buffer, task, marks)


def makes_all(
    func: PrimFunc, holder: Stmt, makers: list[BlockRealize], reader: BlockRealize, buffer: Buffer
) -> bool:
    """Whether, in one run of `holder`, one of `makers` writes all that `reader` reads of `buffer`.

    It is a proof that the reader finds nothing there of an earlier run, or of nobody.
    """
    where = places(func)
    below = list(units(holder))
    own = next(unit for unit in below if unit.stmt is reader)
    inside = [one for unit in below for one in unit.loops]
    loops = [*where.all_loops_above(holder), *inside]
    dom = {**bounds_at(where, holder), **arith.loop_bounds(loops)}
    surely = [
        unit
        for unit in sure_units(holder)
        if unit.stmt in makers and unit.block and writes_all(unit.block, buffer)
    ]
    return any(feeds(holder, unit, own, buffer, dom) for unit in surely)


def _check_still_there(
    before: PrimFunc,
    func: PrimFunc,
    writer: BlockRealize,
    reader: BlockRealize,
    buffer: Buffer,
    task: str,
    marks: list[BlockRealize],
) -> None:
    """Refuse where `writer`, behind `reader`, may overwrite in an earlier turn what it reads."""
    common = shared_loops(places(func), writer, reader)
    if not common:
        return
    known = places(before)
    old, other = known.blocks.get(reader.block.id), known.blocks.get(writer.block.id)
    if old is not None and other is not None:
        shared = [loop.loop_var for loop in shared_loops(known, other, old)]
        if shared == [loop.loop_var for loop in common] and _reads_as_before(old, reader, buffer):
            return
    raise Refusal(
        f"Can't {task}: `{reader.block.name}` would read {buffer.name} too late",
        *marks,
        detail=f"`{writer.block.name}` may have overwritten it in an earlier turn of "
        f"`{common[-1].loop_var.name}`",
        hint=f"let `{writer.block.name}` write another buffer",
    )


def _reads_as_before(old: BlockRealize, new: BlockRealize, buffer: Buffer) -> bool:
    """Whether a block reads the same cells of `buffer` in the same iterations as it did."""
    a, b = only_region(old.block.reads, buffer), only_region(new.block.reads, buffer)
    if a is None or b is None or len(old.iter_values) != len(new.iter_values):
        return False
    pairs = [*zip(old.iter_values, new.iter_values, strict=True)]
    for x, y in zip(a.region, b.region, strict=True):
        pairs += [(x.min, y.min), (x.extent, y.extent)]
    return all(arith.equal(x, y) for x, y in pairs)


def _check_finished(
    where: Places,
    maker: BlockRealize,
    reader: BlockRealize,
    buffer: Buffer,
    task: str,
    marks: list[BlockRealize],
) -> None:
    """Refuse where `reader` would read a sum inside a loop over which it is still summed."""
    shared = [loop.loop_var for loop in shared_loops(where, maker, reader)]
    bound = bindings(maker)
    reduced = [it.var for it in maker.block.iter_vars if it.kind == "reduce"]
    summed = {v for iterator in reduced for v in variables(bound[iterator])}
    unfinished = [v for v in shared if v in summed]
    if unfinished:
        raise Refusal(
            f"Can't {task}: `{reader.block.name}` would read unfinished sums of {buffer.name}",
            *marks,
            detail=f"`{maker.block.name}` goes on summing as `{unfinished[0].name}` goes on",
            hint=f"let it be read outside `{unfinished[0].name}`, where the sums are finished",
        )


def _check_made(
    where: Places,
    maker: BlockRealize,
    reader: BlockRealize,
    buffer: Buffer,
    task: str,
    marks: list[BlockRealize],
) -> None:
    """Refuse where `reader` would read cells that `maker` writes in another iteration."""
    common = shared_loops(where, maker, reader)
    if not common:
        return
    made, wanted, dom = _in_one_iteration(where, maker, reader, buffer, common)
    if made is None or not holds(made, wanted, buffer.shape, dom):
        inmost = common[-1].loop_var.name
        raise Refusal(
            f"Can't {task}: `{reader.block.name}` would read {buffer.name} too early",
            *marks,
            detail=f"one iteration of `{inmost}` may not make all that is read in it",
            hint=f"let it be read outside `{inmost}`, or move `{maker.block.name}` to its reader "
            "with compute_at",
        )


def _in_one_iteration(
    where: Places, maker: BlockRealize, reader: BlockRealize, buffer: Buffer, common: list[For]
) -> tuple[Box | None, Box, Bounds]:
    """What `maker` surely writes and what `reader` reads in one iteration of the common loops."""
    boxes: list[Box | None] = []
    outer: Bounds = {}
    for realize, regions in ((maker, maker.block.writes), (reader, reader.block.reads)):
        dom = bounds_at(where, realize)
        own = [loop for loop in where.loops_above(realize) if loop not in common]
        inner = {loop.loop_var: dom[loop.loop_var] for loop in own}
        outer = {v: ends for v, ends in dom.items() if v not in inner}
        region = only_region(regions, buffer)
        assert region is not None
        if realize is maker and may_be_left_out(where, maker, reader):
            boxes.append(None)
            continue
        measure = exact if realize is maker else touched
        boxes.append(measure(region, realize, inner, outer))
    assert boxes[1] is not None
    return boxes[0], boxes[1], outer
