"""Tensor intrinsics as data: what one means, what runs it, and where a program holds one."""

from workbench.intrin.implement import inlined
from workbench.intrin.match import Mismatch, View, match, tile_of
from workbench.intrin.tensor_intrin import NOTE, TensorIntrin, names

__all__ = [
    "NOTE",
    "Mismatch",
    "TensorIntrin",
    "View",
    "inlined",
    "match",
    "names",
    "tile_of",
]
