"""In which lines of a text its statements begin: also where it keeps values between them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from workbench.codegen import source
from workbench.codegen.begins import Begins
from workbench.ir import (
    Barrier,
    BufferLoad,
    BufferStore,
    For,
    IfThenElse,
    PrimFunc,
    Stmt,
    expressions_in,
    walk_statements,
)
from workbench.lesson.programs import fetched, prefetched, product, tiled, window
from workbench.lower import lower, stand
from workbench.target import get

CUDA = get("cuda")
STARTS = {For: ("for (", "#pragma unroll"), IfThenElse: ("if (",), Barrier: ("__syncthreads();",)}
SQUARE = product(16, 16, 16)
TWO = {"A_shared": 2, "B_shared": 2}


@pytest.mark.parametrize(
    "make",
    [
        lambda: fetched(window(250, 3), 64),
        lambda: tiled(SQUARE, (2, 2), (4, 4), 4, copies="together"),
        lambda: prefetched(SQUARE, (2, 2), (4, 4), 4, (0, 0, 0, 0, 1), (0, 3, 1, 4, 2), TWO),
    ],
)
def test_each_statement_is_found_in_its_line_and_a_load_where_it_is_made(
    make: Callable[[], PrimFunc],
):
    (kernel,), where = stand(lower(make(), CUDA))
    begins, text = Begins([kernel], CUDA), source([kernel], CUDA).splitlines()
    seen = dict.fromkeys(("statements", "loads", "kept"), 0)
    for stmt in walk_statements(kernel.body):
        for line in begins.lines(stmt) if isinstance(stmt, Stmt) else ():
            said = text[line - 1].strip()
            starts = STARTS.get(type(stmt), ())
            if isinstance(stmt, BufferStore):
                starts = (stmt.buffer.name,)
                assert begins.lines(stmt.value) == (line,) or "_kept" in "".join(text)
            assert said.startswith(starts), said
            assert begins.ahead(stmt) <= line
            seen["statements"] += 1
            seen["kept"] += begins.ahead(stmt) < line
        loads = expressions_in(stmt) if isinstance(stmt, BufferStore) else ()
        for load in loads:
            if not isinstance(load, BufferLoad):
                continue
            for line in begins.lines(load):
                whole = text[line - 1] + text[line]  # a long one goes on
                assert f"{load.buffer.name}[" in whole
                seen["loads"] += 1
    assert seen["statements"] > 5 and seen["loads"] > 3
    assert bool(seen["kept"]) == any("_kept" in line for line in text)
    assert {fault.kind for fault in where} >= {"barrier", "bound", "stride"}
