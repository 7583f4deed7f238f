"""What every primitive says at a place: possible, with which arguments, or refused and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.diag import Refusal, shortened
from workbench.ir import Block, For, PrimFunc
from workbench.schedule.find import has_own_name, loop_name
from workbench.verbs.primitive import REGISTRY, Primitive


@dataclass(frozen=True, slots=True)
class Option:
    """One call that was tried: its arguments besides the place, and why it is refused, if it is.

    In `arguments`, loops and blocks are told by names that the primitive takes: "i", or "C.i".
    """

    arguments: Mapping[str, Any]
    why_not: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one primitive says at a place."""

    verb: str
    group: str
    summary: str
    options: tuple[Option, ...]

    @property
    def possible(self) -> bool:
        """Whether some call is possible."""
        return any(not option.why_not for option in self.options)

    @property
    def choices(self) -> list[Mapping[str, Any]]:
        """The arguments for which it is possible."""
        return [option.arguments for option in self.options if not option.why_not]

    @property
    def why_not(self) -> str:
        """Why it is refused, "" where some call is possible."""
        return "" if self.possible else self.telling.why_not

    @property
    def hint(self) -> str:
        """What to do instead, "" where some call is possible."""
        return "" if self.possible else self.telling.hint

    @property
    def telling(self) -> Option:
        """The first of the options whose reason most of them share, where it is refused."""
        count = Counter(option.why_not for option in self.options)
        return max(self.options, key=lambda option: count[option.why_not])


def verdicts(
    func: PrimFunc, place: For | Block, verbs: Collection[str] | None = None
) -> list[Verdict]:
    """The verdict of every primitive, or of `verbs`, that takes `place` as its first argument.

    Choices, which change no program, only where they are among `verbs`.
    """
    kind = For if isinstance(place, For) else Block
    shown = {p.name for p in REGISTRY.values() if p.group != "choices"}
    asked = [p for p in REGISTRY.values() if p.name in (shown if verbs is None else verbs)]
    return [_verdict(prim, func, place) for prim in asked if kind in prim.place.one_of]


def _verdict(prim: Primitive, func: PrimFunc, place: For | Block) -> Verdict:
    try:
        tried: list[Mapping[str, Any]] = list(prim.choices(func, place)) if prim.choices else [{}]
    except Refusal as refusal:
        why_not = shortened(refusal.headline)
        return Verdict(prim.name, prim.group, prim.summary, (Option({}, why_not, refusal.hint),))
    if not prim.choices and any(p.required for p in prim.params[1:]):
        options: tuple[Option, ...] = (Option({}),)  # a text of one's own: nothing to try
    else:
        options = tuple(_option(prim, func, place, kwargs) for kwargs in tried)
    if not options:
        needed = prim.params[1].name if len(prim.params) > 1 else "place"
        options = (
            Option({}, f"Can't {prim.name} here: there is no {needed} for it", prim.summary),
        )
    return Verdict(prim.name, prim.group, prim.summary, options)


def _option(
    prim: Primitive, func: PrimFunc, place: For | Block, kwargs: Mapping[str, Any]
) -> Option:
    """Whether `prim` takes these arguments: its check's word, or that of a trial run."""
    many, named = prim.spread(kwargs)
    shown = {name: _shown(func, value) for name, value in kwargs.items()}
    for node in _places(tuple(kwargs.values())):
        if not has_own_name(func, node):
            why_not = f"Can't {prim.name} here: `{_shown(func, node)}` is the name of several"
            return Option(shown, why_not, "pass handles, from get_loops() or get_blocks()")
    try:
        prim.refuse(func, place, *many, **named)
    except Refusal as refusal:
        return Option(shown, shortened(refusal.headline), refusal.hint)
    return Option(shown)


def _places(value: Any) -> list[For | Block]:
    """The loops and blocks among arguments."""
    if isinstance(value, (list, tuple)):
        return [node for item in value for node in _places(item)]
    return [value] if isinstance(value, (For, Block)) else []


def _shown(func: PrimFunc, value: Any) -> Any:
    if isinstance(value, For):
        return loop_name(func, value)
    if isinstance(value, Block):
        return value.name
    return [_shown(func, v) for v in value] if isinstance(value, (list, tuple)) else value
