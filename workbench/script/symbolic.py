"""Functions whose shapes are told by numbers that are not known yet: found, shown, specialized."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

from workbench.ir import PrimFunc, SymbolicFunc, dtypes, is_data, plain_number
from workbench.script.grammar import prints
from workbench.script.lets import declared_later
from workbench.script.reader import Let, ParseError, Reader
from workbench.script.trees import nodes
from workbench.script.writer import DIALECTS, Writer

_SHAPED = {"match_buffer": 1, "alloc_buffer": 0, "sblock_alloc_buffer": 0, "Buffer": 0}


@prints(SymbolicFunc)
def _print_symbolic(w: Writer, f: SymbolicFunc) -> None:
    ours = DIALECTS["workbench"]
    for line in f.text.splitlines():
        if w.dialect is not ours:  # TVM prints a TypeVar, and reads none
            line = re.sub(r"^(\w+) = TypeVar\(.*", r"\1 = T.int64()", line)
        for word in ("prim_func", "block", "block_attr", "alloc_buffer"):
            said = rf"{re.escape(getattr(ours, word))}\b" + r"(?!\()" * (word == "prim_func")
            line = re.sub(said, getattr(w.dialect, word), line)
        w.row(line, f, "text")


def find_symbols(r: Reader, tree: ast.FunctionDef) -> dict[str, str]:
    """The names that shapes in a function are told by, each with its type."""
    known = {name: "int64" for name, value in r.env.items() if isinstance(value, TypeVar)}
    known |= {arg.arg: kind for arg in tree.args.args if (kind := _kind(r, arg.annotation))}
    for stmt in tree.body:
        for one, call in declared_later(r, stmt):
            known |= {one.id: kind} if (kind := _kind(r, call.func)) else {}
    symbols: dict[str, str] = {}
    for shape in _shapes(r, tree):
        items = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else []
        for node in nodes(shape):
            if isinstance(node, ast.Name) and node.id in known:
                symbols[node.id] = known[node.id]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names = _names_in(node.value) if node in items else []
                symbols |= {name: known.get(name, "int32") for name in names}
    return symbols


def _kind(r: Reader, tree: ast.expr | None) -> str:
    """The integer type that a note or a call names, or ""."""
    if not isinstance(tree, ast.Attribute) or not r.is_word(tree):
        return ""
    name = r.function(tree)
    return name if name in dtypes.BITS and dtypes.is_int(name) else ""


def _shapes(r: Reader, tree: ast.FunctionDef) -> Iterator[ast.expr]:
    """What stands as the shape of a buffer, wherever one is declared."""
    for node in nodes(tree):
        if isinstance(node, ast.Call) and r.is_function(node, *_SHAPED):
            at = _SHAPED[r.function(node.func)]
            yield from (k.value for k in node.keywords if k.arg == "shape")
            yield from node.args[at : at + 1]
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            is_buffer = r.is_word(node.value) and r.function(node.value) == "Buffer"
            yield from node.slice.elts[: int(is_buffer)]


def _names_in(text: str) -> list[str]:
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id != "T"]


def as_symbolic(r: Reader, tree: ast.FunctionDef, symbols: dict[str, str]) -> SymbolicFunc:
    """The function as its text, with the plain values that it takes from around it."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & set(r.env)
    values = {name: plain_number(r.env[name]) for name in sorted(names)}
    env = tuple((name, value) for name, value in values.items() if is_data(value))
    later = sorted(name for name, value in r.env.items() if isinstance(value, TypeVar))
    lines = [f'{name} = TypeVar("{name}")' for name in later]
    return SymbolicFunc(tree.name, "\n".join([*lines, ast.unparse(tree)]), tuple(symbols), env)


def refuse_unknown(r: Reader, tree: ast.FunctionDef, symbols: Mapping[str, str]) -> None:
    """Refuse a name that stands for nothing, wherever it is used."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    known = {"T", "range", *r.env, *symbols, *(arg.arg for arg in tree.args.args)}
    known |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    for name in names:
        if name.id not in known:
            hint = "define it before the program, or give it a value in it"
            raise r.error(name, f"There is no `{name.id}` here", hint=hint)


def check_values(func: SymbolicFunc | PrimFunc, values: Mapping[str, int]) -> None:
    """Refuse numbers that are not one positive one for each symbol."""
    sizes = func.sizes if isinstance(func, PrimFunc) else ()
    symbols = func.symbols if isinstance(func, SymbolicFunc) else tuple(v.name for v in sizes)
    asked = f"{func.name}.specialize({values!r})"
    every = ", ".join(f'"{name}": 1024' for name in symbols)
    hint = f"give a positive number for each: specialize({{{every}}})"
    if not symbols:
        headline = f"Can't specialize {func.name}: its sizes are numbers"
        raise ParseError(headline, asked=asked, hint="use it as it is")
    if not isinstance(values, Mapping):
        headline = f"Can't specialize {func.name}: {values!r} is no dictionary of numbers"
        raise ParseError(headline, asked=asked, hint=hint)
    for name in symbols:
        value = plain_number(values.get(name))
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            fault = f"`{name}` is {value!r}" if name in values else f"`{name}` is not given"
            raise ParseError(f"Can't specialize {func.name}: {fault}", asked=asked, hint=hint)
    for name in values:
        if name not in symbols:
            headline = f"Can't specialize {func.name}: no shape is told by `{name}`"
            raise ParseError(headline, asked=asked, hint=hint)


def define_symbols(r: Reader, symbols: dict[str, str]) -> None:
    """Let each symbol stand for its number, or for a size of the program."""
    for name, dtype in symbols.items():
        r.scopes[0][name] = Let(r.symbols[name], dtype)
