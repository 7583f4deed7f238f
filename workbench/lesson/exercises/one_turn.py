"""Lesson 6: a wide block of a convolution, whose reads of shared memory take one wavefront each."""

from __future__ import annotations

from functools import partial

from workbench.lesson.convolutions import convolution
from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import (
    at_most_barriers,
    at_most_loads,
    reads_in_one_turn,
    threads_between,
)

SIZES = ((2, 8, 128, 1.1), (2, 8, 256, 0.8), (3, 8, 128, 1.25), (2, 16, 128, 2.2))
"""Pixels of a side, channels, pictures of the batch, loads for each output; 64 filters."""


def made(size: tuple[int, int, int, float], key: str) -> Exercise:
    """The exercise on a convolution of that size."""
    side, channels, batch, loads = size
    barriers = 2 * 9 * channels // 8
    return Exercise(
        name=f"one wavefront for {batch} pictures",
        key=key,
        lesson="06_convolution",
        task=f"A convolution of {side} x {side} pixels with {channels} channels, 64 filters and "
        f"{batch} pictures. Give each block one pixel with all filters and all pictures, so that "
        f"at most {loads:g} elements of global memory are loaded for each output, and let no read "
        "of shared memory take more than one wavefront, with at most "
        f"{barriers} barriers in a block.",
        program=convolution(side, channels, 64, batch),
        goals=(
            Goal(
                threads_between(32, 256, 32),
                hint="threads[0] times threads[1] is the number of threads: a multiple of 32.",
            ),
            Goal(
                at_most_loads(
                    "global",
                    loads,
                    side * side * 64 * batch,
                    why="What a block fetches of W serves all of its pictures, what it fetches of "
                    "A all of its filters.",
                ),
                hint="tile times threads is what a block has, of filters and of pictures. Does "
                f"one block have all {batch} pictures? And do all threads fetch together?",
            ),
            Goal(
                reads_in_one_turn(),
                hint="Ask lesson.banks(mine, ...) for the buffer that takes most wavefronts: how "
                "far apart do neighbouring threads read? More virtual threads bring them nearer.",
            ),
            Goal(
                at_most_barriers(barriers),
                hint="Every fetch costs two barriers, and there is one for each tap of each step "
                "of channels: take more channels at a time.",
            ),
        ),
        hints=(
            "Which threads of a warp read different numbers of Apad_shared: those along x, or "
            "along y? How many are there of them?",
            "Neighbours along x start as many cells apart as a virtual thread has pictures. How "
            "few must these be, so that the cells of all of them lie in 32 banks?",
            f"Let tile times threads be 64 filters and {batch} pictures, in at most 256 threads. "
            "Split the pictures of a thread over so many virtual threads that what is left, times "
            "the threads along x, is at most 32.",
        ),
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
