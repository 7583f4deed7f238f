"""Features: what a candidate's kernels ask of a GPU, as numbers with the names of `insight`.

By them a model that learns tells how long a candidate takes, and they are the words in which it
says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, prod
from typing import TypeAlias

from workbench.insight.modelled import launches_of
from workbench.ir import Kernel
from workbench.lower.shared_memory import shared_bytes
from workbench.target import Target

Features: TypeAlias = tuple[tuple[str, float], ...]
"""Each name once; where there are several kernels, times are of all, the rest of the longest."""


def features(kernels: Sequence[Kernel], target: Target) -> Features:
    """What `kernels` ask of `target`, the modelled µs of all and of each resource first.

    Blocks and threads are those of a launch, registers the most that a thread may have. Raises
    NoTimeError where no time can be modelled.
    """
    launches = launches_of(kernels, target, ())
    longest = max(launches, key=lambda one: one.us)
    full = longest.occupancy
    resources: dict[str, float] = {}
    for one in launches:
        for term in one.terms:
            resources[f"{term.resource} µs"] = resources.get(f"{term.resource} µs", 0.0) + term.us
    return (
        ("modelled µs", fsum(one.us for one in launches)),
        *resources.items(),
        ("kernels", float(len(launches))),
        ("blocks", float(longest.blocks)),
        ("threads of a block", float(prod(longest.kernel.block))),
        ("registers of a thread", float(full.registers[1])),
        ("bytes of shared memory", float(shared_bytes(longest.kernel))),
        ("blocks on a multiprocessor", full.blocks_per_sm[1]),
        ("occupancy", full.fraction[1]),
        ("waves", full.waves[1]),
    )
