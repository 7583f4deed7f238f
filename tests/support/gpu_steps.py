"""Steps that put the loops of a program on threads."""

from __future__ import annotations

import random

from tests.support.random_steps import Chooser
from tests.support.told import Loop, Told
from workbench.ir import For, PrimFunc


def gpu_steps(func: PrimFunc, rng: random.Random) -> list[Told]:
    """Steps that give every root nest of `func` threads, where it has none, as a learner would."""
    chooser = Chooser(func, rng)
    steps: list[Told] = []
    seen: set[For] = set()
    for name, loops in chooser.nests.items():
        if not loops or loops[0] in seen or any(loop.thread for loop in loops):
            continue
        seen.add(loops[0])
        spatial = _spatial_prefix(loops)
        if spatial > 1 and rng.random() < 0.6:
            steps.append(Told("fuse", tuple(Loop(name, k) for k in range(spatial))))
            spatial = 1
        if spatial == 1 or rng.random() < 0.4:
            factor = rng.choice((2, 3, 4, 8))
            copies = [rng.choice((2, 3))] if rng.random() < 0.3 else []
            axes = ["blockIdx.x", *["vthread" for _ in copies], "threadIdx.x"]
            steps.append(Told("split", (Loop(name, 0),), (("factors", [None, *copies, factor]),)))
            steps += [Told("bind", (Loop(name, k), axis)) for k, axis in enumerate(axes)]
        else:
            steps.append(Told("bind", (Loop(name, 0), "blockIdx.x")))
            steps.append(Told("bind", (Loop(name, 1), "threadIdx.x")))
    return steps


def _spatial_prefix(loops: list[For]) -> int:
    """How many of the outermost loops hold nothing but the next one, at least 1."""
    count = 1
    while count < len(loops) and loops[count - 1].body is loops[count] and count < 3:
        count += 1
    return count
