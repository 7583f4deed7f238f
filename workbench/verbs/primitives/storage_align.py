"""storage_align: pad the rows of a buffer, so that neighbours in a column leave the same bank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.check.alignment import ALIGN, alignments
from workbench.ir import Block, Buffer, PrimFunc, attrs_dict
from workbench.verbs.caching import nth_buffer
from workbench.verbs.nest import annotated
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.primitives.cache_write import copy_instead
from workbench.verbs.site import Site, site_of


def _choices(func: PrimFunc, block: Block) -> Iterator[Mapping[str, Any]]:
    for k, region in enumerate(block.writes):
        for axis in range(len(region.buffer.shape) - 1):
            yield {"buffer_index": k, "axis": axis, "factor": 32, "offset": 1}


@primitive(group="memory", sizes=True, choices=_choices)
def storage_align(
    func: PrimFunc, block: Block, buffer_index: int | str, axis: int, factor: int, offset: int
) -> Edit[None]:
    """Let one step along `axis` be `offset` above a multiple of `factor` elements in memory.

    The buffer is told by its number among those that `block` writes, or by its name; a negative
    `axis` counts from the last. What is computed stays the same; lowering spaces the rows.

    >>> sch.storage_align("S", 0, axis=0, factor=32, offset=1)
    @T.prim_func
    def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
        # with T.block("root"):
        S = T.alloc_buffer((32, 32), scope="shared")
        for i, j in T.grid(32, 32):
            with T.block("S"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(S[vi, vj])
                S[vi, vj] = A[vi, vj]
        for i, j in T.grid(32, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(S[vj, vi])
                T.writes(B[vi, vj])
                B[vi, vj] = S[vj, vi]
    ---
    @T.prim_func
    def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
        # with T.block("root"):
        S = T.alloc_buffer((32, 32), scope="shared")
        for i, j in T.grid(32, 32):
            with T.block("S"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(S[vi, vj])
                T.block_attr({"buffer_dim_align": [[0, 0, 32, 1]]})
                S[vi, vj] = A[vi, vj]
        for i, j in T.grid(32, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(S[vj, vi])
                T.writes(B[vi, vj])
                B[vi, vj] = S[vj, vi]
    """
    site = site_of(func, block, "storage_align")
    buffer = nth_buffer(site, buffer_index, "writes")
    site = replace(site, task=f"storage_align {buffer.name} of `{block.name}`")
    axis = _checked(site, buffer, axis, factor, offset)
    number = [region.buffer for region in block.writes].index(buffer)
    kept = dict(attrs_dict(block.annotations))
    others = tuple(wish for wish in alignments(block) if wish[:2] != (number, axis))
    kept[ALIGN] = (*others, (number, axis, factor, offset))
    return Edit(annotated(func, block, tuple(kept.items())))


def _checked(site: Site[Block], buffer: Buffer, axis: int, factor: int, offset: int) -> int:
    """`axis` counted from the first, once all is found fit."""
    if site.home(buffer) is None:
        raise site.refuse(
            "it is an argument, whose rows the caller has laid out",
            hint=copy_instead(site, buffer, "shared"),
        )
    size = len(buffer.shape)
    if not -size <= axis < size:
        raise site.refuse(
            f"it has no axis {axis}", hint=f"its axes: {', '.join(str(k) for k in range(size))}"
        )
    if axis % size == size - 1:
        raise site.refuse(
            f"axis {axis} is the last, whose elements stay side by side",
            hint=f"pad a row: axis={size - 2}" if size > 1 else "a buffer of one row needs none",
        )
    if factor < 1 or not 0 <= offset < factor:
        raise site.refuse(
            f"offset {offset} is not between 0 and factor {factor}",
            hint="rows of 33 floats: factor=32, offset=1",
        )
    return axis % size
