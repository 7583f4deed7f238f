"""check_program: everything wrong or wasteful in a program that is to become GPU code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from workbench import arith
from workbench.access.iterations import apart, feeds
from workbench.access.units import Unit, opened, units
from workbench.check.conflict import Doers, doers_on, refuse_conflict
from workbench.check.exchange import shared_out
from workbench.check.finding import Finding
from workbench.check.kernels import Nest, extent_of, nests
from workbench.check.memory import (
    crossing_errors,
    instance_errors,
    overwriting_errors,
    private_errors,
    scratch_errors,
    turn_errors,
)
from workbench.check.outside import outside_errors
from workbench.check.pipelines import spare_copies, written_out
from workbench.check.threads import axis_errors
from workbench.check.waste import waste
from workbench.diag import Act, Refusal
from workbench.ir import BlockRealize, Buffer, BufferStore, For, Node, PrimFunc, once
from workbench.script.writer import string
from workbench.target import Target

_DOERS: dict[str, Doers] = {"vectorized": "lanes", "parallel": "iterations"}


def check_program(func: PrimFunc, target: Target) -> list[Finding]:
    """What is wrong with `func` as code for `target`, errors first, then what wastes work."""
    kernels = nests(func)
    errors = [*_pipelines(func), *outside_errors(func)]
    if errors:
        return errors
    if target.is_cpu:  # all take turns but for what cores and lanes share
        free = [loop for nest in kernels for loop in nest.loops if loop.thread is None]
        return list(_conflicts(func, free))
    errors = list(crossing_errors(func, kernels))
    for nest in kernels:
        findings = [*_unbound(nest), *axis_errors(nest), *_limits(nest, target)]
        if not findings:  # who does what is clear: see whether they get in each other's way
            findings = [*_hazards(func, nest)]
        errors.extend(findings)
    wasted = (finding for nest in kernels for finding in waste(nest))
    return errors or [*wasted, *spare_copies(func)]


@once
def _hazards(func: PrimFunc, nest: Nest) -> tuple[Finding, ...]:
    """Where those who run a nest of `func` get in each other's way, on whichever target.

    Worked out once: it is most of the work, and each target and each note of a lab asks for it.
    """
    found = [*_conflicts(func, nest.loops), *_repeated_updates(func, nest)]
    found += [*_updates_of_copies(nest), *_stores_of_copies(nest), *_sums_of_copies(nest)]
    found += [*instance_errors(nest), *private_errors(func, nest)]
    found += [*scratch_errors(nest), *turn_errors(nest), *overwriting_errors(nest)]
    return tuple(found)


def check_limits(func: PrimFunc, target: Target) -> list[Finding]:
    """What `target` cannot launch of `func`, which is right as code for some other target."""
    return [finding for nest in nests(func) for finding in _limits(nest, target)]


def _unbound(nest: Nest) -> Iterator[Finding]:
    if all(loop.virtual for loop in nest.bound):
        loop = next((one for one in nest.loops if not one.thread), None)
        what = string(loop.loop_var.name) if loop else f"sch.add_unit_loop({string(nest.name)})"
        told = loop is not None and arith.by_sizes(loop.extent)  # no block has so many threads
        axis = "blockIdx.x" if told else "threadIdx.x"
        yield Finding(
            f"no loop of `{nest.name}` is bound to blocks or threads, so no GPU thread runs it",
            (loop or nest.stmt,),
            hint=f'bind one: sch.bind({what}, "{axis}")',
            detail="a GPU runs what is bound to blockIdx and threadIdx",
            act=_binding(nest, loop),
        )


def _binding(nest: Nest, loop: For | None) -> Act | None:
    """The step that lets threads run `nest`, or makes the loop that they could run."""
    if loop is not None:
        return Act("bind", loop.loop_var)
    if isinstance(nest.stmt, BlockRealize):
        return Act("add_unit_loop", nest.stmt.block.id)
    return None


def _limits(nest: Nest, target: Target) -> Iterator[Finding]:
    """More threads than a block, or more blocks than a grid, can have."""
    if nest.threads > target.max_threads_per_block:
        yield Finding(
            f"`{nest.name}` has {nest.threads} threads a block, and {target.title} takes "
            f"{target.max_threads_per_block}",
            tuple(loop for loop in nest.bound if (loop.thread or "").startswith("thread")),
            hint="split a loop that is bound to threads, and bind its outer part to blocks",
            detail=f"the limit is from: {target.source_of('max_threads_per_block')}",
        )
    for unit, fact in (("threadIdx", "max_block"), ("blockIdx", "max_grid")):
        for axis, limit in zip("xyz", getattr(target, fact), strict=True):
            size = nest.size(f"{unit}.{axis}")
            told = any(
                arith.by_sizes(loop.extent)  # seen to when it is launched
                for loop in nest.bound
                if loop.thread == f"{unit}.{axis}"
            )
            if size > limit and not told:
                name = f"{unit}.{axis}"
                yield Finding(
                    f"`{nest.name}` has {size} along {name}, and {target.title} takes {limit}",
                    tuple(loop for loop in nest.bound if loop.thread == name),
                    hint="split the loop, and keep one part serial or bind it to another axis",
                    detail=f"the limit is from: {target.source_of(fact)}",
                )


def _pipelines(func: PrimFunc) -> Iterator[Finding]:
    """A pipeline that would not do what its loop does."""
    try:
        written_out(func)
    except Refusal as refusal:
        yield _found(refusal)


def _found(refusal: Refusal) -> Finding:
    nodes = tuple(at for at in refusal.at if isinstance(at, Node))
    return Finding(refusal.headline, nodes, refusal.hint, refusal.detail, act=refusal.act)


def _conflicts(func: PrimFunc, loops: Iterable[For]) -> Iterator[Finding]:
    """Iterations done at once that should not be."""
    for loop in loops:
        how = loop.thread or loop.kind
        doers = doers_on(loop.thread) if loop.thread else _DOERS.get(loop.kind)
        if doers is None:
            continue
        try:
            refuse_conflict(func, loop, f"`{loop.loop_var.name}` can't be {how}", doers)
        except Refusal as refusal:
            yield _found(refusal)


def _updates_of_copies(nest: Nest) -> Iterator[Finding]:
    """Updates that a virtual thread has no part in, and that each would make once more.

    Those of a sum that starts in the same turn are not: it comes out the same each time.
    """
    for loop in (one for one in nest.bound if one.virtual and extent_of(one) > 1):
        below = list(units(loop.body))
        inside = {one.loop_var for unit in below for one in unit.loops}
        for unit in below:
            if not unit.accumulates or loop.loop_var in unit.used:
                continue
            starts_anew = unit.moved_by("reduce") <= inside
            whole = unit.block is not None and unit.block.init is not None and starts_anew
            starts = (u for u in below if not u.accumulates and u.writes >= unit.writes)
            if whole or any(
                all(feeds(loop.body, start, unit, buffer, nest.dom) for buffer in unit.writes)
                for start in starts
            ):
                continue
            name = loop.loop_var.name
            yield Finding(
                f"all {extent_of(loop)} virtual threads of `{name}` would do the same updates in "
                f"`{unit.name}`",
                (loop, unit.stmt),
                hint=f"keep `{name}` serial, or bind a loop that tells the cells of `{unit.name}`",
                detail=f"what `{name}` has no part in is done once for all copies in a thread",
            )


def _stores_of_copies(nest: Nest) -> Iterator[Finding]:
    """Cells that different copies inside several threads, or blocks, may store.

    Where all store by the same statement, each stores the same value; copies are several.
    """
    for unit in nest.units:
        copies = [one for one in unit.loops if one.virtual and one.loop_var in unit.used]
        for buffer in unit.writes if copies and not unit.accumulates else ():
            for loop in unit.loops:
                if (loop.thread or "").split(".")[0] not in _shared_by(buffer):
                    continue
                moving = [loop] if loop.loop_var in unit.used else copies
                if all(_stores_apart(one, copies, unit, nest) for one in moving):
                    continue
                doers = doers_on(loop.thread or "")
                name = copies[0].loop_var.name
                yield Finding(
                    f"virtual threads of several {doers} may store the same cells of "
                    f"{buffer.name} in `{unit.name}`",
                    (loop, copies[0], unit.stmt),
                    hint=f"keep `{name}` serial or unrolled, or let each iteration have its cell",
                    detail="copies inside a thread are several stores, and nothing orders those of "
                    f"different {doers}",
                )
                break


def _stores_apart(loop: For, copies: list[For], unit: Unit, nest: Nest) -> bool:
    """Whether different iterations of `loop` store different cells, whichever copies do that."""
    at = unit.loops.index(loop) + 1
    others = [one for one in copies if one is not loop]
    around = [one for one in unit.loops[:at] if one not in others]
    inside = [one for one in unit.loops[at:] if one not in others]
    return apart(loop, replace(unit, loops=(*around, *others, *inside)), nest.dom)


def _sums_of_copies(nest: Nest) -> Iterator[Finding]:
    """Sums that threads share out, inside of virtual threads."""
    for found in shared_out(nest):
        around = [*nest.known.all_loops_above(found.loops[0]), *found.loops]
        virtual = next((loop for loop in around if loop.virtual), None)
        if virtual is not None:
            name = virtual.loop_var.name
            yield Finding(
                f"threads share the sum of `{found.block.name}` out, inside the virtual threads "
                f"of `{name}`",
                (virtual, *found.threads, found.realize),
                hint=f"keep `{name}` serial or unrolled: it then has one such sum after the other",
                detail="threads have one place to put the parts of a sum together, and the copies "
                "inside a thread would all be there at a time",
            )


def _shared_by(buffer: Buffer) -> tuple[str, ...]:
    """The axes whose threads or blocks see one and the same `buffer`."""
    return {"shared": ("threadIdx",), "local": ()}.get(buffer.scope, ("threadIdx", "blockIdx"))


def _repeated_updates(func: PrimFunc, nest: Nest) -> Iterator[Finding]:
    """Updates of memory that threads or blocks share, done by all of them."""
    for unit in nest.units:
        for buffer in unit.writes if unit.accumulates else _updated_inside(unit):
            for kind in _shared_by(buffer):
                sharing, repeats = nest.doers(unit, kind)
                idle = [loop for loop in sharing if loop.loop_var not in unit.used]
                for loop in idle:
                    repeats *= nest.size(loop.thread or "")
                if repeats > 1:
                    told = any(arith.by_sizes(loop.extent) for loop in nest.bound)
                    yield _repeated(func, unit, buffer, kind, 0 if told else repeats, idle)


def _updated_inside(unit: Unit) -> Iterator[Buffer]:
    """The buffers of which statements of a block update cells, whatever it declares."""
    for part in opened(unit):
        store = part.stmt
        if isinstance(store, BufferStore):
            cells = [load.indices for load in part.loads if load.buffer is store.buffer]
            if any(all(map(arith.equal, cell, store.indices)) for cell in cells):
                yield store.buffer


def _repeated(
    func: PrimFunc, unit: Unit, buffer: Buffer, kind: str, repeats: int, idle: list[For]
) -> Finding:
    """The finding; `repeats` is 0 where sizes tell how many do the same."""
    who = "threads" if kind == "threadIdx" else "blocks"
    axis = idle[0].thread if idle else f"{kind}.x"
    every = f"{repeats} {who}" if repeats else who
    return Finding(
        f"all {every} would do the same updates of {buffer.name} at the same time",
        (*idle, unit.stmt),
        hint=_shared_out(func, unit, buffer, axis or "", idle),
        detail=f"{buffer.name} is in {buffer.scope} memory, which the {who} share: each update "
        f"would be made up to {repeats} times"
        if repeats
        else "",
    )


def _shared_out(func: PrimFunc, unit: Unit, buffer: Buffer, axis: str, idle: list[For]) -> str:
    """What to do with updates that all do: share the cells out, or let each have its own."""
    cells = unit.moved_by("spatial")
    free = [one for one in unit.loops if one.kind == "serial" and one.loop_var in cells]
    if unit.block is None or any(extent_of(loop) != 1 for loop in free):
        return f"split a spatial loop of `{unit.name}` and bind its inner part to {axis}"
    if idle:
        name = idle[0].loop_var.name
        return f"do not bind `{name}` to {axis}: it tells no cell of {buffer.name}"
    if buffer not in unit.writes:
        return f'allocate {buffer.name} in "local" memory, where each thread has its own'
    number = list(dict.fromkeys(r.buffer for r in unit.block.writes)).index(buffer)
    call = f'({string(unit.name)}, {number}, "local")'
    if buffer not in func.params:
        return f"let each have its own {buffer.name}: sch.set_scope{call}"
    if unit.block.init is None:
        return f"run `{unit.name}` in loops of its own, without {axis}"
    return f"let each sum in its own memory: sch.cache_write{call}, and move the copy behind it"
