"""Waste: programs that are right but do work again and again, with what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from workbench import arith
from workbench.access.units import Unit
from workbench.arith.evaluate import compiled
from workbench.check.finding import Finding
from workbench.check.kernels import Nest, extent_of
from workbench.diag import plural
from workbench.ir import TRUE, Buffer, For, SizeVar, as_expr, free_vars, is_warp_call, walk
from workbench.script import expr_text
from workbench.script.writer import string


def waste(nest: Nest) -> Iterator[Finding]:
    """Warnings for one kernel."""
    for unit in nest.units:
        yield from _repeated_work(nest, unit)
        yield from _early_copy(nest, unit)
        yield from _init_inside(unit)


def _repeated_work(nest: Nest, unit: Unit) -> Iterator[Finding]:
    """A buffer that threads share and several of them fill with the same values."""
    buffer = next((b for b in unit.writes if b.scope != "local"), None)
    if buffer is None or unit.accumulates:
        return
    used = unit.used
    sharing, repeats = nest.doers(unit, "threadIdx")
    shares = [loop for loop in sharing if loop.loop_var in used]
    repeats *= prod(extent_of(loop) for loop in sharing if loop not in shares)
    if any(map(is_warp_call, walk(unit.stmt))):  # which its threads make together
        repeats //= nest.size("threadIdx.x")
    if repeats == 1:
        return
    own = (loop for loop in unit.loops if loop.virtual or loop.thread is None)
    inner = [loop for loop in own if loop.loop_var in used]
    runs = _runs(unit, [*inner, *shares])
    does = "load" if buffer.scope == "shared" and unit.reads else "write"
    into = "into" if does == "load" else "of"
    elements = "elements" if runs is None else f"{runs} {plural(runs, 'element')}"
    cost = "" if runs is None else f"{repeats * runs} {does}s a block where {runs} would do"
    yield Finding(
        f"{repeats} threads each {does} the same {elements} {into} {buffer.name}",
        (unit.stmt,),
        hint=_how_to_share(nest, inner, shares),
        detail=cost,
        kind="warning",
    )


def _runs(unit: Unit, loops: list[For]) -> int | None:
    """How often the block runs in `loops`, at the first iteration of those around.

    None where sizes tell it.
    """
    told = [unit.predicate, *(loop.extent for loop in loops)]
    if any(isinstance(v, SizeVar) for e in told for v in free_vars(e)):
        return None
    most = prod(extent_of(loop) for loop in loops)
    if unit.predicate is TRUE or arith.reads_memory(unit.predicate) or most > arith.POINTS:
        return most
    holds = compiled(unit.predicate)
    dom = arith.loop_bounds(unit.loops)
    first = {var: low for var, (low, _) in dom.items()}
    turns = arith.points(arith.ranges_of([loop.loop_var for loop in loops], dom))
    return sum(bool(holds({**first, **turn})) for turn in turns)


def _turns_text(loops: list[For]) -> str:
    """How often `loops` in each other run, as a number or as sizes tell it."""
    if any(arith.by_sizes(loop.extent) for loop in loops):
        whole = arith.simplify(prod((loop.extent for loop in loops), start=as_expr(1)))
        return expr_text(whole)
    return str(prod(extent_of(loop) for loop in loops))


def _how_to_share(nest: Nest, inner: list[For], shares: list[For]) -> str:
    """What spreads the iterations of `inner` over the threads that all do them."""
    idle = [
        (axis, nest.size(axis))
        for axis in ("threadIdx.x", "threadIdx.y", "threadIdx.z")
        if nest.size(axis) > 1 and all(loop.thread != axis for loop in shares)
    ]
    if not inner or not idle:
        return "bind a loop that the block uses to a thread axis"
    for axis, size in idle:
        fitting = [loop for loop in inner if extent_of(loop) == size and loop.kind == "serial"]
        if fitting:
            either = " or ".join(f"`{loop.loop_var.name}`" for loop in fitting)
            return f"share the work: bind {either} to {axis}"
    axis, size = idle[0]
    return (
        f"share the work: split `{inner[-1].loop_var.name}` by factors=[None, {size}] and bind the "
        f"inner part to {axis}"
    )


def _early_copy(nest: Nest, unit: Unit) -> Iterator[Finding]:
    """A copy of a reduction's result that is made after each step, not after the last."""
    if unit.accumulates:
        return
    for source in nest.units:
        if not (source.writes & unit.reads) or not source.bound("reduce"):
            continue
        steps = [loop for loop in _reduce_loops(source) if loop in unit.loops]
        idle = [loop for loop in steps if loop.loop_var not in unit.used]
        if prod(extent_of(loop) for loop in idle) == 1:
            continue
        times = _turns_text(idle)
        outer = idle[0].loop_var.name
        target = next(iter(unit.writes)).name
        yield Finding(
            f"`{unit.name}` writes {target} after each of {times} steps of `{outer}`, and only the "
            "last counts",
            (idle[0], unit.stmt),
            hint=f"move it out of `{outer}`: sch.reverse_compute_at({string(unit.name)}, …) at a "
            "loop around it",
            detail=f"{times} stores to each cell where 1 would do",
            kind="warning",
        )
        return


def _reduce_loops(unit: Unit) -> list[For]:
    terms = unit.moved_by("reduce")
    return [loop for loop in unit.loops if loop.loop_var in terms]


def _init_inside(unit: Unit) -> Iterator[Finding]:
    """A reduction whose init is asked for in every step."""
    if unit.block is None or unit.block.init is None:
        return
    loops = _reduce_loops(unit)
    if prod(extent_of(loop) for loop in loops) == 1 or any(loop.thread for loop in loops):
        return  # threads that share a sum out start their parts once
    outer, steps = loops[0].loop_var.name, _turns_text(loops)
    yield Finding(
        f"`{unit.name}` asks in each of {steps} steps whether it is the first, to set its init",
        (loops[0], unit.stmt),
        hint=f"set it once, before: sch.decompose_reduction({string(unit.name)}, {string(outer)})",
        detail=f"{steps} tests for each cell of {_output(unit).name} where none is needed",
        kind="warning",
    )


def _output(unit: Unit) -> Buffer:
    return next(iter(unit.writes))
