"""Loops, conditions and sequences: how each is written, and how that text is read."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress

from workbench.ir import (
    AXES,
    Barrier,
    CommitGroup,
    Const,
    Data,
    Expr,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    Var,
    WaitGroup,
    binary,
    cast,
    const,
    dtypes,
    free_vars,
    seq,
)
from workbench.script.calls import read_condition
from workbench.script.grammar import (
    READ,
    print_body,
    print_expr,
    print_stmt,
    prints,
    read_attributes,
    read_word,
    reads,
)
from workbench.script.lane_calls import read_lane_call
from workbench.script.lets import in_turn, is_idle, read_let, write_as
from workbench.script.memory import range_between, read_index
from workbench.script.reader import ParseError, Reader
from workbench.script.warp_calls import read_warp_call
from workbench.script.writer import Writer, data, string

# The functions of T that make one loop, and the kind of loop that each makes.
_KINDS = {
    "serial": "serial",
    "parallel": "parallel",
    "vectorized": "vectorized",
    "unroll": "unrolled",
    "thread_binding": "thread_binding",
}
# What only the head of a block holds.
BLOCK_HEAD = (
    *("alloc_buffer", "sblock_alloc_buffer", "block_attr", "sblock_attr", "reads", "writes"),
    *("where", "axis.spatial", "axis.S", "axis.reduce", "axis.R", "axis.remap"),
)
_WORDS = {kind: word for word, kind in _KINDS.items()}


# --- loops ---------------------------------------------------------------------------------------


@prints(For)
def _print_for(w: Writer, s: For) -> None:
    first = w.line
    chain = _grid(s)
    w.begin()
    start = w.col
    w.put("for ")
    for k, loop in enumerate(chain):
        if k:
            w.put(", ")
        w.kinds[loop.loop_var] = "loop"
        w.names.define(loop.loop_var, loop.loop_var.name)
        w.loops[loop.loop_var] = loop
        here = w.col
        w.name(loop.loop_var)
        if len(chain) > 1:
            w.spanned(loop, here)
    w.put(" in ")
    if len(chain) > 1:
        w.put("T.grid(")
        _print_extents(w, chain)
        w.put(")")
    else:
        _print_header(w, s)
    w.put(":")
    w.spanned(s, start)
    w.end(s, "for")
    print_body(w, chain[-1].body)
    for loop in chain[1:]:
        w.extent(loop, first)
    w.names.release([loop.loop_var for loop in chain])


def _grid(s: For) -> list[For]:
    """The loops from `s` inwards that TVM writes as one ``T.grid``."""
    chain = [s]
    while _plain(chain[-1]) and isinstance(chain[-1].body, For) and _plain(chain[-1].body):
        inner = chain[-1].body
        if any(var in free_vars(inner.extent) for var in (loop.loop_var for loop in chain)):
            break
        chain.append(inner)
    return chain


def _plain(s: For) -> bool:
    zero = isinstance(s.min, Const) and s.min.value == 0
    return s.kind == "serial" and zero and not s.annotations and s.thread is None


def _print_extents(w: Writer, chain: list[For]) -> None:
    for k, loop in enumerate(chain):
        if k:
            w.put(", ")
        print_expr(w, loop.extent)


def _print_header(w: Writer, s: For) -> None:
    plain = s.kind == "serial" and not s.annotations
    w.put("range(" if plain else f"T.{_WORDS[s.kind]}(")
    if not (isinstance(s.min, Const) and s.min.value == 0):
        print_expr(w, s.min)
        w.put(", ")
        print_expr(w, binary("+", s.min, s.extent))
    else:
        print_expr(w, s.extent)
    if s.thread is not None:
        w.put(f", thread={string(s.thread)}")
    if s.annotations:
        w.put(f", annotations={data(dict(s.annotations))}")
    w.put(")")


# A loop of no turns, whatever is in it: it does nothing, and is left out.
_NOTHING: Stmt = SeqStmt(())


@reads(ast.For)
def _read_for(r: Reader, tree: ast.For) -> Stmt:
    if tree.orelse:
        raise r.error(
            tree.orelse[0], "Can't read `else` after a loop", hint="write it as statements"
        )
    if isinstance(tree.iter, ast.Call) and r.is_function(tree.iter, "grid"):
        return _read_grid(r, tree, tree.iter)
    if not isinstance(tree.target, ast.Name):
        hint = "several loop variables need T.grid: for i, j in T.grid(4, 8):"
        raise r.error(tree.target, "Can't read this loop's variables", hint=hint)
    header = _read_header(r, tree.iter)
    if _is_zero(header.extent):
        return _NOTHING
    var = Var(tree.target.id, header.extent.dtype)
    with r.turn():
        _enter(r, tree.target, var, header.min, header.extent)
        body = read_body(r, tree.body, tree)
    return For(var, header.min, header.extent, header.kind, body, header.thread, header.annotations)


def _enter(r: Reader, tree: ast.Name, var: Var, low: Expr, extent: Expr) -> None:
    r.define(tree, tree.id, var)
    r.extents[var] = (low, extent)


def _read_grid(r: Reader, tree: ast.For, call: ast.Call) -> Stmt:
    """``for i, j in T.grid(4, 8)``: one loop for each extent."""
    target = tree.target
    names = list(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else [target]
    if len(names) != len(call.args) or call.keywords or not names:
        hint = "write one name for each extent: for i, j in T.grid(4, 8):"
        headline = f"T.grid has {len(call.args)} extents for {len(names)} names"
        raise r.error(tree.target, headline, hint=hint)
    heads: list[tuple[Var, Expr]] = []
    with r.turn():
        for name, argument in zip(names, call.args, strict=True):
            if not isinstance(name, ast.Name):
                raise r.error(name, "Can't read this loop variable", hint="write a name")
            extent = _extent(r, argument)
            var = Var(name.id, extent.dtype)
            _enter(r, name, var, const(0, extent.dtype), extent)
            heads.append((var, extent))
        if any(_is_zero(extent) for _, extent in heads):
            return _NOTHING
        body = read_body(r, tree.body, tree)
    for var, extent in reversed(heads):
        body = For(var, const(0, var.type), extent, "serial", body)
    return body


class _Header:
    """What the part of a loop after ``in`` says."""

    __slots__ = ("annotations", "extent", "kind", "min", "thread")

    def __init__(self, low: Expr, extent: Expr, kind: str) -> None:
        self.min, self.extent, self.kind = low, extent, kind
        self.thread: str | None = None
        self.annotations: tuple[tuple[str, Data], ...] = ()


def _read_header(r: Reader, tree: ast.expr) -> _Header:
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "range":
        if tree.keywords or not 1 <= len(tree.args) <= 2:
            hint = "write range(8) or range(2, 8); for a step, multiply inside the loop"
            raise r.error(tree, "Can't read this range", hint=hint)
        return _Header(*_bounds(r, tree.args), "serial")
    if not r.is_function(tree, *_KINDS):
        accepted = ", ".join(f"T.{word}" for word in _KINDS)
        hint = f"accepted after `in`: range, T.grid, {accepted}"
        raise r.error(tree, f"Can't loop over `{r.text(tree)}`", hint=hint)
    assert isinstance(tree, ast.Call)
    word = r.function(tree.func)
    keywords = {k.arg: k.value for k in tree.keywords}
    bounds = [*tree.args, *(keywords[k] for k in ("start", "stop") if k in keywords)]
    named = {"start", "stop", "annotations", *(("thread",) if word == "thread_binding" else ())}
    words = [b for b in bounds if isinstance(b, ast.Constant) and isinstance(b.value, str)]
    if not 1 <= len(bounds) <= 2 or words or set(keywords) - named:
        more = ', thread="threadIdx.x"' if word == "thread_binding" else ""
        raise r.error(tree, f"Can't read this T.{word}", hint=f"write T.{word}(8{more})")
    header = _Header(*_bounds(r, bounds), _KINDS[word])
    if "annotations" in keywords:
        header.annotations = read_attributes(r, keywords["annotations"])
    if word == "thread_binding":
        header.thread = _read_axis(r, tree, keywords.get("thread"))
    return header


def _read_axis(r: Reader, tree: ast.Call, thread: ast.expr | None) -> str:
    hint = "accepted: " + ", ".join(AXES)
    if thread is None:
        raise r.error(tree, "T.thread_binding lacks its argument `thread`", hint=hint)
    axis = read_word(r, thread, "a thread axis")
    if axis not in AXES:
        raise r.error(thread, f'There is no thread axis "{axis}"', hint=hint)
    return axis


def _bounds(r: Reader, trees: list[ast.expr]) -> tuple[Expr, Expr]:
    """The first value and the number of values of a loop from ``(stop)`` or ``(start, stop)``."""
    if len(trees) == 1:
        extent = _extent(r, trees[0])
        return const(0, extent.dtype), extent
    low, high = read_index(r, trees[0]), read_index(r, trees[1])
    wide = dtypes.join(low.dtype, high.dtype) or high.dtype
    values = range_between(cast(wide, low), cast(wide, high))
    if isinstance(values.extent, Const) and values.extent.value > dtypes.limits(wide)[1]:
        values = range_between(cast("int64", low), cast("int64", high))
    _check_turns(r, trees[1], values.extent)
    return values.min, values.extent


def _extent(r: Reader, tree: ast.expr) -> Expr:
    extent = read_index(r, tree)
    _check_turns(r, tree, extent)
    return extent


def _is_zero(extent: Expr) -> bool:
    return isinstance(extent, Const) and extent.value == 0


def _check_turns(r: Reader, tree: ast.expr, extent: Expr) -> None:
    if isinstance(extent, Const) and extent.value < 0:
        hint = "let it run as often as it should; one of no turns is left out"
        raise r.error(tree, f"Can't run a loop {extent.value} times", hint=hint)


# --- conditions ----------------------------------------------------------------------------------


@prints(IfThenElse)
def _print_if(w: Writer, s: IfThenElse) -> None:
    w.begin()
    start = w.col
    w.put("if ")
    print_expr(w, s.condition)
    w.put(":")
    w.spanned(s, start)
    w.end(s, "if")
    print_body(w, s.then_case)
    if s.else_case is not None:
        w.row("else:", s, "else")
        print_body(w, s.else_case)


@reads(ast.If)
def _read_if(r: Reader, tree: ast.If) -> Stmt:
    condition = read_condition(r, tree.test)
    before = r.lets_here()
    with r.scope():
        then_case = read_body(r, tree.body, tree)
    after = r.lets_here()
    for let, buffer in before.items():  # what one case stores, the other does not see
        let.stored = buffer
    with r.scope():
        else_case = read_body(r, tree.orelse, tree) if tree.orelse else None
    for let, buffer in after.items():
        let.stored = let.stored or buffer
    return IfThenElse(condition, then_case, else_case)


# --- sequences -----------------------------------------------------------------------------------


@prints(SeqStmt)
def _print_seq(w: Writer, s: SeqStmt) -> None:
    for stmt in s.stmts:
        print_stmt(w, stmt)


@prints(Barrier)
def _print_barrier(w: Writer, s: Barrier) -> None:
    _print_order(w, s, "T.barrier()")


@prints(CommitGroup)
def _print_commit(w: Writer, s: CommitGroup) -> None:
    _print_order(w, s, "T.ptx_commit_group()")


@prints(WaitGroup)
def _print_wait(w: Writer, s: WaitGroup) -> None:
    _print_order(w, s, f"T.ptx_wait_group({s.count})")


def _print_order(w: Writer, s: Stmt, text: str) -> None:
    """What orders others, in a kernel."""
    w.begin()
    start = w.col
    w.put(text)
    w.spanned(s, start)
    w.end(s, "barrier")


def read_body(r: Reader, trees: list[ast.stmt], around: ast.AST) -> Stmt:
    """Statements one after the other; a docstring or ``pass`` is none."""
    known, lets = set(r.scopes[-1]), r.lets
    stmts = [stmt for tree in in_turn(r, trees) for stmt in read_stmt(r, tree)]
    if not stmts:
        hint = "write at least one store, as in A[i] = x"
        raise r.error(trees[0] if trees else around, "There is nothing done here", hint=hint)
    body = seq(*stmts)
    if r.lets > lets:
        remember_names(r, trees, known, body)
    return body


def remember_names(r: Reader, trees: Sequence[ast.stmt], known: set[str], body: Stmt) -> None:
    """Note how `body`, as which `trees` were read, is written with its names for values.

    TVM tells programs apart by them, so that its text has them. They are read once more, each name
    a variable, where `known` names are defined; what is no program so, as a loop that runs as often
    as a name says, is written without.
    """
    if r.bound is not None:  # it is part of what is read once more
        return
    scope, r.bound = r.scopes[-1], []
    r.scopes[-1] = {name: node for name, node in scope.items() if name in known}
    with suppress(ParseError):
        write_as(body, [stmt for tree in trees for stmt in read_stmt(r, tree)])
    r.scopes[-1], r.bound = scope, None


def read_stmt(r: Reader, tree: ast.stmt) -> list[Stmt]:
    """The statement that `tree` writes, or none."""
    if isinstance(tree, ast.Pass):
        return []
    if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant):
        return []  # a string on its own is a comment
    if read_let(r, tree):
        return r.take_bound()
    _refuse_misplaced(r, tree)
    warp_call = read_warp_call(r, tree) or read_lane_call(r, tree)
    if warp_call is not None:
        return [warp_call]
    if is_idle(r, tree):
        return []
    if isinstance(tree, ast.AnnAssign) and tree.value is None:
        name, kind = r.text(tree.target), r.text(tree.annotation)
        raise r.error(
            tree,
            f"Can't read `{name}: {kind}`, a variable that is stored to",
            hint=f"name a value once, as {name}: T.let[{kind}] = A[i]; or store it in a buffer of "
            "one cell, T.alloc_buffer((1,))",
        )
    rule = READ.get(type(tree))
    if rule is None:
        headline, hint = _UNREADABLE.get(type(tree), _UNREADABLE[ast.stmt])
        raise r.error(tree, headline, hint=hint)
    stmt = rule(r, tree)
    return [] if stmt is _NOTHING else [stmt]


def _refuse_misplaced(r: Reader, tree: ast.stmt) -> None:
    """Refuse what stands only at the head of a function or of a block."""
    call = None if isinstance(tree, ast.AnnAssign) else getattr(tree, "value", None)
    for words, place in (
        (("func_attr",), "directly in the function"),
        (("match_buffer",), "directly in the function, or in a block"),
        (BLOCK_HEAD, "directly in a block, not in a loop or a condition"),
    ):
        if call is not None and r.is_function(call, *words):
            hint = "move it to the head of the block, or of the function"
            raise r.error(call, f"`{r.text(call.func)}` stands {place}", hint=hint)


_UNREADABLE: dict[type[ast.AST], tuple[str, str]] = {
    ast.stmt: ("Can't read this statement", "accepted: for, if, with T.block, and stores A[i] = x"),
    ast.Assert: ("Can't read `assert`", "leave it out: arguments are checked at every call"),
    ast.While: (
        "Can't read `while`",
        "write a loop with a known number of steps: for i in range(8):",
    ),
    ast.AnnAssign: ("Can't read a note of a type", "write it without: vi = T.axis.spatial(8, i)"),
    ast.Return: ("Can't return a value", "a program writes its result to a buffer parameter"),
    ast.FunctionDef: ("Can't define a function inside a program", "write its statements here"),
}
