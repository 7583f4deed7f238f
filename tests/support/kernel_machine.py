"""Kernels run one thread after the other, in plain Python: slow, and as simple as can be."""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from workbench.ir import (
    SHUFFLE,
    THREAD_AXES,
    Barrier,
    BinOp,
    Broadcast,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Not,
    Ramp,
    Select,
    SeqStmt,
    Stmt,
    Var,
    walk,
)

_OPS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": np.fmin,
    "max": np.fmax,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass
class Exchange:
    """A thread waits to read a neighbour's register, and shows what is in its own."""

    call: Call
    value: Any

    @property
    def bit(self) -> int:
        return self.call.args[1].value

    @property
    def width(self) -> int:
        return self.call.args[2].value


@dataclass
class Cell:
    """Who touched a cell: (block, thread) of readers, and of writers with statement and bits."""

    readers: set[tuple[int, int]] = field(default_factory=set)
    writers: list[tuple[tuple[int, int], BufferStore, bytes]] = field(default_factory=list)

    def races(self, unit: int) -> bool:
        """Whether two blocks (unit 0), or two threads of a block (unit 1), race."""
        who = {w[0][: unit + 1] for w in self.writers}
        if not who:
            return False
        everybody = who | {r[: unit + 1] for r in self.readers}
        if len(everybody) == 1:
            return False
        if self.readers:
            return True
        return len({(w[1], w[2]) for w in self.writers}) > 1


class Kernels:
    """One run; `faults` are the kinds of things that a GPU would punish.

    `least` and `most` bound the writes to shared memory beyond those of each cell's first writer:
    which thread writes first is chance.
    """

    def __init__(self, kernel: Kernel, arrays: dict[Buffer, np.ndarray[Any, Any]]) -> None:
        self.kernel, self.memory = kernel, arrays
        self.faults: set[str] = set()
        self.counts: dict[tuple[str, str], int] = {}
        self.barriers = self.shuffles = 0
        self.least = self.most = 0
        self.whole: defaultdict[tuple[Buffer, int], Cell] = defaultdict(Cell)

    def run(self) -> None:
        """Run every block, x fastest."""
        x, y, z = self.kernel.grid
        for number, (bz, by, bx) in enumerate(product(range(z), range(y), range(x))):
            self.block(number, (bx, by, bz))
        for cell in self.whole.values():
            if cell.races(0):
                self.faults.add("race between blocks")

    def block(self, number: int, place: tuple[int, int, int]) -> None:
        """Run one block up to each exchange and barrier in turn."""
        self.shared = _fresh(self.kernel, "shared")
        x, y, z = self.kernel.block
        threads = []
        for t, (tz, ty, tx) in enumerate(product(range(z), range(y), range(x))):
            values = dict(zip(THREAD_AXES, (*place, tx, ty, tz), strict=True))
            env = {v: np.int32(values[axis]) for axis, v in self.kernel.axes}
            threads.append(Thread(self, (number, t), env).run(self.kernel.body))
        self.interval: defaultdict[tuple[Buffer, int], Cell] = defaultdict(Cell)
        while threads:
            came = [next(thread, None) for thread in threads]
            while self.exchange(threads, came):
                pass
            if any(isinstance(c, Exchange) for c in came):
                self.give_up(threads, came)
                return
            self.judge()
            if all(c is None for c in came):
                return
            if any(c is None for c in came) or len(set(map(id, came))) > 1:
                self.faults.add("barrier")
                return
            self.barriers += 1

    def exchange(self, threads: list[Any], came: list[Any]) -> bool:
        """Let the first group that waits as a whole at one exchange go on; whether there is one."""
        for t, one in enumerate(came):
            if not isinstance(one, Exchange) or t % one.width:
                continue
            asked = came[t : t + one.width]
            calls = [a.call for a in asked if isinstance(a, Exchange)]
            if calls == [one.call] * one.width:
                self.shuffles += one.width
                for k in range(one.width):
                    value = asked[k ^ one.bit].value
                    came[t + k] = None
                    with suppress(StopIteration):
                        came[t + k] = threads[t + k].send(value)
                return True
        return False

    def give_up(self, threads: list[Any], came: list[Any]) -> None:
        """End the block where some do not come, once what waits has done its statement."""
        self.faults.add("exchange")
        self.faults |= {"barrier" for c in came if isinstance(c, Barrier)}
        for thread, one in zip(threads, came, strict=True):
            if isinstance(one, Exchange):
                with suppress(StopIteration):
                    thread.send(one.value)
        self.judge()

    def judge(self) -> None:
        """Look at all that happened since the last barrier."""
        for (buffer, _), cell in self.interval.items():
            if cell.races(1):
                self.faults.add("race")
            elif buffer.scope == "shared" and len({w[0] for w in cell.writers}) > 1:
                own = Counter(w[0] for w in cell.writers).values()
                self.least += len(cell.writers) - max(own)
                self.most += len(cell.writers) - min(own)
        self.interval = defaultdict(Cell)


def _fresh(kernel: Kernel, scope: str) -> dict[Buffer, dict[int, Any]]:
    return {b: {} for b in kernel.allocs if b.scope == scope}


class Thread:
    """One thread, which stops at each barrier and exchange."""

    def __init__(self, run: Kernels, who: tuple[int, int], env: dict[Var, Any]) -> None:
        self.all, self.who, self.env = run, who, env
        self.local = _fresh(run.kernel, "local")
        self.got: dict[Call, Any] = {}  # of each exchange in a statement, the neighbour's value

    def run(self, stmt: Stmt) -> Generator[Barrier | Exchange, Any, None]:
        """Run `stmt`, giving each barrier and exchange that it comes to."""
        match stmt:
            case SeqStmt():
                for part in stmt.stmts:
                    yield from self.run(part)
            case For():
                first, count = int(self.value(stmt.min)), int(self.value(stmt.extent))
                for k in range(first, first + count):
                    self.env[stmt.loop_var] = np.int32(k)
                    yield from self.run(stmt.body)
            case IfThenElse():
                if self.value(stmt.condition):
                    yield from self.run(stmt.then_case)
                elif stmt.else_case is not None:
                    yield from self.run(stmt.else_case)
            case Barrier():
                yield stmt
            case BufferStore():
                for node in walk(stmt.value):
                    if isinstance(node, Call) and node.op == SHUFFLE:
                        self.got[node] = yield Exchange(node, self.value(node.args[0]))
                self.store(stmt)

    def store(self, store: BufferStore) -> None:
        """Write an element, or each of a vector."""
        index = store.indices[0]
        if isinstance(index, Ramp):
            self.check_aligned(index)
            base = int(self.value(index.base))
            values = [self.value(store.value, k) for k in range(index.lanes)]
            for k, value in enumerate(values):
                self.write(store, base + k * index.stride, value)
        else:
            value = self.value(store.value)
            self.write(store, int(self.value(index)), value)

    def check_aligned(self, index: Ramp) -> None:
        """A vector starts at a multiple of its length."""
        if int(self.value(index.base)) % index.lanes:
            self.all.faults.add("misaligned")

    def memory(self, buffer: Buffer) -> Any:
        """The cells of `buffer` that this thread sees."""
        if buffer in self.local:
            return self.local[buffer]
        return self.all.shared.get(buffer, self.all.memory.get(buffer))

    def touch(self, buffer: Buffer, cell: int, what: str) -> list[Cell]:
        """Count the access; the cell as the others see it, None if it is nobody else's."""
        key = (buffer.scope, what)
        self.all.counts[key] = self.all.counts.get(key, 0) + 1
        if buffer.scope == "local":
            return []
        seen = [self.all.interval[buffer, cell]]
        if buffer.scope == "global":
            seen.append(self.all.whole[buffer, cell])
        return seen

    def write(self, store: BufferStore, cell: int, value: Any) -> None:
        """Write one element."""
        buffer = store.buffer
        if not 0 <= cell < buffer.shape[0]:
            self.all.faults.add("out of bounds")
            return
        value = np.dtype(buffer.type).type(value)
        for seen in self.touch(buffer, cell, "store"):
            seen.writers.append((self.who, store, value.tobytes()))
        self.memory(buffer)[cell] = value

    def read(self, buffer: Buffer, cell: int) -> Any:
        """Read one element."""
        zero = np.dtype(buffer.type).type(0)
        if not 0 <= cell < buffer.shape[0]:
            self.all.faults.add("out of bounds")
            return zero
        for seen in self.touch(buffer, cell, "load"):
            seen.readers.add(self.who)
        memory = self.memory(buffer)
        if isinstance(memory, dict) and cell not in memory:
            self.all.faults.add("unwritten")
            return zero
        return memory[cell]

    def value(self, e: Expr, lane: int = 0) -> Any:
        """The value of `e`, of element `lane` of a vector."""
        match e:
            case Var():
                return self.env[e]
            case Const():
                return np.dtype(e.type).type(e.value)
            case Not():
                return not self.value(e.a, lane)
            case Cast():
                return np.dtype(e.type).type(self.value(e.value, lane))
            case Ramp():
                return self.value(e.base) + np.int32(e.stride * lane)
            case Broadcast():
                return self.value(e.value)
            case BufferLoad():
                index = e.indices[0]
                if isinstance(index, Ramp) and lane == 0:
                    self.check_aligned(index)
                return self.read(e.buffer, int(self.value(index, lane)))
            case Select():
                pair = self.value(e.true_value, lane), self.value(e.false_value, lane)
                return pair[0] if self.value(e.condition, lane) else pair[1]
            case Call() if e.op == SHUFFLE:
                return self.got[e]
            case Call(op="exp"):
                return np.exp(self.value(e.args[0], lane))
            case Call(op="rsqrt"):
                return np.float32(1) / np.sqrt(self.value(e.args[0], lane))
            case Call(op="if_then_else"):
                return self.value(e.args[1 if self.value(e.args[0], lane) else 2], lane)
            case BinOp(op="and"):
                return bool(self.value(e.a, lane)) and bool(self.value(e.b, lane))
            case BinOp(op="or"):
                return bool(self.value(e.a, lane)) or bool(self.value(e.b, lane))
            case BinOp():
                return self.binary(e, lane)
        raise TypeError(type(e).__name__)

    def binary(self, e: BinOp, lane: int) -> Any:
        """`a op b`; what divides by zero is 0."""
        a, b = self.value(e.a, lane), self.value(e.b, lane)
        if e.op in ("//", "%") and b == 0:
            self.all.faults.add("division by zero")
            return np.int32(0)
        return _OPS[e.op](a, b)


def run(kernel: Kernel, arrays: Sequence[np.ndarray[Any, Any]]) -> Kernels:
    """Run `kernel` on `arrays` in place and give what was noticed."""
    machine = Kernels(kernel, dict(zip(kernel.params, arrays, strict=True)))
    with np.errstate(all="ignore"):
        machine.run()
    return machine
