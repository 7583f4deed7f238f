"""Of a call of a warp, what it is called and the tiles that it goes to."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.ir import Buffer, Const, Expr, Var

WARP = 32  # threads of a warp
TILE = 16  # rows and columns of a tile of wmma
MATRIX = 8  # of one of a SIMD group


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of a flat buffer: it begins at the cell `offset`, and its rows are `stride` apart.

    In "warp" memory the rows are threads, and `stride` is how many cells each holds. Of what
    ``ldmatrix`` loads, `offset` is where the row begins that thread `lane` of the call gives, and
    `stride` 0, since nothing follows from one row for the next.
    """

    buffer: Buffer
    offset: Expr
    stride: int


@dataclass(frozen=True, slots=True)
class WarpCall:
    """A call by TVM's name: what it writes, what it reads, how tiles lie, what it fills with.

    `lane` is the number of a thread in its warp, where a tile is told in that; `rows` how far apart
    rows of its tile in memory are said to be, where that is a number.
    """

    name: str
    orders: tuple[str, ...]
    to: Tile
    sources: tuple[Tile, ...]
    value: Const | None = None
    lane: Var | None = None
    rows: int | None = None


def side(buffer: Buffer) -> int:
    """How many rows and columns a fragment of `buffer` has."""
    return MATRIX if buffer.tag == "metal.simdgroup" else TILE


def fragment_cells(tile: Tile) -> int:
    """How many cells of its buffer are one fragment, all threads of a warp together."""
    return WARP * tile.stride if tile.buffer.tag == "warp" else side(tile.buffer) ** 2


def fragment_of(tile: Tile) -> Expr:
    """The number of the fragment that a tile is: rows of fragments lie one after the other."""
    if tile.buffer.tag == "warp":
        return tile.offset // fragment_cells(tile)
    row, column, size = tile.offset // tile.stride, tile.offset % tile.stride, side(tile.buffer)
    return row // size * (tile.stride // size) + column // size
