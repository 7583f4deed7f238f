"""What a primitive is: one pure function whose signature and docstring declare everything else."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from workbench.check import refuse_torn_sum, shares_sums
from workbench.diag import Refusal
from workbench.ir import Block, BlockId, For, PrimFunc, Var
from workbench.ir.places import Places, places
from workbench.verbs.called import members, signature
from workbench.verbs.choices import Domain

Key: TypeAlias = Var | BlockId
"""What identifies a loop (its variable) or a block."""

Group: TypeAlias = Literal["loops", "threads", "memory", "blocks", "notes", "choices"]

Choices: TypeAlias = Callable[[PrimFunc, Any], Iterable[Mapping[str, Any]]]
"""The arguments worth trying at a place: one mapping for each call, without the place itself."""

Instead: TypeAlias = Mapping[str, tuple[str, Callable[[Any], Any]]]
"""Arguments that others have for the verb: which of ours says the same, and with what value."""


Result = TypeVar(
    "Result", bound=Key | tuple[Var, ...] | int | tuple[int, ...] | None, covariant=True
)


@dataclass(frozen=True)
class Edit(Generic[Result]):
    """What a primitive returns: the next program and what became of the loops and blocks.

    `result` is what the caller gets, loops and blocks as handles: of its type, a primitive declares
    which. Where it is a choice, of numbers or of a loop, the program is the one that it was.
    `became` tells, for each loop or block that is gone, what it turned into; () for one that left
    nothing behind.
    """

    func: PrimFunc
    result: Result = None  # type: ignore[assignment]  # for an Edit[None]
    became: Mapping[Key, tuple[Key, ...]] = field(default_factory=dict)

    @cached_property
    def places(self) -> Places:
        """Where everything is in the next program."""
        return places(self.func)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The loops and blocks of `result`, be it one or several."""
        several = self.result if isinstance(self.result, tuple) else (self.result,)
        return tuple(key for key in several if isinstance(key, (Var, BlockId)))


@dataclass(frozen=True, slots=True)
class Example:
    """A call shown in a docstring, with the programs before and after it as script text."""

    call: str
    before: str
    after: str


@dataclass(frozen=True)
class Param:
    """One argument of a primitive: its name, its declared type, and whether it may be left out."""

    name: str
    type: Any
    default: Any
    many: bool = False  # takes the rest of the positional arguments, as `*loops` does

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is inspect.Parameter.empty and not self.many

    @cached_property
    def takes_places(self) -> bool:
        """Whether it takes a list of loops or blocks."""
        return bool(self.kinds) and any(typing.get_origin(t) is list for t in members(self.type))

    @cached_property
    def kinds(self) -> frozenset[type]:
        """Which of For and Block it takes; empty for plain data."""
        return frozenset(t for t in _elements(self.type) if t in (For, Block))

    @cached_property
    def one_of(self) -> frozenset[type]:
        """Which of For and Block it takes by itself, not in a list."""
        return frozenset(t for t in members(self.type) if t in (For, Block))


@dataclass(frozen=True, slots=True)
class Primitive:
    """A verb of the schedule: the function and what its signature and docstring declare."""

    name: str
    group: str
    apply: Callable[..., Edit]
    check: Callable[..., object] | None
    choices: Choices | None
    params: tuple[Param, ...]
    signature: inspect.Signature  # of the method of a schedule, with the types that it is called by
    doc: str
    instead: Instead
    older: Mapping[str, str]  # names that arguments had in older lessons
    sizes: bool  # whether it is proved of programs for any size, too
    whole: bool  # whether its choices are taken as they are: the arguments of one go together
    domain: Callable[..., Domain] | None = None  # of its `decision`, where it samples one

    def take(self, func: PrimFunc, *args: Any, **kwargs: Any) -> Edit:
        """What the step makes of `func`. Raises Refusal."""
        self._check_sizes(func)
        if self.check is not None:
            self.check(func, *args, **kwargs)
        edit = self.apply(func, *args, **kwargs)
        refuse_torn_sum(func, edit.func, self.name)
        return edit

    def refuse(self, func: PrimFunc, *args: Any, **kwargs: Any) -> None:
        """Raise Refusal where `take` would, with as little work as tells it."""
        self._check_sizes(func)
        if self.check is None or shares_sums(func):
            self.take(func, *args, **kwargs)
        else:
            self.check(func, *args, **kwargs)

    def _check_sizes(self, func: PrimFunc) -> None:
        if func.sizes and not self.sizes:
            names = ", ".join(f"`{size.name}`" for size in func.sizes)
            numbers = ", ".join(f'"{size.name}": 1024' for size in func.sizes)
            raise Refusal(
                f"Can't {self.name}: it is not proved for every {names}",
                hint=f"give it a size: func.specialize({{{numbers}}})",
            )

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return self.doc.partition("\n\n")[0].replace("\n", " ")

    @property
    def examples(self) -> tuple[Example, ...]:
        """The calls in the docstring, each with its program before and after."""
        return tuple(_examples(self.doc))

    @property
    def place(self) -> Param:
        """The argument that says where: the first one."""
        return self.params[0]

    def spread(self, choice: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of one of its choices: those given by position, and those by name."""
        many = [value for p in self.params if p.many for value in choice.get(p.name, ())]
        named = [p.name for p in self.params if not p.many]
        return many, {name: choice[name] for name in named if name in choice}


REGISTRY: dict[str, Primitive] = {}
"""Every primitive by name, in the order of the file names; filled by `discover`."""


def primitive(
    *,
    group: Group,
    check: Callable[..., object] | None = None,
    choices: Choices | None = None,
    instead: Instead = types.MappingProxyType({}),
    older: Mapping[str, str] = types.MappingProxyType({}),
    sizes: bool = False,
    whole: bool = False,
    domain: Callable[..., Domain] | None = None,
) -> Callable[[Callable[..., Edit]], Callable[..., Edit]]:
    """Register the decorated function `(func, place, …) -> Edit` as a verb of the schedule.

    `check` takes the same arguments and raises Refusal where the verb is not possible; a verb
    without one is itself run to find out. `choices` lists the arguments that `actions` tries, and
    `instead` what to write for arguments that there are elsewhere; `older` are names that arguments
    had in older lessons. `sizes` says that it takes programs for any size, since what it asks is
    proved of all of them; else these are refused. `whole` says that the arguments of a choice go
    together, so that a form offers each as one. `domain` takes the same arguments and says what its
    `decision` may be, which the schedule makes where a call leaves it out.
    """

    def register(function: Callable[..., Edit]) -> Callable[..., Edit]:
        name = function.__name__
        own = signature(function)
        doc = inspect.getdoc(function) or ""
        params = _params(function, own)
        REGISTRY[name] = Primitive(
            name,
            group,
            function,
            check,
            choices,
            params,
            own,
            doc,
            instead,
            older,
            sizes,
            whole,
            domain,
        )
        return function

    return register


@cache
def discover() -> dict[str, Primitive]:
    """Import every file in `primitives/` and return the registry."""
    from workbench.verbs import primitives

    for module in sorted(m.name for m in pkgutil.iter_modules(primitives.__path__)):
        importlib.import_module(f"{primitives.__name__}.{module}")
    return REGISTRY


def _params(function: Callable[..., Edit], signature: inspect.Signature) -> tuple[Param, ...]:
    """The declared arguments after the program itself."""
    hints = typing.get_type_hints(function)
    return tuple(
        Param(p.name, hints[p.name], p.default, many=p.kind is p.VAR_POSITIONAL)
        for p in signature.parameters.values()
    )


def _elements(declared: Any) -> tuple[Any, ...]:
    """The members of a union and, of those that are lists, the members of their elements."""
    elements: list[Any] = []
    for member in members(declared):
        is_list = typing.get_origin(member) is list
        elements.extend(_elements(typing.get_args(member)[0]) if is_list else (member,))
    return tuple(elements)


def _examples(doc: str) -> Iterable[Example]:
    """Each ``>>> call`` with the text below it, cut at the ``---`` between before and after."""
    for part in doc.split(">>> ")[1:]:
        call, _, programs = part.partition("\n")
        before, _, after = programs.partition("\n---\n")
        after = after.partition("\n\n")[0]
        yield Example(call.strip(), textwrap.dedent(before), textwrap.dedent(after).rstrip())
