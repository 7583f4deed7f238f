"""share_loops: which loops of a CPU's program are done at once, and what each iteration owns.

Cores share out the outermost `parallel` loops, and vector lanes the innermost `vectorized` ones. No
iteration waits for another, so that each array which a loop writes has to be one of two things: an
iteration's own, which writes all of what it reads there, or one in which no two iterations touch
the same cell. A loop for which neither is proved runs serially, which is always right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import NamedTuple

from workbench.access.accesses import Access, accesses, by_buffer
from workbench.access.fed import common_loops
from workbench.access.meet import Never, Question, meet
from workbench.access.units import buffers_written
from workbench.arith import reads_memory
from workbench.ir import (
    Buffer,
    Expr,
    For,
    Kernel,
    Node,
    Stmt,
    Var,
    attrs_dict,
    dtypes,
    once,
    rebuild,
    walk,
)
from workbench.lower.shrink_buffers import WindowFinder
from workbench.target import Target

OWN = "own"  # a loop's note: which of the kernel's arrays each of its iterations has for itself
_SHARED_OUT = ("parallel", "vectorized")
_MOST_OF_A_LANE = 1024  # bytes that each lane of a vector has for itself


def share_loops(kernel: Kernel, target: Target) -> Kernel:
    """Keep loops shared out whose iterations are proved independent; others run serially.

    What an iteration has for itself is noted at its loop.
    """
    body, _ = _shared(kernel)
    return kernel if body is kernel.body else replace(kernel, body=body)


def own_arrays(kernel: Kernel, loop: For) -> tuple[Buffer, ...]:
    """The arrays that each iteration of `loop` has for itself."""
    numbers = attrs_dict(loop.annotations).get(OWN, ())
    return tuple(b for k, b in enumerate(kernel.allocs) if k in numbers)  # type: ignore[operator]


class SerialLoop(NamedTuple):
    """A loop that should be shared out and is not, and why, at the end of a sentence."""

    loop: For
    why: str


def serial_loops(kernel: Kernel) -> list[SerialLoop]:
    """The loops of `kernel`, as it is before `share_loops`, that run serially after it."""
    return _shared(kernel)[1]


@once
def _shared(kernel: Kernel) -> tuple[Stmt, list[SerialLoop]]:
    """The body of `kernel` with its loops as they run, and those that should not run serially."""
    sharing = Sharing(kernel)
    return sharing.statement(kernel.body, ()), sharing.serial


class Sharing:
    """What is proved of the iterations of a kernel's loops."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.found = by_buffer(accesses(kernel.body))
        self.finder = WindowFinder(kernel)
        self.changing = buffers_written(kernel.body)
        self.serial: list[SerialLoop] = []
        self.owner: dict[Buffer, Var] = {}  # whose iterations have an array each

    def statement(self, stmt: Stmt, around: tuple[For, ...]) -> Stmt:
        """`stmt`, inside of loops `around` as they are now."""
        if not isinstance(stmt, For):
            return rebuild(stmt, lambda node: self._part(node, around))
        why = self._why_serial(stmt, around) if stmt.kind in _SHARED_OUT else ""
        if why:
            self.serial.append(SerialLoop(stmt, why))
        shared = replace(stmt, kind="serial") if why else stmt
        body = self.statement(stmt.body, (*around, shared))
        own = [k for k, b in enumerate(self.kernel.allocs) if self.owner.get(b) is stmt.loop_var]
        notes = ((OWN, tuple(own)),) if own else ()
        if body is stmt.body and shared is stmt and notes == stmt.annotations:
            return stmt
        return replace(shared, body=body, annotations=notes)

    def _part(self, node: Node, around: tuple[For, ...]) -> Node:
        return self.statement(node, around) if isinstance(node, Stmt) else node

    def _why_serial(self, loop: For, around: Sequence[For]) -> str:
        """Why the iterations of `loop` go one after the other, "" where they need not.

        Then each of the arrays that an iteration has for itself is its `owner`'s.
        """
        inside = _SHARED_OUT if loop.kind == "parallel" else ("vectorized",)
        for outer in around:
            if outer.kind in inside:
                return f"`{outer.loop_var.name}` around it is {outer.kind} already"
        if loop.kind == "vectorized" and any(isinstance(n, For) for n in walk(loop.body)):
            return "vectors are made of innermost loops"  # of others gcc 12 makes wrong ones
        if reads_memory(loop.min) or reads_memory(loop.extent):
            return "memory says how often it runs"
        own: list[Buffer] = []
        for buffer in sorted(buffers_written(loop.body), key=lambda b: b.name):
            if self._is_own(buffer, loop):
                own.append(buffer)
            elif not self._apart(buffer, loop, loop):
                return f"not proved: that no two iterations touch a cell of {buffer.name}"
        self.owner.update(dict.fromkeys(own, loop.loop_var))
        return ""

    def _is_own(self, buffer: Buffer, loop: For) -> bool:
        """Whether each iteration of `loop` writes all that it reads of `buffer`, nobody else's."""
        found = self.found[buffer]
        around = common_loops(found)
        variables = [one.loop_var for one in around]
        if buffer not in self.kernel.allocs or loop.loop_var not in variables:
            return False
        size = prod(buffer.shape) * dtypes.itemsize(buffer.type)
        if loop.kind == "vectorized" and isinstance(size, Expr):
            return False
        if loop.kind == "vectorized" and size > _MOST_OF_A_LANE:
            return False
        still: set[Var] = set(variables[: variables.index(loop.loop_var) + 1])
        return self.finder.written_first(found, still)

    def independent(self, loop: For, around: For) -> bool:
        """Whether the iterations of `loop` are, in any turns of the loop `around` it."""
        return all(self._apart(buffer, loop, around) for buffer in buffers_written(loop.body))

    def _apart(self, buffer: Buffer, loop: For, around: For) -> bool:
        """Whether no two iterations of `loop`, one writing, are proved to touch one cell.

        Both are in the same turn of the loops outside of `around`, which is `loop` or holds it.
        """
        inside = [one for one in self.found[buffer] if loop.loop_var in _variables(one)]
        below = {v for one in inside for v in _from(around.loop_var, _variables(one))}
        question = Question(self.finder.simplifier, below, ((loop.loop_var,),), self.changing)
        pairs = [(a, b) for a, b in product(inside, inside) if a.writes]
        return isinstance(meet(pairs, question), Never)


def _from(first: Var, variables: Sequence[Var]) -> Sequence[Var]:
    return variables[variables.index(first) :]


def _variables(access: Access[For]) -> list[Var]:
    return [loop.loop_var for loop in access.loops]
