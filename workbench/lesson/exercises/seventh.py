"""Lesson 8: a product that loses time to one thing, which the learner finds and mends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from workbench.ir import PrimFunc
from workbench.lesson.calls import BUILDERS
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.faults import first_loss
from workbench.lesson.goals import at_most_modelled, at_most_shared, shared_bytes
from workbench.lesson.programs import product, tiled

Size = tuple[int, int, int]
"""Rows, columns, length of the sums."""
ROOM = 1.1  # times the modelled time without what is lost
LIST = (
    "lesson.why(mine) lists what it loses, most first, with what would help where. Which of a "
    "warp's requests takes longest, by the lab's pictures?"
)


def conflicts(size: Size, tile: tuple[int, int], depth: int, key: str) -> Exercise:
    """The lanes of a warp, of 32 x 8 threads, read one bank of A's tile, of `depth` steps of k."""
    slow = BUILDERS["in_shared"](product(*size), tile, (32, 8), depth, along="i", vector=1)
    return made(
        size,
        slow,
        key,
        more=4 * 32 * tile[0],
        room="That is what the tiles take now, and one number more for each row of A's.",
        hints=(
            "Neighbouring lanes read A_shared in neighbouring rows. How many banks do 32 of them "
            f"ask, where a row has {depth} numbers?",
            "Were each row one number longer, a lane's number would lie one bank further on than "
            "its neighbour's.",
            "storage_align, on block A_shared, is the step: it says by how much the start of a row "
            f"is beyond a multiple of a factor. Take {depth} for the factor.",
        ),
    )


def copies(size: Size, tile: tuple[int, int], depth: int, key: str) -> Exercise:
    """Each of 2 x 32 threads copies the whole tile of A, of `depth` steps of k."""
    threads = (2, 32)
    slow = tiled(product(*size), tile, threads, depth, copies="each")
    return made(
        size,
        slow,
        key,
        room="That is what the tile of A takes now.",
        hints=(
            "Which cells of A_shared does one thread fill, and which do the others?",
            f"A row of the tile has {depth} numbers, and a block has {threads[0] * threads[1]} "
            "threads: each could copy one number of each row.",
            "bind is the step, on the inner loop of block A_shared, to threadIdx.x: that shares "
            "its turns out to the threads.",
        ),
    )


def made(
    size: Size, slow: PrimFunc, key: str, *, room: str, hints: Sequence[str], more: int = 0
) -> Exercise:
    """The exercise on a `slow` product of that size, with so many bytes `more` in shared memory."""
    rows, columns, summed = size
    us, lost = first_loss(slow)
    most = shared_bytes(slow) + more
    return Exercise(
        name=f"a seventh, of {rows} x {columns}",
        key=key,
        lesson="08_why_is_it_slow",
        task=f"A product of {rows} x {columns} outputs, sums of {summed}. It takes {us:.1f} µs on "
        f"an H200, modelled, and {lost:.1f} of them go to one thing. Find what it is, and mend it, "
        f"with at most {most:,} bytes of shared memory in a block.",
        program=slow,
        unscheduled=product(*size),
        goals=(
            Goal(at_most_modelled(ROOM * (us - lost)), hint=LIST),
            Goal(at_most_shared(most), hint=room),
        ),
        hints=tuple(hints),
    )


EXERCISES = (
    partial(conflicts, (256, 512, 64), (1, 4), 32),
    partial(copies, (512, 256, 64), (8, 1), 64),
    partial(conflicts, (256, 512, 64), (1, 4), 64),
    partial(conflicts, (256, 512, 128), (1, 4), 32),
)
