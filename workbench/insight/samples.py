"""sampled: the blocks that stand for all of a program that is long on the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from workbench import emulate
from workbench.insight.counts import counts
from workbench.ir import Kernel

LARGE = 1 << 30  # operations; fewer are done in about a second


def sampled(kernels: Sequence[Kernel], above: int | None = None) -> list[int] | None:
    """The numbers of four blocks of a program of more than `above` operations; None: all run.

    Without `above` those that are LARGE are sampled. Of several kernels all blocks run: a later
    one needs all that an earlier one writes.
    """
    if len(kernels) > 1 or counts(kernels).work < (LARGE if above is None else above):
        return None
    chosen = emulate.draw_blocks(kernels[0])
    return chosen if len(chosen) < prod(kernels[0].grid) else None
