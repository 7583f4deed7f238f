"""lowered_of: the kernels of a program, for what is told of them."""

from __future__ import annotations

from contextlib import suppress

from workbench.diag import Refusal
from workbench.ir import PrimFunc, once
from workbench.lower import Lowered, lower, open_blocks
from workbench.target import get


@once
def lowered_of(func: PrimFunc) -> Lowered | None:
    """The kernels of a program, if it has any; of asynchronous copies on a GPU that has them.

    Remembered with the program.
    """
    for name in ("cuda", "nvidia/nvidia-a100"):
        with suppress(Refusal):
            return lower(open_blocks(func), get(name))
    return None
