"""Lesson 10: tiles for warps that read shared memory seldom, and fit into little of it."""

from __future__ import annotations

from functools import partial

from workbench.lesson.exercise import Exercise, Goal
from workbench.lesson.goals import (
    at_most_loads,
    at_most_registers_of_sums,
    at_most_shared,
    on_tensor_cores,
    threads_between,
)
from workbench.lesson.tile_convolutions import TILE, tile_convolution

SIZES = ((2, 4, 8, 4), (2, 2, 4, 8), (3, 4, 8, 4), (2, 6, 8, 4))
"""Pixels of a side; tiles of channels, of filters, of pictures."""
BYTES = 20 * 1024
REGISTERS = 64
HINTS = (
    "What decides how often a fragment is loaded again: how many warps a block has, or "
    "how many tiles a warp has?",
    "With r x c tiles a warp loads r + c fragments for r times c products, and holds 8 "
    "times r times c sums a thread. Which r and c are just enough? They need not be the "
    "same.",
    "Let warps times tiles be all tiles of pictures and all of filters. Then one tile of "
    "channels at a time takes the least of shared memory.",
)


def made(size: tuple[int, int, int, int], key: str) -> Exercise:
    """The exercise on a convolution of that size."""
    side, inputs, outputs, batch = size
    loads = 9 * inputs * 0.75
    return Exercise(
        name=f"tiles for warps, on {batch} x {outputs} tiles of outputs a pixel",
        key=key,
        lesson="10_tensor_cores",
        task=f"A convolution of {side} x {side} pixels with {inputs} tiles of channels, {outputs} "
        f"of filters and {batch} of pictures. Let Tensor Cores do all of its products. Choose the "
        f"tiles of a warp so that at most {loads:g} elements of shared memory are loaded for each "
        f"output and their sums take at most {REGISTERS} registers of each thread; and what is "
        f"fetched at a time so that a block takes at most {BYTES // 1024} KiB ({BYTES} bytes) of "
        "shared memory.",
        program=tile_convolution(side, inputs, outputs, batch),
        goals=(
            Goal(
                on_tensor_cores(),
                hint="Tensorize five blocks: the two loads of fragments, the start of the sums, "
                "the products, the store.",
            ),
            Goal(
                at_most_loads(
                    "shared",
                    loads,
                    side * side * outputs * batch * TILE**2,
                    why="A fragment of A that is loaded serves all tiles of filters of its warp, "
                    "one of W all tiles of pictures.",
                ),
                hint="A warp with r x c tiles loads r fragments of A and c of W for r times c "
                f"products: {9 * inputs}/c + {9 * inputs}/r elements for each output.",
            ),
            Goal(
                at_most_registers_of_sums(REGISTERS),
                hint="A tile has 256 sums of 4 bytes, which 32 threads hold together, 8 each: take "
                "a warp of fewer tiles.",
            ),
            Goal(
                at_most_shared(BYTES),
                hint="A block fetches three pixels of all of its tiles of pictures, and three taps "
                "of all of its tiles of filters, for each tile of channels that it takes at a "
                "time: take fewer of these.",
            ),
            Goal(
                threads_between(64, 256, 32),
                hint="warps[0] times warps[1] warps are in a block, each of 32 threads.",
            ),
        ),
        hints=HINTS,
    )


EXERCISES = tuple(partial(made, size) for size in SIZES)
