"""keep_values: what every turn of a loop would load is loaded once, ahead of it, and kept.

A compiler does the same with the text of a kernel; here it is written down, so that the text says
what a thread loads. What a program is counted by stays as it was written: this pass is the text's.

A load moves ahead of a loop where that changes neither what is loaded nor whether: the loop has a
turn, and in each of its turns the load is made, under no condition and in loops that have turns;
its cell is the same in every turn; nothing in the loop stores to its array, and nobody waits there,
so that no other thread may store to it meanwhile without a race. Inner loops that say which cell it
is are run ahead, too, and their values kept in an array. Its indices have to be numbers once loops
are unrolled, for registers have no addresses; so that is done in loops that are unrolled only.

Loop-invariant code motion, with scalar replacement of what other loops say (D. Callahan, S. Carr
and K. Kennedy, Improving Register Allocation for Subscripted Variables, PLDI 1990).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from workbench.access.accesses import Access, accesses
from workbench.access.units import buffers_written
from workbench.arith import Simplifier, reads_memory
from workbench.ir import (
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
    Stmt,
    Var,
    WaitGroup,
    copy_fresh,
    flat_index,
    free_vars,
    rebuild,
    rewrite,
    seq,
    walk,
)
from workbench.lower.known_bounds import known_bounds
from workbench.lower.share_loops import OWN
from workbench.target import Target

_MOST = 32  # values of one load: a thread has 255 registers, and its sums are in some of them


def keep_values(kernel: Kernel, target: Target) -> Kernel:
    """Load ahead of a loop what all of its turns would load, and keep it in registers."""
    keeper = _Keeper(kernel)
    body = keeper.statement(kernel.body)
    if body is kernel.body:
        return kernel
    views = dict(kernel.views)
    held = tuple((kept, views.get(of, of)) for kept, of in keeper.made.items())
    return replace(
        kernel, allocs=(*kernel.allocs, *keeper.made), views=(*kernel.views, *held), body=body
    )


class _Keeper:
    """Moves the loads of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.simplifier = Simplifier(known_bounds(kernel))
        self.made: dict[Buffer, Buffer] = {}  # what is kept, and of which array
        self.first = len(kernel.allocs)  # the number of the first of them
        self.own: list[list[int]] = [[]]  # those of the loops around, outermost first

    def statement(self, stmt: Stmt) -> Stmt:
        """`stmt` with loads ahead of its loops."""
        if isinstance(stmt, For):
            return self._loop(stmt)
        return rebuild(stmt, lambda node: self.statement(node) if isinstance(node, Stmt) else node)

    def _loop(self, loop: For) -> Stmt:
        values: dict[Node, Expr] = {}
        ahead = [self._kept(group, values) for group in self._alike(loop)]
        body = rewrite(loop.body, lambda node: values.get(node, node)) if values else loop.body
        self.own.append([])
        body = self.statement(body)
        own = self.own.pop()
        if body is loop.body:
            return loop
        notes = ((OWN, tuple(own)),) if own else ()
        return seq(*ahead, replace(loop, body=body, annotations=(*loop.annotations, *notes)))

    def _alike(self, loop: For) -> list[list[Access[For]]]:
        """The loads in `loop` that may move ahead of it, those of one cell together."""
        waits = (Barrier, CommitGroup, WaitGroup)
        if _turns(loop) < 2 or any(isinstance(node, waits) for node in walk(loop.body)):
            return []
        written = buffers_written(loop.body)
        groups: dict[object, list[Access[For]]] = {}
        for access in accesses(loop.body):
            if access.buffer.scope != "local" and access.buffer not in written:
                key = access.buffer, self.simplifier.number(access.indices[0])
                groups.setdefault(key, []).append(access)
        return [group for group in groups.values() if _moves(group, loop)]

    def _kept(self, group: Sequence[Access[For]], values: dict[Node, Expr]) -> Stmt:
        """What loads the cells of `group`; in `values` where they are then, for each load."""
        sure = next(access for access in group if not access.guards)
        buffer, loops = sure.buffer, _telling(sure)
        kept = Buffer(f"{buffer.name}_kept", (prod(map(_turns, loops)),), buffer.type, "local")
        self.own[-1].append(self.first + len(self.made))
        self.made[kept] = buffer
        counted = (loop.loop_var - loop.min for loop in loops)
        place = flat_index(counted, map(_turns, loops), "int32")
        values |= dict.fromkeys((access.node for access in group), BufferLoad(kept, (place,)))
        ahead: Stmt = BufferStore(kept, BufferLoad(buffer, sure.indices), (place,))
        for loop in reversed(loops):
            ahead = replace(loop, body=ahead)
        return copy_fresh(ahead)[0]


def _moves(group: Sequence[Access[For]], loop: For) -> bool:
    """Whether the loads of `group`, all that `loop` makes of a cell, may move ahead of it."""
    sure = next((access for access in group if not access.guards), None)
    if sure is None or any(access.store and access.store.is_async for access in group):
        return False
    (index,) = sure.indices
    if isinstance(index, Ramp) or reads_memory(index) or loop.loop_var in free_vars(index):
        return False
    telling = _telling(sure)
    if not all(map(_turns, sure.loops)) or any(_ends(access) != _ends(sure) for access in group):
        return False
    registers = all(one.kind == "unrolled" for one in (loop, *sure.loops))
    return not telling or (registers and prod(map(_turns, telling)) <= _MOST)


def _telling(access: Access[For]) -> list[For]:
    """The loops around a load that say which cell it is."""
    return [loop for loop in access.loops if loop.loop_var in access.cell_variables()]


def _ends(access: Access[For]) -> dict[Var, tuple[object, int]]:
    """Between which numbers each of these counts: a variable may count in more than one loop."""
    return {one.loop_var: (getattr(one.min, "value", one), _turns(one)) for one in _telling(access)}


def _turns(loop: For) -> int:
    """How many turns `loop` has; 0 also where that is no number."""
    match loop:
        case For(min=Const(), extent=Const(value=turns)):
            return int(turns)
    return 0
