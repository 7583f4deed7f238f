"""counts: exact numbers of loads, stores, bytes, barriers, threads and operations of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from workbench.access.accesses import by_buffer
from workbench.check.kernels import extent_of
from workbench.diag import count_text
from workbench.emulate.kernels.affine import Digit, Digits, never_meets
from workbench.insight.accesses import Access, accesses
from workbench.insight.cells import executions, touched_by, union
from workbench.insight.page import Kind, Table
from workbench.insight.spread import width
from workbench.ir import (
    ARITHMETIC,
    BITWISE,
    MATHS,
    SHUFFLE,
    Barrier,
    BinOp,
    BufferLoad,
    Call,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    children,
    dtypes,
    free_vars,
    remembered,
    walk,
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Loads and stores of elements at one level, over every thread of every launch."""

    scope: str
    loads: int
    stores: int
    load_bytes: int
    store_bytes: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What every thread of every launch does, added up.

    `barriers` counts once for each block that passes one; `shuffles` once for each thread that
    reads another one's register; `work` floating-point (or, in a kernel
    without floats, integer) additions, multiplications and the like on values; index arithmetic
    does not count. `loads_per_output` is global loads over distinct cells written to global.
    """

    launches: int
    blocks: int
    threads: int
    barriers: int
    shuffles: int
    work: int
    traffic: tuple[Traffic, ...]
    loads_per_output: float
    caption: str
    table: Table
    kind: Kind = "counted"


def counts(kernels: Sequence[Kernel]) -> Counts:
    """Exact counts over all launches of `kernels`.

    A condition that depends on data counts as if it held. Raises nothing.
    """
    if len(kernels) == 1:
        known: dict[Any, Counts] = remembered(kernels[0])
        if "counts" not in known:
            known["counts"] = _added(kernels)
        return known["counts"]
    return _added(kernels)


def _added(kernels: Sequence[Kernel]) -> Counts:
    traffic = tuple(_traffic(kernels, scope) for scope in ("global", "shared", "local"))
    outputs = sum(_outputs(kernel) for kernel in kernels)
    loads_per_output = traffic[0].loads / outputs if outputs else 0.0
    blocks = sum(prod(k.grid) for k in kernels)
    threads = sum(prod(k.grid) * prod(k.block) for k in kernels)
    barriers = sum(barriers_passed(k.body) * prod(k.grid) for k in kernels)
    shuffles = sum(_shuffles(kernel) for kernel in kernels)
    work = sum(_work(kernel) for kernel in kernels)
    caption = (
        f"{count_text(threads, 'thread')} in {count_text(blocks, 'block')} load "
        f"{loads_per_output:.4g} elements from global memory for each element they compute."
    )
    rows: tuple[tuple[str | int | float, ...], ...] = (
        ("launches", len(kernels)),
        ("blocks", blocks),
        ("threads", threads),
        ("barriers", barriers),
        *([("shuffles", shuffles)] if shuffles else []),
        ("work (operations)", work),
        *((f"{t.scope} {what}", n) for t in traffic for what, n in _rows(t)),
        ("global loads for each output", round(loads_per_output, 4)),
    )
    table = Table(("what", "how many"), rows)
    return Counts(
        len(kernels),
        blocks,
        threads,
        barriers,
        shuffles,
        work,
        traffic,
        loads_per_output,
        caption,
        table,
    )


def _rows(traffic: Traffic) -> tuple[tuple[str, int], ...]:
    return (
        ("loads", traffic.loads),
        ("stores", traffic.stores),
        ("bytes loaded", traffic.load_bytes),
        ("bytes stored", traffic.store_bytes),
    )


def _traffic(kernels: Sequence[Kernel], scope: str) -> Traffic:
    loads = stores = load_bytes = store_bytes = 0
    for access in (a for k in kernels for a in accesses(k) if a.buffer.scope == scope):
        number = executions(access)
        size = number * dtypes.itemsize(access.buffer.type)
        if access.writes:
            stores, store_bytes = stores + number, store_bytes + size
        else:
            loads, load_bytes = loads + number, load_bytes + size
    return Traffic(scope, loads, stores, load_bytes, store_bytes)


def _outputs(kernel: Kernel) -> int:
    """How many distinct cells of global memory `kernel` writes."""
    writes = by_buffer(a for a in accesses(kernel) if a.writes and a.buffer.scope == "global")
    return sum(_cells(group) for group in writes.values())


def _cells(writes: list[Access]) -> int:
    """How many distinct cells the stores `writes` to one buffer reach."""
    sizes = {loop.var: loop.extent for access in writes for loop in access.loops}
    digits = Digits(sizes, {})
    digits.cut_for(access.indices[0] for access in writes)
    forms = [digits.form(access.indices[0]) for access in writes]
    alike = all((f.const, f.terms) == (forms[0].const, forms[0].terms) for f in forms)
    plain = all(width(a) == 1 and _reaches_all(a) for a in writes) and not any(
        f.rest for f in forms
    )
    if alike and plain and never_meets(forms[0].terms):
        return prod(atom.size for atom in forms[0].terms if isinstance(atom, Digit))
    return union(touched_by(a, {}) for a in writes)[2]


def _reaches_all(write: Access) -> bool:
    """Whether no condition keeps a store from a cell that its index tells: as of a warp's call,
    which one thread stands for, whatever the cell."""
    inside = set(free_vars(write.indices[0]))
    asked = {var for guard in write.guards for var in free_vars(guard)}
    return not asked & inside and (not write.guards or executions(write) > 0)


def barriers_passed(stmt: Node) -> int:
    """How many barriers a block passes; a condition around one counts as if it held."""
    if isinstance(stmt, Barrier):
        return 1
    if isinstance(stmt, For):
        return extent_of(stmt) * barriers_passed(stmt.body)
    if isinstance(stmt, IfThenElse) or hasattr(stmt, "stmts"):
        return sum(barriers_passed(child) for child in children(stmt))
    return 0


def _shuffles(kernel: Kernel) -> int:
    """How often a thread reads the register of another one."""
    asked = ((a, sum(map(_is_shuffle, walk(_value(a))))) for a in accesses(kernel) if a.writes)
    return sum(n * executions(a) for a, n in asked if n)


def _is_shuffle(node: Node) -> bool:
    return isinstance(node, Call) and node.op == SHUFFLE


def _work(kernel: Kernel) -> int:
    stores = [a for a in accesses(kernel) if a.writes]
    floats = [_operations(_value(a), floats=True) for a in stores]
    if any(floats):
        return sum(n * executions(a) for n, a in zip(floats, stores, strict=True) if n)
    return sum(_operations(_value(a), floats=False) * executions(a) for a in stores)


def _value(store: Access) -> Expr:
    assert store.store is not None
    return store.store.value


def _operations(expr: Expr, *, floats: bool) -> int:
    """Operations on values in `expr`; what an index does is left out."""
    if isinstance(expr, BufferLoad):
        return 0
    own = 0
    if (isinstance(expr, BinOp) and expr.op in ARITHMETIC | BITWISE) or (
        isinstance(expr, Call) and expr.op in MATHS
    ):
        own = int(dtypes.is_float(expr.dtype) == floats)
    return own + sum(
        _operations(child, floats=floats) for child in children(expr) if isinstance(child, Expr)
    )
