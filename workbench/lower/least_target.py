"""least_target: the oldest CUDA target that has all that a program asks of a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.intrin import NOTE, TensorIntrin
from workbench.ir import (
    WARP_CALL,
    Block,
    BufferLoad,
    BufferStore,
    For,
    PrimFunc,
    Stmt,
    attrs_dict,
    is_warp_call,
    once,
    walk,
    walk_statements,
)
from workbench.lower.lane_calls import LANE_CALLS

ANY = "cuda"
AMPERE = "nvidia/a100"  # the first with mma.sync of 16 x 8 x 16


@once
def least_target(func: PrimFunc) -> str:
    """Where a program is built if nobody says for which GPU: "cuda", which all of them are.

    "nvidia/a100" with ``mma.sync`` or ``ldmatrix`` in it, or ``wmma`` of bfloat16, in a tensorized
    tile or as loops.
    """
    return AMPERE if any(map(_of_ampere, _calls(func.body))) else ANY


def _of_ampere(loop: For) -> bool:
    """Whether the GPUs ahead of Ampere lack the call of a warp that `loop` is."""
    call = attrs_dict(loop.annotations)[WARP_CALL]
    name = call[0] if isinstance(call, tuple) else call
    touched = (node for node in walk(loop) if isinstance(node, (BufferLoad, BufferStore)))
    return name in LANE_CALLS or any(node.buffer.type == "bfloat16" for node in touched)


def _calls(body: Stmt) -> Iterator[For]:
    """The calls of a warp in `body`, and in what its tensor intrinsics run."""
    for node in walk_statements(body):
        if isinstance(node, For) and is_warp_call(node):
            yield node
        elif isinstance(node, Block) and NOTE in attrs_dict(node.annotations):
            name = str(attrs_dict(node.annotations)[NOTE])
            if intrin := TensorIntrin.get(name, allow_missing=True):
                yield from _calls(intrin.impl.body)
