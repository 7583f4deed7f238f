"""chain: the clocks that one warp takes where nobody else is there: what it waits for itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

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
# Words of a thread's arrays up to which nvcc 13.0 for sm_90 loads ahead what all turns written out
# want: with 36 of them it takes 46 registers, but where they would be 48, a turn at a time and 40.
AHEAD = 36
TURNS = 4  # of a loop that are followed; each after these takes as long as the last of them


class Wait(NamedTuple):
    """The clocks from a load to its value: `near`, and more for such shares that are not there.

    `more` has, for each memory behind, the share of loads that goes on to it, and its clocks.
    """

    near: float
    more: tuple[tuple[float, float], ...] = ()

    def together(self, loads: float) -> float:
        """The clocks until so many loads that are made at once have their values, on average.

        The last one counts: if one of them comes from far, all wait for it. Each may, by itself.
        """
        any_of = ((1 - (1 - share) ** loads, clocks) for share, clocks in self.more)
        return self.near + sum(chance * clocks for chance, clocks in any_of)


def chain(
    kernel: Kernel, waits: Mapping[Node, Wait], shorter: Mapping[Var, int] | None = None
) -> float:
    """The clocks of one warp of `kernel` alone; `waits` are those for its loads from memory.

    It issues an instruction a clock, in order. A load is on its way until its value is used, or
    until threads wait where the value is stored; those of turns that are unrolled go together, but
    for those in branches, and those that fill an array that holds the values of one turn.
    """
    run = _Run(waits, compiled(kernel), shorter or {})
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

    waits: Mapping[Node, Wait]
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
                self.now += self._until((load for load in asked if load in self.waits), 1)
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
            self._written_out(loop.body, times, together)
            return
        ends = [self.now]
        for _ in range(min(turns, TURNS)):
            self._written_out(loop.body, times, together)
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
        loads = [node for node in self.waits if self._is_of(node, call)]
        self.now += times * (len(loads) + INSTRUCTIONS * (call.name in PRODUCTS))
        there = self.now + self._until(loads, times) + PRODUCT * (call.name in PRODUCTS)
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

    def _until(self, loads: Iterable[Node], times: float) -> float:
        """The clocks until `loads`, of which so many turns go together, have their values."""
        return max((self.waits[load].together(times) for load in loads), default=0.0)

    def _written_out(self, body: Stmt, times: int, together: int) -> None:
        """Turns of a loop that are written out together; `times` is as for `visit`.

        Where they fill an array of the thread again and again, each fills it for the next while it
        computes, and what is left of the wait comes with each.
        """
        begun = self.now
        self.visit(body, times * together)
        alone = times == 1 < together  # or loops inside, or around, say it
        fills, wait = self._fills(body, together) if alone else (1.0, 0.0)
        work = (self.now - begun - wait) / fills
        self._later((fills - 1) * max(0.0, wait - work))

    def _fills(self, body: Stmt, together: int) -> tuple[float, float]:
        """How often an array of the thread is filled from memory in so many turns, and the wait.

        That is once where there are registers for all that is loaded.
        """
        moves, loaded = [*self._moves(body, together)], dict[Buffer, int]()
        for store, values in moves:
            loaded[store.buffer] = loaded.get(store.buffer, 0) + values
        room = {buffer: prod(map(int, buffer.shape)) for buffer in loaded}
        beyond = sum(loaded.values()) - sum(room.values())
        if not moves or self.made.words + beyond <= AHEAD:
            return 1.0, 0.0
        fills = max(1.0, *(values / room[buffer] for buffer, values in loaded.items()))
        waits = (self._until([store.value], values / fills) for store, values in moves)
        return fills, max(waits)

    def _moves(self, stmt: Stmt, turns: int) -> Iterator[tuple[BufferStore, int]]:
        """The stores of loaded values to arrays of the thread, with how many values, in `turns`."""
        match stmt:
            case For():
                together = min(self.made.together[stmt.loop_var], extent_of(stmt))
                yield from self._moves(stmt.body, turns * together)
            case BufferStore() if stmt.buffer.scope == "local" and stmt.value in self.waits:
                (index,) = stmt.indices
                yield stmt, turns * (index.lanes if isinstance(index, Ramp) else 1)
            case _:
                for part in (child for child in children(stmt) if isinstance(child, Stmt)):
                    yield from self._moves(part, turns)

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
        loads = [load for load in told.loads if self._anew(load)]
        chosen = [load for load in told.chosen if load in self.waits]
        if chosen and not store.is_async:  # a branch for the turns that are written out together
            branches = times // min(times, self.inner)
            self.now += (branches - 1) * self._until(chosen, 1)
        self.now += times * (told.instructions + len(loads) + told.in_memory)
        early = max(times * len(loads) - 1, 0) / 2  # halfway through them is the one from far
        there = self.now + max(self._until(loads, 0), self._until(loads, times) - early)
        if store.is_async:
            self.begun = max(self.begun, there)
        elif told.in_memory:
            self.stored = max(self.stored, there)
        else:
            self.held[store.buffer] = max(self.held.get(store.buffer, 0.0), there)

    def _anew(self, node: Node) -> bool:
        """Whether it loads from memory, and not what was loaded in an earlier turn."""
        if node not in self.waits:
            return False
        return not self.again or not self.again.isdisjoint(free_vars(node))
