"""What can be done at a place, as forms: verdicts of the verbs and fields for their arguments."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args, get_origin

from workbench.diag import Fail
from workbench.history.step import value_text
from workbench.schedule.actions import Verdict
from workbench.schedule.arguments import type_text
from workbench.verbs.called import members
from workbench.verbs.primitive import REGISTRY, Param, Primitive

Given: TypeAlias = Mapping[str, Mapping[str, Any]]
"""What the forms hold at first: by verb, "bind", or verb and place, "bind i_0", and argument."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a verb says at a loop or block.

    Of that: its key, its name as Python writes it, and as it stands in the program, `thing`.
    """

    verdict: Verdict
    key: str
    name: str
    thing: str


def offer(
    place: Mapping[str, str],
    said: Sequence[Said],
    offered: Sequence[str] | None,
    more: bool,
    given: Given | None = None,
) -> dict[str, Any]:
    """The chosen place, key and label, and each verb with its verdict and form.

    Verbs that `offered` does not name wait under "more"; None offers all that are possible. What
    would be refused stands last.
    `said` is of every verb with `more` or without `offered`, else of the offered ones. The forms
    hold the arguments that are `given`; None is for the first that are possible.
    """
    verbs = [_verb(one, offered, given) for one in said]
    order = {name: k for k, name in enumerate(offered or ())}
    verbs.sort(
        key=lambda verb: (
            verb["verdict"] == "refused",
            order.get(verb["name"], len(order)),
            not verb["offered"],
        )
    )
    complete = more or offered is None
    waits = not complete or any(not verb["offered"] for verb in verbs)
    return {
        "place": dict(place),
        "verbs": verbs,
        "all": complete,
        "more": waits,
    }


def _verb(said: Said, offered: Sequence[str] | None, given: Given | None) -> dict[str, Any]:
    verdict = said.verdict
    prim = REGISTRY[verdict.verb]
    wanted = verdict.possible if offered is None else verdict.verb in offered
    made: dict[str, Any] = {
        "name": verdict.verb,
        "place": said.key,
        "group": verdict.group,
        "summary": _of_place(verdict.summary, prim.place.name, said.thing),
        "offered": wanted,
        "verdict": "possible" if verdict.possible else "refused",
    }
    if not verdict.possible:
        why = {"headline": _sentence(verdict.why_not), "hint": verdict.hint}
        return made | {"why": why, "try": _tried(prim, verdict)}
    first = verdict.choices[0] if prim.whole else None  # of others, each argument by itself
    held = first if given is None else _held(given, prim.name, said.thing)
    fields = [f for f in (_field(p, verdict, held) for p in asked(prim)) if f]
    written = call(prim, said.name, {f["name"]: f["value"] for f in fields})
    ways = {"ways": _ways(verdict, fields)} if prim.whole else {}
    return made | {"fields": fields, "call": written} | ways


def _ways(verdict: Verdict, fields: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The choices of a verb whose arguments go together: the text of each, and its fields."""
    ways = []
    for choice in verdict.choices:
        texts = {name: value_text(value) for name, value in choice.items()}
        args = {f["name"]: texts.get(f["name"], "") for f in fields}
        ways.append({"text": ", ".join(f"{n}={t}" for n, t in texts.items()), "args": args})
    return ways


def _tried(prim: Primitive, verdict: Verdict) -> dict[str, Any] | None:
    """What a form would send for the call that tells why it is refused; None where none was made.

    So its refusal can be seen as that of a step is: with the place in the program.
    """
    given = verdict.telling.arguments
    if any(p.name not in given for p in asked(prim) if p.required or p.many):
        return None
    fields = [_field(p, verdict, given) for p in asked(prim) if p.name in given]
    return {field["name"]: field["value"] for field in fields if field}


def _held(given: Given, verb: str, place: str) -> Mapping[str, Any]:
    return given.get(f"{verb} {place}", given.get(verb, {}))


def _of_place(summary: str, place: str, name: str) -> str:
    """What a verb does, in a sentence: of the thing of that `name` where it says `place`."""
    return f"`{name}`".join(part.replace("`", "") for part in summary.split(f"`{place}`"))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."


def asked(prim: Primitive) -> list[Param]:
    """The arguments besides the place; where the place takes many, the others of it too."""
    return [p for p in prim.params if p is not prim.place or p.many]


def _field(param: Param, verdict: Verdict, held: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The field of one argument, which holds what is `held`; None for an option no choice names.

    Of a choice, what would be refused stands last; the only one there is need not be chosen.
    """
    options = _distinct([c[param.name] for c in verdict.choices if param.name in c])
    every = _distinct([*options, *_values(verdict, param)])
    if not every and not (param.required or param.many):
        return None
    kind = _kind(param, every)
    made: dict[str, Any] = {
        "name": param.name,
        "label": param.name,
        "kind": kind,
    }
    if kind == "choice":
        only = len(every) == len(options) == 1
        made["options"] = [
            {"value": json.dumps(option), "label": _label(option)}
            | ({} if option in options else {"refused": True})
            for option in every
        ]
        if held is None or (only and (param.required or param.many)):
            made["value"] = made["options"][0]["value"]
        else:
            made["options"].insert(0, {"value": "", "label": "choose …"})
            made["value"] = json.dumps(held[param.name]) if held.get(param.name) in every else ""
        return made
    made["options"] = [{"value": value_text(option)} for option in options]
    first = options[:1] if held is None else [held[n] for n in [param.name] if n in held]
    made["value"] = first == [True] if kind == "bool" else "".join(map(value_text, first))
    if get_origin(param.type) is list or kind == "list":
        made["help"] = (
            "a list; None is worked out" if type(None) in _inside(param.type) else "a list"
        )
    if kind == "dict":
        made["help"] = 'by name, such as {"X": 2}'
    return made


def _values(verdict: Verdict, param: Param) -> list[Any]:
    """What was tried for an argument, whether it is possible or not."""
    return [o.arguments[param.name] for o in verdict.options if param.name in o.arguments]


def _kind(param: Param, options: Sequence[Any]) -> str:
    types = members(param.type)
    if types == (bool,):
        return "bool"
    lists = any(get_origin(t) in (list, tuple) for t in types) and int not in types
    if lists and not (param.kinds or param.many):
        return "list"
    if any(get_origin(t) is dict for t in types) and str not in types:
        return "dict"
    if options and (_named(param) or all(isinstance(o, str) for o in options)):
        return "choice"
    return "int" if int in types and str not in types else "text"


def _inside(declared: Any) -> tuple[Any, ...]:
    return tuple(m for arg in get_args(declared) for m in members(arg))


def _label(option: Any) -> str:
    return ", ".join(map(str, option)) if isinstance(option, (list, tuple)) else str(option)


def _distinct(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def call(prim: Primitive, place: str, given: Mapping[str, str | bool]) -> str:
    """The call that a form makes at `place`, as Python writes it; … is still to be typed."""
    written = [
        text if param.many else f"{param.name}={text}"
        for param in asked(prim)
        if param.name in given and (text := _written(param, given[param.name]))
    ]
    return f"sch.{prim.name}({', '.join([place, *written])})"


def _written(param: Param, given: str | bool) -> str:
    """What is in a field as Python writes it; "" where it is left out."""
    if given == "":
        return "…" if param.required or param.many else ""
    try:
        value = _read(param, given)
    except _UNREADABLE:
        return str(given)
    if param.many and isinstance(value, list):
        return ", ".join(map(value_text, value))
    if isinstance(value, tuple):  # a list that is typed without its brackets
        return value_text(list(value))
    if isinstance(value, str):  # one that is typed with its quotes keeps them
        return str(given) if value != given and given != json.dumps(value) else value_text(value)
    return value_text(value) if _named(param) else str(given)


def arguments(
    prim: Primitive, given: Mapping[str, Any], choices: Callable[[], Sequence[Mapping[str, Any]]]
) -> tuple[list[Any], dict[str, Any]]:
    """What a form sent, as positional (for `*loops`) and named arguments.

    Raises Fail where a text is not what the argument takes, with one of the possible `choices`.
    """
    rest: list[Any] = []
    named: dict[str, Any] = {}
    for param in asked(prim):
        if param.name not in given:
            continue
        if given[param.name] == "":
            if not (param.required or param.many):
                continue
            raise Fail(
                f"Can't {prim.name}: {param.name} is not given yet",
                hint=f"choose one, {such}"
                if (such := _such(param, choices()))
                else f"fill it in: it takes {type_text(param.type)}",
            )
        try:
            value = _read(param, given[param.name])
        except _UNREADABLE:
            raise _unreadable(prim, param, given[param.name], choices()) from None
        if param.many:
            rest.extend(value if isinstance(value, list) else [value])
        else:
            named[param.name] = value
    return rest, named


def _unreadable(
    prim: Primitive, param: Param, value: str, choices: Sequence[Mapping[str, Any]]
) -> Fail:
    such = _such(param, choices) or type_text(param.type)
    return Fail(
        f"Can't {prim.name}: {param.name} can't be read from {value[:40]!r}",
        hint=f"write it as in Python, {such}",
    )


def _such(param: Param, choices: Sequence[Mapping[str, Any]]) -> str:
    """An argument that is possible, in words; "" where none is known."""
    possible = (value_text(choice[param.name]) for choice in choices if param.name in choice)
    return next((f"such as {value}" for value in possible), "")


_UNREADABLE = (ValueError, SyntaxError, TypeError, RecursionError, MemoryError)


def _named(param: Param) -> bool:
    """Whether the options of an argument are names of something, which a form sends as JSON."""
    literal = any(get_origin(t) is Literal for t in members(param.type))
    return bool(param.kinds) or param.many or literal


def _read(param: Param, value: Any) -> Any:
    """One argument from what the browser sent, which is a text but for check boxes."""
    if not isinstance(value, str):
        return value
    types = members(param.type)
    if _named(param):
        return _from_json(value)
    try:
        read = ast.literal_eval(value.strip())
    except _UNREADABLE:
        if str in types:
            return value
        raise
    return value if types == (str,) and not isinstance(read, str) else read


def _from_json(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
