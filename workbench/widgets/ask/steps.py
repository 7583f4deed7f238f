"""The steps that a lab's forms ask for: what they mean, and where one goes on after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.diag import Fail
from workbench.history.handles import handle_of
from workbench.history.history import HistoryNode
from workbench.ir import BlockId, Var
from workbench.schedule import Schedule
from workbench.verbs.primitive import REGISTRY
from workbench.widgets.ask.asked import part, too_long, typed
from workbench.widgets.page import offers, ways
from workbench.widgets.page.at_place import verdicts
from workbench.widgets.page.desk import Desk
from workbench.widgets.page.names import place_text


def stand(cursor: Schedule, node: HistoryNode) -> None:
    """Let the cursor of a lab stand at `node`, and work on what a lab shows of it, `node.func`.

    Of a module that is the function that the step changed, whichever code works on.
    """
    cursor.goto(node)
    cursor.work_on(node.func_name)


def take(
    cursor: Schedule, at: HistoryNode, desk: Desk, message: Mapping[str, Any]
) -> Var | BlockId:
    """Take the step of a message from the node `at`; returns the loop or block that it is of.

    The message names a "verb" and a "place", with the texts of the form, "args". Raises Fail for
    what is no step, and where it is refused.
    """
    thing, verb = _asked(desk, message)
    args = typed(message)
    if refused := too_long(args):
        raise refused

    def choices() -> Sequence[Mapping[str, Any]]:
        judged = verdicts(cursor, message["place"], desk, [verb])
        return [choice for verdict in judged for choice in verdict.choices]

    rest, named = offers.arguments(REGISTRY[verb], args, choices)
    stand(cursor, at)  # the program that is seen, wherever code went
    cursor.apply(verb, handle_of(cursor.history, thing), *rest, **named)
    return thing


def written(
    cursor: Schedule, at: HistoryNode, desk: Desk, message: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The call of the step that `take` would take, as Python writes it, with what it is of.

    With what each way costs that its form proposes as a whole, "told".

    None where the place is none of the program: then the form is of another one; and where a text
    is too long, which `take` refuses. Raises Fail for what is no step.
    """
    thing, verb = _asked(desk, message)
    args, place = typed(message), message["place"]
    if place not in desk.places(at.func) or too_long(args):
        return None
    text = offers.call(REGISTRY[verb], place_text(at.func, thing), args)
    made = {"verb": verb, "place": place, "args": args, "text": text}
    if not REGISTRY[verb].whole:
        return made
    stand(cursor, at)
    return {**made, "told": ways.told(cursor, place, desk)}


def _asked(desk: Desk, message: Mapping[str, Any]) -> tuple[Var | BlockId, str]:
    thing = desk.keys.thing(part(message, "place", str))
    if not isinstance(thing, (Var, BlockId)):
        raise Fail("Can't apply a step: no loop or block is chosen", hint="click one")
    verb = part(message, "verb", str)
    if verb not in REGISTRY:
        raise Fail(
            f"Can't apply {verb[:40]!r}: there is no primitive of that name",
            hint="choose one of those that are offered",
        )
    return thing, verb


def next_place(cursor: Schedule, desk: Desk, old: Var | BlockId) -> str:
    """The key of what the step made, of where one was, or of where there is an offer."""
    node = cursor.node
    made = node.result if isinstance(node.result, tuple) else (node.result,)
    things = [t for t in (*made, *node.became.get(old, ()), old) if t is not None and node.holds(t)]
    return useful(cursor, desk, [*map(desk.keys.of, things), *desk.places(node.func)])


def useful(cursor: Schedule, desk: Desk, keys: Sequence[str]) -> str:
    """The first of the places at which an offered verb is possible; else the first."""
    for key in keys if desk.offered is not None else ():
        if any(v.possible for v in verdicts(cursor, key, desk, desk.offered)):
            return key
    return keys[0] if keys else ""
