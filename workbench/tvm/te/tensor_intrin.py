"""Tensor intrinsics of compute expressions: tvm.te.decl_tensor_intrin.

A computation says what one means, a function which calls run it. Both become programs, and so an
intrinsic of `wb.TensorIntrin`, which proves that they are the same. A sum is two, since it starts
ahead of its loops here: what fills, and what adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from workbench import arith, script
from workbench.diag import Fail
from workbench.intrin import TensorIntrin as Pair
from workbench.intrin.tensor_intrin import in_order
from workbench.ir import (
    Block,
    Buffer,
    Expr,
    PrimFunc,
    const,
    free_vars,
    replace_each,
    structural_equal,
    substitute,
    substitute_buffers,
    walk,
)
from workbench.script import expr_text
from workbench.script.writer import identifier
from workbench.te import Operation, Tensor, compute, create_prim_func
from workbench.te.reduce import identity
from workbench.te.tensor import Reduction, TupleReduction
from workbench.tvm.not_carried import refusing
from workbench.tvm.tir.buffers import Declared, decl_buffer
from workbench.tvm.tir.calls import Instruction, Instructions

__all__ = ["TensorIntrin", "decl_tensor_intrin"]

_CELLS = 256  # of a fragment


@dataclass(frozen=True, slots=True)
class TensorIntrin:
    """For `Stage.tensorize`: the registered names of what runs a tile of `op`.

    Of a sum `name` adds, and `init`, if it is not "", fills before; what fills nothing is left to
    loops.
    """

    op: Operation
    name: str
    init: str = ""


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[[Sequence[Declared], Sequence[Declared]], Any],
    name: str = "",
    binds: Mapping[Tensor, Declared] | None = None,
    scalar_params: None = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """The intrinsic that does what `op` computes, by the calls that `fcompute` returns.

    It is called as ``fcompute(ins, outs)`` with the buffers of the tensors: those of `binds`, or
    declared with `default_buffer_params`. Of a sum it returns the triple (body, init, update), or
    what adds alone; a sum starts ahead of its loops here, so that of three `body` is not taken.
    `name`, without one that of the function around, is what `sch.tensorize` calls it.

    Raises Fail, or ParseError with the calls as a program, for calls that there are not, that do
    anything else than `op` says, and that name another fragment than that of the tile.
    """
    if scalar_params is not None:
        raise Fail(
            "Can't declare a tensor intrinsic with scalar_params",
            hint="let the computation read them from a tensor of one element",
        )
    if len(op.body) != 1 or isinstance(op.body[0], TupleReduction):
        raise Fail(
            f"Can't declare a tensor intrinsic of {op.name}: it computes several values at once",
            hint="declare one for each, of a te.compute with one value",
        )
    params = {t: _bound(t, binds or {}, default_buffer_params or {}) for t in op.input_tensors}
    out = _bound(op.output(0), binds or {}, default_buffer_params or {})
    made, called = fcompute([*params.values()], [out]), name or _called(fcompute)
    tiles = {**params, op.output(0): out}
    (value,) = op.body
    if not isinstance(value, Reduction):
        return TensorIntrin(op, _registered(called, op, tiles, made))
    _, init, update = made if isinstance(made, tuple) and len(made) == 3 else (made, None, made)
    adds = _registered(called, op, tiles, update)
    if init is None:
        return TensorIntrin(op, adds)
    start = identity(value.op, out.dtype)
    filled = compute(op.shape, lambda *_: start, op.name, varargs_names=[a.name for a in op.axis])
    return TensorIntrin(op, adds, _registered(f"{called}_init", filled.op, {filled: out}, init))


def _bound(tensor: Tensor, binds: Mapping[Tensor, Declared], given: Mapping[str, Any]) -> Declared:
    """The buffer of a tensor; refused where it is of another shape or type."""
    found = binds.get(tensor)
    if found is None:
        return decl_buffer(tensor.shape, tensor.dtype, tensor.name, **given)
    if not isinstance(found, Declared):
        raise TypeError(f"{tensor.name} is bound to a tvm.tir.decl_buffer, not to {found!r}")
    if (found.shape, found.dtype) != (tensor.shape, tensor.dtype):
        raise Fail(
            f"Can't bind {tensor.name}: it is {tensor.shape} of {tensor.dtype}, the buffer "
            f"{found.shape} of {found.dtype}",
            hint=f"declare it like the tensor: tvm.tir.decl_buffer({tensor.name}.shape, "
            f"{tensor.name}.dtype, …)",
        )
    return found


def _called(fcompute: Callable[..., Any]) -> str:
    """The name of the function in which `fcompute` stands, else its own."""
    path = getattr(fcompute, "__qualname__", "").replace("<lambda>", "").split(".<locals>.")
    return identifier(next((part for part in reversed(path[:-1]) if part), path[-1]) or "intrin")


def _registered(called: str, op: Operation, tiles: Mapping[Tensor, Declared], made: Any) -> str:
    """The name under which `called` is registered, as what `op` means and the calls `made` do."""
    calls = made.calls if isinstance(made, Instructions) else (made,)
    if not calls or not all(isinstance(call, Instruction) for call in calls):
        raise Fail(
            f"Can't declare {called}: its function returns no calls of instructions",
            hint="emit them to a builder, ib = tvm.tir.ir_builder.create(), and return ib.get()",
        )
    names: dict[Declared, str] = {}
    for tensor, buffer in tiles.items():
        own = identifier(tensor.name)
        names[buffer] = f"{own}_{len(names)}" if own in names.values() else own
    for call in calls:
        _check_fragments(called, call, names)
    impl = script.parse(_text(called, calls, names))
    assert isinstance(impl, PrimFunc)
    desc = _described(called, op, dict(zip(tiles, impl.params, strict=True)))
    impl = in_order(desc, impl)
    for k in count():
        free = f"{called}_{k}" if k else called
        known = Pair.get(free, allow_missing=True)
        if known is None or _same(known, desc, impl):
            return Pair.register(free, desc, impl).name
    raise AssertionError("there is a free number")


def _same(known: Pair, desc: PrimFunc, impl: PrimFunc) -> bool:
    pairs = ((known.desc, desc), (known.impl, impl))
    return all(structural_equal(replace(a, name=b.name), b) for a, b in pairs)


def _described(called: str, op: Operation, params: Mapping[Tensor, Buffer]) -> PrimFunc:
    """The program of `op` on these tiles; of a sum what is done in each turn, without its start."""
    func = create_prim_func([*params])
    buffers = dict(zip(func.params, params.values(), strict=True))
    blocks = {b: replace(b, init=None) for b in walk(func.body) if isinstance(b, Block) and b.init}
    body = substitute_buffers(replace_each(func.body, blocks), buffers)
    return PrimFunc(called, tuple(params.values()), body)


def _text(called: str, calls: Sequence[Instruction], names: Mapping[Declared, str]) -> str:
    """The implementation as a program, with the calls as they were made."""
    params = ", ".join(_declaration(buffer, name) for buffer, name in names.items())
    lines = "".join(f"    T.evaluate({call.text(names)})\n" for call in calls)
    return f"@T.prim_func\ndef {called}({params}):\n{lines}"


def _declaration(buffer: Declared, name: str) -> str:
    strides = "".join(
        f"{n}, " if isinstance(n, int) else f'"{expr_text(n)}", ' for n in buffer.strides
    )
    return (
        f'{name}: T.Buffer({buffer.shape}, "{buffer.dtype}", scope="{buffer.storage_scope}", '
        f"align={buffer.align}, offset_factor={buffer.offset_factor}"
        + (f", strides=({strides}))" if strides else ")")
    )


def _check_fragments(called: str, call: Instruction, names: Mapping[Declared, str]) -> None:
    """Refuse a number behind a fragment's array that is not the tile's: one for each 256 cells."""
    for arg in call.args:
        for buffer, name in names.items():
            if not isinstance(arg, Expr) or buffer.elem_offset not in free_vars(arg):
                continue
            for k in range(3) if buffer.is_fragment else ():
                at = substitute(arg, {buffer.elem_offset: const(k * _CELLS, "int32")})
                if not arith.equal(at, const(k, "int32")):
                    raise Fail(
                        f"Can't declare {called}: a fragment of {name} has another number than "
                        f"{call.name} says",
                        detail=f"it says {expr_text(at)} where {k} fragments lie ahead of it",
                        hint=f"write {name}.elem_offset // {_CELLS}: each has {_CELLS} cells",
                    )


__getattr__ = refusing(__name__)
