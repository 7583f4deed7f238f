"""Lesson 8: a product that loses time to one thing, which the learner finds and mends."""

from __future__ import annotations

from functools import partial

from workbench.lesson.calls import BUILDERS
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.faults import first_loss
from workbench.lesson.goals import at_most_modelled, at_most_shared, shared_bytes
from workbench.lesson.programs import product

SIZES = (
    ((256, 512, 64), (1, 4), 32),
    ((512, 256, 64), (1, 4), 32),
    ((256, 512, 64), (1, 4), 64),
    ((256, 512, 128), (1, 4), 32),
)
"""Rows, columns, length of the sums; outputs of each of 32 x 8 threads; steps of k in a tile."""
ROOM = 1.1  # times the modelled time without what is lost


def made(size: tuple[tuple[int, int, int], tuple[int, int], int], key: str) -> Exercise:
    """The exercise on a product of that size."""
    (rows, columns, summed), tile, depth = size
    start = product(rows, columns, summed)
    slow = BUILDERS["in_shared"](start, tile, (32, 8), depth, along="i", vector=1)
    us, lost = first_loss(slow)
    most = shared_bytes(slow) + 4 * 32 * tile[0]
    return Exercise(
        name=f"a seventh, of {rows} x {columns}",
        key=key,
        lesson="08_why_is_it_slow",
        task=f"A product of {rows} x {columns} outputs, sums of {summed}. It takes {us:.1f} µs on "
        f"an H200, modelled, and {lost:.1f} of them go to one thing. Find what it is, and mend it, "
        f"with at most {most:,} bytes of shared memory in a block.",
        program=slow,
        unscheduled=start,
        goals=(
            Goal(
                at_most_modelled(ROOM * (us - lost)),
                hint="lesson.why(mine) lists what it loses, most first, with what would help "
                "where. Which of a warp's requests takes longest, by the lab's pictures?",
            ),
            Goal(
                at_most_shared(most),
                hint="That is what the tiles take now, and one number more for each row of A's.",
            ),
        ),
        hints=(
            "Neighbouring lanes read A_shared in neighbouring rows. How many banks do 32 of them "
            f"ask, where a row has {depth} numbers?",
            "Were each row one number longer, a lane's number would lie one bank further on than "
            "its neighbour's.",
            "storage_align, on block A_shared, is the step: it says by how much the start of a row "
            f"is beyond a multiple of a factor. Take {depth} for the factor.",
        ),
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
