"""Products: what a sum multiplies, by which of its iterators, and the same with two axes and terms.

A convolution is one as well: its pixels are rows, its filters columns, and its taps and channels
are summed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from workbench.history.handles import BlockHandle, LoopHandle
from workbench.ir import (
    BinOp,
    Block,
    BufferLoad,
    BufferStore,
    Cast,
    Const,
    Expr,
    IterVar,
    free_vars,
)
from workbench.ir.places import places
from workbench.schedule import Schedule
from workbench.tuning.loops import node_of, number, tile_loops
from workbench.verbs.factoring import sum_of

Axis = tuple[IterVar, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """A sum of a value of one buffer times one of another, A and B, from zero on.

    `apart` are the iterators that say where A, B and the sums lie, `rows` those of A alone,
    `columns` of B alone. `indices` are those of A, B and the sums.
    """

    multiplied: str
    summed: str
    apart: Axis
    rows: Axis
    columns: Axis
    terms: Axis
    regions: tuple[int, int]  # which of the block's reads are A and B
    indices: tuple[tuple[Expr, ...], ...]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many rows, columns and terms it has."""
        rows, columns, terms = map(size, (self.rows, self.columns, self.terms))
        return rows, columns, terms

    def fits(self, tile: tuple[int, int, int]) -> bool:
        """Whether its rows, columns and terms are whole tiles of so many."""
        return not any(n % cells for n, cells in zip(self.sizes, tile, strict=True))

    def terms_last(self, operand: int) -> bool:
        """Whether neighbours in memory, of A for 0 and of B for 1, are summed over."""
        last = free_vars(self.indices[operand][-1])
        return any(it.var in last for it in self.terms)

    @property
    def plain(self) -> bool:
        """Whether the axes of the buffer of sums are those apart, a row and a column."""
        axes = (*self.apart, *self.rows, *self.columns)
        return [it.var for it in axes] == list(self.indices[2]) and len(axes) == (
            len(self.apart) + 2
        )


def size(axis: Axis) -> int:
    """How often the iterators of `axis` run together."""
    return prod(number(it.dom.extent) for it in axis)


def product_of(block: Block) -> Product | None:
    """The product that `block` is; None where it is none of two axes."""
    update = sum_of(block)
    if update is None or update.op != "+" or update.term_first or not _from_zero(block):
        return None
    term = update.term
    if not isinstance(term, BinOp) or term.op != "*":
        return None
    out = update.store.buffer
    loads = [
        e.value if isinstance(e, Cast) and e.type == out.dtype else e for e in (term.a, term.b)
    ]
    a, b = loads
    if not isinstance(a, BufferLoad) or not isinstance(b, BufferLoad) or a.dtype != b.dtype:
        return None
    buffers = [region.buffer for region in block.reads]
    if a.buffer is b.buffer or a.buffer not in buffers or b.buffer not in buffers:
        return None
    indices = a.indices, b.indices, update.store.indices
    of_a, of_b, _ = ({v for e in each for v in free_vars(e)} for each in indices)

    def those(kind: str, in_a: bool, in_b: bool) -> Axis:
        return tuple(
            it
            for it in block.iter_vars
            if it.kind == kind and (it.var in of_a, it.var in of_b) == (in_a, in_b)
        )

    axes = (
        those("spatial", True, True),
        those("spatial", True, False),
        those("spatial", False, True),
        those("reduce", True, True),
    )
    if not all(axes[1:]) or sum(map(len, axes)) != len(block.iter_vars):
        return None
    where = buffers.index(a.buffer), buffers.index(b.buffer)
    return Product(a.dtype, out.dtype, *axes, where, indices)


def _from_zero(block: Block) -> bool:
    start = block.init
    return (
        isinstance(start, BufferStore) and isinstance(start.value, Const) and start.value.value == 0
    )


def two_axes(
    sch: Schedule,
    block: BlockHandle,
    product: Product,
    turned: tuple[bool, bool],
    tile: tuple[int, int, int],
    through: int,
) -> tuple[list[BlockHandle], BlockHandle | None]:
    """Let `block`, a `product`, run by rows, columns and terms, on copies in shared memory.

    Of what is `turned` a row of memory has all rows or columns of one term. Copies are filled up
    with zeros to whole tiles of so many rows, columns and terms. Returns the copies of A and B and,
    where sums go `through` shared memory, theirs.
    """
    every = node_of(sch, block).iter_vars
    apart = [(it,) for it in product.apart]
    rows, columns, terms = product.rows, product.columns, product.terms
    by_rows = [*apart, terms, rows] if turned[0] else [*apart, rows, terms]
    by_columns = [*apart, terms, columns] if turned[1] else [*apart, columns, terms]
    whole = product.fits(tile)
    copies = []
    for region, axes in zip(product.regions, (by_rows, by_columns), strict=True):
        scope = "shared" if whole else "global"
        copy = sch.reindex_cache_read(block, region, scope, _map(every, axes))
        _run_by(sch, copy, [it for it in every if any(it in axis for axis in axes)], axes)
        copies.append(copy)
    stored = None
    if through:
        axes = [*apart, rows, columns]
        scope = "shared.dyn" if whole else "global"
        stored = sch.reindex_cache_write(block, 0, scope, _map(every, axes))
        _run_by(sch, stored, [it for it in every if it.kind == "spatial"], axes)
    _run_by(sch, block, every, [*apart, rows, columns, terms])
    if whole:
        return copies, stored
    sch.pad_einsum(block, [*(1 for _ in apart), *tile])
    copies = [_next(sch, copy, sch.get_consumers, block, sch.compute_inline) for copy in copies]
    for copy in copies:
        sch.set_scope(copy, 0, "shared")
    if stored:
        stored = _next(sch, stored, sch.get_producers, block, sch.reverse_compute_inline)
        sch.set_scope(block, 0, "shared.dyn")
    return copies, stored


def _next(
    sch: Schedule,
    copy: BlockHandle,
    beside: Callable[[BlockHandle], list[BlockHandle]],
    block: BlockHandle,
    inline: Callable[[BlockHandle], None],
) -> BlockHandle:
    """The copy that lies between `copy` and `block`, done at once; itself, if there is none."""
    (found,) = beside(copy)
    if found == block:
        return copy
    inline(copy)
    return found


def iterated(sch: Schedule, block: BlockHandle) -> list[LoopHandle]:
    """The loops of `block` in the order of its iterators, each of which has one of its own."""
    spatial, summed = tile_loops(sch, block)
    values = places(sch.func).blocks[block.key].iter_values
    return sorted((*spatial, *summed), key=lambda loop: values.index(loop.key))


def _run_by(
    sch: Schedule, block: BlockHandle, own: Sequence[IterVar], axes: Sequence[Axis]
) -> None:
    """Let `block`, whose iterators are as `own`, run by `axes` of these, if it does not yet."""
    if [(it,) for it in own] != list(axes):
        sch.transform_block_layout(block, _map(own, axes))


def _map(own: Sequence[IterVar], axes: Sequence[Axis]) -> str:
    """The map from iterators to places on `axes`, each counted from its last iterator on."""
    names = {it: f"i{k}" for k, it in enumerate(own)}
    places = []
    for axis in axes:
        place = names[axis[0]]
        for it in axis[1:]:
            place = f"({place}) * {number(it.dom.extent)} + {names[it]}"
        places.append(place)
    return f"lambda {', '.join(names.values())}: ({', '.join(places)})"
