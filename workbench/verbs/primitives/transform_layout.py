"""transform_layout: lay the cells of a buffer out in another order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench import arith
from workbench.ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Node,
    PrimFunc,
    Size,
    Var,
    walk,
)
from workbench.ir.places import places
from workbench.script.memory import size_text
from workbench.verbs import index_map as maps
from workbench.verbs.caching import named_buffer
from workbench.verbs.domains import domain
from workbench.verbs.gaps import padded, sole_writer
from workbench.verbs.inlining import inlined
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.scope import bare_statements, reallocate, refuse_bare
from workbench.verbs.site import Site, site_of


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    for k, region in enumerate(block.writes):
        text = maps.swapping(len(region.buffer.shape))
        yield {"buffer": ("write", k), "index_map": text}


@primitive(group="memory", sizes=True, choices=_choices)
def transform_layout(
    func: PrimFunc,
    block: Block,
    buffer: list[str | int] | str,
    index_map: maps.MapLike,
    pad_value: int | float | None = None,
) -> Edit[None]:
    """Move the cell of `buffer` at some indices to where `index_map` says, everywhere it is used.

    `buffer` is ("read", number), ("write", number) or a name; `index_map` a function such
    as ``lambda i, j: (i // 4, j, i % 4)``, or its text, made of ``+ - * // %`` and whole numbers.
    It must give every new cell to exactly one old one. With `pad_value` it may leave cells over,
    which the block that writes the buffer then fills with that number.

    >>> sch.transform_layout("B", ("write", 0), "lambda i, j: (j, i)")
    @T.prim_func
    def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((4, 6))
        for i, j in T.grid(4, 6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(4, 6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(B[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = B[vi, vj] + T.float32(1)
    ---
    @T.prim_func
    def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
        # with T.block("root"):
        B = T.alloc_buffer((6, 4))
        for i, j in T.grid(4, 6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vj, vi])
                B[vj, vi] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(4, 6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(B[vj, vi])
                T.writes(C[vi, vj])
                C[vi, vj] = B[vj, vi] + T.float32(1)
    """
    site = site_of(func, block, "transform_layout")
    target, _ = named_buffer(site, buffer)
    site = replace(site, task=f"transform_layout {target.name} of `{block.name}`")
    scope = site.home(target)
    if scope is None:
        raise site.refuse(
            "it is an argument, which the caller has laid out",
            hint="copy it first, with cache_read or cache_write, and lay the copy out",
        )
    for bare in bare_statements(scope):
        if target in bare.reads | bare.writes:
            raise refuse_bare(site, bare, target.name)
    mapping = maps.map_of(site, index_map, len(target.shape), "dimensions", target.name)
    shape = _shape(site, target, mapping, gaps=pad_value is not None)
    laid = replace(target, shape=shape, strides=())
    known = {
        v: ends
        for node in walk(func.root.body)
        if isinstance(node, Block)
        for v, ends in domain(node).items()
    }

    def moved(access: BufferLoad | BufferStore) -> Node:
        # an iterator that runs once stays an index, for what goes by indices later
        indices = (
            i if isinstance(i, Var) else arith.simplify(i, known) for i in mapping(access.indices)
        )
        return replace(access, buffer=laid, indices=tuple(indices))

    changed = {r: inlined(r, target, moved) for r in site.places.blocks_under(scope)}
    buffers = [laid if b is target else b for b in scope.block.alloc_buffers]
    plain = reallocate(places(site.places.replace_each(changed)), scope, buffers)
    if pad_value is None or maps.as_many(shape, target.shape):
        return Edit(plain)
    writer = sole_writer(site, scope, target)
    nest, became = padded(writer, target, laid, mapping, pad_value)
    now = writer.after(places(plain), writer.node.id)
    first = now.loops[-len(target.shape)]  # of its own
    return Edit(now.places.replace(first, nest), None, became)


def _shape(
    site: Site[Block], target: Buffer, mapping: maps.IndexMap, gaps: bool
) -> tuple[Size, ...]:
    """The shape of the buffer in its new layout, refused unless each cell has one place.

    And unless each place has a cell, where there may be no `gaps`.
    """
    old = [Var(name) for name in mapping.names]
    ends = {v: arith.up_to(size) for v, size in zip(old, target.shape, strict=True)}
    shape = maps.places_of(mapping(old), ends)
    if shape is not None and (gaps or maps.as_many(shape, target.shape)):
        return shape
    raise site.refuse(
        "the map puts two cells in one place, or does not count from 0"
        if gaps
        else "the map leaves gaps or puts two cells in one place",
        hint="every new index counts from 0, and factors divide the extents "
        f"{', '.join(map(size_text, target.shape))}",
    )
