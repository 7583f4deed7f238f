"""Buffers that are declared in Python, outside of a program: tvm.tir.decl_buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.ir import FRAGMENTS, SCOPES, Buffer, lie_apart, memory_of
from workbench.script.writer import identifier
from workbench.te import placeholder

ALIGNMENT = 64  # bytes, where none is said


def decl_buffer(
    shape: Any,
    dtype: str = "float32",
    name: str = "buffer",
    data: None = None,
    strides: Sequence[int] | None = None,
    elem_offset: int | None = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
) -> Buffer:
    """A buffer of its own memory, as TVM's ``tvm.tir.decl_buffer``: it is in no program yet.

    Raises TypeError or ValueError for a shape, type, memory or strides that no buffer here has.

    >>> from workbench.tvm import tir
    >>> A = tir.decl_buffer((8, 4), "float16", name="A", scope="shared")
    >>> A.name, A.shape, A.dtype, A.scope
    ('A', (8, 4), 'float16', 'shared')
    """
    if data is not None or elem_offset not in (None, 0):
        raise ValueError(f"{name} lies in memory of its own here: leave data and elem_offset out")
    memory, tag = memory_of(scope or "global")
    if memory not in SCOPES:
        raise ValueError(
            f"there is no memory {scope!r}; these are: {', '.join((*SCOPES, *FRAGMENTS))}"
        )
    like = placeholder(shape, dtype, name)
    steps = tuple(strides or ())
    if steps and not all(type(n) is int for n in (*like.shape, *steps)):
        raise ValueError(
            f"strides are numbers here, as are the sizes beside them: leave those of "
            f"{name} out, it lies one row after the other"
        )
    if steps and (len(steps) != len(like.shape) or not lie_apart(like.shape, steps)):
        raise ValueError(f"with the strides {steps} cells of {name} share a place")
    return Buffer(
        identifier(name),
        like.shape,
        dtype,
        memory,
        steps,
        tag=tag,
        align=data_alignment if data_alignment > 0 else ALIGNMENT,
        offset_factor=offset_factor,
    )
