"""reindex_cache_write: let a block write a buffer through a copy, in a layout of its own."""

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
    return map_choices(block, "write_buffer_index", block.writes)


@primitive(group="memory", sizes=True, choices=_choices)
def reindex_cache_write(
    func: PrimFunc,
    block: Block,
    write_buffer_index: int | str,
    storage_scope: str,
    index_map: maps.MapLike,
) -> Edit[BlockId]:
    """Let `block` write into a copy in `storage_scope`, with the indices of `index_map`.

    The buffer is told by its number among those that the block writes, or by its name. `index_map`
    is a function of the block's iterators such as ``lambda i, k: (i // 4, i % 4)``, or its text;
    it gives each of them that says what is written a cell of its own. Returns the new block, which
    copies back behind the block's loops.

    >>> sch.reindex_cache_write("C", 0, "shared", "lambda i, k: (i // 4, i % 4)")
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
        C_shared = T.alloc_buffer((2, 4), scope="shared")
        for i, k in T.grid(8, 6):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(C_shared[vi // 4, vi % 4])
                with T.init():
                    C_shared[vi // 4, vi % 4] = T.float32(0)
                C_shared[vi // 4, vi % 4] = C_shared[vi // 4, vi % 4] + A[vi, vk]
        for i in range(8):
            with T.block("C_shared"):
                vi = T.axis.spatial(8, i)
                T.reads(C_shared[vi // 4, vi % 4])
                T.writes(C[vi])
                C[vi] = C_shared[vi // 4, vi % 4]
    """
    site = Site(places(func), block, f"reindex_cache_write of `{block.name}`")
    return through_map(site, write_buffer_index, False, storage_scope, index_map)
