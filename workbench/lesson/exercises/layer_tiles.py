"""Lesson 12: tiles of another layer, which a search finds."""

from __future__ import annotations

from functools import partial

from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import at_least_blocks, at_most_modelled
from workbench.lesson.spaces import layer

SIZES = (((32, 64, 14), 4.0), ((64, 32, 14), 6.5), ((32, 128, 7), 3.0), ((64, 64, 7), 5.0))
"""Channels read and made, and rows of a picture; the µs that the best tiles come near to."""


def made(size: tuple[tuple[int, int, int], float], key: str) -> Exercise:
    """The exercise on a layer of that size."""
    (inputs, outputs, rows), most = size
    return Exercise(
        name=f"a layer of {rows} x {rows}",
        key=key,
        lesson="12_auto_scheduling",
        task=f"A layer of {outputs} channels from {inputs}, on pictures of {rows} x {rows}. Find "
        f"tiles whose modelled time is at most {most:g} µs, by hand or by machine, and take the "
        "steps.",
        program=layer(inputs, outputs, rows),
        goals=(
            Goal(
                at_least_blocks(32),
                hint="The first factors of channels, rows and columns, multiplied, are the blocks.",
            ),
            Goal(
                at_most_modelled(most),
                hint="wb.tune(mine.func, space=layer_tiles, target='nvidia/h200', trials=20) "
                "searches; mine.take(best.trace) takes the steps of what it finds.",
            ),
        ),
        hints=(
            "Which tiles won on the layer of this lesson, and which of their numbers depend on its "
            "sizes?",
            f"{rows} divides otherwise than 7 and 512 do: where can rows and columns go, to "
            "blocks, threads, or the sums of a thread?",
            "best = wb.tune(mine.func, space=layer_tiles, target='nvidia/h200', trials=20), then "
            "mine.take(best.trace).",
        ),
        tolerance=None,
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
