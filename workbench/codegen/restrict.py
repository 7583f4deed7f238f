"""Which arrays of a kernel are told to the compiler as reached by their own name alone."""

from __future__ import annotations

from workbench.ir import (
    LOGICAL,
    BinOp,
    Buffer,
    BufferLoad,
    Call,
    IfThenElse,
    Kernel,
    Node,
    Select,
    once,
    stores,
    walk,
)


@once
def reads_its_own(kernel: Kernel) -> bool:
    """Whether `kernel` loads from an array in global memory that it stores to."""
    read = {node.buffer for node in walk(kernel.body) if isinstance(node, BufferLoad)}
    return any(
        store.buffer in read and store.buffer in kernel.params for store in stores(kernel.body)
    )


def restricted(kernel: Kernel) -> set[Buffer]:
    """The parameters of `kernel` that may be `__restrict__`: all, or only those it writes.

    What is only read, and by this name alone, nvcc loads by way of a cache that no store changes
    (ld.global.nc). Of two loads between which a condition chooses, as in `c ? S[i] : B[i]`, it
    makes one load of one of two addresses, and such a one also where the kernel has written S:
    nvcc 13.0 does so for sm_75 to sm_90, and an H200 gives what was in S before.
    """
    if reads_its_own(kernel) and any(map(_chooses, walk(kernel.body))):
        return {store.buffer for store in stores(kernel.body)}
    return set(kernel.params)


def _chooses(node: Node) -> bool:
    match node:
        case IfThenElse() | Select() | Call("if_then_else"):
            return True
        case BinOp(op):
            return op in LOGICAL
    return False
