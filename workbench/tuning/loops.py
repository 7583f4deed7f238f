"""What rules of a space ask of loops: which a block has, how often they run, which are unrolled."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.history.handles import BlockHandle, LoopHandle
from workbench.ir import Block, Const, For, dtypes
from workbench.ir.places import places
from workbench.schedule import Schedule
from workbench.tuning.space import require

VECTOR_BYTES = 16  # what a thread moves at most at a time


def node_of(sch: Schedule, block: BlockHandle) -> Block:
    """The block itself, as it is now."""
    node = sch.get(block)
    assert isinstance(node, Block)
    return node


def tile_loops(sch: Schedule, block: BlockHandle) -> tuple[list[LoopHandle], list[LoopHandle]]:
    """The loops around `block` over the result, and those that are summed over.

    Refused unless each is a whole iterator of it.
    """
    realize = places(sch.func).blocks[block.key]
    kinds = {
        value: it.kind
        for it, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
    }
    loops = sch.get_loops(block)
    require(
        len(kinds) == len(loops) and all(loop.key in kinds for loop in loops),
        f"the loops of {block.name} are not its iterators",
    )
    spatial = [loop for loop in loops if kinds[loop.key] == "spatial"]
    return spatial, [loop for loop in loops if kinds[loop.key] == "reduce"]


def times(sch: Schedule, loop: LoopHandle) -> int:
    """How many iterations `loop` has, which has to be a number."""
    node = sch.get(loop)
    assert isinstance(node, For)
    return number(node.extent)


def number(size: object) -> int:
    """A size that has to be a number."""
    require(isinstance(size, Const), "what a tile reads depends on more than its size")
    assert isinstance(size, Const)
    return int(size.value)


def unroll_inner(sch: Schedule, loops: Sequence[LoopHandle], most: int) -> None:
    """Write out the innermost of `loops`, as many as make at most `most` turns together."""
    turns = 1
    for loop in reversed(loops):
        count = times(sch, loop)
        turns *= count
        if turns > most:
            return
        if count > 1:
            sch.unroll(loop)


def width(sch: Schedule, dtype: str) -> int:
    """How many values a thread moves at a time: chosen, at most 16 bytes."""
    size = dtypes.itemsize(dtype)
    widths = [width for width in (1, 2, 4, 8, 16) if width * size <= VECTOR_BYTES]
    return sch.sample_categorical(widths, probs=[1 / len(widths)] * len(widths))


def fetch(
    sch: Schedule,
    copy: BlockHandle,
    outer: LoopHandle,
    threads: Sequence[tuple[str, int]],
    width: int,
    most: int = 0,
) -> None:
    """All `threads` of a block copy the tile together, side by side, `width` values at a time.

    They are how many of each axis, the outermost first. At most `most` turns of a thread are
    written out: it waits for their loads together, where nvcc writes out 4 turns of a loop whose
    last turn has a guard.
    """
    loops = sch.get_loops(copy)
    own = loops[loops.index(outer) + 1 :] or [sch.add_unit_loop(copy)]  # of one cell
    together = sch.fuse(*own) if len(own) > 1 else own[0]
    wide = width > 1 and times(sch, together) % width == 0
    if wide:  # before the turns are cut, so that a guard is around whole vectors
        together, vector = sch.split(together, factors=[None, width])
    turn, *lanes = sch.split(together, factors=[None, *(count for _, count in threads)])
    for lane, (axis, _) in zip(lanes, threads, strict=True):
        sch.bind(lane, axis)
    if wide:
        sch.vectorize(vector)
    unroll_inner(sch, [turn], most)
