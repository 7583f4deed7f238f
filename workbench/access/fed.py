"""fed: whether all that a turn of some loops reads was written earlier in it.

An array of which that is so holds nothing from one turn to the next: it may be kept for one turn
only (`lower/shrink_buffers.py`), and each turn may have a copy of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import replace
from itertools import takewhile

from workbench import arith
from workbench.access.accesses import Access, accesses, by_buffer
from workbench.access.cover import Made, covers
from workbench.access.units import buffers_written, limits
from workbench.access.updates import reads
from workbench.arith import Bounds, Simplifier, reads_memory
from workbench.ir import (
    Buffer,
    For,
    Stmt,
    Var,
    const,
    free_vars,
    once,
    remembered,
    substitute,
)


class Fed:
    """Answers for one program, `body`, or for one kernel, whose `axes` are what threads count."""

    def __init__(self, body: Stmt, known: Bounds, axes: Sequence[tuple[str, Var]] = ()) -> None:
        self.axes = axes
        self.known = known
        self.simplifier = Simplifier(known)
        self.threads = [_loop_over(var, *known[var], body) for _, var in axes]
        self.written = buffers_written(body)

    def may_change(self, found: Iterable[Access[For]]) -> bool:
        """Whether memory that the kernel writes tells the cells of any of `found`."""
        return any(reads(index, self.written) for access in found for index in access.indices)

    def still(self, buffer: Buffer, around: Iterable[For]) -> set[Var]:
        """What keeps its value in a turn of the loops `around`, for all that share `buffer`."""
        own = buffer.scope == "local"
        place = {var for axis, var in self.axes if own or axis.startswith("blockIdx")}
        return place | {loop.loop_var for loop in around if own or not loop.virtual}

    def running(self, access: Access[For], still: Collection[Var]) -> Access[For]:
        """`access` in those loops alone, and threads for loops, that do not stand `still`.

        Where the ends of such a loop vary, it runs just between them.
        """
        loops = [loop for loop in (*self.threads, *access.loops) if loop.loop_var not in still]
        ends = [end for loop in loops for end in limits(loop)]
        return replace(access, loops=tuple(loops), guards=(*ends, *access.guards))

    def written_first(self, found: Sequence[Access[For]], still: Collection[Var]) -> bool:
        """Whether every cell read in an iteration of the loops around was written earlier in it.

        By the stores ahead of all reads. In a loop that such a store and a read share, another
        iteration may come later: it stands still for both, or the store is that of its first one,
        which came no later than the read.
        """
        if self.may_change(found):
            return False
        stores = list(takewhile(lambda access: access.writes, found))
        for read in (access for access in found if not access.writes):
            shared = {loop for store in stores for loop in common_loops([store, read])}
            fixed = {*still, *self.still(read.buffer, shared)}
            again = [loop for loop in _with_first_turn(shared) if loop.loop_var not in still]
            made = [_first_turns(self.running(store, fixed), again) for store in stores]
            every = [Made(store, self.known) for store in made]
            use = self.running(read, fixed)
            if not covers(every, [use], read.buffer.shape, self.known):
                return False
        return bool(stores)


def is_own(body: Stmt, loop: For, buffer: Buffer, known: Bounds) -> bool:
    """Whether each turn of `loop` writes all of `buffer` that it reads, and no one else uses any.

    So that each may have a `buffer` of its own. `body` is the program, in which `loop` stands.
    """
    found = _by_buffer(body).get(buffer, [])
    around = common_loops(found) if found else ()
    if loop not in around:
        return False
    loops = [one for access in found for one in access.loops]  # those inside of blocks among them
    known = {**arith.loop_bounds(loops, known), **known}
    at = around.index(loop)
    # Where each turn of a loop inside writes first what it reads, so does each turn of this one:
    # of loops that are bound, which are asked about one after the other, the innermost comes first.
    inside = max((k for k, one in enumerate(around) if one.thread), default=at)
    answers: dict[tuple[Buffer, int], bool] = remembered(body).setdefault("written first", {})
    for depth in dict.fromkeys((max(at, inside), at)):
        if (buffer, depth) not in answers:
            still = {outer.loop_var for outer in around[: depth + 1]}
            answers[buffer, depth] = Fed(body, known).written_first(found, still)
        if answers[buffer, depth]:
            return True
    return False


@once
def _by_buffer(body: Stmt) -> dict[Buffer, list[Access[For]]]:
    return by_buffer(accesses(body))


def _with_first_turn(loops: Set[For]) -> list[For]:
    """Those of `loops`, which are in a turn, of which the others have a turn in the first one, too.

    Where the ends of a loop inside vary with one, it may have none there, or begin elsewhere; and
    memory may say no longer where one began.
    """
    used = {v for loop in loops for end in (loop.min, loop.extent) for v in free_vars(end)}
    return [one for one in loops if one.loop_var not in used and not reads_memory(one.min)]


def _first_turns(store: Access[For], loops: Iterable[For]) -> Access[For]:
    """`store` in the first iteration of those of `loops` that do not tell its cell.

    None of them begins where another one says, so that all are put in at once.
    """
    moving = store.cell_variables()
    first = {one.loop_var: one.min for one in loops if one.loop_var not in moving}
    return replace(store, guards=tuple(substitute(guard, first) for guard in store.guards))


def _loop_over(var: Var, first: int, last: int, body: Stmt) -> For:
    return For(var, const(first, var.type), const(last - first + 1, var.type), "serial", body)


def common_loops(found: Sequence[Access[For]]) -> tuple[For, ...]:
    """The loops around all of the accesses."""
    common = found[0].loops
    for access in found[1:]:
        same = [a is b for a, b in zip(common, access.loops, strict=False)]
        common = common[: same.index(False) if False in same else len(same)]
    return common
