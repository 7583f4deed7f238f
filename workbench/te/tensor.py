"""Tensors: what an operator computes, said without loops."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Literal

from workbench.ir import Expr, ExprLike, Range, Var, as_expr, const
from workbench.ir.dtypes import is_int
from workbench.ir.nodes import node

Shape = int | Sequence[int]


@node
class Axis(Var):
    """What a reduction runs over: a variable that takes the values of `dom`."""

    dom: Range = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """An array that is given (no `value`) or computed; `t[i, j]` is an element of it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    axes: tuple[Var, ...] = ()
    value: Expr | None = None

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> TensorLoad:
        wanted = indices if isinstance(indices, tuple) else (indices,)
        if len(wanted) != len(self.shape):
            raise ValueError(
                f"{self.name} has {len(self.shape)} dimensions; {len(wanted)} indices were given"
            )
        loaded = tuple(as_expr(index) for index in wanted)
        for index in loaded:
            if not is_int(index.dtype):
                raise TypeError(f"{self.name} is indexed by integers, not by {index.dtype}")
        return TensorLoad(self, loaded)

    def __call__(self, *indices: ExprLike) -> TensorLoad:
        return self[indices]


@node
class TensorLoad(Expr):
    """An element of a tensor; becomes a BufferLoad in the program."""

    tensor: Tensor
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> str:
        return self.tensor.dtype


@node
class Reduction(Expr):
    """`value` combined by `op` over `axes`; stands alone as the value of a computed tensor."""

    op: Literal["+", "max", "min"]
    value: Expr
    axes: tuple[Axis, ...]

    @property
    def dtype(self) -> str:
        return self.value.dtype


def placeholder(shape: Shape, dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """A tensor that the caller gives. As TVM's ``te.placeholder``.

    Raises TypeError or ValueError for a size that is no whole number from 1.
    """
    return Tensor(name, _shape(shape), dtype)


def compute(shape: Shape, fcompute: Callable[..., ExprLike], name: str = "compute") -> Tensor:
    """A tensor whose element at `i, j, …` is `fcompute(i, j, …)`. As TVM's ``te.compute``.

    >>> A = placeholder((8,), name="A")
    >>> compute((8,), lambda i: A[i] + 1.0, name="B").dtype
    'float32'
    """
    sizes = _shape(shape)
    axes = tuple(Var(axis) for axis in _axis_names(fcompute, len(sizes)))
    value = as_expr(fcompute(*axes))
    return Tensor(name, sizes, value.dtype, axes, value)


def reduce_axis(dom: tuple[int, int], name: str = "rv") -> Axis:
    """An axis to reduce over, from `dom[0]` up to, not including, `dom[1]`."""
    first, end = (_whole(value, "an axis") for value in dom)
    return Axis(name, dom=Range(const(first, "int32"), const(end - first, "int32")))


def _shape(shape: Shape) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    return tuple(_whole(size, "a shape", least=1) for size in sizes)


def _whole(value: object, what: str, least: int | None = None) -> int:
    """`value`, which may be an integer of NumPy's, as Python's."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{what} takes whole numbers, not {value!r}")
    if least is not None and value < least:
        raise ValueError(f"{what} takes whole numbers from {least}, not {value}")
    return int(value)


def _axis_names(fcompute: Callable[..., ExprLike], count: int) -> list[str]:
    """The names of the function's parameters; `i0, i1, …` for ``*indices``."""
    parameters = inspect.signature(fcompute).parameters.values()
    named = [p.name for p in parameters if p.kind != p.VAR_POSITIONAL]
    if len(named) < len(parameters):
        return named + [f"i{k}" for k in range(len(named), count)]
    if len(named) != count:
        raise ValueError(
            f"the function takes {len(named)} indices; the shape has {count} dimensions"
        )
    return named
