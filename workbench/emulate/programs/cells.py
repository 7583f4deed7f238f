"""evaluate_cells: what a program means for some cells of its outputs, and nothing else computed.

A program that says what each cell is, as compute expressions do, is followed from the cells that
are asked for back to the parameters: the store of a buffer is evaluated with its iterators set to
the cell, one lane a cell, and where it loads what the program made, that buffer's store is
evaluated for the cells that are loaded. A sum takes its turns in the order of its loops, so that it
rounds as it does when run whole. This is the meaning of a program where

- each buffer that is written is written by one block, by a store that the block's spatial
  iterators index one for one, over the whole of it and with no condition, and has dimensions;
- what a block loads was written whole by an earlier one, or is never written; only a sum that an
  init starts reads its own buffer, at its own cell.

For every other program, and for one that would take too many turns, since what several turns load
is computed anew in each, `evaluate_cells` has no answer. Nothing scheduled is asked: `func` is the
program that a history starts from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from workbench.diag import Refusal
from workbench.emulate.arrays import Arguments
from workbench.emulate.errors import explain
from workbench.emulate.expressions import Env, Expressions, Mask, count_turns
from workbench.emulate.kernels.machine import Stopped
from workbench.emulate.numbers import Value, numpy_type
from workbench.emulate.programs.order import buffers_read
from workbench.ir import (
    TRUE,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    PrimFunc,
    Stmt,
    Var,
    stmts_of,
    structural_equal,
    walk,
)

_MOST_TURNS = 1 << 16  # of sums, one after the other: about a minute for the cells of four blocks
_LANES = 1 << 16  # cells at a time: what is needed beside the arrays stays small
_CUTS = 16  # parts of one dimension: more would take longer than lanes of one axis

Array = np.ndarray[Any, Any]


def evaluate_cells(
    func: PrimFunc,
    args: Sequence[Array],
    among: Mapping[str, Array],
    *,
    progress: Callable[[int, int], None] | None = None,
    stop: threading.Event | None = None,
) -> list[Array] | None:
    """What the parameters of `func` hold after it ran, in the cells that `among` marks.

    `args` has one array a parameter, of which none is changed; `among` masks of outputs by name.
    Outputs are new arrays, 0 outside of their masks; inputs are `args` themselves. `progress` is
    called with cells done and cells in all; setting `stop` ends it early. None then, and for a
    program that does not say what each cell is, see above, or where a cell is refused: `evaluate`
    has its meaning. Raises EmulationError for a mask that is of no parameter, or does not fit it.

    >>> cells = {"B": np.arange(8) == 3}
    >>> emulate.evaluate_cells(add, [A, B], cells)[1]
    array([0., 0., 0., 4., 0., 0., 0., 0.], dtype=float32)
    """
    try:
        _check_masks(func, among)
    except Refusal as refusal:
        raise explain(refusal, func) from None
    stages = _list_stages(func)
    if stages is None or any(stage.buffer.type == "bfloat16" for stage in stages.values()):
        return None
    wanted = list(args)
    made = {p: among[p.name] for p in func.params if p in stages and p.name in among}
    done, total = 0, sum(int(np.count_nonzero(mask)) for mask in made.values())
    try:
        values = _Cells(func, stages, Arguments(func.params, args, ()), stop)
        with np.errstate(all="ignore"):
            for k, param in enumerate(func.params):
                if param in stages:
                    wanted[k] = np.zeros(param.shape, numpy_type(param.type))
                for count in values.fill(param, wanted[k], made[param]) if param in made else ():
                    done += count
                    if progress is not None:
                        progress(done, total)
    except (Refusal, Stopped):
        return None
    return wanted


def _check_masks(func: PrimFunc, among: Mapping[str, Array]) -> None:
    params = {param.name: param for param in func.params}
    for name, mask in among.items():
        if name not in params:
            raise Refusal(
                f"Can't tell cells of {name}: the program has no parameter of that name",
                hint=f"mark cells of {', '.join(params)}.",
            )
        given = np.asarray(mask)
        if given.shape != params[name].shape or given.dtype != np.bool_:
            raise Refusal(
                f"Can't tell cells of {name} by an array of {given.dtype} of shape {given.shape}",
                hint=f"give one of bool of shape {params[name].shape}, True in the cells that are "
                "asked for.",
            )


@dataclass(frozen=True, slots=True)
class _Stage:
    """The block that makes a buffer: its iterators, the spatial ones in the order of the indices.

    `reduce` are those of a sum with how often each turns, in the order of their loops.
    """

    buffer: Buffer
    spatial: tuple[Var, ...]
    reduce: tuple[tuple[Var, int], ...]
    init: Expr | None
    value: Expr


def _list_stages(func: PrimFunc) -> dict[Buffer, _Stage] | None:
    """The stage of each buffer that `func` writes; None where they do not tell each cell."""
    stages: dict[Buffer, _Stage] = {}
    turns: dict[Buffer, int] = {}
    read: set[Buffer] = set()
    for nest in stmts_of(func.root.body):
        stage = _stage(nest)
        if stage is None or stage.buffer in stages or stage.buffer in read:
            return None
        below = _loaded(stage)
        read |= below
        if any(b not in stages and b not in func.params for b in below):
            return None
        own = prod(count for _, count in stage.reduce)
        turns[stage.buffer] = own * (1 + sum(turns.get(b, 0) for b in below))
        stages[stage.buffer] = stage
    return stages if max(turns.values(), default=0) <= _MOST_TURNS else None


def _loaded(stage: _Stage) -> set[Buffer]:
    """The buffers that `stage` loads, its own only where that is not the cell of its sum."""
    own = buffers_read(stage.value) - {stage.buffer}
    return own if stage.init is None else own | buffers_read(stage.init)


def _stage(nest: Stmt) -> _Stage | None:
    loops: dict[Var, int] = {}
    while isinstance(nest, For):
        if not _is_zero(nest.min) or not isinstance(nest.extent, Const):
            return None
        loops[nest.loop_var] = count_turns(nest)
        nest = nest.body
    if not isinstance(nest, BlockRealize) or nest.predicate is not TRUE:
        return None
    block, store = nest.block, nest.block.body
    bound = dict(zip(nest.iter_values, block.iter_vars, strict=True))
    if set(bound) != set(loops) or len(bound) != len(block.iter_vars) or block.alloc_buffers:
        return None
    if not isinstance(store, BufferStore) or not store.indices or 0 in loops.values():
        return None
    spatial = tuple(i for i in store.indices if isinstance(i, Var))
    sizes = {bound[v].var: loops[v] for v in loops if bound[v].kind != "reduce"}
    reduce = tuple((bound[v].var, loops[v]) for v in loops if bound[v].kind == "reduce")
    if len(spatial) != len(store.indices) or set(spatial) != set(sizes):
        return None
    if len(sizes) != len(spatial) or tuple(sizes[v] for v in spatial) != store.buffer.shape:
        return None
    init = block.init.value if isinstance(block.init, BufferStore) else None
    if not _starts(block.init, store, bool(reduce)):
        return None
    return _Stage(store.buffer, spatial, reduce, init, store.value)


def _starts(init: Stmt | None, store: BufferStore, sums: bool) -> bool:
    """Whether what `store` reads of its own buffer is its own cell, which `init` has set."""
    own = [n for n in walk(store.value) if isinstance(n, BufferLoad) and n.buffer is store.buffer]
    if init is None:
        return not own and not sums
    if not isinstance(init, BufferStore) or init.buffer is not store.buffer:
        return False
    if store.buffer in buffers_read(init.value):
        return False
    places = (init.indices, *(load.indices for load in own))
    return all(place == store.indices for place in places)


def _is_zero(expr: Expr) -> bool:
    return structural_equal(expr, Const(0, expr.dtype))


def _boxes(cells: Sequence[Array], axis: int = 0) -> Iterator[Sequence[Array]]:
    """`cells`, their places in each dimension, as arrays that broadcast to few cells each.

    Where all combinations of the places are among them, as in what a block stores, what depends on
    one dimension is computed once for all of the others; cells that lie otherwise are cut along
    dimension after dimension, and are lanes of one axis in the end.
    """
    size = len(cells[0])
    sides = [np.unique(places) for places in cells]
    if size <= _LANES and prod(len(side) for side in sides) == size:
        yield np.ix_(*sides)
    elif axis < len(cells) and len(sides[axis]) <= _CUTS:
        for place in sides[axis]:
            among = cells[axis] == place
            yield from _boxes([places[among] for places in cells], axis + 1)
    else:
        for start in range(0, size, _LANES):
            yield [places[start : start + _LANES] for places in cells]


class _Cells(Expressions):
    """Values of cells, one a lane; `sums` is what the sum under way has come to, by its buffer."""

    def __init__(
        self,
        func: PrimFunc,
        stages: dict[Buffer, _Stage],
        given: Arguments,
        stop: threading.Event | None,
    ) -> None:
        self.stages, self.stop = stages, stop
        self.given = dict(zip(func.params, given.flat, strict=True))
        self.sums: dict[Buffer, Value] = {}

    def fill(self, buffer: Buffer, into: Array, mask: Array) -> Iterator[int]:
        """Put into `into`, an array of `buffer`, what the cells that `mask` marks hold.

        Yields how many were, time and again.
        """
        for box in _boxes(np.nonzero(mask)):
            into[tuple(box)] = self._made(buffer, box, None)
            yield np.broadcast(*box).size

    def load(self, load: BufferLoad, env: Env, mask: Mask) -> Value:
        """What the cells of `load` hold: a parameter, the sum so far, or what a stage makes."""
        if self.stop is not None and self.stop.is_set():
            raise Stopped
        buffer = load.buffer
        if buffer in self.sums:
            return self.sums[buffer]
        where = []
        for expr, size in zip(load.indices, buffer.shape, strict=True):
            index = self.value(expr, env, mask)
            outside = np.logical_or(np.less(index, 0), np.greater_equal(index, size))
            if np.any(outside if mask is None else np.logical_and(mask, outside)):
                raise Refusal("outside", load, hint="")  # `evaluate` tells it
            where.append(np.where(outside, 0, index))
        if buffer in self.stages:
            return self._made(buffer, where, mask)
        flat: Any = np.int64(0)
        for index, size in zip(where, buffer.shape, strict=True):
            flat = flat * size + index
        return self.given[buffer][flat]

    def tell_lane(self, bad: Mask, does: str) -> str:
        """Nothing: what is refused here is told by `evaluate`."""
        return ""

    def _made(self, buffer: Buffer, where: Sequence[Any], mask: Mask) -> Value:
        """What the stage of `buffer` makes in the cells `where`, an array for each dimension."""
        stage = self.stages[buffer]
        pairs = zip(stage.spatial, where, strict=True)
        env: dict[Var, Any] = {v: np.asarray(n).astype(numpy_type(v.type))[()] for v, n in pairs}
        if stage.init is None:
            return self._rounded(stage, stage.value, env, mask)
        total = self._rounded(stage, stage.init, env, mask)
        names = [v for v, _ in stage.reduce]
        for turn in product(*(range(count) for _, count in stage.reduce)):
            here = {v: numpy_type(v.type).type(n) for v, n in zip(names, turn, strict=True)}
            self.sums[buffer] = total
            total = self._rounded(stage, stage.value, {**env, **here}, mask)
        self.sums.pop(buffer, None)
        return total

    def _rounded(self, stage: _Stage, expr: Expr, env: Env, mask: Mask) -> Value:
        """The value as the buffer holds it."""
        return self.value(expr, env, mask).astype(numpy_type(stage.buffer.type), copy=False)
