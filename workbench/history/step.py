"""One step of a schedule as plain data: the verb, its arguments, the names of what it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from workbench.ir import Entries
from workbench.script.writer import string


@dataclass(frozen=True, slots=True)
class Ref:
    """A loop or a block, told so that it is found again when the steps are replayed.

    It is looked for in the program after step number `step` (0: the program that the schedule
    started from), the first that has it. `out` is its position among that step's results. Where
    it is none of them, a block is told by `block`, its name, and `nth`, which of several of that
    name in program order (None: the only one); a loop by `of`, a block in it, and `index`, which of
    the loops above that block, outermost first. A loop that holds no block has no `of` and is the
    `index`-th loop of the function. `name` and `nest`, the names of the loops above the block, are
    for people.
    """

    kind: Literal["loop", "block"]
    step: int
    out: int | None = None
    block: str = ""
    nth: int | None = None
    of: Ref | None = None
    index: int | None = None
    name: str = field(default="", compare=False)
    nest: tuple[str, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        return self.name if self.name.isidentifier() else string(self.name)


Value: TypeAlias = "bool | int | float | str | Ref | tuple[Value, ...] | Entries | None"
"""An argument of a step: plain data and references; lists are tuples."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a verb. Two steps are equal when they would do the same to the same program."""

    verb: str
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...] = ()
    func: str = "main"
    made: tuple[str, ...] = field(default=(), compare=False)
    single: bool = field(default=False, compare=False)  # returned one handle, not a list
    alone: bool = field(default=True, compare=False)  # its program had no other function

    @property
    def key(self) -> tuple[Any, ...]:
        """What only equal steps share: True, 1 and 1.0 are three values here, and nan is one."""
        named = tuple((name, _key(value)) for name, value in self.kwargs)
        return self.verb, _key(self.args), named, self.func

    @property
    def text(self) -> str:
        """The call as people write it: ``split(i, factors=[None, 128])``."""
        return f"{self.verb}({call_text(self.args, dict(self.kwargs))})"

    def refs(self) -> list[Ref]:
        """Every loop and block among the arguments."""
        return [*_refs(self.args), *_refs(tuple(v for _, v in self.kwargs))]


def call_text(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Arguments as Python source; loops and blocks by their names."""
    named = [f"{name}={value_text(value)}" for name, value in kwargs.items()]
    return ", ".join([*(value_text(a) for a in args), *named])


def value_text(value: Any) -> str:
    """One argument as Python source."""
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(value_text(v) for v in value)}]"
    if isinstance(value, Entries):
        value = dict(value.pairs)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{value_text(k)}: {value_text(v)}' for k, v in value.items())}}}"
    if isinstance(value, str):
        return string(value)
    if isinstance(value, int) and value.bit_length() > 64:
        return hex(value)  # Python writes no more than 4300 digits of other bases
    return " ".join(line.strip() for line in repr(value).splitlines())  # of an array, on one line


def _key(value: Value) -> Any:
    if isinstance(value, tuple):
        return tuple(_key(v) for v in value)
    return value if isinstance(value, Ref) else repr(value)


def _refs(values: tuple[Value, ...]) -> list[Ref]:
    refs: list[Ref] = []
    for value in values:
        if isinstance(value, Ref):
            refs.extend([value.of, value] if value.of else [value])
        elif isinstance(value, tuple):
            refs.extend(_refs(value))
    return refs
