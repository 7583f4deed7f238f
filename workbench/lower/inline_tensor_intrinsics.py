"""inline_tensor_intrinsics: put what a tensor intrinsic runs in the place of what it means."""

from __future__ import annotations

from workbench import arith
from workbench.access.units import iterator_bounds
from workbench.arith import Bounds
from workbench.diag import Fail, Refusal
from workbench.intrin import NOTE, Mismatch, TensorIntrin, inlined, match
from workbench.ir import Block, BlockRealize, PrimFunc, attrs_dict, once
from workbench.ir.places import places


@once
def inline_tensor_intrinsics(func: PrimFunc) -> PrimFunc:
    """Let each block with a note of a tensor intrinsic do what its implementation does.

    A note is no proof, since anyone can leave one, and steps may follow: what the block does is
    held against the description here, as `tensorize` did.
    """
    where = places(func)
    changed = {
        realize.block: _implemented(realize, _bounds(func, realize))
        for realize in where.blocks.values()
        if NOTE in attrs_dict(realize.block.annotations)
    }
    return where.replace_each(changed) if changed else func


def _bounds(func: PrimFunc, realize: BlockRealize) -> Bounds:
    where = places(func)
    blocks = [realize, *(s for s in where.above(realize) if isinstance(s, BlockRealize))]
    dom = {var: ends for one in blocks for var, ends in iterator_bounds(one.block).items()}
    return {**dom, **arith.loop_bounds(where.all_loops_above(realize), dom)}


def _implemented(realize: BlockRealize, dom: Bounds) -> Block:
    block = realize.block
    name = attrs_dict(block.annotations)[NOTE]
    try:
        intrin = TensorIntrin.get(name)  # type: ignore[arg-type]  # any data: then there is none
        assert intrin is not None
        return inlined(intrin, block, match(intrin, block, dom))
    except Fail as unknown:
        raise Refusal(
            f"`{block.name}` has a note of the tensor intrinsic {name!r}, and there is none such",
            realize,
            hint=unknown.hint,
            detail=unknown.detail,
        ) from None
    except Mismatch as found:
        raise Refusal(
            f"`{block.name}` is no {name}, of which it has a note: {found.why}",
            realize,
            hint="take steps that change the tile ahead of tensorize, or unannotate the block",
            detail=found.detail,
        ) from None
