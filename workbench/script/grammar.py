"""The tables of print rules and read rules, and the ways through them.

A kind of node has its two rules side by side in one of the files `operators`, `calls`, `memory`,
`loops`, `blocks` and `functions`; the decorators here enter them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from workbench.ir import (
    Buffer,
    Const,
    Data,
    Entries,
    Expr,
    Node,
    Stmt,
    as_expr,
    dtypes,
    is_data,
    is_text,
    remembered,
)
from workbench.script.reader import Reader, Value, View
from workbench.script.writer import Writer

F = TypeVar("F", bound=Callable)

PRINT: dict[type[Node], Callable] = {}  # kind of node -> (writer, node[, tightness])
READ: dict[type[ast.AST], Callable] = {}  # kind of Python syntax -> (reader, tree)
FUNCTIONS: dict[str, Callable] = {}  # T.name -> (reader, call), for values
NAMED = "named"  # by which a statement remembers how it is written with names for values
OPAQUE = "what it does is not in the program: write it as loops and stores"
REFUSED: dict[str, str] = {}  # T.name that TVM has and we do not -> what to write instead


def prints(*kinds: type[Node]) -> Callable[[F], F]:
    """Enter a print rule for nodes of these kinds."""

    def enter(rule: F) -> F:
        PRINT.update(dict.fromkeys(kinds, rule))
        return rule

    return enter


def reads(*kinds: type[ast.AST]) -> Callable[[F], F]:
    """Enter a read rule for Python syntax of these kinds."""

    def enter(rule: F) -> F:
        READ.update(dict.fromkeys(kinds, rule))
        return rule

    return enter


def function(*names: str) -> Callable[[F], F]:
    """Enter a read rule for calls of ``T.name``."""

    def enter(rule: F) -> F:
        FUNCTIONS.update(dict.fromkeys(names, rule))
        return rule

    return enter


def print_expr(w: Writer, e: Node, tightness: int = 0) -> None:
    """Write `e`; in parentheses where it binds less than `tightness`."""
    start = w.col
    PRINT[type(e)](w, e, tightness)
    w.spanned(e, start)


def print_stmt(w: Writer, s: Stmt) -> None:
    """Write `s` and what is in it, as whole lines."""
    first = w.line
    named = remembered(s).get(NAMED) if w.dialect.lets else None
    PRINT[type(named or s)](w, named or s)
    if named is not None:
        w.names.release(w.bound)
        w.bound.clear()
    w.extent(s, first)


def print_body(w: Writer, s: Stmt) -> None:
    """Write `s` one step further in."""
    w.indent += 1
    print_stmt(w, s)
    w.indent -= 1


def read_expr(r: Reader, tree: ast.expr) -> Expr:
    """The expression that `tree` writes; a Python number becomes a constant."""
    value = read_value(r, tree)
    if isinstance(value, Expr):
        return value
    if isinstance(value, (bool, int, float)):
        return as_expr(value)
    raise not_a_number(r, tree, value)


def not_a_number(r: Reader, tree: ast.expr, value: Value) -> Exception:
    """The refusal of a `value` where a number should stand."""
    if isinstance(value, (Buffer, View)):
        first = ", ".join("0" for _ in value.shape)
        return r.error(
            tree,
            f"Can't use buffer `{value.name}` without an index",
            hint=f"name one element: {value.name}[{first}]",
        )
    return r.error(
        tree,
        f"Can't use {r.describe(value)} as a number",
        hint="write a number or an expression of numbers, loops and buffer elements",
    )


def read_value(r: Reader, tree: ast.expr) -> Value:
    """What `tree` stands for: an expression, a buffer, or a Python value known already."""
    rule = READ.get(type(tree))
    if rule is None:
        headline, hint = _UNREADABLE.get(type(tree), _UNREADABLE[ast.expr])
        raise r.error(tree, headline, hint=hint)
    return rule(r, tree)


_UNREADABLE = {
    ast.expr: (
        "Can't read this as an expression",
        "accepted: numbers, names, A[i], + - * / // %, comparisons, and, or, not, T. functions",
    ),
    ast.IfExp: ("Can't read `a if c else b`", "write T.if_then_else(c, a, b)"),
    ast.Slice: ("Can't read a range here", "only T.reads and T.writes name ranges, as in A[0:4]"),
    ast.Lambda: ("Can't read a lambda", "write the expression where it is used"),
}


def _read_pair(
    r: Reader, tree: ast.Dict, key: ast.expr | None, value: ast.expr
) -> tuple[str, object]:
    name = None if key is None else read_plain(r, key)
    if not isinstance(name, str):
        hint = 'write a dictionary: {"name": 1}'
        raise r.error(key or tree, "A name in a dictionary is a text", hint=hint)
    return name, read_plain(r, value)


def read_plain(r: Reader, tree: ast.expr) -> object:
    """Plain data: numbers, strings, None, lists, tuples and dictionaries of them."""
    if isinstance(tree, ast.Dict):
        return dict(_read_pair(r, tree, *pair) for pair in zip(tree.keys, tree.values, strict=True))
    if isinstance(tree, (ast.List, ast.Tuple)):
        return tuple(read_plain(r, item) for item in tree.elts)
    value = read_value(r, tree)
    if isinstance(value, Const):
        return value.value
    if isinstance(value, (Expr, Buffer, View)):
        hint = "write a number, a string, or a list of them"
        raise r.error(tree, "Only a plain value can stand here", hint=hint)
    return value


def refuse_opaque(r: Reader, tree: ast.Call) -> NoReturn:
    """Refuse a call of what the workbench does not know."""
    raise r.error(tree.func, f"Can't use `{r.text(tree.func)}` here", hint=OPAQUE)


def read_dtype(r: Reader, tree: ast.expr) -> str:
    """The name of a scalar type."""
    value = read_plain(r, tree)
    if isinstance(value, str):
        with suppress(ValueError):
            return dtypes.named(value)
    if isinstance(value, str) and re.fullmatch("u?int[124]", value):
        bits = int(value[-1])
        number, last = 32 // bits, 2**bits - 1
        one = f'W[i // {number}] >> T.Cast("uint32", i % {number} * {bits}) & {last}'
        hint = f"keep {number} in a uint32, and take one out as {one}"
        raise r.error(tree, f"{value} is no type of cells: several lie in one byte", hint=hint)
    hint = "accepted: " + ", ".join(dtypes.BITS)
    raise r.error(tree, f"There is no type {r.text(tree)}", hint=hint)


def read_word(r: Reader, tree: ast.expr, what: str) -> str:
    """A string."""
    value = read_plain(r, tree)
    if is_text(value):
        return str(value)
    raise r.error(tree, f"Can't use {r.text(tree)} as {what}", hint=f"write {what} in quotes")


def read_attributes(r: Reader, tree: ast.expr) -> tuple[tuple[str, Data], ...]:
    """A dictionary of annotations, as pairs."""
    value = read_plain(r, tree)
    if isinstance(value, dict):
        notes = {key: _frozen(item) for key, item in value.items()}
        if not all(is_text(key) and is_data(item) for key, item in notes.items()):
            hint = "a note holds texts, finite numbers, True, False, lists and dictionaries of them"
            raise r.error(tree, "Can't read a value of these annotations", hint=hint)
        return tuple(notes.items())
    raise r.error(tree, "Can't read these annotations", hint='write a dictionary: {"name": 1}')


def _frozen(value: Any) -> Any:
    """Plain data with dictionaries that never change."""
    if isinstance(value, dict):
        return Entries.of({key: _frozen(item) for key, item in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, tuple) else value
