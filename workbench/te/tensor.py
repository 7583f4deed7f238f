"""Tensors: what an operator computes, said without loops."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from numbers import Integral
from typing import Any, ClassVar, Literal, TypeAlias

from workbench.arith import by_sizes, simplify
from workbench.ir import (
    Const,
    Data,
    Expr,
    ExprLike,
    Node,
    Range,
    Size,
    SizeVar,
    Var,
    as_expr,
    as_index,
    binary,
    cast,
    is_data,
    rewrite,
    size_expr,
    walk,
)
from workbench.ir.dtypes import is_int, named
from workbench.ir.nodes import node
from workbench.script.memory import shape_text
from workbench.script.writer import identifier

Shape = Size | Sequence[Size]
Operand: TypeAlias = "Tensor | ExprLike"


@node
class Axis(Var):
    """What an operator runs over: a variable that takes the values of `dom`.

    `kind` is "spatial" for an axis of the result and "reduce" for one that is reduced over.

    >>> te.reduce_axis((0, 8), name="k").name
    'k'
    """

    dom: Range = field(kw_only=True)
    kind: str = field(kw_only=True, default="reduce")

    @property
    def var(self) -> Axis:
        """Itself: in TVM an axis has a variable."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """What makes tensors: a placeholder has no `body`, a computed one an expression each output.

    `axis` are the dimensions of every output. `layout_free` are the tensors that TVM may lay out
    anew, and `attrs` becomes the attributes of the blocks; neither changes what is computed.

    >>> X.op.name, X.op.shape
    ('X', (8, 8))
    """

    name: str
    shape: tuple[Size, ...]
    dtypes: tuple[str, ...]
    axis: tuple[Axis, ...] = ()
    body: tuple[Expr, ...] = ()
    tag: str = ""
    attrs: tuple[tuple[str, Data], ...] = ()
    layout_free: tuple[Tensor, ...] = ()

    @property
    def num_outputs(self) -> int:
        """How many tensors it makes."""
        return len(self.dtypes)

    def output_shape(self, index: int) -> tuple[Size, ...]:
        """The size of each dimension of output number `index`."""
        return self.shape

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that it makes."""
        return tuple(Tensor(self, index) for index in range(self.num_outputs))

    def output(self, index: int) -> Tensor:
        """Output number `index`."""
        return self.outputs[index]

    @property
    def reduce_axis(self) -> tuple[Axis, ...]:
        """The axes that it reduces over."""
        first = self.body[0] if self.body else None
        return first.axes if isinstance(first, (Reduction, TupleReduction)) else ()

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that it reads, each once, indices before what they index."""
        tensors: list[Tensor] = []

        def note(part: Node) -> Node:
            if isinstance(part, TensorLoad):
                tensors.append(part.tensor)
            return part

        for value in self.body:
            rewrite(value, note)
        return tuple(dict.fromkeys(tensors))


class PlaceholderOp(Operation):
    """What gives a tensor from outside.

    >>> isinstance(X.op, te.PlaceholderOp)
    True
    """

    __slots__ = ()


class ComputeOp(Operation):
    """What computes tensors, element by element.

    >>> isinstance(te.compute((8,), lambda i: X[i, i]).op, te.ComputeOp)
    True
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array that is given or computed, by `op`; `t[i, j]` is an element of it.

    ``t + u``, and ``-``, ``*`` and ``/``, make the tensor that topi's functions of two make.

    >>> X
    Tensor('X', (8, 8), 'float32')
    >>> X.shape, X.dtype
    ((8, 8), 'float32')
    """

    op: Operation
    value_index: int = 0
    elementwise: ClassVar[bool] = True  # to operators of expressions, which leave them to it

    @property
    def name(self) -> str:
        """The name of its operation, with its number where there are several outputs."""
        several = self.op.num_outputs > 1
        return f"{self.op.name}.v{self.value_index}" if several else self.op.name

    @property
    def shape(self) -> tuple[Size, ...]:
        """The size of each dimension."""
        return self.op.output_shape(self.value_index)

    @property
    def dtype(self) -> str:
        """The type of its elements."""
        return self.op.dtypes[self.value_index]

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
        return TensorLoad(self, tuple(map(as_index, loaded)))

    def __call__(self, *indices: ExprLike) -> TensorLoad:
        return self[indices]

    def astype(self, dtype: str) -> Tensor:
        """This tensor converted to `dtype`."""
        return elementwise(self, lambda e: cast(dtype, e))

    def __add__(self, other: Tensor | ExprLike) -> Tensor:
        return stretched("add", "+", self, other)

    def __radd__(self, other: ExprLike) -> Tensor:
        return stretched("add", "+", other, self)

    def __sub__(self, other: Tensor | ExprLike) -> Tensor:
        return stretched("subtract", "-", self, other)

    def __rsub__(self, other: ExprLike) -> Tensor:
        return stretched("subtract", "-", other, self)

    def __mul__(self, other: Tensor | ExprLike) -> Tensor:
        return stretched("multiply", "*", self, other)

    def __rmul__(self, other: ExprLike) -> Tensor:
        return stretched("multiply", "*", other, self)

    def __truediv__(self, other: Tensor | ExprLike) -> Tensor:
        return stretched("divide", "/", self, other)

    def __rtruediv__(self, other: ExprLike) -> Tensor:
        return stretched("divide", "/", other, self)

    def __neg__(self) -> Tensor:
        return self * -1

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, {shape_text(self.shape)}, {self.dtype!r})"


def operations(args: Iterable[Tensor]) -> list[Operation]:
    """The operations of `args` and of all that they read, each after those that it reads."""
    done: dict[Operation, None] = {}

    def visit(op: Operation) -> None:
        if op not in done:
            for tensor in op.input_tensors:
                visit(tensor.op)
            done[op] = None

    for arg in args:
        visit(arg.op)
    return list(done)


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

    op: Literal["+", "*", "max", "min", "and", "or"]
    value: Expr
    axes: tuple[Axis, ...]

    @property
    def dtype(self) -> str:
        return self.value.dtype


@dataclass(frozen=True, eq=False)
class Combiner:
    """What ``comm_reducer`` makes: `result` of the variables `lhs` and `rhs`, begun at `starts`."""

    name: str
    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[Expr, ...]
    starts: tuple[Expr, ...]


@node
class TupleReduction(Expr):
    """Number `index` of what `combiner` makes of several `values` at once over `axes`."""

    values: tuple[Expr, ...]
    axes: tuple[Axis, ...]
    combiner: Combiner
    index: int

    @property
    def dtype(self) -> str:
        return self.values[self.index].dtype


def var(name: str = "tindex", dtype: str = "int32") -> SizeVar:
    """A size that is told by the arrays of a call. As TVM's ``te.var``, which also has others.

    Raises ValueError for a type that counts nothing.

    >>> n = te.var("n")
    >>> te.placeholder((n, n * 2), name="A")
    Tensor('A', (n, n * 2), 'float32')
    """
    if dtype not in ("int32", "int64"):
        raise ValueError(f"{name} is a size: it is of type int32 or int64, not {dtype}")
    return SizeVar(identifier(name), dtype)


def size_var(name: str = "size", dtype: str = "int32") -> SizeVar:
    """As `var`: here every size is 0 or more.

    >>> te.size_var("n").name
    'n'
    """
    return var(name, dtype)


def placeholder(shape: Shape, dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """A tensor that the caller gives. As TVM's ``te.placeholder``.

    Raises TypeError or ValueError for a size that is no whole number from 1, and for a type that
    no buffer has.

    >>> te.placeholder((8, 4), "float16", name="A")
    Tensor('A', (8, 4), 'float16')
    """
    return Tensor(PlaceholderOp(name, _shape(shape), (named(dtype),)))


def compute(
    shape: Shape,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor whose element at `i, j, …` is `fcompute(i, j, …)`. As TVM's ``te.compute``.

    Where the function returns several values, there is a tensor for each. `attrs` are written at
    the blocks, and `varargs_names` name the axes that ``*indices`` takes.

    Raises ValueError or TypeError for a function that does not take as many indices as the shape
    has dimensions, and for a value that is no element of a tensor.

    >>> te.compute((8,), lambda i: X[i, 0] + 1.0, name="B")
    Tensor('B', (8,), 'float32')
    """
    sizes = _shape(_divided(shape))
    axes = tuple(
        spatial_axis(axis, size)
        for axis, size in zip(_axis_names(fcompute, len(sizes), varargs_names), sizes, strict=True)
    )
    value = fcompute(*axes)
    body = tuple(as_expr(v) for v in (value if isinstance(value, list | tuple) else (value,)))
    given = dict(attrs or {})
    layout_free = tuple(given.pop("layout_free_placeholders", ()))
    _check(name, axes, body)
    dtypes = tuple(value.dtype for value in body)
    op = ComputeOp(name, sizes, dtypes, axes, body, tag, attributes(given), layout_free)
    return op.output(0) if op.num_outputs == 1 else op.outputs


def broadcast_shape(name: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of both: sizes are paired from the last, and 1 fits any.

    Raises ValueError for sizes that do not fit.
    """
    shape = []
    for x, y in zip_longest(reversed(a), reversed(b), fillvalue=1):
        if x != y and 1 not in (x, y):
            raise ValueError(f"{name}: shapes {a} and {b} do not fit: {x} is not {y}")
        shape.append(max(x, y))
    return tuple(reversed(shape))


def _element(operand: Operand, at: tuple[Axis, ...], shape: tuple[int, ...]) -> ExprLike:
    if not isinstance(operand, Tensor):
        return operand
    pairs = zip(operand.shape, shape[len(shape) - operand.ndim :], strict=True)
    stretched = [own != size for own, size in pairs]
    own = at[len(at) - operand.ndim :]
    return operand[tuple(0 if one else i for i, one in zip(own, stretched, strict=True))]


def joined(
    name: str, combine: Callable[[ExprLike, ExprLike], Expr], lhs: Operand, rhs: Operand
) -> Tensor:
    """The tensor of what `combine` makes of two elements, as topi's operator of that `name`."""
    shapes = [x.shape if isinstance(x, Tensor) else () for x in (lhs, rhs)]
    if not isinstance(lhs, Tensor) and not isinstance(rhs, Tensor):
        raise TypeError(f"topi.{name} takes at least one tensor")
    shape = broadcast_shape(f"topi.{name}", *shapes)
    return compute(
        shape,
        lambda *at: combine(_element(lhs, at, shape), _element(rhs, at, shape)),
        name=f"T_{name}",
        tag="broadcast",
        varargs_names=[f"ax{k}" for k in range(len(shape))],
    )


def stretched(name: str, op: str, lhs: Operand, rhs: Operand) -> Tensor:
    """``lhs op rhs``, each stretched to the shape of both; called as topi's operator `name`."""
    return joined(name, lambda a, b: binary(op, a, b), lhs, rhs)


def elementwise(x: Tensor, function: Callable[[TensorLoad], Expr]) -> Tensor:
    """The tensor of `function` of each element of `x`."""
    return compute(x.shape, lambda *at: function(x[at]), tag="elemwise")


def _check(name: str, axes: tuple[Axis, ...], body: tuple[Expr, ...]) -> None:
    """Refuse values that no loop nest over `axes` computes."""
    if not body:
        raise ValueError(f"{name}: the function returns no value")
    reduced = [value for value in body if isinstance(value, (Reduction, TupleReduction))]
    if reduced and not _together(body):
        raise ValueError(
            f"{name}: several values are reduced at once by one comm_reducer, all that it makes; "
            "compute a tensor of its own for each other reduction"
        )
    known = {*axes, *(axis for value in reduced for axis in value.axes)}
    for value in body:
        for part in (part for inner in _combined(value) for part in walk(inner)):
            if isinstance(part, (Reduction, TupleReduction)):
                raise ValueError(
                    f"{name}: a reduction must be the whole value of a tensor; "
                    "compute it as a tensor of its own, and read that"
                )
            if isinstance(part, Var) and part not in known and not isinstance(part, SizeVar):
                raise ValueError(f"{name}: {_unknown(part)}")


def _together(body: tuple[Expr, ...]) -> bool:
    """Whether `body` is one reduction, of one value or of several at once."""
    first = body[0]
    if not isinstance(first, TupleReduction):
        return len(body) == 1
    made = [one.index if isinstance(one, TupleReduction) else -1 for one in body]
    combiners = {one.combiner for one in body if isinstance(one, TupleReduction)}
    return len(combiners) == 1 and made == [*range(len(first.values))]


def _combined(value: Expr) -> tuple[Expr, ...]:
    """What a reduction combines; any other value itself."""
    if isinstance(value, TupleReduction):
        return value.values
    return (value.value if isinstance(value, Reduction) else value,)


def _unknown(variable: Var) -> str:
    if isinstance(variable, Axis) and variable.kind == "reduce":
        return f"nothing reduces over {variable.name}; use it in a sum, max or min with axis="
    return f"{variable.name} is no axis of this tensor"


def attributes(given: Mapping[str, Any]) -> tuple[tuple[str, Data], ...]:
    """What is to be written at the blocks of an operation; refused where it is no data."""
    found = []
    for key, value in given.items():
        value = tuple(value) if isinstance(value, list) else value
        if not is_data(value):
            raise TypeError(f"attrs take numbers, texts and lists of them; {key} is {value!r}")
        found.append((key, value))
    return tuple(found)


def reduce_axis(dom: tuple[Size, Size], name: str = "rv") -> Axis:
    """An axis to reduce over, from `dom[0]` up to, not including, `dom[1]`.

    Raises ValueError for one that runs no times.

    >>> k = te.reduce_axis((0, 8), name="k")
    >>> te.compute((8,), lambda i: te.sum(X[i, k], axis=k))
    Tensor('compute', (8,), 'float32')
    """
    first, end = (_size(value, "an axis") for value in dom)
    extent = simplify(end - first) if isinstance(end - first, Expr) else end - first
    if not isinstance(extent, Expr) and extent < 1:
        raise ValueError(f"{name} runs over nothing: from {first} up to {end}")
    return Axis(name, type=_type_of(extent), dom=_range(first, extent))


def spatial_axis(name: str, size: Size) -> Axis:
    """An axis of a result, from 0 up to, not including, `size`."""
    return Axis(name, type=_type_of(size), dom=_range(0, size), kind="spatial")


def _range(first: Size, extent: Size) -> Range:
    dtype = _type_of(extent)
    return Range(size_expr(first, dtype), size_expr(extent, dtype))


def _type_of(size: Size) -> str:
    return size.dtype if isinstance(size, Expr) else "int32"


def _shape(shape: Shape) -> tuple[Size, ...]:
    sizes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    return tuple(_size(size, "a shape", least=1) for size in sizes)


def _size(value: object, what: str, least: int | None = None) -> Size:
    """A whole number, or what sizes tell."""
    if isinstance(value, Expr) and by_sizes(value):
        return simplify(value)
    return _whole(value.value if isinstance(value, Const) else value, what, least)


def _divided(shape: Any) -> Any:
    """`shape` with whole floats as integers: lessons write ``(N / bn, K, bn)``.

    TVM cuts off what is no whole number, here it is refused.
    """
    if isinstance(shape, Iterable):
        return tuple(map(_divided, shape)) if not isinstance(shape, str) else shape
    return int(shape) if isinstance(shape, float) and shape.is_integer() else shape


def _whole(value: object, what: str, least: int | None = None) -> int:
    """`value` as Python's; it may be an integer of NumPy's, or a quotient such as 64 / 16."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{what} takes whole numbers, not {value!r}")
    if least is not None and value < least:
        raise ValueError(f"{what} takes whole numbers from {least}, not {value}")
    return int(value)


def _axis_names(
    fcompute: Callable[..., Any], count: int, varargs: Sequence[str] | None
) -> list[str]:
    """The names of the function's parameters; `i0, i1, …` or `varargs` for ``*indices``."""
    parameters = inspect.signature(fcompute).parameters.values()
    named = [p.name for p in parameters if p.kind != p.VAR_POSITIONAL]
    if len(named) < len(parameters):
        left = count - len(named)
        named += [f"i{k}" for k in range(left)] if varargs is None else varargs
    if len(named) != count:
        raise ValueError(
            f"the function takes {len(named)} indices; the shape has {count} dimensions"
        )
    return named
