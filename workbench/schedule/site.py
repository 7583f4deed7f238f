"""Where a step is tried: what verbs ask of that place, and how they refuse there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Generic, TypeVar

from workbench.diag import Refusal
from workbench.ir import Block, BlockId, BlockRealize, For, PrimFunc, Stmt
from workbench.ir.places import Places, places
from workbench.schedule.domains import InScope, bounds_at

N = TypeVar("N", bound=Block | For, covariant=True)


@dataclass(frozen=True, slots=True)
class Site(Generic[N]):
    """A block or loop of a function where a step is tried; refusals begin with its task."""

    func: PrimFunc
    node: N
    task: str  # "compute_at `B` at `i`"

    @property
    def places(self) -> Places:
        """Where everything is in the function."""
        return places(self.func)

    @property
    def name(self) -> str:
        """What the block or loop is called."""
        return self.node.loop_var.name if isinstance(self.node, For) else self.node.name

    @property
    def verb(self) -> str:
        """The first word of its task."""
        return self.task.partition(" ")[0]

    @property
    def realize(self: Site[Block]) -> BlockRealize:
        """The realisation that runs the block."""
        return self.places.realize(self.node)

    @property
    def stmt(self) -> Stmt:
        """The loop itself, or the realisation that runs the block."""
        node: Block | For = self.node
        return node if isinstance(node, For) else self.places.realize(node)

    @property
    def scope(self) -> BlockRealize:
        """The realisation of the block that holds it."""
        return self.places.scope(self.stmt)

    @property
    def loops(self) -> list[For]:
        """The loops around it inside the block that holds it, outermost first."""
        return self.places.loops_above(self.stmt)

    @property
    def around(self) -> list[Stmt]:
        """The statements around it inside the block that holds it, innermost first."""
        above = self.places.above(self.stmt)
        return list(takewhile(lambda outer: not isinstance(outer, BlockRealize), above))

    def others_in(self: Site[Block], loop: For) -> list[BlockRealize]:
        """The nearest blocks inside `loop`, without it."""
        return [r for r in self.places.blocks_under(loop) if r is not self.realize]

    @property
    def bounds(self) -> InScope:
        """The bounds of every variable that is in scope there."""
        return bounds_at(self.places, self.stmt)

    def at(self, loop: For) -> Site[N]:
        """The same, with the loop that its task leads to."""
        return replace(self, task=f"{self.task} at `{loop.loop_var.name}`")

    def after(self, func: PrimFunc, block: BlockId) -> Site[Block]:
        """The block of that identity in the program `func` that the step made."""
        return Site(func, places(func).blocks[block].block, self.task)

    def refuse(self, why: str, *at: Any, hint: str, detail: str = "") -> Refusal:
        """The refusal that says why; it marks the nodes `at`, or else the block or loop itself."""
        return Refusal(f"Can't {self.task}: {why}", *(at or (self.node,)), hint=hint, detail=detail)


def named(loops: Sequence[For]) -> str:
    """The names of `loops`, "`i`, `j`", in words of a refusal."""
    return ", ".join(f"`{loop.loop_var.name}`" for loop in loops)
