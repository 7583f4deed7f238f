"""Where a step is tried: what verbs ask of that place, and how they refuse there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Generic, TypeVar

from workbench.diag import Refusal
from workbench.ir import Block, BlockId, BlockRealize, Buffer, For, PrimFunc, Stmt
from workbench.ir.places import Places, places
from workbench.verbs.domains import InScope, bounds_at

N = TypeVar("N", bound=Block | For, covariant=True)
M = TypeVar("M", bound=Block | For)


@dataclass(frozen=True, slots=True)
class Site(Generic[N]):
    """A block or loop of a function where a step is tried; refusals begin with its task.

    It holds the places of that function, so that a step asks for them once.
    """

    places: Places
    node: N
    task: str  # "compute_at `B` at `i`"

    @property
    def func(self) -> PrimFunc:
        """The function that it is in."""
        return self.places.func

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
        """The realisation of the block that holds it; refused for the root block."""
        self.check_held()
        return self.places.scope(self.stmt)

    def check_held(self) -> None:
        """Refuse the root block, which is the whole program: no block holds it."""
        if self.stmt is self.func.body:
            blocks = [realize.block.name for realize in self.places.blocks_under(self.stmt)]
            raise self.refuse(
                "it is the root block, which is the whole program",
                hint=f"name a block inside it: {', '.join(blocks) or 'there is none'}",
            )

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
    def siblings(self: Site[Block]) -> list[BlockRealize]:
        """The blocks directly in the block that holds it, itself included, in program order."""
        alone = self.stmt is self.func.body
        return [self.realize] if alone else self.places.blocks_under(self.scope)

    def writers(self: Site[Block], buffer: Buffer) -> list[BlockRealize]:
        """The blocks beside it, or it, that write `buffer`, in program order."""
        return self.places.writers_under(self.scope, buffer)

    def readers(self: Site[Block], buffer: Buffer) -> list[BlockRealize]:
        """The blocks beside it, without it, that read `buffer`, in program order."""
        others = [r for r in self.siblings if r is not self.realize]
        return [r for r in others if buffer in declared_reads(r.block)]

    @property
    def producers(self: Site[Block]) -> list[BlockRealize]:
        """The blocks before it that write what it reads or writes, as TVM's `get_producers`."""
        needed = {*declared_reads(self.node), *declared_writes(self.node)}
        before = self.siblings[: self.siblings.index(self.realize)]
        return [r for r in before if needed & set(declared_writes(r.block))]

    @property
    def consumers(self: Site[Block]) -> list[BlockRealize]:
        """The blocks after it that read or write what it writes, as TVM's `get_consumers`."""
        after = self.siblings[self.siblings.index(self.realize) + 1 :]
        return [r for r in after if self.used_by(r.block)]

    def used_by(self: Site[Block], other: Block) -> list[Buffer]:
        """The buffers that the block writes and `other` reads or writes."""
        uses = {*declared_reads(other), *declared_writes(other)}
        return [buffer for buffer in declared_writes(self.node) if buffer in uses]

    def is_allocated(self, buffer: Buffer) -> bool:
        """Whether `buffer` lives inside the block that holds it: nobody outside sees it."""
        return buffer in self.scope.block.alloc_buffers

    def home(self, buffer: Buffer) -> BlockRealize | None:
        """The block around it, near or far, in which `buffer` lives; None for an argument."""
        for outer in self.places.above(self.stmt):
            if isinstance(outer, BlockRealize) and buffer in outer.block.alloc_buffers:
                return outer
        return None

    @property
    def bounds(self) -> InScope:
        """The bounds of every variable that is in scope there."""
        return bounds_at(self.places, self.stmt)

    def at(self, loop: For) -> Site[N]:
        """The same, with the loop that its task leads to."""
        return replace(self, task=f"{self.task} at `{loop.loop_var.name}`")

    def after(self, made: Places, block: BlockId) -> Site[Block]:
        """The block of that identity in the program that the step made."""
        return Site(made, made.blocks[block].block, self.task)

    def refuse(self, why: str, *at: Any, hint: str, detail: str = "") -> Refusal:
        """The refusal that says why; it marks the nodes `at`, or else the block or loop itself."""
        return Refusal(f"Can't {self.task}: {why}", *(at or (self.node,)), hint=hint, detail=detail)


def goes_by(site: Site[Any], loop: For, *at: Any, who: str = "it") -> Refusal:
    """The refusal of a block that uses the variable of `loop`, not of an iterator."""
    hint = "give the block an iterator (T.axis.spatial) that is bound to it"
    return site.refuse(f"{who} uses `{loop.loop_var.name}` itself", *at, hint=hint)


def site_of(func: PrimFunc, node: M, verb: str) -> Site[M]:
    """Where `verb` is tried on a block or loop of `func`; its task is "<verb> `name`"."""
    site = Site(places(func), node, verb)
    return replace(site, task=f"{verb} `{site.name}`")


def with_block(where: Places, block: Block) -> PrimFunc:
    """The function with `block` in the place of the one that has its identity."""
    now = where.realize(block)
    return where.replace(now, replace(now, block=block))


def named(loops: Sequence[For]) -> str:
    """The names of `loops`, "`i`, `j`", in words of a refusal."""
    return ", ".join(f"`{loop.loop_var.name}`" for loop in loops)


def declared_writes(block: Block) -> list[Buffer]:
    """The buffers that `block` writes, in the order in which it declares them."""
    return list(dict.fromkeys(region.buffer for region in block.writes))


def declared_reads(block: Block) -> list[Buffer]:
    """The buffers that `block` reads, in the order in which it declares them."""
    return list(dict.fromkeys(region.buffer for region in block.reads))
