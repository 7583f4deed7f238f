"""set_scope: say in which memory a buffer lives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.ir import SCOPES, Block, PrimFunc, memory_of, substitute_buffers
from workbench.verbs.caching import by_name, check_scope, nth_buffer
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.primitives.cache_write import copy_instead
from workbench.verbs.site import site_of


def _check(func: PrimFunc, block: Block, buffer_index: int | str, storage_scope: str) -> None:
    site = site_of(func, block, "set_scope")
    check_scope(site, storage_scope)
    buffer = nth_buffer(site, buffer_index, "writes")
    if buffer in func.params and memory_of(storage_scope)[0] != buffer.scope:
        raise replace(site, task=f"put `{buffer.name}` in {storage_scope} memory").refuse(
            f"it is an argument of {func.name}, in global memory",
            hint=copy_instead(site, buffer, storage_scope),
        )


def _choices(func: PrimFunc, block: Block) -> Iterator[dict[str, int | str]]:
    for which, region in zip(by_name(block.writes), block.writes, strict=True):
        others = [scope for scope in SCOPES if scope != region.buffer.scope]
        for scope in others:
            yield {"buffer_index": which, "storage_scope": scope}


@primitive(group="memory", sizes=True, check=_check, choices=_choices)
def set_scope(
    func: PrimFunc, block: Block, buffer_index: int | str, storage_scope: str
) -> Edit[None]:
    """Let a buffer that `block` writes live in `storage_scope`: "global", "shared" or "local".

    `buffer_index` is the buffer's position among those that the block writes, or its name. The
    buffer's name then tells where it is, as in TVM.

    >>> sch.set_scope("B", 0, "shared")
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                T.reads(B[vi])
                T.writes(C[vi])
                C[vi] = B[vi]
    ---
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B_shared = T.alloc_buffer((8,), scope="shared")
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B_shared[vi])
                B_shared[vi] = A[vi]
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                T.reads(B_shared[vi])
                T.writes(C[vi])
                C[vi] = B_shared[vi]
    """
    site = site_of(func, block, "set_scope")
    buffer = nth_buffer(site, buffer_index, "writes")
    memory, tag = memory_of(storage_scope)
    if storage_scope == buffer.storage_scope or buffer in func.params:
        return Edit(func)
    name = f"{buffer.name}_{storage_scope.replace('.', '_')}"
    moved = replace(buffer, name=name, scope=memory, tag=tag)
    owner = next(r for r in site.places.blocks.values() if buffer in r.block.alloc_buffers)
    return Edit(site.places.replace(owner, substitute_buffers(owner, {buffer: moved})))
