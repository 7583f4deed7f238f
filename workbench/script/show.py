"""Programs as text, and text with places of the program marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workbench.diag import Fail, Span, mark
from workbench.ir import (
    BlockId,
    Buffer,
    Expr,
    IRModule,
    Kernel,
    Node,
    PrimFunc,
    SeqStmt,
    Stmt,
    SymbolicFunc,
    Var,
    remembered,
)
from workbench.script.grammar import print_expr, print_stmt
from workbench.script.writer import DIALECTS, Printed, Writer, identifier


def show(node: Node, dialect: str = "workbench") -> str:
    """The text of a program, a kernel, a statement or an expression.

    `dialect` "tvm" writes what apache-tvm 0.27 reads. Raises ValueError for any other name, and
    Fail for what is none of these.

    >>> script.show(add).splitlines()[1]
    'def add(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):'
    """
    return show_spans(node, dialect).text


def show_spans(node: Node, dialect: str = "workbench") -> Printed:
    """The text of `node`, with the place of everything in it; a program is printed once."""
    if not isinstance(node, Node):
        headline = f"Can't show a {type(node).__name__}: it is no part of a program"
        raise Fail(headline, hint="pass a program, such as sch.func")
    if dialect not in tuple(DIALECTS):  # which an unhashable value may be asked of
        raise ValueError(f"there is no dialect {dialect!r}; there are: {', '.join(DIALECTS)}")
    if not isinstance(node, PrimFunc):
        return _printed(node, Writer(DIALECTS[dialect]))
    known: dict[str, Printed] = remembered(node).setdefault("printed", {})
    if dialect not in known:
        known[dialect] = _printed(node, Writer(DIALECTS[dialect]))
    return known[dialect]


def _printed(node: Node, w: Writer) -> Printed:
    if isinstance(node, (PrimFunc, IRModule)):
        for text in w.dialect.header:
            w.row(text, node, "header")
        funcs = node.functions if isinstance(node, IRModule) else (node,)
        ahead = [size for func in funcs for size in func.sizes if size.type in w.dialect.ahead]
        for name, kind in {identifier(size.name): size.type for size in ahead}.items():
            w.row(f"{name} = T.{kind}()", node, "sizes")
    if isinstance(node, (PrimFunc, SymbolicFunc, IRModule, Kernel, Stmt)):
        print_stmt(w, node)  # type: ignore[arg-type]
    else:
        w.begin()
        print_expr(w, node)
        w.end(node, "expression")
    return w.done()


def expr_text(expr: Expr, names: Mapping[Node, str] | None = None) -> str:
    """The text of `expr`; `names` says what variables and buffers are called in it."""
    w = Writer()
    for node, name in (names or {}).items():
        w.names.take(node, name)
    w.begin()
    print_expr(w, expr)
    return w.text


def mark_nodes(func: Node, nodes: Iterable[object]) -> str:
    """The lines of the program `func` near `nodes`, with carets under them.

    A loop or a block is marked at its header; a variable where it is defined; a buffer where it
    is declared; a block's identity at the block. Nodes that are not in the program are left out.
    """
    printed = show_spans(func)
    spans = [span for node in nodes if (span := place_of(printed, node)) is not None]
    return mark(printed.text, spans) if spans else ""


def place_of(printed: Printed, node: object) -> Span | None:
    """Where to put the caret for `node`, or None where it is not in the text."""
    if isinstance(node, SeqStmt):
        return place_of(printed, node.stmts[0])
    if isinstance(node, (Var, BlockId, Buffer)):
        for m in printed.marks:
            if m.key[1] is node:
                return Span(m.line, m.col, m.line, m.end_col)
        return None
    return printed.spans.get(node) if isinstance(node, Node) else None
