"""A call of a primitive checked against its declaration: loops and blocks found, data normal."""

from __future__ import annotations

import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from workbench.diag import Refusal, count_text
from workbench.history.handles import BlockHandle, LoopHandle
from workbench.history.step import Ref, call_text
from workbench.ir import Block, Entries, For, PrimFunc, is_data, is_text
from workbench.schedule.actions import verdicts
from workbench.schedule.find import Finder, has_own_name, loop_name
from workbench.verbs import index_map
from workbench.verbs.called import members
from workbench.verbs.index_map import MapLike
from workbench.verbs.primitive import Param, Primitive


@dataclass(frozen=True, slots=True)
class Call:
    """A primitive's arguments, loops and blocks as nodes of `func`, lists as tuples."""

    prim: Primitive
    func: PrimFunc
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]  # those that are not the default


def bind(prim: Primitive, finder: Finder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Match `args` and `kwargs` to what `prim` declares.

    Raises Refusal for an argument that is missing, unknown, of the wrong type, or no longer there.
    """
    for older, name in prim.older.items():
        if older in kwargs and name not in kwargs:
            kwargs = {name if key == older else key: value for key, value in kwargs.items()}
    _check_names(prim, finder, args, kwargs)
    given = prim.signature.bind(*args, **kwargs).arguments
    func, values = finder.func, {}
    for param in prim.params:
        if param.name not in given:
            continue
        pairs = [
            _value(prim, param, finder, value, given)
            for value in (given[param.name] if param.many else (given[param.name],))
        ]
        func = next((holder for holder, _ in pairs if holder is not None), func)
        values[param.name] = tuple(v for _, v in pairs) if param.many else pairs[0][1]
    return _as_written(prim, func, values)


def _as_written(prim: Primitive, func: PrimFunc, values: dict[str, Any]) -> Call:
    """Arguments as people write them: what is bare by position, lists and options by name."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    for param in prim.params:
        value = values.get(param.name, () if param.many else param.default)
        if param.many:
            args += value
        elif param.required and not kwargs and not isinstance(value, (tuple, Entries, int)):
            args += (value,)
        elif param.required or type(value) is not type(param.default) or value != param.default:
            kwargs[param.name] = value
    return Call(prim, func, args, kwargs)


def _check_names(
    prim: Primitive, finder: Finder, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Refuse arguments that are too many, unknown, given twice or missing."""
    many = next((p for p in prim.params if p.many), None)
    named = [p.name for p in prim.params if not p.many]
    by_place = [] if many else named[: len(args)]
    missing = [p.name for p in prim.params if p.required and p.name not in {*by_place, *kwargs}]
    why = hint = ""
    for name in kwargs:
        if name not in named:
            why = f"it takes no argument `{name}`"
            hint = _instead(prim, finder, name, missing, args, kwargs)
        elif name in by_place:
            why = f"it gets `{name}` twice"
        if why:
            break
    else:
        lists = [value for value in args if isinstance(value, (list, tuple))]
        if many and lists:
            why = f"it takes {many.name} one by one, not in a list"
            hint = _written(prim, finder, tuple(v for x in args for v in _listed(x)), kwargs)
        elif not many and len(args) > len(named):
            why = f"it takes {count_text(len(named), 'argument')}, not {len(args)}"
        elif missing:
            why = f"it lacks the argument `{missing[0]}`"
    if why:
        place = args[0] if args else kwargs.get(prim.place.name)
        raise Refusal(
            f"Can't {prim.name}: {why}",
            hint=f"write {hint}" if hint else _usage(prim, finder, place),
        )


def _listed(value: Any) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _instead(
    prim: Primitive,
    finder: Finder,
    name: str,
    missing: list[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> str:
    """The learner's call with an argument that there is in the place of `name`; "" if none fits."""
    if any(p.many and p.name == name for p in prim.params):
        rest = {key: value for key, value in kwargs.items() if key != name}
        return _written(prim, finder, (*args, *_listed(kwargs[name])), rest)
    named = [p.name for p in prim.params if not p.many]
    close, change = get_close_matches(name, named, n=1) or missing, None
    if name in prim.instead:
        right, change = prim.instead[name]
        close = [right]
    if len(close) != 1 or close[0] in kwargs:
        return ""
    new = {name: (close[0], change(kwargs[name]) if change else kwargs[name])}
    return _written(prim, finder, args, dict(new.get(k, (k, v)) for k, v in kwargs.items()))


def _written(prim: Primitive, finder: Finder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The call as text, where it would be taken; else ""."""
    try:
        call = bind(prim, finder, args, kwargs)
        prim.refuse(call.func, *call.args, **call.kwargs)
    except Refusal:
        return ""
    return f"sch.{prim.name}({as_given(args, kwargs)})"


def as_given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Arguments as the caller wrote them, handles by their names."""

    def name(value: Any) -> Any:
        if isinstance(value, (LoopHandle, BlockHandle)):
            return Ref("loop", 0, name=value.name)
        if callable(value):
            return _function_text(value)
        return [name(v) for v in value] if isinstance(value, (list, tuple)) else value

    named = {key: name(value) for key, value in kwargs.items()}
    return call_text(tuple(name(a) for a in args), named)


def _function_text(function: Callable[..., Any]) -> Any:
    """The map that a function is, or its name where it is none."""
    try:
        return index_map.traced(function)
    except ValueError:
        return Ref("block", 0, name=getattr(function, "__name__", "function").strip("<>"))


def _value(
    prim: Primitive, param: Param, finder: Finder, value: Any, given: Mapping[str, Any]
) -> tuple[PrimFunc | None, Any]:
    """`value` as `param` takes it, and the function that holds it where it is a loop or block."""
    if param.takes_places and isinstance(value, (list, tuple)):
        items = [_place(param.kinds - param.one_of or param.kinds, finder, item) for item in value]
        return next((func for func, _ in items), None), tuple(node for _, node in items)
    if param.kinds and not (value is None and type(None) in members(param.type)):
        if param.one_of or not param.takes_places:
            return _place(param.one_of or param.kinds, finder, value)
        raise Refusal(
            f"Can't {prim.name}: {param.name} takes a list, not {_repr(value)}",
            hint=f"write {param.name}=[{as_given((value,), {})}]",
        )
    data = _plain(value)
    if callable(data) and param.type == MapLike:
        try:
            data = index_map.traced(data)
        except ValueError as error:
            raise Refusal(
                f"Can't {prim.name}: {param.name} is no map of indices",
                detail=str(error),
                hint="write it like this: lambda i, j: (i // 4, j, i % 4)",
            ) from None
    if not _counts(data):
        raise Refusal(
            f"Can't {prim.name}: 64 bits do not hold a number in {param.name}",
            hint="take a smaller number",
        )
    if not any(_fits(data, declared) for declared in members(param.type)):
        raise Refusal(
            f"Can't {prim.name}: {param.name} takes {type_text(param.type)}, not {_repr(value)}",
            hint=_usage(prim, finder, given.get(prim.place.name)),
        )
    return None, data


def _place(kinds: Collection[type], finder: Finder, value: Any) -> tuple[PrimFunc, Any]:
    """The loop or block, whichever is among `kinds`, that `value` stands for."""
    if kinds == {For}:
        return finder.loop(value)
    return finder.block(value) if kinds == {Block} else finder.either(value)


def _repr(value: Any) -> str:
    return " ".join(repr(value).split())


def _plain(value: Any) -> Any:
    """Lists as tuples and dictionaries as entries, all the way down; NumPy's data as Python's."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict) and all(map(is_text, value)):
        return Entries.of({key: _plain(v) for key, v in value.items()})
    return tuple(_plain(v) for v in value) if isinstance(value, (list, tuple)) else value


def _counts(data: Any) -> bool:
    """Whether every whole number in plain `data` is one that a kernel can count to."""
    if isinstance(data, Entries):
        data = tuple(value for _, value in data.pairs)
    if isinstance(data, tuple):
        return all(map(_counts, data))
    return not isinstance(data, int) or -(2**63) <= data < 2**63


def _fits(data: Any, declared: Any) -> bool:
    """Whether plain `data` is of the `declared` type; a bool is no int here."""
    origin = typing.get_origin(declared)
    if origin is Literal:
        return data in typing.get_args(declared)
    if origin is list:
        inner = members(typing.get_args(declared)[0])
        return isinstance(data, tuple) and all(any(_fits(d, t) for t in inner) for d in data)
    if origin is dict:
        inner = members(typing.get_args(declared)[1])
        return isinstance(data, Entries) and all(
            any(_fits(d, t) for t in inner) for _, d in data.pairs
        )
    if isinstance(data, (float, str)) and not is_data(data):
        return False
    return type(data) is declared or (declared is float and type(data) is int)


_TYPE_NAMES = {
    Callable[..., Any]: "a function",
    int: "a whole number",
    str: "a text",
    bool: "True or False",
    float: "a number",
}


def type_text(declared: Any) -> str:
    """A declared type in words: ``a list, each a whole number or None``."""
    texts: dict[str, None] = {}
    plain = members(declared)
    for member in sorted(plain, key=lambda member: typing.get_origin(member) in (list, dict)):
        origin = typing.get_origin(member)
        if origin is Literal:
            texts["one of " + ", ".join(repr(a) for a in typing.get_args(member))] = None
        elif origin is list and set(members(typing.get_args(member)[0])) < set(plain):
            texts["a list of such"] = None
        elif origin is dict:
            texts.pop("a list of such")
            texts["a list or dictionary of such"] = None
        elif origin is list:
            texts[f"a list, each {type_text(typing.get_args(member)[0])}"] = None
        elif not (member is int and float in plain):
            texts["None" if member is type(None) else _TYPE_NAMES.get(member, str(member))] = None
    *others, last = texts
    return f"{', '.join(others)} or {last}" if others else last


def _usage(prim: Primitive, finder: Finder, place: Any) -> str:
    """How the verb is called, with a call that is possible at `place`, where one is known."""
    names = [
        ("*" if p.many else "") + p.name + ("" if p.required or p.many else "=…")
        for p in prim.params
    ]
    usage = f"the call is sch.{prim.name}({', '.join(names)})"
    try:
        func, node = finder.either(place)
        (verdict,) = verdicts(func, node, [prim.name])
    except (Refusal, ValueError):
        return usage
    if not verdict.choices or not prim.choices or not has_own_name(func, node):
        return usage
    return f"{usage}, for example {_example(prim, func, node, verdict.choices[0])}"


def _example(prim: Primitive, func: PrimFunc, place: For | Block, choice: Mapping[str, Any]) -> str:
    """The call at `place` with the arguments that `actions` tells, loops and blocks by name."""
    many, kwargs = prim.spread(choice)
    name = loop_name(func, place) if isinstance(place, For) else place.name
    return f"sch.{prim.name}({call_text((name, *many), kwargs)})"
