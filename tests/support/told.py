"""A step told by block names and loop positions, and how to take it on a schedule.

Told without handles, the same step can be taken on any schedule of the same program: ours, one
that replays, or TVM's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Loop:
    """The loop at a position, counted from outside, around a block."""

    block: str
    position: int


@dataclass(frozen=True, slots=True)
class Named:
    """The block of a name."""

    block: str


@dataclass(frozen=True, slots=True)
class Told:
    """One step: a verb and its arguments."""

    verb: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        args = [*map(_text, self.args), *(f"{k}={_text(v)}" for k, v in self.kwargs)]
        return f"{self.verb}({', '.join(args)})"


def _text(value: Any) -> str:
    match value:
        case Loop(block, position):
            return f"{block}:{position}"
        case Named(block):
            return block
        case list() | tuple():
            return f"[{', '.join(map(_text, value))}]"
    return repr(value)


def take(
    sch: Any, step: Told, loop: Callable[[Any, Loop], Any], block: Callable[[Any, Named], Any]
) -> Any:
    """Take `step` on `sch`, whose handles `loop` and `block` find."""

    def handle(value: Any) -> Any:
        if isinstance(value, Loop):
            return loop(sch, value)
        if isinstance(value, Named):
            return block(sch, value)
        return [handle(v) for v in value] if isinstance(value, list) else value

    args = [handle(value) for value in step.args]
    kwargs = {key: handle(value) for key, value in step.kwargs}
    return getattr(sch, step.verb)(*args, **kwargs)


def take_ours(sch: Any, step: Told) -> Any:
    """Take `step` on a workbench schedule."""
    return take(
        sch,
        step,
        lambda s, at: s.get_loops(at.block)[at.position],
        lambda s, at: s.get_block(at.block),
    )
