"""The picture of fragments: what a warp multiplies, its tiles as in a product of matrices.

Where calls go by lanes each cell has the number of its lane; of ``wmma`` nobody knows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.diag import count_text
from workbench.draw.lane_tiles import held_text, memory_scene, product_scenes
from workbench.draw.picture import Picture
from workbench.draw.scene import Rect, Scene, Shape, Stands, Words, path, standing
from workbench.insight import WARP, LaneCall, Selection, Table, chosen_values
from workbench.insight.fragments import Fragments
from workbench.lower.warp_calls import TILE

SIDE, APART, LINE = 64.0, 8.0, 16.0  # px of a tile; between arrays; of a line of words
LEFT = 4.0
_PLACES = ("wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator")

CALL, LANE = "call", "threadIdx.x"  # what a selection names
_NONE = "No call of a warp multiplies tiles here; tensorize has it do so."


def lanes_picture(calls: Sequence[LaneCall], select: Selection) -> Picture:
    """One of the `calls`, of which `select` says the number as "call", a product if it does not.

    The lane that it has as "threadIdx.x" stands out. Raises ValueError for what there is not.
    """
    chosen = chosen_values({CALL: len(calls), LANE: WARP}, select)
    call, lane = calls[chosen.get(CALL, first_call(calls))], chosen.get(LANE)
    if call.memory:
        scenes: tuple[Scene, ...] = (memory_scene(call, lane),)
    else:
        scenes = product_scenes(call, lane)
    heads = [tile.buffer for tile in call.tiles]
    rows = [[held_text(tile, number) for tile in call.tiles] for number in range(WARP)]
    if call.gives:
        heads = [f"gives the row of {call.memory} at", *heads]
        rows = [[str([*cell]), *row] for cell, row in zip(call.gives, rows, strict=True)]
    table = Table(("lane", *heads), tuple((number, *row) for number, row in enumerate(rows)))
    caption = _caption(call, lane)
    return Picture(scenes, caption, table, "counted", full="\n".join([caption, *_full(call, lane)]))


def first_call(calls: Sequence[LaneCall]) -> int:
    """The number of the call to be looked at first: a product, if there is one."""
    return next((k for k, call in enumerate(calls) if call.name == "ptx_mma"), 0)


def _caption(call: LaneCall, lane: int | None) -> str:
    """What is seen, in one line."""
    who = "Each lane" if lane is None else f"Lane {lane}"
    if call.gives:
        if lane is None:
            return "Left of a row stands the lane that gives it, in its boxes those that get it."
        return f"Lane {lane} gives the row at {[*call.gives[lane]]}, and gets its boxes."
    told = [
        f"{len(tile.cells(0))} of {tile.part or call.memory} in "
        f"{len(tile.registers(tile.cells(0)))}"
        for tile in call.tiles
    ]
    if call.memory:
        does = "stores" if call.name == "mma_store" else "loads"
        several = "" if call.tiles[0].dtype == "int8" else ", two neighbours at a time"
        return f"{who} {does} cells: {told[0]} registers{several}."
    return f"{who} holds cells: {told[0]} registers, {told[1]}, {told[2]}."


def _full(call: LaneCall, lane: int | None) -> Iterator[str]:
    yield f"{call.title}, {call.shape}. Numbers in boxes are lanes of a warp, 0 to {WARP - 1}."
    if call.gives:
        yield (
            f"Each lane gives ldmatrix the address of a row of 16 bytes of {call.memory}: lanes 0 "
            "to 7 those of the first matrix of 8 rows, 8 to 15 those of the second, and so on. "
            f"The n-th matrix comes to register n of {call.tiles[0].buffer}."
        )
    if lane is None:
        return
    for tile in call.tiles:
        yield f"Lane {lane} of {tile.part or tile.buffer}: {held_text(tile, lane)}."


def wmma_picture(parts: Sequence[Fragments]) -> Picture:
    """The fragments of ``wmma``, of which nobody knows who holds what; words where are none."""
    if not parts:
        return Picture((covered_fragments("none"),), _NONE, Table(("buffer",), ()), "counted")
    tiles = sum(part.tiles for part in parts)
    caption = f"{count_text(tiles, 'fragment')} a warp; wmma does not tell who holds which cell."
    heads = ("fragments of", "memory", "type", "tiles", "registers of a lane for each")
    rows = ((p.buffer, p.scope, p.dtype, p.tiles, p.registers) for p in parts)
    return Picture((fragments_scene(parts),), caption, Table(heads, tuple(rows)), "counted")


def covered_fragments(said: str = "?") -> Scene:
    """Three tiles as in a product, and what is `said` of who holds their cells."""
    x, y = LEFT + SIDE + APART, LEFT + SIDE + APART
    spots = (LEFT, y), (x, LEFT), (x, y)
    boxes = [Rect(*spot, SIDE, SIDE, "idle") for spot in spots]
    marks = [Words(said, a + SIDE / 2, b + SIDE / 2 + 4) for a, b in spots]
    return Scene(x + SIDE + LEFT, y + SIDE + LEFT, (*boxes, *marks))


def fragments_scene(parts: Sequence[Fragments]) -> Scene:
    """Each tile as 16 x 16 cells: factors on the left and above, what they are added to between.

    In none is said which thread holds which cell: a program cannot know.
    """
    of = {scope: [one for one in parts if one.scope == scope] for scope in _PLACES}
    rows, columns = (max(1, sum(p.tiles for p in of[scope])) for scope in _PLACES[:2])
    x, y = LEFT + SIDE + APART, LINE + SIDE + APART
    shapes = [
        *_tiles(of["wmma.matrix_a"], LEFT, y, 1),
        *_tiles(of["wmma.matrix_b"], x, LINE, columns),
        *_tiles(of["wmma.accumulator"], x, y, columns),
        *(Words(p.buffer, x, LINE - 4, "name", "start") for p in of["wmma.matrix_b"]),
    ]
    sums = sum(p.tiles for p in of["wmma.accumulator"])
    high = y + SIDE * max(rows, -(-sums // columns)) + LINE
    for scope, left in ((_PLACES[0], LEFT), (_PLACES[2], x)):
        shapes += [Words(p.buffer, left, high - 3, "name", "start") for p in of[scope]]
        high += LINE if scope == _PLACES[0] and of[scope] else 0
    wide = max(x + SIDE * columns, 420.0) + LEFT
    return Scene(wide, high + 2, tuple(shapes))


def _tiles(parts: Sequence[Fragments], left: float, top: float, across: int) -> Iterator[Shape]:
    """The tiles of arrays, `across` in a row."""
    every = [(part, k) for part in parts for k in range(part.tiles)]
    for place, (part, k) in enumerate(every):
        x, y = left + place % across * SIDE, top + place // across * SIDE
        step, size = (SIDE - 2) / TILE, SIDE - 2
        lines = [((x + i * step, y), (x + i * step, y + size)) for i in range(TILE + 1)]
        lines += [((x, y + i * step), (x + size, y + i * step)) for i in range(TILE + 1)]
        title = (
            f"fragment {k} of {part.buffer}: {TILE} x {TILE} {part.dtype}, {part.registers} "
            "registers in each of 32 threads; which cells a thread holds is not told"
        )
        yield from standing(
            Stands(buffer=part.buffer, title=title),
            [
                Rect(x, y, size, size, "idle"),
                path("grid", *lines),
                Words("?", x + size / 2, y + size / 2 + 4, "strong"),
            ],
        )
