"""Names for values, ``x: T.let = A[i]``, in every form that TVM has had: each use is the value.

A name stands for an expression, so that a program without names means the same. That holds where
the value is the same at each use: what a load gave must still be there, which the reader follows
as it reads (`Reader.stored`), and a block knows no loads of others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from workbench.ir import (
    Block,
    Buffer,
    BufferLoad,
    Expr,
    Node,
    Stmt,
    Var,
    as_expr,
    children,
    dtypes,
    free_vars,
    number_like,
    remembered,
    seq,
    walk,
)
from workbench.ir.nodes import node
from workbench.script.grammar import (
    FUNCTIONS,
    NAMED,
    REFUSED,
    function,
    not_a_number,
    print_expr,
    prints,
    read_dtype,
    read_value,
    refuse_opaque,
)
from workbench.script.namespace import WORDS
from workbench.script.reader import Let, Reader, Value
from workbench.script.writer import Writer


@node
class Bind(Stmt):
    """``x: T.let = value`` as TVM has it; a program holds the value wherever the name stands."""

    var: Var
    value: Expr


@prints(Bind)
def _print_bind(w: Writer, s: Bind) -> None:
    w.begin()
    w.names.define(s.var, s.var.name)
    w.bound.append(s.var)
    w.name(s.var)
    w.put(f": T.let[T.{s.var.type}] = ")
    print_expr(w, s.value)
    w.end(s, "let")


def write_as(body: Stmt, stmts: Sequence[Stmt]) -> None:
    """Let TVM's text have `body`, the same in values, as `stmts`, some of which bind names.

    Not where a name that nobody uses is told by more than the body is: a step that takes that away
    leaves the body as it is.
    """
    named = seq(*stmts)
    if _told_by(named) <= _told_by(body):
        remembered(body)[NAMED] = named


def _told_by(stmt: Stmt) -> set[Node]:
    """The variables and buffers in `stmt` that it does not define."""
    inside = [*walk(stmt)]
    own: set[Node] = {n.var for n in inside if isinstance(n, Bind)}
    own.update(b for n in inside if isinstance(n, Block) for b in n.alloc_buffers)
    return {*free_vars(stmt), *(n for n in inside if isinstance(n, Buffer))} - own


LONGEST = 5_000  # parts of a value, each name in it written out: what is printed is read again


def read_let(r: Reader, tree: ast.stmt) -> bool:
    """Read `tree` if it gives a name to a value, or says of a name that a value will follow."""
    match tree:
        case ast.AnnAssign(target=ast.Name() as name, annotation=note, value=ast.expr() as value):
            if r.is_word(note if not isinstance(note, ast.Subscript) else note.value):
                if _is_axis(r, value):
                    return False
                define_let(r, name, value, _noted_type(r, note))
                return True
        case ast.Assign(targets=[ast.Name() as name], value=ast.Call() as call):
            if r.is_function(call, "bind"):
                said = len(call.args) + len(call.keywords) > 1
                parts = r.arguments(call, "value", *["type_annotation"][: int(said)])
                define_let(r, name, parts[0], _noted_type(r, parts[1]) if said else None)
                return True
    later = declared_later(r, tree)
    for one, call in later:
        _define_later(r, one, call)
    return bool(later)


def declared_later(r: Reader, tree: ast.stmt) -> list[tuple[ast.Name, ast.Call]]:
    """The names of which ``n, m = T.int32(), T.int64()`` says the types, with these; or none."""
    match tree:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=calls)):
            pairs = [*zip(names, calls, strict=False)] if len(names) == len(calls) else []
        case ast.Assign(targets=[name], value=value):
            pairs = [(name, value)]
        case _:
            return []
    later = [
        (name, call)
        for name, call in pairs
        if isinstance(name, ast.Name) and isinstance(call, ast.Call) and _is_later(r, call)
    ]
    return later if len(later) == len(pairs) else []


def _is_axis(r: Reader, tree: ast.expr) -> bool:
    is_call = isinstance(tree, ast.Call) and r.is_word(tree.func)
    return is_call and r.function(tree.func).startswith("axis.")  # type: ignore[attr-defined]


def _is_later(r: Reader, call: ast.Call) -> bool:
    """Whether this says that a value will follow: ``T.int32()``, not ``T.int32(x)``."""
    if not r.is_function(call, "var", *dtypes.BITS):
        return False
    return r.function(call.func) == "var" or not (call.args or call.keywords)


def _define_later(r: Reader, name: ast.Name, call: ast.Call) -> None:
    """``x = T.int32()`` or ``x = T.var("int32")``: a `T.Let` or a view says what it stands for."""
    if name.id in r.symbols:
        return
    dtype = r.function(call.func)
    if dtype == "var":
        (said,) = r.arguments(call, "dtype")
        dtype = read_dtype(r, said)
    r.define(name, name.id, Let(dtype=dtype))


def _noted_type(r: Reader, tree: ast.expr) -> str | None:
    """The type in ``T.let[T.float32]`` or ``T.float32``; None in ``T.let``."""
    if isinstance(tree, ast.Subscript):
        return _noted_type(r, tree.slice)
    name = r.function(tree)
    if name not in dtypes.BITS and name != "let":
        hint = "name a value as x: T.let = vi + 1, or x: T.let[T.int32] = vi + 1"
        raise r.error(tree, f"Can't read this note of a type: {r.text(tree)}", hint=hint)
    return None if name == "let" else name


def define_let(r: Reader, name: ast.Name, tree: ast.expr, dtype: str | None) -> None:
    """Let a name stand for a value from here to the end of the scope."""
    r.define(name, name.id, _named(r, name, tree, dtype))


def _named(r: Reader, name: ast.Name, tree: ast.expr, dtype: str | None) -> Let:
    """What `name` stands for: the value, or a variable that is bound to it."""
    let = _let(r, tree, dtype)
    r.lets += 1
    if r.bound is None:
        return let
    assert let.value is not None
    var = Var(name.id, let.dtype)
    r.bound.append(Bind(var, let.value))
    return Let(var, let.dtype, turns=let.turns, block=let.block)


def _let(r: Reader, tree: ast.expr, dtype: str | None) -> Let:
    value = read_value(r, tree)
    if not isinstance(value, (Expr, bool, int, float)):
        raise not_a_number(r, tree, value)
    if not isinstance(value, Expr) and dtype is not None:
        value = number_like(value, dtype)
    expr = as_expr(value)
    if dtype is not None and expr.dtype != dtype:
        hint = f'convert it: T.Cast("{dtype}", {r.text(tree)})'
        raise r.error(tree, f"The value is {expr.dtype}, not {dtype}", hint=hint)
    if _parts(expr, {}) > LONGEST:
        hint = "store it in a buffer, and load it where it is used"
        raise r.error(tree, f"This value has more than {LONGEST} parts", hint=hint)
    loads = frozenset(
        n.buffer for n in walk(expr) if isinstance(n, BufferLoad) and not n.buffer.scalar
    )
    return Let(expr, expr.dtype, loads, len(r.turns), r.block)


def _parts(e: Expr, known: dict[object, int]) -> int:
    """How many parts `e` has as it is printed, where one that is shared counts each time."""
    if e not in known:
        below = (child for child in children(e) if isinstance(child, Expr))
        known[e] = 1 + sum(_parts(child, known) for child in below)
    return known[e]


def read_let_with(r: Reader, tree: ast.With) -> list[ast.stmt] | None:
    """What stands under ``with T.LetStmt(v) as x:``, its name defined; None for another `with`."""
    match tree.items:
        case [ast.withitem(context_expr=ast.Call() as call, optional_vars=target)]:
            if r.is_function(call, "LetStmt"):
                given = r.bind(call, "value", "type_annotation", "var")
                name, value = given.get("var", target), given.get("value")
            elif r.is_function(call, "let"):
                name, value = r.arguments(call, "var", "value")
            else:
                return None
            if not isinstance(name, ast.Name) or value is None:
                hint = "write it on a line of its own: x: T.let = vi + 1"
                raise r.error(call, "Can't read which name is given a value", hint=hint)
            r.scopes[-1][name.id] = _named(r, name, value, r.later(name.id))
            return tree.body
    return None


@function("Let")
def _read_let_expression(r: Reader, tree: ast.Call) -> Value:
    """``T.Let(x + x, where={x: A[i]})``: names that stand for values in one expression."""
    body, where = r.arguments(tree, "expr", "where")
    if not isinstance(where, ast.Dict) or not all(isinstance(k, ast.Name) for k in where.keys):
        hint = "write T.Let(x + x, where={x: A[i]})"
        raise r.error(where, "Can't read which names are given values", hint=hint)
    with r.scope():
        for key, value in zip(where.keys, where.values, strict=True):
            assert isinstance(key, ast.Name)
            r.scopes[-1][key.id] = _let(r, value, r.later(key.id))
        return read_value(r, body)


@function("evaluate")
def _read_evaluate(r: Reader, tree: ast.Call) -> Value:
    """The value of ``T.evaluate(e)``, of which a statement makes nothing."""
    (value,) = r.arguments(tree, "value")
    if isinstance(value, ast.Call) and _is_unknown(r, value):
        refuse_opaque(r, value)
    return read_value(r, value)


def _is_unknown(r: Reader, call: ast.Call) -> bool:
    """Whether it is a call of a word of T that means nothing here."""
    known = {*WORDS, *FUNCTIONS, *REFUSED}
    return r.is_word(call.func) and r.function(call.func).partition(".")[0] not in known


def is_idle(r: Reader, tree: ast.stmt) -> bool:
    """Whether `tree` computes a value and does nothing with it; what it computes is read."""
    call = tree.value if isinstance(tree, ast.Expr) else None
    if not isinstance(call, ast.Call) or not r.is_word(call.func):
        return False
    if _is_unknown(r, call):
        refuse_opaque(r, call)
    if r.function(call.func) not in {*FUNCTIONS, *REFUSED}:
        return False
    read_value(r, call)
    return True


# --- several values at once ----------------------------------------------------------------------


def in_turn(r: Reader, trees: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """`trees` as they are to be read, one after the other.

    Stores of values that have names already, one behind the other, take place at once. Written as
    the values that the names stand for, one that loads what another one stores to comes ahead.
    """
    at = 0
    while at < len(trees):
        if r.bound is not None:  # as they were written
            yield from trees
            return
        run = _named_stores(r, trees[at:])
        yield from _sorted(r, run) or run or trees[at : at + 1]
        at += max(len(run), 1)


def _named_stores(r: Reader, trees: Sequence[ast.stmt]) -> list[ast.Assign]:
    """The stores at the start of `trees`, each to a buffer of its own, of values with names."""
    run: list[ast.Assign] = []
    seen: set[str] = set()
    for tree in trees:
        match tree:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(buffer), slice=place)], value=ast.Name(name)
            ) if isinstance(r.named(buffer), Buffer) and buffer not in seen:
                let = r.named(name)
                inside = [n for n in ast.walk(place) if isinstance(n, (ast.Subscript, ast.Name))]
                plain = all(isinstance(n, ast.Name) and not _loads(r, n.id) for n in inside)
                if not (isinstance(let, Let) and let.value is not None and plain):
                    break
                run.append(tree)
                seen.add(buffer)
            case _:
                break
    return run


def _loads(r: Reader, name: str) -> frozenset[Buffer]:
    named = r.named(name)
    return named.loads if isinstance(named, Let) else frozenset()


def _sorted(r: Reader, run: Sequence[ast.Assign]) -> list[ast.Assign]:
    """`run` with each load ahead of the store to it; nothing where each must be the first."""
    left, ordered = [*run], []
    while left:
        free = (one for one in left if not any(_needs(r, other, one) for other in left))
        first = next(free, None)
        if first is None:
            return []
        left.remove(first)
        ordered.append(first)
    return ordered


def _needs(r: Reader, store: ast.Assign, other: ast.Assign) -> bool:
    """Whether what `store` stores was loaded from the buffer to which `other` stores."""
    name, target = store.value, other.targets[0]
    assert isinstance(name, ast.Name)
    assert isinstance(target, ast.Subscript)
    assert isinstance(target.value, ast.Name)
    return store is not other and r.named(target.value.id) in _loads(r, name.id)
