"""merge: run two or more loops of equal length, one after the other so far, as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from workbench import arith
from workbench.access.cells import lags
from workbench.access.units import units
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    Expr,
    For,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    const,
    seq,
    substitute,
)
from workbench.ir.places import places
from workbench.schedule.feeding import check_fed
from workbench.schedule.moving import statements
from workbench.schedule.nest import constant_extent
from workbench.schedule.primitive import Edit, Key, primitive
from workbench.schedule.scope import around, read, written


def _choices(func: PrimFunc, loop: For) -> Iterator[dict[str, tuple[For, ...]]]:
    where = places(func)
    holder = where.parent.get(loop)
    beside = holder.stmts if isinstance(holder, SeqStmt) else ()
    after = next(iter(beside[beside.index(loop) + 1 :]), None) if loop in beside else None
    if not isinstance(after, For):
        raise Refusal(
            f"Can't merge `{loop.loop_var.name}`: no loop stands directly after it",
            loop,
            hint="choose the first of two loops that stand one after the other",
        )
    yield {"loops": (after,)}


@primitive(group="loops", choices=_choices)
def merge(func: PrimFunc, *loops: For) -> Edit:
    """Make one loop of several that stand one after the other and run equally often.

    Each turn then does that turn of the first, of the second, and so on. Loops around them, up to
    one that holds them all, are merged too. Returns the loop made of those named.

    >>> sch.merge("i", "j")
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)
        for j in range(8):
            with T.block("C"):
                vj = T.axis.spatial(8, j)
                T.reads(B[vj])
                T.writes(C[vj])
                C[vj] = B[vj] + T.float32(1)
    ---
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((8,))
        for i_m in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i_m)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2)
            with T.block("C"):
                vj = T.axis.spatial(8, i_m)
                T.reads(B[vj])
                T.writes(C[vj])
                C[vj] = B[vj] + T.float32(1)
    """
    if len(loops) < 2 or len(set(loops)) < len(loops):
        raise Refusal(
            "Can't merge: it takes two or more different loops",
            *loops,
            hint="name two or more, in the order of the program",
        )
    task = f"merge {', '.join(f'`{one.loop_var.name}`' for one in loops)}"
    chains = _chains(func, loops, task)
    _check_equal(chains, task)
    tops = [chain[0] for chain in chains]
    stmts, at = _beside(func, tops, task)
    new = tuple(Var(f"{one.loop_var.name}_m", one.loop_var.type) for one in chains[0])
    by_place = sorted(chains, key=lambda chain: stmts.index(chain[0]))
    body = seq(*(_body(chain, new) for chain in by_place))
    for var, one in reversed(list(zip(new, chains[0], strict=True))):
        body = replace(one, loop_var=var, min=const(0, var.type), body=body)
    changed = _placed(func, tops[0], stmts, at, len(tops), body)
    _check_order(func, changed, by_place, new, task)
    became: dict[Key, tuple[Key, ...]] = {
        one.loop_var: (var,) for chain in chains for one, var in zip(chain, new, strict=True)
    }
    return Edit(changed, new[-1], became)


def _chains(func: PrimFunc, loops: tuple[For, ...], task: str) -> list[list[For]]:
    """For each of `loops`, the nest down to it from below the loop that holds them all."""
    where = places(func)
    nests = [[*where.loops_above(one), one] for one in loops]
    common = [one for one in nests[0] if all(one in nest for nest in nests)]
    chains = [[one for one in nest if one not in common] for nest in nests]
    for chain, named in zip(chains, loops, strict=True):
        if where.scope(named) is not where.scope(loops[0]) or not chain:
            raise Refusal(
                f"Can't {task}: they are not in nests of their own in one block",
                *loops,
                hint="merge takes loops that stand one after the other",
            )
        for outer, inner in pairwise(chain):
            if outer.body is not inner:
                raise Refusal(
                    f"Can't {task}: `{outer.loop_var.name}` holds more than "
                    f"`{inner.loop_var.name}`",
                    outer,
                    hint="merge the outer loops first",
                )
    return chains


def _check_equal(chains: list[list[For]], task: str) -> None:
    for one in (loop for chain in chains for loop in chain):
        if one.kind != "serial" or one.annotations:
            raise Refusal(
                f"Can't {task}: `{one.loop_var.name}` is no plain loop any more",
                one,
                hint="merge before bind, vectorize, unroll, parallel and annotate",
            )
    first = chains[0]
    kinds = sorted({one.loop_var.type for chain in chains for one in chain})
    if len(kinds) > 1:
        raise Refusal(
            f"Can't {task}: some count in {kinds[0]}, some in {kinds[1]}",
            *first,
            hint="write all loops with numbers of one type",
        )
    for chain in chains[1:]:
        same = [*map(constant_extent, chain)] == [*map(constant_extent, first)]
        if not same or any(constant_extent(one) is None for one in first):
            raise Refusal(
                f"Can't {task}: they do not run equally often, nest by nest",
                *first,
                *chain,
                hint="split the longer one, so that a part of it is as long as the other",
            )


def _beside(func: PrimFunc, tops: list[For], task: str) -> tuple[tuple[Stmt, ...], int]:
    """The statements among which `tops` stand side by side, and where the first of them is."""
    holder = places(func).parent[tops[0]]
    stmts = holder.stmts if isinstance(holder, SeqStmt) else ()
    spots = sorted(stmts.index(top) for top in tops if top in stmts)
    if len(spots) < len(tops) or spots[-1] - spots[0] != len(tops) - 1:
        raise Refusal(
            f"Can't {task}: something stands between them",
            *tops,
            hint="merge takes loops that stand directly one after the other",
        )
    return stmts, spots[0]


def _body(chain: list[For], new: tuple[Var, ...]) -> Stmt:
    values: dict[Var, Expr] = {
        one.loop_var: one.min + var for one, var in zip(chain, new, strict=True)
    }
    return substitute(chain[-1].body, values)


def _placed(
    func: PrimFunc, top: For, stmts: tuple[Stmt, ...], at: int, count: int, new: Stmt
) -> PrimFunc:
    where = places(func)
    holder = where.parent[top]
    return where.replace(holder, seq(*stmts[:at], new, *stmts[at + count :]))


def _check_order(
    before: PrimFunc, func: PrimFunc, chains: list[list[For]], new: tuple[Var, ...], task: str
) -> None:
    """Refuse where a turn of one loop needs what a later turn of another does, or undoes it."""
    where = places(before)
    groups: list[list[BlockRealize]] = []
    for chain in chains:
        inside = statements(chain[-1])
        groups.append(
            [
                r
                for stmt in inside
                for r in ([stmt] if isinstance(stmt, BlockRealize) else where.blocks_under(stmt))
            ]
        )
    for k, group in enumerate(groups):
        for realize in group:
            behind = [r for later in groups[k + 1 :] for r in later]
            pairs = [(r.block, realize.block) for earlier in groups[:k] for r in earlier]
            pairs += [(realize.block, r.block) for r in behind]
            for other in behind:
                both = [
                    b
                    for b in written(realize.block)
                    if b in written(other.block)
                    and not _in_order(func, new, realize.block, other.block, b)
                ]
                if both:
                    raise Refusal(
                        f"Can't {task}: `{realize.block.name}` and `{other.block.name}` both "
                        f"write {both[0].name}",
                        realize,
                        other,
                        hint="turn by turn, one could undo what the other did",
                    )
            for buffer in read(realize.block):
                if not all(_in_order(func, new, one, two, buffer) for one, two in pairs):
                    block = places(func).blocks[realize.block.id].block
                    check_fed(before, func, block, task, only=buffer)


def _in_order(
    func: PrimFunc, merged: tuple[Var, ...], one: Block, other: Block, buffer: Buffer
) -> bool:
    """Whether `one`, which ran before all of `other`, still does for each cell that both touch.

    It is so where, in one turn of the loops around each of `merged`, `other` touches no cell of
    `buffer` in an earlier turn than `one`, if either writes it. Iterations around them that run at
    once may hand each other values; nothing is said of those.
    """
    where = places(func)
    outside = where.all_loops_above(where.loops[merged[0]])
    if any(loop.kind not in ("serial", "unrolled") for loop in outside):
        return False
    for var in merged:
        below = list(units(where.loops[var].body))
        first, second = (
            next((unit for unit in below if unit.block and unit.block.id is block.id), None)
            for block in (one, other)
        )
        if first is None or second is None:
            return False
        inside = [loop for unit in below for loop in unit.loops]
        dom = {**around(where, where.loops[var].body), **arith.loop_bounds(inside)}
        for mine, theirs in (("write", "read"), ("read", "write"), ("write", "write")):
            if buffer in getattr(first, f"{mine}s") and buffer in getattr(second, f"{theirs}s"):
                turns = lags(var, (first, mine), (second, theirs), buffer, dom)
                if turns is None or max(turns, default=0) > 0:
                    return False
    return True
