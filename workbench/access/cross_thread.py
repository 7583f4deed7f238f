"""Cross-thread reductions: threads that share one sum out, each with a part of its own.

A loop of a reduction may be bound to threads where the order of the updates says nothing: where
``C[i] = C[i] op e`` with ``op`` one of + * min max, and neither `e` nor what says whether it runs
reads C. Each thread then adds up the terms of its own iterations, from nothing, and the parts are
put together afterwards. That moves the start of the sum, and its only store, behind all of it. It
is right where nobody sees the difference: where the loops, from the outermost one of the reduction
on, hold the block last of all, and nothing ahead of it there touches C; and where the first
iterations of these loops, and so those that start the sum, surely run. What stands ahead of the
block, as a tile that is fetched, each thread does in its turn.

Several sums of one block (`updates`) are shared out at once; so are several values that are updated
together (`combiners`), where their parts can be put together. Each part of the latter starts from
where the whole does. Where the order of the updates counts, the loops of the threads are the
outermost ones, and parts are put together in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from workbench import arith
from workbench.access.accesses import first_turn
from workbench.access.combiners import TupleUpdate, constant, tuple_starts, tuple_update
from workbench.access.counters import one_to_one
from workbench.access.units import Unit, buffers_read, buffers_written, summed_sizes
from workbench.access.updates import Sums, starts_of, sums_of, why_no_sums
from workbench.arith import Bounds
from workbench.ir import (
    Block,
    BlockRealize,
    BufferLoad,
    Const,
    Expr,
    For,
    SeqStmt,
    Stmt,
    Var,
    binary,
    free_vars,
    substitute,
    walk,
)
from workbench.ir.places import Places

SCOPES = ("global", "shared", "local")  # of the result


@dataclass(frozen=True)
class Reduction:
    """A block that reduces, and the loops that end with it, outermost first.

    The outermost of them is the outermost that moves an iterator of the reduction.
    """

    realize: BlockRealize
    loops: tuple[For, ...]

    @property
    def block(self) -> Block:
        """The block."""
        return self.realize.block

    @cached_property
    def reduced(self) -> tuple[For, ...]:
        """The loops whose iterations share cells."""
        return tuple(loop for loop in self.loops if loop.loop_var in self._moving("reduce"))

    @property
    def spatial(self) -> tuple[For, ...]:
        """The other loops."""
        return tuple(loop for loop in self.loops if loop not in self.reduced)

    @property
    def threads(self) -> tuple[For, ...]:
        """The loops in whose iterations threads share a sum out."""
        return tuple(one for one in self.reduced if (one.thread or "").startswith("threadIdx"))

    @cached_property
    def update(self) -> Sums | TupleUpdate | None:
        """What the block does, None where that is no update by a combiner that is known."""
        return _sums(self.block) or tuple_update(self.block)

    @cached_property
    def values(self) -> dict[Var, Expr]:
        """What the block's iterators are bound to."""
        return self.realize.bindings

    @cached_property
    def start(self) -> Expr:
        """Where the sum starts, told for the first iterations of `reduced`."""
        found = [self.first(substitute(e, self.values)) for e in first_turn(self.block.iter_vars)]
        return arith.simplify(arith.joined(found), {})

    @property
    def touches(self) -> Expr:
        """Whether the cell is touched at all: in the first iterations of `reduced`, if in any."""
        return self.first(self.realize.predicate)

    def first(self, e: Expr) -> Expr:
        """`e` in the first iterations of `reduced`."""
        for loop in reversed(self.reduced):
            e = substitute(e, {loop.loop_var: loop.min})
        return e

    def _moving(self, kind: str) -> set[Var]:
        """The variables in the values of iterators of a kind."""
        return Unit(self.realize, ()).moved_by(kind)

    # --- whether threads may share it out ---------------------------------------------------

    def why_not(self, dom: Bounds, more: For | None = None) -> str:
        """Why threads can't share the sum out, "" where they can; in words of the program.

        `more` is a loop that is to be of threads as well.
        """
        return self._unlike() or self._unordered(more) or self._mixed() or self._unsure(dom)

    def _unlike(self) -> str:
        """What is wrong with the block on its own."""
        update = self.update
        if update is None:
            return why_no_sums(self.block)
        for buffer in update.buffers:
            if buffer.scope not in SCOPES:
                return f"{buffer.name} is in {buffer.scope} memory"
        if len({buffer.scope == "local" for buffer in update.buffers}) > 1:
            names = ", ".join(buffer.name for buffer in update.buffers)
            return f"some of {names} are in local memory, and some are not"
        return self._unstarted(update) if isinstance(update, TupleUpdate) else ""

    def _unstarted(self, update: TupleUpdate) -> str:
        """Why threads can't start parts of several values, or put them together."""
        names = ", ".join(buffer.name for buffer in update.buffers)
        if not update.combiner.associates:
            return f"parts of {names} can't be put together, as by the comparisons of argmax"
        starts = tuple_starts(self.block)
        if starts is None:
            return (
                f"`{self.block.name}` has no T.init() from which each part of {names} could start"
            )
        if not update.combiner.starts([constant(e) for e in starts]):
            return f"parts can't all start from what T.init() stores; {update.combiner.wanted}"
        if not (isinstance(self.start, Const) and self.start.value):
            return f"`{self.block.name}` starts outside of these loops"
        return ""

    def _unordered(self, more: For | None) -> str:
        """Which loop would let a thread have terms that do not follow each other, if that counts.

        Parts are put together in the order of the threads, the loops from the outermost on.
        """
        assert self.update is not None
        outer: For | None = None
        for loop in self.reduced if self.update.ordered else ():
            if loop not in self.threads and loop is not more:
                outer = outer or (None if _is_one(loop.extent) else loop)
            elif outer is not None:
                return (
                    "which of equal values stays goes by which comes first, and each thread would "
                    f"have terms from all turns of `{outer.loop_var.name}`: bind that one first"
                )
        return ""

    def _mixed(self) -> str:
        """Which of the loops is not of the reduction alone, nor of its cells alone."""
        cells = self._moving("spatial") | {
            v
            for store in self.update.stores  # type: ignore[union-attr]  # _unlike
            for index in store.indices
            for v in free_vars(substitute(index, self.values))
        }
        reduced = {loop.loop_var for loop in self.reduced}
        for loop in self.loops:
            var = loop.loop_var
            if var in reduced and var in cells:
                return f"`{var.name}` moves the cell, too, not only the terms that are summed"
            if var not in reduced and var not in cells and not _is_one(loop.extent):
                return f"`{var.name}` moves neither the cell nor the terms that are summed"
            if loop.kind not in ("serial", "unrolled", "thread_binding"):
                return f"`{var.name}`, a loop around the sum, is {loop.kind}"
            ends = {*free_vars(loop.min), *free_vars(loop.extent)}
            if var not in reduced and not reduced.isdisjoint(ends):
                return f"how often `{var.name}` runs goes by loops of the sum"
            if (
                var in reduced
                and loop.thread
                and loop not in self.threads
                and not _is_one(loop.extent)
            ):
                return f"`{var.name}` is bound to {loop.thread}, which shares no sum with others"
            if loop.thread and not isinstance(loop.extent, Const):
                return f"how often `{var.name}` runs varies"
        return ""

    def _unsure(self, dom: Bounds) -> str:
        """What is not proved of the first iterations."""
        assert self.update is not None
        own = arith.loop_bounds(self.loops, dom)
        dom = {**dom, **summed_sizes(self.block), **own}
        for loop in self.reduced:
            if not arith.prove(loop.extent >= 1, dom):
                return f"`{loop.loop_var.name}` is not proved to run at all"
        reads = {n.buffer for e in self._control() for n in walk(e) if isinstance(n, BufferLoad)}
        for result in (buffer for buffer in self.update.buffers if buffer in reads):
            return f"{result.name} says which updates run"
        conditions = list(arith.conjuncts(self.realize.predicate))
        moving = {loop.loop_var for loop in self.reduced}
        within = dom
        for one in conditions:
            within = arith.narrow(within, one)
        for one in (c for c in conditions if not moving.isdisjoint(free_vars(c))):
            if arith.reads_memory(one) or not arith.prove(self.first(one), within):
                return "where no term comes in, the cell is not proved to stay as it is"
        if self.block.init is None:
            return ""
        turns = {loop.loop_var: dom[loop.loop_var] for loop in self.reduced}
        around = {var: ends for var, ends in dom.items() if var not in turns}
        if not one_to_one(
            Unit(self.realize, ()).bound("reduce"), turns, around, self.realize.predicate
        ):
            return f"`{self.block.name}` is not proved to start only once"
        for it in self.block.iter_vars:
            value = self.values[it.var]
            at_first = binary("<=", self.first(value), value)
            if it.kind == "reduce" and not arith.prove(at_first, dom):
                return f"`{self.block.name}` is not proved to start in its first iteration"
        return ""

    def _control(self) -> list[Expr]:
        ends = [e for loop in self.loops for e in (loop.min, loop.extent)]
        return [self.realize.predicate, *self.realize.iter_values, *ends]


def _is_one(e: Expr) -> bool:
    return isinstance(e, Const) and e.value == 1


def _sums(block: Block) -> Sums | None:
    """The sums that `block` makes, if each starts alike, or goes on from what was there."""
    found = sums_of(block)
    alike = found and (block.init is None or starts_of(block, found.stores) is not None)
    return found if alike else None


def reduction_around(known: Places, realize: BlockRealize) -> Reduction | None:
    """The reduction that `realize` is, with the loops that end with it; None for no such."""
    path: list[Stmt] = []
    for outer in known.above(realize):
        if not isinstance(outer, (For, SeqStmt)):
            break
        path.insert(0, outer)
    return _cut(path, realize)


def reduction_in(stmt: Stmt) -> Reduction | None:
    """As `reduction_around`, of the block that `stmt` is or, as loops, ends with."""
    path: list[Stmt] = []
    while isinstance(stmt, (For, SeqStmt)):
        path.append(stmt)
        stmt = stmt.body if isinstance(stmt, For) else stmt.stmts[-1]
    return _cut(path, stmt) if isinstance(stmt, BlockRealize) else None


def _cut(path: list[Stmt], realize: BlockRealize) -> Reduction | None:
    """Of the loops and sequences on the way to `realize` those which can be loops of its sum."""
    loops: list[For] = []
    below: Stmt = realize
    for stmt in reversed(path):
        if isinstance(stmt, For):
            loops.insert(0, stmt)
        elif not (isinstance(stmt, SeqStmt) and _ends_with(stmt, below, loops, realize)):
            break
        below = stmt
    moving = Unit(realize, ()).moved_by("reduce")
    first = next((k for k, loop in enumerate(loops) if loop.loop_var in moving), None)
    return None if first is None else Reduction(realize, tuple(loops[first:]))


def _ends_with(stmts: SeqStmt, last: Stmt, below: list[For], realize: BlockRealize) -> bool:
    """Whether the block, in the loops `below`, comes last, and has nothing to do with the others.

    They are not to run again for each cell, so no loop of cells lies between.
    """
    if stmts.stmts[-1] is not last:
        return False
    moving = Unit(realize, ()).moved_by("reduce")
    cells = (loop for loop in below if loop.loop_var not in moving and loop.thread is None)
    if next(cells, None) is not None:
        return False
    ends = (e for loop in below for e in (loop.min, loop.extent))
    control = [realize.predicate, *realize.iter_values, *ends]
    if any(isinstance(n, BufferLoad) for e in control for n in walk(e)):
        return False
    kept = {*buffers_written(realize.block)}
    if realize.block.init is not None:
        kept |= buffers_read(realize.block.init)
    used = (buffers_read(stmt) | buffers_written(stmt) for stmt in stmts.stmts[:-1])
    return all(kept.isdisjoint(buffers) for buffers in used)
