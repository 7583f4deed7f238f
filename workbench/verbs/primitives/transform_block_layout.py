"""transform_block_layout: let a block run by other iterators, each under a loop of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from workbench import arith
from workbench.access.counters import variables
from workbench.ir import Block, Const, Expr, For, PrimFunc, Size, Var, flat_index, substitute
from workbench.script.memory import size_text
from workbench.verbs import index_map as maps
from workbench.verbs.domains import count_in, domain
from workbench.verbs.factoring import check_starts_alike
from workbench.verbs.inlining import inverse, tidied
from workbench.verbs.nest import iter_var, nest_over
from workbench.verbs.order import refuse_unless_any_order
from workbench.verbs.own_loops import became, own_loops
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import Site, site_of


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    names = [f"i{n}" for n in range(len(block.iter_vars))]
    if len(names) > 1:
        yield {"index_map": f"lambda {', '.join(names)}: ({', '.join(reversed(names))})"}
    for k, it in enumerate(block.iter_vars):
        count = it.dom.extent
        if isinstance(count, Const) and count.value % 4 == 0 and count.value > 4:
            cut = [*names[:k], f"{names[k]} // 4", f"{names[k]} % 4", *names[k + 1 :]]
            yield {"index_map": f"lambda {', '.join(names)}: ({', '.join(cut)})"}


@primitive(group="blocks", sizes=True, choices=_choices)
def transform_block_layout(func: PrimFunc, block: Block, index_map: maps.MapLike) -> Edit[None]:
    """Let a block run by the iterators that `index_map` makes of its own, each under a new loop.

    `index_map` is a function such as ``lambda i, j: (i // 4, j, i % 4)``, or its text, made of
    ``+ - * // %`` and whole numbers. It must give each new iteration to exactly one old one, and
    not mix spatial and reduce iterators. Each iterator has to be bound to a loop of its own.

    >>> sch.transform_block_layout("C", "lambda i, k: (i, k // 3, k % 3)")
    @T.prim_func
    def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
        # with T.block("root"):
        for i, k in T.grid(4, 6):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
    ---
    @T.prim_func
    def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
        # with T.block("root"):
        for ax0, ax1, ax2 in T.grid(4, 2, 3):
            with T.block("C"):
                v0, v1, v2 = T.axis.remap("SRR", [ax0, ax1, ax2])
                T.reads(A[v0, v1 * 3 + v2])
                T.writes(C[v0])
                with T.init():
                    C[v0] = T.float32(0)
                C[v0] = C[v0] + A[v0, v1 * 3 + v2]
    """
    site = site_of(func, block, "transform_block_layout")
    loops = own_loops(site)
    old = [it.var for it in block.iter_vars]
    new = maps.map_of(site, index_map, len(old), "iterators", f"`{block.name}`")(old)
    kinds = [_kind(site, index) for index in new]
    sizes = _sizes(site, new)
    fresh = [Var(f"v{k}", index.dtype) for k, index in enumerate(new)]
    known = {v: arith.up_to(size) for v, size in zip(fresh, sizes, strict=True)}
    solved = inverse(tuple(new), tuple(fresh), domain(block), known)
    if solved is None or solved[1]:
        raise site.refuse(
            "which iteration is which after the map is not seen",
            hint="let the map divide, join and swap iterators: lambda i, j: (i // 4, j, i % 4)",
        )
    if not _keeps_order(site, loops, new, sizes):
        check_starts_alike(site)
        refuse_unless_any_order(Site(site.places, loops[0], site.task), loops, [])
    iterators = [iter_var(v, n, kind) for v, n, kind in zip(fresh, sizes, kinds, strict=True)]
    # an iterator that runs once stays an index, for what goes by indices later
    kept = {v: mine for v, mine in zip(new, fresh, strict=True) if isinstance(v, Var)}
    body = substitute(replace(block, iter_vars=()), {v: kept.get(v, solved[0][v]) for v in old})
    many = {v: ends for v, ends in known.items() if v not in kept.values()}
    made = replace(tidied(body, many), iter_vars=tuple(iterators))
    stmt, over = nest_over(made, (f"ax{k}" for k in range(len(fresh))))
    return Edit(site.places.replace(loops[0], stmt), None, became(site, new, over))


def _kind(site: Site[Block], index: Expr) -> str:
    """The kind of the iterator `index`, and of all of the old ones in it that vary."""
    used = [it for it in site.node.iter_vars if it.var in variables(index)]
    ends = domain(site.node)
    used = [it for it in used if ends[it.var][0] < ends[it.var][1]] or used[:1]
    kinds = {it.kind for it in used}
    if len(kinds) > 1:
        names = ", ".join(f"{it.var.name} ({it.kind})" for it in used)
        raise site.refuse(
            f"the map makes one iterator of {names}",
            hint="join iterators of one kind only: what is summed over tells no cells",
        )
    return kinds.pop() if kinds else "spatial"


def _sizes(site: Site[Block], new: Sequence[Expr]) -> tuple[Size, ...]:
    """How far each new iterator counts, refused unless each new iteration is one old one."""
    ends = domain(site.node)
    old = [count_in(each) for each in ends.values()]
    sizes = maps.places_of(new, ends)
    if sizes is not None and maps.as_many(sizes, old):
        return sizes
    raise site.refuse(
        "the map leaves gaps or puts two iterations in one",
        hint="every new iterator counts from 0, and factors divide "
        f"{', '.join(map(size_text, old))}",
    )


def _keeps_order(
    site: Site[Block], loops: Sequence[For], new: Sequence[Expr], sizes: Sequence[Size]
) -> bool:
    """Whether the new loops are proved to take the old iterations in the old order."""
    if (
        prod(n for n in sizes if isinstance(n, int)) >= 2**31
    ):  # their count would not fit the type of the iterators
        return False
    block = site.node
    own = {value: var for var, value in site.realize.bindings.items()}
    ends = domain(block)
    olds = [own[loop.loop_var] for loop in loops]
    before = flat_index(
        [v - ends[v][0] for v in olds],
        [count_in(ends[v]) for v in olds],
        "int32",
    )
    return arith.equal(before, flat_index(new, sizes, "int32"), ends)
