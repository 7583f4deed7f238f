"""The graph of a computation, printed as TVM prints it: tvm.auto_scheduler.compute_dag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.ir import BinOp, Call, Cast, Const, Expr, Not, Select, Var
from workbench.te import Operation, Tensor
from workbench.te.tensor import Reduction, TensorLoad, TupleReduction, operations
from workbench.tvm.not_carried import refusing

__all__ = ["ComputeDAG"]

_SPACED = {"+", "-", "<", "<=", ">", ">=", "==", "!="}
_AS = {"and": "&&", "or": "||"}
_NAMED = {"//": "floordiv", "%": "floormod"}
_SUMS = {"+": "+", "*": "*", "max": "max", "min": "min", "and": "&&", "or": "||"}
_SUFFIX = {"float32": "f", "float16": "h"}


class ComputeDAG:
    """The operations behind `tensors`, each after those that it reads.

    >>> x = te.compute((8,), lambda i: X[i, i] * 2.0, name="x")
    >>> print(auto_scheduler.ComputeDAG([X, x]))
    X = PLACEHOLDER [8, 8]
    x(i) = (X[i, i]*2f)
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = list(tensors)

    @property
    def ops(self) -> list[Operation]:
        """Its operations in the order in which they are printed: from the results, inputs first."""
        return operations(sorted(self.tensors, key=lambda tensor: not tensor.op.body))

    def __str__(self) -> str:
        return "\n".join(line for op in self.ops for line in _lines(op))

    __repr__ = __str__


def _lines(op: Operation) -> Iterator[str]:
    """A line for each thing that an operation makes."""
    if not op.body:
        yield f"{op.name} = PLACEHOLDER [{', '.join(map(str, op.shape))}]"
    for k, value in enumerate(op.body):
        axes = ", ".join(axis.name for axis in op.axis)
        of = f".v{k}" if len(op.body) > 1 else ""
        sign, what = "", value
        if isinstance(value, Reduction):
            sign, what = _SUMS[value.op], value.value
        elif isinstance(value, TupleReduction):
            sign, what = value.combiner.name, value.values[value.index]
        yield f"{op.name}({axes}){of} {sign}= {_text(what)}"


def _text(e: Expr) -> str:
    """An expression as TVM's printer of its first versions has it."""
    if isinstance(e, TensorLoad):
        return f"{e.tensor.name}[{', '.join(map(_text, e.indices))}]"
    if isinstance(e, Var):
        return e.name
    if isinstance(e, Const):
        return _number(e)
    if isinstance(e, BinOp):
        a, b = _text(e.a), _text(e.b)
        if e.op in ("min", "max") or e.op in _NAMED:
            return f"{_NAMED.get(e.op, e.op)}({a}, {b})"
        sign = _AS.get(e.op, e.op)
        return f"({a} {sign} {b})" if e.op in _SPACED or e.op in _AS else f"({a}{sign}{b})"
    if isinstance(e, Not):
        return f"!{_text(e.a)}"
    if isinstance(e, Cast):
        return f"{e.type}({_text(e.value)})"
    if isinstance(e, Select):
        return f"select({', '.join(map(_text, (e.condition, e.true_value, e.false_value)))})"
    assert isinstance(e, Call)
    return f"tir.{e.op}({', '.join(map(_text, e.args))})"


def _number(e: Const) -> str:
    if isinstance(e.value, float):
        return f"{e.value:g}{_SUFFIX.get(e.type, '')}"
    value = int(e.value)
    return str(value) if e.type == "int32" else f"({e.type}){value}"


__getattr__ = refusing(__name__)
