"""The tiling picture: what a chosen block, thread or loop value touches of each buffer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import prod
from typing import NamedTuple

import numpy as np

from workbench.draw.colours import times_each
from workbench.draw.fields import Placed, fields_of
from workbench.draw.layout import LEFT, LINE, WIDTH, Size, Spot, fitting
from workbench.draw.picture import Parts, Picture
from workbench.draw.scene import (
    Form,
    Rect,
    Scene,
    Shape,
    Stands,
    Words,
    cell_parts,
    standing,
    width_of,
)
from workbench.draw.sheets import (
    ARROWS,
    CHOSEN,
    Frame,
    Level,
    Regions,
    Sheet,
    Span,
    Trio,
    copies,
    frame_of,
    is_bound,
    region_of,
    regions,
    stands_for,
    steady,
    trio_of,
    whole,
)
from workbench.insight import Axis, Digit, Region, Tile, Tiles, Touch, Turns, Values

PRODUCT = (("row", "step"), ("step", "column"), ("row", "column"))  # sides that its sheets share
DONE = {"read": "read", "write": "written"}
LEVELS = ("whole", "block", "thread", "registers")
MOST_PLANES = 1 << 16
"""In how many planes of a sheet something is, is counted one by one in so many, at most."""
"""How near the picture is: all of the buffers, what a block touches, a thread, its registers."""


def tiles_picture(
    tiles: Tiles,
    outer: Sequence[Tiles] = (),
    around: Tiles | None = None,
    level: str | None = None,
    before: Tiles | None = None,
    alike: Values = (),
    turns: Mapping[str, Turns] | None = None,
    loops: Mapping[str, tuple[str, ...]] | None = None,
    around_blocks: Mapping[str, tuple[str, ...]] | None = None,
) -> Picture:
    """What a selection reads and writes of each buffer, inside what wider selections do.

    `outer` are the selections around it, the widest first, such as the block of a thread; `around`
    is what the block touches in the chosen steps (default: the widest). The three matrices of a
    product stand together. `level` is one of those that `levels_of` names (default: all of them).
    What the widest selection touched in the step `before` is hatched; where that has no such
    selection, `alike` are the values of an axis for which it has none either. `turns` say of
    buffers what touches a cell that is pointed at, `loops` which loops of the program each axis is,
    `around_blocks` which of all stand around a block.
    """
    about = _About(turns or {}, loops or {}, around_blocks or {}, tiles.axes)
    levels = _levels([*outer, tiles])
    views = _views(levels, around or (*outer, tiles)[0], before, about)
    names = [view.level for view in views]
    if level is not None and level not in names:
        raise ValueError(f"there is no level {level!r} here; there are: {', '.join(names)}")
    shown = [view for view in views if level in (None, view.level)]
    slides = _values([tiles, around or tiles, *outer, *([before] if before else ())], alike)
    if before and not _differs_alike(before, levels):
        slides = None
    steadily = [slides is not None and steady(view.enlarged) for view in shown]
    strips = tuple(
        _strip(view) if moves else _still(_strip(view))
        for view, moves in zip(shown, steadily, strict=True)
    )
    return Picture(
        strips,
        tiles.caption,
        tiles.table,
        tiles.kind,
        slides=slides if any(steadily) else None,
        levels=tuple(view.level for view in shown),
        follow=_follow(tiles),
        cells=_cells(tiles),
    )


def covered_sheets(tiles: Tiles) -> Scene:
    """The buffers of the device as sheets, a product's in line, with "?" for what touches them."""
    view = _whole(tiles, (), None, _About({}, {}, {}, tiles.axes))
    cards = _cards(view)
    layout = fitting(tuple(card.size for card in cards), view.trio is not None)
    shapes: list[Shape] = []
    for one in _places(view, cards, layout.spots):
        shapes += _sheet(view, one)
        x, y, wide, high = one.placed.sheet[:4]
        name = one.placed.buffer
        covered: list[Shape] = [
            Rect(x, y, wide, high, "idle"),
            Words("?", x + wide / 2, y + high / 2 + 4, "on-strong"),
        ]
        shapes += standing(Stands(name, key=view.key(name, None)), covered)
    return Scene(WIDTH, layout.bottom + 4, tuple(shapes))


def _values(selections: Sequence[Tiles], alike: Values) -> Values | None:
    """The values of the axes of the first selection for which all of them slide."""
    ranges = {axis.key: (0, axis.extent) for axis in _chosen(selections[0])}
    for values in (alike, *(one.slides for one in selections)):
        if values is None:
            return None
        for key, first, end in values:
            low, high = ranges[key]
            ranges[key] = max(low, first), min(high, end)
    return tuple((key, *ends) for key, ends in ranges.items())


def _follow(tiles: Tiles) -> Parts:
    """The first line of the caption, for other selections."""
    axes = _chosen(tiles)
    if not axes:
        return ()
    said = [part for axis in axes for part in (f", {axis.key} = ", _value(axis))]
    return ("With " + str(said[0])[2:], *said[1:], ":")


def _cells(tiles: Tiles) -> tuple[tuple[int, int, Parts], ...]:
    """What the table says for other selections: which cells are touched."""
    if tiles.slides is None:
        return ()
    found: list[tuple[int, int, Parts]] = []
    at, row = Level("", tiles).select, 0
    column = tiles.table.columns.index("cells")
    for tile in tiles.tiles:
        for touch in (t for t in (tile.read, tile.write) if t is not None):
            of = stands_for(tile.buffer, touch, region_of(touch), at)
            if of.starts:
                found.append((row, column, (f"{tile.buffer}[", *cell_parts(of), "]")))
            row += 1
        row += len(tile.outside)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _About:
    """What is known of the program beside what is touched."""

    turns: Mapping[str, Turns]
    loops: Mapping[str, tuple[str, ...]]
    around: Mapping[str, tuple[str, ...]]
    axes: tuple[Axis, ...]

    def own(self, shape: Rect) -> Rect:
        """The shape of what a block touches, which stands for loops around that alone."""
        names = {n for block in shape.of.statement.split(", ") for n in self.around.get(block, ())}
        loops = tuple(name for name in shape.of.loops if name in names)
        return shape._replace(of=shape.of._replace(loops=loops))


def _differs_alike(before: Tiles, levels: Sequence[Level]) -> bool:
    """Whether of each buffer the step before touched the same for all selections, or for none."""
    for then in before.tiles:
        tiles = (level.tile(then.buffer) for level in levels)
        now = next((tile for tile in tiles if tile and tile.touches), None)
        if now is None or now.shape != then.shape:
            continue
        alike = len({touch.moves for touch in (*then.touches, *now.touches)}) < 2
        if not alike and any(size in _sizes(now) for size in _sizes(then)):
            return False
    return True


def _sizes(tile: Tile) -> list[list[tuple[int, int]]]:
    """How many cells are touched along each dimension, and how far apart."""
    return [[(count, step) for _, count, step in touch.region] for touch in tile.touches]


@dataclass(frozen=True, slots=True)
class _View:
    """A strip of the picture: `near` is what it shows enlarged, None where it shows all.

    `levels` are the selections drawn in it, outermost first. Copies of a product's matrices stand
    in the place of their `origins`.
    """

    level: str
    near: Level | None
    levels: tuple[Level, ...]
    trio: Trio | None
    alone: tuple[Tile, ...]
    about: _About
    before: Tiles | None = None
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def drawn(self) -> tuple[Tile, ...]:
        """The buffers that have a sheet, those of a product first."""
        return (*(self.trio.tiles if self.trio else ()), *self.alone)

    def key(self, buffer: str, level: Level | None) -> str:
        """What is the same of a buffer in all views: all of it, or what a level touches of it."""
        path = [self.origins.get(buffer, buffer)]
        if level is not None:
            names = (*LEVELS[1:3], level.name)
            path += names[: names.index(level.name) + 1]
        return ">".join(path)

    @property
    def enlarged(self) -> list[Tile]:
        """What its frames are around."""
        wider = [self.near.tile(tile.buffer) for tile in self.drawn] if self.near else []
        return [tile for tile in wider if tile is not None]


def levels_of(tiles: Tiles) -> list[str]:
    """The levels that a selection has, the farthest first."""
    roles = {axis.role for axis in _chosen(tiles)}
    registers = any(t.scope == "local" and t.touches for t in tiles.tiles)
    has = ("block" in roles, "thread" in roles, "thread" in roles and registers)
    return ["whole", *(name for name, there in zip(LEVELS[1:], has, strict=True) if there)]


def _views(
    levels: Sequence[Level], around: Tiles, before: Tiles | None, about: _About
) -> list[_View]:
    inner = levels[-1].tiles
    names = levels_of(inner)
    made = [_whole(inner, tuple(levels), before, about)]
    trio = made[0].trio
    for name in names[1:]:
        near = Level("block", around) if name == "block" else Level("thread", inner)
        deeper = (Level("thread", inner),) if name == "block" and "thread" in names else ()
        of = [t for t in near.tiles.tiles if t.touches]
        of = [t for t in of if t.scope == "local"] if name == "registers" else of
        own = copies(trio, inner) if trio and name != "registers" else None
        linked = own if own and {t.buffer for t in own.tiles} <= {t.buffer for t in of} else None
        rest = [t for t in of if t.scope != "local" or linked is None]
        if linked and trio:  # what was copied is drawn where it was copied to
            rest = list(_others(rest, trio))
        pairs = zip(linked.tiles, trio.tiles, strict=True) if linked and trio else ()
        origins = {copy.buffer: tile.buffer for copy, tile in pairs}
        made.append(_View(name, near, deeper, linked, _others(rest, linked), about, None, origins))
    return made


def _whole(tiles: Tiles, levels: tuple[Level, ...], before: Tiles | None, about: _About) -> _View:
    trio = trio_of(tiles)
    far = [t for t in tiles.tiles if t.scope == "global" or not is_bound(tiles)]
    return _View("whole", None, levels, trio, _others(far, trio), about, before)


def _others(tiles: Sequence[Tile], trio: Trio | None) -> tuple[Tile, ...]:
    linked = {tile.buffer for tile in trio.tiles} if trio else set()
    return tuple(tile for tile in tiles if tile.buffer not in linked)


def _levels(selections: Sequence[Tiles]) -> list[Level]:
    """Each selection by what it chooses more than those around it."""
    levels: list[Level] = []
    known: set[str] = set()
    for tiles in selections:
        new = {a.role for a in _chosen(tiles) if a.key not in known}
        known |= {axis.key for axis in _chosen(tiles)}
        names = [role for role in ("block", "thread") if role in new]
        step = bool(new - {"block", "thread"})
        name = "step" if step else names[-1] if names else "whole program"
        levels.append(Level(name, tiles))
    return levels


def _chosen(tiles: Tiles) -> list[Axis]:
    return [axis for axis in tiles.axes if axis.selected is not None]


def _strip(view: _View) -> Scene:
    """The view in sheets as large as leave it low enough to be seen without a scroll."""
    cards = _cards(view)
    layout = fitting(tuple(card.size for card in cards), view.trio is not None)
    places = _places(view, cards, layout.spots)
    whose = any(level.is_whose for level in (view.near, *view.levels) if level)
    shapes = [*_legend(layout.corner, whose)]
    if view.trio is not None:
        shapes += _corridors(view, view.trio, places[:3])
    for one in places:
        shapes += _sheet(view, one)
    about = view.about
    fields = fields_of([one.placed for one in places], about.turns, about.axes)
    return Scene(WIDTH, layout.bottom + 4, tuple(shapes), fields)


def _still(scene: Scene) -> Scene:
    """The scene for this selection alone."""
    shapes: list[Shape] = []
    for shape in scene.shapes:
        shape = shape._replace(of=shape.of._replace(starts=())) if shape.of.starts else shape
        if isinstance(shape, Rect):
            shape = shape._replace(slide=None)
        elif isinstance(shape, Words):
            shape = shape._replace(slide=None, parts=())
        shapes.append(shape)
    return replace(scene, shapes=tuple(shapes), still=True)


def _value(axis: Axis) -> Form:
    return Form(0, ((Digit(axis.key, 1, axis.extent), 1),))


@cache
def _legend(corner: bool, whose: bool) -> tuple[Shape, ...]:
    """How reads and writes are drawn, and that the fill is how often; in a corner, or in a line.

    `whose`: writes are those of a chosen block or thread.
    """
    shapes: list[Shape] = []
    x, y = LEFT, 0.0
    for role, label in (("read", "↗ reads"), ("write", "↘ writes"), ("both", "both")):
        words = Words(label, x + 24, y + 10, anchor="start")
        shapes += [Rect(x + 1, y + 1, 18, 10, CHOSEN.get(role, role) if whose else role), words]
        x, y = (x, y + LINE) if corner else (x + 30 + width_of(label), y)
    shapes += [Rect(x + 8 * k, y + 1, 8, 10, f"heat-{3 * k}") for k in range(3)]
    shapes.append(Words("× times", x + 29, y + 10, anchor="start"))
    return tuple(standing(Stands(key="legend"), shapes))


class _Card(NamedTuple):
    """A buffer that has a sheet: what this shows of it, and its title."""

    tile: Tile
    frame: Frame
    title: str

    @property
    def size(self) -> Size:
        rows, columns = (span.cells for span in self.frame)
        return Size(rows, columns, width_of(self.title, "strong"))


def _cards(view: _View) -> list[_Card]:
    """The buffers that have a sheet, those of a product first, which share their dimensions."""
    found = []
    for tile in view.drawn:
        near = view.near.tile(tile.buffer) if view.near else None
        widest = view.levels[0].tile(tile.buffer) if view.levels else None
        title = _near_title(near) if near else _title(tile, widest)
        found.append(_Card(tile, frame_of(near) if near else whole(tile), title))
    if view.trio is not None:
        m, n, k = _spans(*(card.frame for card in found[:3]))
        frames: tuple[Frame, ...] = (m, k), (k, n), (m, n)
        found[:3] = [c._replace(frame=f) for c, f in zip(found, frames, strict=False)]
    return found


class _Place(NamedTuple):
    """A buffer's sheet in a strip; its title stands above it from `left` on."""

    card: _Card
    placed: Placed
    left: float


def _places(view: _View, cards: Sequence[_Card], spots: Sequence[Spot]) -> list[_Place]:
    """The sheets at their spots."""
    at, found = _at(view), list[_Place]()
    for k, (card, spot) in enumerate(zip(cards, spots, strict=True)):
        name, sheet = card.tile.buffer, Sheet(*spot[:4], card.frame, at)
        linked = view.trio is not None and k < len(PRODUCT)
        sides = PRODUCT[k] if linked else (f"row of {name}", f"column of {name}")
        placed = Placed(name, len(card.tile.shape), sheet, sides)
        found.append(_Place(card, placed, spot.left))
    return found


def _at(view: _View) -> dict[str, int]:
    """The selection that the view is drawn for."""
    levels = [*view.levels, *((view.near,) if view.near else ())]
    return {key: value for level in levels for key, value in level.select.items()}


def _spans(left: Frame, top: Frame, result: Frame) -> tuple[Span, Span, Span]:
    """Rows of the result, its columns, and the steps of the sum, as far as they are shown."""
    return _join(result[0], left[0]), _join(result[1], top[1]), _join(left[1], top[0])


def _join(a: Span, b: Span) -> Span:
    low = min(a.first, b.first)
    return Span(low, max(a.first + a.cells, b.first + b.cells) - low, a.moves)


def _corridors(view: _View, trio: Trio, places: Sequence[_Place]) -> list[Shape]:
    """Shades that carry the rows and columns of the widest selection from sheet to sheet."""
    left, top, result = (place.placed.sheet for place in places)
    tile = view.levels[0].tile(trio.result.buffer) if view.levels else None
    if tile is None or not tile.touches:
        return []
    shapes: list[Shape] = []
    for box in result.touched(tile.buffer, regions(tile), "corridor")[:1]:
        x0, y0, x1, y1 = box.slide or tuple(
            Form(v) for v in (box.x, box.y, box.x + box.width, box.y + box.height)
        )
        across = (Form(left.x + left.width), y0, Form(result.x), y1)
        down = (x0, Form(top.y + top.height), x1, Form(result.y))
        for edges in (across, down):
            a, b, c, d = (edge.at(result.at) for edge in edges)
            moving = edges if any(edge.terms for edge in edges) else None
            shapes.append(Rect(a, b, c - a, d - b, "corridor", slide=moving))
    return shapes


def _title(tile: Tile, widest: Tile | None) -> str:
    """Its name, in how many of its planes the widest selection is, if not in all, and its shape."""
    some = _planes(widest) if widest else None
    return f"{tile.buffer} {f'{some} of ' if some else ''}{_shape(tile.shape)}"


def _near_title(near: Tile) -> str:
    """Of what is enlarged its name, how often it touches a cell, and in how many of its planes."""
    some = _planes(near)
    planes = f" in {some} of {prod(near.shape[:-2])}" if some else ""
    return f"{near.buffer} {_often(regions(near))}{planes}"


def _often(found: Regions) -> str:
    """How the widest of what is touched is touched, and how often each cell."""
    if not found:
        return ""
    kind, touch, _ = found[-1]
    return f"{ARROWS[kind]} {times_each(touch.accesses / touch.cells)}"


def _planes(tile: Tile) -> int | None:
    """In how many of the planes that lie over each other in a sheet, if surely not in all.

    Of what is touched, in whatever way, all together.
    """
    over = tile.shape[:-2]
    known = all(touch.exact or touch.pieces for touch in tile.touches)
    moves = {(touch.moves or ((),) * len(touch.region))[:-2] for touch in tile.touches}
    if not known or len(moves) != 1:  # what moves apart may be in as many planes, or in more
        return None
    boxes = {r[:-2] for touch in tile.touches for r in touch.pieces or (touch.region,)}
    some = prod(n for _, n, _ in boxes.pop()) if len(boxes) == 1 else _covered(over, boxes)
    return some if some is not None and some < prod(over) else None


def _covered(over: tuple[int, ...], boxes: Collection[Region]) -> int | None:
    """How many of the planes are in one of the boxes; None of too many planes to look at each."""
    if prod(over) > MOST_PLANES:
        return None
    planes = np.zeros(over, dtype=bool)
    for box in boxes:
        planes[tuple(slice(first, first + n * step, step) for first, n, step in box)] = True
    return int(planes.sum())


def _shape(shape: tuple[int, ...]) -> str:
    """All dimensions; where planes lie over each other in a sheet, what of them a plane has."""
    over, sheet = shape[:-2], shape[-2:]
    texts = ["×".join(map(str, some)) for some in ((over, sheet) if _over(shape) else (shape,))]
    return " of ".join(texts) or "1"


def _over(shape: tuple[int, ...]) -> bool:
    """Whether several planes of it lie over each other in its sheet."""
    return prod(shape[:-2]) > 1


def _sheet(view: _View, place: _Place) -> list[Shape]:
    """The sheet and what each selection touches of it, with how often the widest does."""
    sheet, name, own = place.placed.sheet, place.placed.buffer, view.about.own
    whole = Stands(name, key=view.key(name, view.near))
    of = whole._replace(title=_told(view, place.card.tile))
    title = Words(place.card.title, place.left, sheet.y - 5, "strong", "start", of, short=name)
    shapes: list[Shape] = [title, sheet.ground(name)._replace(of=whole)]
    near = view.near.tile(name) if view.near else None
    if view.near and near:
        loops = _loops(view, view.near)
        whose = view.near.is_whose
        shapes += map(own, sheet.touched(name, regions(near), "", loops, whole.key, whose))
    chosen = _selected(view, place, near)
    for tile, level in chosen:
        loops, key = _loops(view, level), view.key(name, level)
        shapes += map(own, sheet.touched(name, regions(tile), "", loops, key, level.is_whose))
    shapes += standing(whole, sheet.grid())
    if not chosen:
        return shapes
    widest, level = chosen[0]
    loops = _loops(view, level)
    then = next((t for t in view.before.tiles if t.buffer == name), None) if view.before else None
    if then and then.shape == place.card.tile.shape and _differ(then, widest):
        still = {touch.stage for touch in widest.touches}
        shapes += (_gone(ghost, still) for ghost in sheet.touched(name, regions(then), "ghost"))
    cells = regions(widest)
    # where narrower ones are drawn, too, it says whose it is, and leaves these to be seen
    often = _often(cells)
    says, short = (often, "") if len(view.levels) < 2 else (f"{level.name} {often}", often)
    label = sheet.label(says, cells, aside=len(chosen) > 1, short=short)
    return shapes + standing(Stands(name, loops=loops, key=view.key(name, level)), label)


def _gone(ghost: Rect, still: Collection[str]) -> Rect:
    """What was touched in the step before, which stands for those blocks alone that do it `still`.

    The others are gone from the program's lines, or touch other buffers there.
    """
    blocks = [block for block in ghost.of.statement.split(", ") if block in still]
    return ghost._replace(of=ghost.of._replace(statement=", ".join(blocks)))


def _selected(view: _View, place: _Place, near: Tile | None) -> list[tuple[Tile, Level]]:
    """What each selection touches of a sheet, where it is not all the wider one.

    `near` is what lies around them; all within something is at least as large as can be seen.
    """
    chosen = []
    wider = near
    for level in view.levels:
        tile = level.tile(place.placed.buffer)
        if tile is None or not tile.touches:
            continue
        if wider is not None:
            tile = _seen(place.placed.sheet, tile)
        if _differ(tile, wider):
            chosen.append((tile, level))
        wider = tile
    return chosen


def _loops(view: _View, level: Level) -> tuple[str, ...]:
    """The loops of which `level` is a turn: those of its block, thread or step."""
    about = view.about
    bound = ("block", "thread")
    named = {a.key: a.role if a.role in bound else "step" for a in about.axes}
    keys = [key for key in level.select if named[key] == level.name]
    return tuple(name for key in keys for name in about.loops.get(key, ()))


def _seen(sheet: Sheet, tile: Tile) -> Tile:
    """With what is large enough to be drawn as it is; the rest is for a deeper level."""
    seen = tuple(filter(sheet.seen, tile.touches))
    return tile if len(seen) == len(tile.touches) else replace(tile, touches=seen)


def _differ(a: Tile, b: Tile | None) -> bool:
    """Whether they are touched in other cells: what lies over the same ones would hide it."""
    return b is None or {t.region for t in a.touches} != {t.region for t in b.touches}


def _told(view: _View, tile: Tile) -> str:
    """How often one cell of a buffer is read and written by each of the selections."""
    levels = [*((view.near,) if view.near else ()), *view.levels]
    if not levels:  # what touches it is covered
        return ""
    last = levels[-1].tile(tile.buffer)
    lines: list[str] = []
    for access in ("read", "write"):
        counts: list[str] = []
        before = ""
        for level in levels:
            own = level.tile(tile.buffer)
            touch = (own.read if access == "read" else own.write) if own else None
            if touch is not None and _times(touch) != before:
                before = _times(touch)
                counts.append(f"{before} by the {level.name}")
        counts += [when for kind, when in (last.outside if last else ()) if kind == access]
        if counts:
            lines.append(f"{tile.buffer} is {DONE[access]} {', '.join(counts)}")
    lines = lines or [f"{tile.buffer} is not touched by this selection"]
    if _over(tile.shape):
        lines.append(f"its sheet shows the last two of {len(tile.shape)} dimensions")
    return "\n".join(lines)


def _times(touch: Touch) -> str:
    if touch.even or touch.accesses == touch.cells:
        number = touch.accesses // touch.cells
        return "once" if number == 1 else f"{number:,} times"
    return f"{touch.reuse:.3g} times on average"
