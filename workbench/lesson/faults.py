"""What a program loses most of its time to, in words that a learner chooses from."""

from __future__ import annotations

from math import prod

from workbench import insight, target
from workbench.draw.pictures import GPU
from workbench.ir import Kernel, PrimFunc, once
from workbench.lesson.goals import kernels

REGISTERS = "registers"
FAULTS = {
    "coalescing": "the lanes of a warp load far apart",
    "conflicts": "lanes of a warp wait for one bank",
    "reuse": "the same numbers are loaded again and again",
    "redundant": "each thread fetches what all of a block need",
    "idle multiprocessors": "multiprocessors have no block",
    "idle lanes": "lanes of a warp have no thread",
    REGISTERS: "a thread keeps more numbers than it has registers",
    "latency": "too few warps are there while others wait",
    "launch": "starting the blocks takes long",
    "instructions": "too many instructions only load and store",
}
"""By the names that `insight.why` has, and `REGISTERS`."""
NOTHING = "nothing that a single change would win back"


@once
def fault(func: PrimFunc) -> str:
    """What `func` loses most to on an H200, in the words of `FAULTS`.

    Numbers that do not fit a thread's registers come first: what they cost is a compiler's affair,
    at which the model guesses.
    """
    if kept_beyond(func):
        return FAULTS[REGISTERS]
    found = insight.why(kernels(func, GPU), target.get(GPU)).faults
    return FAULTS[found[0].name] if found else NOTHING


def first_loss(func: PrimFunc) -> tuple[float, float]:
    """The modelled µs of `func` on an H200, and those that it loses to the first thing."""
    found = insight.why(kernels(func, GPU), target.get(GPU))
    assert found.us is not None and found.faults
    return found.us, found.faults[0].gain


def kept_beyond(func: PrimFunc) -> list[tuple[int, int]]:
    """The numbers that a thread keeps and the registers that it may have, where they are fewer.

    Of each kernel whose threads keep so many.
    """
    room = target.get(GPU).max_registers_per_thread or 0
    kept = (_kept(kernel) for kernel in kernels(func, GPU))
    return [(numbers, room) for numbers in kept if numbers > room]


def _kept(kernel: Kernel) -> int:
    """The cells of the arrays that each thread has for itself."""
    return sum(prod(buffer.shape) for buffer in kernel.allocs if buffer.scope == "local")
