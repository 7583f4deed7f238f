"""chain: the clocks that one warp takes where nobody else is there: what it waits for itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from workbench.check.kernels import extent_of
from workbench.insight.compiled import Compiled, chosen_loads, compiled, operations
from workbench.insight.warp_requests import INSTRUCTIONS, LOADS, PRODUCTS
from workbench.ir import (
    Barrier,
    Buffer,
    BufferLoad,
    BufferStore,
    CommitGroup,
    For,
    IfThenElse,
    Kernel,
    Node,
    Ramp,
    Stmt,
    Var,
    WaitGroup,
    children,
    free_vars,
    is_warp_call,
    once,
    stmts_of,
    walk,
)
from workbench.lower.warp_calls import WarpCall, warp_call

BARRIER = 20  # clocks from where the last thread comes to where the first goes on
PRODUCT = 58  # clocks from a product of tiles to its sums in float32, measured on an H100
TURNS = 4  # of a loop that are followed; each after these takes as long as the last of them


def chain(
    kernel: Kernel, latencies: Mapping[Node, float], shorter: Mapping[Var, int] | None = None
) -> float:
    """The clocks of one warp of `kernel` alone; `latencies` are those of its loads from memory.

    It issues an instruction a clock, in order. A load is on its way until its value is used, or
    until threads wait where the value is stored; those of turns that are unrolled go together, but
    for those in branches.
    """
    run = _Run(latencies, compiled(kernel), shorter or {})
    run.visit(kernel.body, 1)
    return max(run.now, run.stored)


@dataclass(frozen=True, slots=True)
class _Told:
    """Of a store: the registers that it reads, its loads and those that are chosen, its work.

    `instructions` are those of its operations; `in_memory` is 1 where it stores to memory, else 0.
    """

    used: tuple[Buffer, ...]
    loads: tuple[BufferLoad, ...]
    chosen: tuple[Node, ...]
    instructions: int
    in_memory: int


@once
def _told(store: BufferStore) -> _Told:
    (index,) = store.indices
    lanes = index.lanes if isinstance(index, Ramp) else 1
    loads = tuple(n for n in walk(store.value) if isinstance(n, BufferLoad))
    return _Told(
        tuple(dict.fromkeys(load.buffer for load in loads)),
        loads,
        tuple(chosen_loads(store.value)),
        operations(store.value) * lanes,
        int(store.buffer.scope != "local"),
    )


@dataclass
class _Run:
    """A warp on its way: `now` in clocks, and when what it waits for will be there."""

    latencies: Mapping[Node, float]
    made: Compiled
    shorter: Mapping[Var, int]
    inner: int = 1  # turns of the innermost loop around that are written out together
    again: frozenset[Var] = frozenset()  # counted by loops around that are past their first turn
    now: float = 0.0
    stored: float = 0.0  # when all that was stored to memory is there
    held: dict[Buffer, float] = field(default_factory=dict)  # when registers have their values
    copies: list[float] = field(default_factory=list)  # when groups of copies are there
    begun: float = 0.0  # when the copies that are in no group yet are there

    def visit(self, stmt: Stmt, times: int) -> None:
        """Run `stmt`, of which so many unrolled turns go together."""
        match stmt:
            case For() if is_warp_call(stmt):
                self._call(warp_call(stmt), times)
            case For():
                self._loop(stmt, times)
            case BufferStore():
                self._store(stmt, times)
            case IfThenElse():
                asked = [n for n in walk(stmt.condition) if isinstance(n, BufferLoad)]
                self._wait_for(load.buffer for load in asked)
                self.now += max((self.latencies.get(load, 0) for load in asked), default=0)
                for branch in (child for child in children(stmt) if isinstance(child, Stmt)):
                    self.visit(branch, times)
            case Barrier():
                self.now = max(self.now, self.stored) + BARRIER
            case CommitGroup():
                self.copies.append(self.begun)
                self.begun = 0.0
            case WaitGroup():
                done = self.copies[: len(self.copies) - stmt.count]
                self.now = max([self.now, *done])
                del self.copies[: len(done)]
            case _:
                for part in stmts_of(stmt):
                    if part is not stmt:
                        self.visit(part, times)

    def _loop(self, loop: For, times: int) -> None:
        var = loop.loop_var
        extent = -(-extent_of(loop) // self.shorter.get(var, 1))
        together, waits = min(self.made.together[var], extent), var in self.made.waiting
        turns, around = -(-extent // max(together, 1)), self.again
        self.inner = together
        if turns == 1:
            self.visit(loop.body, times * together)
            return
        ends = [self.now]
        for _ in range(min(turns, TURNS)):
            self.visit(loop.body, times * together)
            if not waits:
                self.now = max(self.now, self.stored)
                self.again = around | {var}
            ends.append(self.now)
        self.again = around
        if turns > TURNS:
            self._later((turns - TURNS) * (ends[-1] - ends[-2]))

    def _call(self, call: WarpCall, times: int) -> None:
        """A call of a warp: a tile is loaded, stored, or multiplied once its parts are there."""
        self._wait_for(tile.buffer for tile in (call.to, *call.sources))
        waits = [w for n, w in self.latencies.items() if self._is_of(n, call)]
        self.now += times * (len(waits) + INSTRUCTIONS * (call.name in PRODUCTS))
        there = self.now + max(waits, default=PRODUCT * (call.name in PRODUCTS))
        if call.to.buffer.is_fragment:
            self.held[call.to.buffer] = max(self.held.get(call.to.buffer, 0.0), there)
        else:
            self.stored = max(self.stored, there)

    @staticmethod
    def _is_of(load: Node, call: WarpCall) -> bool:
        """Whether it is the load of memory that the call is."""
        if call.name not in LOADS or not isinstance(load, BufferLoad):
            return False
        return load.buffer is call.sources[0].buffer

    def _later(self, clocks: float) -> None:
        self.now, self.stored, self.begun = (
            at + clocks for at in (self.now, self.stored, self.begun)
        )
        self.held = {buffer: at + clocks for buffer, at in self.held.items()}
        self.copies = [at + clocks for at in self.copies]

    def _wait_for(self, used: Iterable[Buffer]) -> None:
        """Wait until the registers of these have their values."""
        self.now = max([self.now, *(self.held.get(buffer, 0.0) for buffer in used)])

    def _store(self, store: BufferStore, times: int) -> None:
        told = _told(store)
        self._wait_for(told.used)
        loads = [self.latencies[load] for load in told.loads if self._anew(load)]
        chosen = [self.latencies.get(load, 0.0) for load in told.chosen]
        if chosen and not store.is_async:  # a branch for the turns that are written out together
            self.now += (times // min(times, self.inner) - 1) * max(chosen)
        self.now += times * (told.instructions + len(loads) + told.in_memory)
        there = self.now + max(loads, default=0.0)
        if store.is_async:
            self.begun = max(self.begun, there)
        elif told.in_memory:
            self.stored = max(self.stored, there)
        else:
            self.held[store.buffer] = max(self.held.get(store.buffer, 0.0), there)

    def _anew(self, node: Node) -> bool:
        """Whether it loads from memory, and not what was loaded in an earlier turn."""
        if node not in self.latencies:
            return False
        return not self.again or not self.again.isdisjoint(free_vars(node))
