"""decompose_reduction: set the sums to their first value ahead of a loop, then only add in it."""

from __future__ import annotations

from dataclasses import replace

from workbench import arith
from workbench.access.counters import variables
from workbench.access.units import summed_sizes
from workbench.ir import (
    Block,
    BlockId,
    BlockRealize,
    BufferLoad,
    Expr,
    For,
    PrimFunc,
    Stmt,
    Var,
    const,
    seq,
    substitute,
    walk,
)
from workbench.ir.places import places
from workbench.verbs.bindings import conjuncts
from workbench.verbs.crossing import check_carries_nothing
from workbench.verbs.domains import moved_by
from workbench.verbs.factoring import (
    check_first_terms,
    check_grows,
    check_one_to_one,
    check_starts_apart,
    init_block,
    without_init,
)
from workbench.verbs.nest import nest
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.scope import check_stage, loop_choices, loops_from
from workbench.verbs.site import Site, declared_writes, named, site_of, with_block


@primitive(group="blocks", sizes=True, choices=loop_choices)
def decompose_reduction(func: PrimFunc, block: Block, loop: For) -> Edit[BlockId]:
    """Take the T.init() of `block` out into a block of its own, run ahead of `loop`.

    `loop` is one around the block, and no loop that the sum runs over is further out. The block
    goes on as …_update; its handle stays. Returns the new block, …_init.

    >>> sch.decompose_reduction("C", "k")
    @T.prim_func
    def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i, k in T.grid(8, 4):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
    ---
    @T.prim_func
    def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i in range(8):
            with T.block("C_init"):
                vi = T.axis.spatial(8, i)
                T.reads()
                T.writes(C[vi])
                C[vi] = T.float32(0)
            for k in range(4):
                with T.block("C_update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(C[vi], A[vi, vk])
                    T.writes(C[vi])
                    C[vi] = C[vi] + A[vi, vk]
    """
    plain = site_of(func, block, "decompose_reduction")
    site = plain.at(loop)
    if block.init is None:
        raise site.refuse(
            "it has no T.init() to take out",
            hint="decompose_reduction is for blocks that sum up, once for each",
        )
    inner = loops_from(site, loop)
    check_stage(plain)
    _check_outer(site, loop)
    check_one_to_one(
        site,
        inner,
        f"the loops {named(inner)}",
        "pick a loop further in, so that every turn of the outer ones starts again",
    )
    check_starts_apart(site, inner)
    _check_early(site, inner)
    check_first_terms(site, inner)
    init_nest, new = _init(site.realize, inner, _start(site, inner))
    update = replace(without_init(block), name=f"{block.name}_update")
    where = places(with_block(site.places, update))
    now = where.loops[loop.loop_var]
    return Edit(where.replace(now, seq(init_nest, now)), new)


def _check_outer(site: Site[Block], loop: For) -> None:
    """Refuse where a loop around `loop` is summed over too."""
    summed = moved_by(site.realize, "reduce")
    for outer in site.loops[: site.loops.index(loop)]:
        if outer.loop_var in summed:
            name = outer.loop_var.name
            raise site.refuse(
                f"`{name}`, further out, is summed over too",
                outer,
                loop,
                detail=f"each turn of `{name}` would start the sums again",
                hint=f"name `{name}` or a loop around it",
            )


def _check_early(site: Site[Block], inner: list[For]) -> None:
    """Refuse where others in the loops would see the init, which is to run ahead of them all."""
    where, block = site.places, site.node
    assert block.init is not None
    starts = {n.buffer for n in walk(block.init) if isinstance(n, BufferLoad)}
    for other in site.others_in(inner[0]):
        made = [b for b in declared_writes(other.block) if b in starts]
        if made:
            raise site.refuse(
                f"its T.init() reads {made[0].name}, which is written in that loop",
                block,
                other,
                hint=f"move `{other.block.name}` out of the loop first, or name a loop further in",
            )
        used = site.used_by(other.block)
        if used and where.position[other] < where.position[site.realize]:
            raise site.refuse(
                f"`{other.block.name}` uses {used[0].name} ahead of it in that loop",
                block,
                other,
                hint="name a loop further in, that holds the sum alone",
            )
        if used:
            cells = moved_by(site.realize, "spatial")  # turns of others are of the same sums
            for one in (loop for loop in inner if loop.loop_var in cells):
                check_carries_nothing(site, one)


def _start(site: Site[Block], inner: list[For]) -> Expr:
    """What is left of the predicate for the init."""
    dropped = {one.loop_var for one in inner} - moved_by(site.realize, "spatial")
    first: dict[Var, Expr] = {v: const(site.bounds[v][0], v.type) for v in dropped}
    dom = {**site.bounds, **summed_sizes(site.node)}
    left: list[Expr] = []
    for condition in conjuncts(site.realize.predicate):
        if variables(condition) & dropped:
            check_grows(site, condition, dropped)
            condition = arith.simplify(substitute(condition, first), dom)
        left += conjuncts(condition)
    return arith.joined(left)


def _init(realize: BlockRealize, inner: list[For], predicate: Expr) -> tuple[Stmt, BlockId]:
    """The init as a block under copies of the loops that it needs, and that block's identity."""
    started = [it for it in realize.block.iter_vars if it.kind == "spatial"]
    init = init_block(realize.block, started, "", realize.block.annotations)
    bound = realize.bindings
    values = tuple(bound[it.var] for it in started)
    used = moved_by(realize, "spatial")
    kept = [one for one in inner if one.loop_var in used]
    renamed = {v: Var(f"{v.name}_init", v.type) for v in (one.loop_var for one in kept)}
    loops = [replace(one, loop_var=renamed[one.loop_var]) for one in kept]
    return substitute(nest(loops, BlockRealize(values, predicate, init)), renamed), init.id
