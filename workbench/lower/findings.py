"""findings: what a program asked for and its kernels do not have."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from workbench.check import Finding
from workbench.ir import Buffer, For, Kernel, Node, PrimFunc, walk
from workbench.lower.pipeline import Lowered
from workbench.lower.share_loops import SerialLoop, serial_loops
from workbench.lower.vectorize_loops import LostVector, lost_vectors
from workbench.target import Target


def findings(lowered: Lowered, target: Target) -> list[Finding]:
    """Vectorized loops that run cell by cell: errors where `storage_align` is why, else warnings.

    On a CPU, all loops that should be shared out and run serially. To refuse is to keep the promise
    of `vectorize`; a warning says what the single cells cost.
    """
    stages = {step.name: step.before for step in lowered.history}
    if target.is_cpu:
        return [
            _serial(lowered.func, one)
            for kernel in stages["share_loops"]
            if isinstance(kernel, Kernel)
            for one in serial_loops(kernel)
        ]
    whole, flat = stages["flatten_buffers"], stages["vectorize_loops"]
    return [
        _told(lowered.func, kernel, before, lost)
        for before, kernel in zip(whole, flat, strict=True)
        if isinstance(before, Kernel) and isinstance(kernel, Kernel)
        for lost in lost_vectors(kernel, target)
    ]


def _serial(func: PrimFunc, one: SerialLoop) -> Finding:
    return Finding(
        f"`{one.loop.loop_var.name}` runs serially: {one.why}",
        tuple(_loops(func, one.loop)),
        hint=f"leave it serial, or give each iteration of `{one.loop.loop_var.name}` its own cells",
        kind="warning",
    )


def _told(func: PrimFunc, kernel: Kernel, before: Kernel, lost: LostVector) -> Finding:
    name, asked = lost.loop.loop_var.name, lost.asked
    nodes = tuple(_loops(func, lost.loop))
    row = _padded_row(kernel, before, lost)
    if row and lost.left == 1 and lost.buffer is not None:
        return Finding(
            f"`{name}` can't be a vector: storage_align leaves rows of {lost.buffer.name} {row} "
            "cells apart",
            nodes,
            hint=f"storage_align with an offset that is a multiple of {asked}, or no vectorize",
            detail=f"a vector of {asked} starts at a multiple of {asked} cells, and the second row "
            f"starts at {row}",
        )
    how = "cell by cell" if lost.left == 1 else f"in vectors of {lost.left}, not {asked}"
    return Finding(
        f"`{name}` runs {how}: {lost.why}",
        nodes,
        hint="choose factors that lay whole vectors side by side, or leave out vectorize",
        detail=f"{asked // lost.left} loads or stores at each place where 1 would do"
        if asked > 1
        else "vectors have 2, 4, 8 or 16 cells",
        kind="warning",
    )


def _loops(func: PrimFunc, loop: For) -> Iterator[Node]:
    """The loop of the program that became `loop`."""
    for node in walk(func.body):
        if isinstance(node, For) and node.loop_var is loop.loop_var:
            yield node


def _padded_row(kernel: Kernel, before: Kernel, lost: LostVector) -> int:
    """How many cells apart rows are that `storage_align` took out of step; 0 where it did not."""
    padded: dict[Buffer, Buffer] = dict(zip(kernel.allocs, before.allocs, strict=True))
    array = padded.get(lost.buffer) if lost.buffer is not None else None
    if array is None:
        return 0
    for axis, stride in enumerate(array.strides):
        dense = prod(array.shape[axis + 1 :])
        if stride % lost.asked and dense % lost.asked == 0:
            return stride
    return 0
