"""least_target: the oldest CUDA target that has all that a program asks of a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.intrin import NOTE, TensorIntrin
from workbench.ir import (
    WARP_CALL,
    Block,
    For,
    PrimFunc,
    Stmt,
    attrs_dict,
    is_warp_call,
    once,
    walk_statements,
)
from workbench.lower.lane_calls import LANE_CALLS

ANY = "cuda"
AMPERE = "nvidia/a100"  # the first with mma.sync of 16 x 8 x 16


@once
def least_target(func: PrimFunc) -> str:
    """Where a program is built if nobody says for which GPU: "cuda", which all of them are.

    "nvidia/a100" with ``mma.sync`` or ``ldmatrix`` in it, in a tensorized tile or as loops.
    """
    return AMPERE if any(name in LANE_CALLS for name in _calls(func.body)) else ANY


def _calls(body: Stmt) -> Iterator[object]:
    """The names of the calls of a warp in `body`, and in what its tensor intrinsics run."""
    for node in walk_statements(body):
        if isinstance(node, For) and is_warp_call(node):
            call = attrs_dict(node.annotations)[WARP_CALL]
            yield call[0] if isinstance(call, tuple) else call
        elif isinstance(node, Block) and NOTE in attrs_dict(node.annotations):
            name = str(attrs_dict(node.annotations)[NOTE])
            if intrin := TensorIntrin.get(name, allow_missing=True):
                yield from _calls(intrin.impl.body)
