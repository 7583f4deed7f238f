"""evaluate: run any program by its meaning, one loop iteration after the other in effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.diag import Refusal
from workbench.emulate.arrays import Arguments
from workbench.emulate.cells import Cells, OutOfOrder
from workbench.emulate.errors import EmulationError, NotEnoughMemory, told
from workbench.emulate.expressions import Env, Expressions, Mask, is_empty, narrowed
from workbench.emulate.large import as_launches
from workbench.emulate.need import check_fits, of_meaning
from workbench.emulate.numbers import Value, numpy_type
from workbench.emulate.order import Order, loaded
from workbench.emulate.run import run
from workbench.emulate.updates import accumulation, rounds, same_place, variables
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    For,
    IfThenElse,
    Node,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    stores,
    walk,
)


def evaluate(func: PrimFunc, args: Sequence[np.ndarray[Any, Any]]) -> None:
    """Run `func` on `args`, one NumPy array a parameter; what it writes is written in place.

    Scopes are labels and thread bindings loops: the result is that of running the loops one after
    the other, in exactly that order where floats make it matter. Raises EmulationError where an
    index leaves its buffer, an intermediate cell is read before it is written, an integer is
    divided by zero, or the arrays do not fit the parameters; NotEnoughMemory, before anything
    runs, where that would need more memory than is free.
    """
    try:
        written = {store.buffer for store in stores(func)}
        arguments = Arguments(func.params, args, written)
        if _runs_large(func, args, written):
            return
        order = Order()
        check_fits(func.name, of_meaning(func, order))
        with np.errstate(all="ignore"):
            _Evaluation(func, order, arguments, written).run_all()
    except Refusal as refusal:
        raise told(refusal, func) from None
    arguments.write_back()


def _runs_large(func: PrimFunc, args: Sequence[np.ndarray[Any, Any]], written: set[Buffer]) -> bool:
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


class _Evaluation(Expressions):
    """One run of a program.

    A loop nest first runs as lanes: every statement for all iterations at once, while each cell
    notes at which step of the serial order it changed. Where a statement would have seen another
    value than in serial order, all is undone and the outermost loop runs one iteration at a time,
    with the loops inside tried as lanes again.
    """

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
            self._lane_loop(loop, env, mask, depth)
        elif loop in self.serial or not self.order.may_be_lanes(loop) or not self._lanes(loop, env):
            kind = numpy_type(loop.loop_var.type)
            first = int(self.value(loop.min, env, None))
            count = int(self.value(loop.extent, env, None))
            for k in range(first, first + count):
                turn = np.asarray(k).astype(kind)[()]  # wraps around, as adding to it does
                self._run(loop.body, {**env, loop.loop_var: turn}, mask)

    def _lanes(self, loop: For, env: dict[Var, Any]) -> bool:
        """Run `loop` as lanes; False, with nothing done, where that would change its result."""
        axes = _nesting(loop)
        self.log, self.shape, self.step = [], (1,) * axes, np.int64(self.clock)
        try:
            self._lane_loop(loop, env, None, 0)
        except (OutOfOrder, Refusal):  # in serial order the refusal may not come, or come elsewhere
            for cells, before in reversed(self.log):
                cells.restore(before)
            self.serial.add(loop)
            return False
        else:
            self.clock += self.order.steps(loop)
            return True
        finally:
            self.log, self.shape, self.step = None, (), self.clock

    def _lane_loop(self, loop: For, env: dict[Var, Any], mask: Mask, depth: int) -> None:
        count = int(self.value(loop.extent, {}, None))
        if count <= 0:
            return
        shape, step = self.shape, self.step
        axis = [1] * len(shape)
        axis[depth] = count
        iteration = np.arange(count).reshape(axis)
        kind = numpy_type(loop.loop_var.type)
        index = self.value(loop.min, env, mask) + iteration.astype(kind)
        self.shape = (*shape[:depth], count, *shape[depth + 1 :])
        self.step = step + iteration * self.order.steps(loop.body)
        self._run(loop.body, {**env, loop.loop_var: index}, mask, depth + 1)
        self.shape, self.step = shape, step + self.order.steps(loop)

    def _if(self, stmt: IfThenElse, env: dict[Var, Any], mask: Mask, depth: int) -> None:
        condition = self.value(stmt.condition, env, mask)
        yes, no = narrowed(mask, condition), narrowed(mask, np.logical_not(condition))
        if np.any(yes):
            self._run(stmt.then_case, env, yes, depth)
        else:
            self._skip(stmt.then_case)
        if stmt.else_case is not None:
            if np.any(no):
                self._run(stmt.else_case, env, no, depth)
            else:
                self._skip(stmt.else_case)

    def _skip(self, stmt: Stmt) -> None:
        if self.log is not None:
            self.step = self.step + self.order.steps(stmt)

    def _realize(
        self, realize: BlockRealize, env: dict[Var, Any], mask: Mask, depth: int = 0
    ) -> None:
        block = realize.block
        if realize.predicate is not TRUE:
            mask = narrowed(mask, self.value(realize.predicate, env, mask))
            if is_empty(mask):
                self._skip(realize)
                return
        values = [self.value(value, env, mask) for value in realize.iter_values]
        env = {**env, **{i.var: v for i, v in zip(block.iter_vars, values, strict=True)}}
        for buffer in block.alloc_buffers:
            self.cells[buffer] = Cells(buffer)
        if block.init is not None:
            first = self._is_first(block, env, mask)
            if np.any(first) if first is not None else True:
                self._run(block.init, env, first, depth)
            else:
                self._skip(block.init)
        self._run(block.body, env, mask, depth)

    def _is_first(self, block: Block, env: Env, mask: Mask) -> Mask:
        """The lanes in which every reduction iterator of `block` is at its start."""
        for iterator in block.iter_vars:
            if iterator.kind == "reduce":
                start = self.value(iterator.dom.min, env, mask)
                mask = narrowed(mask, np.equal(env[iterator.var], start))
        return mask

    # --- memory ----------------------------------------------------------------------------------

    def load(self, load: BufferLoad, env: Env, mask: Mask) -> Value:
        """What each lane of `mask` reads, which must have been written."""
        cells = self.cells[load.buffer]
        index, mask = self._address(load, env, mask)
        if cells.changed is not None:
            self._check_written(cells, index, mask, load)
        return cells.data[index]

    def _check_written(
        self, cells: Cells, index: Any, mask: Mask, at: BufferLoad | BufferStore
    ) -> None:
        late = cells.changed[index] >= self.step
        if mask is not None:
            late = np.logical_and(late, mask)
        if late.any():
            if self.log is not None:
                raise OutOfOrder
            raise Refusal(
                f"Can't read {cells.name_of(int(index))}: nothing has written it",
                at,
                detail=self._iteration(),
                hint=f"write it before this reads it, or start {at.buffer.name} with an init.",
            )

    def _address(self, access: BufferLoad | BufferStore, env: Env, mask: Mask) -> tuple[Any, Mask]:
        """The flat cell that each lane touches; lanes outside `mask` get cell 0."""
        flat: Any = np.int64(0)
        for dim, (expr, size) in enumerate(zip(access.indices, access.buffer.shape, strict=True)):
            index = self.value(expr, env, mask)
            outside = np.logical_or(np.less(index, 0), np.greater_equal(index, size))
            if outside.any():
                bad = narrowed(mask, outside)
                if np.any(bad):
                    raise self._out_of_bounds(access, dim, env)
                index = np.where(outside, 0, index)
            flat = flat * size + index
        return flat, mask

    def _out_of_bounds(self, access: BufferLoad | BufferStore, dim: int, env: Env) -> Refusal:
        if self.log is not None:  # it runs again in serial order, and is told then
            return Refusal("outside", access, hint="")
        buffer = access.buffer
        place = ", ".join(str(int(self.value(i, env, None))) for i in access.indices)
        act = "write" if isinstance(access, BufferStore) else "read"
        axis = f"dimension {dim} of " if len(buffer.shape) > 1 else ""
        return Refusal(
            f"Can't {act} {buffer.name}[{place}]: "
            f"{axis}{buffer.name} goes from 0 to {buffer.shape[dim] - 1}",
            access,
            detail=self._iteration(),
            hint="make the loops or a T.where keep the index inside the buffer.",
        )

    def divided_by_zero(self, at: BinOp, bad: Mask) -> Refusal:
        """The refusal of an integer division by zero."""
        return Refusal(
            "Can't divide an integer by zero",
            at,
            detail=self._iteration(),
            hint="keep the divisor away from 0, for instance with T.if_then_else.",
        )

    def _iteration(self) -> str:
        """The iteration that runs; a refusal is told only where loops run one at a time."""
        values = [f"{v.name}={int(n)}" for v, n in self.here.items() if np.ndim(n) == 0]
        return "at " + ", ".join(values) if values else ""

    def _store(self, store: BufferStore, env: Env, mask: Mask) -> None:
        self.here = env
        cells = self.cells[store.buffer]
        own = self._updates_own_cell(store)
        if own is None or self.log is None:
            index, mask = self._address(store, env, mask)
            self._write(cells, index, self.value(store.value, env, mask), mask)
        elif own:
            self._update(store, cells, env, mask)
        else:
            raise OutOfOrder

    def _write(self, cells: Cells, index: Any, value: Any, mask: Mask) -> None:
        where = self._active(index, mask)
        if self.log is not None:
            self.log.append((cells, cells.before(where)))
        cells.write(where, self._active(value, mask), self._active(self.step, mask))

    def _active(self, values: Any, mask: Mask) -> Any:
        """One element for each lane of `mask`, in serial order."""
        flat = np.broadcast_to(values, self.shape).reshape(-1)
        return flat if mask is None else flat[np.broadcast_to(mask, self.shape).reshape(-1)]

    def _updates_own_cell(self, store: BufferStore) -> bool | None:
        """None where `store` does not read its buffer; else whether it reads only its own cell."""
        if store not in self._own_cell:
            own = [
                node
                for node in walk(store.value)
                if isinstance(node, BufferLoad) and node.buffer is store.buffer
            ]
            here = BufferLoad(store.buffer, store.indices)
            same = all(same_place(node, here) for node in own)
            inside = any(store.buffer in loaded(index) for index in store.indices)
            self._own_cell[store] = (same and not inside) if own or inside else None
        return self._own_cell[store]

    def _update(self, store: BufferStore, cells: Cells, env: Env, mask: Mask) -> None:
        """Run `C[e] = f(C[e], …)` in every lane, in serial order for each cell."""
        index, mask = self._address(store, env, mask)
        self._check_written(cells, index, mask, store)
        cells.check_order(index, self.step, mask)
        where = self._active(index, mask)
        if self.log is not None:
            self.log.append((cells, cells.before(where)))
        accumulate = accumulation(store)
        if accumulate is not None:
            ufunc, operand = accumulate
            ufunc.at(cells.data, where, self._active(self.value(operand, env, mask), mask))
        else:
            self._update_in_rounds(store, cells, env, mask, where)
        cells.changed[where] = cells.touched[where] = self._active(self.step, mask)

    def _update_in_rounds(
        self, store: BufferStore, cells: Cells, env: Env, mask: Mask, where: Any
    ) -> None:
        """The first update of every cell, then every second one, and so on."""
        lanes = self._active(np.arange(int(np.prod(self.shape))).reshape(self.shape), mask)
        names = [v for v in variables(store) if np.ndim(env[v]) > 0]
        full = {v: np.broadcast_to(env[v], self.shape).reshape(-1) for v in names}
        outer_shape, outer_step = self.shape, self.step
        steps = np.broadcast_to(self.step, self.shape).reshape(-1)
        for chosen in rounds(where):
            here = {**env, **{v: full[v][lanes[chosen]] for v in names}}
            self.shape, self.step = (len(chosen),), steps[lanes[chosen]]
            cells.data[where[chosen]] = self.value(store.value, here, None)
        self.shape, self.step = outer_shape, outer_step


def _nesting(stmt: Node) -> int:
    """How many loops lie one in another in `stmt`."""
    match stmt:
        case For():
            return 1 + _nesting(stmt.body)
        case SeqStmt():
            return max(_nesting(s) for s in stmt.stmts)
        case IfThenElse():
            below = [stmt.then_case, *([stmt.else_case] if stmt.else_case else [])]
            return max(_nesting(s) for s in below)
        case BlockRealize():
            below = [stmt.block.body, *([stmt.block.init] if stmt.block.init else [])]
            return max(_nesting(s) for s in below)
        case _:
            return 0
