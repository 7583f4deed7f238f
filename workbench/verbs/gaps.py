"""What a layout leaves over of a buffer, filled by the block that writes the buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench import arith
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Stmt,
    Var,
    const,
    dtypes,
    substitute,
    walk,
)
from workbench.verbs.domains import domain
from workbench.verbs.index_map import IndexMap
from workbench.verbs.inlining import domain_conditions, inverse, tidied, with_regions
from workbench.verbs.nest import iter_var, nest_over
from workbench.verbs.own_loops import became, own_loops
from workbench.verbs.primitive import Key
from workbench.verbs.regions import decided_by_memory
from workbench.verbs.site import Site

_FIRST = (
    "let one block store each cell, by an iterator for each index, before its loops are changed"
)


def sole_writer(site: Site[Block], scope: BlockRealize, target: Buffer) -> Site[Block]:
    """The one block, directly in `scope`, that writes `target`: it stores one value in each cell.

    Refused where there is no such block: nothing else fills what is left over.
    """
    blocks = [r.block for r in site.places.writers_under(scope, target)]
    if len(blocks) != 1:
        raise site.refuse(
            f"{len(blocks)} blocks write {target.name}, so that none can fill the gaps",
            *(blocks or [site.node]),
            hint=_FIRST,
        )
    block = blocks[0]
    body = block.body
    if block.init is not None or not isinstance(body, BufferStore):
        raise site.refuse(
            f"`{block.name}` does more than to store one value, so that it can't fill the gaps",
            block,
            hint="sums: take cache_write first, and lay out what its copy writes",
        )
    ends = domain(block)
    domains = [ends.get(i) if isinstance(i, Var) else None for i in body.indices]
    every = {*body.indices} == {*ends} and len(ends) == len(body.indices)
    if not every or domains != [arith.up_to(size) for size in target.shape]:
        raise site.refuse(
            f"`{block.name}` does not run over all of {target.name}", block, hint=_FIRST
        )
    if any(isinstance(n, BufferLoad) and n.buffer is target for n in walk(body)):
        raise site.refuse(f"`{block.name}` reads {target.name}, too", block, hint=_FIRST)
    return Site(site.places, block, f"{site.verb} {target.name} of `{block.name}`")


def padded(
    writer: Site[Block], target: Buffer, laid: Buffer, mapping: IndexMap, pad_value: float
) -> tuple[Stmt, Mapping[Key, tuple[Key, ...]]]:
    """The nest that stores each cell of `laid`, and which loops the old ones became."""
    own_loops(writer)
    block, store = writer.node, writer.node.body
    assert isinstance(store, BufferStore)
    new = mapping(store.indices)
    given = dict(zip(store.indices, mapping.names, strict=True))
    names = [given.get(index, f"axis{k}") for k, index in enumerate(new)]
    fresh = [Var(f"v_{name}", index.dtype) for name, index in zip(names, new, strict=True)]
    known = {v: arith.up_to(size) for v, size in zip(fresh, laid.shape, strict=True)}
    solved = inverse(new, tuple(fresh), domain(block), known)
    if solved is None:
        raise writer.refuse(
            "which cell is which after the map is not seen",
            hint="let the map divide, join and swap indices: lambda i, j: (i // 4, j, i % 4)",
        )
    values, conditions = solved
    conditions += domain_conditions(domain(block), values, known)
    value, pad = substitute(store.value, values), _number(writer, laid, pad_value)
    value = Call("if_then_else", (arith.joined(conditions), value, pad), laid.type)
    iterators = tuple(iter_var(v, size) for v, size in zip(fresh, laid.shape, strict=True))
    many = {v: ends for v, ends in known.items() if ends[1]}  # one that runs once stays an index
    body = tidied(BufferStore(laid, value, tuple(fresh)), many)
    made = with_regions(replace(block, iter_vars=iterators, body=body))
    if decided_by_memory(made):
        raise writer.refuse(
            "what is in memory says which cells it reads, and for the gaps nothing is there",
            hint="let a block read those cells, and lay out a copy of what it makes",
        )
    stmt, over = nest_over(made, names)
    return stmt, became(writer, new, over)


def _number(site: Site[Block], buffer: Buffer, value: float) -> Const:
    """`value` as the type of `buffer` holds it."""
    kind = buffer.type
    if dtypes.is_float(kind) or (
        dtypes.is_int(kind) and isinstance(value, int) and dtypes.fits(value, kind)
    ):
        return const(value, kind)
    raise site.refuse(
        f"{buffer.name} holds {kind}, and no {value}", hint=f"give a pad_value that {kind} holds"
    )
