"""How a caller sees a primitive: handles and names where it has loops and blocks of a program."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, Literal

from workbench.ir import Block, BlockId, For, Var


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of the method that calls the primitive `function`; its types are texts.

    The program, the first argument, is not the caller's. A loop or a block is passed as a handle
    or a name, a list as any sequence; what comes back are handles.
    """
    hints = typing.get_type_hints(function)
    declared = inspect.signature(function)
    params = list(declared.parameters.values())[1:]
    (result,) = typing.get_args(hints["return"])
    return declared.replace(
        parameters=[p.replace(annotation=taken(hints[p.name])) for p in params],
        return_annotation=given_back(result),
    )


def taken(declared: Any) -> str:
    """What a caller may pass for an argument that is declared so: ``LoopHandle | str``."""
    texts = dict.fromkeys(text for member in members(declared) for text in _taken(member))
    return " | ".join(sorted(texts, key=lambda text: (text == "None", not text.endswith("Handle"))))


def members(declared: Any) -> tuple[Any, ...]:
    """The members of a union; else the type itself."""
    if typing.get_origin(declared) in (typing.Union, types.UnionType):
        return tuple(t for a in typing.get_args(declared) for t in members(a))
    return (declared,)


def _taken(member: Any) -> Iterator[str]:
    origin, args = typing.get_origin(member), typing.get_args(member)
    if member in (For, Block):
        yield "LoopHandle" if member is For else "BlockHandle"
        yield "str"
    elif origin is list:
        yield f"Sequence[{taken(args[0])}]"
    elif origin is dict:
        yield f"Mapping[{taken(args[0])}, {taken(args[1])}]"
    elif origin is Literal:
        yield f"Literal[{', '.join(map(repr, args))}]"
    elif isinstance(origin, type) and issubclass(origin, Callable):  # type: ignore[arg-type]
        yield "Callable[..., Any]"
    else:
        yield _plain_name(member)


def given_back(result: Any) -> str:
    """What a caller gets for the `result` of an Edit: handles and numbers, lists of them, None."""
    if len(either := members(result)) > 1:
        return " | ".join(map(given_back, either))
    if typing.get_origin(result) is tuple:
        return f"list[{given_back(typing.get_args(result)[0])}]"
    return {Var: "LoopHandle", BlockId: "BlockHandle"}.get(result, _plain_name(result))


def _plain_name(kind: Any) -> str:
    return "None" if kind is type(None) else str(kind.__name__)
