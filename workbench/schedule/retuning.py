"""Steps of a history taken again with other numbers, and the numbers that are tied to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from workbench.diag import count_text
from workbench.history.errors import NotThere, ScheduleError
from workbench.history.history import HistoryNode
from workbench.history.step import Ref, Step, value_text
from workbench.history.trace import Trace, locate
from workbench.ir import For, PrimFunc, Var
from workbench.schedule.arguments import as_given
from workbench.verbs import primitive
from workbench.verbs.nest import constant_extent, same_turns
from workbench.verbs.primitive import Key

Changes = Mapping[int, Mapping[str, Any]]
Numbers = Callable[[int], int]


class StepsRefused(ScheduleError):
    """An earlier step that can't be changed, for what a later one says.

    That is the `step`-th; with `also` changed, by number and argument, all are taken, if there is
    anything in it: by `followed`, which did. `apart` are the loop that a bind is refused for and
    the one on its axis that runs another number of times. Steps are counted as a trace prints
    them; `told_of` tells the same of what was asked for in other words, "let `i` be 4", where `i`
    is held, with the numbers that a history shows. `instead` is a loop whose number takes that one
    along, for who has found it.
    """

    step: int = 0
    also: Changes = MappingProxyType({})
    followed: Cursor | None = None
    apart: tuple[For, For] | None = None
    told_of: Callable[[str, str, Numbers], StepsRefused]
    instead: Var | None = None


class Cursor(Protocol):
    """What of a Schedule steps are taken again on."""

    @property
    def node(self) -> HistoryNode: ...
    @property
    def func(self) -> PrimFunc: ...
    @property
    def trace(self) -> Trace: ...
    def goto(self, place: HistoryNode) -> None: ...
    def take_step(self, number: int, step: Step) -> None: ...


C = TypeVar("C", bound=Cursor)


def retuned(
    cursor: Cursor, fork: Callable[[], C], number: int, changed: Mapping[str, Any], also: Changes
) -> C:
    """A `fork` of `cursor` that took its steps, the `number`-th and `also` with changes.

    Raises ScheduleError where there is no such step, and where one is refused.
    """
    steps = cursor.trace.steps
    asked = f"sch.retune({as_given((number,), {**changed, **({'also': also} if also else {})})})"
    for one in (number, *also):
        if type(one) is not int or not max(1, number) <= one <= len(steps):
            raise ScheduleError(
                f"Can't retune step {value_text(one)}: {count_text(len(steps), 'step')} led here",
                asked=asked,
                hint="steps count from 1, as sch.trace prints them; `also` names later ones",
            )
    changes = {number: changed, **also}
    trial, stopped = _replayed(cursor, fork(), changes)
    if stopped is None:
        return trial
    if stopped.place in changes:
        raise stopped.error
    tied: dict[int, Mapping[str, Any]] = {}
    last = trial
    end: _Stopped | None = stopped
    while end is not None and end.tied is not None:
        tied |= end.tied
        same = last.node.after(min(end.tied) - 1)
        last, end = _replayed(cursor, fork(), {**changes, **tied}, same)
    hint = stopped.error.hint
    if isinstance(stopped.error, NotThere):
        back = f"go back to step {stopped.place - 1} and take what follows anew"
        hint = f"choose another number, or {back}"
    before, now = (len(one.node.after(number).keys) for one in (cursor, trial))
    if now != before:
        hint = (
            f"let step {number} make {count_text(before, 'loop')}, as it did: later steps use them"
        )
    follow = {**also, **tied} if tied and end is None else {}
    if follow:
        call = as_given((number,), {**changed, "also": follow})
        which = " and ".join(f"step {place}" for place in tied)
        hint = f"{which} must follow: sch.retune({call})"
    refused = _spoilt(stopped, number, asked, hint, follow)
    refused.followed = last if follow else None
    raise refused


@dataclass(frozen=True)
class _Stopped:
    """The step at which the rest could not be taken, why, and the change of a step before it that
    would let it pass, where that is known; the loops that would have to run as often."""

    place: int
    step: Step
    error: ScheduleError
    tied: dict[int, dict[str, Any]] | None
    apart: tuple[For, For] | None


def _replayed(
    cursor: Cursor, trial: C, changes: Changes, same: HistoryNode | None = None
) -> tuple[C, _Stopped | None]:
    """`trial` with the steps to `cursor` from the first of the `changes` on, as far as they go.

    They are taken from `same` on, where that is what the first of them make.
    """
    same = same or cursor.node.after(min(changes) - 1)
    steps, first = cursor.trace.steps, same.depth + 1
    trial.goto(same)
    for place, step in enumerate(steps[first - 1 :], first):
        try:
            trial.take_step(place, _changed(step, changes.get(place, {})))
        except ScheduleError as error:
            apart = _apart(step, error)
            tied = None if place in changes else _tied(apart, step, steps, changes)
            return trial, _Stopped(place, step, error, tied, apart)
    return trial, None


def _changed(step: Step, changed: Mapping[str, Any]) -> Step:
    """The step with other arguments, by name; one that its verb does not take is refused there."""
    prim = primitive.REGISTRY[step.verb]
    given = prim.signature.bind(*step.args, **dict(step.kwargs))
    known = {name: value for name, value in changed.items() if name in prim.signature.parameters}
    given.arguments.update(known)
    others = {name: value for name, value in changed.items() if name not in known}
    return replace(step, args=given.args, kwargs=tuple({**given.kwargs, **others}.items()))


def _tied(
    apart: tuple[For, For] | None, step: Step, steps: tuple[Step, ...], changes: Changes
) -> dict[int, dict[str, Any]] | None:
    """The later split, and its factors, that would let `step` bind as many threads as there are.

    None where that is not what it is refused for, or it binds no loop that a later split made.
    """
    loop = step.args[0] if step.args else None
    if apart is None or not isinstance(loop, Ref) or loop.out is None:
        return None
    split, extent = steps[loop.step - 1], constant_extent(apart[1])
    factors = dict(split.kwargs).get("factors")
    if split.verb != "split" or loop.step <= min(changes) or loop.step in changes:
        return None
    if not isinstance(factors, tuple) or None in (extent, factors[loop.out]):
        return None
    changed = [extent if place == loop.out else old for place, old in enumerate(factors)]
    return {loop.step: {"factors": changed}}


def _apart(step: Step, error: ScheduleError) -> tuple[For, For] | None:
    """The loop that a `bind` is refused for, and the one that it has to run as often as."""
    at = [node for node in error.at if isinstance(node, For)]
    if step.verb != "bind" or len(at) != 2 or same_turns(*at) or not at[1].thread:
        return None
    return (at[0], at[1]) if all(map(constant_extent, at)) else None


def remains_of(node: HistoryNode, number: int) -> list[Key]:
    """The loops of its program that the `number`-th step worked on, or what they became.

    The blocks, where it worked on no loop.
    """
    taken = node.after(number)
    assert taken.step is not None and taken.parent is not None
    found = [locate(ref, taken.parent, taken.step.func) for ref in taken.step.refs()]
    now = [key for key in found if key is not None]
    for later in node.path()[number:]:
        now = [one for key in now for one in later.became.get(key, (key,))]
    there = [key for key in dict.fromkeys(now) if node.holds(key)]
    return [key for key in there if isinstance(key, Var)] or there


def _spoilt(
    stopped: _Stopped,
    number: int,
    asked: str,
    hint: str,
    follow: Changes,
    act: str = "",
    held: str = "",
    of: Numbers = lambda place: place,
) -> StepsRefused:
    """The refusal of a later step as that of the change of an earlier one, or of an `act`.

    That is on the loop `held`, by its name.
    """
    step, error = stopped.step, stopped.error
    taking, told = (f"step {n}, {step.verb}" for n in (stopped.place, of(stopped.place)))
    whole = error.args[0].rstrip(".").replace(f"Can't take {taking}", f"Can't take {told}")
    found = error.detail if whole in error.detail else f"{whole}.\n{error.detail}".rstrip()
    reason = whole.removeprefix(f"Can't take {told}").partition(": ")[2] or whole
    if isinstance(error, NotThere):
        reason = f"{error.kind} `{error.name}`, which it works on, is not there with these numbers"
        found = ""
    headline = f"Can't retune step {of(number)}: {told}, is refused: {reason}"
    if act:
        headline = f"Can't {act}: {_shortly(stopped, held, reason)} ({told})"
    refused = StepsRefused(
        headline,
        asked=asked,
        where=error.where,
        detail=f"{step.text}\n{found}".rstrip(),
        hint=hint,
    )
    refused.step, refused.also, refused.apart = stopped.place, follow, stopped.apart
    refused.told_of = partial(_spoilt, stopped, number, asked, hint, follow)
    return refused


def _shortly(stopped: _Stopped, held: str, reason: str) -> str:
    """Why a step is refused, in the words of one who looks at the number of a loop `held` alone."""
    if stopped.apart:
        own, beside = stopped.apart
        other = own if beside.loop_var.name == held else beside
        times = count_text(constant_extent(other) or 1, "time")
        return f"`{other.loop_var.name}`, on {beside.thread} too, runs {times}"
    if isinstance(stopped.error, NotThere):
        return f"{stopped.error.kind} `{stopped.error.name}` is not there then"
    return reason
