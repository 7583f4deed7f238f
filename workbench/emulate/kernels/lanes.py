"""Lanes: what the lanes of a chunk compute, and every load and store that they make.

An access goes through the same gates each time: where it goes (`maps`), whether every lane that
runs stays inside and starts its vector where it may, whether what is read was written, and whether
it races. An answer depends on nothing but the statement, the lanes that run, and the turn of the
serial loops in the index, or rather what they add to it, which ``k % 3`` does again and again;
these are the *key* of an execution, and what passed a gate under a key is not sent through it again
while the chunk runs. An index that is read from memory has no key and is looked at each time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from workbench.diag import Refusal
from workbench.emulate import numbers
from workbench.emulate.expressions import Env, Expressions, is_empty, narrow
from workbench.emulate.expressions import Mask as Running
from workbench.emulate.kernels import report
from workbench.emulate.kernels.copies import Copy, UnderWay
from workbench.emulate.kernels.launch import Launch
from workbench.emulate.kernels.loops import vector_width
from workbench.emulate.kernels.maps import Map, Storage, count_owners, split_base
from workbench.emulate.kernels.plan import Access, Chunk, Frame, Mask
from workbench.emulate.kernels.races import Races, Writes, owners_in
from workbench.emulate.kernels.shadow import Overlap
from workbench.emulate.memory import Memo
from workbench.emulate.numbers import Value, numpy_type
from workbench.ir import (
    BinOp,
    BufferLoad,
    BufferStore,
    Call,
    Const,
    Expr,
    Ramp,
    Stmt,
    Var,
    WaitGroup,
    dtypes,
)

SCRATCH = 1 << 25  # bytes of results whose memory is used again
FAST = {"+": np.add, "-": np.subtract, "*": np.multiply}  # what needs no care at all


class Lanes(Expressions):
    """The lanes of one chunk: their memory, frames and index maps.

    `serial` is the turn of each loop that is not lanes. What runs now is `stmt`, seen through
    `frame`, in the lanes of `mask`, which are `running` over the frame.
    """

    def __init__(self, launch: Launch, chunk: Chunk, number: int) -> None:
        self.launch, self.plan, self.chunk, self.number = launch, launch.plan, chunk, number
        self.serial: dict[Var, Any] = {}
        self.storage = dict(launch.memory)
        for storage in self.storage.values():
            storage.start()
        for buffer in self.plan.kernel.allocs:
            owners = count_owners(buffer.scope, len(chunk.numbers), self.plan.threads)
            self.storage[buffer] = Storage(buffer, owners)
        self.races = Races(launch, chunk, self.storage)
        self.under_way = UnderWay()
        self._frames: dict[Stmt, Frame] = {}
        self._maps: Memo[Map] = Memo()
        self._checked: Memo[None] = Memo()  # executions that stay inside
        self._apart: Memo[None] = Memo()  # those that touch nothing of a copy
        self._scratch: dict[Expr, Any] = {}
        self._scratch_size = 0
        self.frame: Frame
        self.stmt: Stmt
        self.mask: Mask | None = None
        self.running: Running = None

    def _enter(self, stmt: Stmt, mask: Mask | None) -> Frame:
        self.stmt, self.mask, self.frame = stmt, mask, self._frames[stmt]
        self.running = None if mask is None else mask.seen_by(self.frame)
        return self.frame

    # --- values ----------------------------------------------------------------------------------

    def look(self, stmt: Stmt, expr: Expr, mask: Mask | None) -> Any:
        """The value of an expression that decides what runs, over the plan's axes."""
        if stmt not in self._frames:
            self._frames[stmt] = Frame(self.plan, self.chunk, stmt, 1, None)
        frame = self._enter(stmt, mask)
        return np.asarray(self.value(expr, frame.env, self.running))

    def value(self, expr: Expr, env: Env, mask: Running) -> Value:
        """The value of `expr` over the dimensions of the statement's frame."""
        if isinstance(expr, Var):
            lanes = env.get(expr)
            return self.serial[expr] if lanes is None else lanes
        if isinstance(expr, BinOp) and expr.op in FAST and dtypes.is_float(expr.a.dtype):
            return self._arithmetic(expr, env, mask)
        if isinstance(expr, Ramp):
            base = self.value(expr.base, env, mask)
            steps = self.frame.along(self.plan.vector, np.arange(expr.lanes) * expr.stride)
            return base + steps.astype(numpy_type(expr.dtype))
        return super().value(expr, env, mask)

    def _arithmetic(self, expr: BinOp, env: Env, mask: Running) -> Value:
        """Float arithmetic, in memory that is kept from one execution to the next."""
        a, b = self.value(expr.a, env, mask), self.value(expr.b, env, mask)
        if expr.a.dtype == "bfloat16":
            return numbers.binary(expr.op, a, b, "bfloat16")
        kept = self._scratch.get(expr)
        if kept is not None and np.broadcast(a, b).shape == kept.shape:
            return FAST[expr.op](a, b, out=kept)
        result = FAST[expr.op](a, b)  # fewer values where all lanes agree in a choice
        more = result.nbytes - (0 if kept is None else kept.nbytes)
        if np.ndim(result) and more > 0 and self._scratch_size + more <= SCRATCH:
            self._scratch_size += more
            self._scratch[expr] = result
        return result

    def tell_lane(self, bad: Any, does: str) -> str:
        """The first of the lanes `bad`, and what it does."""
        return f"{self._find_lane(bad)[1]} {does}"

    def shuffle(self, call: Call, values: Value, mask: Running) -> Value:
        """Each thread's value of the neighbour whose number differs in a bit.

        On a GPU all of a group come there, or none knows what it gets: so it is refused where some
        of them are masked out, or not there at all.
        """
        _, bit, width = call.args
        assert isinstance(bit, Const) and isinstance(width, Const)
        own, size = self._by_thread(values), int(width.value)
        here = self._by_thread(True if mask is None else mask)
        count = own.shape[-1]
        there = np.zeros((*here.shape[:-1], -(-count // size), size), bool)
        there.reshape(*here.shape[:-1], -1)[..., :count] = here
        if (there.any(axis=-1) & ~there.all(axis=-1)).any():
            raise report.shuffle_apart(call, size)
        others = np.minimum(np.arange(count) ^ int(bit.value), count - 1)  # the rest asks nobody
        return self._back_from_threads(own[..., others])

    def _by_thread(self, values: Any) -> Any:
        """`values` with the numbers of threads as the last axis, in the place of their digits."""
        frame = self.frame
        full = np.broadcast_to(values, frame.shape)
        at = [frame.place[self.plan.at[digit]] for digit in self.plan.thread_digits]
        moved = np.moveaxis(full, at, range(-len(at), 0))
        return moved.reshape(*moved.shape[: -len(at)], -1)

    def _back_from_threads(self, values: Any) -> Any:
        """What `_by_thread` took apart, over the dimensions of the frame again."""
        frame, digits = self.frame, self.plan.thread_digits
        at = [frame.place[self.plan.at[digit]] for digit in digits]
        parted = values.reshape(*values.shape[:-1], *(digit.size for digit in digits))
        return np.moveaxis(parted, range(-len(at), 0), at)

    def _find_lane(self, bad: Any) -> tuple[tuple[int, ...], str]:
        """The first lane marked in `bad`: its position and its name."""
        shape = self.frame.shape
        full = np.broadcast_to(bad, shape)
        at = tuple(int(k) for k in np.unravel_index(int(np.argmax(full)), shape))
        owner = int(np.broadcast_to(owners_in(self.frame), shape)[at])
        return at, self.races.name_lane(owner)

    # --- loads -----------------------------------------------------------------------------------

    def load(self, load: BufferLoad, env: Env, mask: Running) -> Value:
        """What each lane of `mask` reads."""
        if mask is not None and np.ndim(mask) == 0:  # all lanes agree
            if not mask:
                return numpy_type(load.buffer.type).type(0)
            mask = self.running
        access = self.plan.access[load]
        at, key = self._approach(access, mask)
        self._refuse_under_way(access, at, key, mask)
        storage = at.storage
        if not storage.cells:  # no lane that runs is here
            return numpy_type(load.buffer.type).type(0)
        if not storage.is_whole() and not storage.is_settled(key):
            self._refuse(_find_empty(at), at, mask, partial(report.unwritten, load))
            storage.settle(key, wrote=False)
        self.races.judge(access, at, key, mask)
        if not at.strided:
            return storage.flat[at.addresses()]
        view = at.view(every=False)
        # a copy in this frame's order is quick to broadcast, and small beside what it meets
        small = view.size * 4 <= prod(self.frame.shape)
        return np.ascontiguousarray(view) if small else view

    # --- stores ----------------------------------------------------------------------------------

    def store(self, store: BufferStore, mask: Mask | None) -> None:
        """Run `store` in the lanes of `mask`."""
        access = self.plan.access[store]
        if store not in self._frames:
            self._frames[store] = self._frame_of(store, access)
        env = self._enter(store, mask).env
        running, value = self.running, store.value
        if store.is_async:
            self._begin(store, access, env)
            return
        fused: np.ufunc | None = None  # straight into the target, without an array between
        if isinstance(value, BinOp) and value.dtype != "bfloat16":
            fused = FAST.get(value.op)
        parts = (value,) if fused is None else (value.a, value.b)  # type: ignore[attr-defined]
        operands = [self.value(part, env, running) for part in parts]
        at, key = self._approach(access, running)
        self._refuse_under_way(access, at, key, running)
        overlaps = self.races.judge(access, at, key, running)
        if at.strided and not overlaps and fused is not None and running is None:
            fused(*operands, out=at.view(every=True))
            self._mark_written(at, key)
        else:
            result = operands[0] if fused is None else fused(*operands)
            self._write(store, at, key, result, overlaps, overlaps)

    def _write(
        self,
        store: BufferStore,
        at: Map,
        key: Any,
        value: Any,
        overlaps: list[Overlap],
        before: list[Overlap],
    ) -> None:
        """Write what each lane has; `before` are `overlaps` with what was written before."""
        if at.strided and not overlaps:
            where = True if self.running is None else self.running
            np.copyto(at.view(every=True), value, where=where)
        else:
            self._scatter(store, at, value, overlaps, before)
        self._mark_written(at, key)

    # --- asynchronous copies ---------------------------------------------------------------------

    def _begin(self, store: BufferStore, access: Access, env: Env) -> None:
        """Begin the copy `store` in the lanes that run."""
        running, (source,) = self.running, store.value.args  # type: ignore[attr-defined]
        values, reads = self.value(source, env, running), running
        if isinstance(source, Call):
            condition, source, _ = source.args
            reads = narrow(running, self.value(condition, env, running))
        read = None
        if source.buffer in self.races.watches:  # the kernel writes it
            read = self._make_map(self.plan.access[source], reads), reads
            values = np.array(values)
        at, key = self._approach(access, running)
        self._refuse_under_way(access, at, key, running)
        self.races.judge(access, at, key, running)
        turn, group = self._tell_turn(), self.under_way.groups + 1
        copy = Copy(store, at, key, self.mask, values, turn, group, read)
        self.under_way.copies.append(copy)

    def wait(self, wait: WaitGroup, mask: Mask | None) -> None:
        """Make the copies for which the lanes of `mask` wait."""
        for copy in self.under_way.wait(wait, mask, self.launch.next_number):
            self._enter(copy.store, copy.mask)
            access = self.plan.access[copy.store]
            overlaps = self.races.judge(access, copy.at, copy.key, self.running)
            self._write(copy.store, copy.at, copy.key, copy.values, overlaps, [])

    def _tell_turn(self) -> str:
        """``k=3``: the turns of the serial loops that are running."""
        return ", ".join(f"{var.name}={int(k)}" for var, k in self.serial.items())

    def _refuse_under_way(self, access: Access, at: Map, key: Any, mask: Running) -> None:
        """Raise where a lane touches a cell of a copy that is under way, or writes its source."""
        if not self.under_way.copies or access.buffer.scope == "local":
            return
        for source in (False, True) if isinstance(access.site, BufferStore) else (False,):
            for copy, place, lanes in self.under_way.touching(at, source=source):
                pair = not source and key and copy.key and (key, copy.key)
                if pair and pair in self._apart:
                    continue
                marks = np.zeros(at.storage.flat.size, bool)
                cells = np.broadcast_to(place.addresses(), place.frame.shape)
                marks[cells if lanes is None else cells[np.broadcast_to(lanes, cells.shape)]] = True
                bad = narrow(mask, marks[at.addresses()])
                if not is_empty(bad):
                    raise self._under_way(access, at, bad, copy, place, source)
                if pair:
                    self._apart.keep(pair, None)

    def _under_way(
        self, access: Access, at: Map, bad: Any, copy: Copy, place: Map, source: bool
    ) -> Refusal:
        lane, name = self._find_lane(bad)
        shape = self.frame.shape
        address = int(np.broadcast_to(at.addresses(), shape)[lane])
        at_it = narrow(copy.running, place.addresses() == address)
        owners = np.broadcast_to(owners_in(place.frame), place.frame.shape)
        owner = int(owners[np.broadcast_to(at_it, place.frame.shape)][0])
        threads = self.plan.threads
        who = name, self.launch.who.thread(owner % threads)
        cell = int(np.broadcast_to(at.cells(), shape)[lane])
        return report.under_way(
            access.site, copy, cell, who, self._tell_turn(), self.under_way.left, source=source
        )

    def _frame_of(self, store: BufferStore, access: Access) -> Frame:
        """The frame of `store`: its dimensions as far-reaching steps of the target come first."""
        width = vector_width(store)
        frame = Frame(self.plan, self.chunk, store, width, None)
        if access.moves or access.form.rest or self.chunk.origin is None:
            return frame
        at = Map(access, frame, self.storage[store.buffer], 0, None)
        reach = [abs(s) * at.storage.owners + o for s, o in zip(at.steps, at.offset, strict=True)]
        far = sorted(range(self.plan.rank), key=lambda axis: (reach[axis] > 0, -reach[axis]))
        return Frame(self.plan, self.chunk, store, width, tuple(far))

    def _scatter(
        self,
        store: BufferStore,
        at: Map,
        value: Any,
        overlaps: list[Overlap],
        before: list[Overlap],
    ) -> None:
        """Write one lane after the other, as far as one can tell lanes apart afterwards."""
        storage, shape, running = at.storage, self.frame.shape, self.running
        values = np.asarray(value, dtype=storage.flat.dtype)
        chosen = ... if running is None else np.broadcast_to(running, shape)
        cells, addresses, values, owners = (
            np.ascontiguousarray(np.broadcast_to(column, shape)[chosen]).reshape(-1)
            for column in (at.safe_cells(), at.addresses(), values, owners_in(self.frame))
        )
        bits = values.view(storage.bits.dtype)
        writes = Writes(store, storage, cells, addresses, bits, owners)
        self.races.refuse_other_bits_before(writes, before)
        storage.flat[addresses] = values
        if overlaps:
            self.races.refuse_other_bits(writes)
            self.races.count_redundant(store, overlaps)

    def _mark_written(self, at: Map, key: Any) -> None:
        storage, running = at.storage, self.running
        if storage.valid is None or storage.is_settled(key):
            return
        if at.strided:
            marks = at.see(storage.valid, every=True)
            np.copyto(marks, True, where=True if running is None else running)
        else:
            where = np.broadcast_to(at.addresses(), self.frame.shape)
            chosen = ... if running is None else np.broadcast_to(running, where.shape)
            storage.valid[where[chosen]] = True
        storage.settle(key, wrote=True)

    # --- where an access goes, and whether it may ------------------------------------------------

    def _approach(self, access: Access, mask: Running) -> tuple[Map, Any]:
        """Where `access` goes now, checked and noted, and the key of this execution, or None."""
        serial = tuple([int(self.serial[v]) for v in access.serial])
        key: Any = None
        if access.moves:
            at = self._make_map(access, mask)
        else:
            place = (self.frame, access, serial)
            at = self._maps.get(place)  # type: ignore[assignment]
            if at is None:
                at = self._make_map(access, mask)
                self._maps.keep(place, at, at.nbytes)
            if mask is self.running:
                turn = serial if at.listed is not None else at.base
                key = (self.stmt, access.site, turn, self.mask.key if self.mask else None)
        if key is None or key not in self._checked:
            self._check(access, at, mask)
            if key is not None:
                self._checked.keep(key, None)
        if self.launch.log is not None:
            known = self.launch.next_number() if key is None else key
            self.launch.log.note(access, at, (self.number, known), mask)
        return at, key

    def _make_map(self, access: Access, mask: Running) -> Map:
        base, table = split_base(access, self.frame, self.serial)
        for expr, factor in access.form.rest:
            part = np.asarray(self.value(expr, self.frame.env, mask)).astype(np.int64)
            if part.ndim == 0:
                base += factor * int(part)
            else:
                table = factor * part if table is None else table + factor * part
        return Map(access, self.frame, self.storage[access.buffer], base, table)

    def _check(self, access: Access, at: Map, mask: Running) -> None:
        """Raise where a lane leaves the buffer, or a vector starts where it must not."""
        site, width, size = access.site, access.width, at.storage.cells
        if not at.inside:
            cells = at.cells()
            outside = (cells < 0) | (cells >= size)
            self._refuse(outside, at, mask, partial(report.out_of_bounds, site, size))
        index = site.indices[0]
        if isinstance(index, Ramp) and index.stride == 1:  # others are taken cell by cell
            first = [slice(None)] * self.plan.rank
            first[self.frame.place[self.plan.vector]] = slice(0, 1)
            off = at.cells()[tuple(first)] % width != 0
            self._refuse(off, at, mask, partial(report.misaligned, site, width))

    def _refuse(
        self, bad: Any, at: Map, mask: Running, refusal: Callable[[int, str], Refusal]
    ) -> None:
        """Raise `refusal` of the cell and the name of the first `bad` lane of `mask`."""
        bad = narrow(mask, bad)
        if not is_empty(bad):
            lane, name = self._find_lane(bad)
            cell = int(np.broadcast_to(at.cells(), self.frame.shape)[lane])
            raise refusal(cell, name)


def _find_empty(at: Map) -> Any:
    """The lanes whose cell nothing has written."""
    valid = at.storage.valid
    assert valid is not None
    if at.strided:
        return np.logical_not(at.see(valid, every=False))
    return np.logical_not(valid[at.addresses()])
