"""A program as the kernels that it becomes: what each launches and runs."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from math import prod

from workbench import arith
from workbench.access.units import Unit, buffers_written, units
from workbench.arith import Bounds
from workbench.arith.normal import MOST
from workbench.ir import Buffer, Const, For, PrimFunc, SeqStmt, Stmt, once, stmts_of
from workbench.ir.places import Places, places, within


@dataclass(frozen=True)
class Nest:
    """A statement of the root block, with all in it: one kernel."""

    stmt: Stmt
    known: Places

    @cached_property
    def loops(self) -> list[For]:
        """Every loop, in program order."""
        return [s for s in within(self.stmt) if isinstance(s, For)]

    @cached_property
    def bound(self) -> list[For]:
        """The loops that are bound to a thread axis."""
        return [loop for loop in self.loops if loop.kind == "thread_binding"]

    @cached_property
    def units(self) -> list[Unit]:
        """What the loops run."""
        return list(units(self.stmt))

    @property
    def written(self) -> Set[Buffer]:
        """The buffers that are stored to."""
        return buffers_written(self.stmt)

    @cached_property
    def dom(self) -> Bounds:
        """The bounds of every loop variable."""
        return arith.loop_bounds(self.loops)

    def size(self, axis: str) -> int:
        """How many threads or blocks the kernel has along `axis`."""
        return max((extent_of(loop) for loop in self.bound if loop.thread == axis), default=1)

    @property
    def threads(self) -> int:
        """How many threads a block has."""
        return prod(self.size(f"threadIdx.{axis}") for axis in "xyz")

    def doers(self, unit: Unit, kind: str) -> tuple[list[For], int]:
        """The loops that share `unit` among the axes of a kind, and how many repeat each part.

        `kind` is "threadIdx" or "blockIdx". Of nested loops of one axis, the innermost counts.
        """
        axes = [f"{kind}.{axis}" for axis in "xyz"]
        found = {loop.thread: loop for loop in unit.loops if loop.thread in axes}
        repeated = prod(self.size(axis) for axis in axes if axis not in found)
        return list(found.values()), repeated

    @property
    def name(self) -> str:
        """What people call it: the last block in it."""
        return self.units[-1].name


def extent_of(loop: For) -> int:
    """How often `loop` runs, at most where sizes tell it; 1 where it varies."""
    if isinstance(loop.extent, Const):
        return int(loop.extent.value)
    if arith.by_sizes(loop.extent):
        ends = arith.bounds(loop.extent, {})
        return ends[1] if ends else MOST
    return 1


@once
def nests(func: PrimFunc) -> list[Nest]:
    """The kernels of `func`, in the order of their launches; remembered with what they know."""
    return [Nest(stmt, places(func)) for stmt in stmts_of(func.root.body)]


def nest_of(func: PrimFunc, loop: For) -> Nest:
    """The kernel of `func` that runs `loop`."""
    known = places(func)
    holder = func.root.body if isinstance(func.root.body, SeqStmt) else func.body
    path = (loop, *known.above(loop))
    return Nest(next(stmt for stmt in path if known.parent[stmt] is holder), known)


def touching(nest: Nest, buffer: Buffer) -> Iterator[Unit]:
    """What in a kernel reads or writes `buffer`."""
    return (unit for unit in nest.units if buffer in unit.reads or buffer in unit.writes)
