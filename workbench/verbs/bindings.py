"""How loop variables are replaced: block bindings come out as TVM writes them.

TVM simplifies the bindings of a block after each step (`IterMapSimplifyBlockBinding`): sums of
tiles are flat, the two halves of a fused loop are put together again, and a sum that a predicate
bounds stays together in parentheses. Every rewriting here holds for all values of the variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.arith import conjuncts, reads_memory
from workbench.arith.canonical import Sum, join_digits
from workbench.arith.normal import Normal
from workbench.ir import (
    TRUE,
    BinOp,
    BlockRealize,
    Const,
    Expr,
    For,
    IfThenElse,
    Node,
    SeqStmt,
    Stmt,
    Var,
    binary,
    const,
    free_vars,
    rebuild,
    seq,
    substitute,
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
        block = substitute(block, values)
    if not changed and predicate is stmt.predicate and block is stmt.block:
        return stmt
    if changed or predicate is not stmt.predicate:
        bound = simplify_bindings(bound, predicate, units)
    return replace(stmt, iter_values=bound, predicate=predicate, block=block)


def guarded(stmt: Stmt, condition: Expr) -> Stmt:
    """`stmt` done only where `condition` holds: a predicate on each block, an `if` elsewhere."""
    if isinstance(stmt, For):
        return replace(stmt, body=guarded(stmt.body, condition))
    if isinstance(stmt, SeqStmt):
        return seq(*(guarded(s, condition) for s in stmt.stmts))
    if isinstance(stmt, BlockRealize):
        parts = stmt.predicate, condition
        first, second = reversed(parts) if reads_memory(stmt.predicate) else parts
        # what it reads may be guarded now
        return replace(stmt, predicate=binary("and", first, second))
    return IfThenElse(condition, stmt)


def simplify_bindings(
    values: Sequence[Expr], predicate: Expr = TRUE, units: frozenset[Var] = frozenset()
) -> tuple[Expr, ...]:
    """Block bindings as TVM writes them; left alone where two predicates bound one variable."""
    sums = _Tiles()
    seen: set[Var] = set()
    for condition in conjuncts(predicate):
        if not isinstance(condition, BinOp) or condition.op != "<":
            continue
        group = sums.sum_of(condition.a)
        if len(group.digits) > 1:
            used = set(free_vars(condition.a))
            if used & seen:
                return tuple(values)
            seen |= used
            sums.groups.append(group)
    zeros = {unit: const(0, unit.type) for unit in units}
    return tuple(sums.written(substitute(v, zeros)) for v in values)


class _Tiles(Normal):
    """The sums of digits of `arith`, under other rules: those by which TVM writes bindings.

    `arith` asks for the shortest form that bounds prove; here no bounds are used, and what stands
    below a division stays whole: ``(i * 128 + j) // 128`` is that, and not ``i + j // 128``. What a
    predicate bounds, one of `groups`, stays together wherever all of it stands.

    Each rule holds for all integers. A sum is only put in another order, and digits of one number
    are joined by `arith`; ``x % u // l`` divided by `n` is ``x % u // (l * n)``, which is 0 where
    ``u == l * n``; and it is below ``u // l``, so that a remainder by a multiple of that changes
    nothing.
    """

    def __init__(self) -> None:
        super().__init__({})
        self.groups: list[Sum] = []

    def written(self, e: Expr) -> Expr:
        """`e` as a flat sum of tiles."""
        return self.expr_of(self._grouped(self.sum_of(e), e.dtype), e.dtype)

    def _sum_of(self, e: Expr) -> Sum:
        match e:
            case Var() | Const() | BinOp("+" | "-"):
                return super()._sum_of(e)
            case BinOp("*", a, Const(value=int(factor))):
                return self.sum_of(a).times(factor)
            case BinOp("//" | "%" as op, a, Const(value=int(by))) if by > 0:
                divide = self.div if op == "//" else self.mod
                return divide(self._grouped(self.sum_of(a), e.dtype), by, e.dtype)
        return self._part(e)

    def tidy(self, s: Sum) -> Sum:
        """`s` with digits joined where that makes them fewer."""
        digits = join_digits(s.digits)
        return s if digits is s.digits else self._opened(Sum(digits, s.const))

    def div(self, s: Sum, divisor: int, dtype: str) -> Sum:
        """``s // divisor``, `s` kept whole."""
        digit = s.alone()
        if digit is not None and digit.upper == digit.lower * divisor:
            return Sum({})
        return s if divisor == 1 else Sum({self._quotient(s, divisor, dtype): 1})

    def mod(self, s: Sum, divisor: int, dtype: str) -> Sum:
        """``s % divisor``, `s` kept whole."""
        digit = s.alone()
        if divisor == 1:
            return Sum({})
        if digit is not None and digit.upper and divisor % (digit.upper // digit.lower) == 0:
            return s
        return Sum({self._remainder(s, divisor, dtype): 1})

    def _grouped(self, s: Sum, dtype: str) -> Sum:
        """`s` with each of the groups in it as one part, where the first of its digits was."""
        for group in self.groups:
            first, unit = next(iter(group.digits.items()))
            scale, rest = divmod(s.digits.get(first, 0), unit)
            if scale < 1 or rest or group.const or len(s.digits) == len(group.digits):
                continue
            if any(s.digits.get(d) != factor * scale for d, factor in group.digits.items()):
                continue
            (whole,) = self._part(self.expr_of(group, dtype)).digits
            left = {d: f for d, f in s.digits.items() if d == first or d not in group.digits}
            digits = {whole if d == first else d: f for d, f in left.items()}
            s = Sum({**digits, whole: scale}, s.const)
        return s
