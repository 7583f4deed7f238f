"""Lesson 11: products on Tensor Cores with a wait for copies, or a barrier, taken away."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from workbench.ir import PrimFunc
from workbench.lesson.half_products import half_product, half_tiles, under_way
from workbench.lesson.mending import Broken, Mending
from workbench.lower import Fault

TASK = (
    "Both kernels copy tiles ahead, three at a time in shared memory, and each had one thing taken "
    "away: a wait for copies, or a barrier. Read what the emulator finds and look at the lines "
    "that it names. Then write for each what is to be put back, and where."
)
HINTS = (
    "Which of the two does a finding speak of: a copy that its own thread did not wait for, or one "
    "that another thread waited for?",
    "A kernel waits at three places: in the loop over k_0, and twice behind it, where nothing is "
    "copied any more. Which of these is not as the others are?",
    "A wait goes ahead of the barrier, and leaves under way only what is used later: in the loop "
    "one group, behind the last copy none. A barrier goes between the wait and the first fragment "
    "that is loaded.",
)


def three_tiles(start: PrimFunc) -> PrimFunc:
    """The product with three tiles in shared memory at a time."""
    return under_way(half_tiles(start, "mma", (32, 32), (1, 2), 32), 3)


def _mending(key: str, terms: int, faults: Mapping[str, Fault]) -> Mending:
    start = half_product(32, 32, terms)
    broken = partial(Broken, start, three_tiles, target="nvidia/a100")
    kernels = {name: broken(fault) for name, fault in faults.items()}
    return Mending(key, "11_mma_sync", TASK, kernels, HINTS)


MENDINGS = (
    _mending("two_kernels", 160, {"first": Fault("wait"), "second": Fault("barrier", 2)}),
    _mending("two_kernels 2", 128, {"first": Fault("barrier"), "second": Fault("wait", 3)}),
    _mending("two_kernels 3", 192, {"first": Fault("barrier", 3), "second": Fault("wait", 2)}),
)
