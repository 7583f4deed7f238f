"""TVM's ``mma.sync`` and ``ldmatrix``, in a loop over a warp's threads: read as what each does.

``for tx in T.thread_binding(32, thread="threadIdx.x"): T.ptx_legacy.ldmatrix(…)`` has every thread
give the place of a row, and PTX says which registers of which threads its cells come to. So it is
read as loops over threads and registers, with the note WARP_CALL, and so are the two calls of
``T.ptx_legacy.mma`` that make a product of 16 x 16.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from workbench.diag import Fail
from workbench.ir import (
    LAID_OUT_BY_TVM,
    WARP_CALL,
    Buffer,
    BufferStore,
    Expr,
    For,
    Stmt,
    Var,
    binary,
    cast,
    const,
    dtypes,
    number_like,
)
from workbench.script.grammar import read_plain, read_value
from workbench.script.reader import Reader

WARP, TILE, SUMS = 32, 16, 8
_CALLS = {  # TVM's names, today's and those of before, and how many arguments they take
    "ptx_legacy.ldmatrix": 7, "ptx_ldmatrix": 7,
    "ptx_legacy.mma": 13, "ptx_mma": 13,
    "cuda.mma_fill_legacy": 3, "mma_fill": 3,
    "cuda.mma_store_legacy": 6, "mma_store": 6,
}  # fmt: skip
_STEP = 1 << 20  # stands for the cells from a row to the next, which no place in a row comes to


def read_lane_call(r: Reader, tree: ast.stmt) -> Stmt | None:
    """The loops of what the threads of a warp call for in the loop `tree`; None for another."""
    alone = _called(r, tree)
    if alone is not None and r.function(alone.func).endswith(("mma", "mma_legacy")):
        return _laid_out_product(r, alone)
    if not isinstance(tree, ast.For) or not r.is_function(tree.iter, "thread_binding"):
        return None
    calls = [_called(r, stmt) for stmt in tree.body]
    if None in calls or not calls:
        return None
    first, *others = (call for call in calls if call is not None)
    name, args = r.function(first.func).split(".")[-1].removesuffix("_legacy"), first.args
    if any(len(call.args) != _CALLS[r.function(call.func)] for call in (first, *others)):
        raise _unreadable(r, first, f"it takes {_CALLS[r.function(first.func)]} arguments")
    if len(others) != ("mma" in (name, name.removeprefix("ptx_"))):
        raise _unreadable(r, first, "two products make one of 16 x 16, and other calls stand alone")
    match name.removeprefix("ptx_"):
        case "ldmatrix":
            return _load(r, first, args, r.text(tree.target))
        case "mma":
            return _product(r, first, args, others[0].args)
        case "mma_fill":
            held = _buffer(r, args[1])
            t, l = Var("t"), Var("l")  # noqa: E741
            return _nest(("mma_fill",), {t: WARP, l: SUMS}, held, _zero(held), t, l)
    to, held = _buffer(r, args[2]), _buffer(r, args[3])
    t, l = Var("t"), Var("l")  # noqa: E741
    return _nest(("mma_store",), {t: WARP, l: SUMS}, to, held[t, l], *_cell(t, l, 2))


def _called(r: Reader, stmt: ast.stmt) -> ast.Call | None:
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    if isinstance(call, ast.Call) and r.is_function(call, "evaluate") and call.args:
        call = call.args[0]
    return call if isinstance(call, ast.Call) and r.is_function(call, *_CALLS) else None


def _cell(t: Expr, l: Expr, packed: int, *, b: bool = False) -> tuple[Expr, Expr]:  # noqa: E741
    """The cell (i, j) that thread t holds in register l, of B or of A or a sum."""
    first, second = l // (2 * packed), l % (2 * packed) // packed
    i, j = (first, second) if b else (second, first)
    return i * 8 + t // 4, j * (4 * packed) + t % 4 * packed + l % packed


def _load(r: Reader, call: ast.Call, args: Sequence[ast.expr], thread: str) -> Stmt:
    held, shared = _buffer(r, args[3]), _buffer(r, args[5])
    turned, packed = bool(read_plain(r, args[0])), 4 // dtypes.itemsize(held.dtype)
    t, l = Var("t"), Var("l")  # noqa: E741
    note = ("ptx_ldmatrix", *(("trans",) if turned else ()))
    if read_plain(r, args[1]) != 4:
        raise _unreadable(r, args[1], "a tile is four matrices of 8 rows of 16 bytes")
    own = r.text(args[4]).replace(" ", "")
    of_thread = (f"{4 * packed}*{thread}", f"{thread}*{4 * packed}")
    if held.tag == "warp" and own not in {f"{held.name}.elem_offset+{x}" for x in of_thread}:
        raise _unreadable(r, args[4], f"a thread has {4 * packed} cells of {held.name}, in a row")
    if turned and packed == 4 and _is_stride(r, args[6], shared):
        cell = _cell(t, l, packed, b=True)  # ldmatrix turns no bytes, and TVM loads them one by one
        return _nest(("mma_load",), {t: WARP, l: 4 * packed}, held, shared[cell[::-1]], t, l)
    given = [divmod(_place(r, args[6], {thread: x}, shared), _STEP) for x in range(WARP)]
    wide = 4 * packed  # cells of 16 bytes, a row of a matrix
    if held.tag in LAID_OUT_BY_TVM:
        cell = (l // 2 * 8 + t // 4, t % 4 * 2 + l % 2)  # matrices below each other, or turned
        wanted = [(x % 8, x // 8 * 8) if turned else (x, 0) for x in range(WARP)]
        if given == wanted and held.shape == ((8, WARP) if turned else (WARP, 8)):
            cell = cell[::-1] if turned else cell
            return _nest(note, {t: WARP, l: 8}, held, shared[cell], *cell)
        raise _unreadable(r, call, f"its threads give the rows of no tile of {held.name}")
    for b in (False, True):
        order = [(m // 2, m % 2) if b != turned else (m % 2, m // 2) for m in range(4)]
        firsts = [(row * 8, column * wide) for row, column in order]  # of each matrix
        wanted = [(firsts[x // 8][0] + x % 8, firsts[x // 8][1]) for x in range(WARP)]
        if given == wanted and (not turned or packed == 2):
            cell = _cell(t, l, packed, b=b)
            value = shared[cell[::-1] if turned else cell]
            return _nest(note, {t: WARP, l: 4 * packed}, held, value, t, l)
    raise _unreadable(r, call, "its threads give the rows of no tile of A or B")


def _is_stride(r: Reader, tree: ast.expr, shared: Buffer) -> bool:
    """Whether this is how far apart the rows of `shared` are."""
    rows = r.row_strides.get(shared.name)
    told = (f"{shared.name}.strides[0]", *([r.text(rows)] if rows is not None else []))
    return r.text(tree) in told


def _place(r: Reader, tree: ast.expr, known: Mapping[str, int], shared: Buffer) -> int:
    """Where the row begins that a thread gives, with _STEP for the stride of rows."""
    if _is_stride(r, tree, shared):
        return _STEP
    match tree:
        case ast.Name(name) if name in known:
            return known[name]
        case ast.Constant(int(value)):
            return value
        case ast.BinOp(left, op, right):
            a, b = (_place(r, side, known, shared) for side in (left, right))
            match op:
                case ast.Add():
                    return a + b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv() if b:
                    return a // b
                case ast.Mod() if b:
                    return a % b
    raise _unreadable(r, tree, "a place is made of the thread, the stride of rows, + * // and %")


_KINDS = {"fp16": "float16", "fp32": "float32", "bf16": "bfloat16"}


def _product(
    r: Reader, call: ast.Call, args: Sequence[ast.expr], second: Sequence[ast.expr]
) -> Stmt:
    a, b, total = (_buffer(r, args[k]) for k in (6, 8, 10))
    packed = 4 // dtypes.itemsize(a.dtype)
    terms = 8 * packed
    told = [str(read_plain(r, arg)) for arg in args[:6]]
    types = [_KINDS.get(kind, kind) for kind in told[3:]]
    if told[:3] != [f"m16n8k{terms}", "row", "col"] or types != [a.dtype, b.dtype, total.dtype]:
        raise _unreadable(r, call, f'of {a.dtype} it is "m16n8k{terms}", "row", "col", as it lies')
    for name, at, cells, half in (
        (a.name, 7, 4 * packed, 0),
        (b.name, 9, 4 * packed, 2 * packed),
        (total.name, 11, SUMS, SUMS // 2),
    ):
        for given, moved in ((args[at], 0), (second[at], half)):
            end = f"*{cells}" + (f"+{moved}" if moved else "")
            if not r.text(given).replace(" ", "").endswith(end):
                raise _unreadable(r, given, f"of {name} a thread has {cells} cells, by halves")
    t, l, k = Var("t"), Var("l"), Var("k")  # noqa: E741
    i, j = _cell(t, l, 2)
    held = [line % 8 * 4 + k % (4 * packed) // packed for line in (i, j)]
    of_a = k // (4 * packed) * (2 * packed) + i // 8 * packed + k % packed
    of_b = k // (4 * packed) * packed + j // 8 * (2 * packed) + k % packed
    factors = [cast(total.dtype, part) for part in (a[held[0], of_a], b[held[1], of_b])]
    value = binary("+", total[t, l], binary("*", *factors))
    return _nest(("ptx_mma", told[0]), {t: WARP, l: SUMS, k: terms}, total, value, t, l)


def _laid_out_product(r: Reader, call: ast.Call) -> Stmt:
    """A product of 16 x 8 x 8 on fragments that TVM lays out, all threads of a warp together.

    Which of a thread's registers they are follows from the cells, and is not read.
    """
    args = call.args
    if len(args) != _CALLS[r.function(call.func)]:
        raise _unreadable(r, call, f"it takes {_CALLS[r.function(call.func)]} arguments")
    a, b, total = (_buffer(r, args[k]) for k in (6, 8, 10))
    told = [str(read_plain(r, arg)) for arg in args[:6]]
    if told != ["m16n8k8", "row", "col", a.dtype, b.dtype, total.dtype]:
        raise _unreadable(r, call, f'of {a.dtype} it is "m16n8k8", "row", "col", as it lies')
    if (a.tag, b.tag, total.tag) != LAID_OUT_BY_TVM:
        raise _unreadable(r, call, f"it multiplies tiles in {', '.join(LAID_OUT_BY_TVM)}")
    t, l, k = Var("t"), Var("l"), Var("k")  # noqa: E741
    i, j = _cell(t, l, 2)
    factors = [cast(total.dtype, part) for part in (a[i, k], b[k, j])]
    value = binary("+", total[i, j], binary("*", *factors))
    return _nest(("ptx_mma", told[0]), {t: WARP, l: 4, k: 8}, total, value, i, j)


def _nest(
    call: tuple[str, ...], loops: Mapping[Var, int], to: Buffer, value: Expr, *cell: Expr
) -> Stmt:
    body: Stmt = BufferStore(to, value, cell)
    for number, (var, extent) in reversed(list(enumerate(loops.items()))):
        notes = ((WARP_CALL, call),) if number == 0 else ()
        body = For(var, const(0, "int32"), const(extent, "int32"), "serial", body, None, notes)
    return body


def _zero(buffer: Buffer) -> Expr:
    return cast(buffer.dtype, number_like(0, buffer.dtype))


def _buffer(r: Reader, tree: ast.expr) -> Buffer:
    """The buffer of ``C.data``, ``A.access_ptr("r")`` or T.tvm_access_ptr(…, A.data, …)."""
    told: ast.expr = tree
    if isinstance(tree, ast.Call):
        told = tree.args[1] if r.is_function(tree, "tvm_access_ptr") else tree.func
    if isinstance(told, ast.Attribute):
        buffer = read_value(r, told.value)
        if isinstance(buffer, Buffer):
            return buffer
    raise _unreadable(r, tree, 'a tile is C.data or A.access_ptr("r")')


def _unreadable(r: Reader, tree: ast.AST, hint: str) -> Fail:
    return r.error(tree, "Can't read this call of a warp", hint=hint)
