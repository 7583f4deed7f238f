"""evaluate: run any program by its meaning, one loop iteration after the other in effect.

The meaning of a program is that of its loops run one after the other. That alone would take a
Python statement for each store, so a nest of loops first runs as lanes: each statement for all
iterations at once, an axis of an array for each loop. That is right where every load reads what it
would have read in serial order, and each cell ends with the last of its writes. To know this,
the stores of the serial run are numbered, its *steps* (a loop's extent times the steps of its
body), which is known beforehand as extents are constants. Each cell notes the step at which its
value last became what it is. Then

- a load at step s is wrong only if its cell holds what a step s or later wrote (`changed`): what
  should have come before s but runs after it is kept out by the text, for no statement may read
  what a later one writes (`Order.may_be_lanes`);
- a write at step s is wrong where a later step wrote the cell already (`touched`) and the value is
  another; writes of equal bits may come in any order;
- ``C[e] = f(C[e], …)`` reads its own cell: its lanes run in rounds, the first of every cell, then
  the second of every cell, and so on; or by a ufunc's ``at``, which goes in order.

Where one of these is broken, or anything is refused, all writes are undone from a log, the loop
runs one iteration at a time, and the loops inside it are tried as lanes again. So a refusal is
only ever told from a serial run, where the iteration that it names is the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from workbench.diag import Refusal
from workbench.emulate.arrays import Arguments
from workbench.emulate.errors import EmulationError, NotEnoughMemory, explain
from workbench.emulate.expressions import (
    Env,
    Expressions,
    Mask,
    Site,
    along,
    count_turns,
    is_empty,
    narrow,
)
from workbench.emulate.kernels.run import run
from workbench.emulate.memory import check_fits
from workbench.emulate.numbers import Value, numpy_type
from workbench.emulate.programs.large import as_launches
from workbench.emulate.programs.order import Order, buffers_read
from workbench.emulate.sizes import refuse_division, sizes_of
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    Node,
    PrimFunc,
    SeqStmt,
    Sized,
    Stmt,
    Var,
    free_vars,
    stores,
    structural_equal,
    walk,
)
from workbench.ir.places import inner

STEPS = 16  # bytes that tell of a cell when it changed, and when it was written
STEP = 72  # bytes of a lane that runs in serial order: its cell, its step, what was there before
NEVER = (1 << 63) - 1


def evaluate(func: PrimFunc, args: Sequence[np.ndarray[Any, Any]]) -> None:
    """Run `func` on `args`, one NumPy array a parameter; what it writes is written in place.

    Scopes are labels and thread bindings loops: the result is that of running the loops one after
    the other, in exactly that order where floats make it matter. Raises EmulationError where an
    index leaves its buffer, an intermediate cell is read before it is written, an integer is
    divided by zero, or the arrays do not fit the parameters, whose sizes they may tell;
    NotEnoughMemory, before anything
    runs, where that would need more memory than is free.

    >>> emulate.evaluate(add, [A, B])
    >>> B
    array([1., 2., 3., 4., 5., 6., 7., 8.], dtype=float32)
    """
    try:
        func = _with_numbers(func, args) if func.sizes else func
        written = {store.buffer for store in stores(func)}
        arguments = Arguments(func.params, args, written)
        if _run_large(func, args, written):
            return
        order = Order()
        check_fits(func.name, of_meaning(func, order))
        with np.errstate(all="ignore"):
            Evaluation(func, order, arguments, written).run_all()
    except Refusal as refusal:
        raise explain(refusal, func) from None
    arguments.write_back()


def _with_numbers(func: PrimFunc, args: Sequence[np.ndarray[Any, Any]]) -> PrimFunc:
    """`func` with the sizes that `args` tell."""
    values = sizes_of(func, args)
    try:
        return Sized(values).of(func)
    except ZeroDivisionError:
        raise refuse_division(values) from None


def _run_large(func: PrimFunc, args: Sequence[np.ndarray[Any, Any]], written: set[Buffer]) -> bool:
    """Run a large program on the lane machine; False, with nothing done, where that is not it."""
    launches = as_launches(func)
    if launches is None:
        return False
    before = {k: args[k].copy() for k, p in enumerate(func.params) if p in written}
    try:
        run(launches, args, params=func.params)
    except NotEnoughMemory:
        raise
    except EmulationError:  # told in the program's own words when it happens again, in order
        for k, values in before.items():
            args[k][...] = values
        return False
    return True


def of_meaning(func: PrimFunc, order: Order) -> int:
    """Bytes beside its arrays that `func` takes run by its meaning, some loops as lanes."""
    written = {store.buffer for store in stores(func)}
    total = sum(STEPS * prod(b.shape) for b in written)
    for node in walk(func):
        for buffer in node.alloc_buffers if isinstance(node, Block) else ():
            total += prod(buffer.shape) * numpy_type(buffer.type).itemsize
    loops = [node for node in walk(func) if isinstance(node, For)]
    return total + STEP * max(
        (order.count_lanes(n) for n in loops if order.may_be_lanes(n)), default=1
    )


class OutOfOrder(Exception):
    """Lanes would show a statement another value than it sees in serial order."""


class Cells:
    """Flat memory of `buffer`; `changed` and `touched` hold a step a cell (-1: before the run).

    `changed` is when the value last became what it is (NEVER: unwritten), `touched` when it was
    last written, perhaps with the same bits; both are None for a buffer that is only read.
    A parameter's `data` is there before the run; an intermediate's, given as None, is not.
    """

    changed: Any
    touched: Any

    def __init__(self, buffer: Buffer, data: Any = None, *, only_read: bool = False) -> None:
        size = prod(buffer.shape)
        self.buffer = buffer
        self.data = np.zeros(size, numpy_type(buffer.type)) if data is None else data
        self._bits = self.data.view(f"u{self.data.itemsize}")
        self.changed = self.touched = None
        if not only_read:
            self.changed = np.full(size, NEVER if data is None else -1, dtype=np.int64)
            self.touched = np.full(size, -1, dtype=np.int64)

    def snapshot(self, where: Any) -> tuple[Any, ...]:
        """What `restore` needs to undo a write of the cells `where`."""
        return where, self._bits[where], self.changed[where], self.touched[where]

    def restore(self, before: tuple[Any, ...]) -> None:
        """Undo a write."""
        where, self._bits[where], self.changed[where], self.touched[where] = before

    def check_order(self, index: Any, step: Any, mask: Any) -> None:
        """Raise OutOfOrder where a cell was already written at a later step than `step`."""
        if narrow(mask, self.touched[index] > step).any():
            raise OutOfOrder

    def write(self, where: Any, values: Any, step: Any) -> None:
        """Write `values` to the cells `where`, one a lane in serial order, at steps `step`."""
        values = np.ascontiguousarray(values, dtype=self.data.dtype)
        bits = values.view(self._bits.dtype)
        new = (self._bits[where] != bits) | (self.changed[where] == NEVER)
        if (self.touched[where][new] > step[new]).any():
            raise OutOfOrder
        self._bits[where] = bits
        if np.array_equal(self._bits[where], bits):  # copies of one value: there from the first on
            self.changed[where[new][::-1]] = step[new][::-1]
        else:
            self.changed[where] = step
        self.touched[where] = np.maximum(self.touched[where], step)

    def name_of(self, cell: int) -> str:
        """The cell as a learner writes it: ``C[1, 2]``."""
        index = np.unravel_index(cell, self.buffer.shape)
        return f"{self.buffer.name}[{', '.join(str(int(i)) for i in index)}]"


class Evaluation(Expressions):
    """One run of a program, nests of loops as lanes where that comes to the same, see above."""

    def __init__(
        self, func: PrimFunc, order: Order, arguments: Arguments, written: set[Buffer]
    ) -> None:
        self.func, self.order = func, order
        self.clock = 0  # steps of the serial order that are over
        self.step: Any = 0  # the step that runs now: one a lane
        self.shape: tuple[int, ...] = ()  # extents of the loops that are lanes, and 1 for the rest
        self.serial: set[For] = set()  # loops that did not come out right as lanes
        self.here: Env = {}  # the loop variables of the statement that runs
        self.log: list[tuple[Cells, tuple[Any, ...]]] | None = None
        self.cells = {
            p: Cells(p, flat, only_read=p not in written)
            for p, flat in zip(func.params, arguments.flat, strict=True)
        }
        self._own_cell: dict[BufferStore, bool | None] = {}

    def run_all(self) -> None:
        """Run the whole program."""
        self._realize(self.func.body, {}, None)

    # --- statements ------------------------------------------------------------------------------

    def _run(self, stmt: Stmt, env: dict[Var, Any], mask: Mask, depth: int = 0) -> None:
        match stmt:
            case SeqStmt():
                for part in stmt.stmts:
                    self._run(part, env, mask, depth)
            case For():
                self._loop(stmt, env, mask, depth)
            case BlockRealize():
                self._realize(stmt, env, mask, depth)
            case IfThenElse():
                self._if(stmt, env, mask, depth)
            case BufferStore():
                self._store(stmt, env, mask)
                self._advance(1)
            case _:
                raise TypeError(f"a {type(stmt).__name__} has no meaning in a program")

    def _advance(self, steps: int) -> None:
        if self.log is None:
            self.clock += steps
        self.step = self.step + steps

    def _loop(self, loop: For, env: dict[Var, Any], mask: Mask, depth: int) -> None:
        if self.log is not None:
            self._run_lanes(loop, env, mask, depth)
        elif (
            loop in self.serial
            or not self.order.may_be_lanes(loop)
            or not self._try_lanes(loop, env)
        ):
            kind = numpy_type(loop.loop_var.type)
            first = int(self.value(loop.min, env, None))
            count = int(self.value(loop.extent, env, None))
            for k in range(first, first + count):
                turn = np.asarray(k).astype(kind)[()]  # wraps around, as adding to it does
                self._run(loop.body, {**env, loop.loop_var: turn}, mask)

    def _try_lanes(self, loop: For, env: dict[Var, Any]) -> bool:
        """Run `loop` as lanes; False, with nothing done, where that would change its result."""
        self.log, self.shape, self.step = [], (1,) * _count_nesting(loop), np.int64(self.clock)
        try:
            self._run_lanes(loop, env, None, 0)
        except (OutOfOrder, Refusal):  # in serial order the refusal may not come, or come elsewhere
            for cells, before in reversed(self.log):
                cells.restore(before)
            self.serial.add(loop)
            return False
        else:
            self.clock += self.order.count_steps(loop)
            return True
        finally:
            self.log, self.shape, self.step = None, (), self.clock

    def _run_lanes(self, loop: For, env: dict[Var, Any], mask: Mask, depth: int) -> None:
        count = count_turns(loop)
        if count <= 0:
            return
        shape, step = self.shape, self.step
        iteration = along(depth, len(shape), np.arange(count))
        kind = numpy_type(loop.loop_var.type)
        index = self.value(loop.min, env, mask) + iteration.astype(kind)
        self.shape = (*shape[:depth], count, *shape[depth + 1 :])
        self.step = step + iteration * self.order.count_steps(loop.body)
        self._run(loop.body, {**env, loop.loop_var: index}, mask, depth + 1)
        self.shape, self.step = shape, step + self.order.count_steps(loop)

    def _if(self, stmt: IfThenElse, env: dict[Var, Any], mask: Mask, depth: int) -> None:
        condition = self.value(stmt.condition, env, mask)
        self._run_where(stmt.then_case, env, narrow(mask, condition), depth)
        if stmt.else_case is not None:
            no = narrow(mask, np.logical_not(condition))
            self._run_where(stmt.else_case, env, no, depth)

    def _run_where(self, stmt: Stmt, env: dict[Var, Any], mask: Mask, depth: int) -> None:
        if is_empty(mask):
            self._skip(stmt)
        else:
            self._run(stmt, env, mask, depth)

    def _skip(self, stmt: Stmt) -> None:
        if self.log is not None:
            self.step = self.step + self.order.count_steps(stmt)

    def _realize(
        self, realize: BlockRealize, env: dict[Var, Any], mask: Mask, depth: int = 0
    ) -> None:
        block = realize.block
        if realize.predicate is not TRUE:
            mask = narrow(mask, self.value(realize.predicate, env, mask))
            if is_empty(mask):
                self._skip(realize)
                return
        values = [self.value(value, env, mask) for value in realize.iter_values]
        env = {**env, **{i.var: v for i, v in zip(block.iter_vars, values, strict=True)}}
        for buffer in block.alloc_buffers:
            self.cells[buffer] = Cells(buffer)
        if block.init is not None:
            self._run_where(block.init, env, self._is_first(block, env, mask), depth)
        self._run(block.body, env, mask, depth)

    def _is_first(self, block: Block, env: Env, mask: Mask) -> Mask:
        """The lanes in which every reduction iterator of `block` is at its start."""
        for iterator in block.iter_vars:
            if iterator.kind == "reduce":
                start = self.value(iterator.dom.min, env, mask)
                mask = narrow(mask, np.equal(env[iterator.var], start))
        return mask

    # --- memory ----------------------------------------------------------------------------------

    def load(self, load: BufferLoad, env: Env, mask: Mask) -> Value:
        """What each lane of `mask` reads, which must have been written."""
        cells = self.cells[load.buffer]
        index = self._address(load, env, mask)
        if not cells.data.size:  # no lane that runs is here
            return numpy_type(load.buffer.type).type(0)
        if cells.changed is not None:
            self._check_written(cells, index, mask, load)
        return cells.data[index]

    def _check_written(self, cells: Cells, index: Any, mask: Mask, site: Site) -> None:
        if narrow(mask, cells.changed[index] >= self.step).any():
            if self.log is not None:
                raise OutOfOrder
            raise Refusal(
                f"Can't read {cells.name_of(int(index))}: nothing has written it",
                site,
                detail=self._tell_iteration(),
                hint=f"write it before this reads it, or start {site.buffer.name} with an init.",
            )

    def _address(self, site: Site, env: Env, mask: Mask) -> Any:
        """The flat cell that each lane touches; lanes outside `mask` get cell 0."""
        flat: Any = np.int64(0)
        for dim, (expr, size) in enumerate(zip(site.indices, site.buffer.shape, strict=True)):
            index = self.value(expr, env, mask)
            if not _all_within(index, size):
                outside = np.logical_or(np.less(index, 0), np.greater_equal(index, size))
                if np.any(narrow(mask, outside)):
                    raise self._out_of_bounds(site, dim, env)
                index = np.where(outside, 0, index)
            flat = flat * size + index
        return flat

    def _out_of_bounds(self, site: Site, dim: int, env: Env) -> Refusal:
        if self.log is not None:  # it runs again in serial order, and is told then
            return Refusal("outside", site, hint="")
        buffer = site.buffer
        place = ", ".join(str(int(self.value(i, env, None))) for i in site.indices)
        act = "write" if isinstance(site, BufferStore) else "read"
        axis = f"dimension {dim} of " if len(buffer.shape) > 1 else ""
        return Refusal(
            f"Can't {act} {buffer.name}[{place}]: "
            f"{axis}{buffer.name} goes from 0 to {buffer.shape[dim] - 1}",
            site,
            detail=self._tell_iteration(),
            hint="make the loops or a T.where keep the index inside the buffer.",
        )

    def tell_lane(self, bad: Mask, does: str) -> str:
        """The iteration that does what is refused."""
        return self._tell_iteration()

    def _tell_iteration(self) -> str:
        """The iteration that runs; a refusal is told only where loops run one at a time."""
        values = [f"{v.name}={int(n)}" for v, n in self.here.items() if np.ndim(n) == 0]
        return "at " + ", ".join(values) if values else ""

    def _store(self, store: BufferStore, env: Env, mask: Mask) -> None:
        self.here = env
        cells = self.cells[store.buffer]
        own = self._updates_own_cell(store)
        if own is None or self.log is None:
            index = self._address(store, env, mask)
            self._write(cells, index, self.value(store.value, env, mask), mask)
        elif own:
            self._update(store, cells, env, mask)
        else:
            raise OutOfOrder

    def _write(self, cells: Cells, index: Any, value: Any, mask: Mask) -> None:
        where = self._list_active(index, mask)
        self._note(cells, where)
        cells.write(where, self._list_active(value, mask), self._list_active(self.step, mask))

    def _note(self, cells: Cells, where: Any) -> None:
        """Keep what undoes a write of the cells `where`."""
        if self.log is not None:
            self.log.append((cells, cells.snapshot(where)))

    def _list_active(self, values: Any, mask: Mask) -> Any:
        """One element for each lane of `mask`, in serial order."""
        flat = self._of_each_lane(values)
        return flat if mask is None else flat[self._of_each_lane(mask)]

    def _of_each_lane(self, values: Any) -> Any:
        if np.shape(values) != self.shape:  # most are, and to ask for it takes ten times as long
            values = np.broadcast_to(values, self.shape)
        return np.reshape(values, -1)

    def _updates_own_cell(self, store: BufferStore) -> bool | None:
        """None where `store` does not read its buffer; else whether it reads only its own cell."""
        if store not in self._own_cell:
            loads = (node for node in walk(store.value) if isinstance(node, BufferLoad))
            own = [load for load in loads if load.buffer is store.buffer]
            same = all(_same_place(load, store) for load in own)
            inside = any(store.buffer in buffers_read(index) for index in store.indices)
            self._own_cell[store] = (same and not inside) if own or inside else None
        return self._own_cell[store]

    def _update(self, store: BufferStore, cells: Cells, env: Env, mask: Mask) -> None:
        """Run `C[e] = f(C[e], …)` in every lane, in serial order for each cell."""
        index = self._address(store, env, mask)
        self._check_written(cells, index, mask, store)
        cells.check_order(index, self.step, mask)
        where = self._list_active(index, mask)
        self._note(cells, where)
        accumulate = _accumulation(store)
        if accumulate is not None:
            ufunc, operand = accumulate
            ufunc.at(cells.data, where, self._list_active(self.value(operand, env, mask), mask))
        else:
            self._update_in_rounds(store, cells, env, mask, where)
        cells.changed[where] = cells.touched[where] = self._list_active(self.step, mask)

    def _update_in_rounds(
        self, store: BufferStore, cells: Cells, env: Env, mask: Mask, where: Any
    ) -> None:
        """The first update of every cell, then every second one, and so on."""
        lanes = self._list_active(np.arange(prod(self.shape)).reshape(self.shape), mask)
        names = [v for v in free_vars(store) if np.ndim(env[v]) > 0]
        full = {v: np.broadcast_to(env[v], self.shape).reshape(-1) for v in names}
        outer_shape, outer_step = self.shape, self.step
        steps = np.broadcast_to(self.step, self.shape).reshape(-1)
        for chosen in _rounds(where):
            here = {**env, **{v: full[v][lanes[chosen]] for v in names}}
            self.shape, self.step = (len(chosen),), steps[lanes[chosen]]
            cells.data[where[chosen]] = self.value(store.value, here, None)
        self.shape, self.step = outer_shape, outer_step


def _all_within(index: Any, size: int) -> bool:
    """Whether the index of each lane, also of those that do not run, is one of `size`."""
    if index.ndim == 0:
        return bool(0 <= index < size)
    return not index.size or bool(index.min() >= 0 and index.max() < size)


def _count_nesting(stmt: Stmt) -> int:
    """How many loops lie one in another in `stmt`."""
    return isinstance(stmt, For) + max((_count_nesting(s) for s in inner(stmt)), default=0)


# --- stores that compute a cell from what it held: C[e] = f(C[e], …) ------------------------------


def _same_place(a: Site, b: Site) -> bool:
    """Whether two sites have one index, variable for variable."""
    pairs = list(zip(a.indices, b.indices, strict=True))
    return all(structural_equal(x, y) and _names_in(x) == _names_in(y) for x, y in pairs)


def _names_in(expr: Expr) -> list[Node]:
    return [node for node in walk(expr) if isinstance(node, (Var, Buffer))]


_AT = {"+": np.add, "-": np.subtract, "*": np.multiply, "min": np.fmin, "max": np.fmax}


def _accumulation(store: BufferStore) -> tuple[np.ufunc, Expr] | None:
    """(operation, x) where `store` is ``C[e] = C[e] op x`` and x does not read C."""
    value = store.value
    if not isinstance(value, BinOp) or value.op not in _AT or store.buffer.type == "bfloat16":
        return None
    sides = [(value.a, value.b)] if value.op == "-" else [(value.a, value.b), (value.b, value.a)]
    for own, operand in sides:
        mine = isinstance(own, BufferLoad) and own.buffer is store.buffer
        if mine and store.buffer not in buffers_read(operand):
            return _AT[value.op], operand
    return None


def _rounds(where: Any) -> list[Any]:
    """Positions in `where`, split so that no cell comes twice in one part, in order for each."""
    order = np.argsort(where, kind="stable")
    cells = where[order]
    starts = np.flatnonzero(np.concatenate(([True], cells[1:] != cells[:-1])))
    first = np.repeat(starts, np.diff(np.append(starts, len(cells))))
    rank = np.empty(len(where), dtype=np.int64)
    rank[order] = np.arange(len(cells)) - first
    by_rank = np.argsort(rank, kind="stable")
    return np.split(by_rank, np.cumsum(np.bincount(rank))[:-1])
