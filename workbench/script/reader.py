"""What reading a program needs: its source, the names in scope, refusals with a place."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TypeAlias, TypeVar

from workbench.diag import Fail, Span, count_text, mark
from workbench.ir import (
    Buffer,
    BufferLoad,
    Const,
    Expr,
    Size,
    Stmt,
    Var,
    as_expr,
    free_vars,
    plain_number,
    rewrite,
)
from workbench.script.namespace import Namespace

Value: TypeAlias = "Expr | Buffer | View | bool | int | float | str | tuple[Value, ...] | None"


class ParseError(Fail, ValueError):
    """A text that is not a program, with the line at fault.

    >>> try:
    ...     script.parse('x = 1')
    ... except wb.ParseError as error:
    ...     print(error.headline)
    Can't read this outside a program.
    """


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a program as its author sees it: line 1 of `text` is their line `first_line`."""

    text: str
    first_line: int = 1
    name: str = ""  # of the file or cell, "" for a string

    def span(self, tree: ast.AST) -> Span:
        """Where `tree` stands in `text`; Python counts columns in UTF-8 bytes, we in characters."""
        lines = self.text.splitlines()

        def column(line: int, offset: int) -> int:
            return len(lines[line - 1].encode()[:offset].decode(errors="ignore"))

        line, end_line = tree.lineno, tree.end_lineno  # type: ignore[attr-defined]
        return Span(
            line,
            column(line, tree.col_offset),  # type: ignore[attr-defined]
            end_line,
            column(end_line, tree.end_col_offset),  # type: ignore[attr-defined]
        )

    def error(
        self, tree: ast.AST | Span | None, headline: str, *, hint: str, detail: str = ""
    ) -> ParseError:
        """A refusal that points at `tree`."""
        where = ""
        if tree is not None:
            span = tree if isinstance(tree, Span) else self.span(tree)
            where = mark(self.text, [span], first_line=self.first_line)
        asked = f"the program in {self.name}" if self.name else ""
        return ParseError(headline, asked=asked, where=where, detail=detail, hint=hint)


@dataclass(slots=True, eq=False)
class Let:
    """A name for a value, of type `dtype`; until it has one, `value` is None.

    `loads` are the buffers that it was loaded from, in block number `block`, with `turns` loops
    open; `used` has the loops opened since in which it was used. `stored` is a buffer of `loads`
    that was stored to since.
    """

    value: Expr | None = None
    dtype: str = ""
    loads: frozenset[Buffer] = frozenset()
    turns: int = 0
    block: int = 0
    used: set[int] = field(default_factory=set)
    stored: Buffer | None = None


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A name for a part of `buffer`, of `shape`: its first cell is at `firsts`.

    It has the last dimensions of the buffer; in those before, it is one cell wide.
    """

    name: str
    buffer: Buffer
    firsts: tuple[Expr, ...]
    shape: tuple[Size, ...]

    @property
    def dtype(self) -> str:
        """The type of its elements."""
        return self.buffer.type


@dataclass(slots=True)
class Reader:
    """Reads one function: its source, what its author's names stand for, what it has defined."""

    source: Source
    env: Mapping[str, object]
    scopes: list[dict[str, Var | Buffer | Let | View]] = field(default_factory=lambda: [{}])
    extents: dict[Var, tuple[Expr, Expr]] = field(default_factory=dict)  # of loops: min, extent
    iterators: dict[Var, tuple[Expr, Expr]] = field(default_factory=dict)  # likewise, of blocks
    hidden: Mapping[Var, tuple[str, str]] = field(default_factory=dict)  # see `hiding`
    turns: list[int] = field(default_factory=list)  # the loops that are open, by number
    block: int = 0  # the number of the block that is being read
    symbols: Mapping[str, Expr] = field(default_factory=dict)  # what shapes are told by
    lets: int = 0  # names for values so far
    row_strides: dict[str, ast.expr] = field(default_factory=dict)  # of a tile, its first, a name
    bound: list[Stmt] | None = None  # see `lets.remember_names`: those of the statement being read
    _opened: int = 0  # loops and blocks so far

    def error(
        self, tree: ast.AST | None, headline: str, *, hint: str, detail: str = ""
    ) -> ParseError:
        """A refusal that points at `tree`."""
        return self.source.error(tree, headline, hint=hint, detail=detail)

    def text(self, tree: ast.AST) -> str:
        """The author's own text of `tree`, on one line."""
        return " ".join((ast.get_source_segment(self.source.text, tree) or "").split())

    def domains(self) -> dict[Var, tuple[int, int]]:
        """The first and the last value of each loop and iterator so far whose ends are numbers."""
        return {
            var: (int(low.value), int(low.value) + int(extent.value) - 1)
            for var, (low, extent) in (self.extents | self.iterators).items()
            if isinstance(low, Const) and isinstance(extent, Const)
        }

    # --- names ---

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names defined inside end with it."""
        self.scopes.append({})
        yield
        self.scopes.pop()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Inside is what a loop does in one turn; names defined there end with it."""
        self._opened += 1
        self.turns.append(self._opened)
        with self.scope():
            yield
        self.turns.pop()

    @contextmanager
    def in_block(self) -> Iterator[None]:
        """Inside is a block of its own; names defined there end with it."""
        before = self.block
        self._opened += 1
        self.block = self._opened
        with self.scope():
            yield
        self.block = before

    def define(self, tree: ast.AST, name: str, node: Var | Buffer | Let | View) -> None:
        """Let `name` stand for `node` from here to the end of the scope."""
        if any(name in scope for scope in self.scopes):
            hint = "give each loop, iterator and buffer in scope a name of its own"
            raise self.error(tree, f"`{name}` is defined already", hint=hint)
        self.scopes[-1][name] = node

    def lookup(self, name: str, tree: ast.AST) -> Value:
        """What `name` stands for: in the program first, then around it."""
        for scope in reversed(self.scopes):
            if name in scope:
                value = scope[name]
                if isinstance(value, Let):
                    return self._valued(value, name, tree)
                if isinstance(value, View):
                    self._check_seen(value.firsts, name, tree)
                if isinstance(value, Var) and value in self.hidden:
                    headline, hint = self.hidden[value]
                    raise self.error(tree, headline.format(name), hint=hint)
                if isinstance(value, Buffer) and value.scalar:
                    return BufferLoad(value, ())
                return value
        if name in self.env:
            return self._captured(self.env[name], name, tree)
        known = [n for scope in self.scopes for n, node in scope.items() if node not in self.hidden]
        close = get_close_matches(name, [*known, *self.env], n=1)
        hint = f"is it `{close[0]}`?" if close else "in scope: " + (", ".join(known) or "nothing")
        raise self.error(tree, f"There is no `{name}` here", hint=hint)

    def _valued(self, let: Let, name: str, tree: ast.AST) -> Expr:
        """What a name for a value stands for, refused where the value may be another by now."""
        if let.value is None:
            hint = f"give it one first: {name}: T.let = 2"
            raise self.error(tree, f"`{name}` has no value here", hint=hint)
        self._check_seen([let.value], name, tree)
        if let.loads and let.block != self.block:
            hint = "load it in the block, which then says what it reads"
            raise self.error(tree, f"`{name}` was loaded outside of this block", hint=hint)
        if let.stored is not None:
            raise self._changed(let.stored, name, tree)
        let.used.update(self.turns[let.turns : let.turns + 1])
        return fresh(let.value)

    def _check_seen(self, values: Iterable[Expr], name: str, tree: ast.AST) -> None:
        """Refuse a name for what loops tell that may not be named here."""
        for loop in (var for value in values for var in free_vars(value)):
            if loop in self.hidden:
                headline = f"`{name}` is told by `{loop.name}`, outside the block"
                hint = "compute the value in the block, from its iterators"
                raise self.error(tree, headline, hint=hint)

    def _changed(self, buffer: Buffer, name: str, tree: ast.AST) -> ParseError:
        headline = f"`{name}` was loaded from `{buffer.name}`, which is stored to before it is used"
        hint = "keep what was loaded in a buffer of its own: t[0] = A[0]"
        return self.error(tree, headline, hint=hint)

    def named(self, name: str) -> Var | Buffer | Let | View | None:
        """What the program has defined `name` as, if it has."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def is_symbol(self, name: str) -> bool:
        """Whether `name` was made by ``TypeVar``, as TVM prints numbers that callers bring."""
        return name in self.env and isinstance(self.env[name], TypeVar)

    def later(self, name: str) -> str | None:
        """The type that ``x = T.int32()`` said of a name that gets its value now."""
        named = self.named(name)
        return named.dtype or None if isinstance(named, Let) else None

    def lets_here(self) -> dict[Let, Buffer | None]:
        """The names for values here, each with the buffer of its loads that was stored to since."""
        every = (node for scope in self.scopes for node in scope.values())
        return {let: let.stored for let in every if isinstance(let, Let)}

    def take_bound(self) -> list[Stmt]:
        """The names that were given values since this was asked last, as TVM's statements."""
        taken = [*(self.bound or ())]
        if taken:
            self.bound = []
        return taken

    def stored(self, tree: ast.AST, buffer: Buffer) -> None:
        """What was loaded from `buffer` before may not be used from here on.

        Nor earlier in a loop that comes back after this store.
        """
        for name, let in ((n, x) for scope in self.scopes for n, x in scope.items()):
            if isinstance(let, Let) and buffer in let.loads:
                let.stored = buffer
                if let.used.intersection(self.turns[let.turns : let.turns + 1]):
                    raise self._changed(buffer, name, tree)

    def _captured(self, value: object, name: str, tree: ast.AST) -> Value:
        """A value from around the program; only plain numbers, strings and lists of them are."""
        plain = plain_number(value)
        if isinstance(plain, (bool, int, float, str)) or plain is None:
            return plain
        if isinstance(plain, (tuple, list)):
            return tuple(self._captured(item, name, tree) for item in plain)
        hint = "a program takes numbers, strings, and lists and tuples of them from around it"
        headline = f"Can't use `{name}` here: its type is {type(value).__name__}"
        raise self.error(tree, headline, hint=hint)

    @contextmanager
    def hiding(self, names: Mapping[Var, tuple[str, str]]) -> Iterator[None]:
        """Inside, these may not be named; each comes with what to say then, and what to do."""
        before, self.hidden = self.hidden, names
        yield
        self.hidden = before

    # --- calls ---

    def function(self, tree: ast.expr) -> str:
        """The name of a function of T: ``axis.spatial`` for ``T.axis.spatial``."""
        names: list[str] = []
        current = tree
        while isinstance(current, ast.Attribute):
            names.append(current.attr)
            current = current.value
        if not isinstance(current, ast.Name) or not self._is_namespace(current.id):
            hint = "inside a program only functions of T can be called, as in T.exp(x)"
            raise self.error(tree, f"Can't call `{self.text(tree)}` here", hint=hint)
        return ".".join(reversed(names))

    def is_function(self, tree: ast.AST, *names: str) -> bool:
        """Whether `tree` is a call of one of these functions of T."""
        if not isinstance(tree, ast.Call) or not self.is_word(tree.func):
            return False
        return self.function(tree.func) in names

    def is_word(self, tree: ast.expr) -> bool:
        """Whether `tree` is a name of T: ``T.block``, ``T.axis.spatial``."""
        root = tree
        while isinstance(root, ast.Attribute):
            root = root.value
        is_name = isinstance(tree, ast.Attribute) and isinstance(root, ast.Name)
        return is_name and self._is_namespace(root.id)  # type: ignore[attr-defined]

    def _is_namespace(self, name: str) -> bool:
        """Whether `name` stands for T; in a text of unknown surroundings it is called T."""
        if name not in self.env:
            return name == "T"
        return isinstance(self.env[name], Namespace)

    def arguments(self, tree: ast.Call, *names: str) -> list[ast.expr]:
        """The arguments of a call, in the order of `names`, all of which must be there."""
        given = self.bind(tree, *names)
        missing = [name for name in names if name not in given]
        if missing:
            raise self._misused(tree, tree, names, f"lacks its argument `{missing[0]}`")
        return [given[name] for name in names]

    def bind(self, tree: ast.Call, *names: str) -> dict[str, ast.expr]:
        """Which of the parameters `names` a call gives, by position or by keyword."""
        for argument in tree.args:
            if isinstance(argument, ast.Starred):
                raise self._misused(tree, argument, names, "can't spread arguments with `*`")
        if len(tree.args) > len(names):
            takes = count_text(len(names), "argument")
            raise self._misused(tree, tree, names, f"takes {takes}, {len(tree.args)} given")
        given = dict(zip(names, tree.args, strict=False))
        for keyword in tree.keywords:
            if keyword.arg is None or keyword.arg not in names:
                fault = f"takes no argument `{keyword.arg or '**'}`"
                raise self._misused(tree, keyword, names, fault)
            if keyword.arg in given:
                raise self._misused(tree, keyword, names, f"gets `{keyword.arg}` twice")
            given[keyword.arg] = keyword.value
        return given

    def _misused(
        self, tree: ast.Call, at: ast.AST, names: tuple[str, ...], fault: str
    ) -> ParseError:
        """The refusal of a call whose arguments are not `names`."""
        function = self.text(tree.func)
        hint = f"write {function}({', '.join(names)})"
        return self.error(at, f"`{function}` {fault}", hint=hint)

    def literal(self, value: bool | int | float) -> Const:
        """A Python number as a constant, in the type that TVM gives it."""
        result = as_expr(value)
        assert isinstance(result, Const)
        return result

    @staticmethod
    def describe(value: object) -> str:
        """What kind of thing `value` is, in the learner's words."""
        if isinstance(value, (Buffer, View)):
            return f"buffer `{value.name}`"
        if isinstance(value, str):
            return f'the string "{value}"'
        if isinstance(value, tuple):
            return "a list"
        return "an expression" if isinstance(value, Expr) else f"{value}"


def fresh(value: Expr) -> Expr:
    """`value` in nodes of its own: whoever meets a load may ask where in the program it is."""
    return rewrite(value, lambda n: n if isinstance(n, (Var, Const, Buffer)) else replace(n))
