"""rfactor: sum up in several parts side by side, then sum up the parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench import arith
from workbench.access.counters import variables
from workbench.access.updates import Sums
from workbench.ir import (
    Block,
    BlockId,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IterVar,
    PrimFunc,
    Range,
    Size,
    Stmt,
    Var,
    const,
    seq,
    substitute,
)
from workbench.ir.places import places, with_child
from workbench.verbs.bindings import conjuncts
from workbench.verbs.crossing import check_carries_nothing
from workbench.verbs.domains import moved_by
from workbench.verbs.factoring import (
    Total,
    check_order,
    left_out,
    only_where,
    sum_loops,
    total_of,
)
from workbench.verbs.feeding import check_fed
from workbench.verbs.inlining import with_regions
from workbench.verbs.nest import constant_extent, fresh_nest
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.scope import check_starts_first, check_sums_stay, reallocate
from workbench.verbs.site import Site


def _choices(func: PrimFunc, loop: For) -> Iterator[Mapping[str, Any]]:
    yield {"factor_axis": 0}


@primitive(group="blocks", sizes=True, choices=_choices)
def rfactor(func: PrimFunc, loop: For, factor_axis: int) -> Edit[BlockId]:
    """Give each iteration of `loop`, one that a sum runs over, a sum of its own; then sum those.

    The parts go into a new buffer with one axis more, at position `factor_axis`. The order of
    additions changes, as it must to run them side by side. Several values that are updated
    together, as by argmax, have parts together; of the outermost loop of the reduction only, where
    their order counts. Returns the new block, …_rf.

    >>> sch.rfactor("k_0", factor_axis=0)
    @T.prim_func
    def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
        # with T.block("root"):
        for i, k_0, k_1 in T.grid(6, 2, 4):
            with T.block("C"):
                vi = T.axis.spatial(6, i)
                vk = T.axis.reduce(8, k_0 * 4 + k_1)
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
    ---
    @T.prim_func
    def main(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
        # with T.block("root"):
        C_rf = T.alloc_buffer((2, 6))
        for i, k_0, k_1 in T.grid(6, 2, 4):
            with T.block("C_rf"):
                vk_0, vi, vk_1 = T.axis.remap("SSR", [k_0, i, k_1])
                T.reads(A[vi, vk_0 * 4 + vk_1])
                T.writes(C_rf[vk_0, vi])
                with T.init():
                    C_rf[vk_0, vi] = T.float32(0)
                C_rf[vk_0, vi] = C_rf[vk_0, vi] + A[vi, vk_0 * 4 + vk_1]
        for i, k_0 in T.grid(6, 2):
            with T.block("C"):
                vk_0, vi = T.axis.remap("RS", [k_0, i])
                T.reads(C_rf[vk_0, vi])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + C_rf[vk_0, vi]
    """
    task = f"rfactor `{loop.loop_var.name}`"
    inside = places(func).blocks_under(loop)
    if len(inside) != 1:
        raise Site(places(func), loop, task).refuse(
            f"it holds {len(inside)} blocks",
            hint="name a loop that holds nothing but the block that sums",
        )
    block = inside[0].block
    site = Site(places(func), block, task)
    loops = sum_loops(site, loop)
    check_sums_stay(site)
    total, starts = total_of(site)
    check_order(site, loop, total)
    check_starts_first(site)
    for one in loops:  # the parts are made ahead of all of them
        check_carries_nothing(site, one)
    size = min(len(store.indices) for store in total.stores)
    if not -size - 1 <= factor_axis <= size:
        names = ", ".join(store.buffer.name for store in total.stores)
        raise site.refuse(
            f"the parts of {names} have no axis {factor_axis}",
            loop,
            hint=f"factor_axis counts from 0 to {size}",
        )
    at = factor_axis % (size + 1)
    parts = [_parts_buffer(store.buffer, at, loop) for store in total.stores]
    outside = left_out(site, loop, total)
    rest = arith.joined(c for c in conjuncts(site.realize.predicate) if c not in outside)
    kept = replace(site.realize, predicate=rest)
    first, new = _partial(kept, loop, loops, total, starts, parts, at, outside)
    last = _outer(site, loop, loops, _final(site.realize, loop, total, parts, at))
    changed = site.places.replace(loops[0], seq(first, last))
    buffers = (*site.scope.block.alloc_buffers, *parts)
    made = places(reallocate(places(changed), site.scope, buffers))
    for one_id in (new, block.id):
        check_fed(site, site.after(made, one_id))
    return Edit(made.func, new, {o.loop_var: () for o in loops if o.loop_var not in made.loops})


def _parts_buffer(buffer: Buffer, at: int, loop: For) -> Buffer:
    turns = constant_extent(loop)
    extent: Size = loop.extent if turns is None else turns  # checked to be fixed, or of sizes
    shape = (*buffer.shape[:at], extent, *buffer.shape[at:])
    return replace(buffer, name=f"{buffer.name}_rf", shape=shape, strides=())


def _put_in(indices: tuple[Expr, ...], at: int, index: Expr) -> tuple[Expr, ...]:
    return (*indices[:at], index, *indices[at:])


def _cells(total: Total, parts: list[Buffer], at: int, index: Expr) -> list[BufferLoad]:
    """The cells of `parts` that hold the part of number `index`."""
    pairs = zip(parts, total.stores, strict=True)
    return [buffer[_put_in(store.indices, at, index)] for buffer, store in pairs]


def _set(cells: list[BufferLoad], values: Sequence[Expr], meaning: Mapping[Var, Expr]) -> Stmt:
    pairs = zip(cells, values, strict=True)
    return seq(*(BufferStore(c.buffer, substitute(v, meaning), c.indices) for c, v in pairs))


def _iterator(loop: For, kind: str) -> IterVar:
    """An iterator that counts the turns of `loop`, from 0 on."""
    var = Var(f"v{loop.loop_var.name}", loop.loop_var.type)
    return IterVar(var, Range(const(0, var.type), loop.extent), kind)


def _partial(
    realize: BlockRealize,
    loop: For,
    loops: list[For],
    total: Total,
    starts: Sequence[Expr],
    parts: list[Buffer],
    at: int,
    outside: Sequence[Expr],
) -> tuple[Stmt, BlockId]:
    """The block that makes the parts, under loops of its own, and its identity.

    Where one of `outside` does not hold, there is no term: what a part starts from is added.
    """
    mine = _iterator(loop, "spatial")
    iterators: list[IterVar] = [mine]
    values: list[Expr] = [loop.loop_var - loop.min]
    by_loop: dict[Var, Expr] = {loop.loop_var: mine.var + loop.min}
    meaning: dict[Var, Expr] = {}
    known = {one.loop_var: one for one in loops}
    for old, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if loop.loop_var not in variables(value):
            iterators.append(old)
            values.append(value)
            continue
        for var in known:
            if var in variables(value) and var not in by_loop:
                extra = _iterator(known[var], "reduce")
                by_loop[var] = extra.var + known[var].min
                iterators.append(extra)
                values.append(var - known[var].min)
        meaning[old.var] = substitute(value, by_loop)
    if outside and isinstance(total, Sums):
        total = only_where(total, substitute(arith.joined(outside), by_loop), starts)
    cells = _cells(total, parts, at, mine.var)
    summed = any(it.kind == "reduce" for it in iterators)
    body = substitute(total.add(cells), meaning) if summed else _set(cells, total.terms, meaning)
    init = _set(cells, starts, meaning) if summed else None
    block = Block(
        f"{realize.block.name}_rf",
        tuple(iterators),
        (),
        (),
        body,
        init,
        annotations=realize.block.annotations,
    )
    stmt = BlockRealize(tuple(values), realize.predicate, with_regions(block))
    return fresh_nest(loops, stmt)


def _final(
    realize: BlockRealize, loop: For, total: Total, parts: list[Buffer], at: int
) -> BlockRealize:
    """The block that sums the parts: the old one, with the parts in the place of the terms."""
    mine = _iterator(loop, "reduce")
    bound = realize.bindings
    spatial = [it for it in realize.block.iter_vars if it.kind == "spatial"]
    results = [store.buffer[store.indices] for store in total.stores]
    body = total.join(results, _cells(total, parts, at, mine.var))
    block = replace(realize.block, iter_vars=(mine, *spatial), body=body)
    gone = moved_by(realize, "reduce") - moved_by(realize, "spatial")
    # loops that run the block for nothing stay, too
    left = (c for c in conjuncts(realize.predicate) if not variables(c) & gone)
    values = (loop.loop_var - loop.min, *(bound[it.var] for it in spatial))
    return BlockRealize(values, arith.joined(left), with_regions(block))


def _outer(site: Site[Block], loop: For, loops: list[For], last: BlockRealize) -> Stmt:
    """The old nest with `last` in it, without the loops of the sum but `loop`."""
    reduced = moved_by(site.realize, "reduce") - {loop.loop_var}
    old: Stmt = site.realize
    new: Stmt | None = last
    for outer in site.places.above(site.realize):
        if not (isinstance(outer, For) and outer.loop_var in reduced):
            new = with_child(outer, old, new)
        old = outer
        if outer is loops[0]:
            break
    assert new is not None
    return new
