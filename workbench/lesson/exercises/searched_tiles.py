"""Lesson 5: tiles of a small product, for which a learner writes the space that is searched."""

from __future__ import annotations

from functools import partial

from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import at_most_modelled, threads_between
from workbench.lesson.programs import product

H100 = "nvidia/h100"  # the one that the lesson's trials are recorded on
SIZES = (((128, 128, 512), 7.2, 4.5), ((256, 128, 256), 3.9, 3.2), ((64, 256, 512), 7.2, 4.5),
         ((192, 192, 256), 4.1, 3.7))  # fmt: skip
"""Rows, columns and products for each output; µs below which the lesson's space has no candidate,
and the goal."""


def made(size: tuple[tuple[int, int, int], float, float], key: str) -> Exercise:
    """The exercise on a product of that size."""
    (rows, columns, summed), least, most = size
    return Exercise(
        name=f"tiles for {rows} x {columns}",
        key=key,
        lesson="05_let_the_machine_search",
        task=f"A product of {rows} x {columns} outputs, sums of {summed}. No candidate of "
        f"five_numbers comes below {least:g} µs, modelled. Write a space whose choices suit "
        f"this product, let the machine find one with at most {most:g} µs in it, and take the "
        "winner's steps.",
        program=product(rows, columns, summed),
        goals=(
            Goal(
                threads_between(32, 1024, 32),
                hint="The two numbers of threads, multiplied, are a block's: a multiple of 32.",
            ),
            Goal(
                at_most_modelled(most, H100),
                hint="Look at the winner of five_numbers: where its number is the first or the "
                "last of its list, offer numbers beyond that.",
            ),
        ),
        hints=(
            "How many blocks does the best of five_numbers make of this product, for 132 "
            "multiprocessors? And how often does each of them wait for a tile?",
            "Fewer outputs for a thread make more blocks, and deeper tiles make fewer barriers. "
            "Which numbers of the lists would have to be others? The rules stay as they are.",
            "Copy five_numbers under another name. Offer 1 output as well, and 64 and 128 steps of "
            "k. Twenty trials of that space are enough. With a GPU, give wb.tune "
            "measurer=tuning.ByModel(...) of the H100: a measured time is another goal.",
        ),
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
