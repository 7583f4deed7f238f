"""Steps that a lab tries before they are taken: what their program would be, and taking them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from workbench.diag import Fail, count_text
from workbench.history.handles import handle_of
from workbench.history.history import HistoryNode
from workbench.ir import BlockId, Var
from workbench.schedule import Schedule
from workbench.schedule.retuning import StepsRefused, remains_of
from workbench.verbs.nest import constant_extent
from workbench.verbs.primitive import Key
from workbench.widgets.ask import steps
from workbench.widgets.ask.asked import part
from workbench.widgets.page.cost_bar import shown_bar, shows_time
from workbench.widgets.page.costs import count
from workbench.widgets.page.desk import Desk, Dragged
from workbench.widgets.page.grips import Grip, grip_of
from workbench.widgets.page.modelled_time import modelled_of
from workbench.widgets.page.page import shown_costs
from workbench.widgets.page.texts import refusal
from workbench.widgets.page.tried import tried_page
from workbench.widgets.page.view import View

KEPT = 32
"""So many programs that were tried are kept: a hand goes to and fro."""

NEAREST = 4
"""Values that are tried to tell which one goes where another is refused, at most."""

Made = tuple[Schedule, Var | BlockId, str]


class Trying:
    """Steps that are tried in one lab: nothing of them is in the history until one is taken.

    A message has a "place" with a "verb" and its "args", as a form sends it, or with the "value"
    that the number of a loop is to have, a whole number.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._made: dict[tuple[int, str], Made] = {}

    def page(self, cursor: Schedule, at: HistoryNode, view: View, asked: Mapping[str, Any]) -> Any:
        """What is shown of the program that a step would make, or why it would not be taken."""
        try:
            trial, thing, told = self._try(cursor, at, asked)
        except Fail as fail:
            return {"refusal": refusal(fail), **self._clash(at, fail)}
        held = thing if "value" in asked and isinstance(thing, Var) else None
        return {"told": told, **tried_page(trial.node, at, view, self.desk, held)}

    def _clash(self, at: HistoryNode, fail: Fail) -> dict[str, Any]:
        """Where a later step refuses a number: what it works on, and the number to drag instead."""
        if not isinstance(fail, StepsRefused):
            return {}
        keys, other = self.desk.keys, fail.instead
        instead = None if other is None else keys.of(other)
        return {"places": [*map(keys.of, remains_of(at, fail.step))], "instead": instead}

    def every(
        self, cursor: Schedule, at: HistoryNode, views: Sequence[View], asked: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The same in all panes of `views`, with what it costs: for where no Python answers.

        `texts` are by panes, each with lines of its own, and so are `pictures`.
        """
        made = self.page(cursor, at, views[0], asked)
        if "refusal" in made:
            return made
        trial, *_ = self._try(cursor, at, asked)
        texts, pictures = {}, {}
        for view in views:
            found = tried_page(trial.node, at, view, self.desk)
            texts[view.program] = {"text": found["text"], "lines": found["lines"]}
            if found["picture"] is not None:
                pictures[view.machine] = found["picture"]
        kept = {"told": made["told"], "names": made["names"]}
        return {**kept, "texts": texts, "pictures": pictures, **self.weigh(cursor, at, asked)}

    def weigh(self, cursor: Schedule, at: HistoryNode, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What the program that a step would make costs, beside what `at` does, which is shown.

        What takes long is not worked out, nor what is not to be seen. Nothing where it would not be
        taken; of a number, the nearest one on the way back that would.
        """
        desk = self.desk
        try:
            func = self._try(cursor, at, asked)[0].node.func
        except Fail:
            return self._goes(cursor, at, asked) if "value" in asked else {}
        counts = "costs" not in desk.slow and not desk.hides("counts", at.func, func)
        times = "time" not in desk.slow and shows_time(desk, at.func, func)
        for one in map(desk.at, (at.func, func)):
            with suppress(Fail):  # the strip tells why
                if counts and desk.counted != []:
                    count(one, desk.counted)
                if times:
                    modelled_of(one, desk.gpu)
        bar = shown_bar(desk, at.func, func)
        return {
            "costs": shown_costs(desk, at.func, func),
            "bar": {**bar, "rows": []} if "marks" in bar else bar,
        }

    def _goes(self, cursor: Schedule, at: HistoryNode, asked: Mapping[str, Any]) -> dict[str, Any]:
        try:
            _, grip, _ = self._held(at, asked)
        except Fail:
            return {}  # it has no such number
        value, own = asked["value"], grip.value
        back = [n for n in grip.ways if min(own, value) <= n <= max(own, value) and n != value]
        for near in sorted(back, key=lambda n: abs(n - value))[:NEAREST]:
            with suppress(Fail):
                if near != own:
                    self._try(cursor, at, {**asked, "value": near})
                return {"goes": near}
        return {}

    def take(self, cursor: Schedule, at: HistoryNode, asked: Mapping[str, Any]) -> str:
        """Take the step, which is not made again if it was tried last; the place to go on at.

        Raises Fail where it is refused.
        """
        trial, thing, told = self._try(cursor, at, asked)
        self._made.clear()
        steps.stand(cursor, at)
        tried = trial.node
        cursor.adopt(trial)
        if "value" in asked and not cursor.node.holds(thing):  # another lab took it meanwhile
            born = tried.first_with(thing)
            thing = cursor.node.after(born.depth).keys[born.keys.index(thing)]
        if "value" in asked and cursor.node.parent is not at:
            words = f"Took {told}"
            if cursor.node.parent is not at.parent:
                words += ", and the steps after it again."
            elif at.children:
                after = f"step {at.children[0].id} on"
                words += f"; what came after it, {after}, stays in the other branch."
            else:
                words += "."
            self.desk.dragged[cursor.node.id] = Dragged(at, words)
            return self.desk.keys.of(thing)
        old = self.desk.keys.thing(asked["place"]) if "value" in asked else thing
        assert isinstance(old, (Var, BlockId))
        return steps.next_place(cursor, self.desk, old)

    def _try(self, cursor: Schedule, at: HistoryNode, asked: Mapping[str, Any]) -> Made:
        """`_take`, or what came of it among those that were tried last."""
        key = (at.id, json.dumps(asked, sort_keys=True))
        made = self._made.pop(key, None) or self._take(cursor, at, asked)
        self._made[key] = made
        if len(self._made) > KEPT:
            del self._made[next(iter(self._made))]
        return made

    def _take(self, cursor: Schedule, at: HistoryNode, asked: Mapping[str, Any]) -> Made:
        """A trial that took the step; the loop or block to go on at, and the step in words."""
        trial = cursor.trial()
        steps.stand(trial, at)
        if "value" in asked:
            loop, grip, factors = self._held(at, asked)
            if grip.step is None:
                trial.apply("split", handle_of(trial.history, loop), factors=factors)
                made = trial.node.keys[grip.place]
                assert isinstance(made, Var)
                return trial, made, trial.node.label
            try:
                return _retune(trial, at, grip.step, grip.place, factors)
            except StepsRefused as refused:
                raise self._of_number(cursor, at, (loop, grip, asked["value"]), refused) from None
        thing = steps.take(trial, at, self.desk, asked)
        return trial, thing, trial.node.label

    def _of_number(
        self, cursor: Schedule, at: HistoryNode, held: tuple[Var, Grip, int], refused: StepsRefused
    ) -> StepsRefused:
        """The refusal in the words of a number that is held, with its steps as the history has."""
        loop, _, value = held
        name = self.desk.names(at.func).about[self.desk.keys.of(loop)]["name"]
        told = refused.told_of(f"let `{name}` be {value}", name, lambda n: at.after(n).id)
        if refused.apart is None:
            return told
        own, beside = refused.apart
        turns = constant_extent(own)
        if turns is not None and self._takes_along(cursor, at, (beside.loop_var, turns), held):
            tied = f"`{beside.loop_var.name}` to {turns}: what is tied to it follows"
            told.hint, told.instead = f"drag the number of {tied}", beside.loop_var
        elif (threads := _threads(at, refused.step)) is not None:
            told.hint = f"choose a number with which there are {threads}, as now"
        return told

    def _takes_along(
        self,
        cursor: Schedule,
        at: HistoryNode,
        dragged: tuple[Var, int],
        held: tuple[Var, Grip, int],
    ) -> bool:
        """Whether what is `held` would have its number if another one were `dragged` to its own."""
        (other, number), (loop, own, value) = dragged, held
        grip = grip_of(at, other, self.desk.offered) if at.holds(other) else None
        if other is loop or grip is None or number not in grip.ways:
            return False
        if grip.step is None or own.step is None:
            return False
        trial = cursor.trial()
        steps.stand(trial, at)
        try:
            trial, *_ = _retune(trial, at, grip.step, grip.place, [*grip.ways[number]])
        except Fail:
            return False
        node = trial.node.after(own.step)
        return _extent(node, node.keys[own.place]) == value

    def _held(
        self, at: HistoryNode, asked: Mapping[str, Any]
    ) -> tuple[Var, Grip, list[int | None]]:
        """The loop whose number is changed, what holds it, and its factors then."""
        key, value = part(asked, "place", str), part(asked, "value", int)
        loop = self.desk.keys.thing(key)
        if isinstance(loop, Var) and at.holds(loop):
            grip = grip_of(at, loop, self.desk.offered)
            if grip is not None and value in grip.ways:
                return loop, grip, list(grip.ways[value])
        raise Fail("Can't try that: it is no number that a split makes", hint="choose another")


def _retune(
    trial: Schedule, at: HistoryNode, step: int, place: int, factors: list[int | None]
) -> Made:
    """Let an earlier split have other factors; numbers of later steps that are tied follow.

    Returns what took them, the loop that stands at its `place`, and the steps that changed, in
    words.
    """
    changed = {step}
    try:
        trial.retune(step, factors=factors)
    except StepsRefused as refused:
        if not isinstance(refused.followed, Schedule):
            raise
        trial = refused.followed
        changed |= {*refused.also}
    # a branch counts on: a step's number is that of its node, which the history shows
    told = [
        f"{trial.node.after(n).label} in place of step {at.after(n).id}" for n in sorted(changed)
    ]
    made = trial.node.after(step).keys[place]
    assert isinstance(made, Var)
    return trial, made, "; ".join(told)


def _threads(at: HistoryNode, number: int) -> str | None:
    """How many threads, or blocks, the loop makes that the `number`-th step bound."""
    for loop in remains_of(at, number):
        if isinstance(loop, Var) and (turns := _extent(at, loop)):
            bound = at.places[at.func_name].loops[loop].thread or ""
            return count_text(turns, "block" if bound.startswith("block") else "thread")
    return None


def _extent(node: HistoryNode, loop: Key) -> int | None:
    """How often a loop runs in the program of `node`."""
    assert isinstance(loop, Var)
    return constant_extent(node.places[node.func_name].loops[loop])
