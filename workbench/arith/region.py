"""Regions: the boxes of a buffer that loops and blocks touch."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.arith.canonical import Bounds, Digit, SizedEnds, Sum
from workbench.arith.cost import cost
from workbench.arith.prove import equal, loop_bounds, reads_memory
from workbench.arith.simplify import Simplifier
from workbench.ir import (
    BinOp,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Const,
    Expr,
    For,
    Node,
    Range,
    Size,
    SizeVar,
    Stmt,
    Var,
    binary,
    children,
    const,
    free_vars,
    size_expr,
    stores,
    substitute,
    walk,
)

Box = tuple[Range, ...]
Ends = tuple[Expr, Expr]  # inclusive, over variables that are not relaxed


def region_of(
    indices: Sequence[Expr],
    inner: Bounds,
    shape: Sequence[Size] | None = None,
    outer: Bounds | None = None,
) -> Box:
    """The smallest box around `indices` while the variables of `inner` take all their values.

    `min` of each range may use other variables, which `outer` may bound. Exact for affine indices
    with independent variables. A dimension with no known ends, such as one that what is in memory
    decides, covers all of `shape`.

    Raises ValueError for such a dimension where there is no `shape`.
    """
    box = []
    relaxer = _Relaxer(inner, outer or {})
    for axis, index in enumerate(indices):
        side = relaxer.side(index)
        if side is None:
            if shape is None:
                raise ValueError("this index has no bounds and no shape limits it")
            ends = const(0, index.dtype), size_expr(shape[axis] - 1, index.dtype)
            side = _range(*ends, relaxer.known)
        box.append(side)
    return tuple(box)


def relax(
    box: Box, inner: Bounds, shape: Sequence[Size] | None = None, outer: Bounds | None = None
) -> Box:
    """The smallest box around `box` while the variables of `inner` take all their values.

    As `region_of`, which does so for single cells.
    """
    first = region_of([r.min for r in box], inner, shape, outer)
    known = {**(outer or {}), **inner}
    if all(isinstance(r.extent, Const) for r in box):
        simple = Simplifier(known).simplify
        return tuple(
            Range(low.min, simple(low.extent + (r.extent - 1)))
            for low, r in zip(first, box, strict=True)
        )
    last = region_of([_last(r) for r in box], inner, shape, outer)
    return union_regions(first, last, known)


def union_regions(a: Box, b: Box, dom: Bounds | None = None) -> Box:
    """The smallest box around both."""
    known = Simplifier(dom or {})
    return tuple(_union(x, y, known) for x, y in zip(a, b, strict=True))


def _union(a: Range, b: Range, known: Simplifier) -> Range:
    low = known.simplify(binary("min", a.min, b.min))
    last = known.simplify(binary("max", _last(a), _last(b)))
    return _range(low, last, known)


def _last(r: Range) -> Expr:
    return r.min + r.extent - 1


def _range(low: Expr, last: Expr, known: Simplifier) -> Range:
    gap = known.difference(last, low)
    if gap is not None and not gap.digits:
        return Range(low, const(gap.const + 1, low.dtype))
    return Range(low, known.simplify(last - low + 1))


# --- relaxing one index --------------------------------------------------------------------------


class _Relaxer:
    """Finds the ends of expressions as the `inner` variables run."""

    def __init__(self, inner: Bounds, outer: Bounds) -> None:
        self.inner = inner
        self.known = Simplifier({**outer, **inner})

    def side(self, e: Expr) -> Range | None:
        """From the lowest value of `e` to the highest one; None where they are not known."""
        if not self._moves(e):
            return Range(e, const(1, e.dtype))
        sums = self._sums(e)
        if sums is None:
            return None
        low, high = sums
        first, gap = self.known.expr_of(low, e.dtype), self.known.tidy(high.plus(low, -1))
        if not gap.digits:
            return Range(first, const(gap.const + 1, e.dtype))
        return _range(first, self.known.expr_of(high, e.dtype), self.known)

    def ends(self, e: Expr) -> Ends | None:
        """Expressions for the lowest and highest value of `e`; None where they are not known."""
        if not self._moves(e):
            return e, e
        sums = self._sums(e)
        return sums and (self.known.expr_of(sums[0], e.dtype), self.known.expr_of(sums[1], e.dtype))

    def _sums(self, e: Expr) -> tuple[Sum, Sum] | None:
        if reads_memory(e):
            return None  # another cell may hold any number
        low, high = self._sum_ends(self.known.sum_of(e), e.dtype)
        return None if low is None or high is None else (low, high)

    def _moves(self, e: Expr) -> bool:
        return any(var in self.inner for var in free_vars(e))

    def _sum_ends(self, total: Sum, dtype: str) -> tuple[Sum | None, Sum | None]:
        low: Sum | None = Sum({}, total.const)
        high: Sum | None = Sum({}, total.const)
        for digit, factor in total.digits.items():
            ends = self._digit_ends(digit, dtype)
            if factor < 0:
                ends = ends[1], ends[0]
            low = None if low is None or ends[0] is None else low.plus(ends[0], factor)
            high = None if high is None or ends[1] is None else high.plus(ends[1], factor)
        tidy = self.known.tidy
        return None if low is None else tidy(low), None if high is None else tidy(high)

    def _digit_ends(self, digit: Digit, dtype: str) -> tuple[Sum | None, Sum | None]:
        part = self.known.part(digit)
        if not self._moves(part):
            return Sum({digit: 1}), Sum({digit: 1})
        if digit.upper is None and any(map(self._is_sized, free_vars(part))):
            return self._ends_by_sizes(digit, dtype)
        numbers = self.known.interval(Sum({digit: 1}))
        fixed = tuple(None if end is None else Sum({}, end) for end in numbers)
        if all(var in self.inner for var in free_vars(part)) or digit.upper is not None:
            return fixed[0], fixed[1]
        base = self.known.part(Digit(digit.base, 1, None))
        low, high = self._part_ends(base, digit.base)
        return tuple(  # type: ignore[return-value]
            known if end is None else self.known.div(end, digit.lower, dtype)
            for end, known in zip((low, high), fixed, strict=True)
        )

    def _ends_by_sizes(self, digit: Digit, dtype: str) -> tuple[Sum | None, Sum | None]:
        """As `_digit_ends`, where a number that holds for all sizes is no end of its own."""
        base = self.known.base(digit)
        ends = self.known.dom.get(base) if isinstance(base, Var) else None
        if isinstance(ends, SizedEnds):
            low, high = Sum({}, ends[0]), self.known.sum_of(ends.last)
        else:
            first, last = self._part_ends(base, digit.base)
            if first is None or last is None:
                return None, None
            low, high = first, last
        return self.known.div(low, digit.lower, dtype), self.known.div(high, digit.lower, dtype)

    def _is_sized(self, var: Var) -> bool:
        return isinstance(var, SizeVar) or isinstance(self.known.dom.get(var), SizedEnds)

    def _part_ends(self, base: Expr, number: int) -> tuple[Sum | None, Sum | None]:
        inner = self.known.inner_sum(number)
        if inner is not None:
            return self._sum_ends(inner, base.dtype)
        row = self.known.row_of(Digit(number, 1, None))
        if row is not None:
            first, last = self._sum_ends(row[0], base.dtype)
            if first is not None and last is not None:
                return self.known.rows(first, row[1]), self.known.rows(last, row[1])
        match base:
            case BinOp("min" | "max" as op, a, b):
                pairs = zip(self.ends(a) or (None, None), self.ends(b) or (None, None), strict=True)
                low, high = (self._extreme(op, x, y) for x, y in pairs)
                return low, high
        return None, None

    def _extreme(self, op: str, a: Expr | None, b: Expr | None) -> Sum | None:
        return None if a is None or b is None else self.known.sum_of(binary(op, a, b))


# --- what a statement reads and writes -----------------------------------------------------------


def access_regions(stmt: Stmt) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    """The regions that `stmt` reads and writes, in the order in which it first does, as TVM infers.

    Loops inside are relaxed; a block inside counts with the regions that it declares. Of a block
    with an init, what that starts is left out of what it reads. Buffers allocated inside do not
    count, nor do parameters that are numbers; an index that is loaded from the former, or from
    what has changed since `stmt` began, may be any.
    """
    found = _Accesses()
    if isinstance(stmt, Block):
        if stmt.init is not None:
            found.visit(stmt.init, {})
        found.visit(stmt.body, {})
    else:
        found.visit(stmt, {})
    hidden = set(stmt.alloc_buffers) if isinstance(stmt, Block) else set()
    own = _own_cells(stmt) if isinstance(stmt, Block) else set()
    reads = {b: box for b, box in found.reads.items() if b not in own}
    return _regions(reads, hidden), _regions(found.writes, hidden)


def _own_cells(block: Block) -> set[Buffer]:
    """The buffers that the init of `block` stores to, and which it loads only where it stores."""
    if block.init is None:
        return set()
    cells: dict[Buffer, list[tuple[Expr, ...]]] = {}
    for store in stores(block.body):
        cells.setdefault(store.buffer, []).append(store.indices)
    elsewhere = {
        node.buffer
        for part in (block.init, block.body)
        for node in walk(part)
        if isinstance(node, BufferLoad)
        and not any(_same(node.indices, cell) for cell in cells.get(node.buffer, ()))
    }
    return {store.buffer for store in stores(block.init)} - elsewhere


def _same(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    return all(equal(x, y) for x, y in zip(a, b, strict=True))


def _regions(boxes: dict[Buffer, Box], hidden: set[Buffer]) -> tuple[BufferRegion, ...]:
    return tuple(
        BufferRegion(b, _in_sight(box, b, hidden)) for b, box in boxes.items() if b not in hidden
    )


def _in_sight(box: Box, buffer: Buffer, hidden: set[Buffer]) -> Box:
    """`box` with the whole of each dimension whose ends are told by a buffer of `hidden`."""
    if not hidden:
        return box
    return tuple(
        _whole(r, size)
        if any(isinstance(n, BufferLoad) and n.buffer in hidden for n in walk(r))
        else r
        for r, size in zip(box, buffer.shape, strict=True)
    )


def _whole(r: Range, size: Size) -> Range:
    return Range(const(0, r.min.dtype), size_expr(size, r.min.dtype))


class _Accesses:
    """Collects, per buffer, the box of all its accesses."""

    def __init__(self) -> None:
        self.reads: dict[Buffer, Box] = {}
        self.writes: dict[Buffer, Box] = {}
        self.endless: set[Var] = set()  # loops of which data decide the number of turns
        self.changed: set[Buffer] = set()  # what may have been written before

    def visit(self, node: Node, inner: dict[Var, tuple[int, int]]) -> None:
        """Adds the accesses in `node`, inside loops that `inner` bounds."""
        match node:
            case For():
                inside = {**inner, **loop_bounds([node], inner)}
                if node.loop_var not in inside:
                    self.endless.add(node.loop_var)
                self.visit(node.min, inner)
                self.visit(node.extent, inner)
                self.changed |= {store.buffer for store in stores(node.body)}
                self.visit(node.body, inside)
            case BlockRealize():
                self._visit_realize(node, inner)
            case BufferStore(buffer, value, indices):
                self.visit(value, inner)
                for index in indices:
                    self.visit(index, inner)
                self._add(self.writes, buffer, indices, inner)
                self.changed.add(buffer)
            case BufferLoad(buffer) if buffer.scalar:
                pass
            case BufferLoad(buffer, indices):
                self._add(self.reads, buffer, indices, inner)
                for index in indices:
                    self.visit(index, inner)
            case _:
                for child in children(node):
                    self.visit(child, inner)

    def _visit_realize(self, node: BlockRealize, inner: dict[Var, tuple[int, int]]) -> None:
        values = {
            it.var: value for it, value in zip(node.block.iter_vars, node.iter_values, strict=True)
        }
        own = set(node.block.alloc_buffers)
        for regions, boxes in ((node.block.reads, self.reads), (node.block.writes, self.writes)):
            for region in regions:
                if region.buffer not in own:
                    box = substitute(region, values).region
                    relaxed = relax(box, inner, region.buffer.shape)
                    self._merge(boxes, region.buffer, relaxed, inner)
        self.changed |= {region.buffer for region in node.block.writes}

    def _add(
        self, boxes: dict[Buffer, Box], buffer: Buffer, indices: Sequence[Expr], inner: Bounds
    ) -> None:
        self._merge(boxes, buffer, region_of(indices, inner, buffer.shape), inner)

    def _merge(self, boxes: dict[Buffer, Box], buffer: Buffer, box: Box, inner: Bounds) -> None:
        if self.endless:
            sides = zip(box, buffer.shape, strict=True)
            moves = self.endless.intersection
            box = tuple(_whole(r, size) if moves(free_vars(r)) else r for r, size in sides)
        _merge(boxes, buffer, _in_sight(box, buffer, self.changed), inner)


def _merge(boxes: dict[Buffer, Box], buffer: Buffer, box: Box, inner: Bounds) -> None:
    before = boxes.get(buffer)
    both = box if before is None else union_regions(before, box)
    boxes[buffer] = tuple(
        _whole(r, size) if _is_long(r) else r for r, size in zip(both, buffer.shape, strict=True)
    )


# Many indices of which none is the lowest make a box that nobody reads and each further one has to
# be held against: it costs the cube of their number.
_LONG = 200


def _is_long(r: Range) -> bool:
    return not isinstance(r.extent, Const) and cost(r.min) + cost(r.extent) > _LONG
