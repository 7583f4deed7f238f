"""warp_steps: what the warps of a kernel issue, step by step, with the clocks of each.

The order of the steps, the loops around and the barriers are the kernel's own, as it was written.
Clocks are modelled: a request to memory takes a clock for each wavefront of shared memory, or line
of 128 bytes of global memory, that the worst of its turns asks for; an operation takes one, and so
does a statement that is none of both. A warp of which no lane ever runs a statement takes none.
What a warp waits for its values is left out: meanwhile others go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod
from typing import TypeAlias

import numpy as np

from workbench.access import accesses as access
from workbench.arith import Bounds, bounds
from workbench.check.kernels import extent_of
from workbench.insight.accesses import Access, Loop, accesses
from workbench.insight.compiled import operations
from workbench.insight.demands import lines_of
from workbench.insight.kinds import UnknownError, examples_of_requests
from workbench.insight.warp_requests import INSTRUCTIONS, PRODUCTS, calls_of, requested
from workbench.insight.warps import lane_bytes
from workbench.insight.wavefronts import WARP, wavefronts
from workbench.ir import (
    Barrier,
    BufferStore,
    Const,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    Ramp,
    SeqStmt,
    Stmt,
    Var,
    binary,
    const,
    is_warp_call,
    once,
    substitute,
    walk,
)
from workbench.lower.known_bounds import known_bounds


@dataclass(frozen=True, slots=True, eq=False)
class Issue:
    """What a warp issues at a time: an access to memory, or what is computed for a store.

    `clocks` are those of each warp of a block, of one of the `each` requests that are made one
    after the other: the elements of a vector that do not lie side by side. `access` is the store
    where it `computes`.
    """

    access: Access
    computes: bool
    clocks: tuple[int, ...]
    each: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """What is done in each turn of a loop of `extent` turns, or of the most that there are.

    `waits` says that threads wait for each other in it.
    """

    loop: Loop
    steps: tuple[Step, ...]
    waits: bool


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """All threads of a block wait for each other."""


Step: TypeAlias = Issue | Turn | Together


@once
def warp_steps(kernel: Kernel) -> tuple[Step, ...]:
    """What each warp of `kernel` does, in order. Raises Fail where sizes tell how often."""
    return tuple(_Walk(kernel).steps(kernel.body))


@dataclass
class _Walk:
    """Goes through a kernel as `accesses` does, and takes each access where it is made."""

    kernel: Kernel
    known: Bounds = field(init=False)
    values: dict[Var, Expr] = field(default_factory=dict)  # of loops that do not count from 0
    varying: dict[Var, tuple[int, Expr]] = field(default_factory=dict)  # at most, and in each turn

    around: list[str] = field(default_factory=list)  # names of the loops that are open

    def __post_init__(self) -> None:
        self.known = known_bounds(self.kernel)
        self.found = iter(accesses(self.kernel))
        self.warps = -(-prod(self.kernel.block) // WARP)

    def steps(self, stmt: Stmt) -> Iterator[Step]:
        """What `stmt` does, in order."""
        match stmt:
            case For():
                yield from self.loop(stmt)
            case IfThenElse(condition, yes, no):
                yield from self.requests(self.taken(condition))
                yield from self.steps(yes)
                yield from self.steps(no) if no is not None else ()
            case SeqStmt(stmts):
                for one in stmts:
                    yield from self.steps(one)
            case Barrier():
                yield Together()
            case BufferStore():
                yield from self.store(self.taken(stmt))

    def taken(self, node: Node) -> list[Access]:
        """The accesses in `node`, which comes next."""
        found = islice(self.found, sum(1 for _ in access.accesses(node)))
        return [self.where_it_runs(one) for one in found]

    def where_it_runs(self, one: Access) -> Access:
        """`one`, in the turns alone that loops around have."""
        known = {loop.var: self.varying.get(loop.var) for loop in one.loops}
        loops = tuple(
            replace(loop, extent=told[0]) if (told := known[loop.var]) else loop
            for loop in one.loops
        )
        less = [binary("<", var, told[1]) for var, told in known.items() if told]
        return replace(one, loops=loops, guards=(*less, *one.guards)) if less else one

    def loop(self, loop: For) -> Iterator[Step]:
        """The turns of a loop, or a call of a warp."""
        if is_warp_call(loop):
            yield from self.call(loop)
            return
        var = loop.loop_var
        asked = [*self.taken(loop.min), *self.taken(loop.extent)]
        yield from self.requests(asked)
        if not (isinstance(loop.min, Const) and loop.min.value == 0):
            self.values[var] = binary("+", substitute(loop.min, self.values), var)
        extent = extent_of(loop)
        if not isinstance(loop.extent, Const):
            ends = None if asked else bounds(loop.extent, self.known)
            extent = 1 if ends is None else max(ends[1], 0)  # 1 where data tell
            self.varying[var] = extent, substitute(loop.extent, self.values)
        name = var.name + "_" * self.around.count(var.name)  # each is told by its own
        self.around.append(var.name)
        steps = tuple(self.steps(loop.body))
        self.around.pop()
        role = "virtual" if loop.virtual else "serial"
        yield Turn(Loop(var, name, role, extent), steps, any(map(_waits, steps)))

    def call(self, loop: For) -> Iterator[Issue]:
        """What a warp asks for in a call, and the instructions of a product of tiles."""
        inside, call = {*walk(loop)}, calls_of(self.kernel)[loop]
        raw = self.taken(loop)
        yield from self.requests([a for a in requested(self.kernel) if a.store in inside])
        if call.name in PRODUCTS:
            store = next(one for one in reversed(raw) if one.writes)
            yield Issue(store, True, (INSTRUCTIONS,) * self.warps)

    def store(self, found: list[Access]) -> Iterator[Issue]:
        """The loads of a statement, what it computes, and its store."""
        *loads, store = found
        assert store.store is not None
        index = store.indices[0]
        computed = operations(store.store.value) * (index.lanes if isinstance(index, Ramp) else 1)
        yield from self.requests(loads)
        if computed or all(one.buffer.scope == "local" for one in found):
            yield Issue(store, True, self.awake(store, max(computed, 1)))
        yield from self.requests([store])

    def requests(self, found: list[Access]) -> Iterator[Issue]:
        """Those of `found` that ask memory for something."""
        for one in found:
            if one.buffer.scope != "local":
                yield Issue(one, False, self.clocks(one), _each(one.indices[0]))

    def clocks(self, one: Access) -> tuple[int, ...]:
        """The clocks of the request of each warp that takes most."""
        try:
            every = examples_of_requests(self.kernel, one)
        except UnknownError:
            return (1,) * self.warps
        width, most = lane_bytes(one), np.zeros(self.warps, np.int64)
        if one.buffer.scope == "shared":
            takes = wavefronts(every.table, width, writes=one.writes)
        else:
            takes = lines_of(every.table, width)
        np.maximum.at(most, every.warps, takes)
        return tuple(most.tolist())

    def awake(self, store: Access, clocks: int) -> tuple[int, ...]:
        """`clocks` for each warp of which a lane runs a statement, in one turn at least."""
        if not store.guards:
            return (clocks,) * self.warps
        try:
            every = examples_of_requests(self.kernel, replace(store, indices=(const(0, "int32"),)))
        except UnknownError:
            return (clocks,) * self.warps
        runs = np.zeros(self.warps, np.int64)
        runs[every.warps] = clocks
        return tuple(runs.tolist())


def _each(index: Expr) -> int:
    """How many requests a vector takes: one for each element, where they are no neighbours."""
    return index.lanes if isinstance(index, Ramp) and index.stride != 1 else 1


def _waits(step: Step) -> bool:
    return isinstance(step, Together) or (isinstance(step, Turn) and step.waits)
