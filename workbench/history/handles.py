"""Handles: what code holds of a loop or a block while the program around it changes."""

from __future__ import annotations

from itertools import chain
from typing import ClassVar, Generic, TypeAlias, TypeVar

from workbench import script
from workbench.diag import visible
from workbench.history.history import History
from workbench.ir import BlockId, BlockRealize, For, PrimFunc, Var

K = TypeVar("K", bound=Var | BlockId)


class _Handle(Generic[K]):
    """What loops and blocks have in common: equal where they are one in one history."""

    __slots__ = ("history", "key")
    kind: ClassVar[str]
    key: K

    def __init__(self, history: History, key: K) -> None:
        self.history = history
        self.key = key

    @property
    def name(self) -> str:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Handle) and self.key is other.key and self.history is other.history
        )

    def __hash__(self) -> int:
        return hash(self.key)

    def _repr_html_(self) -> str | None:
        last = _holder(self.history, self.key)
        if last is None:
            return None
        func, stmt = last
        printed = script.show_spans(func)
        place = script.place_of(printed, stmt)
        line = printed.text.splitlines()[place.line - 1].strip() if place else ""
        return script.repr_html(line, caption=repr(self))

    def __repr__(self) -> str:
        return f"<{self.kind} {visible(self.name)}>"


class LoopHandle(_Handle[Var]):
    """A loop of a schedule's history, known by its variable whatever else changes.

    >>> (loop,) = sch.get_loops("B")
    >>> loop
    <loop i>
    >>> loop.name
    'i'
    """

    __slots__ = ()
    kind = "loop"

    @property
    def name(self) -> str:
        """The name of the loop's variable."""
        return self.key.name


class BlockHandle(_Handle[BlockId]):
    """A block of a schedule's history, known by its identity whatever it is called.

    >>> block = sch.get_block("B")
    >>> block
    <block B>
    >>> block.name
    'B'
    """

    __slots__ = ()
    kind = "block"

    @property
    def name(self) -> str:
        """The name of the block in the newest program that has it."""
        last = _holder(self.history, self.key)
        return last[1].block.name if last is not None and isinstance(last[1], BlockRealize) else "?"


Handle: TypeAlias = LoopHandle | BlockHandle


def handle_of(history: History, key: Var | BlockId) -> Handle:
    """The handle of a loop or block of `history`."""
    return LoopHandle(history, key) if isinstance(key, Var) else BlockHandle(history, key)


def _holder(history: History, key: Var | BlockId) -> tuple[PrimFunc, For | BlockRealize] | None:
    """The loop or block in the newest program of `history` that has it, else in one tried."""
    for node in chain(reversed(history.nodes), history.tried):
        for func_places in node.places.values():
            if isinstance(key, Var):
                stmt: For | BlockRealize | None = func_places.loops.get(key)
            else:
                stmt = func_places.blocks.get(key)
            if stmt is not None:
                return func_places.func, stmt
    return None
