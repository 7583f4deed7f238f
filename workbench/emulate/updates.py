"""Stores that compute a cell from what it held: ``C[e] = f(C[e], …)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.emulate.order import loaded
from workbench.ir import (
    BinOp,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    Var,
    structural_equal,
    walk,
)


def same_place(a: BufferLoad, b: BufferLoad) -> bool:
    """Whether two loads have one index, variable for variable."""
    return all(_same(x, y) for x, y in zip(a.indices, b.indices, strict=True))


def _same(a: Expr, b: Expr) -> bool:
    mine, theirs = list(walk(a)), list(walk(b))
    if len(mine) != len(theirs) or not structural_equal(a, b):
        return False
    return all(
        x is y
        for x, y in zip(mine, theirs, strict=True)
        if isinstance(x, (Var, Buffer)) or isinstance(y, (Var, Buffer))
    )


_AT = {"+": np.add, "-": np.subtract, "*": np.multiply, "min": np.fmin, "max": np.fmax}


def accumulation(store: BufferStore) -> tuple[np.ufunc, Expr] | None:
    """(operation, x) where `store` is ``C[e] = C[e] op x`` and x does not read C."""
    value = store.value
    if not isinstance(value, BinOp) or value.op not in _AT or store.buffer.type == "bfloat16":
        return None
    sides = [(value.a, value.b)] if value.op == "-" else [(value.a, value.b), (value.b, value.a)]
    for own, operand in sides:
        mine = isinstance(own, BufferLoad) and own.buffer is store.buffer
        if mine and store.buffer not in loaded(operand):
            return _AT[value.op], operand
    return None


def rounds(where: Any) -> list[Any]:
    """Positions in `where`, split so that no cell comes twice in one part, in order for each."""
    order = np.argsort(where, kind="stable")
    cells = where[order]
    starts = np.flatnonzero(np.concatenate(([True], cells[1:] != cells[:-1])))
    first = np.repeat(starts, np.diff(np.append(starts, len(cells))))
    rank = np.empty(len(where), dtype=np.int64)
    rank[order] = np.arange(len(cells)) - first
    by_rank = np.argsort(rank, kind="stable")
    return np.split(by_rank, np.cumsum(np.bincount(rank))[:-1])


def variables(store: BufferStore) -> list[Var]:
    """The variables that `store` uses, each once."""
    return list({n: None for n in walk(store) if isinstance(n, Var)})
