"""shrink_buffers: shared and local arrays only as large as one block, or one thread, uses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.access.accesses import Access, accesses, by_buffer
from workbench.access.boxes import box_around
from workbench.access.fed import Fed, common_loops
from workbench.arith import Box, Simplifier, union_regions
from workbench.check.alignment import alignments
from workbench.diag import Refusal
from workbench.ir import (
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
    Size,
    Stmt,
    Var,
    const,
    free_vars,
    rewrite,
    walk_statements,
)
from workbench.lower.gaps import Fold, behind, cells_left, folds, place
from workbench.lower.known_bounds import known_bounds
from workbench.target import Target

Padding = dict[int, tuple[int, int]]  # axis -> factor and offset of its stride


def shrink_buffers(kernel: Kernel, target: Target) -> Kernel:
    """Cut shared and local arrays down to the region in use, and count indices from its start.

    What is in use at a time is what all accesses touch while the loops around all of them stand
    still: for shared memory over all threads of a block, for local memory in one thread. Between
    such cells of a local array there are no gaps left; shared memory has its banks, so that each
    cell lies where the program says.
    """
    if not kernel.allocs:
        return kernel
    padding = paddings_of(kernel.body)
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
    """The part of an array that is kept: `buffer` holds it, its first cell was at `start`.

    Counted from there, `gaps` are left out along each dimension.
    """

    buffer: Buffer
    start: tuple[Expr, ...]
    gaps: tuple[tuple[Fold, ...], ...]

    def indices(self, indices: Sequence[Expr], known: Simplifier) -> tuple[Expr, ...]:
        """Where the cell at `indices` of the whole is in it."""
        at = zip(indices, self.start, self.gaps, strict=True)
        return tuple(
            known.expr_of(place(behind(start, index, known), gaps), index.dtype)
            for index, start, gaps in at
        )


class WindowFinder(Fed):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel.body, known_bounds(kernel), kernel.axes)
        self._touched: dict[object, Box] = {}
        self.regions: dict[Buffer, list[BufferRegion]] = {}  # that blocks say they touch
        for region in (
            node for node in walk_statements(kernel.body) if isinstance(node, BufferRegion)
        ):
            self.regions.setdefault(region.buffer, []).append(region)

    def window(self, buffer: Buffer, found: Sequence[Access[For]], padding: Padding) -> _Window:
        """The part of `buffer` that the accesses `found`, which are all there are, need.

        All of it where what the kernel writes itself tells a cell: the same index may be another
        one later.
        """
        if self.may_change(found):
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
        gaps: list[tuple[Fold, ...]] = [()] * len(start)
        if buffer.scope == "local":
            gaps = [self._gaps(buffer, found, axis, at) for axis, at in enumerate(start)]
        shape = [cells_left(size, folded) for size, folded in zip(shape, gaps, strict=True)]
        strides = padded_strides(shape, padding) if padding else ()
        kept = replace(buffer, shape=tuple(shape), strides=strides)
        return _Window(kept, tuple(start), tuple(gaps))

    def _gaps(
        self, buffer: Buffer, found: Sequence[Access[For]], axis: int, start: Expr
    ) -> tuple[Fold, ...]:
        """What closes the gaps on an axis between what is touched, or said to be by blocks."""
        said = [region.region[axis] for region in self.regions.get(buffer, ())]
        ends = [(access.indices[axis], 1) for access in found]
        ends += [(r.min, int(r.extent.value)) for r in said if isinstance(r.extent, Const)]
        if len(ends) < len(found) + len(said):
            return ()
        runs = [(behind(start, index, self.simplifier), count) for index, count in ends]
        return folds(runs, self.simplifier)

    def _whole(self, buffer: Buffer, padding: Padding) -> _Window:
        for size in buffer.shape:
            if isinstance(size, Expr) and buffer.scope != "global":
                _fixed(buffer, None)
        strides = padded_strides(buffer.shape, padding) if padding else ()
        start = tuple(const(0, "int32") for _ in buffer.shape)
        return _Window(replace(buffer, strides=strides), start, ((),) * len(start))

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
            self._touched[key] = box_around(self.running(access, still), self.known)
        return self._touched[key]


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


# --- storage_align -------------------------------------------------------------------------------


def paddings_of(body: Stmt) -> dict[Buffer, Padding]:
    """What `storage_align` asked: of which buffer, which axis, which factor and offset."""
    asked: dict[Buffer, Padding] = {}
    for block in (node for node in walk_statements(body) if isinstance(node, Block)):
        for which, axis, factor, offset in alignments(block):
            asked.setdefault(block.writes[which].buffer, {})[axis] = factor, offset
    return asked


def padded_strides(shape: Sequence[int], padding: Padding) -> tuple[int, ...]:
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
                window = self.windows[old]
                indices = window.indices(node.indices, self.simplifier)
                return replace(node, buffer=window.buffer, indices=indices)
            case BufferRegion(buffer, region) if buffer in self.windows:
                window = self.windows[buffer]
                starts = window.indices([r.min for r in region], self.simplifier)
                ranges = (Range(at, r.extent) for at, r in zip(starts, region, strict=True))
                return BufferRegion(window.buffer, tuple(ranges))
        return node
