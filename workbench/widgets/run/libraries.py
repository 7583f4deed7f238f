"""Which of the vendor's libraries does the job of a program: the operators of the lessons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench import script
from workbench.draw import Vendor
from workbench.ir import Block, PrimFunc, structural_equal, walk
from workbench.runtime import DeviceError, device, recorded, vendor
from workbench.runtime.vendor import Library
from workbench.script.writer import string
from workbench.target import Target, of_device

Arrays = Sequence[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Operator:
    """A program's text, whose parameters have so many dimensions, and the library that does it.

    In the text are names of its blocks, `{0}`, and lengths of its parameters, `{C[0]}`.
    """

    parameters: str
    dimensions: tuple[int, ...]
    library: Callable[[Arrays], Library]
    body: str

    @property
    def blocks(self) -> int:
        """How many it has."""
        return self.body.count("T.block(")

    def of(self, shapes: Sequence[Sequence[int]], blocks: Sequence[str]) -> PrimFunc:
        """The operator at these shapes, its blocks with these names."""
        lengths = dict(zip(self.parameters, shapes, strict=True))
        head = ", ".join(
            f'{name}: T.Buffer({tuple(shape)}, "float32")' for name, shape in lengths.items()
        )
        body = self.body.format(*map(string, blocks), **lengths)
        func = script.parse(f"@T.prim_func\ndef main({head}):\n{body}")
        assert isinstance(func, PrimFunc)
        return func


def library(func: PrimFunc, arrays: Arrays) -> Library | None:
    """The library that does what `func` does on `arrays`; None where there is none."""
    shapes = [param.shape for param in func.params]
    blocks = [n.name for n in walk(func.root.body) if isinstance(n, Block)]
    bare = replace(func, name="main", attrs=())
    for operator in OPERATORS:
        alike = operator.dimensions == tuple(map(len, shapes)) and operator.blocks == len(blocks)
        if alike and structural_equal(bare, operator.of(shapes, blocks)):
            return operator.library(arrays)
    return None


def vendor_of(program: PrimFunc, gpu: Target, which: str) -> Vendor | None:
    """What the vendor's library takes for a job on a device; None where that is not known.

    It is timed now where `which` is the GPU here, else as it was recorded on a `gpu`.
    """
    if any(param.dtype != "float32" for param in program.params):
        return None  # of which no operator here is
    found = library(program, [np.zeros(p.shape, "float32") for p in program.params])
    if found is None:
        return None
    here = device()
    if here.is_gpu and here.which == which:
        try:
            return Vendor(found.name, found.time().median, "measured")
        except DeviceError:
            return None
    known = recorded.vendor_times(found.key)
    times = [timing.median for timing in known if of_device(timing.device) == gpu]
    return Vendor(found.name, times[0], "recorded") if times else None


ADD = """
    for i in range({C[0]}):
        with T.block({0}):
            vi = T.axis.spatial({C[0]}, i)
            C[vi] = A[vi] + B[vi]
"""
WINDOW_SUM = """
    for i in range({B[0]}):
        with T.block({0}):
            vi = T.axis.spatial({B[0]}, i)
            B[vi] = A[vi] + A[vi + 1] + A[vi + 2]
"""
MATMUL = """
    for i, j, k in T.grid({C[0]}, {C[1]}, {A[1]}):
        with T.block({0}):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
BLUR = """
    H = T.alloc_buffer(({A[0]}, {B[1]}))
    for i, j in T.grid({A[0]}, {B[1]}):
        with T.block({0}):
            vi, vj = T.axis.remap("SS", [i, j])
            H[vi, vj] = A[vi, vj] + A[vi, vj + 1] + A[vi, vj + 2]
    for i, j in T.grid({B[0]}, {B[1]}):
        with T.block({1}):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = H[vi, vj] + H[vi + 1, vj] + H[vi + 2, vj]
"""
CONVOLUTION = """
    P = T.alloc_buffer(({A[0]} + 2, {A[1]} + 2, {A[2]}, {A[3]}))
    for y, x, c, n in T.grid({A[0]} + 2, {A[1]} + 2, {A[2]}, {A[3]}):
        with T.block({0}):
            vy, vx, vc, vn = T.axis.remap("SSSS", [y, x, c, n])
            P[vy, vx, vc, vn] = T.if_then_else(
                1 <= vy and vy < {A[0]} + 1 and 1 <= vx and vx < {A[1]} + 1,
                A[vy - 1, vx - 1, vc, vn],
                T.float32(0),
            )
    for y, x, f, n, ry, rx, rc in T.grid({B[0]}, {B[1]}, {B[2]}, {B[3]}, 3, 3, {A[2]}):
        with T.block({1}):
            vy, vx, vf, vn, vry, vrx, vrc = T.axis.remap("SSSSRRR", [y, x, f, n, ry, rx, rc])
            with T.init():
                B[vy, vx, vf, vn] = T.float32(0)
            B[vy, vx, vf, vn] = (
                B[vy, vx, vf, vn] + P[vy + vry, vx + vrx, vrc, vn] * W[vry, vrx, vrc, vf]
            )
"""
OPERATORS = (
    Operator("ABC", (1, 1, 1), lambda arrays: vendor.add(*arrays[:2]), ADD),
    Operator("AB", (1, 1), lambda arrays: _windows(*arrays), WINDOW_SUM),
    Operator("ABC", (2, 2, 2), lambda arrays: vendor.matmul(*arrays[:2]), MATMUL),
    Operator("AB", (2, 2), lambda arrays: vendor.window_sums(arrays[0], 3, 3), BLUR),
    Operator("AWB", (4, 4, 4), lambda arrays: vendor.convolution(*arrays[:2]), CONVOLUTION),
)


def _windows(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Library:
    """Of the cells that lie in windows: the course's array has one more."""
    return vendor.window_sums(a[: b.size + 2], 1, 3)
