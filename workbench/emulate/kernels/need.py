"""The memory that kernels take beside their arrays, worked out before they start."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

import numpy as np

from workbench.emulate.kernels.affine import Digit, Form
from workbench.emulate.kernels.plan import (
    Access,
    Chunk,
    Plan,
    count_together,
    cut_chunks,
    source_of,
    written_by,
)
from workbench.emulate.memory import ENTRY, MOST
from workbench.emulate.numbers import numpy_type
from workbench.ir import Buffer, BufferStore, free_vars

LANE = 64  # bytes to judge one lane: its cell and owner as lists, and who was there before
VALUE = 16  # bytes of the values that one lane computes at a time


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
        for held in plan.kernel.params:
            whole = source_of(plan.kernel, held)
            if whole not in params:
                kept[whole] = prod(whole.shape) * (numpy_type(whole.type).itemsize + 2)
        for held in written_by(plan.kernel):
            whole = source_of(plan.kernel, held)
            kept[whole] = max(kept.get(whole, 0), prod(whole.shape))
        most = max(most, sum(kept.values()) + _of_launch(plan, numbers, lanes))
    return most


def _of_launch(plan: Plan, numbers: Sequence[int], lanes: int) -> int:
    """Bytes of the shadows of what the kernel writes, and of the blocks that run together."""
    count = count_together(plan, numbers, lanes)
    first = next(cut_chunks(plan, numbers, lanes))
    blocks = {v for v, which in plan.block_vars.items() if plan.kernel.grid[2 - which] > 1}
    threads = {d for d in plan.thread_digits if d.size > 1}
    written = written_by(plan.kernel)
    total = count * (plan.own_bytes + plan.lanes_per_block * (VALUE + (LANE if written else 0)))
    total += min(MOST, ENTRY * sum(_count_maps(plan, access) for access in plan.access.values()))
    for buffer in written:
        total += prod(buffer.shape) * _bytes_per_cell(plan, buffer, len(numbers), blocks)
        per_cell = _bytes_per_cell(plan, buffer, plan.threads * count, blocks | threads)
        total += _window(plan, buffer, first) * per_cell
    return total


def _count_maps(plan: Plan, access: Access) -> int:
    """How many index maps `access` has while loops around it run: one for each turn."""
    turns = 1
    for var in access.serial:
        low, high = plan.digits.span(Form(0, {var: 1}))
        turns *= int(max(1, min(high - low + 1, MOST)))
    return turns


def _bytes_per_cell(plan: Plan, buffer: Buffer, owners: int, who: Collection[object]) -> int:
    """Bytes of a shadow for each cell of `buffer`, with the owners that `who` tell apart."""
    accesses = [a for a in plan.access.values() if a.buffer is buffer]
    owner, number = (np.min_scalar_type(-n).itemsize for n in (owners, len(accesses)))
    total = 0
    for writes in (True, False):
        mine = [a for a in accesses if isinstance(a.site, BufferStore) is writes]
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


def _window(plan: Plan, buffer: Buffer, chunk: Chunk) -> int:
    """How many cells lie between the first and the last of `buffer` that `chunk` touches."""
    cells = prod(buffer.shape)
    low, high = float("inf"), float("-inf")
    for access in plan.access.values():
        if access.buffer is not buffer:
            continue
        if access.form.rest or chunk.origin is None:
            return cells
        terms = dict(access.form.terms)
        steps = [(terms.pop(v, 0), chunk.counts[k] - 1) for v, k in plan.block_vars.items()]
        least, most = plan.digits.span(Form(access.form.const, terms))
        low = min(low, least + sum(min(0, step * n) for step, n in steps))
        high = max(high, most + sum(max(0, step * n) for step, n in steps) + access.width)
    return int(min(cells, high - low))
