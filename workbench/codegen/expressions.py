"""Expressions as C-like text, with C's rules of precedence, rounding, overflow and types."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Container, Set

from workbench.arith import Simplifier
from workbench.codegen.language import Language
from workbench.codegen.names import Names
from workbench.diag import Refusal
from workbench.ir import (
    BITWISE,
    COMPARISONS,
    LOGICAL,
    REINTERPRET,
    SHUFFLE,
    BinOp,
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Const,
    Expr,
    Node,
    Not,
    Ramp,
    Select,
    Var,
    dtypes,
)

# How tightly C's operators bind; an operand that binds less tightly needs brackets.
_OR, _AND, _BITS, _EQUAL, _COMPARE, _SHIFT, _ADD, _MULTIPLY, _UNARY, _ATOM = range(1, 11)
_TERNARY = 0
_BINDS = {
    "or": _OR, "and": _AND, "==": _EQUAL, "!=": _EQUAL, "+": _ADD, "-": _ADD,
    "*": _MULTIPLY, "/": _MULTIPLY, "//": _MULTIPLY, "%": _MULTIPLY,
    "<<": _SHIFT, ">>": _SHIFT, "&": _BITS, "|": _BITS, "^": _BITS,
} | dict.fromkeys(("<", "<=", ">", ">="), _COMPARE)  # fmt: skip
_C_OPS = {"or": "||", "and": "&&", "//": "/"}
_FLOORED = {"//": "floordiv", "%": "floormod"}

Text = tuple[str, int]  # an expression's text and how tightly its outermost operator binds


class Expressions:
    """Writes the expressions of one kernel; collects the types and helpers that they need."""

    def __init__(
        self, language: Language, names: Names, known: Simplifier, fitting: Container[Node] = ()
    ) -> None:
        self.language = language
        self.fitting = fitting  # expressions that their types hold, as a launch sees to
        self.names = names
        self.known = known
        self.types: set[str] = set()
        self.helpers: dict[tuple[str, str], str] = {}  # (helper, type) -> its name
        self.lane: int | None = None  # which component of vectors is being written
        self.place: Node | None = None  # where in the program a refusal is to point
        self.vectors: dict[BufferLoad, Callable[[int], str]] = {}  # loaded before: its components
        self.variables: Set[Buffer] = frozenset()  # arrays of one cell that are written as such

    # --- types ------------------------------------------------------------------------------

    def type(self, dtype: str) -> str:
        """What the language calls `dtype`; a refusal where it has no such type."""
        self.types.add(dtype)
        if dtype not in self.language.types:
            raise Refusal(
                f"Can't write {self.language.title} code: it has no {dtype}",
                self.place,
                hint="use float32 there, or build for another target",
            )
        return self.language.types[dtype]

    # --- expressions ------------------------------------------------------------------------

    def text(self, e: Expr, binds: int = _TERNARY) -> str:
        """`e` as an operand of an operator that binds as tightly as `binds`."""
        text, own = self._text(e)
        return f"({text})" if own < binds else text

    def _text(self, e: Expr) -> Text:
        match e:
            case Var():
                return self.names[e], _ATOM
            case Const(value, dtype):
                return self._constant(value, dtype)
            case BinOp("min" | "max" as op, a, b):
                return self._function(e, op, (a, b))
            case BinOp(op, a, b):
                return self._binary(e, op, a, b)
            case Not(a):
                return f"!{self.text(a, _UNARY)}", _UNARY
            case Cast(dtype, value):
                return self._cast(dtype, value)
            case Select(condition, yes, no) | Call("if_then_else", (condition, yes, no)):
                parts = self.text(condition, _OR), self.text(yes, _OR), self.text(no)
                return "{} ? {} : {}".format(*parts), _TERNARY
            case Call(op, (value, Const(value=bit), Const(value=width))) if op == SHUFFLE:
                return self._shuffle(value, int(bit), int(width)), _ATOM
            case Call(op, (value,)) if op == REINTERPRET:
                return self._reinterpret(e.dtype, value), _ATOM
            case Call(op, args):
                return self._function(e, op, args)
            case BufferLoad():
                return self._load(e)
            case Broadcast(value):
                return self._text(value)
            case Ramp(base, stride):
                assert self.lane is not None, "a vector outside a vector store"
                step = self.lane * stride
                return self._text(base + step if step >= 0 else base - -step)
        raise TypeError(f"{type(e).__name__} cannot be written as C")

    def _load(self, e: BufferLoad) -> Text:
        if self.lane is not None and e in self.vectors:
            return self.vectors[e](self.lane), _ATOM
        if e.buffer in self.variables:
            return self.names[e.buffer], _ATOM
        return f"{self.names[e.buffer]}[{self.text(e.indices[0])}]", _ATOM

    # --- arithmetic -------------------------------------------------------------------------

    def _binary(self, e: Expr, op: str, a: Expr, b: Expr) -> Text:
        if op in ("//", "%") and not self._rounds_down(a, b):
            return f"{self._helper(_FLOORED[op], e.dtype)}({self.text(a)}, {self.text(b)})", _ATOM
        if op == "^" and isinstance(b, Const) and b.value == -1:
            return f"~{self.text(a, _UNARY)}", _UNARY
        if a.dtype in self.language.bits:
            text, binds = self._plain(op, a, b)
            return (text, binds) if e.dtype == "bool" else (self._converted(e.dtype, text), _ATOM)
        if op in _RING and dtypes.is_int(e.dtype) and e.dtype not in _WRAPS and not self._fits(e):
            return self._wrapped(e, op, a, b)
        return self._plain(op, a, b)

    def _plain(self, op: str, a: Expr, b: Expr) -> Text:
        if op == "-" and isinstance(a, Const) and a.value == 0 and dtypes.is_int(a.dtype):
            return f"-{self.text(b, _UNARY)}", _UNARY
        binds = _BINDS[op]
        left, right = binds, binds + 1
        if op in LOGICAL:  # && inside || reads better, and does not warn, with brackets
            left, right = (binds if _is(side, op) else _EQUAL for side in (a, b))
        elif op in COMPARISONS:
            left = right = _ADD
        elif op in BITWISE:  # how tightly these bind is a trap: compilers warn without brackets
            left = right = _UNARY
        return f"{self._operand(a, left)} {_C_OPS.get(op, op)} {self._operand(b, right)}", binds

    def _operand(self, e: Expr, binds: int) -> str:
        """`e` in a type that the language computes in."""
        return self._widened(e) if e.dtype in self.language.bits else self.text(e, binds)

    def _rounds_down(self, a: Expr, b: Expr) -> bool:
        """Whether C's division, which rounds towards zero, rounds down here."""
        if a.dtype.startswith("uint"):
            return True
        low, _ = self.known.expr_interval(a)
        divisor, _ = self.known.expr_interval(b)
        positive = low is not None and low >= 0 and self._fits(a)  # else it may wrap around
        return positive and divisor is not None and divisor >= 0  # by 0 nothing is divided

    def _fits(self, e: Expr) -> bool:
        """Whether the type of `e` is sure to hold its value."""
        if e in self.fitting:
            return True
        low, high = self.known.expr_interval(e)
        half = 2 ** (dtypes.BITS[e.dtype] - 1)
        return low is not None and high is not None and -half <= low and high < half

    def _wrapped(self, e: Expr, op: str, a: Expr, b: Expr) -> Text:
        """Arithmetic that may overflow: C defines that for unsigned types alone."""
        own = self.type(e.dtype)
        if op == "<<":
            unsigned = self.type(_UNSIGNED.get(e.dtype, "uint32"))
            shifted = f"({unsigned}){self.text(a, _UNARY)} << {self.text(b, _UNARY)}"
            return f"({own})({shifted})", _UNARY
        if dtypes.BITS[e.dtype] < 32 and e.dtype != "uint16":  # C computes these in int
            return f"({own})({self._plain(op, a, b)[0]})", _UNARY
        return f"({own})({self._ring(e, self.type(_UNSIGNED[e.dtype]))[0]})", _UNARY

    def _ring(self, e: Expr, unsigned: str) -> Text:
        match e:
            case BinOp("+" | "-" | "*" as op, a, b) if not self._fits(e):
                binds = _BINDS[op]
                left, right = self._ring(a, unsigned), self._ring(b, unsigned)
                x, y = (
                    f"({text})" if own < least else text
                    for (text, own), least in ((left, binds), (right, binds + 1))
                )
                return f"{x} {op} {y}", binds
            case Const(value=value) if value >= 0:
                return self._integer(int(value), _UNSIGNED[e.dtype])
        return f"({unsigned}){self.text(e, _UNARY)}", _UNARY

    def _helper(self, name: str, dtype: str) -> str:
        """The name of a helper function, which the source then has to contain."""
        ctype = self.type(dtype)
        self.helpers[name, ctype] = self.language.helper.format(name=name, type=ctype)
        return self.helpers[name, ctype]

    def _widened(self, e: Expr) -> str:
        """`e`, of a type in `through`, in the wider type."""
        if e.dtype in self.language.bits:
            self.type(e.dtype)
            return f"{self.language.bits[e.dtype][0]}({self.text(e)})"
        return self._converted(self.language.through[e.dtype], self.text(e))

    def _converted(self, dtype: str, text: str) -> str:
        """What `text` says, in the wider type where there is one, as `dtype`."""
        if dtype in self.language.bits:
            self.type(dtype)
            return f"{self.language.bits[dtype][1]}({text})"
        return self.language.convert.format(type=self.type(dtype), value=text)

    # --- functions, casts, constants --------------------------------------------------------

    def _function(self, e: Expr, op: str, args: tuple[Expr, ...]) -> Text:
        dtype = e.dtype
        if op == "abs" and dtype.startswith("uint"):
            return self._text(args[0])
        wide = self.language.through.get(dtype, dtype)
        kind = "int" if dtypes.is_int(dtype) else dtype
        maths = self.language.maths
        template = maths.get(f"{op}:{kind}" if wide == dtype else f"{op}:{wide}", maths.get(op))
        if template is None:
            raise Refusal(
                f"Can't write {self.language.title} code: it has no {op} of {dtype}",
                self.place,
                hint="compute it from functions that it has, or build for another target",
            )
        helper = template.partition("(")[0]
        if helper in self.language.helpers:
            template = template.replace(helper, self._helper(helper, wide), 1)
        if wide == dtype:
            arguments = [self._argument(a) for a in args]
            return template.format(*arguments, type=self.type(dtype)), _ATOM
        arguments = [self._widened(a) for a in args]
        return self._converted(dtype, template.format(*arguments, type=self.type(wide))), _ATOM

    def _shuffle(self, value: Expr, bit: int, width: int) -> str:
        """The `value` of the neighbour whose number differs in `bit`, in groups of `width`."""
        shuffle, masks = self.language.shuffle, self.language.masks
        if not shuffle:
            raise Refusal(
                f"Can't write {self.language.title} code: a thread can't see another's registers",
                self.place,
                hint="lower the program for this target: its threads then meet in shared memory",
            )
        mask = masks.get(width, masks.get(0, "")).format(width=width)
        helper = mask.partition("(")[0]
        if helper in self.language.helpers:
            self._helper(helper, "uint32")
        return shuffle.format(mask=mask, value=self.text(value), bit=bit)

    def _reinterpret(self, dtype: str, value: Expr) -> str:
        """The bits of `value` as a `dtype`, by the language's own word or by a function."""
        self.type(value.dtype)
        if own := self.language.maths.get(REINTERPRET):
            return own.format(self._argument(value), type=self.type(dtype))
        name = f"bits_as_{dtype}" if dtypes.is_float(dtype) else f"{value.dtype}_as_bits"
        return f"{self._helper(name, dtype)}({self._argument(value)})"

    def _argument(self, e: Expr) -> str:
        """`e` as an argument: in its own type also where C would compute it in int."""
        narrow = dtypes.is_int(e.dtype) and dtypes.BITS[e.dtype] < 32
        if narrow and not isinstance(e, (BufferLoad, Var, Cast)):
            return f"({self.type(e.dtype)}){self.text(e, _UNARY)}"
        return self.text(e)

    def _cast(self, dtype: str, value: Expr) -> Text:
        text, own = self.text(value, _UNARY), value.dtype
        if own in self.language.bits:
            text, own = self._widened(value), self.language.through[own]
        if dtype in self.language.bits:
            self.type(dtype)
            made = self.language.bits[dtype][2 if own == "float64" else 1]
            return f"{made}({text})", _ATOM
        if f"to_{dtype}" in self.language.helpers and dtypes.is_float(own):
            return f"{self._helper(f'to_{dtype}', dtype)}({text})", _ATOM
        ends = {dtype, own}
        narrow = ends & set(self.language.through)
        if narrow and not ends & {"float32", "float64"}:  # conversions of these go through float
            text = f"({self.type('float32')}){text}"
        return f"({self.type(dtype)}){text}", _UNARY

    def _constant(self, value: bool | int | float, dtype: str) -> Text:
        if dtype == "bool":
            return str(value).lower(), _ATOM
        if dtypes.is_int(dtype):
            return self._integer(int(value), dtype)
        if dtype in self.language.through:
            wide = self._constant(_rounded(float(value), dtype), self.language.through[dtype])
            return self._converted(dtype, wide[0]), _ATOM
        self.type(dtype)  # refuses what the target does not have
        if math.isnan(value):
            return self.language.nan[dtype], _ATOM
        if math.copysign(1, value) < 0:
            return "-" + self._constant(-value, dtype)[0], _UNARY
        if math.isinf(value) or math.isinf(_rounded(float(value), dtype)):
            return self.language.infinity[dtype], _ATOM
        return _float(float(value), dtype), _ATOM

    def _integer(self, value: int, dtype: str) -> Text:
        suffix = "u" if dtype == "uint32" else ""
        if dtypes.BITS[dtype] == 64:
            suffix = self.language.long_suffix
            suffix = f"U{suffix}" if dtype == "uint64" else suffix
        if value == -(2 ** (dtypes.BITS[dtype] - 1)) and dtypes.BITS[dtype] >= 32:
            return f"-{-(value + 1)}{suffix} - 1", _ADD  # C reads -2147483648 as minus a long
        return f"{value}{suffix}", _ATOM if value >= 0 else _UNARY


_RING = frozenset({"+", "-", "*", "<<"})
_WRAPS = frozenset({"uint32", "uint64"})  # these overflow in C as they should
_UNSIGNED = {"int32": "uint32", "int64": "uint64", "uint16": "uint32"}
_FORMATS = {"float16": "e", "float32": "f", "float64": "d"}


def _is(e: Expr, op: str) -> bool:
    return isinstance(e, BinOp) and e.op == op


def _rounded(value: float, dtype: str) -> float:
    """`value` as `dtype` holds it."""
    if not math.isfinite(value):
        return value
    if dtype == "bfloat16":  # the upper half of a float32, rounded to even
        bits = int.from_bytes(struct.pack("<f", value), "little")
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
        return float(struct.unpack("<f", (bits & 0xFFFFFFFF).to_bytes(4, "little"))[0])
    try:
        return float(struct.unpack(_FORMATS[dtype], struct.pack(_FORMATS[dtype], value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _float(value: float, dtype: str) -> str:
    """The shortest decimal that reads back as `value`."""
    if dtype == "float64":
        return repr(value)
    exact = _rounded(value, dtype)
    text = next(t for p in range(1, 10) if _rounded(float(t := f"{exact:.{p}g}"), dtype) == exact)
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"
