"""Blocks: how their heads are written, and how that text is read."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from workbench import arith
from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    Const,
    Data,
    Expr,
    Stmt,
    Var,
    seq,
)
from workbench.script.axes import AXES, Axis, print_axes, read_axes
from workbench.script.calls import read_condition
from workbench.script.grammar import (
    REFUSED,
    print_body,
    print_expr,
    print_stmt,
    prints,
    read_attributes,
    read_value,
    read_word,
    reads,
)
from workbench.script.lets import in_turn, read_let_with
from workbench.script.loops import read_body, read_stmt, remember_names
from workbench.script.memory import (
    BUFFER_PARAMETERS,
    declared,
    print_alloc,
    read_region,
)
from workbench.script.reader import Reader
from workbench.script.views import read_view
from workbench.script.writer import Writer, data

BLOCK = ("block", "sblock")
_ALLOC = ("alloc_buffer", "sblock_alloc_buffer")
_ATTR = ("block_attr", "sblock_attr")
_NOTES = (*_ALLOC, *_ATTR, *AXES, "reads", "writes")


# --- writing -------------------------------------------------------------------------------------


@prints(BlockRealize)
def _print_realize(w: Writer, s: BlockRealize) -> None:
    block = s.block
    w.begin()
    start = w.col
    w.put(f"with {w.dialect.block}(")
    w.block_name(block.name, block.id)
    w.put("):")
    w.spanned(s, start)
    w.spanned(block, start)
    w.end(s, "block")
    w.indent += 1
    outside = w.loops
    print_axes(w, s)
    w.loops = {}
    if s.predicate is not TRUE and not _is_true(s.predicate):
        w.begin()
        w.put("T.where(")
        print_expr(w, s.predicate)
        w.put(")")
        w.end(s, "where")
    for word, regions in (("reads", block.reads), ("writes", block.writes)):
        _print_regions(w, s, word, regions)
    if block.annotations:
        w.row(f"{w.dialect.block_attr}({data(dict(block.annotations))})", s, "attr")
    print_block_body(w, s)
    w.loops = outside
    w.indent -= 1
    w.names.release([i.var for i in block.iter_vars])


def print_block_body(w: Writer, s: BlockRealize) -> None:
    """What a block allocates, its init, its body; the root block is only this."""
    block = s.block
    for buffer in block.alloc_buffers:
        w.names.define(buffer, buffer.name)
        print_alloc(w, buffer, s)
    if block.init is not None:
        w.row("with T.init():", s, "init")
        print_body(w, block.init)
    print_stmt(w, block.body)
    w.names.release(block.alloc_buffers)


def _is_true(e: Expr) -> bool:
    return isinstance(e, Const) and e.value is True


def _print_regions(
    w: Writer, s: BlockRealize, word: str, regions: tuple[BufferRegion, ...]
) -> None:
    w.begin()
    w.put(f"T.{word}(")
    for k, region in enumerate(regions):
        if k:
            w.put(", ")
        print_expr(w, region)
    w.put(")")
    w.end(s, word)


# --- reading -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Head:
    """What the head of a block has said so far; None for reads or writes it has not."""

    axes: list[Axis] = field(default_factory=list)
    predicate: Expr = TRUE
    reads: tuple[BufferRegion, ...] | None = None
    writes: tuple[BufferRegion, ...] | None = None
    allocs: list[Buffer] = field(default_factory=list)
    annotations: tuple[tuple[str, Data], ...] = ()
    init: Stmt | None = None


@reads(ast.With)
def _read_with(r: Reader, tree: ast.With) -> Stmt:
    with r.scope():
        named = read_let_with(r, tree)
        if named is not None:
            return seq(*r.take_bound(), read_body(r, named, tree))
    call = tree.items[0].context_expr
    if r.is_function(call, "init"):
        hint = "T.init() stands directly in a block, before the update"
        raise r.error(call, "Can't read T.init() here", hint=hint)
    if r.is_function(call, *REFUSED):
        read_value(r, call)  # refused by its own name
    if len(tree.items) != 1 or tree.items[0].optional_vars or not r.is_function(call, *BLOCK):
        hint = 'accepted after `with`: T.block("name") and, in a block, T.init()'
        raise r.error(call, "Can't read this `with`", hint=hint)
    assert isinstance(call, ast.Call)
    name = block_name(r, call)
    if name == "root":
        hint = "give this block another name"
        raise r.error(call, '"root" is the block around the whole program', hint=hint)
    head = Head()
    with r.in_block():
        body = read_block_body(r, tree.body, head, tree)
    return _realized(name, head, body)


def block_name(r: Reader, call: ast.Call) -> str:
    """The name of a block from ``T.block("C")``."""
    if not call.args and not call.keywords:
        raise r.error(call, "This block has no name", hint='write T.block("C")')
    (name,) = r.arguments(call, "name")
    return read_word(r, name, "a block's name")


def _realized(name: str, head: Head, body: Stmt) -> BlockRealize:
    """The block; what it reads and writes is worked out where the text does not say."""
    block = Block(
        name,
        tuple(i for i, _ in head.axes),
        head.reads or (),
        head.writes or (),
        body,
        head.init,
        tuple(head.allocs),
        head.annotations,
    )
    if head.reads is None or head.writes is None:
        found_reads, found_writes = arith.access_regions(block)
        block = replace(
            block,
            reads=found_reads if head.reads is None else head.reads,
            writes=found_writes if head.writes is None else head.writes,
        )
    return BlockRealize(tuple(value for _, value in head.axes), head.predicate, block)


def read_block_body(r: Reader, trees: list[ast.stmt], head: Head, around: ast.AST) -> Stmt:
    """The statements of a block: those of its head go to `head`, the others are its body."""
    stmts: list[Stmt] = []
    own: list[ast.stmt] = []  # those of the body
    known, lets = set(r.scopes[-1]), r.lets
    for tree in in_turn(r, trees):
        before = set(r.scopes[-1])
        if _read_binding(r, tree, head):
            known |= r.scopes[-1].keys() - before
            continue
        with r.hiding(_hidden(r, head)):
            if _read_head(r, tree, head):
                known |= r.scopes[-1].keys() - before
            else:
                own.append(tree)
                stmts.extend(read_stmt(r, tree))
    if not stmts:
        hint = "write at least one store, as in A[i] = x"
        raise r.error(trees[0] if trees else around, "There is nothing done here", hint=hint)
    body = seq(*stmts)
    if r.lets > lets:
        with r.hiding(_hidden(r, head)):
            remember_names(r, sorted(own, key=trees.index), known, body)
    return body


_OUTSIDE = "`{}` is a loop outside the block, which knows its iterators only"
_OWN = "`{}` is an iterator of this block itself"
_BOUND = (_OWN, "an iterator is bound to loops: write a loop")
_WHERE = (_OWN, "T.where decides which turns of the loops run it: write the loops")


def _hidden(r: Reader, head: Head) -> dict[Var, tuple[str, str]]:
    """The loops that the body may not name, since the block has iterators; with what to do."""
    if not head.axes:
        return dict(r.hidden)
    bind = "bind it to an iterator: vi = T.axis.spatial(extent, i)"
    seen = (node for scope in r.scopes for node in scope.values() if isinstance(node, Var))
    advice = {var: (_OUTSIDE, bind) for var in seen if var in r.extents}
    for i, value in head.axes:
        if isinstance(value, Var) and value in r.extents:  # no iterator of a block around
            advice[value] = (_OUTSIDE, f"write `{i.var.name}`, which is bound to it")
    return advice


def _read_binding(r: Reader, tree: ast.stmt, head: Head) -> bool:
    """Read `tree` if it is about the loops around the block: iterators and ``T.where``."""
    match tree:
        case ast.Assign(targets=[target], value=ast.Call() as call):
            if r.is_function(call, *AXES):
                with r.hiding({**r.hidden, **{i.var: _BOUND for i, _ in head.axes}}):
                    head.axes.extend(read_axes(r, target, call))
                return True
        case ast.Expr(value=ast.Call() as call):
            if r.is_function(call, "where"):
                _refuse_second(r, call, head.predicate is not TRUE)
                (condition,) = r.arguments(call, "predicate")
                with r.hiding({**r.hidden, **{i.var: _WHERE for i, _ in head.axes}}):
                    head.predicate = read_condition(r, condition)
                return True
    return False


def _read_head(r: Reader, tree: ast.stmt, head: Head) -> bool:
    """Read `tree` if it is of a block's head: an allocation, the init, regions, annotations."""
    match tree:
        case ast.Assign(targets=[target], value=ast.Call() as call):
            if r.is_function(call, *_ALLOC) or _declares(r, call):
                _read_alloc(r, target, call, head)
                return True
            if r.is_function(call, "match_buffer"):
                read_view(r, target, call)
                return True
        case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)]):
            if r.is_function(call, "init"):
                _read_init(r, tree, head)
                return True
        case ast.Expr(value=ast.Call() as call):
            if r.is_function(call, *_NOTES):
                _read_note(r, call, head)
                return True
    return False


def _declares(r: Reader, call: ast.Call) -> bool:
    """Whether this is ``T.decl_buffer`` of memory of its own, which is an allocation."""
    is_one = r.is_function(call, "decl_buffer")
    return is_one and "data" not in r.bind(call, *BUFFER_PARAMETERS)


def _read_alloc(r: Reader, target: ast.expr, call: ast.Call, head: Head) -> None:
    if not isinstance(target, ast.Name):
        raise r.error(target, "Can't name a buffer this", hint="write B = T.alloc_buffer((8,))")
    given = r.bind(call, *BUFFER_PARAMETERS)
    buffer = declared(r, given, target.id, call)
    r.define(target, target.id, buffer)
    head.allocs.append(buffer)


def _read_init(r: Reader, tree: ast.With, head: Head) -> None:
    if head.init is not None:
        raise r.error(tree, "This block has two T.init()", hint="write one, before the update")
    with r.scope():
        head.init = read_body(r, tree.body, tree)


def _read_note(r: Reader, call: ast.Call, head: Head) -> None:
    """``T.reads``, ``T.writes`` and annotations."""
    name = r.function(call.func)
    if name in (*_ALLOC, *AXES):
        hint = "give it a name: B = T.alloc_buffer((8,)), vi = T.axis.spatial(8, i)"
        raise r.error(call, f"T.{name} is not given a name", hint=hint)
    if name in _ATTR:
        (attributes,) = r.arguments(call, "attrs")
        head.annotations = read_attributes(r, attributes)
    else:
        _refuse_second(r, call, getattr(head, name) is not None)
        if call.keywords:
            hint = f"write T.{name}(A[vi], B[vi])"
            raise r.error(call.keywords[0], f"T.{name} takes no keyword", hint=hint)
        listed = len(call.args) == 1 and isinstance(call.args[0], (ast.List, ast.Tuple))
        trees = call.args[0].elts if listed else call.args  # type: ignore[attr-defined]
        setattr(head, name, tuple(read_region(r, tree) for tree in trees))


def _refuse_second(r: Reader, call: ast.Call, is_second: bool) -> None:
    if is_second:
        name = r.text(call.func)
        raise r.error(call, f"`{name}` stands twice in this block", hint="write it once")
