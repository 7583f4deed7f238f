"""Variables, numbers and operators: how each is written, and how that text is read."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

from workbench import arith
from workbench.ir import (
    BITWISE,
    COMPARISONS,
    OF_CONDITIONS,
    SHIFTS,
    BinOp,
    Call,
    Const,
    Expr,
    Not,
    Select,
    SizeVar,
    Var,
    always_has_value,
    binary,
    cast,
    const,
    dtypes,
    in_width,
    is_text,
    meet,
)
from workbench.script.grammar import function, not_a_number, print_expr, prints, read_value, reads
from workbench.script.reader import Reader, Value
from workbench.script.writer import Writer, string

# How tightly Python binds an operator: higher is tighter; names and calls never need parentheses.
_UNARY = 12
_BINDS = {
    **dict.fromkeys(("*", "/", "//", "%"), 11),
    **dict.fromkeys(("+", "-"), 10),
    **dict.fromkeys(SHIFTS, 9),
    "&": 8,
    "^": 7,
    "|": 6,
    **dict.fromkeys(COMPARISONS, 5),
    "not": 4,
    "and": 3,
    "or": 2,
}

# Functions that write an operator which the operator's own sign would fold away: x * 1, 1 + 2.
_EXACT = {
    "+": "Add",
    "-": "Sub",
    "*": "Mul",
    "/": "Div",
    "//": "FloorDiv",
    "%": "FloorMod",
    "min": "Min",
    "max": "Max",
    "<": "LT",
    "<=": "LE",
    ">": "GT",
    ">=": "GE",
    "==": "EQ",
    "!=": "NE",
    "and": "And",
    "or": "Or",
    "&": "BitwiseAnd",
    "|": "BitwiseOr",
    "^": "BitwiseXor",
    "<<": "LShift",
    ">>": "RShift",
}
_BIT_NAMES = {
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}

_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.And: "and",
    ast.Or: "or",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


# --- variables and numbers -----------------------------------------------------------------------


@prints(Var, SizeVar)
def _print_var(w: Writer, e: Var, tightness: int) -> None:
    w.name(e)


@reads(ast.Name)
def _read_name(r: Reader, tree: ast.Name) -> Value:
    return r.lookup(tree.id, tree)


@prints(Const)
def _print_const(w: Writer, e: Const, tightness: int) -> None:
    if e.type != "int32":
        w.put(f"T.{e.type}({number(e.value)})")
    else:
        w.put(f"({e.value})" if e.value < 0 and tightness > _UNARY else str(e.value))


def number(value: bool | int | float) -> str:
    """The shortest text of a number; whole floats without their ".0", as in the tutorials."""
    if not isinstance(value, float):
        return str(value)
    if not math.isfinite(value):
        return string(str(value))
    negative_zero = value == 0 and math.copysign(1, value) < 0
    short = value.is_integer() and abs(value) < 1e15 and not negative_zero
    return str(int(value)) if short else repr(value)


@reads(ast.Constant)
def _read_constant(r: Reader, tree: ast.Constant) -> Value:
    if isinstance(tree.value, str) and not is_text(tree.value):
        raise r.error(tree, "This text holds half a character", hint="leave out the \\ud… in it")
    if isinstance(tree.value, (bool, int, float, str, type(None))):
        return _in_range(r, tree, tree.value)
    raise r.error(tree, "Can't read this constant", hint="write an integer, a float, True or False")


def _in_range(r: Reader, tree: ast.expr, value: Value) -> Value:
    """`value`, refused where it is an integer that no type holds."""
    if not isinstance(value, int) or any(dtypes.fits(value, t) for t in ("int64", "uint64")):
        return value
    hint = f"{_range_of('int64')}; write a larger number as a float"
    raise r.error(tree, "This integer is longer than 64 bits", hint=hint)


@function(*dtypes.BITS)
def _read_typed(r: Reader, tree: ast.Call) -> Expr:
    """``T.float32(0)``: a constant of that type; ``T.int64(x)``: a cast to it."""
    dtype = r.function(tree.func)
    (argument,) = r.arguments(tree, "value")
    value = read_value(r, argument)
    if (
        isinstance(value, str)
        and dtypes.is_float(dtype)
        and value in ("inf", "-inf", "nan", "-nan")
    ):
        return const(float(value), dtype)
    if isinstance(value, Expr):
        return cast(dtype, value)
    if not isinstance(value, (bool, int, float)):
        hint = f'write a number, as T.{dtype}(0); floats also take "inf", "-inf" and "nan"'
        raise r.error(argument, f"Can't make a {dtype} of {r.describe(value)}", hint=hint)
    if dtypes.is_int(dtype) and not (isinstance(value, int) and dtypes.fits(value, dtype)):
        raise r.error(argument, f"Can't write {value} as {dtype}", hint=_range_of(dtype))
    return const(value, dtype)


def _range_of(dtype: str) -> str:
    low, high = dtypes.limits(dtype)
    return f"{dtype} holds the integers from {low} to {high}"


# --- two operands --------------------------------------------------------------------------------


@prints(BinOp)
def _print_binop(w: Writer, e: BinOp, tightness: int) -> None:
    if e.op in ("min", "max") or _would_fold(e):
        w.put(f"T.{_EXACT[e.op] if _would_fold(e) else e.op}(")
        print_expr(w, e.a)
        w.put(", ")
        print_expr(w, e.b)
        w.put(")")
        return
    if e.op == "^" and isinstance(e.b, Const) and e.b.value == dtypes.all_ones(e.b.type):
        w.put("~")
        print_expr(w, e.a, _UNARY)
        return
    own = _BINDS[e.op]
    if own < tightness:
        w.put("(")
    # A comparison chains in Python, so one inside another needs its parentheses on the left too.
    print_expr(w, e.a, own + 1 if e.op in COMPARISONS else own)
    w.put(f" {e.op} ")
    print_expr(w, e.b, own + 1)
    if own < tightness:
        w.put(")")


def _would_fold(e: BinOp) -> bool:
    """Whether reading ``a op b`` would not give this very node back."""
    a, b = e.a, e.b
    if not isinstance(a, Const) and not isinstance(b, Const):
        return False
    if isinstance(a, Const) and isinstance(b, Const) and {a.type, b.type} <= {"int32", "bool"}:
        return True
    far = isinstance(b, Const) and not always_has_value(e)
    if far and e.op in SHIFTS:  # it is read as a function only
        return True
    try:
        again = binary(e.op, a, b)
    except (TypeError, ZeroDivisionError):
        return True
    return not isinstance(again, BinOp) or again.op != e.op or (again.a, again.b) != (a, b)


@reads(ast.BinOp)
def _read_binop(r: Reader, tree: ast.BinOp) -> Value:
    sign = _SIGNS.get(type(tree.op))
    if sign is None:
        power = "; for a power T.pow(a, b), of integers a * a"
        hint = "accepted: + - * / // % & | ^ << >>" + (
            power if isinstance(tree.op, ast.Pow) else ""
        )
        raise r.error(tree, "Can't read this operator", hint=hint)
    return operate(r, tree, sign, tree.left, tree.right)


@reads(ast.Compare)
def _read_compare(r: Reader, tree: ast.Compare) -> Value:
    if len(tree.ops) > 1:
        raise r.error(tree, "Can't read a chain of comparisons", hint="write a < b and b < c")
    sign = _SIGNS.get(type(tree.ops[0]))
    if sign is None:
        raise r.error(tree, "Can't read this comparison", hint="accepted: < <= > >= == !=")
    return operate(r, tree, sign, tree.left, tree.comparators[0])


@reads(ast.BoolOp)
def _read_boolop(r: Reader, tree: ast.BoolOp) -> Value:
    sign = _SIGNS[type(tree.op)]
    result = read_value(r, tree.values[0])
    for left, right in zip(tree.values, tree.values[1:], strict=False):
        result = _combine(r, tree, sign, (left, result), (right, read_value(r, right)))
    return result


@function("min", "max", "floordiv", "floormod")
def _read_named(r: Reader, tree: ast.Call) -> Value:
    """``T.min(a, b)``, and the operators that may be written as functions."""
    name = r.function(tree.func)
    sign = {"floordiv": "//", "floormod": "%"}.get(name, name)
    a, b = r.arguments(tree, "a", "b")
    return operate(r, tree, sign, a, b)


@function("truncdiv", "truncmod", "Mod")
def _read_truncating(r: Reader, tree: ast.Call) -> Value:
    """Division towards zero, by the one that rounds down; ``T.Mod`` is TVM's name for the rest."""
    a, b = (_as_operand(r, argument) for argument in r.arguments(tree, "a", "b"))
    try:
        a, b = meet(a, b)
        if dtypes.is_float(a.dtype) and r.function(tree.func) == "truncmod":
            return Call("fmod", (a, b), a.dtype)
        binary("//", a, b)
    except (TypeError, ZeroDivisionError) as error:
        name, hint = r.function(tree.func), "it takes two integers, the second not 0"
        raise r.error(tree, f"Can't compute T.{name}: {error}", hint=hint) from None
    op = "//" if r.function(tree.func) in ("truncdiv", "Div") else "%"
    return truncated(op, a, b, r.domains())


def truncated(op: str, a: Expr, b: Expr, dom: arith.Bounds) -> Expr:
    """``a // b`` or ``a % b`` of integers as C has them: they round towards zero."""
    down, zero = BinOp(op, a, b), const(0, a.dtype)
    if all(arith.prove(x >= 0, dom) for x in (a, b)):
        return down
    apart = binary("or", *(binary("and", x < 0, y > 0) for x, y in ((a, b), (b, a))))
    if op == "%":
        return Select(binary("and", apart, BinOp("!=", down, zero)), down - b, down)
    rest = BinOp("%", a, b)
    return Select(binary("and", apart, BinOp("!=", rest, zero)), down + const(1, a.dtype), down)


@function(*_BIT_NAMES)
def _read_bits(r: Reader, tree: ast.Call) -> Value:
    """``T.bitwise_and(a, b)`` is ``a & b``."""
    return operate(r, tree, _BIT_NAMES[r.function(tree.func)], *r.arguments(tree, "x", "y"))


@function("bitwise_not", "BitwiseNot")
def _read_bitwise_not(r: Reader, tree: ast.Call) -> Value:
    (argument,) = r.arguments(tree, "x" if r.function(tree.func) == "bitwise_not" else "a")
    return _inverse(r, tree, read_value(r, argument))


@function(*_EXACT.values())
def _read_exact(r: Reader, tree: ast.Call) -> Value:
    """``T.Add(1, 2)``: the operator itself, not folded."""
    name = r.function(tree.func)
    sign = next(sign for sign, exact in _EXACT.items() if exact == name)
    a, b = (_as_operand(r, argument) for argument in r.arguments(tree, "a", "b"))
    if a.dtype != b.dtype:
        hint = "write both sides in one type"
        raise r.error(tree, f"Can't compute T.{name} of {a.dtype} and {b.dtype}", hint=hint)
    if sign == "/" and dtypes.is_int(a.dtype):  # C's division, as TVM prints it
        return _read_truncating(r, tree)
    try:
        binary(sign, a, b)
    except TypeError as error:
        found, _, advice = str(error).partition("; ")
        hint = advice or "write the condition as a comparison: i < 8"
        raise r.error(tree, f"Can't compute T.{name}: {found}", hint=hint) from None
    except ZeroDivisionError:
        pass  # it has no value, but it can be read
    return BinOp(sign, a, b)


def _as_operand(r: Reader, tree: ast.expr) -> Expr:
    value = read_value(r, tree)
    if isinstance(value, (bool, int, float)):
        return r.literal(value)
    if not isinstance(value, Expr):
        raise not_a_number(r, tree, value)
    return value


def operate(r: Reader, tree: ast.expr, sign: str, left: ast.expr, right: ast.expr) -> Value:
    """`left sign right`; two Python numbers are computed at once, as Python would."""
    return _combine(r, tree, sign, (left, read_value(r, left)), (right, read_value(r, right)))


def _combine(
    r: Reader,
    tree: ast.expr,
    sign: str,
    left: tuple[ast.expr, Value],
    right: tuple[ast.expr, Value],
) -> Value:
    for side, value in (left, right):
        if not isinstance(value, (Expr, bool, int, float)):
            raise not_a_number(r, side, value)
    a, b = left[1], right[1]
    if sign in BITWISE:
        sign = _bit_sign(r, tree, sign, a, b)
    try:
        if isinstance(a, Expr) or isinstance(b, Expr):
            return binary(sign, a, b)  # type: ignore[arg-type]
        return _in_range(r, tree, _PYTHON[sign](a, b))
    except ZeroDivisionError:
        raise r.error(tree, "Can't divide by zero", hint="write another divisor") from None
    except TypeError as error:
        found, _, advice = str(error).partition("; ")
        hint = advice or "write the condition as a comparison: i < 8"
        raise r.error(tree, f"Can't compute `{sign}`: {found}", hint=hint) from None


def _bit_sign(r: Reader, tree: ast.expr, sign: str, a: Value, b: Value) -> str:
    """`sign`, or what it says of two conditions; refused where a number in it does not fit."""
    conditions = [_is_condition(a), _is_condition(b)]
    if all(conditions) and sign in OF_CONDITIONS:
        return OF_CONDITIONS[sign]
    if all(conditions) or (any(conditions) and not (isinstance(a, Expr) and isinstance(b, Expr))):
        hint = 'write integers, as T.Cast("int32", x), or with & | ^ conditions, on both sides'
        raise r.error(tree, f"Can't compute `{sign}` of a condition and a number", hint=hint)
    for value, other in ((a, b), (b, a)):
        dtype = other.dtype if isinstance(other, Expr) and isinstance(value, int) else ""
        if dtypes.is_int(dtype) and not dtypes.fits(value, dtype):  # type: ignore[arg-type]
            raise r.error(tree, f"Can't write {value} as {dtype}", hint=_range_of(dtype))
    _check_amount(r, tree, sign, a, b)
    return sign


def _is_condition(value: Value) -> bool:
    return isinstance(value, bool) or (isinstance(value, Expr) and value.dtype == "bool")


def _check_amount(r: Reader, tree: ast.expr, sign: str, a: Value, b: Value) -> None:
    """Refuse to shift by a number that no value of this type can be shifted by."""
    amount = b.value if isinstance(b, Const) else b
    if sign not in SHIFTS or not isinstance(amount, int):
        return
    types = [v.dtype for v in (a, b) if isinstance(v, Expr)] or ["int64"]
    wide = types[0] if len(types) == 1 else dtypes.join(*types)
    if wide is not None and dtypes.is_int(wide) and not in_width(amount, wide):
        hint = f"{wide} has {dtypes.BITS[wide]} bits: shift by 0 to {dtypes.BITS[wide] - 1}"
        raise r.error(tree, f"Can't shift {wide} by {amount}", hint=hint)


_PYTHON: dict[str, Callable] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


# --- one operand ---------------------------------------------------------------------------------


@prints(Not)
def _print_not(w: Writer, e: Not, tightness: int) -> None:
    own = _BINDS["not"]
    w.put("(not " if own < tightness else "not ")
    print_expr(w, e.a, own)
    if own < tightness:
        w.put(")")


@reads(ast.UnaryOp)
def _read_unary(r: Reader, tree: ast.UnaryOp) -> Value:
    value = read_value(r, tree.operand)
    if isinstance(tree.op, ast.Not):
        return _negation(r, tree, value)
    if isinstance(tree.op, ast.Invert):
        return _inverse(r, tree, value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Expr)):
        raise not_a_number(r, tree.operand, value)
    if isinstance(value, Const) and dtypes.is_float(value.type) and isinstance(tree.op, ast.USub):
        return const(-value.value, value.type)  # as TVM: -T.infinity("float32") is a number
    return -value if isinstance(tree.op, ast.USub) else value


def _inverse(r: Reader, tree: ast.expr, value: Value) -> Value:
    """``~x``: of an integer each bit turned over, of a condition its negation."""
    if _is_condition(value):
        return _negation(r, tree, value)
    if isinstance(value, int):
        return ~value
    if not isinstance(value, Expr) or not dtypes.is_int(value.dtype):
        hint = "`~` takes integers and conditions, as in ~(i < 3)"
        raise r.error(tree, "Can't take `~` of this", hint=hint)
    return binary("^", value, const(dtypes.all_ones(value.dtype), value.dtype))


@function("Not")
def _read_not(r: Reader, tree: ast.Call) -> Value:
    (argument,) = r.arguments(tree, "a")
    return _negation(r, tree, read_value(r, argument))


def _negation(r: Reader, tree: ast.expr, value: Value) -> Value:
    if isinstance(value, bool):
        return not value
    if not isinstance(value, Expr) or value.dtype != "bool":
        hint = "`not` takes a condition, as in `not i < 3`"
        raise r.error(tree, "Can't take `not` of this", hint=hint)
    return Not(value)
