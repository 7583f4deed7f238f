"""Functions of values, casts and choices: how each is written, and how that text is read."""

from __future__ import annotations

import ast
import math
import sys
from functools import partial, reduce

from workbench.ir import (
    MATHS,
    REINTERPRET,
    BinOp,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Expr,
    ExprLike,
    Ramp,
    Select,
    as_expr,
    binary,
    cast,
    const,
    dtypes,
    meet,
    number_like,
    reinterpret,
)
from workbench.script.grammar import (
    FUNCTIONS,
    OPAQUE,
    REFUSED,
    function,
    not_a_number,
    print_expr,
    prints,
    read_dtype,
    read_expr,
    read_plain,
    read_value,
    reads,
    refuse_opaque,
)
from workbench.script.reader import Reader, Value
from workbench.script.writer import Writer, string


def _print_call(w: Writer, name: str, *args: Expr | str) -> None:
    w.put(name + "(")
    for k, arg in enumerate(args):
        if k:
            w.put(", ")
        if isinstance(arg, str):
            w.put(arg)
        else:
            print_expr(w, arg)
    w.put(")")


@prints(Call)
def _print_function(w: Writer, e: Call, tightness: int) -> None:
    kind = (string(e.type),) if e.op == REINTERPRET else ()
    _print_call(w, "T." + e.op, *kind, *e.args)


# The functions that TVM also takes with the type of their result: T.exp(x, dtype="float32").
_TYPED = frozenset(
    (
        *(*MATHS, "fabs", "power", "if_then_else", "likely", "shift_left", "shift_right"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"),
    )
)


@reads(ast.Call)
def _read_call(r: Reader, tree: ast.Call) -> Value:
    """Any call: the method ``.astype``, a function of T, or what TVM has and we do not."""
    if isinstance(tree.func, ast.Attribute) and tree.func.attr == "astype":
        (dtype,) = r.arguments(tree, "dtype")
        return cast(read_dtype(r, dtype), read_expr(r, tree.func.value))
    name = r.function(tree.func)
    if name in _TYPED and any(k.arg == "dtype" for k in tree.keywords):
        return _read_typed_call(r, tree, name)
    if name in FUNCTIONS:
        return FUNCTIONS[name](r, tree)
    if name in REFUSED:
        raise r.error(tree.func, f"Can't use `{r.text(tree.func)}` here", hint=REFUSED[name])
    if "." in name:  # T.ptx.…, T.cuda.…
        refuse_opaque(r, tree)
    hint = "dir(T) lists all: T.min, T.if_then_else, T.Cast, functions of floats such as T.exp"
    raise r.error(tree.func, f"There is no function `{r.text(tree.func)}`", hint=hint)


def _read_typed_call(r: Reader, tree: ast.Call, name: str) -> Value:
    """A call that says the type of its result, which must be the one that it has."""
    others = [k for k in tree.keywords if k.arg != "dtype"]
    (said,) = [k for k in tree.keywords if k.arg == "dtype"]
    value = FUNCTIONS[name](r, ast.copy_location(ast.Call(tree.func, tree.args, others), tree))
    dtype, expr = read_dtype(r, said.value), as_expr(value)
    if dtype != expr.dtype:
        hint = f'leave out dtype=, and convert: T.Cast("{dtype}", {r.text(tree.func)}(…))'
        raise r.error(said, f"The value is {expr.dtype}, not {dtype}", hint=hint)
    return value


@function(*MATHS, "fabs", "power")
def _read_maths(r: Reader, tree: ast.Call) -> Expr:
    """``T.exp(x)``; TVM's names fabs and power are abs and pow here."""
    name = r.function(tree.func)
    op = {"fabs": "abs", "power": "pow"}.get(name, name)
    args = [_read_number(r, arg) for arg in r.arguments(tree, *("x", "y")[: MATHS[op]])]
    if len(args) == 2:
        args = list(_together(r, tree, *args))
    first = args[0] if isinstance(args[0], Expr) else as_expr(float(args[0]))
    if dtypes.is_float(first.dtype) or (op == "abs" and dtypes.is_int(first.dtype)):
        return Call(op, (first, *map(as_expr, args[1:])), first.dtype)
    second = ", y" if MATHS[op] == 2 else ""
    hint = f'convert it first: T.{name}(T.Cast("float32", x){second})'
    raise r.error(tree, f"Can't take T.{name} of a value of type {first.dtype}", hint=hint)


@function("call_pure_extern")
def _read_extern(r: Reader, tree: ast.Call) -> Expr:
    """CUDA's ``__dp4a`` of four cells each of A and B: their products, added to a number."""
    if len(tree.args) != 5 or r.text(tree.args[1]).strip("\"'") != "__dp4a":
        refuse_opaque(r, tree)
    kind, total = read_dtype(r, tree.args[0]), _read_number(r, tree.args[4])
    a, b = (_four_cells(r, arg) for arg in tree.args[2:4])
    if a is None or b is None:
        raise r.error(
            tree, "Can't read this `__dp4a`", hint="it takes A[T.Ramp(0, 1, 4)], of bytes, twice"
        )
    products = (
        binary("*", *(cast(kind, cell) for cell in pair)) for pair in zip(a, b, strict=True)
    )
    start = total if isinstance(total, Expr) else number_like(total, kind)
    return reduce(partial(binary, "+"), products, cast(kind, start))


_BYTES = ("int8", "uint8")


def _four_cells(r: Reader, tree: ast.expr) -> list[Expr] | None:
    if not isinstance(tree, ast.Subscript) or not r.is_function(tree.slice, "Ramp"):
        return None
    buffer, given = read_value(r, tree.value), tree.slice.args  # type: ignore[attr-defined]
    if not isinstance(buffer, Buffer) or len(given) != 3 or len(buffer.shape) != 1:
        return None
    if [read_plain(r, arg) for arg in given[1:]] != [1, 4] or buffer.type not in _BYTES:
        return None
    first = read_expr(r, given[0])
    return [buffer[first + k] for k in range(4)]


def _read_number(r: Reader, tree: ast.expr) -> Expr | int | float:
    """An expression, or a Python number, whose type what is beside it will decide."""
    value = read_value(r, tree)
    if not isinstance(value, (Expr, bool, int, float)):
        raise not_a_number(r, tree, value)
    return value


def _together(r: Reader, tree: ast.Call, a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Both values in the type in which they meet."""
    try:
        return meet(a, b)
    except TypeError as error:
        found, _, advice = str(error).partition("; ")
        raise r.error(tree, f"Can't choose one type: {found}", hint=advice) from None


@function("reinterpret")
def _read_reinterpret(r: Reader, tree: ast.Call) -> Expr:
    kind, argument = r.arguments(tree, "dtype", "value")
    dtype, value = read_dtype(r, kind), as_expr(_read_number(r, argument))
    if "bool" in (dtype, value.dtype) or dtypes.BITS[dtype] != dtypes.BITS[value.dtype]:
        hint = f'write T.Cast("{dtype}", x) for the same number; bits need a type of as many'
        raise r.error(tree, f"Can't take the bits of {value.dtype} as {dtype}", hint=hint)
    return reinterpret(dtype, value)


@function("isnan", "isinf", "isfinite")
def _read_kind_of_float(r: Reader, tree: ast.Call) -> Expr:
    """As comparisons: NaN differs from itself, and is smaller than nothing."""
    name = r.function(tree.func)
    (argument,) = r.arguments(tree, "x")
    x = as_expr(_read_number(r, argument))
    if not dtypes.is_float(x.dtype):
        return const(name == "isfinite", "bool")
    if name == "isnan":
        return BinOp("!=", x, x)
    infinity = const(math.inf, x.dtype)
    return BinOp("==" if name == "isinf" else "<", Call("abs", (x,), x.dtype), infinity)


@function("target")
def _read_target(r: Reader, tree: ast.Call) -> Value:
    """What TVM builds a function for, as plain data: an attribute, which is kept as it is."""
    (argument,) = r.arguments(tree, "target_config")
    return read_plain(r, argument)  # type: ignore[return-value] # data, which no program computes


@function("if_then_else")
def _read_if_then_else(r: Reader, tree: ast.Call) -> Expr:
    condition, a, b = _choice(r, tree)
    return Call("if_then_else", (condition, a, b), a.dtype)


@function("likely")
def _read_likely(r: Reader, tree: ast.Call) -> ExprLike:
    """``T.likely(c)`` means `c`: what it tells TVM's compiler changes no value."""
    (argument,) = r.arguments(tree, "cond")
    return _read_number(r, argument)


@function("min_value", "max_value", "infinity")
def _read_limit(r: Reader, tree: ast.Call) -> Expr:
    """``T.min_value("float32")``: the lowest number of a type, the highest, or infinity."""
    name = r.function(tree.func)
    (argument,) = r.arguments(tree, "dtype")
    dtype = read_dtype(r, argument)
    if dtypes.is_float(dtype):
        if name == "infinity":
            return const(math.inf, dtype)
        return const(_LARGEST[dtype] * (-1 if name == "min_value" else 1), dtype)
    if name == "infinity" or not dtypes.is_int(dtype):
        hint = "floats have T.infinity; floats and integers have T.min_value and T.max_value"
        raise r.error(tree, f"There is no T.{name} of {dtype}", hint=hint)
    return const(dtypes.limits(dtype)[name == "max_value"], dtype)


_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": sys.float_info.max,
}


@prints(Select)
def _print_select(w: Writer, e: Select, tightness: int) -> None:
    _print_call(w, "T.Select", e.condition, e.true_value, e.false_value)


@function("Select")
def _read_select(r: Reader, tree: ast.Call) -> Expr:
    return Select(*_choice(r, tree))


def _choice(r: Reader, tree: ast.Call) -> tuple[Expr, Expr, Expr]:
    """The condition and the two values of a choice, the values in one type."""
    first, second, third = r.arguments(tree, "condition", "true_value", "false_value")
    condition = read_condition(r, first)
    a, b = _read_number(r, second), _read_number(r, third)
    return condition, *_together(r, tree, a, b)


def read_condition(r: Reader, tree: ast.expr) -> Expr:
    """An expression of type bool."""
    condition = read_expr(r, tree)
    if condition.dtype != "bool":
        hint = "write a comparison, as in i < 8"
        raise r.error(
            tree, f"Can't use a value of type {condition.dtype} as a condition", hint=hint
        )
    return condition


@prints(Cast)
def _print_cast(w: Writer, e: Cast, tightness: int) -> None:
    _print_call(w, "T.Cast", string(e.type), e.value)


@function("Cast", "cast")
def _read_cast(r: Reader, tree: ast.Call) -> Expr:
    """``T.Cast("float32", x)`` is written out even of a constant; ``T.cast(x, …)`` folds."""
    if r.function(tree.func) == "cast":
        value, dtype = r.arguments(tree, "value", "dtype")
        return cast(read_dtype(r, dtype), read_expr(r, value))
    dtype, value = r.arguments(tree, "dtype", "value")
    return Cast(read_dtype(r, dtype), read_expr(r, value))


@prints(Ramp)
def _print_ramp(w: Writer, e: Ramp, tightness: int) -> None:
    _print_call(w, "T.Ramp", e.base, str(e.stride), str(e.lanes))


@prints(Broadcast)
def _print_broadcast(w: Writer, e: Broadcast, tightness: int) -> None:
    _print_call(w, "T.Broadcast", e.value, str(e.lanes))


_EFFECTS = (
    *("call_extern", "call_pure_extern", "call_packed", "call_cpacked", "call_intrin"),
    *("call_llvm_intrin", "call_llvm_pure_intrin", "tvm_call_packed", "tvm_call_cpacked"),
    *("address_of", "tvm_access_ptr", "reinterpret"),
    *("tvm_load_matrix_sync", "tvm_mma_sync", "tvm_store_matrix_sync", "tvm_fill_fragment"),
)
REFUSED.update(dict.fromkeys(_EFFECTS, OPAQUE))
REFUSED.update(
    dict.fromkeys(
        (
            "tvm_thread_allreduce",
            *(f"tvm_warp_shuffle{how}" for how in ("", "_up", "_down", "_xor")),
        ),
        "write the sum as a block, with its loop on threadIdx: lowering lets the threads share it",
    )
)
REFUSED.update(
    dict.fromkeys(
        ("axis.opaque", "axis.scan"),
        "write T.axis.spatial or T.axis.reduce: steps go by what an iterator is for",
    )
)
REFUSED.update(
    dict.fromkeys(
        ("launch_thread", "env_thread"),
        'write the loop: for bx in T.thread_binding(8, thread="blockIdx.x"):',
    )
)
REFUSED.update(
    dict.fromkeys(
        ("alloc_local", "alloc_shared", "allocate", "allocate_const", "realize"),
        'write B = T.alloc_buffer((8,), scope="local"), or scope="shared"',
    )
)
REFUSED.update(
    {
        "attr": "this is what lowering made: write the program of loops and blocks before it",
        "Assert": "leave it out: arguments are checked at every call",
        "fma": "write a * b + c: the compiler makes one operation of it",
        "ldexp": "write x * T.exp2(e)",
        "nextafter": "neighbours among the floats are not worked out here",
        "popcount": "write it with shifts and &, one bit after the other",
        "clz": "write it with shifts and comparisons",
    }
)
REFUSED["decl_buffer"] = "use the cells of that buffer by its own name"
REFUSED["tvm_storage_sync"] = "leave it out: lowering puts barriers where threads need them"
REFUSED.update(
    dict.fromkeys(("Ramp", "Broadcast"), "vectors are made by lowering: use sch.vectorize")
)
