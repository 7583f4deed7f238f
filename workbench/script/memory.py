"""Buffers, their elements, boxes and stores: how each is written, and how that text is read."""

from __future__ import annotations

import ast
from dataclasses import replace
from math import prod

from workbench import arith
from workbench.diag import plural
from workbench.ir import (
    FRAGMENTS,
    SCOPES,
    BinOp,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Const,
    Expr,
    Node,
    Ramp,
    Range,
    Size,
    SizeVar,
    Var,
    as_expr,
    as_index,
    binary,
    cast,
    const,
    dtypes,
    free_vars,
    lie_apart,
    meet,
    memory_of,
    number_like,
    size_expr,
    walk,
)
from workbench.script.grammar import (
    REFUSED,
    not_a_number,
    print_expr,
    prints,
    read_dtype,
    read_expr,
    read_plain,
    read_value,
    read_word,
    reads,
)
from workbench.script.reader import Let, Reader, Value, View, fresh
from workbench.script.writer import Writer, shape, string

# --- elements ------------------------------------------------------------------------------------


@prints(BufferLoad)
def _print_load(w: Writer, e: BufferLoad, tightness: int) -> None:
    if e.buffer.scalar:
        w.name(e.buffer)
        return
    _print_element(w, e.buffer, e.indices)


def _print_element(w: Writer, buffer: Buffer, indices: tuple[Expr | Range, ...]) -> None:
    w.name(buffer)
    w.put("[")
    for k, index in enumerate(indices):
        if k:
            w.put(", ")
        if isinstance(index, Range):
            _print_range(w, index)
        elif isinstance(index, Ramp) and index.stride == 1:
            _print_range(w, Range(index.base, const(index.lanes, index.base.dtype)))
        else:
            print_expr(w, index)
    w.put("()]" if not indices else "]")


@reads(ast.Subscript)
def _read_subscript(r: Reader, tree: ast.Subscript) -> Value:
    """``A[i, j]``, or an item of a list or shape that is known already: ``A.shape[0]``."""
    value = read_value(r, tree.value)
    if isinstance(value, (Buffer, View)):
        return BufferLoad(*_read_element(r, tree, value))
    index = read_value(r, tree.slice)
    if isinstance(value, tuple) and isinstance(index, int) and not isinstance(index, bool):
        if -len(value) <= index < len(value):
            return value[index]
        hint = f"it has {len(value)} items, numbered from 0"
        raise r.error(tree, f"There is no item {index} in this list", hint=hint)
    hint = "only buffers, and lists and tuples of numbers, have items"
    raise r.error(tree, f"Can't index {r.describe(value)}", hint=hint)


@reads(ast.Attribute)
def _read_attribute(r: Reader, tree: ast.Attribute) -> Value:
    """``A.shape`` and ``A.dtype`` of a buffer."""
    value = read_value(r, tree.value)
    if isinstance(value, (Buffer, View)) and tree.attr in ("shape", "dtype"):
        return getattr(value, tree.attr)
    hint = "buffers have .shape and .dtype; give any other value a name before the program"
    raise r.error(tree, f"Can't read `.{tree.attr}` here", hint=hint)


@reads(ast.Tuple, ast.List)
def _read_items(r: Reader, tree: ast.Tuple | ast.List) -> Value:
    return tuple(read_value(r, item) for item in tree.elts)


def _index_trees(tree: ast.Subscript) -> list[ast.expr]:
    return tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]


def _read_element(
    r: Reader, tree: ast.Subscript, buffer: Buffer | View
) -> tuple[Buffer, tuple[Expr, ...]]:
    """The cell that ``A[i, j]`` names: of a view, that of its buffer."""
    trees = _index_trees(tree)
    _check_count(r, tree, buffer, len(trees))
    return cell_of(buffer, tuple(read_index(r, item) for item in trees))


def cell_of(buffer: Buffer | View, indices: tuple[Expr, ...]) -> tuple[Buffer, tuple[Expr, ...]]:
    """The cell at `indices`: of a view, that of its buffer."""
    if isinstance(buffer, Buffer):
        return buffer, indices
    firsts = tuple(map(fresh, buffer.firsts))
    before = len(firsts) - len(indices)
    inside = [binary("+", *pair) for pair in zip(firsts[before:], indices, strict=True)]
    return buffer.buffer, (*firsts[:before], *inside)


def _check_count(r: Reader, tree: ast.Subscript, buffer: Buffer | View, count: int) -> None:
    if count != len(buffer.shape):
        rank = len(buffer.shape)
        wanted = f"{rank} {plural(rank, 'index', 'indices')}"
        given = f"{count} {plural(count, 'was', 'were')}"
        raise r.error(
            tree,
            f"`{buffer.name}` takes {wanted}, {given} given",
            hint=f"`{buffer.name}` has shape {shape_text(buffer.shape)}: "
            "one index for each dimension",
        )


def read_index(r: Reader, tree: ast.expr) -> Expr:
    """An integer expression."""
    index = read_expr(r, tree)
    if dtypes.is_int(index.dtype):
        return as_index(index)
    hint = 'indices, extents and bindings are integers; convert with T.Cast("int32", x)'
    raise r.error(tree, f"Can't use a value of type {index.dtype} as an integer", hint=hint)


# --- boxes ---------------------------------------------------------------------------------------


@prints(BufferRegion)
def _print_region(w: Writer, e: BufferRegion, tightness: int) -> None:
    _print_element(w, e.buffer, e.region)


def _print_range(w: Writer, e: Range) -> None:
    """``lo : hi``, spaced as a formatter would: ``0:4`` but ``vi : vi + 3``."""
    start = w.col
    print_expr(w, e.min)
    if not (isinstance(e.extent, Const) and e.extent.value == 1):
        stop = binary("+", e.min, e.extent)
        plain = isinstance(e.min, (Const, Var)) and isinstance(stop, (Const, Var))
        w.put(":" if plain else " : ")
        print_expr(w, stop)
    w.spanned(e, start)


def read_region(r: Reader, tree: ast.expr) -> BufferRegion:
    """``A[vi, 0:4]``, or ``A`` for the whole of it."""
    buffer = read_value(r, tree.value if isinstance(tree, ast.Subscript) else tree)
    if not isinstance(buffer, (Buffer, View)):
        raise r.error(
            tree, "Can't read this as a region", hint="write A[vi, 0:4], or A for all of it"
        )
    if isinstance(tree, ast.Subscript):
        trees = _index_trees(tree)
        _check_count(r, tree, buffer, len(trees))
        box = [_read_range(r, *pair) for pair in zip(trees, buffer.shape, strict=True)]
    else:
        box = [Range(*meet(as_expr(0), as_expr(n))) for n in buffer.shape]
    if isinstance(buffer, Buffer):
        return BufferRegion(buffer, tuple(box))
    firsts = tuple(map(fresh, buffer.firsts))
    before = len(firsts) - len(box)
    ones = [Range(first, const(1, first.dtype)) for first in firsts[:before]]
    moved = [_moved(*pair) for pair in zip(firsts[before:], box, strict=True)]
    return BufferRegion(buffer.buffer, (*ones, *moved))


def _moved(first: Expr, inside: Range) -> Range:
    """A range of a view as one of its buffer."""
    low = binary("+", first, inside.min)
    return Range(low, cast(low.dtype, inside.extent))


def _read_range(r: Reader, tree: ast.expr, size: Size) -> Range:
    """``vi``, ``0:4``, or ``2:`` and ``:`` up to the end, which is at `size`."""
    if not isinstance(tree, ast.Slice):
        index = read_index(r, tree)
        return Range(index, const(1, index.dtype))
    if tree.step is not None:
        raise r.error(tree, "Can't read this range", hint="write it without a step: A[0:4]")
    low = as_expr(0) if tree.lower is None else read_index(r, tree.lower)
    high = size_expr(size, low.dtype) if tree.upper is None else read_index(r, tree.upper)
    return range_between(*meet(low, high))


def range_between(low: Expr, high: Expr) -> Range:
    """From `low` up to `high`: where `high` is written ``low + n``, the extent is that n."""
    if isinstance(high, BinOp) and high.op == "+" and arith.equal(high.a, low):
        return Range(low, high.b)
    return Range(low, arith.simplify(binary("-", high, low)))


# --- stores --------------------------------------------------------------------------------------


@prints(BufferStore)
def _print_store(w: Writer, s: BufferStore) -> None:
    w.begin()
    start = w.col
    _print_element(w, s.buffer, s.indices)
    w.put(" = ")
    print_expr(w, s.value)
    w.spanned(s, start)
    w.end(s, "store")


@reads(ast.Assign)
def _read_store(r: Reader, tree: ast.Assign) -> BufferStore:
    if len(tree.targets) != 1:
        raise r.error(tree, "Can't store to two places at once", hint="write two stores")
    target = tree.targets[0]
    if not isinstance(target, ast.Subscript):
        if r.is_function(tree.value, *REFUSED):
            read_value(r, tree.value)  # refused by its own name
        raise r.error(
            tree,
            f"Can't give `{r.text(target)}` a value",
            hint="a program stores to buffers, A[i] = x; write any other value where it is used",
        )
    return _store(r, target, tree.value)


@reads(ast.AugAssign)
def _read_update(r: Reader, tree: ast.AugAssign) -> BufferStore:
    """``A[i] += x`` is ``A[i] = A[i] + x``."""
    if not isinstance(tree.target, ast.Subscript):
        hint = "a program stores to buffers: A[i] += x"
        raise r.error(tree, f"Can't change `{r.text(tree.target)}`", hint=hint)
    element = ast.copy_location(
        ast.Subscript(tree.target.value, tree.target.slice, ast.Load()), tree.target
    )
    both = ast.copy_location(ast.BinOp(element, tree.op, tree.value), tree)
    return _store(r, tree.target, both)


def _store(r: Reader, target: ast.Subscript, tree: ast.expr) -> BufferStore:
    """A store; a value of another type is converted to the buffer's, as TVM does."""
    named = read_value(r, target.value)
    if not isinstance(named, (Buffer, View)):
        raise r.error(target, f"`{r.text(target.value)}` is no buffer", hint="store to A[i]")
    buffer, indices = _read_element(r, target, named)
    value = read_value(r, tree)
    if not isinstance(value, (Expr, bool, int, float)):
        raise not_a_number(r, tree, value)
    value = value if isinstance(value, Expr) else number_like(value, buffer.dtype)
    r.stored(target, buffer)
    return BufferStore(buffer, cast(buffer.dtype, value), indices)


# --- declarations --------------------------------------------------------------------------------


def print_buffer_type(w: Writer, buffer: Buffer, told: set[SizeVar]) -> None:
    """``T.Buffer((8,), "float32")``, after a parameter's name; ``T.int32`` of a number.

    The sizes that are `told` by parameters before need no quotes, as in TVM; those here join them.
    """
    if buffer.scalar:
        w.put(f"T.{buffer.type}")
        return
    w.put("T.Buffer(")
    _print_shape(w, buffer, told)
    w.put(f", {string(buffer.type)}")
    _print_placement(w, buffer)


def _print_shape(w: Writer, buffer: Buffer, told: set[SizeVar] | None = None) -> None:
    """``(8,)``, and of sizes ``("n", m)``: in quotes where a size is not among those `told` yet."""
    w.put("(")
    for k, n in enumerate(buffer.shape):
        w.put(", " if k else "")
        if not isinstance(n, Expr):
            kind = _index_type(buffer, k)
            w.put(str(n) if kind == "int32" else f"T.{kind}({n})")
            continue
        used = {v for v in free_vars(n) if isinstance(v, SizeVar)}
        if told is None or used <= told:
            print_expr(w, n)
            continue
        told |= used
        if isinstance(n, SizeVar):
            w.put('"')
            print_expr(w, n)
            w.put('"')
        else:
            w.put(string(expr_words(w, n)))
    w.put(",)" if len(buffer.shape) == 1 else ")")


def _index_type(buffer: Buffer, axis: int) -> str:
    """The type of the number that is dimension `axis`; a step may have made others of them."""
    types = buffer.index_types
    if len(types) == len(buffer.shape):
        return types[axis]
    return "int64" if "int64" in types else "int32"


def shape_text(sizes: tuple[Size, ...]) -> str:
    """A shape as people read it: ``(n, 4)``."""
    words = tuple(map(size_text, sizes))
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


def size_text(size: Size) -> str:
    """A dimension as people read it."""
    return expr_words(Writer(), size) if isinstance(size, Expr) else str(size)


def expr_words(w: Writer, e: Expr) -> str:
    """The text of `e` as it stands in what `w` writes."""
    own = Writer(w.dialect, w.names)
    own.begin()
    print_expr(own, e)
    return own.text


def print_alloc(w: Writer, buffer: Buffer, owner: Node) -> None:
    """``B = T.alloc_buffer((8,), scope="shared")``; float32 and "global" go without saying."""
    w.begin()
    start = w.col
    w.name(buffer)
    w.put(f" = {w.dialect.alloc_buffer}(")
    _print_shape(w, buffer)
    if buffer.type != "float32":
        w.put(f", {string(buffer.type)}")
    _print_placement(w, buffer)
    w.spanned(buffer, start)
    w.end(owner, "alloc")


_LYING = {"align": 64, "offset_factor": 0}  # where an array lies, and what goes without saying


def _print_placement(w: Writer, buffer: Buffer) -> None:
    if buffer.strides:
        w.put(f", strides={shape(buffer.strides)}")
    if buffer.storage_scope != "global":
        w.put(f", scope={string(buffer.storage_scope)}")
    for said in _LYING:
        if getattr(buffer, said) != _LYING[said]:
            w.put(f", {said}={getattr(buffer, said)}")
    w.put(")")


def read_buffer_type(r: Reader, arg: ast.arg) -> Buffer:
    """A parameter, its type in any of the forms that the tutorials use."""
    name, tree = arg.arg, arg.annotation
    hint = f'write {name}: T.Buffer((8,), "float32")'
    if isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Attribute):
        if r.function(tree.value) == "Buffer":
            items = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
            if len(items) == 2:
                return declared_argument(r, {"shape": items[0], "dtype": items[1]}, name, tree)
    elif isinstance(tree, ast.Attribute) and r.is_word(tree) and r.function(tree) in dtypes.BITS:
        return Buffer(name, (), r.function(tree), scalar=True)
    elif isinstance(tree, ast.Call) and r.is_function(tree, "Buffer"):
        return declared_argument(r, r.bind(tree, *BUFFER_PARAMETERS), name, tree)
    headline = "has no type" if tree is None else "has a type that can't be read"
    raise r.error(tree or arg, f"Parameter `{name}` {headline}", hint=hint)


BUFFER_PARAMETERS = (
    "shape",
    "dtype",
    "data",
    "strides",
    "elem_offset",
    "scope",
    "align",
    "offset_factor",
)
_UNSAID = {
    "data": (None,),
    "elem_offset": (None, 0),
}


def declared(r: Reader, given: dict[str, ast.expr], name: str, tree: ast.expr) -> Buffer:
    """The buffer that the arguments of a declaration describe."""
    if "shape" not in given:
        raise r.error(tree, f"Buffer `{name}` has no shape", hint='write T.Buffer((8,), "float32")')
    for key, accepted in _UNSAID.items():
        if key in given and _is_open(r, given[key]):
            continue
        if key in given and read_plain(r, given[key]) not in accepted:
            hint = "buffers here are whole arrays: leave it out"
            raise r.error(given[key], f"Can't set `{key}` of buffer `{name}`", hint=hint)
    dtype = read_dtype(r, given["dtype"]) if "dtype" in given else "float32"
    scope, tag = _read_scope(r, given["scope"]) if "scope" in given else ("global", "")
    strides = given.get("strides")
    sizes = read_shape(r, given["shape"])
    for step in strides.elts if isinstance(strides, (ast.Tuple, ast.List)) else ():
        if _is_open(r, step):
            hint = "leave strides out: an array lies one row after the other"
            raise r.error(step, f"No array tells the strides of `{name}`", hint=hint)
    steps = () if strides is None or read_plain(r, strides) is None else read_shape(r, strides)
    if steps and len(steps) != len(sizes):
        hint = "write one stride for each dimension, or none"
        raise r.error(strides, f"`{name}` has {len(sizes)} dimensions", hint=hint)
    if steps and any(isinstance(n, Expr) for n in (*sizes, *steps)):
        hint = "leave strides out: an array of unknown size lies one row after the other"
        raise r.error(strides, f"Can't set `strides` of `{name}`, whose sizes vary", hint=hint)
    if steps and not lie_apart(sizes, steps):
        hint = "the last dimension has the smallest stride, each other at least the cells inside it"
        raise r.error(strides, f"With these strides, cells of `{name}` share a place", hint=hint)
    words = getattr(given["shape"], "elts", [given["shape"]])
    types = tuple("int64" if r.is_function(n, "int64") else "int32" for n in words)
    types = types if "int64" in types else ()
    align, factor = (_read_lying(r, said, given) for said in _LYING)
    return Buffer(
        name,
        sizes,
        dtype,
        scope,
        steps,
        tag=tag,
        index_types=types,
        align=align,
        offset_factor=factor,
    )


def _read_lying(r: Reader, said: str, given: dict[str, ast.expr]) -> int:
    """What a declaration says of where an array lies; TVM takes no number of bytes as unsaid."""
    tree = given.get(said)
    value = None if tree is None else read_plain(r, tree)
    if tree is None or value is None:
        return _LYING[said]
    if isinstance(value, bool) or not isinstance(value, int) or not dtypes.fits(value, "int32"):
        raise r.error(tree, f"`{said}` is a whole number, not {r.text(tree)}", hint="leave it out")
    return value if value > 0 or said != "align" else _LYING[said]


def declared_argument(r: Reader, given: dict[str, ast.expr], name: str, tree: ast.expr) -> Buffer:
    """As `declared`, of what a caller brings, or of a tensor intrinsic's tile: a whole array.

    Names for the strides of a tile stand for what they are where it lies.
    """
    steps = getattr(given.get("strides"), "elts", [])
    if any(_is_open(r, step) or _is_named(step) for step in steps):
        r.row_strides[name] = steps[0]
        given = {key: value for key, value in given.items() if key != "strides"}
    buffer = declared(r, given, name, tree)
    if buffer.strides and any(
        stride != prod(buffer.shape[axis + 1 :])
        for axis, stride in enumerate(buffer.strides)
        if buffer.shape[axis] > 1
    ):
        hint = "leave strides out: arguments are whole arrays, one row after the other"
        raise r.error(given["strides"], f"Can't set `strides` of argument `{name}`", hint=hint)
    return replace(buffer, strides=())


def _is_named(tree: ast.expr) -> bool:
    """Whether this is a name as TVM prints it, ``"s1"``."""
    return isinstance(tree, ast.Constant) and isinstance(tree.value, str)


def _is_open(r: Reader, tree: ast.expr) -> bool:
    """Whether this is a name that says nothing of a value, such as where an argument starts."""
    if not isinstance(tree, ast.Name):
        return False
    named = r.named(tree.id)
    return isinstance(named, Let) and named.value is None if named else r.is_symbol(tree.id)


def _read_scope(r: Reader, tree: ast.expr) -> tuple[str, str]:
    """The memory of a buffer, and its tag; TVM also writes "" for global memory."""
    scope, tag = memory_of(read_word(r, tree, "a scope") or "global")
    if scope not in SCOPES:
        hint = f"the memories: {', '.join((*SCOPES, *FRAGMENTS, 'shared.dyn'))}"
        raise r.error(tree, f'There is no memory "{scope}" here', hint=hint)
    return scope, tag


def read_shape(r: Reader, tree: ast.expr) -> tuple[Size, ...]:
    """A shape: positive integers, or what sizes of the program tell."""
    if r.symbols and isinstance(tree, (ast.Tuple, ast.List)):
        sizes: tuple[object, ...] = tuple(_read_size(r, item) for item in tree.elts)
    elif r.symbols:
        sizes = (_read_size(r, tree),)
    else:
        value = read_plain(r, tree)
        sizes = value if isinstance(value, tuple) else (value,)
    for size in sizes:
        if isinstance(size, Expr) and _is_told_by_sizes(size):
            continue
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            hint = "a shape is a tuple of positive integers, known when the program is read: (8, 4)"
            raise r.error(tree, f"Can't use {r.text(tree)} as a shape", hint=hint)
    return sizes


def _is_told_by_sizes(size: Expr) -> bool:
    told = [node for node in walk(size) if isinstance(node, (Var, BufferLoad))]
    return dtypes.is_int(size.dtype) and all(isinstance(node, SizeVar) for node in told)


def _read_size(r: Reader, tree: ast.expr) -> object:
    """A size told by numbers that are known by now; TVM prints it as a text, too: ``"n * 2"``."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        try:
            size = ast.parse(tree.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            hint = 'write an expression of names that are known: "n * 2"'
            raise r.error(tree, f"Can't read the size {r.text(tree)}", hint=hint) from None
        for part in ast.walk(size):
            ast.copy_location(part, tree)
        tree = size
    value = read_value(r, tree)
    if isinstance(value, Expr):
        value = arith.simplify(as_index(value)) if dtypes.is_int(value.dtype) else value
    return value.value if isinstance(value, Const) else value
