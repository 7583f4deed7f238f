"""join_neighbours: what a thread loads of shared memory side by side is loaded at once.

A loop that is unrolled and does nothing but load cells of shared memory into registers is written
with loads of 8 or 16 bytes, where its cells are neighbours and proved aligned. nvcc does the same
with a text of single loads where it knows how the array is aligned (of PTX: LLVM's load and store
vectorizer); here it is written down, as what `keep_values` keeps is. Of global memory it joins
nothing, since it does not know that an array starts at a multiple of 16 bytes: so nothing is
joined here, and a thread does as the text says. What a program is counted by stays as written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.arith import Simplifier
from workbench.ir import (
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    Kernel,
    Node,
    Ramp,
    Stmt,
    const,
    once,
    rewrite,
    seq,
    stmts_of,
    substitute,
    walk,
)
from workbench.lower.known_bounds import known_bounds
from workbench.lower.vectorize_loops import in_vectors

MOST_BYTES = 16  # that a thread loads at once
_LOADS = "local", "shared"  # where to, and from where


def join_neighbours(kernel: Kernel) -> Kernel:
    """Load cells of shared memory that lie side by side with one access, up to 16 bytes wide."""
    return _joined(kernel)  # the text and the costs ask for it


@once
def _joined(kernel: Kernel) -> Kernel:
    known = known_bounds(kernel)

    def visit(node: Node) -> Node:
        if not isinstance(node, For) or node.kind != "unrolled" or not _loads_apart(node):
            return node
        # One loop a statement: which of them comes first makes no difference.
        apart = [replace(node, body=stmt) for stmt in stmts_of(node.body)]
        joined = [in_vectors(loop, known, MOST_BYTES) for loop in apart]
        return seq(*joined) if all(map(_side_by_side, joined)) else node

    body = rewrite(kernel.body, visit)
    return kernel if body is kernel.body else replace(kernel, body=body)


def _loads_apart(loop: For) -> bool:
    """Whether `loop` only loads cells of shared memory, each into a register of its own."""
    stmts = stmts_of(loop.body)
    if not isinstance(loop.min, Const) or not isinstance(loop.extent, Const):
        return False
    first, turns = int(loop.min.value), int(loop.extent.value)
    places: dict[Buffer, list[Expr]] = {}
    for stmt in stmts:
        match stmt:
            case BufferStore(to, BufferLoad(of), (at,)) if (to.scope, of.scope) == _LOADS:
                each = (const(first + turn, loop.loop_var.type) for turn in range(turns))
                places.setdefault(to, []).extend(substitute(at, {loop.loop_var: n}) for n in each)
            case _:
                return False
    return all(map(_differ, places.values()))


def _differ(places: Sequence[Expr]) -> bool:
    """Whether these are different places, in any turn of the loops around."""
    simplify = Simplifier({}).simplify
    offsets = [simplify(place - places[0]) for place in places]
    numbers = {offset.value for offset in offsets if isinstance(offset, Const)}
    return len(numbers) == len(places)


def _side_by_side(stmt: Stmt) -> bool:
    """Whether all that is loaded in `stmt` are vectors of neighbours."""
    loads = [node for node in walk(stmt) if isinstance(node, BufferLoad)]
    return all(isinstance(load.indices[0], Ramp) and load.indices[0].stride == 1 for load in loads)
