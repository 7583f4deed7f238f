"""reindex_cache_read: let a block read a buffer through a copy, in a layout of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.ir import Block, BlockId, PrimFunc
from workbench.ir.places import places
from workbench.verbs import index_map as maps
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.reindexing import map_choices, through_map
from workbench.verbs.site import Site


def _choices(func: PrimFunc, block: Block) -> Iterable[Mapping[str, Any]]:
    return map_choices(block, "read_buffer_index", block.reads)


@primitive(group="memory", sizes=True, choices=_choices)
def reindex_cache_read(
    func: PrimFunc,
    block: Block,
    read_buffer_index: int | str,
    storage_scope: str,
    index_map: maps.MapLike,
) -> Edit[BlockId]:
    """Let `block` read a buffer through a copy in `storage_scope`, with the indices of `index_map`.

    The buffer is told by its number among those that the block reads, or by its name. `index_map`
    is a function of the block's iterators such as ``lambda i, k: (k, i)``, or its text; it gives
    each of them that says what is read a cell of its own. Other blocks go on reading the buffer.
    Returns the new block, ahead of the block's loops.

    >>> sch.reindex_cache_read("C", 0, "shared", "lambda i, k: (k, i)")
    @T.prim_func
    def main(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        for i, k in T.grid(8, 6):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
    ---
    @T.prim_func
    def main(A: T.Buffer((8, 6), "float32"), C: T.Buffer((8,), "float32")):
        # with T.block("root"):
        A_shared = T.alloc_buffer((6, 8), scope="shared")
        for i, k in T.grid(8, 6):
            with T.block("A_shared"):
                vi, vk = T.axis.remap("SS", [i, k])
                T.reads(A[vi, vk])
                T.writes(A_shared[vk, vi])
                A_shared[vk, vi] = A[vi, vk]
        for i, k in T.grid(8, 6):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A_shared[vk, vi])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A_shared[vk, vi]
    """
    site = Site(places(func), block, f"reindex_cache_read of `{block.name}`")
    return through_map(site, read_buffer_index, True, storage_scope, index_map)
