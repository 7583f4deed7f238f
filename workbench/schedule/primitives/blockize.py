"""blockize: make what a loop does in one turn a block of its own, with smaller blocks inside."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench import arith
from workbench.diag import Refusal
from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IterVar,
    Node,
    PrimFunc,
    Range,
    Stmt,
    Var,
    binary,
    const,
    copy_fresh,
    free_vars,
    rewrite,
    substitute,
    walk,
)
from workbench.ir.places import places
from workbench.schedule.bindings import both, conjuncts
from workbench.schedule.counters import Bounds, count_of, variables
from workbench.schedule.nest import constant_extent
from workbench.schedule.primitive import Edit, primitive
from workbench.schedule.regions import one_to_one, relaxed
from workbench.schedule.scope import around, check_stage, domain


@dataclass(frozen=True, slots=True)
class Part:
    """One iterator cut in two: its value is ``outer * size + inner``, inner below `size`."""

    iterator: IterVar
    outer: Expr
    count: int
    inner: Expr
    size: int


@primitive(group="blocks")
def blockize(func: PrimFunc, target: For, preserve_unit_iters: bool = True) -> Edit:
    """Make one turn of the loops around `target` a block, which runs `target` and all inside.

    Each iterator is cut in two: …_o counts turns, …_i counts within one. A T.init() moves out to
    the new block. Returns the new block, …_o; the one inside keeps its handle.

    >>> sch.blockize("i_1")
    @T.prim_func
    def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        # with T.block("root"):
        for i_0, j_0, i_1, j_1 in T.grid(2, 4, 4, 2):
            with T.block("B"):
                vi = T.axis.spatial(8, i_0 * 4 + i_1)
                vj = T.axis.spatial(8, j_0 * 2 + j_1)
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj]
    ---
    @T.prim_func
    def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        # with T.block("root"):
        for i_0, j_0 in T.grid(2, 4):
            with T.block("B_o"):
                vi_o, vj_o = T.axis.remap("SS", [i_0, j_0])
                T.reads(A[vi_o * 4 : vi_o * 4 + 4, vj_o * 2 : vj_o * 2 + 2])
                T.writes(B[vi_o * 4 : vi_o * 4 + 4, vj_o * 2 : vj_o * 2 + 2])
                for i_1, j_1 in T.grid(4, 2):
                    with T.block("B"):
                        vi_i, vj_i = T.axis.remap("SS", [i_1, j_1])
                        T.reads(A[vi_o * 4 + vi_i, vj_o * 2 + vj_i])
                        T.writes(B[vi_o * 4 + vi_i, vj_o * 2 + vj_i])
                        B[vi_o * 4 + vi_i, vj_o * 2 + vj_i] = A[vi_o * 4 + vi_i, vj_o * 2 + vj_i]
    """
    task = f"blockize `{target.loop_var.name}`"
    realize, loops = _inside(func, target, task)
    block = realize.block
    if block.init is not None:
        check_stage(func, block, "blockize", sole=False)  # sums start in their own first turn
    dom = around(places(func), realize)
    turn = {one.loop_var: dom[one.loop_var] for one in loops}
    parts = [
        _part(realize, iterator, value, turn, dom, task)
        for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True)
    ]
    inside, outside = _predicates(realize, set(turn), dom, task)
    if block.init is not None and not one_to_one(realize.iter_values, turn, dom, inside):
        raise Refusal(
            f"Can't {task}: a term may be added twice",
            realize,
            detail="the loops inside may run the block twice for the same iterators",
            hint="pick a loop further in",
        )
    outer = {p.iterator.var: Var(f"{p.iterator.var.name}_o", p.iterator.var.type) for p in parts}
    inner = {
        p.iterator.var: Var(f"{p.iterator.var.name}_i", p.iterator.var.type)
        for p in parts
        if p.size != 1
    }
    values = {p.iterator.var: _value(p, outer, inner, preserve_unit_iters) for p in parts}
    small = _inner_realize(block, parts, inner, values, inside)
    if block.init is not None:
        _check_start(realize, parts, inside, task)
    made = _outer_block(parts, outer, small, loops, around(places(func), target))
    new = BlockRealize(tuple(p.outer for p in parts), outside, made)
    return Edit(places(func).replace(target, new), made.id)


def _inside(func: PrimFunc, target: For, task: str) -> tuple[BlockRealize, list[For]]:
    """The one block in `target`, and the loops from `target` down to it."""
    loops = [target]
    while isinstance(loops[-1].body, For):
        loops.append(loops[-1].body)
    realize = loops[-1].body
    if not isinstance(realize, BlockRealize):
        held = places(func).blocks_under(target)
        raise Refusal(
            f"Can't {task}: it holds {len(held)} blocks" if len(held) != 1 else
            f"Can't {task}: it holds more than loops around one block",
            target,
            hint="pick a loop that holds loops and one block, nothing else",
        )  # fmt: skip
    if any(isinstance(node, BufferLoad) for value in realize.iter_values for node in walk(value)):
        raise Refusal(
            f"Can't {task}: what is in memory says which iterations of `{realize.block.name}` run",
            realize,
            hint="read that inside the block, not in its T.axis",
        )
    used = set(free_vars(realize.block))
    direct = [one for one in loops if one.loop_var in used]
    if direct:
        raise Refusal(
            f"Can't {task}: `{realize.block.name}` uses `{direct[0].loop_var.name}` itself",
            direct[0],
            realize,
            hint="give the block an iterator (T.axis.spatial) that is bound to it",
        )
    varying = [one for one in loops if constant_extent(one) is None]
    if varying:
        raise Refusal(
            f"Can't {task}: how often `{varying[0].loop_var.name}` runs varies",
            varying[0],
            hint="a block needs iterators of fixed extents",
        )
    return realize, loops


def _part(
    realize: BlockRealize, iterator: IterVar, value: Expr, turn: Bounds, dom: Bounds, task: str
) -> Part:
    """How the value of an iterator divides into turns and what happens within one."""
    low, high = domain(realize.block)[iterator.var]
    given, value = value, arith.simplify(value, dom)
    zero = const(0, value.dtype)
    used = variables(value)
    if not used & set(turn):
        ends = arith.bounds(value, dom)
        return Part(iterator, value, min(high, ends[1] if ends else high) + 1, zero, 1)
    if used <= set(turn) and low == 0:
        # with its loops that run once: what is run for each value keeps them, as TVM does
        inner = given if variables(given) <= set(turn) else value
        return Part(iterator, zero, 1, inner, high + 1)
    found = arith.linear(value, turn)
    if found is not None:
        inner = arith.simplify(value - found[1], dom)
        size = count_of(inner, dict(turn))
        if size is not None and arith.prove(binary("==", found[1] % size, 0), dom):
            outer = arith.simplify(found[1] // size, dom)
            return Part(iterator, outer, -(-(high + 1) // size), inner, size)
    raise Refusal(
        f"Can't {task}: the turns of the loops around it overlap along {iterator.var.name}",
        realize,
        detail="a turn must take whole steps, as wide as what happens in one",
        hint="split the loops so that the outer ones move by the extent of the inner ones",
    )


def _predicates(realize: BlockRealize, turn: set[Var], dom: Bounds, task: str) -> tuple[Expr, Expr]:
    """The conditions within a turn and those on turns."""
    inside: Expr = TRUE
    outside: Expr = TRUE
    for condition in conjuncts(realize.predicate):
        used = variables(condition)
        if used & turn and not used <= turn:  # loops that run once may be all that is outside
            condition = arith.simplify(condition, dom)
            used = variables(condition)
        if used <= turn:
            inside = both(inside, condition)
        elif not used & turn:
            outside = both(outside, condition)
        else:
            raise Refusal(
                f"Can't {task}: its T.where cuts off a part of the last turn",
                realize,
                hint="split by factors that divide",
            )
    return inside, outside


def _check_start(realize: BlockRealize, parts: list[Part], inside: Expr, task: str) -> None:
    """Refuse a condition within a turn that is about cells and terms at once."""
    moved = {v for p in parts if p.iterator.kind == "spatial" for v in variables(p.inner)}
    for condition in conjuncts(inside):
        if variables(condition) & moved and not variables(condition) <= moved:
            raise Refusal(
                f"Can't {task}: its T.where limits sums and terms in one",
                realize,
                hint="split the loops of the sum and the others apart, not fused into one",
            )


def _value(p: Part, outer: dict[Var, Var], inner: dict[Var, Var], keep_units: bool) -> Expr:
    """What the old iterator is in terms of the new ones."""
    var = p.iterator.var
    if p.size == 1:
        return outer[var] if p.count != 1 or keep_units else const(0, var.type)
    return inner[var] if p.count == 1 else outer[var] * p.size + inner[var]


def _dom(var: Var, extent: int) -> Range:
    return Range(const(0, var.type), const(extent, var.type))


def _inner_realize(
    block: Block,
    parts: list[Part],
    inner: dict[Var, Var],
    values: dict[Var, Expr],
    predicate: Expr,
) -> BlockRealize:
    """The old block within one turn, its init still in it."""
    kept = [p for p in parts if p.iterator.var in inner]
    iterators = tuple(
        IterVar(inner[p.iterator.var], _dom(p.iterator.var, p.size), p.iterator.kind) for p in kept
    )
    template = replace(block, iter_vars=())
    changed = _tidied(substitute(template, values), iterators)
    small = replace(changed, iter_vars=iterators, id=block.id)
    return BlockRealize(tuple(p.inner for p in kept), predicate, small)


def _tidied(block: Block, iterators: tuple[IterVar, ...]) -> Block:
    """The block with its indices simplified within the domains of `iterators`."""
    known = domain(replace(block, iter_vars=iterators))

    def change(node: Node) -> Node:
        match node:
            case BufferLoad(buffer, indices):
                return BufferLoad(buffer, tuple(arith.simplify(i, known) for i in indices))
            case BufferStore(buffer, value, indices):
                tidy = tuple(arith.simplify(i, known) for i in indices)
                return BufferStore(buffer, value, tidy)
            case Range(low, extent):
                return Range(arith.simplify(low, known), arith.simplify(extent, known))
        return node

    return rewrite(block, change)


def _outer_block(
    parts: list[Part],
    outer: dict[Var, Var],
    small: BlockRealize,
    loops: list[For],
    dom: Bounds,
) -> Block:
    """The block of one turn, which runs `loops` around the small block."""
    iterators = tuple(
        IterVar(outer[p.iterator.var], _dom(p.iterator.var, p.count), p.iterator.kind)
        for p in parts
    )
    block = small.block
    inner = domain(block)
    dom = {**dom, **{outer[p.iterator.var]: (0, p.count - 1) for p in parts}}
    init = None
    if block.init is not None:
        init = _init(small, loops)
        update = replace(block, init=None, reads=(*block.writes, *block.reads))
        small = replace(small, block=update)
    body: Stmt = small
    for one in reversed(loops):
        body = replace(one, body=body)
    return Block(
        f"{block.name}_o",
        iterators,
        tuple(BufferRegion(r.buffer, relaxed(r, inner, dom)) for r in block.reads),
        tuple(BufferRegion(r.buffer, relaxed(r, inner, dom)) for r in block.writes),
        body,
        init,
    )


def _init(small: BlockRealize, loops: list[For]) -> Stmt:
    """The init of the small block, for all cells of one turn, as a block under its own loops."""
    block = small.block
    assert block.init is not None
    used = {v for node in walk(block.init) if isinstance(node, Expr) for v in variables(node)}
    kept = [
        (it, value)
        for it, value in zip(block.iter_vars, small.iter_values, strict=True)
        if it.kind == "spatial" and it.var in used
    ]
    fresh = {it.var: Var(f"{it.var.name}_init", it.var.type) for it, _ in kept}
    moved = {v for _, value in kept for v in variables(value)}
    predicate: Expr = TRUE
    for condition in conjuncts(small.predicate):
        if variables(condition) <= moved:
            predicate = both(predicate, condition)
    body = substitute(block.init, fresh)
    made = Block(
        f"{block.name}_init",
        tuple(replace(it, var=fresh[it.var]) for it, _ in kept),
        arith.access_regions(body)[0],
        tuple(substitute(w, fresh) for w in block.writes),
        body,
    )
    stmt: Stmt = BlockRealize(tuple(value for _, value in kept), predicate, made)
    for one in reversed([loop for loop in loops if loop.loop_var in moved]):
        stmt = replace(one, body=stmt)
    return copy_fresh(stmt)[0]
