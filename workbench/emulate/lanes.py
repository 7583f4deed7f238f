"""Which serial loops of a kernel carry nothing from one iteration to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.emulate.affine import Atom, Digit, Digits, Form
from workbench.ir import (
    THREAD_AXES,
    Barrier,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    For,
    Kernel,
    Node,
    Ramp,
    Var,
    walk,
)

MOST_PLACES = 1 << 16  # cells that one thread may touch in a loop and still be looked at one by one


def independent_loops(kernel: Kernel) -> list[For]:
    """The loops of `kernel` whose iterations one thread may run at once, outermost first.

    In such a loop no barrier stands, and no two iterations of one thread touch one cell that one
    of them writes; what other threads do does not count, since a race is refused anyhow.
    """
    sizes = dict(zip(THREAD_AXES, (*kernel.grid, *kernel.block), strict=True))
    threads = {var: sizes[axis] for axis, var in kernel.axes if axis.startswith("thread")}
    loops = [n for n in walk(kernel.body) if isinstance(n, For)]
    lengths: dict[Var, set[object]] = {}  # one variable may drive loops of several lengths
    for loop in loops:
        lengths.setdefault(loop.loop_var, set()).add(getattr(loop.extent, "value", loop))
    alike = [loop for loop in loops if len(lengths[loop.loop_var]) == 1]
    return [loop for loop in alike if _is_independent(loop, threads)]


def length(loop: For) -> int:
    """The number of iterations of a loop with constant bounds."""
    assert isinstance(loop.extent, Const)
    return int(loop.extent.value)


def has_constant_bounds(loop: For) -> bool:
    """Whether `loop` runs from 0 to a number."""
    start = isinstance(loop.min, Const) and loop.min.value == 0
    return start and isinstance(loop.extent, Const)


def _is_independent(loop: For, threads: dict[Var, int]) -> bool:
    inner: dict[Var, int] = {}
    for node in walk(loop):
        if isinstance(node, Barrier):
            return False
        if isinstance(node, For):
            if not has_constant_bounds(node):
                return False
            inner[node.loop_var] = length(node)
    written = {n.buffer for n in walk(loop) if isinstance(n, BufferStore)}
    return all(_stays_apart(loop, buffer, inner, threads) for buffer in written)


def _stays_apart(loop: For, buffer: Buffer, inner: dict[Var, int], threads: dict[Var, int]) -> bool:
    """Whether different iterations of `loop` touch different cells of `buffer`."""
    accesses = [
        n for n in walk(loop) if isinstance(n, (BufferLoad, BufferStore)) and n.buffer is buffer
    ]
    digits = Digits({**threads, **inner}, {})
    digits.cut_for(a.indices[0] for a in accesses)
    forms = [digits.form(a.indices[0]) for a in accesses]
    own = {d for var in inner for d in digits.of[var]}
    outer = [{v: c for v, c in f.terms.items() if v not in own} for f in forms]
    if any(f.rest for f in forms) or any(o != outer[0] for o in outer):
        return False
    if all(f == forms[0] for f in forms) and lanes_of(loop) == 1:
        here: dict[Atom, int] = {d: c for d, c in forms[0].terms.items() if d in own}
        if set(digits.of[loop.loop_var]) <= set(here) and never_meets(here):
            return True
    places = [_places(loop, f, digits, inner) for f in forms]
    if any(p is None for p in places):
        return False
    rows = [_rows(p, inner[loop.loop_var], a) for p, a in zip(places, accesses, strict=True)]
    owner = _owners([r for r, a in zip(rows, accesses, strict=True) if isinstance(a, BufferStore)])
    return owner is not None and all(_owned(owner, r) for r in rows)


def never_meets(terms: Mapping[Atom, int]) -> bool:
    """Whether each step of a digit reaches further than all smaller digits together.

    Then different values of the digits always give different sums.
    """
    reach = 0
    for atom, factor in sorted(terms.items(), key=lambda term: abs(term[1])):
        if not isinstance(atom, Digit) or abs(factor) <= reach:
            return False
        reach += abs(factor) * (atom.size - 1)
    return True


def _places(loop: For, form: Form, digits: Digits, inner: dict[Var, int]) -> Any:
    """What the loops from `loop` inwards add to an index, `loop` first; None: too much."""
    used = [v for v in inner if any(d in form.terms for d in digits.of[v])]
    variables = [loop.loop_var, *(v for v in used if v is not loop.loop_var)]
    if np.prod([inner[v] for v in variables], dtype=float) > MOST_PLACES:
        return None
    total: Any = np.int64(form.const)
    for axis, var in enumerate(variables):
        shape = [1] * len(variables)
        shape[axis] = inner[var]
        values = np.arange(inner[var]).reshape(shape)
        for digit in digits.of[var]:
            total = total + form.terms.get(digit, 0) * (values // digit.stride % digit.size)
    return total


def _rows(total: Any, count: int, access: Any) -> Any:
    """The cells that each iteration touches: one row an iteration."""
    index = access.indices[0]
    if isinstance(index, Ramp):
        total = total[..., None] + index.stride * np.arange(index.lanes)
    return np.broadcast_to(total, (count, *total.shape[1:])).reshape(count, -1)


def _owners(stored: list[Any]) -> tuple[Any, int] | None:
    """Which iteration writes each cell, as (array, first cell); None where two write one."""
    low = min(int(p.min()) for p in stored)
    high = max(int(p.max()) for p in stored)
    owner = np.full(high - low + 1, -1, dtype=np.int64)
    for places in stored:
        iteration = np.arange(len(places))[:, None]
        before = owner[places - low]
        if ((before != -1) & (before != iteration)).any():
            return None
        owner[places - low] = iteration
        if (owner[places - low] != iteration).any():
            return None
    return owner, low


def _owned(owner: tuple[Any, int], places: Any) -> bool:
    table, low = owner
    inside = (places >= low) & (places - low < len(table))
    found = np.where(inside, table[np.where(inside, places - low, 0)], -1)
    return bool(((found == -1) | (found == np.arange(len(places))[:, None])).all())


def lanes_of(node: Node) -> int:
    """The length of the vectors in `node`, 1 where it has none."""
    return max((n.lanes for n in walk(node) if isinstance(n, Ramp)), default=1)
