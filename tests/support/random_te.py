"""Random graphs of compute expressions, and their values by NumPy, without any program."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import te
from workbench.ir import BinOp, Call, Cast, Const, Expr, Not, Select, Var, cast
from workbench.te import Axis, Tensor
from workbench.te.tensor import Reduction, TensorLoad, TupleReduction

Array = np.ndarray[Any, Any]


# --- graphs --------------------------------------------------------------------------------------


class Graph:
    """One to four stages over one or two inputs; `args` are the inputs and what nobody reads."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.tensors: list[Tensor] = []
        for name in "AB"[: rng.randint(1, 2)]:
            shape = tuple(rng.randint(2, 6) for _ in range(rng.choice((1, 2, 2, 3))))
            self.tensors.append(te.placeholder(shape, name=name))
        inputs = list(self.tensors)
        for name in "CDEF"[: rng.randint(1, 4)]:
            stage = rng.choice(STAGES)
            self.tensors += stage(self, name)
        made = [t for t in self.tensors if t.op.body]
        read = {r for t in made for r in t.op.input_tensors}
        ends = [t for t in made if t not in read]
        extra = [t for t in made if t in read and rng.random() < 0.2]
        self.args = [*inputs, *extra, *ends]

    def any_tensor(self, ndim: int = 1) -> Tensor:
        """One of `ndim` dimensions or more, the later the likelier."""
        fitting = [t for t in self.tensors if t.ndim >= ndim]
        return self.rng.choice([*fitting, fitting[-1]]) if fitting else self.widened(ndim)

    def widened(self, ndim: int) -> Tensor:
        """Something of `ndim` dimensions made of the last tensor."""
        last = self.tensors[-1]
        shape = (*last.shape, *[2] * (ndim - last.ndim))
        made: Tensor = te.compute(shape, lambda *at: last[at[: last.ndim]], name="wide")
        self.tensors.append(made)
        return made

    def value(self, x: Expr) -> Expr:
        """Something made of one value; whole numbers stay whole."""
        change: Callable[[Expr], Expr] = self.rng.choice(
            (
                lambda e: e + 1.0,
                lambda e: 2.0 - e,
                lambda e: e * -2.0,
                lambda e: te.max(e, 0.0),
                lambda e: te.abs(e),
                lambda e: te.select(e > 0.0, e, e - 1.0),
                lambda e: cast("float32", cast("int32", e)),
            )
        )
        return change(x)

    def sum_of(self, a: Expr, b: Expr) -> Expr:
        """Something made of two values."""
        return self.rng.choice((a + b, a - b, te.min(a, b), te.max(a, b)))


def elementwise(g: Graph, name: str) -> list[Tensor]:
    """Of one tensor, and of another whose sizes fit, read forwards or backwards."""
    x = g.any_tensor()
    others = [t for t in g.tensors if t.shape == x.shape]
    y = g.rng.choice(others)
    back = g.rng.random() < 0.3

    def element(*at: Axis) -> Expr:
        turned = tuple(n - 1 - i for i, n in zip(at, y.shape, strict=True)) if back else at
        return g.sum_of(g.value(x[at]), y[turned])

    return [te.compute(x.shape, element, name=name)]


def outputs(g: Graph, name: str) -> list[Tensor]:
    """Two of one operation."""
    x = g.any_tensor()
    return list(te.compute(x.shape, lambda *at: (g.value(x[at]), g.value(x[at])), name=name))


def stencil(g: Graph, name: str) -> list[Tensor]:
    """Neighbours along one dimension, with a stride."""
    x = g.any_tensor()
    d = g.rng.randrange(x.ndim)
    reach = g.rng.randint(0, min(2, x.shape[d] - 1))
    step = g.rng.choice((1, 1, 2))
    shape = list(x.shape)
    shape[d] = (x.shape[d] - reach - 1) // step + 1

    def element(*at: Axis) -> Expr:
        def near(offset: int) -> Expr:
            return x[tuple(i * step + offset if k == d else i for k, i in enumerate(at))]

        return g.sum_of(near(0), near(reach))

    return [te.compute(tuple(shape), element, name=name)]


def padding(g: Graph, name: str) -> list[Tensor]:
    """Zeros, or another number, around."""
    x = g.any_tensor()
    ends = [(g.rng.randint(0, 2), g.rng.randint(0, 2)) for _ in x.shape]
    value = g.rng.choice((0.0, 1.0))

    def element(*at: Axis) -> Expr:
        inside = [
            c for i, n, (b, _) in zip(at, x.shape, ends, strict=True) for c in (i >= b, i - b < n)
        ]
        cell = x[tuple(i - b for i, (b, _) in zip(at, ends, strict=True))]
        return te.if_then_else(te.all(*inside), cell, value)

    shape = tuple(n + b + a for n, (b, a) in zip(x.shape, ends, strict=True))
    return [te.compute(shape, element, name=name)]


def reduction(g: Graph, name: str) -> list[Tensor]:
    """Over one dimension, or over all from some on."""
    x = g.any_tensor(2)
    d = g.rng.randrange(x.ndim)
    over = {d} if g.rng.random() < 0.7 else set(range(max(d, 1), x.ndim))
    kept = [k for k in range(x.ndim) if k not in over]
    axes = {k: te.reduce_axis((0, x.shape[k]), f"k{k}") for k in sorted(over)}
    combine = g.rng.choice((te.sum, te.sum, te.max, te.min))

    def element(*at: Axis) -> Expr:
        own = {**dict(zip(kept, at, strict=True)), **axes}
        return combine(g.value(x[tuple(own[k] for k in range(x.ndim))]), list(axes.values()))

    return [te.compute(tuple(x.shape[k] for k in kept), element, name=name)]


def together(g: Graph, name: str) -> list[Tensor]:
    """Two reductions at once over the last dimension: of values, or the best one and its place."""
    x = g.any_tensor(2)
    k = te.reduce_axis((0, x.shape[-1]), "k")
    if g.rng.random() < 0.5:
        both = te.comm_reducer(lambda x, y: (x[0] + y[0], te.max(x[1], y[1])), _nothing_and_lowest)
        return list(te.compute(
            x.shape[:-1], lambda *at: both((g.value(x[*at, k]), x[*at, k]), k), name=name
        ))  # fmt: skip
    best = te.comm_reducer(_best, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)))
    return list(te.compute(x.shape[:-1], lambda *at: best((k, x[*at, k]), k), name=name))


def _nothing_and_lowest(t0: str, t1: str) -> tuple[Expr, Expr]:
    return te.const(0, t0), te.min_value(t1)


def _best(x: Sequence[Expr], y: Sequence[Expr]) -> tuple[Expr, Expr]:
    """Of two places and values the larger value, of equal ones the first."""
    first = te.any(x[1] > y[1], te.all(te.equal(x[1], y[1]), x[0] < y[0]))
    return te.select(first, x[0], y[0]), te.max(x[1], y[1])


def window(g: Graph, name: str) -> list[Tensor]:
    """A reduction of windows along one dimension, weighted by another tensor where one fits."""
    x = g.any_tensor()
    d = g.rng.randrange(x.ndim)
    size = g.rng.randint(1, min(3, x.shape[d]))
    k = te.reduce_axis((0, size), "k")
    shape = list(x.shape)
    shape[d] -= size - 1
    weights = [t for t in g.tensors if t.ndim == 1 and t.shape[0] >= size]
    combine = g.rng.choice((te.sum, te.max))

    def element(*at: Axis) -> Expr:
        near = x[tuple(i + k if n == d else i for n, i in enumerate(at))]
        return combine(near * g.rng.choice(weights)[k] if weights else near, k)

    return [te.compute(tuple(shape), element, name=name)]


def product(g: Graph, name: str) -> list[Tensor]:
    """A matrix with itself turned round."""
    x = g.any_tensor(2)
    outer = (0,) * (x.ndim - 2)
    k = te.reduce_axis((0, x.shape[-1]), "k")
    rows = x.shape[-2]
    return [
        te.compute(
            (rows, rows), lambda i, j: te.sum(x[(*outer, i, k)] * x[(*outer, j, k)], k), name=name
        )
    ]


def turned(g: Graph, name: str) -> list[Tensor]:
    """The dimensions in another order, or the last two in one."""
    x = g.any_tensor(2)
    if g.rng.random() < 0.5:
        last = x.shape[-1]
        shape = (*x.shape[:-2], x.shape[-2] * last)
        return [
            te.compute(shape, lambda *at: x[(*at[:-1], at[-1] // last, at[-1] % last)], name=name)
        ]
    order = list(range(x.ndim))
    g.rng.shuffle(order)
    shape = tuple(x.shape[d] for d in order)
    return [
        te.compute(
            shape, lambda *at: x[tuple(at[order.index(d)] for d in range(x.ndim))], name=name
        )
    ]


STAGES: Sequence[Callable[[Graph, str], list[Tensor]]] = (
    elementwise,
    outputs,
    stencil,
    padding,
    reduction,
    together,
    window,
    product,
    turned,
)


# --- values --------------------------------------------------------------------------------------


def values(args: Sequence[Tensor], given: Sequence[Array]) -> list[Array]:
    """What every tensor of `args` holds, placeholders as `given`, in float64."""
    inputs = [t for t in args if not t.op.body]
    known: dict[Tensor, Array] = dict(zip(inputs, given, strict=True))
    return [_tensor(arg, known) for arg in args]


def _tensor(tensor: Tensor, known: dict[Tensor, Array]) -> Array:
    if tensor not in known:
        op = tensor.op
        axes = (*op.axis, *op.reduce_axis)
        starts = [int(axis.dom.min.value) for axis in axes]  # type: ignore[attr-defined]
        sizes = [int(axis.dom.extent.value) for axis in axes]  # type: ignore[attr-defined]
        grids = [g + s for g, s in zip(np.indices(sizes), starts, strict=True)]
        lanes = dict(zip(axes, grids, strict=True))
        body = op.body[tensor.value_index]
        if isinstance(body, TupleReduction):
            known |= zip(op.outputs, _folded(op, body, lanes, known), strict=True)
            return known[tensor]
        inner = body.value if isinstance(body, Reduction) else body
        found = _expr(inner, lanes, np.ones(sizes, bool), known)
        result = np.broadcast_to(np.asarray(found), tuple(sizes))
        if isinstance(body, Reduction):
            over = tuple(range(len(op.axis), len(axes)))
            result = {"+": np.sum, "max": np.max, "min": np.min}[body.op](result, over)
        known[tensor] = result
    return known[tensor]


def _folded(
    op: te.Operation, body: TupleReduction, lanes: dict[Any, Array], known: dict[Tensor, Array]
) -> list[Array]:
    """What a combiner of several values makes of them, one turn of its axis after the other."""
    sizes = next(iter(lanes.values())).shape
    values = [
        np.broadcast_to(_expr(value, lanes, np.ones(sizes, bool), known), sizes)
        for value in body.values
    ]
    f, everywhere = body.combiner, np.ones(op.shape, bool)
    now = [np.broadcast_to(_expr(start, {}, everywhere, {}), op.shape) for start in f.starts]
    for turn in range(sizes[-1]):
        given = [*now, *(value[..., turn] for value in values)]
        at = dict(zip((*f.lhs, *f.rhs), given, strict=True))
        now = [np.broadcast_to(_expr(made, at, everywhere, {}), op.shape) for made in f.result]
    return now


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.mod,
    "min": np.minimum,
    "max": np.maximum,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "and": np.logical_and,
    "or": np.logical_or,
}


def _expr(e: Expr, lanes: dict[Any, Array], where: Array, known: dict[Tensor, Array]) -> Any:
    """The value of `e` in every lane; only those `where` it is wanted have to be right."""

    def of(part: Expr, there: Array = where) -> Any:
        return _expr(part, lanes, there, known)

    match e:
        case Const(value=value):
            return value
        case Var():
            return lanes[e]
        case TensorLoad(tensor=tensor, indices=indices):
            array, at = _tensor(tensor, known), []
            for index, size in zip(indices, tensor.shape, strict=True):
                cells = np.broadcast_to(of(index), where.shape)
                assert ((cells[where] >= 0) & (cells[where] < size)).all(), "outside a tensor"
                at.append(np.clip(cells, 0, size - 1))
            return array[tuple(at)]
        case BinOp(op=op, a=a, b=b):
            return _OPERATORS[op](of(a), of(b))
        case Not(a=a):
            return np.logical_not(of(a))
        case Cast(type=kind, value=value):
            return np.asarray(of(value)).astype("int64" if "int" in kind else "float64")
        case Select(condition=c, true_value=a, false_value=b):
            return np.where(of(c), of(a), of(b))
        case Call(op="if_then_else", args=(c, a, b)):
            holds = np.broadcast_to(of(c), where.shape)
            return np.where(holds, of(a, where & holds), of(b, where & ~holds))
        case Call(op="abs", args=(a,)):
            return np.abs(of(a))
    raise NotImplementedError(f"{type(e).__name__}")


def inputs_of(args: Sequence[Tensor], seed: int) -> list[Array]:
    """Small whole numbers for the placeholders."""
    draw = np.random.default_rng(seed)
    return [draw.integers(-2, 3, t.shape).astype(t.dtype) for t in args if not t.op.body]
