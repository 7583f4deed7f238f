"""Views, ``M = T.match_buffer(A[vi, 0:4], (4,))``: each element is the cell of `A` that it names.

A program without views means the same: a view owns nothing. What it says of strides and offsets
has to be what its cells have; names in their place stand for that.
"""

from __future__ import annotations

import ast

from workbench import arith
from workbench.ir import (
    Buffer,
    BufferLoad,
    BufferRegion,
    Const,
    Expr,
    Size,
    as_expr,
    binary,
    cast,
    const,
    dtypes,
    size_expr,
    walk,
)
from workbench.script.grammar import read_dtype, read_word
from workbench.script.memory import (
    BUFFER_PARAMETERS,
    read_index,
    read_region,
    read_shape,
    shape_text,
)
from workbench.script.reader import Let, Reader, View


def read_view(r: Reader, target: ast.expr, call: ast.Call) -> None:
    """``M = T.match_buffer(A[vi, 0:4], (4,), "float32", strides=("s",), offset_factor=1)``."""
    if not isinstance(target, ast.Name):
        raise r.error(target, "Can't name a buffer this", hint=f"write M = {r.text(call)}")
    given = r.bind(call, "param", *BUFFER_PARAMETERS)
    if not {"param", "shape"} <= given.keys():
        hint = "write M = T.match_buffer(A[vi, 0:4], (4,))"
        raise r.error(call, "A view is of a region, and has a shape", hint=hint)
    source = read_region(r, given["param"])
    sizes = read_shape(r, given["shape"])
    _check_kind(r, given, source.buffer, call)
    _check_sizes(r, given["shape"], source, sizes)
    firsts = tuple(part.min for part in source.region)
    for first in firsts:
        if any(isinstance(n, BufferLoad) and not n.buffer.scalar for n in walk(first)):
            hint = "load the cells of the buffer itself, where they are used"
            raise r.error(given["param"], "Can't view a region that data place", hint=hint)
    steps = _steps(source.buffer)
    if "strides" in given:
        _agree_strides(r, given["strides"], steps[len(steps) - len(sizes) :], sizes)
    if "elem_offset" in given:
        start: Expr = as_expr(0)
        for first, step in zip(firsts, steps, strict=True):
            start = binary("+", start, binary("*", first, step))
        _agree(r, given["elem_offset"], start, "elem_offset")
    r.define(target, target.id, View(target.id, source.buffer, firsts, sizes))


def _check_kind(r: Reader, given: dict[str, ast.expr], buffer: Buffer, call: ast.Call) -> None:
    """Refuse a view of another type or memory than what it views."""
    dtype = read_dtype(r, given["dtype"]) if "dtype" in given else "float32"
    scope = (read_word(r, given["scope"], "a scope") if "scope" in given else "") or "global"
    for found, wanted in ((dtype, buffer.type), (scope, buffer.storage_scope)):
        if found != wanted:
            told = f'`{buffer.name}` holds {buffer.type} in scope="{buffer.storage_scope}"'
            raise r.error(call, f"Can't view {wanted} as {found}", hint=f"{told}: say the same")


def _check_sizes(r: Reader, tree: ast.expr, source: BufferRegion, sizes: tuple[Size, ...]) -> None:
    """Refuse a shape that is not that of the region, whose first dimensions may be one cell."""
    extents = [part.extent for part in source.region]
    more = len(extents) - len(sizes)
    wanted = [*[1] * more, *sizes]
    if more < 0 or not all(
        arith.equal(extent, size_expr(size, extent.dtype))
        for extent, size in zip(extents, wanted, strict=True)
    ):
        hint = "a view has the shape of its region; first dimensions of one cell may be left out"
        raise r.error(
            tree, f"A view of this region has not the shape {shape_text(sizes)}", hint=hint
        )


def _steps(buffer: Buffer) -> tuple[Size, ...]:
    """How many cells apart neighbours along each dimension of `buffer` lie."""
    steps: list[Size] = [1]
    for size in reversed(buffer.shape[1:]):
        steps.insert(0, steps[0] * size)
    return buffer.strides or tuple(steps[: len(buffer.shape)])


def _agree_strides(
    r: Reader, tree: ast.expr, steps: tuple[Size, ...], sizes: tuple[Size, ...]
) -> None:
    trees = tree.elts if isinstance(tree, (ast.Tuple, ast.List)) else []
    if len(trees) != len(steps):
        if isinstance(tree, ast.Constant) and tree.value is None:
            return
        hint = "write one stride for each dimension of the view, or none"
        raise r.error(tree, "Can't read these strides", hint=hint)
    for stride, step, size in zip(trees, steps, sizes, strict=True):
        if not isinstance(size, int) or size > 1 or isinstance(stride, ast.Name):
            _agree(r, stride, as_expr(step), "stride")


def _agree(r: Reader, tree: ast.expr, value: Expr, what: str) -> None:
    """Give the name that `tree` is `value`, or refuse another; a text names what nobody uses."""
    if isinstance(tree, ast.Constant) and (tree.value is None or isinstance(tree.value, str)):
        return
    let = r.named(tree.id) if isinstance(tree, ast.Name) else None
    if isinstance(let, Let) and let.value is None:
        let.value, let.block = cast(let.dtype or value.dtype, value), r.block
        return
    said = read_index(r, tree)
    wide = dtypes.join(said.dtype, value.dtype)
    if wide is None or not arith.equal(binary("-", said, value), const(0, wide)):
        known = int(value.value) if isinstance(value, Const) else None
        hint = f"it is {known}: write that" if known is not None else "leave it out"
        raise r.error(tree, f"The view's {what} is not that of its cells", hint=hint)
