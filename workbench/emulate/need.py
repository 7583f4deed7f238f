"""The memory that a run takes beside its arrays, worked out before it starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import prod

import numpy as np

from workbench.emulate.affine import Digit, Form
from workbench.emulate.errors import TooLarge
from workbench.emulate.free import free_memory
from workbench.emulate.memo import ENTRY, MOST
from workbench.emulate.numbers import numpy_type
from workbench.emulate.order import Order
from workbench.emulate.pieces import pieces, together
from workbench.emulate.plan import Access, Blocks, Plan
from workbench.ir import Block, Buffer, BufferStore, For, PrimFunc, free_vars, stores, walk

LANE = 64  # bytes to judge one lane: its cell and owner as lists, and who was there before
VALUE = 16  # bytes of the values that one lane computes at a time
STEPS = 16  # bytes that tell of a cell when it changed, and when it was written
STEP = 72  # bytes of a lane that runs in serial order: its cell, its step, what was there before


SMALL = 1 << 24  # bytes for which nobody is asked: that takes longer than a small run


def check_fits(what: str, need: int, few: Callable[[], int] | None = None) -> None:
    """Raise TooLarge where `what` needs more bytes than are free; not where that is not known.

    `few` works out what two blocks of it need, where it has more.
    """
    free = free_memory() if need > SMALL else None
    if free is not None and need > free:
        hint = "run it on smaller arrays."
        if few is not None and few() <= free:
            hint = f"run some of its blocks: kernel.emulate(…, blocks=[0, 1]); or {hint}"
        raise TooLarge(
            f"Can't run {what}: it needs {need:,} bytes of memory, and {free:,} are free",
            detail=f"its arrays are there already; {need >> 20:,} MiB more would hold what comes "
            f"between, and who writes and reads each cell; {free >> 20:,} MiB are free",
            hint=hint,
        )


def of_launches(
    plans: Sequence[Plan],
    chosen: Sequence[Sequence[int]],
    params: Collection[Buffer],
    lanes: int,
) -> int:
    """Bytes beside the arrays of `params` that the blocks `chosen` of each of `plans` take.

    The plans run one after the other, and at most `lanes` lanes of a block or more at a time.
    """
    most = 0
    kept: dict[Buffer, int] = {}  # buffers between kernels, and marks of what was written
    for plan, numbers in zip(plans, chosen, strict=True):
        views = dict(plan.kernel.views)
        for held in plan.kernel.params:
            whole = views.get(held, held)
            if whole not in params:
                kept[whole] = prod(whole.shape) * (numpy_type(whole.type).itemsize + 2)
        written = {s.buffer for s in stores(plan.kernel) if s.buffer.scope == "global"}
        for held in written:
            whole = views.get(held, held)
            kept[whole] = max(kept.get(whole, 0), prod(whole.shape))
        most = max(most, sum(kept.values()) + _of_launch(plan, numbers, written, lanes))
    return most


def of_meaning(func: PrimFunc, order: Order) -> int:
    """Bytes beside its arrays that `func` takes run by its meaning, some loops as lanes."""
    written = {store.buffer for store in stores(func)}
    total = sum(STEPS * prod(b.shape) for b in written)
    for node in walk(func):
        for buffer in node.alloc_buffers if isinstance(node, Block) else ():
            total += prod(buffer.shape) * numpy_type(buffer.type).itemsize
    loops = [node for node in walk(func) if isinstance(node, For)]
    return total + STEP * max((order.lanes(n) for n in loops if order.may_be_lanes(n)), default=1)


def _of_launch(plan: Plan, numbers: Sequence[int], written: set[Buffer], lanes: int) -> int:
    """Bytes of the shadows of what the kernel writes, and of the blocks that run together."""
    count = together(plan, numbers, lanes)
    first = next(pieces(plan, numbers, lanes))
    grid = dict(zip(("blockIdx.x", "blockIdx.y", "blockIdx.z"), plan.kernel.grid, strict=True))
    blocks = {v for axis, v in plan.block_vars.items() if grid[axis] > 1}
    threads = {d for d in plan.thread_digits if d.size > 1}
    total = count * (plan.own_bytes + plan.lanes_per_block * (VALUE + (LANE if written else 0)))
    total += min(MOST, ENTRY * sum(_turns(plan, access) for access in plan.access.values()))
    for buffer in written:
        cells = prod(buffer.shape)
        total += cells * _each(plan, buffer, len(numbers), blocks)
        total += _window(plan, buffer, first) * _each(
            plan, buffer, plan.threads * count, {*blocks, *threads}
        )
    return total


def _turns(plan: Plan, access: Access) -> int:
    """How many index maps `access` has while loops around it run: one for each turn."""
    turns = 1
    for var in access.serial:
        low, high = plan.digits.span(Form(0, {var: 1}))
        turns *= int(max(1, min(high - low + 1, MOST)))
    return turns


def _each(plan: Plan, buffer: Buffer, owners: int, who: Collection[object]) -> int:
    """Bytes of a shadow for each cell of `buffer`, with the owners that `who` tell apart."""
    accesses = [a for a in plan.access.values() if a.buffer is buffer]
    owner, number = (np.min_scalar_type(-n).itemsize for n in (owners, len(accesses)))
    total = 0
    for writes in (True, False):
        mine = [a for a in accesses if isinstance(a.node, BufferStore) is writes]
        several = number + 1 if len(mine) > 1 else 0
        total += owner + several if mine else 0
        if not all(_tells_apart(a, who) for a in mine):
            total += owner + several
    return total


def _tells_apart(access: Access, who: Collection[object]) -> bool:
    """Whether every variable and digit in `who` stands in the index."""
    rest = {v for expr, _ in access.form.rest for v in free_vars(expr)}
    return all(
        x in access.form.terms or (x.var if isinstance(x, Digit) else x) in rest for x in who
    )


def _window(plan: Plan, buffer: Buffer, blocks: Blocks) -> int:
    """How many cells lie between the first and the last of `buffer` that `blocks` touch."""
    cells = prod(buffer.shape)
    counts = dict(zip(("blockIdx.z", "blockIdx.y", "blockIdx.x"), blocks.counts, strict=True))
    low, high = float("inf"), float("-inf")
    for access in plan.access.values():
        if access.buffer is not buffer:
            continue
        if access.form.rest or blocks.origin is None:
            return cells
        terms = dict(access.form.terms)
        steps = [(terms.pop(v, 0), counts[axis] - 1) for axis, v in plan.block_vars.items()]
        least, most = plan.digits.span(Form(access.form.const, terms))
        low = min(low, least + sum(min(0, step * n) for step, n in steps))
        high = max(high, most + sum(max(0, step * n) for step, n in steps) + access.width)
    return int(min(cells, high - low))
