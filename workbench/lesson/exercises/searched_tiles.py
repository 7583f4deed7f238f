"""Lesson 5: tiles of a small product, which a search finds and lesson 4's do not suit."""

from __future__ import annotations

from functools import partial

from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import at_most_modelled, threads_between
from workbench.lesson.programs import product

SIZES = (((128, 128, 512), 10.0), ((256, 128, 256), 5.5), ((64, 256, 512), 10.0),
         ((192, 192, 256), 5.5))  # fmt: skip
"""Rows, columns and products for each output, and the µs that the best tiles come near to."""


def made(size: tuple[tuple[int, int, int], float], key: str) -> Exercise:
    """The exercise on a product of that size."""
    (rows, columns, summed), most = size
    return Exercise(
        name=f"tiles for {rows} x {columns}",
        key=key,
        lesson="05_let_the_machine_search",
        task=f"A product of {rows} x {columns} outputs, sums of {summed}. With the tutorial's "
        f"tiles, 8 x 8 outputs a thread, its modelled time is six times what it could be. Let the "
        f"machine find five numbers with at most {most:g} µs, and take the winner's steps.",
        program=product(rows, columns, summed),
        goals=(
            Goal(
                threads_between(32, 1024, 32),
                hint="The two numbers of threads, multiplied, are a block's: a multiple of 32.",
            ),
            Goal(
                at_most_modelled(most),
                hint="wb.tune(mine.func, space=five_numbers, target='nvidia/h200', trials=20) "
                "searches; mine.take(best.trace) takes the steps of what it finds.",
            ),
        ),
        hints=(
            "Which of the five numbers decides how many blocks there are? How many does the "
            "tutorial's choice make of this product, for 132 multiprocessors?",
            "Hand the space of this lesson to wb.tune, with the program of the exercise. Twenty "
            "trials are enough: it ranks by the modelled time, which is what is asked for.",
            "best = wb.tune(mine.func, space=five_numbers, target='nvidia/h200', trials=20), then "
            "mine.take(best.trace). With a GPU, give it measurer=wb.tuning.ByModel(...) of that "
            "target: a measured time is another goal.",
        ),
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
