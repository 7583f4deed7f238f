"""Handles: what code holds of a loop or a block while the program around it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from workbench.diag import visible
from workbench.ir import BlockId, Var
from workbench.ir.places import places

if TYPE_CHECKING:
    from workbench.schedule.history import History


class LoopHandle:
    """A loop of a schedule's history, known by its variable whatever else changes."""

    __slots__ = ("history", "key")

    def __init__(self, history: History, key: Var) -> None:
        self.history = history
        self.key = key

    @property
    def name(self) -> str:
        """The name of the loop's variable."""
        return self.key.name

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<loop {visible(self.name)}>"


class BlockHandle:
    """A block of a schedule's history, known by its identity whatever it is called."""

    __slots__ = ("history", "key")

    def __init__(self, history: History, key: BlockId) -> None:
        self.history = history
        self.key = key

    @property
    def name(self) -> str:
        """The name of the block in the newest program that has it."""
        return block_name(self.history, self.key)

    def __eq__(self, other: object) -> bool:
        return _same(self, other)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<block {visible(self.name)}>"


Handle: TypeAlias = LoopHandle | BlockHandle


def block_name(history: History, key: BlockId) -> str:
    """The name of a block in the newest program of `history` that has it."""
    for node in reversed(history.nodes):
        for func in node.mod.functions:
            realize = places(func).blocks.get(key)
            if realize is not None:
                return realize.block.name
    return "?"


def _same(a: Handle, b: object) -> bool:
    return type(a) is type(b) and a.key is b.key and a.history is b.history
