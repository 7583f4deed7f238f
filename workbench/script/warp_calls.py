"""TVM's calls of a warp, as implementations of its intrinsics write them: read as their loops.

``T.tvm_load_matrix_sync(C.data, 16, 16, 16, …, A.access_ptr("r"), s1, "row_major")`` copies a tile
of A to a fragment of C, and so for i, j: C[i, j] = A[i, j], with the note WARP_CALL. Which number a
fragment has follows from its cells, and is not read. Of ``tvm_mma_sync`` TVM says no order of
memory: that of the description, see `TensorIntrin.register`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from workbench.diag import Fail
from workbench.ir import (
    WARP_CALL,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    Node,
    Stmt,
    Var,
    attrs_dict,
    binary,
    cast,
    const,
    dtypes,
    rewrite,
    substitute,
    walk,
    walk_statements,
)
from workbench.script.grammar import read_plain, read_value, read_word
from workbench.script.memory import cell_of
from workbench.script.reader import Reader, View

_TILE, _MATRIX = (16, 16, 16), (8, 8)
_CALLS = {
    "metal.make_filled_simdgroup_matrix": 5,
    "metal.simdgroup_load": 7,
    "metal.simdgroup_store": 7,
    "metal.simdgroup_multiply_accumulate": 8,
    "tvm_load_matrix_sync": 8,
    "tvm_store_matrix_sync": 8,
    "tvm_fill_fragment": 6,
    "tvm_mma_sync": 8,
}


def read_warp_call(r: Reader, tree: ast.stmt) -> Stmt | None:
    """The loops of the call that the statement `tree` makes; None for another statement."""
    call = tree.value if isinstance(tree, ast.Expr) else None
    if isinstance(call, ast.Call) and r.is_function(call, "evaluate") and call.args:
        call = call.args[0]
    if not isinstance(call, ast.Call) or not r.is_function(call, *_CALLS):
        return None
    name, args = r.function(call.func), call.args
    if len(args) != _CALLS[name]:
        raise _unreadable(r, call, f"it takes {_CALLS[name]} arguments")
    if name.startswith("metal."):
        return _of_simdgroup(r, name.removeprefix("metal."), call, args)
    if name == "tvm_mma_sync":
        return _product(r, call, args)
    sizes = tuple(read_plain(r, size) for size in args[1:4])
    if sizes != _TILE:
        of_int4 = "; 8 x 8 x 32 is one of int4, of which there are no cells here"
        hint = f"a tile has 16 rows, columns and terms{of_int4 if sizes == (8, 8, 32) else ''}"
        raise _unreadable(r, call, hint)
    fragment = _tile(r, args[0])
    i, j = Var("i"), Var("j")
    if name == "tvm_fill_fragment":
        stored: Stmt = _stored(fragment, _number(r, args[5], fragment.dtype), i, j)
        return _nest((name,), [i, j], stored)
    memory = _tile(r, args[5])
    rows = _rows(r, args[6], memory)
    order = read_word(r, args[7], "an order of memory")
    loads = name == "tvm_load_matrix_sync"
    to, source = (fragment, memory) if loads else (memory, fragment)
    return _nest((name, order, *rows), [i, j], _stored(to, _load(source, i, j), i, j))


def _number(r: Reader, tree: ast.expr, dtype: str) -> Expr:
    """What a tile of that type is filled with; of another type, the same number of this one."""
    value = read_value(r, tree)
    if isinstance(value, Const):
        value = value.value
    if isinstance(value, (int, float)) and (dtypes.is_float(dtype) or value == int(value)):
        return const(value if dtypes.is_float(dtype) else int(value), dtype)
    raise _unreadable(r, tree, f"it fills with a number of {dtype}")


def _rows(r: Reader, tree: ast.expr, memory: Buffer | View) -> tuple[int, ...]:
    """How far apart a call says that rows of its tile are; () where it says its first stride.

    A number is that of a tile whose rows follow each other, which has no name for its stride.
    """
    rows = r.row_strides.get(memory.name)
    told = (f"{memory.name}.strides[0]", *([r.text(rows)] if rows is not None else []))
    if r.text(tree) in told:
        return ()
    if rows is None and read_plain(r, tree) == memory.shape[1]:
        return (int(memory.shape[1]),)
    raise _unreadable(r, tree, f"rows are as far apart as the first stride of {memory.name}")


def _of_simdgroup(r: Reader, name: str, call: ast.Call, args: Sequence[ast.expr]) -> Stmt:
    """As `read_warp_call`, of a call on matrices of 8 x 8 of Metal's."""
    matrix = _tile(r, args[0], _MATRIX)
    if name == "simdgroup_multiply_accumulate":
        return _product(r, call, args, (name,))
    sizes = args[3:5] if name == "make_filled_simdgroup_matrix" else args[4:6]
    if tuple(read_plain(r, size) for size in sizes) != _MATRIX:
        raise _unreadable(r, call, "a matrix has 8 rows and columns")
    i, j = Var("i"), Var("j")
    if name == "make_filled_simdgroup_matrix":
        value = _number(r, args[2], matrix.dtype)
        return _nest((name,), [i, j], _stored(matrix, value, i, j), 8)
    memory = _tile(r, args[2], _MATRIX)
    rows = _rows(r, args[3], memory)
    turned = bool(read_plain(r, args[6]))
    if name == "simdgroup_store":
        if turned:
            raise _unreadable(r, args[6], "a matrix is stored row by row")
        stored = _stored(memory, _load(matrix, i, j), i, j)
        return _nest((name, "row_major", *rows), [i, j], stored, 8)
    stored = _stored(matrix, _load(memory, i, j), *((j, i) if turned else (i, j)))
    order = "col_major" if turned else "row_major"
    return _nest((name, order, *rows), [i, j], stored, 8)


def _product(
    r: Reader, call: ast.Call, args: Sequence[ast.expr], note: tuple[str, ...] = ("tvm_mma_sync",)
) -> Stmt:
    shape = _TILE[:2] if note == ("tvm_mma_sync",) else _MATRIX
    total, a, b, before = (_tile(r, args[k], shape) for k in (0, 2, 4, 6))
    if before is not total:
        raise _unreadable(r, call, "it adds to what is in the fragment that it writes")
    i, j, k = Var("i"), Var("j"), Var("k")
    factors = [cast(total.dtype, part) for part in (_load(a, i, k), _load(b, k, j))]
    value = binary("+", _load(total, i, j), binary("*", *factors))
    return _nest(note, [i, j, k], _stored(total, value, i, j), shape[0])


def in_order(body: Stmt) -> Stmt:
    """`body` with products of tiles in the order of memory in which it loads the second ones.

    TVM's call does not say it: a tile is multiplied as it was loaded. What is loaded in two ways is
    refused where a kernel is made of it; of what is not loaded here an intrinsic's description says
    it.
    """
    loaded: dict[Buffer, str] = {}
    for node in walk_statements(body):
        match _note(node), node:
            case ("tvm_load_matrix_sync", str(order), *_), For(body=For(body=BufferStore() as to)):
                loaded.setdefault(to.buffer, order)

    def visit(node: Node) -> Node:
        if not isinstance(node, For) or _note(node) != ("tvm_mma_sync",):
            return node
        factors = {n.buffer for n in walk(node) if isinstance(n, BufferLoad)} & loaded.keys()
        second = next((one for one in factors if one.tag == "wmma.matrix_b"), None)
        if second is None:
            return node
        note = ("tvm_mma_sync", "row_major", loaded[second])
        ordered = replace(node, annotations=((WARP_CALL, note),))
        return _turned(ordered, second) if loaded[second] == "col_major" else ordered

    return rewrite(body, visit) if loaded else body


def _note(node: Node) -> tuple[object, ...]:
    notes = attrs_dict(node.annotations) if isinstance(node, For) else {}
    found = notes.get(WARP_CALL, ())
    return found if isinstance(found, tuple) else (found,)


def _turned(product: For, second: Buffer) -> Node:
    """The product with rows and columns of the `second` tile exchanged."""
    columns = product.body
    assert isinstance(columns, For) and isinstance(columns.body, For)
    j, k = columns.loop_var, columns.body.loop_var

    def visit(node: Node) -> Node:
        if not isinstance(node, BufferLoad) or node.buffer is not second:
            return node
        return replace(node, indices=tuple(substitute(e, {j: k, k: j}) for e in node.indices))

    return rewrite(product, visit)


def _nest(
    call: tuple[str | int, ...], counted: list[Var], body: Stmt, side: int = _TILE[0]
) -> Stmt:
    zero, size = const(0, "int32"), const(side, "int32")
    for var in reversed(counted[1:]):
        body = For(var, zero, size, "serial", body)
    return For(counted[0], zero, size, "serial", body, annotations=((WARP_CALL, call),))


def _load(tile: Buffer | View, *indices: Expr) -> BufferLoad:
    return BufferLoad(*cell_of(tile, indices))


def _stored(tile: Buffer | View, value: Expr, *indices: Expr) -> BufferStore:
    buffer, cell = cell_of(tile, indices)
    return BufferStore(buffer, value, cell)


def _tile(r: Reader, tree: ast.expr, shape: tuple[int, ...] = _TILE[:2]) -> Buffer | View:
    """The buffer, or part of one, of ``C.data`` or ``A.access_ptr("r")``, `T.tvm_access_ptr`."""
    told, how = tree, "data"
    if r.is_function(tree, "tvm_access_ptr") and len(tree.args) > 1:  # type: ignore[attr-defined]
        told = tree.args[1]  # type: ignore[attr-defined]
    elif isinstance(tree, ast.Call):
        told, how = tree.func, "access_ptr"
    if isinstance(told, ast.Attribute) and told.attr == how:
        buffer = read_value(r, told.value)
        if isinstance(buffer, (Buffer, View)) and buffer.shape == shape:
            return buffer
    size = " x ".join(map(str, shape))
    raise _unreadable(r, tree, f'a tile is C.data or A.access_ptr("r"), of {size}')


def _unreadable(r: Reader, tree: ast.AST, hint: str) -> Fail:
    return r.error(tree, "Can't read this call of a warp", hint=hint)
