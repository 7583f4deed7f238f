"""keep_values: what a thread would load again and again is loaded once, and kept in registers.

A compiler does the same with the text of a kernel; here it is written down, so that the text says
what a thread loads. What a program is counted by stays as it was written: this pass is the text's.

Ahead of a loop a load is made once for all turns where that changes neither what is loaded nor
whether: the loop has a turn, and in each of its turns the load is made, under no condition and in
loops that have turns; its cell is the same in every turn; nothing in the loop stores to its array,
and nobody waits there, so that no other thread may store to it meanwhile without a race. Inner
loops that say which cell it is are run ahead, too, and their values kept in an array. Its indices
have to be numbers once loops are unrolled, for registers have no addresses; so that is done in
loops that are unrolled only. Where a load moves so, what inner loops repeat of each turn is loaded
ahead as well, in the order of the program: with the one alone nvcc orders all loads otherwise, and
local blocking takes 2 % longer on an H200.

In statements one after the other, a cell that is loaded twice is loaded once, where the first load
is made in any case, and up to a store to its array or to where the thread waits. What was stored is
loaded again where the program says so: a sum stays near a thread where somebody says that it does.

Loop-invariant code motion and common subexpressions, with scalar replacement of what other loops
say (D. Callahan, S. Carr and K. Kennedy, Improving Register Allocation for Subscripted Variables,
PLDI 1990).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from math import prod
from operator import is_

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
    IfThenElse,
    Kernel,
    Node,
    Ramp,
    Stmt,
    Var,
    WaitGroup,
    const,
    copy_fresh,
    flat_index,
    is_warp_call,
    once,
    rebuild,
    rewrite,
    seq,
    stmts_of,
    walk_statements,
)
from workbench.lower.known_bounds import known_bounds
from workbench.lower.share_loops import OWN
from workbench.lower.unroll_registers import turns_written

_MOST = 32  # values of one load: a thread has 255 registers, and its sums are in some of them


def keep_values(kernel: Kernel) -> Kernel:
    """Load once, into registers, what a thread would load again without need."""
    return _kept(kernel)  # in the text of each language


@once
def _kept(kernel: Kernel) -> Kernel:
    keeper = _Keeper(kernel)
    body = keeper.body(kernel.body)
    if body is kernel.body:
        return kernel
    views = dict(kernel.views)
    held = tuple((kept, views.get(of, of)) for kept, of in keeper.made.items())
    return replace(
        kernel, allocs=(*kernel.allocs, *keeper.made), views=(*kernel.views, *held), body=body
    )


def kept_name(buffer: Buffer) -> str:
    """What a text calls the values that it keeps of `buffer`."""
    return f"{buffer.name}_kept"


@dataclass(slots=True)
class _Value:
    """What `first`, in the statement number `at`, and `loads` in others load from one cell."""

    at: int
    first: Access[For]
    loads: list[tuple[int, Node]] = field(default_factory=list)
    times: int = 0  # that a text would load it; a vector is written cell by cell


class _Keeper:
    """Moves the loads of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.simplifier = Simplifier(known_bounds(kernel))
        self.made: dict[Buffer, Buffer] = {}  # what is kept, and of which array
        self.first = len(kernel.allocs)  # the number of the first of them
        self.own: list[list[int]] = [[]]  # those of the loops around, outermost first

    def body(self, stmt: Stmt) -> Stmt:
        """`stmt`, all of a loop, of a branch or of the kernel, with less to load."""
        before = stmts_of(stmt)
        inside = [done for one in before for done in stmts_of(self._statement(one))]
        after = self._stretch(inside)
        same = len(after) == len(before) and all(map(is_, after, before))
        return stmt if same else seq(*after)

    def _statement(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            return self._loop(stmt)
        if isinstance(stmt, IfThenElse):
            return rebuild(stmt, lambda node: self.body(node) if isinstance(node, Stmt) else node)
        return stmt

    def _cell(self, access: Access[For]) -> tuple[Buffer, int]:
        """What is equal for accesses to one cell, in the same turns of all loops around."""
        return access.buffer, self.simplifier.number(access.indices[0])

    def _registers(self, buffer: Buffer, cells: int) -> Buffer:
        """A new array for values of `buffer`, made in each turn of the loop around."""
        kept = Buffer(kept_name(buffer), (cells,), buffer.type, "local")
        self.own[-1].append(self.first + len(self.made))
        self.made[kept] = buffer
        return kept

    # --- ahead of a loop --------------------------------------------------------------------

    def _loop(self, loop: For) -> Stmt:
        """`loop` behind what it keeps."""
        if is_warp_call(loop):
            return loop
        values: dict[Node, Expr] = {}
        ahead = [self._ahead(group, loop, values) for group in self._alike(loop)]
        self.own.append([])
        body = self.body(_with(loop.body, values))
        own = self.own.pop()
        if body is loop.body:
            return loop
        notes = ((OWN, tuple(own)),) if own else ()
        return seq(*ahead, replace(loop, body=body, annotations=(*loop.annotations, *notes)))

    def _alike(self, loop: For) -> list[list[Access[For]]]:
        """The loads in `loop` that may move ahead of it, those of one cell together."""
        if _turns(loop) < 2 or _waits(loop.body):
            return []
        groups: dict[object, list[Access[For]]] = {}
        for access in _loads(loop.body, buffers_written(loop.body)):
            groups.setdefault(self._cell(access), []).append(access)
        moving = [group for group in groups.values() if _moves(group, loop)]
        if all(loop.loop_var in group[0].cell_variables() for group in moving):
            return []  # nearer is soon enough, and takes fewer registers
        return moving

    def _ahead(self, group: Sequence[Access[For]], loop: For, values: dict[Node, Expr]) -> Stmt:
        """What loads the cells of `group` in `loop`; in `values` where they are then, for each."""
        sure = next(access for access in group if not access.guards)
        loops = _telling(sure, loop)
        kept = self._registers(sure.buffer, prod(map(_turns, loops)))
        counted = (one.loop_var - one.min for one in loops)
        place = flat_index(counted, map(_turns, loops), "int32")
        values |= dict.fromkeys((access.node for access in group), BufferLoad(kept, (place,)))
        ahead: Stmt = BufferStore(kept, BufferLoad(sure.buffer, sure.indices), (place,))
        for one in reversed(loops):
            ahead = replace(one, body=ahead)
        return copy_fresh(ahead)[0]

    # --- one statement after the other ------------------------------------------------------

    def _stretch(self, stmts: Sequence[Stmt]) -> Sequence[Stmt]:
        """`stmts` with a variable for each cell that they would load twice."""
        known: dict[tuple[Buffer, int], _Value] = {}
        every: list[_Value] = []
        for k, stmt in enumerate(stmts):
            if _waits(stmt):
                known.clear()
                continue
            for access in self._loads_of_one_cell(stmt):
                cell = self._cell(access)
                if cell not in known and not access.guards and not access.loops:
                    known[cell] = _Value(k, access)
                    every.append(known[cell])
                if cell in known:
                    known[cell].loads.append((k, access.node))
                    known[cell].times += _lanes(access)
            for cell in [cell for cell in known if cell[0] in buffers_written(stmt)]:
                del known[cell]
        return self._with_variables(stmts, [value for value in every if value.times > 1])

    def _loads_of_one_cell(self, stmt: Stmt) -> Iterator[Access[For]]:
        """The loads in `stmt` that find the same value, at one cell, wherever they stand in it."""
        if isinstance(stmt, BufferStore) and stmt.buffer in self.made:
            return  # it is what keeps a value
        # a store comes behind what its own value loads
        changed = set() if isinstance(stmt, BufferStore) else buffers_written(stmt)
        for access in _loads(stmt, changed):
            inside = {loop.loop_var for loop in access.loops}
            if inside.isdisjoint(access.cell_variables()):
                yield access

    def _with_variables(self, stmts: Sequence[Stmt], values: Sequence[_Value]) -> Sequence[Stmt]:
        """`stmts` with each of `values` loaded ahead of the first statement that uses it."""
        ahead: dict[int, list[Stmt]] = {}
        kept: dict[int, dict[Node, Expr]] = {}
        for value in values:
            variable = self._registers(value.first.buffer, 1)
            place = (const(0, "int32"),)
            load = BufferLoad(value.first.buffer, value.first.indices)
            ahead.setdefault(value.at, []).append(BufferStore(variable, load, place))
            for k, node in value.loads:
                kept.setdefault(k, {})[node] = BufferLoad(variable, place)
        return [
            one
            for k, stmt in enumerate(stmts)
            for one in (*ahead.get(k, ()), _with(stmt, kept.get(k, {})))
        ]


def _with(stmt: Stmt, values: Mapping[Node, Expr]) -> Stmt:
    """`stmt` with other expressions in the place of the keys of `values`."""
    return rewrite(stmt, lambda node: values.get(node, node)) if values else stmt


@once
def _waits(stmt: Stmt) -> bool:
    """Whether the threads wait somewhere in `stmt`, if only as a warp that makes a call."""
    return any(
        isinstance(node, (Barrier, CommitGroup, WaitGroup)) or is_warp_call(node)
        for node in walk_statements(stmt)
    )


def _loads(stmt: Stmt, changed: Set[Buffer]) -> Iterator[Access[For]]:
    """The loads of single cells of memory in `stmt`, but of what is `changed` while it runs.

    Those that memory tells the cell of are left out, and arrays that are copied asynchronously: a
    copy loads by itself.
    """
    every = [access for access in accesses(stmt) if not access.writes]
    copied = {access.buffer for access in every if access.store and access.store.is_async}
    for access in every:
        (index,) = access.indices
        if access.buffer.scope == "local" or access.buffer in changed | copied:
            continue
        if not isinstance(index, Ramp) and not reads_memory(index):
            yield access


def _moves(group: Sequence[Access[For]], loop: For) -> bool:
    """Whether the loads of `group`, all that `loop` makes of a cell, may move ahead of it."""
    sure = next((access for access in group if not access.guards), None)
    if sure is None:
        return False
    loops, telling = [loop, *sure.loops], _telling(sure, loop)
    if not any(_turns(one) > 1 for one in loops if one not in telling):
        return False  # each cell is loaded once
    if not all(map(_turns, sure.loops)) or any(_ends(access) != _ends(sure) for access in group):
        return False
    registers = all(one.kind == "unrolled" for one in loops)
    registers = registers and all(turns_written(one) is None for one in telling)
    return not telling or (registers and prod(map(_turns, telling)) <= _MOST)


def _telling(access: Access[For], *around: For) -> list[For]:
    """The loops around a load, these included, that say which cell it is."""
    return [one for one in (*around, *access.loops) if one.loop_var in access.cell_variables()]


def _ends(access: Access[For]) -> dict[Var, tuple[object, int]]:
    """Between which numbers each of these counts: a variable may count in more than one loop."""
    return {one.loop_var: (getattr(one.min, "value", one), _turns(one)) for one in _telling(access)}


def _turns(loop: For) -> int:
    """How many turns `loop` has; 0 also where that is no number."""
    match loop:
        case For(min=Const(), extent=Const(value=turns)):
            return int(turns)
    return 0


def _lanes(access: Access[For]) -> int:
    """How often a text has this load: a vector is stored cell by cell."""
    place = access.store.indices[0] if access.store else None
    return place.lanes if isinstance(place, Ramp) else 1
