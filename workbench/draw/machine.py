"""The scene of a GPU in small: blocks that wait, run on multiprocessors, and are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.draw.colours import block_role
from workbench.draw.scene import Rect, Scene, Shape, Words

WIDE, HIGH, GAP = 96, 34, 10  # px of a block on a multiprocessor, without its warps; around it
LINE = 18  # px of a warp
TOP = 84  # px above the multiprocessors: the time, and who waits
STEP, CHIP, NAMES = 34, 28, 74  # px from block to block of a queue, of one, of the queue's name


def machine_scene(
    time: int,
    waiting: Sequence[int],
    running: Mapping[tuple[int, int], int],
    done: Sequence[int],
    machine: tuple[int, int],
    warps: Sequence[tuple[int, int]],
) -> Scene:
    """The blocks of a launch at a time, by their numbers.

    `running` has those that run by multiprocessor and place on it; `machine` is how many
    multiprocessors there are, with room for how many blocks each; `warps` are the first and last
    thread of each warp of a block.
    """
    multiprocessors, room = machine
    shapes: list[Shape] = [Words(f"time {time}", 4, 16, "strong", "start")]
    shapes += _queue(waiting, 30, "waiting")
    tall = HIGH + LINE * len(warps)
    wide = room * (WIDE + GAP) + GAP
    lefts = [4 + m * (wide + 2 * GAP) for m in range(multiprocessors)]
    for m, x in enumerate(lefts):
        shapes.append(Words(f"multiprocessor {m}", x, TOP - 4, anchor="start"))
        shapes.append(Rect(x, TOP, wide, tall + 2 * GAP, "room", round=4))
    for (m, place), block in running.items():
        shapes += _block(lefts[m] + GAP + place * (WIDE + GAP), TOP + GAP, tall, block, warps)
    bottom = TOP + tall + 2 * GAP + 14
    shapes += _queue(done, bottom, "done")
    blocks = len(waiting) + len(running) + len(done)
    width = max(multiprocessors * (wide + 2 * GAP), NAMES + 6 + blocks * STEP)
    return Scene(width, bottom + 34, tuple(shapes))


def _queue(blocks: Sequence[int], y: int, word: str) -> list[Shape]:
    shapes: list[Shape] = [Words(word, 4, y + 18, anchor="start")]
    for k, block in enumerate(blocks):
        x = NAMES + k * STEP
        shapes.append(Rect(x, y, CHIP, 26, block_role(block), round=4))
        shapes.append(Words(str(block), x + CHIP / 2, y + 18))
    return shapes


def _block(x: int, y: int, tall: int, block: int, warps: Sequence[tuple[int, int]]) -> list[Shape]:
    """A block with its warps."""
    shapes: list[Shape] = [Rect(x, y, WIDE, tall, block_role(block), round=4)]
    shapes.append(Words(f"block {block}", x + 6, y + 18, anchor="start"))
    for k, (first, last) in enumerate(warps):
        shapes.append(Words(f"warp {k}: {first}–{last}", x + 6, y + 40 + k * LINE, anchor="start"))
    return shapes
