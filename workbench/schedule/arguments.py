"""A call of a primitive checked against its declaration: loops and blocks found, data normal."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workbench.diag import Refusal
from workbench.ir import Block, For, PrimFunc
from workbench.schedule.find import Finder
from workbench.schedule.primitive import Param, Primitive, members


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
    try:
        given = prim.signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise Refusal(f"Can't {prim.name}: {error}", hint=_usage(prim)) from None
    func, values = finder.func, {}
    for param in prim.params:
        if param.name not in given:
            continue
        found = [
            _value(prim, param, finder, value)
            for value in (given[param.name] if param.many else (given[param.name],))
        ]
        func = next((holder for holder, _ in found if holder is not None), func)
        values[param.name] = tuple(v for _, v in found) if param.many else found[0][1]
    return _as_written(prim, func, values)


def _as_written(prim: Primitive, func: PrimFunc, values: dict[str, Any]) -> Call:
    """Arguments as people write them: what is bare by position, lists and options by name."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    for param in prim.params:
        value = values.get(param.name, () if param.many else param.default)
        if param.many:
            args += value
        elif param.required and not kwargs and not isinstance(value, (tuple, int)):
            args += (value,)
        elif param.required or type(value) is not type(param.default) or value != param.default:
            kwargs[param.name] = value
    return Call(prim, func, args, kwargs)


def _value(
    prim: Primitive, param: Param, finder: Finder, value: Any
) -> tuple[PrimFunc | None, Any]:
    """`value` as `param` takes it, and the function that holds it where it is a loop or block."""
    if param.takes_places and isinstance(value, (list, tuple)):
        found = [_place(param, finder, item) for item in value]
        return next((func for func, _ in found), None), tuple(node for _, node in found)
    if param.kinds and value is not None:
        return _place(param, finder, value)
    data = _plain(value)
    if not any(_fits(data, declared) for declared in members(param.type)):
        raise Refusal(
            f"Can't {prim.name}: {param.name} takes {type_text(param.type)}, not {value!r}",
            hint=_usage(prim),
        )
    return None, data


def _place(param: Param, finder: Finder, value: Any) -> tuple[PrimFunc, Any]:
    """The loop or block that `value` stands for."""
    if param.kinds == {For}:
        return finder.loop(value)
    return finder.block(value) if param.kinds == {Block} else finder.either(value)


def _plain(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple(_plain(v) for v in value) if isinstance(value, (list, tuple)) else value


def _fits(data: Any, declared: Any) -> bool:
    """Whether plain `data` is of the `declared` type; a bool is no int here."""
    origin = typing.get_origin(declared)
    if origin is Literal:
        return data in typing.get_args(declared)
    if origin is list:
        inner = members(typing.get_args(declared)[0])
        return isinstance(data, tuple) and all(any(_fits(d, t) for t in inner) for d in data)
    return type(data) is declared or (declared is float and type(data) is int)


_TYPE_NAMES = {int: "a whole number", str: "a text", bool: "True or False", float: "a number"}


def type_text(declared: Any) -> str:
    """A declared type in words: ``a list, each a whole number or None``."""
    texts: dict[str, None] = {}
    plain = members(declared)
    for member in plain:
        origin = typing.get_origin(member)
        if origin is Literal:
            texts["one of " + ", ".join(repr(a) for a in typing.get_args(member))] = None
        elif origin is list and set(members(typing.get_args(member)[0])) < set(plain):
            texts["a list of such"] = None
        elif origin is list:
            texts[f"a list, each {type_text(typing.get_args(member)[0])}"] = None
        elif not (member is int and float in plain):
            texts["None" if member is type(None) else _TYPE_NAMES.get(member, str(member))] = None
    *others, last = texts
    return f"{', '.join(others)} or {last}" if others else last


def _usage(prim: Primitive) -> str:
    names = [("*" if p.many else "") + p.name + ("" if p.required or p.many else "=…")
             for p in prim.params]  # fmt: skip
    return f"the call is sch.{prim.name}({', '.join(names)})"
