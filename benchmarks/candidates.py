"""The tuner's own work for a candidate, on one core: ``python -m benchmarks.candidates 24``.

Of a product of 1024 x 1024 and of a "layer", for an H200 that need not be there: to take the steps
and lower the program, to model its time, and to prove it, with the text of its kernels. Candidates
are drawn, and refused ones left out. It is the time of the processor, which others that use the
core stretch as well: beside it stands a loop of Python that is always the same, and the quotient is
what to hold against another version.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from random import Random
from time import process_time
from typing import TypeVar

from benchmarks.tuned import PROGRAMS
from workbench import target, tuning
from workbench.ir import PrimFunc
from workbench.tuning.score import scored
from workbench.tuning.space import Decisions, Space, built

GPU = target.get("nvidia/h200")
STAGES = ("steps and lowering", "modelled time", "proofs and text")
TURNS = 300_000  # of the loop that is always the same

T = TypeVar("T")


def drawn(program: PrimFunc, space: Space, count: int) -> list[Decisions]:
    """The decisions of so many candidates that are lowered."""
    rng, found = Random(11), list[Decisions]()
    while len(found) < count:
        made = tuning.candidate(program, space, GPU, (), rng, whole=False)
        if made.kernels:
            found.append(made.decisions)
    return found


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """The milliseconds of the processor, and what came of it."""
    start = process_time()
    made = work()
    return (process_time() - start) * 1e3, made


def stages(program: PrimFunc, space: Space, decisions: Decisions) -> list[float]:
    """The milliseconds of each stage of a candidate."""
    gc.collect()  # what the one before left is not its work
    first, made = timed(
        lambda: tuning.candidate(program, space, GPU, decisions, Random(0), whole=False)
    )
    second, _ = timed(lambda: scored(0, made, GPU))
    third, _ = timed(lambda: built(made, GPU))
    return [first, second, third]


def unit() -> float:
    """The milliseconds of a loop of Python."""
    return timed(lambda: sum(k * k % 7 for k in range(TURNS)))[0]


def main(count: int) -> None:
    """Print the mean of each stage, of all of them, and how many loops that is."""
    for name, make in PROGRAMS.items():
        program, space = make(), tuning.ready(GPU)
        first, *others = drawn(program, space, count + 1)
        stages(program, space, first)  # what a process does once
        loops = [unit()]
        every = list[list[float]]()
        for decisions in others:
            every.append(stages(program, space, decisions))
            loops.append(unit())
        means = [sum(column) / count for column in zip(*every, strict=True)]
        told = ", ".join(f"{s} {ms:.0f}" for s, ms in zip(STAGES, means, strict=True))
        whole, loop = sum(means), sum(loops) / len(loops)
        print(f"{name}: {whole:.0f} ms a candidate ({told})")
        print(f"{whole / loop:.1f} loops of {loop:.1f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 24)
