"""Whether every value is there when a block reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench import arith
from workbench.access.accesses import Access, accesses
from workbench.access.cover import made_by
from workbench.access.iterations import feeds, never_meet
from workbench.access.units import buffers_written, units
from workbench.diag import Refusal
from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    Call,
    Const,
    Expr,
    For,
    IfThenElse,
    Stmt,
    walk,
)
from workbench.ir.dtypes import is_int
from workbench.ir.places import Places
from workbench.verbs.domains import domain, moved_by, units_in
from workbench.verbs.nest import nest_over
from workbench.verbs.scope import (
    common_loops,
    counted_from,
    may_be_left_out,
    region_of,
    starts_first,
)
from workbench.verbs.site import Site, declared_reads


def check_fed(
    site: Site[Block | For],
    reader: Site[Block],
    finished: bool = True,
    only: Buffer | None = None,
) -> None:
    """Refuse a step unless every value that the block `reader`, told after it, reads is made first.

    A sum must be finished too, unless `finished` is False: a block whose last run is the one that
    counts may read it earlier as well. With `only`, no other buffer is looked at: the step left
    those as they were.

    Values from before the loops that reader and maker share are there as a whole; of what is made
    in the same iteration, the exact box written must hold the box read.
    """
    where = reader.places
    for buffer in declared_reads(reader.node) if only is None else [only]:
        for maker in reader.writers(buffer):
            if maker is reader.realize:
                continue
            flow = _Flow(site, where, maker, reader.realize, buffer)
            if where.position[maker] > where.position[reader.realize]:
                flow.check_still_there()
                continue
            if finished or not starts_first(maker, counted_from(where.loops_above(maker))):
                flow.check_finished()
            flow.check_made()


def reads_apart(
    where: Places, reader: BlockRealize, writer: BlockRealize, buffer: Buffer, moves: bool = False
) -> bool:
    """Whether `writer` writes no cell that `reader` reads, at any time in a run of what holds both.

    With `moves`, that reader may run for all of its domain. False also where it is not proved.
    """
    body = where.scope(writer).block.body
    below, dom = units_in(where, body)
    one, other = (next(unit for unit in below if unit.stmt is stmt) for stmt in (reader, writer))
    if moves:
        nest, _ = nest_over(reader.block, [it.var.name for it in reader.block.iter_vars])
        (one,) = units(nest)
        dom = {**dom, **arith.loop_bounds(one.loops)}
    return never_meet(one, other, buffer, dom, buffers_written(body), "read")


def needs_finished(block: Block) -> bool:
    """Whether a run of `block` on unfinished sums may do harm that its last run does not undo.

    It is where what it reads says which cells it reads or writes, whether it does, how often, or by
    how much it divides or shifts: an early value may point outside of a buffer, or be 0.
    """
    touched = [one for one in accesses(block.body) if _harmed_at(block, one)]
    chosen = any(map(_has_load, _conditions(block.body)))
    parts = (node for node in walk(block.body) if isinstance(node, BinOp) and is_int(node.dtype))
    divided = [node.b for node in parts if node.op in ("//", "%", "<<", ">>")]
    return bool(touched) or any(
        _has_load(by) or (chosen and not isinstance(by, Const)) for by in divided
    )


def _conditions(stmt: Stmt) -> Iterator[Expr]:
    """What says in `stmt` whether a part of it runs, or how often."""
    for node in walk(stmt):
        match node:
            case (
                IfThenElse(condition=condition)
                | Call("if_then_else", (condition, _, _))
                | BinOp("and" | "or", condition, _)
                | For(extent=condition)
            ):
                yield condition


def _harmed_at(block: Block, access: Access[For]) -> bool:
    """Whether an early value may make an access that there should not be, or one elsewhere."""
    if any(map(_has_load, access.indices)):
        return True
    if not any(map(_has_load, (*access.guards, *(loop.extent for loop in access.loops)))):
        return False
    dom = {**domain(block), **arith.loop_bounds(access.loops)}
    sides = zip(access.indices, access.buffer.shape, strict=True)
    return access.writes or not all(arith.is_index(e, size, dom) for e, size in sides)


def _has_load(expr: Expr) -> bool:
    return any(isinstance(node, BufferLoad) for node in walk(expr))


def makes_all(
    where: Places,
    holder: Stmt,
    makers: list[BlockRealize],
    reader: BlockRealize,
    buffer: Buffer,
    chosen: bool = True,
) -> bool:
    """Whether, in one run of `holder`, one of `makers` writes all that `reader` reads of `buffer`.

    It is a proof that the reader finds nothing there of an earlier run, or of nobody. With `chosen`
    False, it is one for what a choice, such as padding, keeps the reader from reading, too.
    """
    below, dom = units_in(where, holder)
    own = next(unit for unit in below if unit.stmt is reader)
    making = [unit for unit in below if unit.stmt in makers]
    return any(feeds(holder, unit, own, buffer, dom, chosen) for unit in making)


@dataclass(frozen=True, slots=True)
class _Flow:
    """A buffer that `maker` writes and `reader` reads in the program that a step made."""

    site: Site[Block | For]  # where the step is tried
    where: Places
    maker: BlockRealize
    reader: BlockRealize
    buffer: Buffer

    @property
    def loops(self) -> list[For]:
        """The loops that run both, outermost first."""
        return common_loops(self.where, (self.maker, self.reader))

    def refuse(self, what: str, detail: str, hint: str) -> Refusal:
        """The refusal that marks the two as they were before the step."""
        known = self.site.places.blocks
        marks = [known[r.block.id] for r in (self.maker, self.reader) if r.block.id in known]
        why = f"`{self.reader.block.name}` would read {what}"
        return self.site.refuse(why, *marks, detail=detail, hint=hint)

    def check_still_there(self) -> None:
        """Refuse where the writer, behind, may overwrite in an earlier turn what is read."""
        if not self.loops or self._is_as_before():
            return
        if reads_apart(self.where, self.reader, self.maker, self.buffer):
            return
        name = self.maker.block.name
        raise self.refuse(
            f"{self.buffer.name} too late",
            detail=f"`{name}` may have overwritten it in an earlier turn of "
            f"`{self.loops[-1].loop_var.name}`",
            hint=f"let `{name}` write another buffer",
        )

    def _is_as_before(self) -> bool:
        """Whether, in the same loops, the same cells are read in the same iterations as before."""
        known = self.site.places
        old, other = (known.blocks.get(r.block.id) for r in (self.reader, self.maker))
        if old is None or other is None:
            return False
        shared = [loop.loop_var for loop in common_loops(known, (other, old))]
        a, b = (region_of(r.block.reads, self.buffer) for r in (old, self.reader))
        values = old.iter_values, self.reader.iter_values
        if shared != [loop.loop_var for loop in self.loops] or len(values[0]) != len(values[1]):
            return False
        if a is None or b is None:
            return False
        pairs = [*zip(*values, strict=True)]
        for x, y in zip(a.region, b.region, strict=True):
            pairs += [(x.min, y.min), (x.extent, y.extent)]
        return all(arith.equal(x, y) for x, y in pairs)

    def check_finished(self) -> None:
        """Refuse where a sum would be read inside a loop over which it is still summed."""
        summed = moved_by(self.maker, "reduce")
        unfinished = [loop.loop_var.name for loop in self.loops if loop.loop_var in summed]
        if unfinished:
            raise self.refuse(
                f"unfinished sums of {self.buffer.name}",
                detail=f"`{self.maker.block.name}` goes on summing as `{unfinished[0]}` goes on",
                hint=f"let it be read outside `{unfinished[0]}`, where the sums are finished",
            )

    def check_made(self) -> None:
        """Refuse where cells would be read that the maker writes in another iteration."""
        if not self.loops:
            return
        left_out = may_be_left_out(self.where, self.maker, self.reader)
        if left_out or not self._makes_alone():
            inmost = self.loops[-1].loop_var.name
            raise self.refuse(
                f"{self.buffer.name} too early",
                detail=f"one iteration of `{inmost}` may not make all that is read in it",
                hint=f"let it be read outside `{inmost}`, or move `{self.maker.block.name}` to its "
                "reader with compute_at",
            )

    def _makes_alone(self) -> bool:
        """Whether the maker writes all that is read in one iteration of the common loops.

        What others write does not count: the value must be the maker's.
        """
        turn = self.loops[-1].body
        below, dom = units_in(self.where, turn)
        maker, reader = (
            [unit for unit in below if unit.stmt is stmt] for stmt in (self.maker, self.reader)
        )
        return made_by(maker, reader, self.buffer, dom, {}, changing=buffers_written(turn))
