"""reindex: let a block touch a buffer by its own iterators, through a copy laid out that way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.ir import Block, BlockId, IterVar, PrimFunc, Var
from workbench.verbs.caching import named_buffer
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.reindexing import Copied, reindexed
from workbench.verbs.site import site_of


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    for k in range(len(block.reads)):
        yield {"buffer": ("read", k)}
    for k in range(len(block.writes)):
        yield {"buffer": ("write", k)}


@primitive(group="memory", sizes=True, choices=_choices)
def reindex(func: PrimFunc, block: Block, buffer: list[str | int] | str) -> Edit[BlockId]:
    """Let `block` touch a buffer through a copy with one axis for each iterator that it uses.

    `buffer` is ("read", number), ("write", number) or a name. What is read is copied ahead of the
    block's loops, what is written is copied back behind them. Returns the new block.

    >>> sch.reindex("C", ("read", 0))
    @T.prim_func
    def main(A: T.Buffer((9,), "float32"), C: T.Buffer((6,), "float32")):
        # with T.block("root"):
        for i, k in T.grid(6, 3):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi + vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi + vk]
    ---
    @T.prim_func
    def main(A: T.Buffer((9,), "float32"), C: T.Buffer((6,), "float32")):
        # with T.block("root"):
        A_reindex = T.alloc_buffer((6, 3))
        for ax0, ax1 in T.grid(6, 3):
            with T.block("A_reindex_reindex"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v0 + v1])
                T.writes(A_reindex[v0, v1])
                A_reindex[v0, v1] = A[v0 + v1]
        for i, k in T.grid(6, 3):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A_reindex[vi, vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A_reindex[vi, vk]
    """
    site = site_of(func, block, "reindex")
    target, reading = named_buffer(site, buffer)
    site = replace(site, task=f"reindex {target.name} of `{block.name}`")
    name = f"{target.name}_reindex"

    def made(used: list[IterVar]) -> Copied:
        return Copied(
            target.storage_scope,
            name,
            f"{name}_reindex" if reading else name,
            tuple(it.var for it in used),
            [Var(f"v{k}", it.var.type) for k, it in enumerate(used)],
            [f"ax{k}" for k in range(len(used))],
        )

    return reindexed(site, target, reading, made)
