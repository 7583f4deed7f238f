"""Structural equality: two programs are equal when only names of variables tell them apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TypeAlias

from workbench.ir.nodes import (
    Block,
    BlockId,
    Buffer,
    Const,
    Entries,
    For,
    IterVar,
    Kernel,
    Node,
    PrimFunc,
    Var,
    once,
)
from workbench.ir.visit import field_names

Difference: TypeAlias = tuple[str, object, object]  # path, left, right


def structural_equal(a: Node, b: Node) -> bool:
    """Whether `a` and `b` are the same program, up to a renaming of variables and buffers.

    Variables and buffers correspond by where they are defined; names of loops, iterators and
    buffers do not count, names of functions and thread axes do. As TVM's ``structural_equal`` with
    free variables mapped, but that names of blocks count here, too: steps find blocks by them.

    >>> wb.structural_equal(add, sch.func)
    True
    >>> wb.structural_equal(add, bound.func)
    False
    """
    return first_difference(a, b) is None


def assert_structural_equal(a: Node, b: Node) -> None:
    """Raise AssertionError, naming the first place where they differ, unless `a` equals `b`.

    >>> wb.assert_structural_equal(add, sch.func)
    """
    difference = first_difference(a, b)
    if difference is not None:
        path, left, right = difference
        raise AssertionError(
            f"the programs differ at {path or 'the root'}: {left!r} is not {right!r}"
        )


@once  # of one program it is asked when it is ranked, when it is measured, and when it won
def structural_hash(a: Node) -> str:
    """A text that is the same for programs that are `structural_equal`, and for no others.

    But for one in 2^64 pairs of them: it is half of a SHA-256.
    """
    digest = _Digest()
    digest.add(a)
    return digest.hash.hexdigest()[:16]


def first_difference(a: object, b: object) -> Difference | None:
    """Where `a` and `b` first differ, as (path, left, right); None where they are equal."""
    return _Comparison().compare(a, b, "")


class _Comparison:
    def __init__(self) -> None:
        self.left: dict[Node, Node] = {}  # what a variable or buffer of the left is on the right
        self.right: dict[Node, Node] = {}

    def compare(self, a: object, b: object, path: str) -> Difference | None:
        if isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b):
                return path, a, b
            pairs = ((x, y, f"{path}[{k}]") for k, (x, y) in enumerate(zip(a, b, strict=True)))
            return self._first(pairs)
        if type(a) is not type(b):
            return path, a, b
        if isinstance(a, BlockId):
            return None
        if isinstance(a, Entries):
            assert isinstance(b, Entries)
            return self.compare(a.pairs, b.pairs, path)
        if isinstance(a, (Var, Buffer)):
            return self._compare_leaf(a, b, path)
        if not isinstance(a, Node) or not isinstance(b, Node):
            return None if a == b else (path, a, b)
        if isinstance(a, Const) and isinstance(b, Const):
            return None if _same_number(a, b) else (path, a, b)
        return self._first(
            (_field(a, name), _field(b, name), f"{path}.{name}" if path else name)
            for name in _order(type(a))
        )

    def _first(self, pairs: Iterable[tuple[object, object, str]]) -> Difference | None:
        for a, b, path in pairs:
            difference = self.compare(a, b, path)
            if difference is not None:
                return difference
        return None

    def _compare_leaf(self, a: Var | Buffer, b: object, path: str) -> Difference | None:
        assert isinstance(b, (Var, Buffer))
        if a in self.left or b in self.right:
            return None if self.left.get(a) is b else (path, a, b)
        if _kind(a) != _kind(b):
            return path, a, b
        if isinstance(a, Buffer) and isinstance(b, Buffer):  # sizes are defined by shapes
            found = self.compare((a.shape, a.strides), (b.shape, b.strides), f"{path}.shape")
            if found is not None:
                return path, a, b
        self.left[a], self.right[b] = b, a
        return None


class _Digest:
    """Puts all that `_Comparison` compares into a hash, variables by the order of their first."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.numbers: dict[Node, int] = {}

    def add(self, value: object) -> None:
        if isinstance(value, tuple):
            self._note("tuple", len(value))
            for item in value:
                self.add(item)
            return
        if isinstance(value, Entries):
            self._note("Entries")
            self.add(value.pairs)
        elif isinstance(value, (Var, Buffer)):
            self._add_leaf(value)
        elif isinstance(value, BlockId) or not isinstance(value, Node):
            self._note(type(value).__name__, "" if isinstance(value, BlockId) else value)
        elif isinstance(value, Const):
            self._note("Const", value.type, value.value)
        else:
            self._note(type(value).__name__)
            for name in _order(type(value)):
                self.add(_field(value, name))

    def _add_leaf(self, leaf: Var | Buffer) -> None:
        if leaf in self.numbers:
            self._note("seen", self.numbers[leaf])
            return
        self._note(type(leaf).__name__, _kind(leaf))
        if isinstance(leaf, Buffer):
            self.add((leaf.shape, leaf.strides))
        self.numbers[leaf] = len(self.numbers)

    def _note(self, *words: object) -> None:
        self.hash.update(f"{words!r};".encode())


def _kind(leaf: Var | Buffer) -> tuple[object, ...]:
    """All of a variable or buffer that counts: not its name."""
    if isinstance(leaf, Buffer):
        place = leaf.storage_scope, leaf.scalar, leaf.align, leaf.offset_factor
        return leaf.type, len(leaf.shape), *place
    return (leaf.type,)


def _same_number(a: Const, b: Const) -> bool:
    """Whether two constants are the same bits: NaN is itself, and 0.0 is not -0.0."""
    return a.type == b.type and repr(a.value) == repr(b.value)


def _field(node: Node, name: str) -> object:
    """A field to compare; annotations and attributes are mappings, whose order says nothing."""
    value = getattr(node, name)
    return tuple(sorted(value)) if name in ("attrs", "annotations") else value


_DEFINING: dict[type[Node], tuple[str, ...]] = {
    For: ("loop_var",),
    IterVar: ("var",),
    PrimFunc: ("params",),
    Block: ("iter_vars", "alloc_buffers"),
    Kernel: ("params", "allocs", "axes"),
}


def _order(kind: type[Node]) -> tuple[str, ...]:
    """The fields of `kind` with those that define variables first."""
    names = field_names(kind)
    first = _DEFINING.get(kind, ())
    return (*first, *(n for n in names if n not in first))
