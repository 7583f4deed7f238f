"""What rules of a space ask of loops: which a block has, how often they run, which are unrolled."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.history.handles import BlockHandle, LoopHandle
from workbench.ir import Const, For
from workbench.ir.places import places
from workbench.schedule import Schedule
from workbench.tuning.space import require


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
