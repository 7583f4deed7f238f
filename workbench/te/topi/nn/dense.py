"""Products of matrices, of batches of them, and dense layers."""

from __future__ import annotations

from workbench import ir
from workbench.ir import Expr
from workbench.te.reduce import sum
from workbench.te.tensor import Axis, Tensor, broadcast_shape, compute, reduce_axis
from workbench.te.topi.broadcast import add
from workbench.te.topi.elementwise import cast


def _product(
    name: str,
    a: Tensor,
    b: Tensor,
    flags: tuple[bool, bool],
    out_dtype: str | None,
    axes: list[str] | None = None,
) -> Tensor:
    """The product of the last two dimensions; those ahead are stretched to fit."""
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"{name} takes matrices, not shapes {a.shape} and {b.shape}")
    (m, inner), (other, n) = (
        x.shape[-1:-3:-1] if flag else x.shape[-2:] for x, flag in zip((a, b), flags, strict=True)
    )
    if inner != other:
        raise ValueError(f"{name}: the inner sizes differ: {inner} and {other}")
    dtype = out_dtype or a.dtype
    batch = broadcast_shape(name, a.shape[:-2], b.shape[:-2])
    k = reduce_axis((0, inner), "k")

    def element(*at: Axis) -> Expr:
        *outer, i, j = at
        left = (k, i) if flags[0] else (i, k)
        right = (j, k) if flags[1] else (k, j)
        return sum(_taken(a, outer, left, dtype) * _taken(b, outer, right, dtype), k)

    return compute(
        (*batch, m, n),
        element,
        name="_".join((name, "".join("T" if flag else "N" for flag in flags))),
        tag="matmul",
        attrs={"layout_free_placeholders": [b]},
        varargs_names=axes,
    )


def _taken(x: Tensor, outer: list[Axis], last: tuple[Axis, Axis], dtype: str) -> Expr:
    own = outer[len(outer) - (x.ndim - 2) :]
    ahead = [0 if size == 1 else i for i, size in zip(own, x.shape[:-2], strict=True)]
    return ir.cast(dtype, x[(*ahead, *last)])


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Tensor:
    """The product of two matrices, or of batches of them, plus `bias` on its last dimension.

    Raises ValueError for shapes that do not fit.
    """
    flags = (transpose_a, transpose_b)
    product = _product("T_matmul", tensor_a, tensor_b, flags, out_dtype)
    if bias is None:
        return product
    if bias.ndim != 1:
        raise ValueError(f"a bias has one dimension, not shape {bias.shape}")
    return add(product, cast(bias, product.dtype))


def dense(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None
) -> Tensor:
    """`data` times `weight` transposed, plus `bias`: data (batch, in), weight (out, in).

    Raises ValueError for shapes that do not fit.
    """
    return matmul(data, weight, bias, out_dtype, False, True)


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Tensor:
    """The products of the matrices of two batches; `tensor_b` is taken as transposed unless said.

    Raises ValueError for shapes that do not fit; `oshape` follows from them.
    """
    if oshape is not None:
        raise ValueError("batch_matmul: leave oshape out; it follows from the shapes")
    if tensor_a.ndim != 3 or tensor_b.ndim != 3:
        raise ValueError(
            f"batch_matmul takes three dimensions, not shapes {tensor_a.shape}, {tensor_b.shape}"
        )
    flags = (transpose_a, transpose_b)
    return _product("T_batch_matmul", tensor_a, tensor_b, flags, out_dtype, ["b", "i", "j"])
