"""lane_tiles: which lane of a warp holds which cell of a tile, in calls that go by lanes.

The description of an intrinsic says at which thread and register of a fragment each cell of a
tile lies, for every turn of its loops, and these are gone through here. That what runs it does the
same is proved where it is registered, that the hardware does in `lower/lane_calls.py`. A register
has 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from workbench.insight.spread import along_axes, value
from workbench.insight.wavefronts import WARP
from workbench.intrin import TensorIntrin, View, tile_of
from workbench.ir import (
    WARP_CALL,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    PrimFunc,
    Var,
    attrs_dict,
    const,
    dtypes,
    free_vars,
    once,
    walk,
)
from workbench.lower import open_blocks, tensorized
from workbench.lower.lane_calls import first_of_row
from workbench.lower.permute_layouts import COLUMN

CALLS = {
    "ptx_mma": "mma.sync",
    "ptx_ldmatrix": "ldmatrix",
    "mma_load": "load",
    "mma_store": "store",
}
"""The calls whose tiles are told, as one says them."""
PARTS = ("A", "B", "C")  # of a product

Spot: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class LaneTile:
    """A tile and who holds it: of each cell (row, column) the lane, and which of its cells it is.

    `part` says which of a product's it is, and "" of a tile in memory. A cell of `dtype` that is
    the n-th of its lane is in register n // `packed`.
    """

    buffer: str
    part: str
    dtype: str
    held: Mapping[Spot, Spot]

    @property
    def shape(self) -> Spot:
        """How many rows and columns it has."""
        rows, columns = zip(*self.held, strict=True)
        return max(rows) + 1, max(columns) + 1

    @property
    def packed(self) -> int:
        """How many cells are in a register."""
        return 4 // dtypes.itemsize(self.dtype)

    def cells(self, lane: int) -> list[Spot]:
        """The cells that a lane holds, in the order of its registers."""
        own = ((number, cell) for cell, (who, number) in self.held.items() if who == lane)
        return [cell for _, cell in sorted(own)]

    def registers(self, cells: list[Spot]) -> tuple[int, ...]:
        """The registers in which cells are."""
        return tuple(dict.fromkeys(self.held[cell][1] // self.packed for cell in cells))


@dataclass(frozen=True, slots=True)
class LaneCall:
    """A call of a warp in the block `statement` of a program, by TVM's name, and its tiles.

    Of a product these are A by row and term, B by term and column, C by row and column, and `shape`
    is that of the instruction; of a load or a store it is the tile in `memory`. `gives` says of
    ``ldmatrix`` at which cell the row of 16 bytes begins that each lane gives.
    """

    statement: str
    name: str
    shape: str
    tiles: tuple[LaneTile, ...]
    memory: str = ""
    gives: tuple[Spot, ...] = ()

    @property
    def title(self) -> str:
        """What it is called, and where: "ldmatrix of A_shared_warp"."""
        return f"{CALLS[self.name]} of {self.statement}"


def lane_calls(func: PrimFunc) -> tuple[LaneCall, ...]:
    """The calls in a program that load, multiply and store tiles lane by lane, in program order.

    Raises Refusal for a block that is not what its note of a tensor intrinsic says.
    """
    return tuple(_told(open_blocks(func)))


@once
def _told(func: PrimFunc) -> list[LaneCall]:
    found = ((block, fit, call_of(fit[0])) for block, fit in tensorized(func).items())
    return [_call(block, *fit, *call) for block, fit, call in found if call[0] in CALLS]


def call_of(intrin: TensorIntrin) -> tuple[str, ...]:
    """The call of a warp that an intrinsic runs, and how it goes; ("",) if none."""
    notes = (
        attrs_dict(node.annotations) for node in walk(intrin.impl.body) if isinstance(node, For)
    )
    note = next((known[WARP_CALL] for known in notes if WARP_CALL in known), "")
    return tuple(map(str, note)) if isinstance(note, tuple) else (str(note),)


def _call(
    block: Block, intrin: TensorIntrin, views: Mapping[Buffer, View], name: str, *orders: str
) -> LaneCall:
    tiles = [
        LaneTile(views[param].buffer.name, part, param.type, held)
        for param, part, held in held_in(intrin)
    ]
    if name == "ptx_mma":
        return LaneCall(block.name, name, orders[0], tuple(tiles))
    (tile,) = tiles
    memory = next(param for param in intrin.desc.params if not param.is_fragment)
    gives = tuple(_gives(tile, bool(orders))) if name == "ptx_ldmatrix" else ()
    rows, columns = tile.shape
    shape = f"{rows} x {columns}{'.trans' * bool(orders)}"
    return LaneCall(block.name, name, shape, (tile,), views[memory].buffer.name, gives)


@cache
def held_in(intrin: TensorIntrin) -> list[tuple[Buffer, str, Mapping[Spot, Spot]]]:
    """Of each fragment that a call takes who holds which cell: of a product of A, B and C."""
    loops, body = dict[Var, int](), tile_of(intrin.desc.root.body)
    while isinstance(body, For) and isinstance(body.extent, Const):
        loops[body.loop_var] = int(body.extent.value)
        body = body.body
    assert isinstance(body, BufferStore), "a call of a warp has one statement"
    touched = {body.buffer: body.indices}
    for load in (node for node in walk(body.value) if isinstance(node, BufferLoad)):
        touched.setdefault(load.buffer, load.indices)
    memory = [indices for buffer, indices in touched.items() if not buffer.is_fragment]
    held = {buffer: at for buffer, at in touched.items() if buffer.is_fragment}
    if memory:
        return [(buffer, "", _spots(memory[0], at, loops)) for buffer, at in held.items()]
    (c, of_c), (a, of_a), (b, of_b) = ((x, _vars(at)) for x, at in held.items())
    (row,), (column,), (term,) = of_a & of_c, of_b & of_c, of_a & of_b
    cells = {a: (row, term), b: (term, column), c: (row, column)}
    return [
        (buffer, part, _spots(cells[buffer], held[buffer], loops))
        for buffer, part in zip((a, b, c), PARTS, strict=True)
    ]


def _vars(indices: tuple[Expr, ...]) -> frozenset[Var]:
    return frozenset().union(*map(free_vars, indices))


def _spots(
    cell: tuple[Expr, ...], held: tuple[Expr, ...], loops: Mapping[Var, int]
) -> Mapping[Spot, Spot]:
    """Of the cell of each turn the thread and the number among its cells."""
    own = {var: size for var, size in loops.items() if var in _vars((*cell, *held))}
    env = dict(zip(own, along_axes(own.values()), strict=True))
    every = np.broadcast_arrays(*(np.asarray(value(e, env)) for e in (*cell, *held)))
    row, column, lane, number = (one.ravel().tolist() for one in every)
    return dict(
        sorted(zip(zip(row, column, strict=True), zip(lane, number, strict=True), strict=True))
    )


def _gives(tile: LaneTile, turned: bool) -> Iterator[Spot]:
    """Where the row begins that each lane gives ``ldmatrix``."""
    where = {spot: cell for cell, spot in tile.held.items()}
    for lane in range(WARP):
        thread, number = first_of_row(const(lane, "int32"), tile.packed, turned)
        yield where[int(value(thread, {})), int(value(number, {}))]


def row_cells(tile: LaneTile) -> int:
    """How many cells a row of 16 bytes has."""
    return COLUMN // dtypes.itemsize(tile.dtype)
