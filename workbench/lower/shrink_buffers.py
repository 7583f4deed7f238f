"""shrink_buffers: shared and local arrays only as large as one block, or one thread, uses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from workbench.access.accesses import Access, accesses, by_buffer
from workbench.access.made import runs_for
from workbench.arith import (
    Bounds,
    Simplifier,
    conjuncts,
    count_points,
    equal,
    linear,
    narrow,
    prove,
    ranges_of,
    reads_memory,
    region_of,
    union_regions,
)
from workbench.check.alignment import alignments
from workbench.ir import (
    BinOp,
    Block,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Const,
    Expr,
    For,
    Kernel,
    Node,
    Range,
    Stmt,
    Var,
    binary,
    const,
    free_vars,
    rewrite,
    substitute,
    walk,
)
from workbench.lower.known_bounds import known_bounds
from workbench.target import Target

Box = tuple[Range, ...]
Padding = dict[int, tuple[int, int]]  # axis -> factor and offset of its stride


def shrink_buffers(kernel: Kernel, target: Target) -> Kernel:
    """Cut shared and local arrays down to the region in use, and count indices from its start.

    What is in use at a time is what all accesses touch while the loops around all of them stand
    still: for shared memory over all threads of a block, for local memory in one thread.
    """
    if not kernel.allocs:
        return kernel
    padding = _paddings(kernel)
    found = by_buffer(accesses(kernel.body))
    finder = WindowFinder(kernel)
    windows = {b: finder.window(b, found[b], padding.get(b, {})) for b in kernel.allocs}
    body = rewrite(kernel.body, _Shifter(windows, finder.simplifier).visit)
    return with_buffers(kernel, {b: window.buffer for b, window in windows.items()}, body)


def with_buffers(kernel: Kernel, new: Mapping[Buffer, Buffer], body: Stmt) -> Kernel:
    """`kernel` with other buffers in the place of the keys of `new`, and a body that uses them."""
    return replace(
        kernel,
        params=tuple(new.get(b, b) for b in kernel.params),
        allocs=tuple(new.get(b, b) for b in kernel.allocs),
        views=tuple((new.get(held, held), whole) for held, whole in kernel.views),
        body=body,
    )


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of an array that is kept: `buffer` holds it, its first cell was at `start`."""

    buffer: Buffer
    start: tuple[Expr, ...]


class WindowFinder:
    def __init__(self, kernel: Kernel) -> None:
        self.axes = kernel.axes
        self.known = known_bounds(kernel)
        self.simplifier = Simplifier(self.known)
        self._touched: dict[object, Box] = {}

    def window(self, buffer: Buffer, found: Sequence[Access[For]], padding: Padding) -> _Window:
        """The part of `buffer` that the accesses `found`, which are all there are, need."""
        around = common_loops(found)
        still = self.still(buffer, around)
        while True:
            box = self._box(found, still)
            turns = {loop.loop_var for loop in around if not loop.virtual}  # those have their own
            moving = {v for r in box for v in free_vars(r.min)} & turns
            if not moving or self.written_first(found, still):
                break
            still -= moving  # an iteration may read what an earlier one wrote: keep both
        start, shape = [], []
        for r, size in zip(box, buffer.shape, strict=True):
            most = self.simplifier.expr_interval(r.extent)[1]
            whole = most is None or most >= size
            start.append(const(0, r.min.dtype) if whole else r.min)
            shape.append(size if most is None or whole else most)
        strides = _padded_strides(shape, padding) if padding else ()
        return _Window(replace(buffer, shape=tuple(shape), strides=strides), tuple(start))

    def still(self, buffer: Buffer, around: Sequence[For]) -> set[Var]:
        """What keeps its value in a turn of the loops `around`, for all that share `buffer`."""
        own = buffer.scope == "local"
        place = {var for axis, var in self.axes if own or axis.startswith("blockIdx")}
        return place | {loop.loop_var for loop in around if own or not loop.virtual}

    def _box(self, found: Sequence[Access[For]], still: Collection[Var]) -> Box:
        """The box that all of `found` touch together while the variables in `still` stand still."""
        number = self.simplifier.number
        boxes: dict[object, Box] = {}
        for access in found:
            box = self._touches(access, still)
            boxes.setdefault(tuple(number(end) for r in box for end in (r.min, r.extent)), box)
        union, *others = boxes.values()
        for box in others:
            union = union_regions(union, box, self.known)
        return union

    def _touches(self, access: Access[For], still: Collection[Var]) -> Box:
        """As `_box`; accesses alike are looked at once."""
        content = tuple(map(self.simplifier.number, (*access.indices, *access.guards)))
        key = access.buffer, content, frozenset(still)
        if key not in self._touched:
            self._touched[key] = _box(access, still, self.known)
        return self._touched[key]

    def written_first(self, found: Sequence[Access[For]], still: Collection[Var]) -> bool:
        """Whether every cell read in an iteration of the loops around was written earlier in it."""
        first = found[0]
        if not first.writes:
            return False
        conditions = [c for guard in first.guards for c in conjuncts(guard)]
        conditions = [c for c in conditions if not _stays_inside(c, first, self.known)]
        if any(_may_change(c, still) for c in conditions):
            if not all(self._runs_for(first, read, still) for read in found if not read.writes):
                return False  # an iteration may skip the store
            first = replace(first, guards=())
        written = self._touches(first, still)
        extents = [self.simplifier.expr_interval(r.extent)[1] for r in written]
        _, inner = _under_conditions(first, still, self.known)
        points = count_points(ranges_of(first.cell_variables() & set(inner), inner))
        if None in extents or prod(e for e in extents if e is not None) > points:
            return False  # the store leaves gaps
        reads = [self._touches(access, still) for access in found if not access.writes]
        return all(_covers(written, box, self.known) for box in reads)

    def _runs_for(self, store: Access[For], read: Access[For], still: Collection[Var]) -> bool:
        """Whether no condition keeps `store` from a cell of `read`, maybe in another thread."""
        fresh: dict[Var, Expr] = {}
        known = dict(self.known)
        for var in read.variables() - {*still}:
            new = fresh[var] = Var(var.name, var.type)
            if var in known:
                known[new] = known[var]
        elsewhere = replace(
            read,
            indices=tuple(substitute(index, fresh) for index in read.indices),
            guards=tuple(substitute(guard, fresh) for guard in read.guards),
        )
        own = store.variables() - {*still}
        return runs_for(store, elsewhere, own, store.buffer.shape, known)


def common_loops(found: Sequence[Access[For]]) -> tuple[For, ...]:
    """The loops around all of the accesses."""
    common = found[0].loops
    for access in found[1:]:
        same = [a is b for a, b in zip(common, access.loops, strict=False)]
        common = common[: same.index(False) if False in same else len(same)]
    return common


# --- what one access touches ---------------------------------------------------------------------


def _box(access: Access[For], still: Collection[Var], known: Bounds) -> Box:
    """The box that `access` touches while the variables in `still` keep their values."""
    indices, inner = _under_conditions(access, still, known)
    outer = {var: ends for var, ends in known.items() if var in still}
    return region_of(indices, inner, access.buffer.shape, outer)


def _under_conditions(
    access: Access[For], still: Collection[Var], known: Bounds
) -> tuple[tuple[Expr, ...], dict[Var, tuple[int, int]]]:
    """The indices of `access` and the bounds of what moves in them, as its conditions leave them.

    ``i * 128 + j < 130`` bounds a sum: the sum becomes a variable of its own with that bound.
    """
    inner = {var: ends for var, ends in known.items() if var not in still}
    indices = access.indices
    for condition in (c for guard in access.guards for c in conjuncts(guard)):
        if any(var not in inner for var in free_vars(condition)):
            continue
        narrowed = narrow(inner, condition)
        if all(low <= high for low, high in narrowed.values()):
            inner = narrowed
        total, limit = _upper_limit(condition)
        unit = None if total is None else _unit_variable(total, inner)
        if total is None or unit is None:
            continue
        low = Simplifier(inner).expr_interval(total)[0]
        if low is None:
            continue
        whole = Var("sum", unit.type)
        value = whole - substitute(total, {unit: const(0, unit.type)})
        indices = tuple(substitute(index, {unit: value}) for index in indices)
        inner[whole] = (low, max(low, limit))
    return indices, inner


def _upper_limit(condition: Expr) -> tuple[Expr | None, int]:
    """The sum that a condition bounds and the largest value that it allows."""
    match condition:
        case BinOp("<", total, Const(value=limit)) if free_vars(total):
            return total, int(limit) - 1
        case BinOp("<=", total, Const(value=limit)) if free_vars(total):
            return total, int(limit)
    return None, 0


def _unit_variable(total: Expr, inner: Bounds) -> Var | None:
    """A variable that counts once in a sum of at least two, so that the sum can stand for it."""
    factors = linear(total, list(inner))
    if factors is None or len(factors[0]) < 2:
        return None
    return next((var for var, factor in factors[0].items() if factor == 1), None)


def _may_change(condition: Expr, still: Collection[Var]) -> bool:
    """Whether `condition` may hold in one iteration of the loops of `still` and not in another."""
    return reads_memory(condition) or not set(still).isdisjoint(free_vars(condition))


def _stays_inside(condition: Expr, store: Access[For], known: Bounds) -> bool:
    """Whether `condition` only keeps an index of `store` inside its array, as reads are anyway."""
    match condition:
        case BinOp("<", value, Const(value=limit)) if int(limit) > 0:
            return any(
                size % int(limit) == 0 and equal(index // (size // int(limit)), value, known)
                for index, size in zip(store.indices, store.buffer.shape, strict=True)
            )
    return False


def _covers(outer: Box, inner: Box, known: Bounds) -> bool:
    return all(
        prove(binary("<=", a.min, b.min), known)
        and prove(binary("<=", b.min + b.extent, a.min + a.extent), known)
        for a, b in zip(outer, inner, strict=True)
    )


# --- storage_align -------------------------------------------------------------------------------


def _paddings(kernel: Kernel) -> dict[Buffer, Padding]:
    """What `storage_align` asked: of which buffer, which axis, which factor and offset."""
    asked: dict[Buffer, Padding] = {}
    for block in (node for node in walk(kernel.body) if isinstance(node, Block)):
        for which, axis, factor, offset in alignments(block):
            asked.setdefault(block.writes[which].buffer, {})[axis] = factor, offset
    return asked


def _padded_strides(shape: Sequence[int], padding: Padding) -> tuple[int, ...]:
    """Row-major strides, each raised to `offset` above a multiple of `factor` where asked."""
    strides = [1]
    for axis in range(len(shape) - 2, -1, -1):
        stride = strides[0] * shape[axis + 1]
        factor, offset = padding.get(axis, (1, 0))
        strides.insert(0, stride + (offset - stride) % factor)
    return tuple(strides)


# --- rewriting -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shifter:
    windows: dict[Buffer, _Window]
    simplifier: Simplifier

    def visit(self, node: Node) -> Node:
        """`node` with indices counted from the start of what is kept."""
        match node:
            case BufferLoad(buffer=old) | BufferStore(buffer=old) if old in self.windows:
                shifted = self._shifted(old, node.indices)
                return replace(node, buffer=self.windows[old].buffer, indices=shifted)
            case BufferRegion(buffer, region) if buffer in self.windows:
                starts = self._shifted(buffer, tuple(r.min for r in region))
                ranges = (Range(s, r.extent) for s, r in zip(starts, region, strict=True))
                return BufferRegion(self.windows[buffer].buffer, tuple(ranges))
        return node

    def _shifted(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(
            self._less(i, s) for i, s in zip(indices, self.windows[buffer].start, strict=True)
        )

    def _less(self, index: Expr, start: Expr) -> Expr:
        known = self.simplifier
        difference = known.tidy(known.sum_of(index).plus(known.sum_of(start), -1))
        return known.expr_of(difference, index.dtype)
