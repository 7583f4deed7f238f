"""drop_blocks: leave loops that repeat, stores, and only those conditions that can fail."""

from __future__ import annotations

from dataclasses import replace

from workbench.arith import Bounds, Simplifier, narrow, reads_memory
from workbench.ir import (
    BlockRealize,
    BufferLoad,
    BufferStore,
    Call,
    CommitGroup,
    Const,
    Expr,
    For,
    IfThenElse,
    Kernel,
    Node,
    Not,
    Select,
    SeqStmt,
    Stmt,
    WaitGroup,
    rebuild,
    seq,
    substitute,
)
from workbench.lower.known_bounds import known_bounds
from workbench.target import Target


def drop_blocks(kernel: Kernel, target: Target) -> Kernel:
    """Take away blocks, loops that run once, and conditions that bounds prove."""
    body = _Dropper(known_bounds(kernel), target.is_cpu).statement(kernel.body)
    # one that provably does nothing is launched all the same
    return replace(kernel, body=SeqStmt(()) if body is None else body)


class _Dropper:
    """Rewrites what runs while each variable is within `known`, where there are `cores` or not."""

    def __init__(self, known: Bounds, cores: bool) -> None:
        self.known = known
        self.cores = cores
        self.simplifier = Simplifier(known)

    def statement(self, stmt: Stmt) -> Stmt | None:
        """`stmt` without blocks; None where nothing of it ever runs."""
        match stmt:
            case BlockRealize(predicate=predicate, block=block):
                return self._guarded(predicate, block.body, None)
            case IfThenElse(condition, then_case, else_case):
                return self._guarded(condition, then_case, else_case)
            case For(extent=Const(value=1)):
                return self._once(stmt)
            case For():
                return self._loop(stmt)
            case SeqStmt(stmts):
                kept = [done for done in map(self.statement, stmts) if done is not None]
                return seq(*kept) if kept else None
            case BufferStore(buffer, value, indices):
                return BufferStore(buffer, self.value(value), self.indices(indices))
            case CommitGroup() | WaitGroup():
                return stmt
        raise TypeError(f"{type(stmt).__name__} cannot stand in a program")

    def _once(self, loop: For) -> Stmt | None:
        try:
            body = substitute(loop.body, {loop.loop_var: loop.min})
        except ZeroDivisionError:  # a condition inside keeps that division from being run
            return self._loop(loop)
        return self.statement(body)

    def _loop(self, loop: For) -> For | None:
        body = self.statement(loop.body)
        if body is None:
            return None
        alone = loop.kind == "parallel" and not self.cores  # one thread runs it all
        kind = "serial" if alone else loop.kind
        same = body is loop.body and kind == loop.kind
        return loop if same else replace(loop, kind=kind, body=body)

    def _guarded(self, condition: Expr, then_case: Stmt, else_case: Stmt | None) -> Stmt | None:
        condition = self.condition(condition)
        if isinstance(condition, Const):
            chosen = then_case if condition.value else else_case
            return None if chosen is None else self.statement(chosen)
        then = self._where(condition).statement(then_case)
        otherwise = None if else_case is None else self.statement(else_case)
        if then is None:
            return None if otherwise is None else IfThenElse(Not(condition), otherwise)
        return IfThenElse(condition, then, otherwise)

    def _where(self, condition: Expr) -> _Dropper:
        narrowed = narrow(self.known, condition)
        empty = any(low > high for low, high in narrowed.values())
        return self if empty or narrowed == self.known else _Dropper(narrowed, self.cores)

    def condition(self, condition: Expr) -> Expr:
        """`condition` as short as bounds allow; of one on data only the indices."""
        if reads_memory(condition):
            return self.value(condition)
        return self.simplifier.simplify(condition)

    def value(self, e: Expr) -> Expr:
        """A value, its indices and conditions as short as bounds allow, its arithmetic kept."""
        match e:
            case BufferLoad(buffer, indices):
                return BufferLoad(buffer, self.indices(indices))
            case Call("if_then_else", (condition, yes, no)) | Select(condition, yes, no):
                return self._choice(e, condition, yes, no)
            case Call("ptx_cp_async", (value,)):
                value = self.value(value)
                return value if isinstance(value, Const) else replace(e, args=(value,))
            case _:
                return rebuild(e, self._part)

    def _part(self, node: Node) -> Node:
        return self.value(node) if isinstance(node, Expr) else node

    def _choice(self, e: Call | Select, condition: Expr, yes: Expr, no: Expr) -> Expr:
        condition = self.condition(condition)
        if isinstance(condition, Const):
            return self.value(yes if condition.value else no)
        if isinstance(e, Select):  # it makes both, whatever the condition
            return Select(condition, self.value(yes), self.value(no))
        return replace(e, args=(condition, self._where(condition).value(yes), self.value(no)))

    def indices(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Indices as short as bounds allow."""
        return tuple(map(self.simplifier.simplify, indices))
