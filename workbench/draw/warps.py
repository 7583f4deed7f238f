"""The warps of a block: a row each, a box for each lane, hollow where there is no thread."""

from __future__ import annotations

from workbench.diag import count_text
from workbench.draw.scene import Rect, Scene, Shape, Stands, Words, width_of
from workbench.insight import WARP

LANE, HIGH, ROW = 9.0, 12.0, 18.0  # px of a lane, its height, and from warp to warp
GAP = 6.0


def warps_scene(threads: int) -> Scene:
    """The warps of a block of so many `threads`; lanes of the last may have none."""
    warps = [(k, min(k + WARP, threads)) for k in range(0, threads, WARP)]
    names = [f"warp {k}" for k in range(len(warps))]
    left = max(width_of(name, "muted") for name in names) + GAP
    right = left + WARP * LANE + GAP
    shapes: list[Shape] = []
    told = []
    for k, (first, end) in enumerate(warps):
        y = k * ROW
        shapes.append(Words(names[k], left - GAP, y + HIGH - 2, "muted", "end"))
        for lane in range(WARP):
            thread = first + lane
            role = "stored" if thread < end else "idle"
            title = f"lane {lane}: {f'thread {thread}' if thread < end else 'no thread'}"
            box = Rect(left + lane * LANE, y, LANE - 1, HIGH, role, Stands(title=title))
            shapes.append(box)
        idle = WARP - (end - first)
        words = f"threads {first} to {end - 1}"
        words += f", {count_text(idle, 'lane')} empty" if idle else ""
        told.append(width_of(words))
        shapes.append(Words(words, right, y + HIGH - 2, "words", "start"))
    return Scene(right + max(told) + 1, len(warps) * ROW, tuple(shapes))
