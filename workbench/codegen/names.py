"""The names of a kernel's variables and arrays in C: the learner's own where they are free."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workbench.ir import Buffer, Var
from workbench.lower.c_name import c_name


class Names:
    """Which name each variable and array has here; a name is free again when its loop ends."""

    def __init__(self, reserved: Iterable[str], macros: re.Pattern[str]) -> None:
        self._taken = set(reserved)
        self._macros = macros
        self._names: dict[Var | Buffer, str] = {}

    def __getitem__(self, item: Var | Buffer) -> str:
        return self._names[item]

    def __iter__(self) -> Iterator[Var | Buffer]:
        return iter(self._names)

    def fresh(self, wanted: str) -> str:
        """A name near `wanted` that nothing has, now taken."""
        stem = self._no_macro(c_name(wanted))
        name, count = stem, 0
        while name in self._taken:
            count += 1
            name = self._no_macro(c_name(f"{stem}_{count}"))
        self._taken.add(name)
        return name

    def _no_macro(self, name: str) -> str:
        return f"v_{name}" if self._macros.fullmatch(name) else name

    def enter(self, item: Var | Buffer) -> str:
        """Name `item`, until `leave`."""
        self._names[item] = self.fresh(item.name)
        return self._names[item]

    def leave(self, item: Var | Buffer) -> None:
        """`item` is out of scope: its name may be used again."""
        self._taken.discard(self._names.pop(item))
