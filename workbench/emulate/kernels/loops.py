"""Which serial loops of a kernel carry nothing from one iteration to the next.

Such a loop may be an axis of arrays, like threads: each statement then runs for all its iterations
at once, and no iteration can see that, since no two of them touch one cell that one of them writes.
This is decided for one thread at a time, an index being what the loops from this one inwards add,
and the rest. Where the rest is the same in all accesses of a buffer it is one number for all
iterations, and cancels; only what the loops add is compared. Either the digits themselves tell
iterations apart (`never_meets`), or every cell that they add is listed, and each written cell is
given to the iteration that writes it: nobody else may touch it. What is not shown stays serial.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.emulate.expressions import Site, along, count_turns, list_sites
from workbench.emulate.kernels.affine import Atom, Digits, Form, never_meets
from workbench.ir import (
    THREAD_AXES,
    Barrier,
    Buffer,
    BufferLoad,
    BufferStore,
    CommitGroup,
    Const,
    Expr,
    For,
    Kernel,
    Node,
    Ramp,
    Var,
    WaitGroup,
    stores,
    walk,
)

MOST_PLACES = 1 << 16  # cells that one thread may touch in a loop and still be looked at one by one


def independent_loops(kernel: Kernel) -> list[For]:
    """The loops of `kernel` whose iterations one thread may run at once, outermost first.

    In such a loop nobody waits, and no two iterations of one thread touch one cell that one
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


def has_constant_bounds(loop: For) -> bool:
    """Whether `loop` runs from 0 to a number."""
    start = isinstance(loop.min, Const) and loop.min.value == 0
    return start and isinstance(loop.extent, Const)


def _is_independent(loop: For, threads: dict[Var, int]) -> bool:
    inner: dict[Var, int] = {}
    for node in walk(loop):
        if isinstance(node, (Barrier, CommitGroup, WaitGroup)):
            return False
        if isinstance(node, For):
            if not has_constant_bounds(node):
                return False
            inner[node.loop_var] = count_turns(node)
    if 0 in inner.values():
        return False  # what never runs takes no lanes
    written = {store.buffer for store in stores(loop)}
    return all(_stays_apart(loop, buffer, inner, threads) for buffer in written)


def _stays_apart(loop: For, buffer: Buffer, inner: dict[Var, int], threads: dict[Var, int]) -> bool:
    """Whether different iterations of `loop` touch different cells of `buffer`."""
    sites = [site for site in list_sites(loop) if site.buffer is buffer]
    digits = Digits({**threads, **inner}, {})
    digits.cut_for(site.indices[0] for site in sites)
    forms = [digits.form(site.indices[0]) for site in sites]
    own = {d for var in inner for d in digits.of[var]}
    outer = [{v: c for v, c in f.terms.items() if v not in own} for f in forms]
    if any(f.rest != forms[0].rest for f in forms) or any(o != outer[0] for o in outer):
        return False
    if any(_may_move(expr, inner) for expr, _ in forms[0].rest):
        return False
    if all(f == forms[0] for f in forms) and vector_width(loop) == 1:
        here: dict[Atom, int] = {d: c for d, c in forms[0].terms.items() if d in own}
        if set(digits.of[loop.loop_var]) <= set(here) and never_meets(here):
            return True
    rows: list[tuple[Site, Any]] = []
    for site, form in zip(sites, forms, strict=True):
        added = _list_added(loop, form, digits, inner)
        if added is None:
            return False
        rows.append((site, _rows_of(added, inner[loop.loop_var], site)))
    writers = _find_writers([cells for site, cells in rows if isinstance(site, BufferStore)])
    return writers is not None and all(_is_alone(*writers, cells) for _, cells in rows)


def _may_move(rest: Expr, inner: dict[Var, int]) -> bool:
    """Whether `rest` may be another number in another iteration of a loop that counts `inner`."""
    return any(isinstance(n, BufferLoad) or n in inner for n in walk(rest))


def _list_added(loop: For, form: Form, digits: Digits, inner: dict[Var, int]) -> Any:
    """What the loops from `loop` inwards add to an index, `loop` first; None: too much."""
    used = [v for v in inner if any(d in form.terms for d in digits.of[v])]
    variables = [loop.loop_var, *(v for v in used if v is not loop.loop_var)]
    if np.prod([inner[v] for v in variables], dtype=float) > MOST_PLACES:
        return None
    total: Any = np.int64(form.const)
    for axis, var in enumerate(variables):
        values = along(axis, len(variables), np.arange(inner[var]))
        for digit in digits.of[var]:
            total = total + form.terms.get(digit, 0) * (values // digit.stride % digit.size)
    return total


def _rows_of(added: Any, turns: int, site: Site) -> Any:
    """The cells that each iteration touches: one row an iteration."""
    index = site.indices[0]
    if isinstance(index, Ramp):
        added = added[..., None] + index.stride * np.arange(index.lanes)
    return np.broadcast_to(added, (turns, *added.shape[1:])).reshape(turns, -1)


def _find_writers(rows: list[Any]) -> tuple[Any, int] | None:
    """Which iteration writes each cell, as (array, first cell); None where two write one."""
    low = min(int(cells.min()) for cells in rows)
    high = max(int(cells.max()) for cells in rows)
    writer = np.full(high - low + 1, -1, dtype=np.int64)
    for cells in rows:
        if not _is_alone(writer, low, cells):
            return None
        iteration = np.arange(len(cells))[:, None]
        writer[cells - low] = iteration
        if (writer[cells - low] != iteration).any():
            return None
    return writer, low


def _is_alone(writer: Any, low: int, rows: Any) -> bool:
    """Whether no iteration touches, in its row of cells, what another one writes."""
    inside = (rows >= low) & (rows - low < len(writer))
    writers = np.where(inside, writer[np.where(inside, rows - low, 0)], -1)
    return bool(((writers == -1) | (writers == np.arange(len(rows))[:, None])).all())


def vector_width(node: Node) -> int:
    """The length of the vectors in `node`, 1 where it has none."""
    return max((n.lanes for n in walk(node) if isinstance(n, Ramp)), default=1)
