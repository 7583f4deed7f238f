"""Boxes of cells: one around all that an access touches, and one of which it leaves none out.

The first may be too large, so that nothing is missed; the second may be too small, or none at all,
so that nothing is claimed. Where the first box of a use lies in the second box of a store, each
cell that is used was stored. Both are told in what stands still, so that a proof is for any size.

They are the "may" and the "must" regions of array section analysis (Havlak and Kennedy, 1991;
Creusillet and Irigoin, 1996). A region here is always a box: what a union of boxes fills is seen
only where boxes lie side by side (`merged`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

from workbench import arith
from workbench.access.accesses import Access
from workbench.access.counters import (
    limited,
    one_to_one,
    rows_counted,
    stopped_digits,
    untangled,
    variables,
)
from workbench.access.facts import positive
from workbench.access.units import runs_fixed
from workbench.arith import Bounds, Box, SizedEnds
from workbench.ir import (
    Const,
    Expr,
    For,
    Range,
    Size,
    const,
)

# --- around what is touched ----------------------------------------------------------------------


def box_around(access: Access[For], dom: Bounds) -> Box:
    """A box around what `access` touches as its loops run, as far as `dom` knows their ends.

    A dimension with no known ends is taken whole. A sum that a guard stops goes no further:
    ``c // 32`` with ``c < 320`` ends at 9, however far the loops of which `c` is the sum run.
    """
    conditions = [one for guard in access.guards for one in positive(guard)]
    indices, own = limited(access.indices, conditions, _own_bounds(access, dom))
    return arith.relax(_boxes_at(indices, access.sizes), own, access.buffer.shape, dom)


def _own_bounds(access: Access[For], dom: Bounds) -> Bounds:
    """The bounds of the loops of `access`, of those that `dom` knows."""
    return {loop.loop_var: dom[loop.loop_var] for loop in access.loops if loop.loop_var in dom}


def _boxes_at(corner: Sequence[Expr], sizes: Sequence[int]) -> Box:
    return tuple(Range(low, const(n, low.dtype)) for low, n in zip(corner, sizes, strict=True))


def inside(needed: Box, made: Box, shape: tuple[int, ...], dom: Bounds) -> bool:
    """Whether the box `needed`, as far as it is in `shape`, is proved to be inside `made`."""
    known = arith.Simplifier(dom)
    return all(_in_range(b, a, n, known) for a, b, n in zip(made, needed, shape, strict=True))


def _in_range(needed: Range, made: Range, size: int, known: arith.Simplifier) -> bool:
    end = made.min + made.extent
    begins = arith.proved(needed.min >= made.min, known) or arith.proved(made.min <= 0, known)
    ends = needed.min + needed.extent <= end
    return begins and (arith.proved(ends, known) or arith.proved(end >= size, known))


# --- without a gap -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filled:
    """A box of which `access` leaves no cell out, but for what its guards keep it from.

    `own` are the bounds of what moves in it: loops, and sums of loops that a guard stopped.
    """

    box: Box
    access: Access[For]
    own: Bounds


def filled(access: Access[For], dom: Bounds) -> Filled | None:
    """The box that `access` fills while its loops run; None where none is found.

    None, too, where it varies how often they run, or where data say which cells it touches.
    """
    own = _own_bounds(access, dom)
    if len(own) < len(access.loops) or not all(_is_exact(loop, own) for loop in access.loops):
        return None
    if any(map(arith.reads_memory, access.indices)):
        return None
    found = filled_as(access, own, dom)
    if found is None:  # as `(x // 2 * 4 + a) // 4` with `a` below 4, which `a` does not move
        short = tuple(arith.simplify(index, {**dom, **own}) for index in access.indices)
        if short != access.indices:
            found = filled_as(replace(access, indices=short), own, dom)
    return found


def _is_exact(loop: For, own: Bounds) -> bool:
    """Whether `loop` takes all values that `own` says, and no others."""
    return runs_fixed(loop) or isinstance(own[loop.loop_var], SizedEnds)


def filled_as(access: Access[For], own: Bounds, dom: Bounds) -> Filled | None:
    """As `filled`, as the variables of `own` take all their values; data stay as they are."""
    conditions = [one for guard in access.guards for one in positive(guard)]
    if any(isinstance(ends, SizedEnds) for ends in own.values()):
        conditions = [one for one in conditions if not arith.prove(one, {**dom, **own})]
    corner, own, left, _ = stopped_digits(access.indices, conditions, own)
    box = whole_box(corner, access.sizes, own, dom)
    if box is None:
        return None
    return Filled(box, replace(access, indices=tuple(corner), guards=tuple(left)), own)


def whole_box(corner: Sequence[Expr], sizes: Sequence[int], own: Bounds, dom: Bounds) -> Box | None:
    """The box around the boxes of `sizes` at `corner` as `own` run, if they leave no cell out.

    `dom` bounds the other variables, which stay as they are.
    """
    corner, digits = rows_counted(*untangled(corner, own))
    try:
        box = arith.relax(_boxes_at(corner, sizes), digits, None, dom)
    except ValueError:  # no ends are known
        return None
    used = {v for low in corner for v in variables(low)}
    moving = {v: ends for v, ends in digits.items() if v in used and _turns(ends)}
    sized = [ends for ends in digits.values() if isinstance(ends, SizedEnds)]
    if sized:
        others = [ends for v, ends in digits.items() if v not in moving]
        runs = all(_runs(ends, dom) for ends in others if isinstance(ends, SizedEnds))
        return box if runs and _goes_through(corner, sizes, moving, dom) else None
    extents = [int(r.extent.value) for r in box if isinstance(r.extent, Const)]
    if len(extents) < len(box):
        return None
    if _goes_through(corner, sizes, moving, dom):
        return box
    # Turns that fill as many cells as the box has, no two of them one cell: then each is filled.
    turns = prod(high - low + 1 for low, high in moving.values())
    sides = zip(corner, sizes, strict=True)
    apart = all(size == 1 or not moving.keys() & {*variables(low)} for low, size in sides)
    single = apart and prod(extents) == turns * prod(sizes)
    return box if single and one_to_one(corner, moving, dom) else None


def _turns(ends: tuple[int, int]) -> bool:
    """Whether a variable may have more than one value."""
    return ends[0] < ends[1] or isinstance(ends, SizedEnds)


def _runs(ends: SizedEnds, dom: Bounds) -> bool:
    """Whether a loop up to there has a turn, whatever its sizes in `dom`."""
    return arith.prove(ends.last >= ends[0], dom)


def _goes_through(
    corner: Sequence[Expr], sizes: Sequence[int], moving: Bounds, dom: Bounds
) -> bool:
    """Whether each dimension goes through all numbers between its ends, whatever the others do.

    A sum does where no step is longer than what the smaller ones fill together, which may overlap;
    a dimension does so on its own where what moves it moves no other. A loop that may have no turn
    is the slowest of its dimension, and its steps do not overlap: without a turn it fills nothing,
    and its box is empty, too.
    """
    seen = set[Expr]()
    for low, count in zip(corner, sizes, strict=True):
        size: Size = count
        affine = arith.linear(low, moving)
        if affine is None or not seen.isdisjoint(affine[0]):
            return False
        seen |= affine[0].keys()
        for var, factor in sorted(affine[0].items(), key=lambda item: abs(item[1])):
            ends = moving[var]
            if not isinstance(size, int) or abs(factor) > size:
                return False
            if isinstance(ends, SizedEnds):
                if abs(factor) != size and not _runs(ends, dom):
                    return False
                size = (ends.last - ends[0]) * abs(factor) + size
            else:
                size += abs(factor) * (ends[1] - ends[0])
    return True


def merged(boxes: Iterable[Box]) -> list[Box]:
    """`boxes`, those that lie side by side as one.

    Along one dimension after the other, those that are alike in all others are chained, each to the
    one that begins where it ends; again as long as they become fewer. So a round costs as much as
    there are boxes, not as there are pairs.
    """
    left = list(boxes)
    known = arith.Simplifier({})
    count = len(left) + 1
    while len(left) < count and len(left) > 1:
        count = len(left)
        for axis in range(len(left[0])):
            left = _chained(left, axis, known)
    return left


def _chained(boxes: Sequence[Box], axis: int, known: arith.Simplifier) -> list[Box]:
    """`boxes`, those as one that lie side by side along `axis`."""
    number = known.number
    begins: dict[tuple[int, ...], Box] = {}
    for box in boxes:
        others = [e for k, r in enumerate(box) if k != axis for e in (r.min, r.extent)]
        begins.setdefault((*map(number, others), number(box[axis].min)), box)
    next_to: dict[tuple[int, ...], tuple[int, ...]] = {}
    for key, box in begins.items():
        after = (*key[:-1], number(box[axis].min + box[axis].extent))
        if after in begins and after != key:
            next_to[key] = after
    found, behind = [], {*next_to.values()}
    for key in begins.keys() - behind:
        box, extent = begins[key], begins[key][axis].extent
        while key in next_to:
            key = next_to[key]
            extent = extent + begins[key][axis].extent
        found.append((*box[:axis], Range(box[axis].min, extent), *box[axis + 1 :]))
    return found
