"""inline_tensor_intrinsics: put what a tensor intrinsic runs in the place of what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from workbench import arith
from workbench.access.pipelines import DOUBLE
from workbench.access.units import iterator_bounds
from workbench.arith import Bounds
from workbench.check.alignment import ALIGN, alignments
from workbench.diag import Fail, Refusal
from workbench.intrin import NOTE, Mismatch, TensorIntrin, View, inlined, match
from workbench.ir import (
    Block,
    BlockRealize,
    Buffer,
    PrimFunc,
    attrs_dict,
    once,
    walk_statements,
)
from workbench.ir.places import places
from workbench.lower.permute_layouts import PERMUTED

Fits: TypeAlias = tuple[TensorIntrin, Mapping[Buffer, View]]
"""An intrinsic that runs a block, and the tile that each of its parameters is there."""


@once
def inline_tensor_intrinsics(func: PrimFunc) -> PrimFunc:
    """Let each block with a note of a tensor intrinsic do what its implementation does.

    A note is no proof, since anyone can leave one, and steps may follow: what the block does is
    held against the description here, as `tensorize` did.
    """
    changed = {
        block: _laid_out(inlined(intrin, block, views), block)
        for block, (intrin, views) in tensorized(func).items()
    }
    return places(func).replace_each(changed) if changed else func


def _laid_out(made: Block, block: Block) -> Block:
    """`made`, which does what `block` does, with what blocks inside of that ask of arrays.

    Padded rows, permuted columns and second copies are asked of an array, for all who touch it; a
    block inside a tile may be the one whose note says so.
    """
    notes = dict(attrs_dict(made.annotations))
    number = {region.buffer: k for k, region in enumerate(made.writes)}
    padded = list(alignments(made))
    for inner in (node for node in walk_statements(block.body) if isinstance(node, Block)):
        for which, axis, factor, offset in alignments(inner):
            padded.append((number[inner.writes[which].buffer], axis, factor, offset))
        asked = attrs_dict(inner.annotations)
        if asked.get(PERMUTED):
            notes[PERMUTED] = asked[PERMUTED]
        copied = asked.get(DOUBLE)
        if isinstance(copied, int) and copied in range(len(inner.writes)):
            notes[DOUBLE] = number[inner.writes[copied].buffer]
    if padded:
        notes[ALIGN] = tuple(padded)
    return replace(made, annotations=tuple(notes.items()))


@once
def tensorized(func: PrimFunc) -> dict[Block, Fits]:
    """What runs each block that has a note of a tensor intrinsic, in program order.

    Raises Refusal where there is none of that name, and for a block that is not what it says.
    """
    return {
        realize.block: _fit(realize, _bounds(func, realize))
        for realize in places(func).blocks.values()
        if NOTE in attrs_dict(realize.block.annotations)
    }


def _bounds(func: PrimFunc, realize: BlockRealize) -> Bounds:
    where = places(func)
    blocks = [realize, *(s for s in where.above(realize) if isinstance(s, BlockRealize))]
    dom = {var: ends for one in blocks for var, ends in iterator_bounds(one.block).items()}
    return {**dom, **arith.loop_bounds(where.all_loops_above(realize), dom)}


def _fit(realize: BlockRealize, dom: Bounds) -> Fits:
    block = realize.block
    name = attrs_dict(block.annotations)[NOTE]
    try:
        intrin = TensorIntrin.get(name)  # type: ignore[arg-type]  # any data: then there is none
        assert intrin is not None
        return intrin, match(intrin, block, dom)
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
