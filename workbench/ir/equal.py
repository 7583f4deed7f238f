"""Structural equality: two programs are equal when only names of variables tell them apart."""

from __future__ import annotations

from workbench.ir.nodes import BlockId, Buffer, Const, For, IterVar, Node, PrimFunc, Var
from workbench.ir.visit import _field_names


def structural_equal(a: Node, b: Node) -> bool:
    """Whether `a` and `b` are the same program, up to a renaming of variables and buffers.

    Variables and buffers correspond by where they are defined; names of loops, iterators and
    buffers do not count, names of blocks, functions and thread axes do. As TVM's
    ``structural_equal`` with free variables mapped.
    """
    return first_difference(a, b) is None


def assert_structural_equal(a: Node, b: Node) -> None:
    """Raise AssertionError, naming the first place where they differ, unless `a` equals `b`."""
    difference = first_difference(a, b)
    if difference is not None:
        path, left, right = difference
        raise AssertionError(
            f"the programs differ at {path or 'the root'}: {left!r} is not {right!r}"
        )


def first_difference(a: object, b: object) -> tuple[str, object, object] | None:
    """Where `a` and `b` first differ, as (path, left, right); None where they are equal."""
    return _Comparison().compare(a, b, "")


class _Comparison:
    def __init__(self) -> None:
        self.left: dict[Node, Node] = {}  # what a variable or buffer of the left is on the right
        self.right: dict[Node, Node] = {}

    def compare(self, a: object, b: object, path: str) -> tuple[str, object, object] | None:
        if isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b):
                return path, a, b
            pairs = ((x, y, f"{path}[{k}]") for k, (x, y) in enumerate(zip(a, b, strict=True)))
            return self._first(pairs)
        if type(a) is not type(b):
            return path, a, b
        if isinstance(a, BlockId):
            return None
        if isinstance(a, (Var, Buffer)):
            return self._compare_leaf(a, b, path)
        if not isinstance(a, Node):
            return None if a == b else (path, a, b)
        if isinstance(a, Const):
            return None if _same_number(a, b) else (path, a, b)
        return self._first(
            (getattr(a, name), getattr(b, name), f"{path}.{name}" if path else name)
            for name in _order(type(a))
        )

    def _first(self, pairs):
        for a, b, path in pairs:
            difference = self.compare(a, b, path)
            if difference is not None:
                return difference
        return None

    def _compare_leaf(self, a, b, path: str) -> tuple[str, object, object] | None:
        if a in self.left or b in self.right:
            return None if self.left.get(a) is b else (path, a, b)
        same = a.type == b.type
        if isinstance(a, Buffer):
            same = same and (a.shape, a.scope, a.strides) == (b.shape, b.scope, b.strides)
        if not same:
            return path, a, b
        self.left[a], self.right[b] = b, a
        return None


def _same_number(a: Const, b: Const) -> bool:
    """Whether two constants are the same bits: NaN is itself, and 0.0 is not -0.0."""
    return a.type == b.type and repr(a.value) == repr(b.value)


def _order(kind: type[Node]) -> tuple[str, ...]:
    """The fields of `kind` with those that define variables first."""
    names = _field_names(kind)
    first = {For: ("loop_var",), IterVar: ("var",), PrimFunc: ("params",)}.get(kind, ())
    if kind.__name__ == "Block":
        first = ("iter_vars", "alloc_buffers")
    return (*first, *(n for n in names if n not in first))
