"""Waste: programs that are right but do work again and again, with what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from workbench import arith
from workbench.check.finding import Finding
from workbench.check.kernels import Nest, extent_of
from workbench.check.units import Unit
from workbench.ir import BlockRealize, Buffer, Expr, For, Node, Var, free_vars


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
    used = used_variables(unit)
    sharing, repeats = nest.doers(unit, "threadIdx")
    shares = [loop for loop in sharing if loop.loop_var in used]
    repeats *= prod(extent_of(loop) for loop in sharing if loop not in shares)
    if repeats == 1:
        return
    inner = [loop for loop in unit.loops if loop.kind != "thread_binding" and loop.loop_var in used]
    runs = prod(extent_of(loop) for loop in (*inner, *shares))
    last = inner[-1].loop_var.name if inner else ""
    does = "load" if buffer.scope == "shared" and unit.reads else "write"
    into = "into" if does == "load" else "of"
    yield Finding(
        "warning",
        f"{repeats} threads each {does} the same {_count(runs, 'element')} {into} {buffer.name}",
        (unit.stmt,),
        hint=(
            f"share the work: split `{last}` and bind the inner part to threadIdx.x"
            if last
            else "bind a loop that the block uses to a thread axis"
        ),
        detail=f"{repeats * runs} {does}s a block where {runs} would do",
    )


def used_variables(unit: Unit) -> set[Var]:
    """The loop variables that say what a unit does: in its bindings and its predicate."""
    told: list[Node] = [*unit.values.values()] or [unit.stmt]
    if isinstance(unit.stmt, BlockRealize):
        told.append(unit.stmt.predicate)
    dom = arith.loop_bounds(unit.loops)  # (i * 4 + j) // 4 uses no j
    short = (arith.simplify(e, dom) if isinstance(e, Expr) else e for e in told)
    return {v for value in short for v in free_vars(value)}


def _early_copy(nest: Nest, unit: Unit) -> Iterator[Finding]:
    """A copy of a reduction's result that is made after each step, not after the last."""
    if unit.accumulates:
        return
    for source in nest.units:
        if not (source.writes & unit.reads) or not source.bound("reduce"):
            continue
        steps = [loop for loop in _reduce_loops(source) if loop in unit.loops]
        used = used_variables(unit)
        idle = [loop for loop in steps if loop.loop_var not in used]
        times = prod(extent_of(loop) for loop in idle)
        if times == 1:
            continue
        outer = idle[0].loop_var.name
        target = next(iter(unit.writes)).name
        yield Finding(
            "warning",
            f"`{unit.name}` writes {target} after each of {times} steps of `{outer}`, and only the "
            "last counts",
            (idle[0], unit.stmt),
            hint=f'move it out of `{outer}`: sch.reverse_compute_at("{unit.name}", …) at a loop '
            "around it",
            detail=f"{times} stores to each cell where 1 would do",
        )
        return


def _reduce_loops(unit: Unit) -> list[For]:
    used = {v for value in unit.bound("reduce") for v in free_vars(value)}
    return [loop for loop in unit.loops if loop.loop_var in used]


def _init_inside(unit: Unit) -> Iterator[Finding]:
    """A reduction whose init is asked for in every step."""
    if unit.block is None or unit.block.init is None:
        return
    loops = _reduce_loops(unit)
    steps = prod(extent_of(loop) for loop in loops)
    if steps == 1:
        return
    outer = loops[0].loop_var.name
    yield Finding(
        "warning",
        f"`{unit.name}` asks in each of {steps} steps whether it is the first, to set its init",
        (loops[0], unit.stmt),
        hint=f'set it once, before: sch.decompose_reduction("{unit.name}", "{outer}")',
        detail=f"{steps} tests for each cell of {_output(unit).name} where none is needed",
    )


def _output(unit: Unit) -> Buffer:
    return next(iter(unit.writes))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
