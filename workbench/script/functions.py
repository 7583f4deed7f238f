"""Functions, modules and kernels: how they are written, and how that text is read."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import get_close_matches

from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    Data,
    Expr,
    IRModule,
    Kernel,
    PrimFunc,
    Size,
    SizeVar,
    Stmt,
    SymbolicFunc,
    Var,
    as_index,
    sizes_in,
    sizes_used,
)
from workbench.script.blocks import BLOCK, Head, block_name, print_block_body, read_block_body
from workbench.script.grammar import (
    FUNCTIONS,
    REFUSED,
    print_stmt,
    prints,
    read_attributes,
    read_plain,
)
from workbench.script.lets import declared_later, read_let
from workbench.script.memory import (
    BUFFER_PARAMETERS,
    declared_argument,
    print_alloc,
    print_buffer_type,
    read_buffer_type,
    size_text,
)
from workbench.script.namespace import AXES, WORDS
from workbench.script.reader import ParseError, Reader
from workbench.script.symbolic import as_symbolic, define_symbols, find_symbols, refuse_unknown
from workbench.script.trees import nodes
from workbench.script.warp_calls import in_order
from workbench.script.writer import DIALECTS, Writer, data, identifier

# --- writing -------------------------------------------------------------------------------------


@prints(IRModule)
def _print_module(w: Writer, m: IRModule) -> None:
    w.row(w.dialect.module, m, "module")
    w.row("class Module:", m, "module")
    w.indent += 1
    for k, func in enumerate(m.functions):
        if k:
            w.row("", m, "module")
        print_stmt(w, func)  # type: ignore[arg-type]
    if not m.functions:
        w.row("pass", m, "module")
    w.indent -= 1


@prints(PrimFunc)
def _print_func(w: Writer, f: PrimFunc) -> None:
    w.row(_decorator(w, f), f, "decorator")
    name = def_name(f)
    for size in f.sizes:
        w.kinds[size] = "size"
        w.names.define(size, size.name)
    _print_signature(w, f, name, f.params)
    w.indent += 1
    inside = [size for size in f.sizes if size.type not in w.dialect.ahead]
    if inside:
        _print_sizes(w, f, inside)
    attrs = f.attrs if name == f.name else (("global_symbol", f.name), *f.attrs)
    if attrs:
        named = {w.dialect.attributes.get(key, key): value for key, value in attrs}
        notes = ", ".join(f"{data(key)}: {_attribute(key, named[key])}" for key in named)
        w.row(f"T.func_attr({{{notes}}})", f, "attr")
    if _is_plain_root(f.body):
        first = w.line
        w.begin()
        start = w.col
        w.put(f"# with {w.dialect.block}(")
        w.block_name("root", f.root.id)
        w.put("):")
        w.spanned(f.body, start)
        w.spanned(f.root, start)
        w.end(f.body, "block")
        print_block_body(w, f.body)
        w.extent(f.body, first)
    else:
        print_stmt(w, f.body)
    w.indent -= 1
    w.names.release([*f.params, *f.sizes])


def _decorator(w: Writer, f: PrimFunc) -> str:
    """``@T.prim_func``, or, as TVM writes it, ``@T.prim_func(private=True, s_tir=True)``."""
    name, _, settings = w.dialect.prim_func.rstrip(")").partition("(")
    said = [*(["private=True"] if f.private else []), *([settings] if settings else [])]
    return f"{name}({', '.join(said)})" if said else name


def _print_sizes(w: Writer, f: PrimFunc, sizes: Sequence[SizeVar]) -> None:
    """``n, m = T.int32(), T.int32()``: what the arrays of a caller tell, as TVM declares it."""
    w.begin()
    for k, size in enumerate(sizes):
        w.put(", " if k else "")
        w.name(size)
    w.put(" = " + ", ".join(f"T.{size.type}()" for size in sizes))
    w.end(f, "sizes")


def def_name(f: PrimFunc) -> str:
    """What the text of `f` calls it: its name, where that is one and not taken in a notebook."""
    name = identifier(f.name)
    return f"{name}_" if name in ("sch", "wb") else name


def _print_signature(
    w: Writer, owner: PrimFunc | Kernel, name: str, params: tuple[Buffer, ...]
) -> None:
    w.begin()
    start = w.col
    w.put(f"def {name}(")
    told = {v for v in sizes_in(params) if v.type in w.dialect.ahead}
    for k, buffer in enumerate(params):
        if k:
            w.put(", ")
        w.names.define(buffer, buffer.name)
        here = w.col
        w.name(buffer)
        w.put(": ")
        print_buffer_type(w, buffer, told)
        w.spanned(buffer, here)
    w.put("):")
    w.spanned(owner, start)
    w.end(owner, "def")


def _is_plain_root(s: BlockRealize) -> bool:
    """Whether the root block says nothing, so that its header may stay a comment."""
    b = s.block
    plain = not (b.iter_vars or b.reads or b.writes or b.annotations or b.init)
    return plain and b.name == "root" and s.predicate is TRUE


@prints(Kernel)
def _print_kernel(w: Writer, k: Kernel) -> None:
    """A launch: its size, its buffers, then what each thread runs. It is shown, never read."""
    told = sizes_in([*k.params, *k.allocs])
    for size in dict.fromkeys((*told, *sizes_used(k))):
        w.kinds[size] = "size"
        w.names.define(size, size.name)
    w.row(f"# one launch: {_size(k.grid)} blocks of {_size(k.block)} threads", k, "launch")
    _print_signature(w, k, identifier(k.name), k.params)
    w.indent += 1
    sizes = dict(zip(("x", "y", "z"), zip(k.grid, k.block, strict=True), strict=True))
    for axis, var in k.axes:
        of_grid, of_block = sizes[axis[-1]]
        w.begin()
        w.kinds[var] = "loop"
        w.names.define(var, var.name)
        w.name(var)
        extent = of_grid if axis.startswith("blockIdx") else of_block
        w.put(f' = T.launch_thread("{axis}", {size_text(extent)})')
        w.end(k, "axis")
    for buffer in k.allocs:
        w.names.define(buffer, buffer.name)
        print_alloc(w, buffer, k)
    print_stmt(w, k.body)
    w.indent -= 1
    w.names.release([*k.params, *k.allocs, *(var for _, var in k.axes), *told])


def _size(sizes: tuple[Size, Size, Size]) -> str:
    many = (k + 1 for k, n in enumerate(sizes) if isinstance(n, Expr) or n > 1)
    return " × ".join(map(size_text, sizes[: max(many, default=1)]))


def _attribute(key: str, value: Data) -> str:
    """An attribute of a function; what it is built for is a word of its own in TVM."""
    return f"T.target({data(value)})" if key == "target" else data(value)


# --- reading -------------------------------------------------------------------------------------


def read_function(r: Reader, tree: ast.FunctionDef) -> PrimFunc | SymbolicFunc:
    """The function that `tree` defines; its text where shapes in it are not known yet."""
    symbols = find_symbols(r, tree)
    if not symbols.keys() <= r.symbols.keys():
        return _read_sized(r, tree, symbols)
    define_symbols(r, symbols)
    _check_words(r, tree)
    params = _read_params(r, tree)
    attrs: dict[str, Data] = {}
    body: list[ast.stmt] = []
    for stmt in tree.body:
        if isinstance(stmt, ast.Expr) and r.is_function(stmt.value, "func_attr"):
            assert isinstance(stmt.value, ast.Call)
            (given,) = r.arguments(stmt.value, "attrs")
            for key, value in read_attributes(r, given):
                attrs[_OURS.get(key, key)] = value
        elif isinstance(stmt, ast.Assign) and r.is_function(stmt.value, "match_buffer"):
            _read_match_buffer(r, stmt, params)
        elif declared_later(r, stmt):  # a name that says where an argument lies
            read_let(r, stmt)
        else:
            body.append(stmt)
    buffers = [_matched(r, tree, name, buffer) for name, buffer in params.items()]
    head, inside = Head(), _unwrapped(r, body)
    whole = in_order(read_block_body(r, inside, head, tree))
    if inside is not body:  # TVM's root block may say what it touches: all that the program does
        head.reads = head.writes = None
    if not any(buffer.is_fragment for buffer in buffers):  # else a tile may lie anyhow
        for told, step in r.row_strides.items():
            hint = "leave strides out: an array lies one row after the other"
            raise r.error(step, f"No array tells the strides of `{told}`", hint=hint)
    name = str(attrs.pop("global_symbol", tree.name))
    root, notes = _root(r, tree, head, whole), tuple(attrs.items())
    return PrimFunc(name, tuple(buffers), root, notes, _is_private(r, tree))


def _is_private(r: Reader, tree: ast.FunctionDef) -> bool:
    """Whether ``@T.prim_func(private=True)`` says so."""
    settings = (k for one in tree.decorator_list if isinstance(one, ast.Call) for k in one.keywords)
    return any(k.arg == "private" and read_plain(r, k.value) is True for k in settings)


def _read_sized(
    r: Reader, tree: ast.FunctionDef, symbols: dict[str, str]
) -> PrimFunc | SymbolicFunc:
    """The function with its symbols as sizes, if each is one of an argument; else its text."""
    refuse_unknown(r, tree, symbols)
    sizes = {
        name: SizeVar(name, as_index(Var(name, dtype)).dtype) for name, dtype in symbols.items()
    }
    try:
        func = read_function(Reader(r.source, r.env, symbols=sizes), tree)
    except ParseError:
        return as_symbolic(r, tree, symbols)
    assert isinstance(func, PrimFunc)
    return func if set(func.sizes) == {*sizes.values()} else as_symbolic(r, tree, symbols)


_OURS = {theirs: ours for ours, theirs in DIALECTS["tvm"].attributes.items()}


def _check_words(r: Reader, tree: ast.FunctionDef) -> None:
    """Refuse a name of T that is a slip of the pen for another."""
    known = {*WORDS, *FUNCTIONS, *REFUSED, *(f"axis.{name}" for name in AXES)}
    for node in (node for part in (tree.args, *tree.body) for node in nodes(part)):
        if not isinstance(node, ast.Attribute) or not r.is_word(node):
            continue
        name = r.function(node)
        close = [] if name in known else get_close_matches(name, known, n=1, cutoff=0.75)
        if close:
            here, hint = r.text(node), f"is it `T.{close[0]}`?"
            raise r.error(node, f"There is no `{here}`", hint=hint)


def _read_params(r: Reader, tree: ast.FunctionDef) -> dict[str, Buffer | None]:
    """The parameters in order; None for a handle, whose buffer ``T.match_buffer`` will give."""
    args = tree.args
    if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs or args.defaults:
        hint = 'write each parameter as A: T.Buffer((8,), "float32")'
        raise r.error(tree, "A program takes plain parameters only", hint=hint)
    params: dict[str, Buffer | None] = {}
    for arg in args.args:
        if arg.arg in r.symbols:
            continue
        if _is_handle(r, arg.annotation):
            params[arg.arg] = None
            continue
        buffer = read_buffer_type(r, arg)
        r.define(arg, arg.arg, buffer)
        params[arg.arg] = buffer
    return params


def _is_handle(r: Reader, tree: ast.expr | None) -> bool:
    if isinstance(tree, ast.Call):
        return r.is_function(tree, "handle")
    is_attribute = isinstance(tree, ast.Attribute) and tree.attr == "handle"
    return is_attribute and r.function(tree) == "handle"  # type: ignore[arg-type]


def _read_match_buffer(r: Reader, stmt: ast.Assign, params: dict[str, Buffer | None]) -> None:
    """``A = T.match_buffer(a, (8,), "float32")`` makes handle `a` the buffer `A`."""
    target, call = stmt.targets[0], stmt.value
    assert isinstance(call, ast.Call)
    given = r.bind(call, "param", *BUFFER_PARAMETERS)
    param = given.pop("param", None)
    if not isinstance(param, ast.Name) or params.get(param.id, call) is not None:
        handles = ", ".join(name for name, buffer in params.items() if buffer is None)
        hint = f"handles that have no buffer yet: {handles or 'none'}"
        raise r.error(call, "T.match_buffer takes a parameter that is a T.handle", hint=hint)
    if not isinstance(target, ast.Name):
        hint = 'write A = T.match_buffer(a, (8,), "float32")'
        raise r.error(target, "Can't name a buffer this", hint=hint)
    buffer = declared_argument(r, given, target.id, call)
    r.define(target, target.id, buffer)
    params[param.id] = buffer


def _matched(r: Reader, tree: ast.FunctionDef, name: str, buffer: Buffer | None) -> Buffer:
    if buffer is None:
        arg = next(arg for arg in tree.args.args if arg.arg == name)
        hint = f'write A = T.match_buffer({name}, (8,), "float32") first in the function'
        raise r.error(arg, f"Handle `{name}` is given no buffer", hint=hint)
    return buffer


def _unwrapped(r: Reader, body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of the root block, which may be written out: ``with T.block("root"):``.

    TVM's own programs call blocks in it so, too; these are "root_1" here.
    """
    match body:
        case [ast.With(items=[ast.withitem(context_expr=ast.Call() as call)], body=inside)]:
            if r.is_function(call, *BLOCK) and block_name(r, call) == "root":
                for node in (node for stmt in inside for node in ast.walk(stmt)):
                    match node:
                        case ast.Call(args=[ast.Constant("root") as name]):
                            name.value = "root_1" if r.is_function(node, *BLOCK) else name.value
                return inside
    return body


def _root(r: Reader, tree: ast.FunctionDef, head: Head, body: Stmt) -> BlockRealize:
    """The root block, which runs once and speaks for nobody: no iterators, no regions."""
    if head.axes or head.init or head.reads or head.writes or head.predicate is not TRUE:
        hint = 'put T.axis, T.where, T.reads, T.writes and T.init into a block: with T.block("C"):'
        raise r.error(tree, "The function's own statements are no block", hint=hint)
    root = Block("root", (), (), (), body, None, tuple(head.allocs), head.annotations)
    return BlockRealize((), TRUE, root)
