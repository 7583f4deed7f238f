"""Values of expressions over lanes: arrays in which every element is one iteration or thread.

A lane is a point of an array's axes, so one NumPy operation is one operation in every lane. What
is the same along an axis has length 1 there and is broadcast where it meets what is not. NumPy
computes in all lanes; the mask says which of them count: the others compute on whatever lies
there, and nothing that they do is refused, written or judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from workbench.diag import Refusal
from workbench.emulate import numbers
from workbench.emulate.numbers import Value, numpy_type
from workbench.ir import (
    COMPARISONS,
    LOGICAL,
    REINTERPRET,
    SHIFTS,
    SHUFFLE,
    BinOp,
    Broadcast,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Node,
    Not,
    Select,
    Var,
    dtypes,
    walk,
)

Env = Mapping[Var, Any]  # what each variable is: a scalar, or an array of one value a lane
Mask = Any  # which lanes run: None for all, else an array of bools that broadcasts over them

Site: TypeAlias = BufferLoad | BufferStore  # where a program touches memory


class Expressions:
    """Evaluates expressions; what a load is, its subclasses know.

    Lanes that the mask leaves out get some value and raise nothing.
    """

    def load(self, load: BufferLoad, env: Env, mask: Mask) -> Value:
        """What `load` reads in each lane of `mask`."""
        raise NotImplementedError

    def tell_lane(self, bad: Mask, does: str) -> str:
        """Which of the lanes `bad` `does` what is refused, as a refusal tells it."""
        raise NotImplementedError

    def shuffle(self, call: Call, values: Value, mask: Mask) -> Value:
        """What each lane of `mask` gets of the `values` of all."""
        raise NotImplementedError

    def value(self, expr: Expr, env: Env, mask: Mask) -> Value:
        """The value of `expr` in each lane, as an array or scalar that broadcasts over them."""
        return _CASES[type(expr)](self, expr, env, mask)

    def _var(self, expr: Var, env: Env, mask: Mask) -> Value:
        return env[expr]

    def _const(self, expr: Const, env: Env, mask: Mask) -> Value:
        if dtypes.is_int(expr.type) and expr.value > dtypes.limits(expr.type)[1]:
            return np.int64(expr.value)  # itself in a comparison, as in C; a sum with it wraps
        value = numpy_type(expr.type).type(expr.value)
        return numbers.round_to(value, expr.type)

    def _binary(self, expr: BinOp, env: Env, mask: Mask) -> Value:
        a = self.value(expr.a, env, mask)
        if expr.op in LOGICAL:
            return self._logical(expr, a, env, mask)
        b = self.value(expr.b, env, mask)
        dtype = expr.a.dtype
        if expr.op in ("//", "%"):
            b = self._divisor(expr, b, mask)
        elif expr.op in SHIFTS:
            b = self._amount(expr, b, mask)
        value = numbers.binary(expr.op, a, b, dtype)
        wraps = a.dtype != b.dtype and expr.op not in COMPARISONS  # a constant that does not fit
        return value.astype(numpy_type(dtype)) if wraps else value

    def _logical(self, expr: BinOp, a: Value, env: Env, mask: Mask) -> Value:
        """``and`` and ``or`` look at their right side only where the left leaves it open."""
        undecided = a if expr.op == "and" else np.logical_not(a)
        b = self.value(expr.b, env, narrow(mask, undecided))
        return np.logical_and(a, b) if expr.op == "and" else np.logical_or(a, b)

    def _divisor(self, expr: BinOp, b: Value, mask: Mask) -> Value:
        zero = np.equal(b, 0)
        if not zero.any():
            return b
        bad = narrow(mask, zero)
        if np.any(bad):
            raise Refusal(
                "Can't divide an integer by zero",
                expr,
                detail=self.tell_lane(bad, "divides by 0"),
                hint="keep the divisor away from 0, for instance with T.if_then_else.",
            )
        return np.where(zero, numpy_type(expr.b.dtype).type(1), b)

    def _amount(self, expr: BinOp, b: Value, mask: Mask) -> Value:
        """By how many bits to shift; 0 in lanes that do not run."""
        bits = dtypes.BITS[expr.b.dtype]
        far = np.logical_or(np.less(b, 0), np.greater_equal(b, bits))
        if not far.any():
            return b
        bad = narrow(mask, far)
        if np.any(bad):
            raise Refusal(
                f"Can't shift {expr.a.dtype} by less than 0, or by {bits} bits or more",
                expr,
                detail=self.tell_lane(bad, "shifts too far"),
                hint="keep the amount within the type, for instance with T.min and T.max.",
            )
        return np.where(far, numpy_type(expr.b.dtype).type(0), b)

    def _not(self, expr: Not, env: Env, mask: Mask) -> Value:
        return np.logical_not(self.value(expr.a, env, mask))

    def _cast(self, expr: Cast, env: Env, mask: Mask) -> Value:
        return numbers.convert(self.value(expr.value, env, mask), expr.value.dtype, expr.type)

    def _select(self, expr: Select, env: Env, mask: Mask) -> Value:
        condition = self.value(expr.condition, env, mask)
        yes = self.value(expr.true_value, env, mask)
        return np.where(condition, yes, self.value(expr.false_value, env, mask))

    def _call(self, expr: Call, env: Env, mask: Mask) -> Value:
        if expr.op == SHUFFLE:
            return self.shuffle(expr, self.value(expr.args[0], env, mask), mask)
        if expr.op == REINTERPRET:
            (bits,) = expr.args
            return numbers.reinterpret(self.value(bits, env, mask), bits.dtype, expr.type)
        if expr.op != "if_then_else":
            args = [self.value(arg, env, mask) for arg in expr.args]
            return numbers.maths(expr.op, args, expr.type)
        condition = self.value(expr.args[0], env, mask)
        yes = self.value(expr.args[1], env, narrow(mask, condition))
        no = self.value(expr.args[2], env, narrow(mask, np.logical_not(condition)))
        return np.where(condition, yes, no)

    def _broadcast(self, expr: Broadcast, env: Env, mask: Mask) -> Value:
        return self.value(expr.value, env, mask)


def narrow(mask: Mask, condition: Mask) -> Mask:
    """The lanes of `mask` in which `condition` holds too."""
    return condition if mask is None else np.logical_and(mask, condition)


def is_empty(mask: Mask) -> bool:
    """Whether `mask` leaves no lane."""
    return mask is not None and not mask.any()


def along(axis: int, rank: int, values: Any) -> Any:
    """`values` as an array of `rank` axes that varies along `axis` alone."""
    return np.reshape(values, [-1 if k == axis else 1 for k in range(rank)])


def list_sites(node: Node) -> list[Site]:
    """Every load and store in `node`."""
    return [n for n in walk(node) if isinstance(n, (BufferLoad, BufferStore))]


def count_turns(loop: For) -> int:
    """The number of turns of `loop`, whose extent must be a constant."""
    assert isinstance(loop.extent, Const)
    return int(loop.extent.value)


_CASES: dict[type[Expr], Callable[..., Value]] = {
    Var: Expressions._var,
    Const: Expressions._const,
    BinOp: Expressions._binary,
    Not: Expressions._not,
    Cast: Expressions._cast,
    Select: Expressions._select,
    Call: Expressions._call,
    Broadcast: Expressions._broadcast,
    BufferLoad: lambda self, expr, env, mask: self.load(expr, env, mask),
}
