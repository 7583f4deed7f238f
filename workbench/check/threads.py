"""Thread axes: each kernel's have one extent each, and nested loops of one axis do not mix."""

from __future__ import annotations

from collections.abc import Iterator

from workbench import arith, script
from workbench.arith import by_sizes
from workbench.check.finding import Finding
from workbench.check.kernels import Nest
from workbench.diag import Act
from workbench.ir import (
    VIRTUAL_AXES,
    BlockRealize,
    Const,
    Expr,
    For,
    IfThenElse,
    Node,
    SeqStmt,
    Stmt,
    Var,
)
from workbench.ir.places import Places, inner
from workbench.ir.visit import children, free_vars, path_to
from workbench.script.writer import string

OWN_AXIS = "vthread"  # TVM's name; each loop that is bound to it is an axis of its own


def axis_errors(nest: Nest) -> Iterator[Finding]:
    """Errors in how the loops of a kernel use the thread axes."""
    yield from _extents_differ(nest.bound)
    for loop in nest.bound:
        yield from _mixes_with_outer(loop, nest.known)
        yield from _bound_inside(loop, nest)


def _extents_differ(loops: list[For]) -> Iterator[Finding]:
    first: dict[str, For] = {}
    for loop in loops:
        assert loop.thread is not None
        if loop.thread == OWN_AXIS:
            continue
        other = first.setdefault(loop.thread, loop)
        if by_sizes(loop.extent) and arith.equal(other.extent, loop.extent):
            continue
        a, b = _extent(other), _extent(loop)
        if a == b and not by_sizes(loop.extent):
            continue
        yield Finding(
            f"{loop.thread} cannot be both {a} (`{other.loop_var.name}`) and {b} "
            f"(`{loop.loop_var.name}`) in one kernel",
            (other, loop),
            hint=f"split `{loop.loop_var.name}` so that its bound part runs {a} times",
            detail=one_size(loop.thread),
        )


def one_size(axis: str) -> str:
    """Why loops of one kernel that are bound to `axis` run equally often."""
    if axis in VIRTUAL_AXES:
        return (
            f"a thread has one size of {axis} for all loops of its kernel; each loop on "
            f'plain "{OWN_AXIS}" is an axis of its own'
        )
    return f"a kernel is launched with one size of {axis} for all its loops"


def _extent(loop: For) -> object:
    if by_sizes(loop.extent):
        return script.expr_text(loop.extent)
    return loop.extent.value if isinstance(loop.extent, Const) else "a varying number"


def _mixes_with_outer(inner: For, known: Places) -> Iterator[Finding]:
    for outer in known.above(inner):
        if isinstance(outer, For) and outer.thread == inner.thread not in (None, OWN_AXIS):
            user = mixing(outer, inner)
            if user is not None:
                a, b = outer.loop_var.name, inner.loop_var.name
                yield Finding(
                    f"`{b}` inside `{a}` is the same {inner.thread}, yet {name_of(user)} uses both",
                    (outer, inner, user),
                    hint=f"bind `{b}` to another axis, or keep it serial",
                    detail=why_not_mixed(outer, inner, inner.thread or ""),
                )


def _bound_inside(loop: For, nest: Nest) -> Iterator[Finding]:
    """A bound loop in the body of a block: what its threads share is not seen from outside."""
    for outer in nest.known.above(loop):
        is_own = outer is nest.stmt or nest.stmt in nest.known.above(outer)
        if is_own and isinstance(outer, BlockRealize):
            name = outer.block.name
            ahead = (
                f"make its T.init() a block of its own: sch.decompose_reduction({string(name)}, …)"
            )
            around = "bind a loop around that block, and keep the loops in it serial"
            yield Finding(
                f"`{loop.loop_var.name}` is bound to {loop.thread} inside the block `{name}`",
                (loop, outer),
                hint=ahead if outer.block.init is not None else around,
                act=Act("decompose_reduction", outer.block.id) if outer.block.init else None,
            )
            return


def why_not_mixed(outer: For, inner: For, axis: str) -> str:
    """What would go wrong where two nested loops of one axis are both used."""
    a, b = outer.loop_var.name, inner.loop_var.name
    if axis in VIRTUAL_AXES:
        return f"one {axis} would do only iterations with {a} = {b}; `{OWN_AXIS}` is a new axis"
    return f"a thread has one {axis}, so only iterations with {a} = {b} would ever be done"


def name_of(user: Stmt) -> str:
    """What people call a statement."""
    return f"`{user.block.name}`" if isinstance(user, BlockRealize) else "what is inside"


def mixing(outer: For, inner: For) -> Stmt | None:
    """The first statement in `inner`, a loop in `outer`, that uses the variables of both.

    Where there is none, both can be one thread axis: the threads share `inner` out anew.
    """
    carriers = {outer.loop_var}  # and iterators of blocks around `inner` that are made of it
    for node in path_to(outer, inner):
        control = _control(node)
        if control is not None and not carriers.isdisjoint(free_vars(control)):
            assert isinstance(node, Stmt)
            return node  # `inner` itself runs only in some of the threads that would share it out
        if isinstance(node, BlockRealize):
            for var, value in node.bindings.items():
                if not carriers.isdisjoint(free_vars(value)):
                    carriers.add(var)
    return _first_user(inner.body, carriers)


def _control(node: Node) -> Expr | None:
    """What decides whether, or how often, the statements in `node` run."""
    match node:
        case BlockRealize():
            return node.predicate
        case IfThenElse():
            return node.condition
        case For():
            return node.extent
    return None


def _first_user(stmt: Stmt, carriers: set[Var]) -> Stmt | None:
    """The first statement in `stmt` that reads one of `carriers`; a block, in its bindings."""
    if not isinstance(stmt, (For, SeqStmt, IfThenElse)):
        return None if carriers.isdisjoint(free_vars(stmt)) else stmt
    if any(isinstance(e, Expr) and not carriers.isdisjoint(free_vars(e)) for e in children(stmt)):
        return stmt
    below = (_first_user(part, carriers) for part in inner(stmt))
    return next((user for user in below if user is not None), None)
