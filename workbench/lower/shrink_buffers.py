"""shrink_buffers: shared and local arrays only as large as one block, or one thread, uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import takewhile

from workbench.access.accesses import Access, accesses, by_buffer
from workbench.access.boxes import box_around
from workbench.access.cover import Made, covers
from workbench.access.units import buffers_written, limits
from workbench.access.updates import reads
from workbench.arith import Box, Simplifier, reads_memory, union_regions
from workbench.check.alignment import alignments
from workbench.diag import Refusal
from workbench.ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    Kernel,
    Node,
    Range,
    Size,
    Stmt,
    Var,
    const,
    free_vars,
    rewrite,
    substitute,
    walk,
)
from workbench.lower.known_bounds import known_bounds
from workbench.target import Target

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
        self.threads = [_loop_over(var, *self.known[var], kernel.body) for _, var in kernel.axes]
        self.written = buffers_written(kernel.body)
        self._touched: dict[object, Box] = {}

    def window(self, buffer: Buffer, found: Sequence[Access[For]], padding: Padding) -> _Window:
        """The part of `buffer` that the accesses `found`, which are all there are, need.

        All of it where what the kernel writes itself tells a cell: the same index may be another
        one later.
        """
        if self._may_change(found):
            return self._whole(buffer, padding)
        around = common_loops(found)
        still = self.still(buffer, around)
        while True:
            box = self._box(found, still)
            turns = {loop.loop_var for loop in around if not loop.virtual}  # those have their own
            moving = {v for r in box for v in free_vars(r.min)} & turns
            if not moving or self.written_first(found, still):
                break
            still -= moving  # an iteration may read what an earlier one wrote: keep both
        start: list[Expr] = []
        shape: list[Size] = []
        for r, size in zip(box, buffer.shape, strict=True):
            most = self.simplifier.expr_interval(r.extent)[1]
            if isinstance(size, Expr) and buffer.scope == "global":  # memory that a CPU asks for
                start.append(const(0, r.min.dtype))
                shape.append(size)
                continue
            if isinstance(size, Expr):
                most = _fixed(buffer, most)
                start.append(r.min)
                shape.append(most)
                continue
            whole = most is None or most >= size
            start.append(const(0, r.min.dtype) if whole else r.min)
            shape.append(size if most is None or whole else most)
        strides = _padded_strides(shape, padding) if padding else ()
        return _Window(replace(buffer, shape=tuple(shape), strides=strides), tuple(start))

    def _may_change(self, found: Iterable[Access[For]]) -> bool:
        """Whether memory that the kernel writes tells the cells of any of `found`."""
        return any(reads(index, self.written) for access in found for index in access.indices)

    def _whole(self, buffer: Buffer, padding: Padding) -> _Window:
        for size in buffer.shape:
            if isinstance(size, Expr) and buffer.scope != "global":
                _fixed(buffer, None)
        strides = _padded_strides(buffer.shape, padding) if padding else ()
        start = tuple(const(0, "int32") for _ in buffer.shape)
        return _Window(replace(buffer, strides=strides), start)

    def still(self, buffer: Buffer, around: Iterable[For]) -> set[Var]:
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
            self._touched[key] = box_around(self._running(access, still), self.known)
        return self._touched[key]

    def _running(self, access: Access[For], still: Collection[Var]) -> Access[For]:
        """`access` in those loops alone, and threads for loops, that do not stand `still`.

        Where the ends of such a loop vary, it runs just between them.
        """
        loops = [loop for loop in (*self.threads, *access.loops) if loop.loop_var not in still]
        ends = [end for loop in loops for end in limits(loop)]
        return replace(access, loops=tuple(loops), guards=(*ends, *access.guards))

    def written_first(self, found: Sequence[Access[For]], still: Collection[Var]) -> bool:
        """Whether every cell read in an iteration of the loops around was written earlier in it.

        By the stores ahead of all reads. In a loop that such a store and a read share, another
        iteration may come later: it stands still for both, or the store is that of its first one,
        which came no later than the read.
        """
        if self._may_change(found):
            return False
        stores = list(takewhile(lambda access: access.writes, found))
        for read in (access for access in found if not access.writes):
            shared = {loop for store in stores for loop in common_loops([store, read])}
            fixed = {*still, *self.still(read.buffer, shared)}
            again = [loop for loop in _with_first_turn(shared) if loop.loop_var not in still]
            made = [_first_turns(self._running(store, fixed), again) for store in stores]
            every = [Made(store, self.known) for store in made]
            use = self._running(read, fixed)
            if not covers(every, [use], read.buffer.shape, self.known):
                return False
        return bool(stores)


def _fixed(buffer: Buffer, most: int | None) -> int:
    """The cells of a dimension that are kept at a time. Raises Refusal where sizes tell them."""
    if most is None or most > _MOST_CELLS:
        owner = "thread" if buffer.scope == "local" else "block"
        raise Refusal(
            f"{buffer.name} has no fixed size: sizes tell how much of it one {owner} uses",
            buffer,
            hint="compute what it holds inside the loop of a tile; or give sizes: func.specialize",
        )
    return most


_MOST_CELLS = 1 << 24  # far more than any memory of a block, and less than a size may be


def _with_first_turn(loops: Set[For]) -> list[For]:
    """Those of `loops`, which are in a turn, of which the others have a turn in the first one, too.

    Where the ends of a loop inside vary with one, it may have none there, or begin elsewhere; and
    memory may say no longer where one began.
    """
    used = {v for loop in loops for end in (loop.min, loop.extent) for v in free_vars(end)}
    return [one for one in loops if one.loop_var not in used and not reads_memory(one.min)]


def _first_turns(store: Access[For], loops: Iterable[For]) -> Access[For]:
    """`store` in the first iteration of those of `loops` that do not tell its cell.

    None of them begins where another one says, so that all are put in at once.
    """
    moving = store.cell_variables()
    first = {one.loop_var: one.min for one in loops if one.loop_var not in moving}
    return replace(store, guards=tuple(substitute(guard, first) for guard in store.guards))


def _loop_over(var: Var, first: int, last: int, body: Stmt) -> For:
    return For(var, const(first, var.type), const(last - first + 1, var.type), "serial", body)


def common_loops(found: Sequence[Access[For]]) -> tuple[For, ...]:
    """The loops around all of the accesses."""
    common = found[0].loops
    for access in found[1:]:
        same = [a is b for a, b in zip(common, access.loops, strict=False)]
        common = common[: same.index(False) if False in same else len(same)]
    return common


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
