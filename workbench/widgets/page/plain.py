"""A program as plain Python loops: what runs, in which order, if one thread did it all."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench import script
from workbench.ir import (
    TRUE,
    BlockRealize,
    Buffer,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    Node,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    binary,
    substitute,
)
from workbench.widgets.page.names import buffers_of

WHO = {
    "b": "one block for each value, all at the same time",
    "t": "one thread for each value",
    "v": "one copy inside each thread for each value, in step",
}


def plain_loops(func: PrimFunc) -> str:
    """`func` with its blocks dissolved and every loop, thread bindings among them, a `for`."""
    writer = _Writer()
    for buffer in buffers_of(func):
        writer.name(buffer, buffer.name)
    writer.stmt(func.root.body, 0)
    return "\n".join(writer.lines)


@dataclass
class _Writer:
    lines: list[str] = field(default_factory=list)
    names: dict[Node, str] = field(default_factory=dict)

    def name(self, thing: Var | Buffer, wanted: str) -> str:
        """A name that nothing else in the text has."""
        taken = set(self.names.values())
        free, count = wanted, 1
        while free in taken:
            free, count = f"{wanted}_{count}", count + 1
        self.names[thing] = free
        return free

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def expr(self, expr: Expr) -> str:
        return script.expr_text(expr, self.names)

    def stmt(self, stmt: Stmt, depth: int) -> None:
        match stmt:
            case SeqStmt(stmts=stmts):
                for one in stmts:
                    self.stmt(one, depth)
            case For():
                self.loop(stmt, depth)
            case BlockRealize():
                self.block(stmt, depth)
            case IfThenElse(condition=condition, then_case=then, else_case=other):
                self.add(depth, f"if {self.expr(condition)}:")
                self.stmt(then, depth + 1)
                if other is not None:
                    self.add(depth, "else:")
                    self.stmt(other, depth + 1)
            case BufferStore(buffer=buffer, value=value, indices=indices):
                where = ", ".join(map(self.expr, indices))
                self.add(depth, f"{self.names[buffer]}[{where}] = {self.expr(value)}")

    def loop(self, loop: For, depth: int) -> None:
        start = self.expr(loop.min)
        stop = self.expr(binary("+", loop.min, loop.extent))
        name = self.name(loop.loop_var, loop.loop_var.name)
        span = stop if start == "0" else f"{start}, {stop}"
        self.add(depth, f"for {name} in range({span}):{_remark(loop)}")
        self.stmt(loop.body, depth + 1)
        del self.names[loop.loop_var]  # the name is free again for the loops that follow

    def block(self, realize: BlockRealize, depth: int) -> None:
        block = realize.block
        values = dict(zip((i.var for i in block.iter_vars), realize.iter_values, strict=True))
        if realize.predicate is not TRUE:
            self.add(depth, f"if {self.expr(realize.predicate)}:")
            depth += 1
        if block.init is not None:
            first = [
                binary("==", value, iter_var.dom.min)
                for iter_var, value in zip(block.iter_vars, realize.iter_values, strict=True)
                if iter_var.kind == "reduce"
            ]
            self.add(depth, f"if {' and '.join(map(self.expr, first))}:" if first else "if True:")
            self.stmt(substitute(block.init, values), depth + 1)
        self.stmt(substitute(block.body, values), depth)


def _remark(loop: For) -> str:
    if loop.thread is not None:
        return f"  # {loop.thread}: {WHO[loop.thread[0]]}"
    return "" if loop.kind == "serial" else f"  # {loop.kind}"
