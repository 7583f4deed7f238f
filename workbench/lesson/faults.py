"""What a program loses its time to, most first, in words that a learner chooses from."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from workbench import insight, target
from workbench.draw.pictures import GPU
from workbench.insight import Why
from workbench.insight.launched import us_text
from workbench.ir import Kernel, PrimFunc, once
from workbench.lesson.goals import kernels

REGISTERS = "registers"
FAULTS = {
    "coalescing": "the lanes of a warp load far apart",
    "conflicts": "lanes of a warp wait for one bank",
    "reuse": "the same numbers are loaded again and again, each time for few products",
    "redundant": "each thread copies a whole tile to shared memory, not its share of it",
    "idle multiprocessors": "multiprocessors have no block",
    "idle lanes": "lanes of a warp have no thread",
    REGISTERS: "a thread keeps more numbers than it has registers",
    "latency": "too few warps are there while others wait",
    "launch": "starting the blocks takes long",
    "instructions": "too many instructions only load and store",
}
"""By the names that `insight.why` has."""
NOTHING = "nothing that a single change would win back"


@once
def losses(func: PrimFunc, gpu: str = GPU) -> Why:
    """What `func` loses its modelled time on a GPU to, most first.

    Numbers that do not fit a thread's registers come before all: what they cost is a compiler's
    affair, at which the model guesses.
    """
    found = insight.why(kernels(func, gpu), target.get(gpu))
    if spills(func):
        first = sorted(found.faults, key=lambda one: one.name != REGISTERS)
        return replace(found, faults=tuple(first))
    return found


def fault(func: PrimFunc) -> str:
    """What `func` loses most to on an H200, in the words of `FAULTS`."""
    found = losses(func).faults
    return FAULTS[found[0].name] if found else NOTHING


def lesser(func: PrimFunc) -> dict[str, str]:
    """Of each choice that is true of `func`, too, but is not what it loses most to: by how much.

    So that nobody is told of what is there that another program would have it.
    """
    found = losses(func)
    if found.us is None or not found.faults:
        return {}
    said: dict[str, str] = {}
    for one in found.faults:
        less = f"{us_text(one.gain)} of {us_text(found.us)}, modelled"
        said.setdefault(FAULTS[one.name], f"That is so here, too, and would gain less: {less}.")
    del said[fault(func)]
    return said


def first_loss(func: PrimFunc) -> tuple[float, float]:
    """The modelled µs of `func` on an H200, and those that it loses to the first thing."""
    found = losses(func)
    assert found.us is not None and found.faults
    return found.us, found.faults[0].gain


def spills(func: PrimFunc) -> bool:
    """Whether a thread keeps more numbers in arrays of its own than it may have registers."""
    room = target.get(GPU).max_registers_per_thread or 0
    return any(_kept(kernel) > room for kernel in kernels(func, GPU))


def _kept(kernel: Kernel) -> int:
    """The cells of the arrays that each thread has for itself."""
    return sum(prod(buffer.shape) for buffer in kernel.allocs if buffer.scope == "local")
