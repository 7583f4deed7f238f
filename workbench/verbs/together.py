"""Several blocks that stand one after the other made the parts of one block."""

from __future__ import annotations

from collections.abc import Sequence

from workbench import arith
from workbench.diag import Refusal
from workbench.ir import TRUE, Block, BlockId, BlockRealize, For, PrimFunc, Stmt, Var, seq
from workbench.ir.places import places
from workbench.verbs.domains import bounds_at
from workbench.verbs.inlining import with_regions
from workbench.verbs.nest import iter_var, nest, statements
from workbench.verbs.primitive import Edit
from workbench.verbs.regions import decided_by_memory
from workbench.verbs.scope import common_loops
from workbench.verbs.site import Site
from workbench.verbs.turns import Part, inner_realize, inside_of, part_of


# The statements stay as they are, in their order: only what counts the turns outside gets a name of
# its own, an iterator of the new block, so that the meaning is the same.
def together(func: PrimFunc, blocks: Sequence[Block], keep_units: bool) -> Edit[BlockId]:
    """The program with a block around `blocks`, for each turn of the loops around all of them."""
    order = list(places(func).blocks)
    blocks = sorted(set(blocks), key=lambda block: order.index(block.id))
    if len(blocks) < 2:
        raise Refusal(
            "Can't blockize these: fewer than two blocks are named",
            *blocks,
            hint="name a loop, or several blocks that stand one after the other",
        )
    task = f"blockize {', '.join(f'`{block.name}`' for block in blocks)}"
    sites = [Site(places(func), block, task) for block in blocks]
    holder, run = _run(sites)
    cut = [_cut(site, stmt) for site, stmt in zip(sites, run, strict=True)]
    parts = cut[0][0]
    for site, (others, _) in zip(sites, cut, strict=True):
        _check_same_turns(site, sites[0], parts, others)
    outer = [Var(f"{p.var.name}_o", p.var.type) for p in parts]
    inner = []
    for site, (own, loops) in zip(sites, cut, strict=True):
        turn = dict(zip((p.var for p in own), outer, strict=True))
        inner.append(nest(loops, inner_realize(site.node, own, turn, TRUE, keep_units)))
    name = f"outer_{''.join(f'{block.name}_' for block in blocks)}"
    iterators = tuple(iter_var(v, p.count) for v, p in zip(outer, parts, strict=True))
    made = with_regions(Block(name, iterators, (), (), seq(*inner)))
    new = BlockRealize(tuple(p.outer for p in parts), TRUE, made)
    every = statements(holder)
    at = every.index(run[0])
    old = holder.body if isinstance(holder, For) else holder.block.body
    body = seq(*every[:at], new, *every[at + len(run) :])
    return Edit(places(func).replace(old, body), made.id)


def _cut(site: Site[Block], stmt: Stmt) -> tuple[list[Part], list[For]]:
    """The iterators of a block cut by the loops of its own, and those loops."""
    loops = inside_of(Site(site.places, stmt, site.task))[1] if isinstance(stmt, For) else []
    realize = site.realize
    if realize.block.init is not None or any(
        it.kind != "spatial" for it in realize.block.iter_vars
    ):
        raise site.refuse(
            f"`{site.name}` sums up",
            hint="name blocks without reduce iterators, or a loop around one block",
        )
    if realize.predicate is not TRUE:
        raise site.refuse(
            f"`{site.name}` has a T.where", hint="split its loops by factors that divide"
        )
    if decided_by_memory(realize.block):
        raise site.refuse(
            f"what is in memory says which cells `{site.name}` touches",
            detail="one of the blocks may change it within a turn",
            hint="name blocks whose iterators alone tell the cells",
        )
    dom = bounds_at(site.places, realize)
    turn = dom.of(loops)
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    return [part_of(site, it, value, turn, dom) for it, value in pairs], loops


def _check_same_turns(
    site: Site[Block], first: Site[Block], parts: Sequence[Part], others: Sequence[Part]
) -> None:
    """Refuse a block whose iterators do not count the turns as those of the first block do."""
    dom = site.bounds
    same = len(parts) == len(others) and all(
        p.count == q.count and p.var.type == q.var.type and arith.equal(p.outer, q.outer, dom)
        for p, q in zip(parts, others, strict=True)
    )
    if not same:
        raise site.refuse(
            f"the iterators of `{site.name}` and `{first.name}` do not count the same turns",
            first.node,
            site.node,
            hint="name blocks of equally many iterators, each of which moves alike in the loops "
            "around them",
        )


def _run(sites: Sequence[Site[Block]]) -> tuple[For | BlockRealize, list[Stmt]]:
    """The statements that run the blocks, one each and side by side, and what holds them."""
    where, scopes = sites[0].places, {site.scope for site in sites}
    if len(scopes) > 1:
        raise sites[0].refuse(
            "they are in different blocks",
            *(s.node for s in sites),
            hint="name blocks of one scope",
        )
    loops = common_loops(where, [site.realize for site in sites])
    holder: For | BlockRealize = loops[-1] if loops else sites[0].scope
    every = statements(holder)
    positions = []
    for site in sites:
        path = [site.realize, *where.above(site.realize)]
        positions += [k for k, stmt in enumerate(every) if stmt in path]
    if positions != list(range(positions[0], positions[0] + len(sites))):
        raise sites[0].refuse(
            "something else stands between them, or they share a loop further in",
            *(s.node for s in sites),
            hint="name all the blocks of a row of statements, one for each statement",
        )
    return holder, [every[k] for k in positions]
