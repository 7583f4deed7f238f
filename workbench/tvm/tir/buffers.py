"""Buffers that are declared in Python, outside of a program: tvm.tir.decl_buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.ir import FRAGMENTS, SCOPES, Buffer, Expr, Var, lie_apart, memory_of
from workbench.ir.nodes import node
from workbench.script.writer import identifier
from workbench.te import placeholder

ALIGNMENT = 64  # bytes, where none is said
_MODES = ("r", "w", "rw")


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a declared buffer begins, for a call: `how` it is written behind the buffer's name."""

    buffer: Declared
    how: str


@node
class Declared(Buffer):
    """A buffer of `decl_buffer`, and what calls in an intrinsic say of it."""

    elem_offset: Var = field(default_factory=lambda: Var("elem_offset"))
    """How many elements ahead of it the tile begins that it will stand for."""

    @property
    def data(self) -> Pointer:
        """The array that it is in: of a fragment, which has numbers in place of addresses."""
        return Pointer(self, "data")

    def access_ptr(self, access_mask: str) -> Pointer:
        """The address of its first element, to be read ("r"), written ("w") or both ("rw").

        Raises ValueError for another word.
        """
        if access_mask not in _MODES:
            raise ValueError(f"a pointer is for {', '.join(_MODES)}, not {access_mask!r}")
        return Pointer(self, f'access_ptr("{access_mask}")')


def decl_buffer(
    shape: Any,
    dtype: str = "float32",
    name: str = "buffer",
    data: None = None,
    strides: Sequence[int | Expr] | None = None,
    elem_offset: int | None = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
) -> Declared:
    """A buffer of its own memory, as TVM's ``tvm.tir.decl_buffer``: it is in no program yet.

    A stride may be a `te.var`, which stands for what it is where a tile lies, but for the last.
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
    told = all(type(n) is int for n in (*like.shape, *steps[-1:])) and all(
        type(n) is int or isinstance(n, Var) for n in steps
    )
    if steps and not told:
        raise ValueError(
            f"strides are numbers here, as are the sizes beside them: leave those of "
            f"{name} out, it lies one row after the other"
        )
    numbers = tuple(n for n in steps if isinstance(n, int))
    if len(steps) not in (0, len(like.shape)) or (
        len(numbers) == len(steps) > 0 and not lie_apart(like.shape, numbers)
    ):
        raise ValueError(f"with the strides {steps} cells of {name} share a place")
    return Declared(
        identifier(name),
        like.shape,
        like.dtype,
        memory,
        steps,  # type: ignore[arg-type]  # a variable, in what is in no program
        tag=tag,
        align=data_alignment if data_alignment > 0 else ALIGNMENT,
        offset_factor=offset_factor,
    )
