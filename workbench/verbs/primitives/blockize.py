"""blockize: make what a loop does in one turn a block of its own, with smaller blocks inside."""

from __future__ import annotations

from dataclasses import replace

from workbench import arith
from workbench.access.counters import variables
from workbench.access.units import summed_sizes
from workbench.arith import Bounds, SizedEnds
from workbench.ir import (
    TRUE,
    Block,
    BlockId,
    BlockRealize,
    BufferRegion,
    Expr,
    For,
    PrimFunc,
    SizeVar,
    Stmt,
    Var,
    const,
    size_expr,
    substitute,
    walk,
)
from workbench.verbs.bindings import conjuncts
from workbench.verbs.domains import bounds_at, domain, with_turns
from workbench.verbs.factoring import (
    check_first_terms,
    check_one_to_one,
    check_starts_apart,
    init_block,
    lacks_first_terms,
    without_init,
)
from workbench.verbs.nest import fresh_nest, iter_var, nest
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.scope import check_stage
from workbench.verbs.site import Site, site_of
from workbench.verbs.together import together
from workbench.verbs.turns import Part, inner_realize, inside_of, moving, part_of, predicates


@primitive(group="blocks", sizes=True, older={"loop": "target"})
def blockize(
    func: PrimFunc, target: For | list[Block], preserve_unit_iters: bool = True
) -> Edit[BlockId]:
    """Make one turn of the loops around `target` a block, which runs `target` and all inside.

    `target` is a loop, or a list of blocks that stand one after the other and sum nothing; the
    loops around all of them then count the turns, and its block is called after them all.

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
    if not isinstance(target, For):
        return together(func, target, preserve_unit_iters)
    return turn_as_block(site_of(func, target, "blockize"), preserve_unit_iters)


def turn_as_block(site: Site[For], preserve_unit_iters: bool) -> Edit[BlockId]:
    """The program in which one turn of the loops around a loop is a block."""
    realize, loops = inside_of(site)
    block = realize.block
    if block.init is not None:  # sums start in their own first turn
        check_stage(site_of(site.func, block, site.verb), sole=False)
    dom = bounds_at(site.places, realize)
    turn = dom.of(loops)
    within = Site(site.places, block, site.task)
    inside, outside = predicates(within, set(turn), dom)
    parts = [
        part_of(within, iterator, value, turn, dom)
        for iterator, value in zip(block.iter_vars, realize.iter_values, strict=True)
    ]
    if block.init is not None:
        check_one_to_one(within, loops, "the loops inside", "pick a loop further in", inside)
        check_starts_apart(within, loops)
    outer = {p.var: Var(f"{p.var.name}_o", p.var.type) for p in parts}
    small = inner_realize(block, parts, outer, inside, preserve_unit_iters)
    if block.init is not None:
        check_first_terms(within, loops)
        _check_start(within, parts, inside, turn)
    _check_runs(within, parts, inside, turn, dom)
    made = _outer_block(parts, outer, small, loops, site.bounds)
    new = BlockRealize(tuple(p.outer for p in parts), outside, made)
    return Edit(site.places.replace(site.node, new), made.id)


def _check_runs(
    site: Site[Block], parts: list[Part], inside: Expr, turn: Bounds, dom: Bounds
) -> None:
    """Refuse a turn beyond the T.axis of the new block, which a T.where within it had kept away.

    What holds somewhere in one turn does so in each, so that then no turn is beyond.
    """
    ends = (p.outer < size_expr(p.count, p.outer.dtype) for p in parts)
    if inside is TRUE or all(arith.prove(end, dom) for end in ends):
        return
    if any(isinstance(n, SizeVar) for n in walk(inside)):
        first = {v: const(ends[0], v.type) for v, ends in turn.items()}
        if not arith.prove(substitute(inside, first), with_turns(turn)):
            raise site.refuse(
                "its T.where may hold in no iteration",
                hint="let its loops run no further than its T.axis",
            )
        return
    runs = arith.Table([], [inside]).rows(arith.ranges_of(turn, turn), most=arith.POINTS)
    if next(runs, None) is None:
        raise site.refuse(
            "its T.where is seen to hold in no iteration",
            hint="write a T.where that holds somewhere, or take the block out of the program",
        )


def _check_start(site: Site[Block], parts: list[Part], inside: Expr, turn: Bounds) -> None:
    """Refuse a condition within a turn that is about cells and terms, or leaves out first terms."""
    moved = {v for p in parts if p.iterator.kind == "spatial" for v in moving(p.inner)}
    first = {v: const(ends[0], v.type) for v, ends in turn.items() if v not in moved}
    dom = {**with_turns(turn), **summed_sizes(site.node)}
    for condition in conjuncts(inside):
        used = moving(condition)
        if not used & moved and not arith.prove(substitute(condition, first), dom):
            raise lacks_first_terms(site)
        if used & moved and not used <= moved:
            raise site.refuse(
                "its T.where limits sums and terms in one",
                hint="split the loops of the sum and the others apart, not fused into one",
            )


def _outer_block(
    parts: list[Part],
    outer: dict[Var, Var],
    small: BlockRealize,
    loops: list[For],
    dom: Bounds,
) -> Block:
    """The block of one turn, which runs `loops` around the small block."""
    iterators = tuple(iter_var(outer[p.var], p.count, p.iterator.kind) for p in parts)
    block = small.block
    inner = _values_taken(small, arith.loop_bounds(loops, dom))
    dom = {**dom, **{outer[p.var]: arith.up_to(p.count, p.var.type) for p in parts}}
    init = None
    if block.init is not None:
        init = _init(small, loops)
        small = replace(small, block=without_init(block))
    reads, writes = (
        tuple(
            BufferRegion(r.buffer, arith.relax(r.region, inner, r.buffer.shape, dom))
            for r in regions
        )
        for regions in (block.reads, block.writes)
    )
    return Block(f"{block.name}_o", iterators, reads, writes, nest(loops, small), init)


def _values_taken(small: BlockRealize, turn: Bounds) -> Bounds:
    """The lowest and highest value that each iterator of the small block takes within a turn."""
    ends = dict(domain(small.block))
    for var, value in small.bindings.items():
        taken = arith.bounds(value, turn)
        if taken is not None and not isinstance(ends[var], SizedEnds):
            ends[var] = (max(ends[var][0], taken[0]), min(ends[var][1], taken[1]))
    return ends


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
    moved = {v for _, value in kept for v in moving(value)}
    held = (c for c in conjuncts(small.predicate) if moving(c) <= moved)
    made = init_block(block, [it for it, _ in kept], "_init", ())
    stmt = BlockRealize(tuple(value for _, value in kept), arith.joined(held), made)
    return fresh_nest([loop for loop in loops if loop.loop_var in moved], stmt)[0]
