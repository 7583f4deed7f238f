"""The names that a program is written with: T, as Python and an editor see it.

A program is read from its text, so most of these are never called; calling one outside a program
says so.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from workbench.ir import MATHS, Expr, Not, binary, dtypes

if TYPE_CHECKING:
    from workbench.script.words import WordsOfT  # for type checkers and editors only
else:
    WordsOfT = object


class Word:
    """One name of T. Outside a program, `Buffer` and `handle` annotate; conditions are joined."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._name in ("T.Buffer", "T.handle"):
            return self  # Python evaluates annotations; the program is read from its text
        if self._name in _JOIN and any(isinstance(value, Expr) for value in args):
            return _JOIN[self._name](*args, **kwargs)  # in a compute expression
        raise TypeError(
            f"{self._name} is read inside a program, not run: "
            "put it into a function under @T.prim_func"
        )

    def __getitem__(self, item: object) -> Word:
        return self()

    def __getattr__(self, name: str) -> Word:
        if self._name == "T.axis" and name in AXES:
            return Word(f"T.axis.{name}")
        raise AttributeError(f"there is no {self._name}.{name}")


AXES = ("spatial", "reduce", "remap", "S", "R")
WORDS = (
    *("Buffer", "handle", "match_buffer", "alloc_buffer", "func_attr"),
    *("grid", "serial", "unroll", "vectorized", "parallel", "thread_binding"),
    *("block", "sblock", "axis", "init", "reads", "writes", "where", "block_attr"),
    *("sblock_attr", "sblock_alloc_buffer"),
    *("if_then_else", "Select", "Cast", "cast", "min", "max", "And", "Or", "Not", "likely"),
    *("let", "Let", "LetStmt", "bind", "var", "evaluate"),
    *("floordiv", "floormod", "truncdiv", "truncmod", "reinterpret", "target"),
    *("isnan", "isinf", "isfinite", "fabs", "power", "min_value", "max_value", "infinity"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left", "shift_right"),
    *MATHS,
    *dtypes.BITS,
)


def _negation(a: Expr) -> Expr:
    if a.dtype != "bool":
        raise TypeError(f"T.Not takes a condition, not {a.dtype}")
    return Not(a)


_JOIN: dict[str, Callable[..., Expr]] = {
    "T.And": lambda a, b: binary("and", a, b),
    "T.Or": lambda a, b: binary("or", a, b),
    "T.Not": _negation,
}


class Namespace(WordsOfT):
    """The words of T by name."""

    if not TYPE_CHECKING:  # or it would take every name for one that is there

        def __getattr__(self, name: str) -> Word:
            if name in WORDS:
                return Word(f"T.{name}")
            close = get_close_matches(name, [*WORDS, "prim_func"], n=1)
            advice = f"; is it T.{close[0]}?" if close else ""
            raise AttributeError(f"there is no T.{name}{advice}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *WORDS]

    def __repr__(self) -> str:
        return "T"
