"""The names of a kernel's variables and arrays in C: the learner's own where they are free."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.ir import Buffer, Var

_C = frozenset(
    {  # keywords of C++, and functions that the text calls
        "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char",
        "class", "const", "constexpr", "continue", "default", "delete", "do", "double", "else",
        "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
        "inline", "int", "long", "namespace", "new", "not", "operator", "or", "private",
        "protected", "public", "register", "return", "short", "signed", "sizeof", "static",
        "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typename",
        "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor", "min", "max",
        "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sin", "cos", "floor", "ceil", "pow", "erf",
        "main",
    }
)  # fmt: skip


class Names:
    """Which name each variable and array has here; a name is free again when its loop ends."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._taken = set(_C) | set(reserved)
        self._names: dict[Var | Buffer, str] = {}

    def __getitem__(self, item: Var | Buffer) -> str:
        return self._names[item]

    def fresh(self, wanted: str) -> str:
        """A name near `wanted` that nothing has, now taken."""
        stem = re.sub(r"\W", "_", wanted, flags=re.ASCII) or "v"
        stem = f"_{stem}" if stem[0].isdigit() else stem
        name, count = stem, 0
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._taken.add(name)
        return name

    def enter(self, item: Var | Buffer) -> str:
        """Name `item`, until `leave`."""
        self._names[item] = self.fresh(item.name)
        return self._names[item]

    def leave(self, item: Var | Buffer) -> None:
        """`item` is out of scope: its name may be used again."""
        self._taken.discard(self._names.pop(item))
