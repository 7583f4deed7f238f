"""A map of indices as text, ``lambda i, j: (i // 4, j, i % 4)``: read as data, never run.

A Python function is called by `traced`, when a step is asked for; what the step keeps is text.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from workbench import arith
from workbench.access.counters import one_to_one
from workbench.arith import Bounds
from workbench.ir import Block, Const, Expr, Node, Size, Var, as_expr, binary, dtypes
from workbench.script import expr_text
from workbench.verbs.site import Site

MapLike: TypeAlias = str | Callable[..., Any]
"""What a verb's `index_map` takes: the text of a lambda, or a function, of which it gets that."""

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


@dataclass(frozen=True, slots=True)
class IndexMap:
    """What `parse` read: the names of the old indices and the new indices as syntax."""

    names: tuple[str, ...]
    results: tuple[ast.expr, ...]

    def __call__(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """The new indices for the old ones."""
        known = dict(zip(self.names, indices, strict=True))
        return tuple(_value(e, known) for e in self.results)


def parse(text: str) -> IndexMap:
    """The map that `text` says.

    Raises ValueError, with what is wrong, for anything but a lambda whose results are made of its
    arguments and whole numbers by ``+ - * // %``, or divides by 0.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError("Python can't read it") from None
    if not isinstance(tree, ast.Lambda):
        raise ValueError("it is no lambda")
    arguments = tree.args
    names = tuple(a.arg for a in arguments.args)
    extra = (arguments.posonlyargs, arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    if any(extra) or arguments.defaults:
        raise ValueError("its arguments are to be plain names")
    body = tree.body
    results = tuple(body.elts) if isinstance(body, (ast.Tuple, ast.List)) else (body,)
    mapping = IndexMap(names, results)
    for result in results:
        _check(result, names)
    return mapping


def swapping(count: int) -> str:
    """The map of `count` indices to the same in the opposite order."""
    names = [f"i{n}" for n in range(count)]
    return f"lambda {', '.join(names)}: ({', '.join(reversed(names))},)"


def map_of(site: Site[Block], text: MapLike, count: int, of: str, whose: str) -> IndexMap:
    """The map of `count` indices that `text` says; refused where it is no map "of its iterators".

    `whose` says who has that many.
    """
    assert isinstance(text, str)  # a function arrives as its text
    try:
        mapping = parse(text)
        if len(mapping.names) != count:
            raise ValueError(f"{whose} has {count} {of}")
    except ValueError as error:
        names = "iterators" if of == "iterators" else "indices"
        raise site.refuse(
            f"index_map is no map of its {names}",
            detail=str(error),
            hint="write it like this: lambda i, j: (i // 4, j, i % 4)",
        ) from None
    return mapping


def places_of(new: Sequence[Expr], old: Bounds) -> tuple[Size, ...] | None:
    """How far each of the indices `new` counts, where each value of the `old` has its own place.

    None where it has not, or where one does not count from 0.
    """
    ends = [arith.bounds(index, old) for index in new]
    if not all(e is not None and e[0] == 0 for e in ends) or not one_to_one(new, old, old):
        return None
    if not any(isinstance(each, arith.SizedEnds) for each in old.values()):
        return tuple(e[1] + 1 for e in ends if e is not None)
    sizes = [r.extent for r in arith.region_of(new, old) if arith.equal(r.min, r.min - r.min)]
    known = all(isinstance(n, Const) or arith.by_sizes(n) for n in sizes)
    if not known or len(sizes) < len(new):
        return None
    return tuple(n.value if isinstance(n, Const) else n for n in sizes)


def as_many(one: Sequence[Size], other: Sequence[Size]) -> bool:
    """Whether loops of `one` number of turns each are proved to take as many as those of `other`.

    What both have is left out, so that sizes may stand in any order.
    """
    left = [as_expr(size) for size in other]
    rest = []
    for size in map(as_expr, one):
        same = next((n for n in left if arith.equal(n, size)), None)
        if same is None:
            rest.append(size)
        else:
            left.remove(same)
    return arith.equal(prod(rest, start=as_expr(1)), prod(left, start=as_expr(1)))


def traced(function: Callable[..., Any]) -> str:
    """The text of the map that `function` is, which is called once, with variables for indices.

    Raises ValueError, with what is wrong, where its arguments are no plain names, where it fails,
    and where it makes anything that `parse` does not read.
    """
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some that are not written in Python do not tell
        raise ValueError("Python does not tell its arguments") from None
    if any(a.kind is not a.POSITIONAL_OR_KEYWORD or a.default is not a.empty for a in arguments):
        raise ValueError("its arguments are to be plain names")
    indices = [Var(a.name, "int32") for a in arguments]
    try:
        made = function(*indices)
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        names: dict[Node, str] = {index: index.name for index in indices}
        results = [expr_text(as_expr(index), names) for index in made]
    except Exception as error:  # whatever a function of the caller may raise
        said = " ".join(str(error).split())
        raise ValueError(f"calling it raises {type(error).__name__}: {said}") from None
    comma = "," if len(results) == 1 else ""
    text = f"lambda {', '.join(names.values())}: ({', '.join(results)}{comma})"
    parse(text)
    return text


DEEPEST = 100  # operators in operators; what is made of the map nests as deep again


def _check(e: ast.expr, names: Sequence[str], room: int = DEEPEST) -> None:
    if not room:
        raise ValueError(f"it may not nest more than {DEEPEST} operators")
    match e:
        case ast.Name(id=name) if name in names:
            return
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            if not dtypes.fits(value, "int64"):
                raise ValueError("64 bits do not hold a number in it")
            return
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            _check(left, names, room - 1)
            _check(right, names, room - 1)
            if isinstance(op, (ast.FloorDiv, ast.Mod)):
                _check_divisor(right)
            return
    try:
        shown = ast.unparse(e)
    except RecursionError:
        shown = type(e).__name__  # too deep to be written
    raise ValueError(f"it may not hold {shown!r}")


def _check_divisor(e: ast.expr) -> None:
    """Raise ValueError for a divisor that is 0, or that the indices say."""
    shown = ast.unparse(e)
    if any(isinstance(node, ast.Name) for node in ast.walk(e)):
        raise ValueError(f"it divides by {shown}, and may divide by numbers alone")
    value = _value(e, {})
    if not isinstance(value, Const) or value.value == 0:
        also = "" if shown == "0" else ", which is 0"
        raise ValueError(f"it divides by {shown}{also}")


def _value(e: ast.expr, known: dict[str, Expr]) -> Expr:
    match e:
        case ast.Name(id=name):
            return known[name]
        case ast.Constant(value=int(value)):
            return as_expr(value)
        case ast.BinOp(left, op, right):
            return binary(_OPERATORS[type(op)], _value(left, known), _value(right, known))
    raise AssertionError(f"checked before: {ast.dump(e)}")
