"""reorder_block_iter_var: put the iterators of a block into another order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.ir import Block, PrimFunc
from workbench.ir.places import places
from workbench.verbs.primitive import Edit, primitive
from workbench.verbs.site import site_of


def _check(func: PrimFunc, block: Block, new_order: list[int]) -> None:
    site = site_of(func, block, "reorder_block_iter_var")
    site.check_held()
    count = len(block.iter_vars)
    if sorted(new_order) != list(range(count)):
        names = ", ".join(f"{k} is {it.var.name}" for k, it in enumerate(block.iter_vars))
        raise site.refuse(
            f"{list(new_order)} does not name each of its {count} iterators once",
            hint=f"name each by its number: {names or 'it has none'}",
        )


def _choices(func: PrimFunc, block: Block) -> Iterator[dict[str, list[int]]]:
    if len(block.iter_vars) > 1:
        yield {"new_order": [*reversed(range(len(block.iter_vars)))]}


# The iterators of a block are told by their variables: nothing that runs goes by their order.
@primitive(group="blocks", sizes=True, check=_check, choices=_choices)
def reorder_block_iter_var(func: PrimFunc, block: Block, new_order: list[int]) -> Edit[None]:
    """Put the iterators of a block into the order `new_order`, of their numbers; loops stay.

    The order is that in which `pad_einsum`, `reindex` and `transform_block_layout` tell iterators.

    >>> sch.reorder_block_iter_var("B", [1, 0])
    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj]
    ---
    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("B"):
                vj, vi = T.axis.remap("SS", [j, i])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj]
    """
    where = places(func)
    realize = where.realize(block)
    values = tuple(realize.iter_values[k] for k in new_order)
    iterators = tuple(block.iter_vars[k] for k in new_order)
    new = replace(realize, iter_values=values, block=replace(block, iter_vars=iterators))
    return Edit(where.replace(realize, new))
