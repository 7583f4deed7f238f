"""create_prim_func: from computed tensors to a program of loops and blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbench.arith import access_regions
from workbench.ir import (
    TRUE,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IterVar,
    PrimFunc,
    Range,
    Stmt,
    Var,
    binary,
    const,
    rewrite,
    seq,
    substitute,
    walk,
)
from workbench.script.writer import identifier
from workbench.te.reduce import identity
from workbench.te.tensor import Reduction, Tensor, TensorLoad


def create_prim_func(args: Sequence[Tensor]) -> PrimFunc:
    """The program that computes `args`, one loop nest and block for each computed tensor.

    `args` become the parameters; other tensors are allocated inside. Text and names are those of
    TVM 0.27's ``te.create_prim_func``.

    >>> from workbench.te import compute, placeholder
    >>> A = placeholder((8,), name="A")
    >>> create_prim_func([A, compute((8,), lambda i: A[i] + 1.0, name="B")]).show()
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        for i in range(8):
            with T.block("B"):
                v_i = T.axis.spatial(8, i)
                T.reads(A[v_i])
                T.writes(B[v_i])
                B[v_i] = A[v_i] + T.float32(1)
    """
    tensors = list(dict.fromkeys(t for arg in args for t in _needed(arg)))
    buffers = {t: Buffer(identifier(t.name), t.shape, t.dtype) for t in tensors}
    stages = [t for t in tensors if t.value is not None]
    if not stages:
        raise ValueError("nothing is computed: every tensor is a placeholder")
    for given in tensors:
        if given.value is None and given not in args:
            raise ValueError(f"{given.name} is read and is not an argument")
    names = _block_names(stages)
    body = seq(*(_stage(t, names[t], buffers) for t in stages))
    allocated = tuple(buffers[t] for t in stages if t not in args)
    root = Block("root", (), (), (), body, alloc_buffers=allocated)
    params = tuple(buffers[t] for t in args)
    return PrimFunc("main", params, BlockRealize((), TRUE, root), (("tir.noalias", True),))


def _needed(tensor: Tensor) -> Iterator[Tensor]:
    """`tensor` after everything that it is computed from."""
    if tensor.value is not None:
        for part in walk(_inner(tensor.value)):
            if isinstance(part, TensorLoad):
                yield from _needed(part.tensor)
    yield tensor


def _inner(value: Expr) -> Expr:
    return value.value if isinstance(value, Reduction) else value


def _block_names(stages: Sequence[Tensor]) -> dict[Tensor, str]:
    names: dict[Tensor, str] = {}
    for tensor in stages:
        name, count = tensor.name, 0
        while name in names.values():
            count += 1
            name = f"{tensor.name}_{count}"
        names[tensor] = name
    return names


def _stage(tensor: Tensor, name: str, buffers: dict[Tensor, Buffer]) -> Stmt:
    """The loops and the block that compute `tensor`."""
    value = tensor.value
    assert value is not None
    axes: list[tuple[Var, Range, str]] = [
        (axis, Range(const(0, "int32"), const(size, "int32")), "spatial")
        for axis, size in zip(tensor.axes, tensor.shape, strict=True)
    ]
    if isinstance(value, Reduction):
        axes += [(axis, axis.dom, "reduce") for axis in value.axes]
    loops = [Var(identifier(axis.name)) for axis, _, _ in axes]
    iterators = tuple(
        IterVar(Var(identifier(f"v_{axis.name}")), dom, kind) for axis, dom, kind in axes
    )
    at = tuple(it.var for it in iterators[: len(tensor.shape)])
    if not iterators:  # a scalar: TVM gives it one iterator of one value
        iterators = (IterVar(Var("vi"), Range(const(0, "int32"), const(1, "int32")), "spatial"),)
    own: dict[Var, Expr] = {axis: it.var for (axis, _, _), it in zip(axes, iterators, strict=False)}
    block = _block(name, buffers[tensor], at, value, iterators, own, buffers)
    values: tuple[Expr, ...] = tuple(loops) or (const(0, "int32"),)
    result: Stmt = BlockRealize(values, TRUE, block)
    for loop, it in reversed(list(zip(loops, iterators, strict=False))):
        result = For(loop, it.dom.min, it.dom.extent, "serial", result)
    return result


def _block(
    name: str,
    target: Buffer,
    at: tuple[Var, ...],
    value: Expr,
    iterators: tuple[IterVar, ...],
    own: dict[Var, Expr],
    buffers: dict[Tensor, Buffer],
) -> Block:
    """The block that stores `value` into `target[at]`."""

    def loaded(part: Expr) -> Expr:
        if isinstance(part, Reduction):
            raise ValueError(f"{name}: a reduction must be the whole value of a tensor")
        if isinstance(part, TensorLoad):
            return BufferLoad(buffers[part.tensor], part.indices)
        return part

    new = substitute(rewrite(_inner(value), loaded), own)  # type: ignore[arg-type]
    init = None
    if isinstance(value, Reduction):
        init = BufferStore(target, identity(value.op, target.dtype), at)
        new = binary(value.op, BufferLoad(target, at), new)
    block = Block(name, iterators, (), (), BufferStore(target, new, at), init=init)
    reads, writes = access_regions(block)
    return replace(block, reads=reads, writes=writes)
