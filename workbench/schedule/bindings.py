"""How loop variables are replaced: block bindings come out as TVM writes them.

TVM simplifies the bindings of a block after each step (`IterMapSimplifyBlockBinding`): sums of
tiles are flat, the two halves of a fused loop are put together again, and a sum that a predicate
bounds stays together in parentheses. Every rewriting here holds for all values of the variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from workbench.arith import conjuncts
from workbench.ir import (
    TRUE,
    BinOp,
    Block,
    BlockRealize,
    BufferLoad,
    Const,
    Expr,
    For,
    IfThenElse,
    Node,
    SeqStmt,
    Stmt,
    Var,
    const,
    free_vars,
    rebuild,
    seq,
    substitute,
    walk,
)


def replace_loops(
    stmt: Stmt, values: Mapping[Var, Expr], *, units: frozenset[Var] = frozenset()
) -> Stmt:
    """`stmt` with loop variables replaced by `values` and the block bindings in it simplified.

    Variables in `units`, of loops that run once, are left out of the bindings. What uses none of
    the loops is shared with `stmt`.
    """
    if isinstance(stmt, BlockRealize):
        return _realize(stmt, values, units)
    if not isinstance(stmt, (For, SeqStmt, IfThenElse)):
        return substitute(stmt, values)

    def visit(node: Node) -> Node:
        if isinstance(node, Stmt):
            return replace_loops(node, values, units=units)
        return node if node in bound else substitute(node, values)

    bound = {stmt.loop_var} if isinstance(stmt, For) else set()
    return rebuild(stmt, visit)


def _realize(stmt: BlockRealize, values: Mapping[Var, Expr], units: frozenset[Var]) -> BlockRealize:
    predicate = substitute(stmt.predicate, values)
    bound = tuple(substitute(value, values) for value in stmt.iter_values)
    changed = any(a is not b for a, b in zip(bound, stmt.iter_values, strict=True))
    block = stmt.block
    if any(var in values for var in free_vars(block)):  # a block may read a loop around it
        block = _substitute_block(block, values)
    if not changed and predicate is stmt.predicate and block is stmt.block:
        return stmt
    if changed or predicate is not stmt.predicate:
        bound = simplify_bindings(bound, predicate, units)
    return replace(stmt, iter_values=bound, predicate=predicate, block=block)


def _substitute_block(block: Block, values: Mapping[Var, Expr]) -> Block:
    new = substitute(block, values)
    return replace(new, id=block.id)


def guarded(stmt: Stmt, condition: Expr) -> Stmt:
    """`stmt` done only where `condition` holds: a predicate on each block, an `if` elsewhere."""
    if isinstance(stmt, For):
        return replace(stmt, body=guarded(stmt.body, condition))
    if isinstance(stmt, SeqStmt):
        return seq(*(guarded(s, condition) for s in stmt.stmts))
    if isinstance(stmt, BlockRealize):
        reads = any(isinstance(node, BufferLoad) for node in walk(stmt.predicate))
        first, second = (condition, stmt.predicate) if reads else (stmt.predicate, condition)
        return replace(stmt, predicate=both(first, second))  # what it reads may be guarded now
    return IfThenElse(condition, stmt)


def both(a: Expr, b: Expr) -> Expr:
    """`a and b`; the other where one is always true."""
    if isinstance(a, Const) and a.value is True:
        return b
    return a if isinstance(b, Const) and b.value is True else BinOp("and", a, b)


def simplify_bindings(
    values: Sequence[Expr], predicate: Expr = TRUE, units: frozenset[Var] = frozenset()
) -> tuple[Expr, ...]:
    """Block bindings as TVM writes them; left alone where two predicates bound one variable."""
    forms = [_form(c.a) for c in conjuncts(predicate) if isinstance(c, BinOp) and c.op == "<"]
    groups = [form for form in forms if len(form.terms) > 1]
    seen: set[Var] = set()
    for group in groups:
        used = set(free_vars(_emit(group, "int32")))
        if used & seen:
            return tuple(values)
        seen |= used
    return tuple(_emit(_form(v, groups, units), v.dtype) for v in values)


# --- sums of tiles -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sum:
    """`constant` plus each atom times its factor, in the order in which they are written."""

    terms: tuple[tuple[_Atom, int], ...]
    constant: int = 0


@dataclass(frozen=True, slots=True)
class _Digit:
    """`source // lower % extent`; without the remainder where `extent` is None."""

    source: _Atom
    lower: int
    extent: int | None


_Atom: TypeAlias = "Expr | _Digit | _Sum"
"""What a sum is of: an expression that is not looked into, a digit of one, a sum kept together."""


def _form(expr: Expr, groups: Sequence[_Sum] = (), units: frozenset[Var] = frozenset()) -> _Sum:
    """`expr` as a flat sum, with each of `groups` that is part of it kept together."""
    return _grouped(_flat(expr, groups, units), groups)


def _flat(expr: Expr, groups: Sequence[_Sum], units: frozenset[Var]) -> _Sum:
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return _Sum((), int(expr.value))
    if isinstance(expr, Var) and expr in units:
        return _Sum(())
    if not isinstance(expr, BinOp):
        return _Sum(((expr, 1),))
    right = expr.b.value if isinstance(expr.b, Const) else None
    if expr.op in "+-":
        a, b = _flat(expr.a, groups, units), _flat(expr.b, groups, units)
        return _added(a, b, 1 if expr.op == "+" else -1)
    if expr.op == "*" and isinstance(right, int):
        return _scaled(_flat(expr.a, groups, units), right)
    if expr.op in ("//", "%") and isinstance(right, int) and right > 0:
        inner = _atom(_grouped(_flat(expr.a, groups, units), groups))
        return _divided(inner, right) if expr.op == "//" else _remainder(inner, right)
    return _Sum(((expr, 1),))


def _scaled(form: _Sum, factor: int) -> _Sum:
    if factor == 0:
        return _Sum(())
    return _Sum(tuple((atom, c * factor) for atom, c in form.terms), form.constant * factor)


def _added(a: _Sum, b: _Sum, sign: int) -> _Sum:
    factors = dict(a.terms)
    for atom, factor in b.terms:
        factors[atom] = factors.get(atom, 0) + sign * factor
    terms = tuple((atom, factor) for atom, factor in factors.items() if factor)
    return _joined(_Sum(terms, a.constant + sign * b.constant))


def _joined(form: _Sum) -> _Sum:
    """`form` with digits that follow each other in one number put together again."""
    for high, high_factor in form.terms:
        for low, low_factor in form.terms:
            if not isinstance(high, _Digit) or not isinstance(low, _Digit) or low.extent is None:
                continue
            if high.source != low.source or high.lower != low.lower * low.extent:
                continue
            if high_factor != low_factor * low.extent:
                continue
            extent = None if high.extent is None else high.extent * low.extent
            whole = _digit(low.source, low.lower, extent)
            terms: list[tuple[_Atom, int]] = []
            for atom, factor in form.terms:
                if atom is high:
                    terms.extend(_scaled(whole, low_factor).terms)
                elif atom is not low:
                    terms.append((atom, factor))
            return _joined(_Sum(tuple(terms), form.constant))
    return form


def _digit(source: _Atom, lower: int, extent: int | None) -> _Sum:
    if lower == 1 and extent is None:
        return source if isinstance(source, _Sum) else _Sum(((source, 1),))
    return _Sum(((_Digit(source, lower, extent), 1),))


def _divided(atom: _Atom, by: int) -> _Sum:
    if by == 1:
        return _digit(atom, 1, None)
    if isinstance(atom, _Digit) and atom.extent is None:
        return _digit(atom.source, atom.lower * by, None)
    if isinstance(atom, _Digit) and atom.extent is not None and atom.extent % by == 0:
        if atom.extent == by:
            return _Sum(())
        return _digit(atom.source, atom.lower * by, atom.extent // by)
    return _digit(atom, by, None)


def _remainder(atom: _Atom, by: int) -> _Sum:
    if by == 1:
        return _Sum(())
    if isinstance(atom, _Digit):
        if atom.extent is None or atom.extent % by == 0:
            return _digit(atom.source, atom.lower, by)
        if by % atom.extent == 0:
            return _Sum(((atom, 1),))
    return _digit(atom, 1, by)


def _atom(form: _Sum) -> _Atom:
    if len(form.terms) == 1 and form.terms[0][1] == 1 and form.constant == 0:
        return form.terms[0][0]
    return form


def _grouped(form: _Sum, groups: Sequence[_Sum]) -> _Sum:
    """`form` with each of `groups` in it as one atom, where the first of its terms was."""
    for group in groups:
        factors = dict(form.terms)
        first, unit = group.terms[0]
        scale, rest = divmod(factors.get(first, 0), unit)
        if scale < 1 or rest or group.constant or len(form.terms) == len(group.terms):
            continue
        if any(factors.get(atom) != factor * scale for atom, factor in group.terms):
            continue
        inside = {atom for atom, _ in group.terms}
        terms: list[tuple[_Atom, int]] = []
        for atom, factor in form.terms:
            if atom not in inside:
                terms.append((atom, factor))
            elif atom == first:
                terms.append((group, scale))
        form = _Sum(tuple(terms), form.constant)
    return form


def _emit(form: _Sum, dtype: str) -> Expr:
    total: Expr = const(0, dtype)
    for atom, factor in form.terms:
        value = _emit_atom(atom, dtype)
        total = total - value * -factor if factor < 0 else total + value * factor
    constant = form.constant
    return total - const(-constant, dtype) if constant < 0 else total + const(constant, dtype)


def _emit_atom(atom: _Atom, dtype: str) -> Expr:
    if isinstance(atom, _Sum):
        return _emit(atom, dtype)
    if isinstance(atom, _Digit):
        value = _emit_atom(atom.source, dtype)
        if atom.extent is not None:
            value = value % (atom.lower * atom.extent)
        return value // atom.lower
    return atom
