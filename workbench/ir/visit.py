"""Walking and rewriting programs, written once from the fields of the nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any, TypeVar

from workbench.ir.nodes import (
    BinOp,
    Block,
    BlockId,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IterVar,
    Node,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    Var,
    binary,
    const,
    seq,
)

N = TypeVar("N", bound=Node)

# Leaves by design: a walk meets a variable or a buffer where it is used, and goes no deeper.
_LEAVES = (Var, Buffer, BlockId)


_PLAIN = frozenset({"str", "int", "bool", "bool | int | float"})  # types that hold no nodes


class _Fields(dict[type[Node], tuple[str, ...]]):
    """By the kind of a node, the names of its fields that may hold nodes, in order."""

    def __missing__(self, kind: type[Node]) -> tuple[str, ...]:
        inside = () if issubclass(kind, _LEAVES) else fields(kind)
        names = self[kind] = tuple(f.name for f in inside if f.type not in _PLAIN)
        return names


_FIELDS = _Fields()


def field_names(kind: type[Node]) -> tuple[str, ...]:
    """The names of the fields of a kind of node, in order."""
    return tuple(kind.__dataclass_fields__)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below `node`, in the order in which they are printed and run."""
    try:
        return node._below
    except AttributeError:
        below = _find_children(node)
        object.__setattr__(node, "_below", below)
        return below


def _find_children(node: Node) -> tuple[Node, ...]:
    below: list[Node] = []
    for name in _FIELDS[type(node)]:
        value = getattr(node, name)
        if isinstance(value, Node):
            below.append(value)
        elif isinstance(value, tuple):
            below += [item for item in value if isinstance(item, Node)]
    return tuple(below)


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything below it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        try:  # as `children`, without a call for each node
            below = current._below
        except AttributeError:
            below = children(current)
        if below:
            stack += below[::-1]


def walk_statements(node: Node) -> Iterator[Node]:
    """As `walk`, without expressions: statements, and the blocks and regions among them."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if not isinstance(current, BufferStore):
            stack += [below for below in children(current)[::-1] if not isinstance(below, Expr)]


def rebuild(node: N, change: Callable[[Node], Node | None]) -> N:
    """`node` with `change` applied to each of its children; itself where nothing changed.

    `change` returns None for a statement of a sequence that is to go. Raises ValueError where the
    only statement of a body would go.
    """
    names = _FIELDS[type(node)]
    if not names:
        return node
    changed: dict[str, object] = {}
    for name in names:
        value = getattr(node, name)
        new: object
        if isinstance(value, Node):
            new = change(value)
        elif isinstance(value, tuple):
            new = _rebuild_tuple(value, change)
        else:
            continue
        if new is None and not (isinstance(node, Block) and name == "init"):
            raise ValueError(f"removing the only {name} of a {type(node).__name__}")
        if new is not value:
            changed[name] = new
    if not changed:
        return node
    if isinstance(node, SeqStmt):
        stmts = changed["stmts"]
        assert isinstance(stmts, tuple)
        if not stmts:
            return None  # type: ignore[return-value]  # the sequence goes with its last statement
        return seq(*stmts)  # type: ignore[return-value]
    every = type(node).__dataclass_fields__
    return type(node)(*[changed[n] if n in changed else getattr(node, n) for n in every])


def _rebuild_tuple(
    value: tuple[object, ...], change: Callable[[Node], Node | None]
) -> tuple[object, ...]:
    new = [change(item) if isinstance(item, Node) else item for item in value]
    if all(map(operator.is_, new, value)):
        return value
    return tuple(item for item in new if item is not None)


def rewrite(node: N, change: Callable[[Node], Node | None]) -> N:
    """`node` with `change` applied to everything in it, children first.

    `change` gets a node whose children are done and returns it, another in its place, or None to
    drop a statement. Subtrees in which nothing changes stay the same objects.
    """

    def visit(current: Node) -> Node | None:
        rebuilt = rebuild(current, visit)
        return None if rebuilt is None else change(rebuilt)

    result = visit(node)
    assert result is not None, "the whole tree was dropped"
    return result  # type: ignore[return-value]


def substitute(node: N, values: Mapping[Var, Expr]) -> N:
    """`node` with each variable in `values` replaced; constants that appear are folded.

    Integer arithmetic that becomes constant, or gains a ``+ 0`` or ``* 1``, is folded as Python's
    operators on expressions do; nothing is reordered.
    """
    if not values or (isinstance(node, Expr) and values.keys().isdisjoint(free_vars(node))):
        return node

    def visit(current: Node) -> Node | None:
        if isinstance(current, Var):
            return values.get(current, current)
        if isinstance(current, Expr) and values.keys().isdisjoint(free_vars(current)):
            return current
        if isinstance(current, BinOp):
            a, b = visit(current.a), visit(current.b)
            same = a is current.a and b is current.b
            return current if same else binary(current.op, a, b)  # type: ignore[arg-type]
        return rebuild(current, visit)

    return visit(node)  # type: ignore[return-value]


def substitute_buffers(node: N, buffers: Mapping[Buffer, Buffer]) -> N:
    """`node` with each buffer in `buffers` replaced wherever it is named."""
    return rewrite(node, lambda n: buffers.get(n, n) if isinstance(n, Buffer) else n)


def substitute_cells(
    node: N, buffers: Mapping[Buffer, Buffer], at: Callable[[Buffer], tuple[Expr, ...]]
) -> N:
    """`node` with what was a cell of a key of `buffers` told in its value, by more indices ahead.

    `at` gives these for a key.
    """

    def visit(node: Node) -> Node:
        match node:
            case BufferLoad(buffer=old) | BufferStore(buffer=old) if old in buffers:
                return replace(node, buffer=buffers[old], indices=(*at(old), *node.indices))
            case BufferRegion(buffer=old, region=box) if old in buffers:
                ahead = (Range(index, const(1, index.dtype)) for index in at(old))
                return BufferRegion(buffers[old], (*ahead, *box))
        return node

    return rewrite(node, visit)


def replace_node(root: N, old: Node, new: Node | None) -> N:
    """`root` with the node `old` (that very object) replaced by `new`; None drops a statement."""
    done = False

    def visit(current: Node) -> Node | None:
        nonlocal done
        if done:
            return current
        if current is old:
            done = True
            return new
        return rebuild(current, visit)

    result = visit(root)
    assert done, "the node to replace is not in the tree"
    return result  # type: ignore[return-value]


def replace_each(root: N, changed: Mapping[Any, Node]) -> N:
    """`root` with each statement or block in `changed`, none inside another, replaced by its value.

    What holds none of them is shared with `root`.
    """

    def visit(node: Node) -> Node:
        if isinstance(node, (Stmt, Block)) and node in changed:
            return changed[node]
        return rebuild(node, visit) if isinstance(node, (Stmt, Block, PrimFunc)) else node

    return visit(root)  # type: ignore[return-value]


def path_to(root: Node, target: Node) -> tuple[Node, ...]:
    """The nodes from `root` down to `target` itself; () where `target` is not below `root`."""
    if root is target:
        return (root,)
    for child in children(root):
        below = path_to(child, target)
        if below:
            return (root, *below)
    return ()


def free_vars(node: Node) -> Sequence[Var]:
    """The variables used in `node` that it does not itself define, in order of first use."""
    try:
        return node._free
    except AttributeError:
        free = _find_free(node)
        object.__setattr__(node, "_free", free)
        return free


def _find_free(node: Node) -> Sequence[Var]:
    if isinstance(node, Var):
        return (node,)
    if isinstance(node, Expr):  # which defines none: what it is made of is asked on its own, too
        parts = [free for below in children(node) if (free := free_vars(below))]
        return parts[0] if len(parts) == 1 else tuple(dict.fromkeys(chain.from_iterable(parts)))
    defined: set[Var] = set()
    used: dict[Var, None] = {}
    for current in walk(node):
        if isinstance(current, Var):
            used[current] = None
        elif isinstance(current, For):
            defined.add(current.loop_var)
        elif isinstance(current, IterVar):
            defined.add(current.var)
    return tuple(var for var in used if var not in defined)


def loops_and_blocks(func: PrimFunc) -> Iterator[For | BlockRealize]:
    """Every loop and block realisation below the root block, in program order."""
    for current in walk(func.root.body):
        if isinstance(current, (For, BlockRealize)):
            yield current


def copy_fresh(stmt: Stmt) -> tuple[Stmt, dict[Node, Node]]:
    """A copy of `stmt` with fresh loop variables, iterators, block identities and own buffers.

    Also returns which old variable or block identity became which new one.
    """
    fresh: dict[Node, Node] = {}
    for current in walk(stmt):
        match current:
            case For(loop_var=var) | IterVar(var=var):
                fresh[var] = Var(var.name, var.type)
            case Block(id=identity, alloc_buffers=own):
                fresh[identity] = BlockId()
                fresh.update((buffer, replace(buffer)) for buffer in own)
            case _:
                pass
    return rewrite(stmt, lambda n: fresh.get(n, n)), fresh


def expressions_in(stmt: Stmt) -> Iterator[Node]:
    """What stands in a statement itself, and not in statements inside it."""
    return (n for part in children(stmt) if isinstance(part, Expr) for n in walk(part))


def stores(node: Node) -> Iterator[BufferStore]:
    """Every store in `node`, in program order."""
    return (one for one in walk_statements(node) if isinstance(one, BufferStore))
